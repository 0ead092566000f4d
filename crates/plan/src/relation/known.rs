//! The values that the columns of a relation can have: their ranges, and whether they have any.
//!
//! Both follow from the operators alone, and from the contract's word on its columns where that is
//! given. No promise rests on either. Values that are added up are clamped to their range, and a
//! NULL among them counts as zero.

use hushtable_contract::{Column, Contract};
use hushtable_lang::range::{Fact, Facts, Range};
use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind, Value};
use hushtable_numbers::{Number, Step};

use super::aggregate::{SortedAggregate, UnitAggregate, WindowFunction, WindowedColumn};
use super::{Field, JoinKind, Operator, Relation, fields};

/// Most that a value is from zero, so that sums of a unit's values do not overflow: a unit would
/// need 10^12 rows.
const SMALL: f64 = 1e6;

/// The values that expressions over a relation's rows can have.
#[derive(Clone, Debug, Default)]
pub struct KnownValues {
    facts: Facts,
    /// Whether each column has a value in every row.
    present: Vec<bool>,
    /// Expressions that have a value in every row.
    present_expressions: Vec<Expr>,
    /// The contract's bounds of the sum of a unit's rows, for each column.
    bounded_sums: Vec<Option<Range>>,
}

impl KnownValues {
    /// The values of a relation's columns, with the contract's word or without it.
    pub fn of(relation: &Relation, contract: Option<&Contract>) -> Self {
        let known = |input: &Relation| Self::of(input, contract);
        let mut values = match relation.operator() {
            Operator::Scan { table, columns, .. } => {
                let table = contract.and_then(|contract| contract.tables.get(table));
                let declared = table.map_or(&[] as &[Column], |table| &table.columns);
                Self::of_table(columns, declared)
            }
            Operator::Filter { input, condition } => {
                let mut input = known(input);
                input.assume(std::slice::from_ref(condition));
                input
            }
            Operator::Project { input, columns } => {
                known(input).projected(columns.iter().map(|column| &column.expr))
            }
            Operator::First { input, .. } | Operator::Take { input, .. } => known(input),
            Operator::Join { kind, left, right, condition, .. } => {
                let left_width = left.fields().len();
                let mut left = known(left);
                if kind.shows_right() {
                    left.join(left_width, right.fields(), known(right), *kind);
                }
                if *kind == JoinKind::Inner {
                    left.assume(condition.as_slice());
                }
                left
            }
            Operator::UnionAll { inputs } => {
                let all = inputs.iter().map(|input| known(input).folded(input.fields()));
                all.reduce(Self::union).unwrap_or_default()
            }
            Operator::Aggregate { input, keys, aggregates } => {
                let input = known(input);
                let aggregates = aggregates.iter().map(|(_, aggregate)| input.aggregate(aggregate));
                let aggregates: Vec<_> = aggregates.collect();
                let mut values = input.projected(keys.iter().map(|key| &key.expr));
                aggregates.into_iter().for_each(|(range, present)| values.push(range, present));
                values
            }
            Operator::Window { input, columns } => {
                let mut values = known(input);
                let all: Vec<_> = columns.iter().map(|column| values.window(column)).collect();
                all.into_iter().for_each(|(range, present)| values.push(range, present));
                values
            }
        };
        let columns = relation.fields().len();
        values.facts.columns.resize(columns, Fact::Unknown);
        values.present.resize(columns, false);
        values.bounded_sums.resize(columns, None);
        values.facts.text_bytes = fields::bytes_of(relation.fields());
        values
    }

    /// Adds conditions that are true for all rows.
    pub fn assume(&mut self, conditions: &[Expr]) {
        self.facts.conditions.extend(conditions.iter().cloned());
        for condition in conditions {
            self.assume_values(condition);
        }
    }

    /// The values that a condition looks at are there where it is true.
    fn assume_values(&mut self, condition: &Expr) {
        match &condition.kind {
            ExprKind::Binary(BinaryOp::And, left, right) => {
                self.assume_values(left);
                self.assume_values(right);
            }
            ExprKind::Binary(op, left, right) if *op != BinaryOp::Or => {
                self.present_expressions.extend([left.as_ref().clone(), right.as_ref().clone()]);
            }
            ExprKind::InList(value, _)
            | ExprKind::Like { value, .. }
            | ExprKind::Match { value, .. } => {
                self.present_expressions.push(value.as_ref().clone());
            }
            ExprKind::Not(inner) => match &inner.kind {
                ExprKind::IsNull(value) => self.present_expressions.push(value.as_ref().clone()),
                // NOT of NULL is NULL.
                ExprKind::Binary(op, ..) if !matches!(op, BinaryOp::And | BinaryOp::Or) => {
                    self.assume_values(inner);
                }
                ExprKind::InList(..) | ExprKind::Like { .. } => self.assume_values(inner),
                _ => {}
            },
            _ => {}
        }
    }

    /// The range of a number, where it is narrower than its type.
    pub fn range(&self, expr: &Expr) -> Option<Range> {
        self.range_at_any_end(expr)?.bounded(expr.column_type)
    }

    /// The range of a number, also where it is narrower than its type at one end alone.
    pub fn range_at_any_end(&self, expr: &Expr) -> Option<Range> {
        Range::given(expr, &self.facts)
    }

    /// Whether an expression has a value in every row.
    pub(crate) fn is_never_null(&self, expr: &Expr) -> bool {
        let present = |index: usize| {
            let column = |other: &Expr| other.is_column(index);
            self.present.get(index).copied().unwrap_or(false)
                || self.present_expressions.iter().any(column)
        };
        self.present_expressions.contains(expr) || expr.is_never_null_where(&present, &self.facts)
    }

    /// The stored columns of a table, and those that the contract computes from them.
    fn of_table(stored: &[(String, ColumnType)], declared: &[Column]) -> Self {
        let mut values = Self::default();
        for (name, column_type) in stored {
            let column = declared.iter().find(|c| c.name == *name && c.expression.is_none());
            let range = column.and_then(|c| in_values(c.bounds?, *column_type));
            values.push(range, column.is_some_and(|c| c.not_null));
            if let Some(of_sums) = values.bounded_sums.last_mut() {
                *of_sums = column.and_then(|c| in_values(c.sum_bounds?, *column_type));
            }
        }
        for column in declared {
            let Some(expr) = &column.expression else { continue };
            if let Some(range) = column.bounds.and_then(|b| in_values(b, column.column_type)) {
                values.facts.expressions.push((expr.clone(), range));
            }
            if column.not_null {
                values.present_expressions.push(expr.clone());
            }
        }
        values
    }

    fn push(&mut self, range: Option<Range>, present: bool) {
        self.facts.columns.push(range.map_or(Fact::Unknown, Fact::Range));
        self.present.push(present);
        self.bounded_sums.push(None);
    }

    fn projected<'a>(&'a self, exprs: impl Iterator<Item = &'a Expr> + Clone) -> Self {
        let mut values = Self::default();
        for (expr, range) in exprs.clone().zip(Range::all_given(exprs, &self.facts)) {
            values.push(range, self.is_never_null(expr));
            if let ExprKind::Column(index) = expr.kind
                && let Some(of_sums) = values.bounded_sums.last_mut()
            {
                *of_sums = self.bounded_sums.get(index).copied().flatten();
            }
        }
        values
    }

    /// The columns as an operator gives them: facts about each by itself, not through the
    /// expressions behind it.
    fn folded(&self, fields: &[Field]) -> Self {
        let column = |(index, field): (usize, &Field)| Expr::column(index, field.column_type);
        let columns: Vec<Expr> = fields.iter().enumerate().map(column).collect();
        self.projected(columns.iter())
    }

    /// Adds the columns of a join's right side.
    fn join(&mut self, shift: usize, fields: &[Field], right: Self, kind: JoinKind) {
        let columns = right.folded(fields);
        self.facts.columns.extend(columns.facts.columns);
        self.bounded_sums.extend(columns.bounded_sums);
        // Rows without a match have none.
        let inner = kind == JoinKind::Inner;
        self.present.extend(columns.present.into_iter().map(|present| present && inner));
        if inner {
            let moved = |expr: Expr| expr.moved(&|index| index + shift);
            let ranges = right.facts.expressions.into_iter();
            self.facts.expressions.extend(ranges.map(|(expr, range)| (moved(expr), range)));
            self.present_expressions.extend(right.present_expressions.into_iter().map(moved));
        }
    }

    fn union(self, other: Self) -> Self {
        let ranges = self.facts.columns.into_iter().zip(other.facts.columns);
        let present = self.present.into_iter().zip(other.present).map(|(a, b)| a && b);
        let mut values = Self::default();
        for ((one, other), present) in ranges.zip(present) {
            let range = match (one, other) {
                (Fact::Range(one), Fact::Range(other)) => {
                    Range::hull([Some(one), Some(other)].into_iter())
                }
                _ => None,
            };
            values.push(range, present);
        }
        values
    }

    /// The range of an aggregate of one row or more, and whether it has a value.
    fn aggregate(&self, aggregate: &UnitAggregate) -> (Option<Range>, bool) {
        let any = i128::from(i64::MAX);
        let operands = aggregate.operands();
        let Some(operand) = operands.first() else { return (Some(Range::Exact(1, any)), true) };
        let range = || Range::given(operand, &self.facts);
        let present = || operands.iter().all(|operand| self.is_never_null(operand));
        let mean = || {
            range()
                .and_then(|range| range.bounded(operand.column_type))
                .and_then(|range| range.to_f64(operand.column_type))
        };
        match aggregate {
            UnitAggregate::Rows => (Some(Range::Exact(1, any)), true),
            UnitAggregate::Count(_) | UnitAggregate::CountDistinct(_) => {
                (Some(Range::Exact(i128::from(present()), any)), true)
            }
            UnitAggregate::Min(_) | UnitAggregate::Max(_) => (range(), present()),
            UnitAggregate::Average(_) => {
                let mean = mean();
                (mean.map(|(low, high)| Range::Float(low, high)), mean.is_some() && present())
            }
            UnitAggregate::Sum(_) => {
                let range = range();
                let small = range
                    .and_then(|range| range.to_f64(operand.column_type))
                    .is_some_and(|(low, high)| low >= -SMALL && high <= SMALL);
                let sum = self.bounded_sum(operand).or_else(|| range?.of_sums(operand.column_type));
                (sum, small && present())
            }
            UnitAggregate::Sorted(sorted, _) => match sorted {
                SortedAggregate::CountDistinct => {
                    (Some(Range::Exact(i128::from(present()), any)), true)
                }
                // The contract's bounds are of sums of all values.
                SortedAggregate::SumDistinct => {
                    (range().and_then(|range| range.of_sums(operand.column_type)), false)
                }
                SortedAggregate::ArgMin | SortedAggregate::ArgMax => (range(), present()),
                SortedAggregate::AverageDistinct | SortedAggregate::Median => {
                    let mean = mean();
                    (mean.map(|(low, high)| Range::Float(low, high)), mean.is_some() && present())
                }
                // The variance of values within a width is largest where half of them are at each
                // end, that of a sample with one at each.
                _ => {
                    let width = mean().map(|(low, high)| high - low);
                    let most = width.map(|width| match sorted {
                        SortedAggregate::SampleVariance => width * width / 2.0,
                        SortedAggregate::PopulationVariance => width * width / 4.0,
                        SortedAggregate::SampleDeviation => width / std::f64::consts::SQRT_2,
                        _ => width / 2.0,
                    });
                    let most = most.map(f64::next_up).filter(|most| most.is_finite());
                    (most.map(|most| Range::Float(0.0, most)), false)
                }
            },
        }
    }

    /// The range of a sum of a unit's rows as the contract bounds it: of a column, or of one that
    /// some rows leave out or count as zero.
    fn bounded_sum(&self, operand: &Expr) -> Option<Range> {
        match &operand.kind {
            ExprKind::Column(index) => self.bounded_sums.get(*index).copied().flatten(),
            ExprKind::Case(branches, otherwise) => {
                let results = branches.iter().map(|(_, result)| result);
                let results = results.chain(otherwise.as_deref());
                let mut column = None;
                let ranges = results.map(|result| match &result.kind {
                    ExprKind::Literal(value) if value.is_zero() || *value == Value::Null => {
                        Range::of_value(value)
                    }
                    _ if column.is_none_or(|first| first == result) => {
                        column = Some(result);
                        self.bounded_sum(result)
                    }
                    _ => None,
                });
                let range = Range::hull(ranges);
                range.filter(|_| column.is_some())
            }
            _ => None,
        }
    }

    fn window(&self, column: &WindowedColumn) -> (Option<Range>, bool) {
        let any = i128::from(i64::MAX);
        // A frame may be empty.
        if let (Some(_), WindowFunction::Aggregate(aggregate)) = (column.frame, &column.function) {
            return match aggregate {
                UnitAggregate::Rows | UnitAggregate::Count(_) => (Some(Range::Exact(0, any)), true),
                // Some of the rows of the partition have the least, the greatest and the mean.
                UnitAggregate::Min(_) | UnitAggregate::Max(_) | UnitAggregate::Average(_) => {
                    (self.aggregate(aggregate).0, false)
                }
                UnitAggregate::Sum(_)
                | UnitAggregate::CountDistinct(_)
                | UnitAggregate::Sorted(..) => (None, false),
            };
        }
        match &column.function {
            WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank => {
                (Some(Range::Exact(1, any)), true)
            }
            WindowFunction::Ntile(buckets) => (Some(Range::Exact(1, (*buckets).into())), true),
            WindowFunction::PercentRank | WindowFunction::CumulativeShare => {
                (Some(Range::Float(0.0, 1.0)), true)
            }
            // A frame may have no row of that number.
            WindowFunction::LastValue(of) | WindowFunction::NthValue(of, _) => {
                (Range::given(of, &self.facts), false)
            }
            WindowFunction::Lag(of, _) | WindowFunction::Lead(of, _) => {
                (Range::given(of, &self.facts), false)
            }
            WindowFunction::FirstValue(of) => {
                let filled = column.frame.is_none() && self.is_never_null(of);
                (Range::given(of, &self.facts), filled)
            }
            WindowFunction::Aggregate(aggregate) => self.aggregate(aggregate),
        }
    }
}

/// The contract's bounds of a column as a range of its values.
fn in_values((low, high): (Number, Number), column_type: ColumnType) -> Option<Range> {
    let step = match column_type {
        ColumnType::Int => Step::Whole(1),
        ColumnType::Decimal { scale } => Step::Decimal(scale),
        ColumnType::Float => return Some(Range::Float(low.to_f64(), high.to_f64())),
        _ => return None,
    };
    let (low, high) = (step.ceil(low)?, step.floor(high)?);
    (low <= high).then(|| Range::Exact(low.into(), high.into()))
}
