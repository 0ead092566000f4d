//! Aggregates and windows within units.

use hushtable_lang::{ColumnType, Expr, Refusal};
use serde::{Deserialize, Serialize};

use super::{Field, FrameEnd, NamedExpr, Protection, Relation, RowFrame, fields, misfit};

/// An aggregate of the rows that one unit has for one combination of keys. All are total, and none
/// depends on the order of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitAggregate {
    /// Number of rows.
    Rows,
    /// Number of rows with a value.
    Count(Expr),
    /// Number of different values; NULL is none.
    CountDistinct(Expr),
    /// Sum of values; NULL where there is none, or where it overflows its type.
    Sum(Expr),
    /// Mean of values, a float; NULL where there is none.
    Average(Expr),
    /// Least value; NULL where there is none.
    Min(Expr),
    /// Greatest value; NULL where there is none.
    Max(Expr),
    /// An aggregate that looks at all values together. Rows that lack one of them count for
    /// nothing.
    Sorted(SortedAggregate, Vec<Expr>),
}

/// An aggregate of sorted values, which is the same in every order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SortedAggregate {
    /// Number of different combinations of values.
    CountDistinct,
    /// Sum of the different values; NULL where there is none, or where it overflows its type.
    SumDistinct,
    /// Mean of the different values, a float; NULL where there is none.
    AverageDistinct,
    /// The middle value, or the mean of the two in the middle, a float; NULL where there is none.
    Median,
    /// Sum of squared differences from the mean over one less than the number of values; NULL
    /// where there are fewer than two.
    SampleVariance,
    /// Mean of squared differences from the mean; NULL where there is no value.
    PopulationVariance,
    /// Square root of the sample variance.
    SampleDeviation,
    /// Square root of the population variance.
    PopulationDeviation,
    /// The first value where the second is least; of several, the least.
    ArgMin,
    /// The first value where the second is greatest; of several, the greatest.
    ArgMax,
}

impl SortedAggregate {
    /// The form in SQL, for messages.
    pub fn form(self) -> &'static str {
        match self {
            Self::CountDistinct => "COUNT(DISTINCT x, y)",
            Self::SumDistinct => "SUM(DISTINCT x)",
            Self::AverageDistinct => "AVG(DISTINCT x)",
            Self::Median => "MEDIAN(x)",
            Self::SampleVariance => "VARIANCE(x)",
            Self::PopulationVariance => "VAR_POP(x)",
            Self::SampleDeviation => "STDDEV(x)",
            Self::PopulationDeviation => "STDDEV_POP(x)",
            Self::ArgMin => "ARG_MIN(x, y)",
            Self::ArgMax => "ARG_MAX(x, y)",
        }
    }

    /// The number of values that it takes of a row, where that is fixed.
    pub fn operands(self) -> Option<usize> {
        match self {
            Self::CountDistinct => None,
            Self::ArgMin | Self::ArgMax => Some(2),
            _ => Some(1),
        }
    }

    /// Type of the result, for a first value of that type.
    pub fn column_type(self, of: ColumnType) -> ColumnType {
        match self {
            Self::CountDistinct => ColumnType::Int,
            Self::SumDistinct | Self::ArgMin | Self::ArgMax => of,
            _ => ColumnType::Float,
        }
    }

    /// Whether values must be numbers.
    fn adds(self) -> bool {
        !matches!(self, Self::CountDistinct | Self::ArgMin | Self::ArgMax)
    }
}

impl UnitAggregate {
    /// The expressions that are aggregated, over the input's columns.
    pub fn operands(&self) -> &[Expr] {
        match self {
            Self::Rows => &[],
            Self::Count(e)
            | Self::CountDistinct(e)
            | Self::Sum(e)
            | Self::Average(e)
            | Self::Min(e)
            | Self::Max(e) => std::slice::from_ref(e),
            Self::Sorted(_, of) => of,
        }
    }

    pub(super) fn operands_mut(&mut self) -> &mut [Expr] {
        match self {
            Self::Rows => &mut [],
            Self::Count(e)
            | Self::CountDistinct(e)
            | Self::Sum(e)
            | Self::Average(e)
            | Self::Min(e)
            | Self::Max(e) => std::slice::from_mut(e),
            Self::Sorted(_, of) => of,
        }
    }

    /// Type of the result.
    pub fn column_type(&self) -> ColumnType {
        match self {
            Self::Rows | Self::Count(_) | Self::CountDistinct(_) => ColumnType::Int,
            Self::Average(_) => ColumnType::Float,
            Self::Sum(e) | Self::Min(e) | Self::Max(e) => e.column_type,
            // Checking refuses one of no values.
            Self::Sorted(sorted, of) => {
                sorted.column_type(of.first().map_or(ColumnType::Int, |first| first.column_type))
            }
        }
    }

    /// Whether operands must be numbers.
    pub(super) fn adds(&self) -> bool {
        match self {
            Self::Sum(_) | Self::Average(_) => true,
            Self::Sorted(sorted, _) => sorted.adds(),
            _ => false,
        }
    }
}

/// A column that a window adds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowedColumn {
    /// Its name.
    pub name: String,
    /// The function that is computed.
    pub function: WindowFunction,
    /// Rows with the same values are one partition; the unit is among them.
    pub partition_by: Vec<Expr>,
    /// The order within a partition. The engine breaks ties by the row's other columns.
    pub order_by: Vec<WindowOrder>,
    /// The rows that an aggregate or a value is of; without one, those of the default frame.
    pub frame: Option<RowFrame>,
}

impl WindowedColumn {
    /// All of its expressions, over the input's columns.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let order = self.order_by.iter().map(|order| &order.expr);
        self.partition_by.iter().chain(order).chain(self.function.operands())
    }
}

/// The value that a window computes for a row. An aggregate is of the whole partition without an
/// order, and of the rows up to the row and its peers with one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowFunction {
    /// Position of the row, from 1.
    RowNumber,
    /// One more than the number of rows before the row and its peers.
    Rank,
    /// One more than the number of different values in the order before the row.
    DenseRank,
    /// The rows before the row and its peers, as a share of the others.
    PercentRank,
    /// The rows up to the row and its peers, as a share of all.
    CumulativeShare,
    /// The bucket of the row, from 1, of that many buckets of equal size.
    Ntile(u32),
    /// Value of the row that stands some rows before.
    Lag(Expr, u32),
    /// Value of the row that stands some rows behind.
    Lead(Expr, u32),
    /// Value of the partition's first row.
    FirstValue(Expr),
    /// Value of the frame's last row.
    LastValue(Expr),
    /// Value of the frame's row of that number, from 1.
    NthValue(Expr, u32),
    /// An aggregate.
    Aggregate(UnitAggregate),
}

impl WindowFunction {
    /// The arguments, over the input's columns.
    pub fn operands(&self) -> &[Expr] {
        match self {
            Self::RowNumber
            | Self::Rank
            | Self::DenseRank
            | Self::PercentRank
            | Self::CumulativeShare
            | Self::Ntile(_) => &[],
            Self::Lag(e, _)
            | Self::Lead(e, _)
            | Self::FirstValue(e)
            | Self::LastValue(e)
            | Self::NthValue(e, _) => std::slice::from_ref(e),
            Self::Aggregate(aggregate) => aggregate.operands(),
        }
    }

    pub(super) fn operands_mut(&mut self) -> &mut [Expr] {
        match self {
            Self::RowNumber
            | Self::Rank
            | Self::DenseRank
            | Self::PercentRank
            | Self::CumulativeShare
            | Self::Ntile(_) => &mut [],
            Self::Lag(e, _)
            | Self::Lead(e, _)
            | Self::FirstValue(e)
            | Self::LastValue(e)
            | Self::NthValue(e, _) => std::slice::from_mut(e),
            Self::Aggregate(aggregate) => aggregate.operands_mut(),
        }
    }

    /// Type of the result.
    pub fn column_type(&self) -> ColumnType {
        match self {
            Self::RowNumber | Self::Rank | Self::DenseRank | Self::Ntile(_) => ColumnType::Int,
            Self::PercentRank | Self::CumulativeShare => ColumnType::Float,
            Self::Lag(e, _)
            | Self::Lead(e, _)
            | Self::FirstValue(e)
            | Self::LastValue(e)
            | Self::NthValue(e, _) => e.column_type,
            Self::Aggregate(aggregate) => aggregate.column_type(),
        }
    }
}

/// One sort key of a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowOrder {
    /// The expression to sort by.
    pub expr: Expr,
    /// Greatest first.
    pub descending: bool,
    /// NULLs first.
    pub nulls_first: bool,
}

/// Stable where the keys tell units apart: a row of the result is of one unit's rows.
pub(super) fn aggregated(
    input: &Relation,
    keys: &[NamedExpr],
    aggregates: &[(String, UnitAggregate)],
) -> Result<(Vec<Field>, Protection), Refusal> {
    let mut fields = keys
        .iter()
        .map(|key| fields::computed(key, &input.fields))
        .collect::<Result<Vec<_>, _>>()?;
    for (name, aggregate) in aggregates {
        fields.push(Field {
            name: name.clone(),
            column_type: operand(aggregate, input)?,
            max_bytes: longest(aggregate.operands(), input),
            origin: None,
        });
    }
    let unit_column = |_: usize| keys.iter().position(|key| input.is_unit(&key.expr));
    let protection = match &input.protection {
        Protection::Public if keys.is_empty() => Err(misfit("an aggregate has no key")),
        Protection::Public => Ok(Protection::Public),
        Protection::Unit { population, .. } => {
            input.protection.moved(unit_column).ok_or_else(|| {
                Refusal::new(
                    format!("a sub-query's GROUP BY brings units of `{population}` together"),
                    format!(
                        "add {} to its GROUP BY: the sub-query then has rows for each unit",
                        input.unit_column()
                    ),
                )
            })
        }
        Protection::Rows { population, .. } => Err(Refusal::new(
            format!("a sub-query's GROUP BY brings rows of `{population}` together"),
            "GROUP BY in the outer query: each row is a privacy unit",
        )),
        Protection::Reference { .. } => Err(misfit("an aggregate of rows without their units")),
    };
    Ok((fields, protection?))
}

/// Most bytes of an aggregate's value, which is one of its first operand's values.
fn longest(operands: &[Expr], input: &Relation) -> usize {
    operands.first().map_or(0, |expr| fields::most_bytes(expr, &input.fields))
}

fn operand(aggregate: &UnitAggregate, input: &Relation) -> Result<ColumnType, Refusal> {
    for expr in aggregate.operands() {
        fields::check(expr, &input.fields)?;
        if aggregate.adds() && !expr.column_type.is_numeric() {
            return Err(misfit("a sum of values that are no numbers"));
        }
    }
    if let UnitAggregate::Sorted(sorted, of) = aggregate
        && (of.is_empty() || sorted.operands().is_some_and(|operands| operands != of.len()))
    {
        return Err(misfit("an aggregate has another number of values than it takes"));
    }
    Ok(aggregate.column_type())
}

/// Stable where each partition is of one unit.
pub(super) fn windowed(
    input: &Relation,
    columns: &[WindowedColumn],
) -> Result<(Vec<Field>, Protection), Refusal> {
    let mut fields = input.fields.clone();
    for column in columns {
        let named = column.partition_by.iter().chain(column.order_by.iter().map(|o| &o.expr));
        named
            .chain(column.function.operands())
            .try_for_each(|e| fields::check(e, &input.fields))?;
        if let Some(frame) = &column.frame {
            check_frame(frame, column)?;
        }
        if let WindowFunction::Aggregate(aggregate) = &column.function {
            operand(aggregate, input)?;
            // Each row would look at all values of its frame.
            let whole = match aggregate {
                UnitAggregate::CountDistinct(_) => Some("COUNT(DISTINCT x)"),
                UnitAggregate::Sorted(sorted, _) => Some(sorted.form()),
                _ => None,
            };
            if let Some(form) = whole {
                return Err(Refusal::new(
                    format!("{form} OVER (…) is not supported"),
                    format!("{form} in a sub-query with GROUP BY"),
                ));
            }
        }
        let within = match &input.protection {
            Protection::Public => true,
            Protection::Unit { .. } => column.partition_by.iter().any(|e| input.is_unit(e)),
            Protection::Rows { .. } | Protection::Reference { .. } => false,
        };
        if !within {
            return Err(Refusal::new(
                "a window over protected rows looks at rows of several units",
                match &input.protection {
                    Protection::Unit { .. } => format!(
                        "PARTITION BY {} in OVER, before other columns: the rows of one unit",
                        input.unit_column()
                    ),
                    _ => "GROUP BY in the outer query: each row is a privacy unit".to_owned(),
                },
            ));
        }
        let (name, column_type) = (column.name.clone(), column.function.column_type());
        let max_bytes = longest(column.function.operands(), input);
        fields.push(Field { name, column_type, max_bytes, origin: None });
    }
    Ok((fields, input.protection.clone()))
}

/// Refuses frames that do not fit their window, and those whose rows would cost more with each row
/// that they hold.
fn check_frame(frame: &RowFrame, column: &WindowedColumn) -> Result<(), Refusal> {
    for distance in frame.distances() {
        if !matches!(column.order_by.as_slice(), [by] if distance.fits(by.expr.column_type)) {
            return Err(misfit("a frame whose distance is not of its order"));
        }
    }
    if column.order_by.is_empty() || !frame.is_forward() {
        return Err(misfit("a frame without an order, or one that ends before it starts"));
    }
    let float = |e: &Expr| e.column_type == ColumnType::Float;
    match &column.function {
        WindowFunction::Aggregate(aggregate)
            if frame.start != FrameEnd::Open
                && aggregate.adds()
                && aggregate.operands().iter().any(float) =>
        {
            Err(Refusal::new(
                "a sum of floats over a moving frame is not supported",
                "CAST(x AS NUMERIC), or a frame from UNBOUNDED PRECEDING",
            ))
        }
        WindowFunction::Aggregate(_)
        | WindowFunction::FirstValue(_)
        | WindowFunction::LastValue(_)
        | WindowFunction::NthValue(..) => Ok(()),
        _ => Err(Refusal::new(
            "a frame is for aggregates, FIRST_VALUE, LAST_VALUE and NTH_VALUE",
            "leave ROWS or RANGE BETWEEN … AND … out",
        )),
    }
}
