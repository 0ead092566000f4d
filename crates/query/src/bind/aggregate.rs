//! COUNT, SUM and AVG: what they measure, and how it is bounded.

use hushtable_mechanisms::RecordMechanism;
use hushtable_privacy::Loss;
use sqlparser::ast;

use super::options::{MAX_WEIGHT, Options};
use super::{Key, Measure, Measurement};
use crate::bind_expr::cast;
use crate::contract::{Table, Unit};
use crate::error::Refusal;
use crate::expr::{BinaryOp, Expr, ExprKind, Function, RowScope, bind_row_expression};
use crate::lattice::{MAX_LATTICE, Number, Step};
use crate::types::{ColumnType, Value};

/// Most different measurements in one query.
const MAX_MEASUREMENTS: usize = 100;

/// The name of an aggregate function, if the node calls one.
pub(super) fn aggregate_name(node: &ast::Expr) -> Option<(&ast::Function, String)> {
    let ast::Expr::Function(function) = node else { return None };
    let name = function.name.to_string().to_uppercase();
    matches!(name.as_str(), "COUNT" | "SUM" | "AVG").then_some((function, name))
}

/// The arguments of an aggregate.
struct Arguments {
    distinct: bool,
    /// `None` for `*`.
    operand: Option<ast::Expr>,
    bounds: Option<(Number, Number)>,
    mechanism: Option<RecordMechanism>,
    offset: Option<Number>,
    weight: u32,
}

/// Collects the measurements of a query.
pub(super) struct Aggregates<'a> {
    pub(super) table: &'a Table,
    pub(super) options: &'a Options,
    pub(super) stored: &'a [(String, ColumnType)],
    pub(super) keys: &'a [Key],
    pub(super) filter: Option<&'a Expr>,
    pub(super) measurements: Vec<Measurement>,
}

impl Aggregates<'_> {
    /// The aggregate as an expression over released columns, of which the first `keys` are keys.
    pub(super) fn bind(
        &mut self,
        function: &ast::Function,
        name: &str,
        keys: usize,
    ) -> Result<Expr, Refusal> {
        let arguments = self.arguments(function, name)?;
        match name {
            "COUNT" => self.count(&arguments, keys),
            "SUM" => self.sum(function, arguments, keys),
            _ => self.average(function, arguments, keys),
        }
    }

    fn arguments(&self, function: &ast::Function, name: &str) -> Result<Arguments, Refusal> {
        let form = "COUNT(*), COUNT(x), COUNT(DISTINCT unit), SUM(x), AVG(x), each with \
                    contribution_bounds_per_group => (low, high) and weight => 2 where wanted";
        let odd = || Refusal::new(format!("`{function}` is not supported"), form);
        if function.over.is_some() {
            return Err(Refusal::new(
                format!("`{function}`: window functions are not supported"),
                "GROUP BY the columns that the window partitions by",
            ));
        }
        if function.filter.is_some() {
            return Err(Refusal::new(
                format!("`{function}`: FILTER is not supported"),
                "SUM(IF(condition, x, NULL)), or a WHERE",
            ));
        }
        let ast::FunctionArguments::List(list) = &function.args else { return Err(odd()) };
        if function.null_treatment.is_some() || !list.clauses.is_empty() {
            return Err(odd());
        }
        let mut arguments = Arguments {
            distinct: list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct),
            operand: None,
            bounds: None,
            mechanism: None,
            offset: None,
            weight: 1,
        };
        let mut operands = 0;
        for argument in &list.args {
            use ast::{FunctionArg as A, FunctionArgExpr as X};
            match argument {
                A::Unnamed(X::Wildcard) if name == "COUNT" => operands += 1,
                A::Unnamed(X::Expr(e)) => {
                    operands += 1;
                    arguments.operand = Some(e.clone());
                }
                A::Named { name, arg: X::Expr(value), .. } => {
                    self.named(&name.value, value, &mut arguments)?;
                }
                A::ExprNamed { name, arg: X::Expr(value), .. } => {
                    self.named(&name.to_string(), value, &mut arguments)?;
                }
                _ => return Err(odd()),
            }
        }
        if let ("COUNT", Some(mechanism)) = (name, arguments.mechanism) {
            return Err(Refusal::new(
                format!("`{function}`: mechanism => '{mechanism}' is for SUM and AVG"),
                "a record counts as one, whatever its size: COUNT without a mechanism",
            ));
        }
        if operands == 1 { Ok(arguments) } else { Err(odd()) }
    }

    fn named(
        &self,
        name: &str,
        value: &ast::Expr,
        arguments: &mut Arguments,
    ) -> Result<(), Refusal> {
        let form = "contribution_bounds_per_group => (0, 100)";
        match name.to_lowercase().as_str() {
            "contribution_bounds_per_group" => {
                let ast::Expr::Tuple(ends) = value else {
                    return Err(Refusal::new(
                        format!(
                            "contribution_bounds_per_group => {value} is not a pair of numbers"
                        ),
                        form,
                    ));
                };
                let [low, high] = ends.as_slice() else {
                    return Err(Refusal::new("bounds are a pair of numbers", form));
                };
                let (low, high) = (self.constant(low, form)?, self.constant(high, form)?);
                if low > high {
                    return Err(Refusal::new(
                        format!("the bounds ({low}, {high}) have their low end above the high end"),
                        form,
                    ));
                }
                arguments.bounds = Some((low, high));
            }
            "weight" => {
                let weight = self.constant(value, "weight => 2")?;
                let (digits, scale) = weight.parts();
                match u32::try_from(digits) {
                    Ok(n) if scale == 0 && (1..=MAX_WEIGHT).contains(&n) => arguments.weight = n,
                    _ => {
                        return Err(Refusal::new(
                            format!(
                                "weight => {weight} is not a whole number from 1 to {MAX_WEIGHT}"
                            ),
                            "a weight of 2 gives an aggregate twice the budget of one with weight 1",
                        ));
                    }
                }
            }
            "mechanism" => arguments.mechanism = Some(mechanism(value)?),
            "offset" => {
                let form = "offset => 1000, in the unit of the column";
                let offset = self.constant(value, form)?;
                if offset <= Number::whole(0) {
                    return Err(Refusal::new(format!("offset => {offset} is not above 0"), form));
                }
                arguments.offset = Some(offset);
            }
            other => {
                return Err(Refusal::new(
                    format!("there is no argument `{other}` of an aggregate"),
                    "the arguments are contribution_bounds_per_group and weight; and mechanism and offset for \
                     sums of columns with `split`",
                ));
            }
        }
        Ok(())
    }

    fn constant(&self, node: &ast::Expr, form: &str) -> Result<Number, Refusal> {
        match self.row(node)?.kind {
            ExprKind::Literal(Value::Int(n)) => Ok(Number::whole(n)),
            ExprKind::Literal(Value::Decimal { .. }) => {
                let text = node.to_string().replace(' ', "");
                let text = text.trim_start_matches('(').trim_end_matches(')');
                Number::parse(text)
                    .ok_or_else(|| Refusal::new(format!("`{node}` is not a number"), form))
            }
            _ => Err(Refusal::new(format!("`{node}` is not a constant number"), form)),
        }
    }

    fn row(&self, node: &ast::Expr) -> Result<Expr, Refusal> {
        let scope = RowScope { stored: self.stored, computed: &self.table.columns };
        bind_row_expression(node, &scope)
    }

    /// Adds a measurement, or finds the same one, and gives its released column.
    fn measured(&mut self, mut wanted: Measurement, keys: usize) -> Result<Expr, Refusal> {
        let column_type = wanted.column_type;
        let weight = wanted.weight;
        let same = self.measurements.iter_mut().position(|own| {
            wanted.weight = own.weight;
            wanted.name.clone_from(&own.name);
            *own == wanted
        });
        let index = match same {
            Some(index) => {
                let own = &mut self.measurements[index];
                own.weight = own.weight.max(weight);
                index
            }
            None => {
                wanted.weight = weight;
                wanted.name = describe(&wanted, self.stored);
                self.measurements.push(wanted);
                self.measurements.len() - 1
            }
        };
        if self.measurements.len() > MAX_MEASUREMENTS {
            return Err(Refusal::new(
                format!("more than {MAX_MEASUREMENTS} different aggregates in one query"),
                "ask in several queries; each part of the budget would be very small",
            ));
        }
        Ok(Expr::column(keys + index, column_type))
    }

    fn count(&mut self, arguments: &Arguments, keys: usize) -> Result<Expr, Refusal> {
        let operand = arguments.operand.as_ref().map(|e| self.row(e)).transpose()?;
        if arguments.distinct {
            return self.count_distinct(arguments, operand, keys);
        }
        let (low, high) = self.count_bounds(arguments.bounds)?;
        // A row count between 0 or 1 and 1 counts the unit itself.
        let measure = match operand {
            None if high == 1 && low >= 0 => Measure::Units,
            None => Measure::Rows,
            Some(expr) => Measure::Values(expr),
        };
        let low = if measure == Measure::Units { 0 } else { low };
        let weight = arguments.weight;
        self.measured(counting(measure, low, high, weight), keys)
    }

    fn count_distinct(
        &mut self,
        arguments: &Arguments,
        operand: Option<Expr>,
        keys: usize,
    ) -> Result<Expr, Refusal> {
        let unit = match &self.table.unit {
            Unit::Row => None,
            Unit::Column(name) => Some(name.clone()),
        };
        let is_unit = operand
            .as_ref()
            .and_then(|e| self.table.column_of(e))
            .is_some_and(|c| Some(&c.name) == unit.as_ref());
        if !is_unit {
            let hint = match unit {
                Some(name) => format!("COUNT(DISTINCT {name}) counts privacy units"),
                None => "every row is a privacy unit: COUNT(*) counts them".to_owned(),
            };
            return Err(Refusal::new(
                "COUNT(DISTINCT x) of a column that is not the privacy unit is not supported",
                hint,
            ));
        }
        if arguments.bounds.is_some() {
            return Err(Refusal::new(
                "COUNT(DISTINCT unit) takes no bounds",
                "a unit counts once in a group",
            ));
        }
        self.measured(counting(Measure::Units, 0, 1, arguments.weight), keys)
    }

    /// Bounds of a unit's rows in a group.
    fn count_bounds(&self, given: Option<(Number, Number)>) -> Result<(i64, i64), Refusal> {
        if let Some((low, high)) = given {
            let ends = (Step::Whole(1).ceil(low), Step::Whole(1).floor(high));
            return match ends {
                (Some(low), Some(high)) if low <= high && high > 0 => Ok((low, high)),
                _ => Err(Refusal::new(
                    format!("the bounds ({low}, {high}) of a COUNT allow nothing to be counted"),
                    "contribution_bounds_per_group => (0, 5)",
                )),
            };
        }
        match (&self.table.unit, self.options.max_rows_per_group) {
            (Unit::Row, _) => Ok((0, 1)),
            (Unit::Column(_), Some(most)) => Ok((0, i64::from(most))),
            (Unit::Column(unit), None) => Err(Refusal::new(
                "how many rows of one unit may COUNT count in a group?",
                format!(
                    "COUNT(*, contribution_bounds_per_group => (0, 5)), or max_rows_per_group = 5 \
                     in OPTIONS or in the contract's defaults, or COUNT(DISTINCT {unit})"
                ),
            )),
        }
    }

    /// The sum of an expression, with bounds from the call or the contract.
    fn sum_of(
        &mut self,
        function: &ast::Function,
        operand: Expr,
        arguments: &Arguments,
        keys: usize,
    ) -> Result<Expr, Refusal> {
        let &Arguments { bounds, weight, .. } = arguments;
        if !operand.column_type.is_numeric() {
            return Err(Refusal::new(
                format!("`{function}` adds up values of type {}", operand.column_type),
                "CAST(… AS INT64), or COUNT(x) for how many there are",
            ));
        }
        let declared = self.table.column_of(&operand);
        let split = declared.and_then(|c| c.split.as_ref()).filter(|_| bounds.is_none());
        let split = split.map(|split| self.in_force(split));
        if split.is_some() && !matches!(self.options.loss, Some(Loss::Concentrated { .. })) {
            return Err(Refusal::new(
                format!("`{function}` is of a column with `split`, and the query has no rho"),
                "OPTIONS (rho = 0.5): what a record of a given size may lose is counted in rho; or \
                 contribution_bounds_per_group => (0, 100) to clamp",
            ));
        }
        let mechanism = released_by(function, arguments, split.is_some())?;
        let within = |threshold: Number| (threshold.negative(), threshold);
        let bounds = bounds
            .or(split.as_ref().map(|s| within(s.largest())))
            .or(declared.and_then(|c| c.bounds));
        let Some((low, high)) = bounds else {
            if let Some(column) = self.split_column_in(&operand) {
                return Err(Refusal::new(
                    format!(
                        "`{function}`: what a record may lose is known for the sum of `{column}` \
                         itself, which has `split`, and not for an expression of it"
                    ),
                    format!(
                        "SUM({column}), with conditions in WHERE; or a computed column in the \
                         contract with a `split` of its own; or contribution_bounds_per_group"
                    ),
                ));
            }
            return Err(Refusal::new(
                format!("`{function}` has no bounds on what one unit adds to a group"),
                "SUM(x, contribution_bounds_per_group => (0, 100)), or bounds of the column in \
                 the contract; choose them without looking at the data",
            ));
        };
        let own_step = declared.and_then(|c| c.granularity);
        let column_type = operand.column_type;
        let (finest_low, finest_high) =
            split.as_ref().map_or((low, high), |s| within(s.smallest()));
        let step =
            own_step.unwrap_or_else(|| Step::default_for(column_type, finest_low, finest_high));
        let too_large = || {
            Refusal::new(
                format!(
                    "the bounds ({low}, {high}) are more than {MAX_LATTICE} steps of {} wide",
                    step.to_f64()
                ),
                "narrower bounds, or a coarser granularity of the column in the contract",
            )
        };
        let low_steps = step.ceil(low).ok_or_else(too_large)?;
        let high_steps = step.floor(high).ok_or_else(too_large)?;
        if low_steps > high_steps || low_steps == 0 && high_steps == 0 {
            return Err(Refusal::new(
                format!(
                    "the bounds ({low}, {high}) hold no multiple of the granularity {} but zero",
                    step.to_f64()
                ),
                "wider bounds, or a finer granularity of the column in the contract",
            ));
        }
        let split = split.map(|s| s.in_steps(step)).transpose()?;
        let largest = split.as_ref().and_then(|s| s.all().into_iter().max());
        let (low_steps, high_steps) =
            largest.map_or((low_steps, high_steps), |largest| (-largest, largest));
        let offset = arguments.offset.map(|offset| {
            step.floor(offset).filter(|&steps| (1..=MAX_LATTICE).contains(&steps)).ok_or_else(|| {
                Refusal::new(
                    format!(
                        "offset => {offset} is less than the granularity {} of the sum, or more than \
                         {MAX_LATTICE} times as much",
                        step.to_f64()
                    ),
                    "an offset about as large as the splitting threshold, which is the default",
                )
            })
        });
        let offset = offset.transpose()?;
        let released = match step {
            Step::Whole(_) => ColumnType::Int,
            Step::Decimal(scale) => ColumnType::Decimal { scale },
            Step::PowerOfTwo(_) => ColumnType::Float,
        };
        let wanted = Measurement {
            name: String::new(),
            measure: Measure::Sum(operand),
            low: low_steps,
            high: high_steps,
            split,
            mechanism,
            offset,
            step,
            weight,
            column_type: released,
        };
        self.measured(wanted, keys)
    }

    /// A column with `split` that an expression reads.
    fn split_column_in(&self, operand: &Expr) -> Option<String> {
        let mut found = None;
        operand.visit_columns(&mut |i| {
            let name = self.stored.get(i).map(|(name, _)| name);
            let column = self.table.columns.iter().find(|c| Some(&c.name) == name);
            if let Some(column) = column.filter(|c| c.split.is_some()) {
                found.get_or_insert(column.name.clone());
            }
        });
        found
    }

    fn operand(&self, arguments: &Arguments, function: &ast::Function) -> Result<Expr, Refusal> {
        if arguments.distinct {
            return Err(Refusal::new(
                format!("`{function}`: DISTINCT is supported in COUNT(DISTINCT unit) only"),
                "leave DISTINCT out",
            ));
        }
        match &arguments.operand {
            Some(node) => self.row(node),
            None => Err(Refusal::new(format!("`{function}` needs a column"), "SUM(x)")),
        }
    }

    fn sum(
        &mut self,
        function: &ast::Function,
        arguments: Arguments,
        keys: usize,
    ) -> Result<Expr, Refusal> {
        let operand = self.operand(&arguments, function)?;
        self.sum_of(function, operand, &arguments, keys)
    }

    /// Released sum over released count of values, which costs both.
    fn average(
        &mut self,
        function: &ast::Function,
        arguments: Arguments,
        keys: usize,
    ) -> Result<Expr, Refusal> {
        let operand = self.operand(&arguments, function)?;
        let weight = arguments.weight;
        let sum = self.sum_of(function, operand.clone(), &arguments, keys)?;
        let (low, high) = self.count_bounds(None)?;
        let count = counting(Measure::Values(operand), low, high, weight);
        let count = self.measured(count, keys)?;
        let ratio = Expr::binary(
            BinaryOp::Div,
            cast(sum, ColumnType::Float),
            cast(count.clone(), ColumnType::Float),
            ColumnType::Float,
        );
        // A noisy count of zero or less is no base for a mean.
        let zero = Expr::literal(Value::Int(0));
        let positive = Expr::binary(BinaryOp::Gt, count, zero, ColumnType::Bool);
        Ok(Expr::new(ExprKind::Case(vec![(positive, ratio)], None), ColumnType::Float))
    }
}

/// The mechanism that a query names.
fn mechanism(value: &ast::Expr) -> Result<RecordMechanism, Refusal> {
    let text = match value {
        ast::Expr::Value(value) => value.value.clone().into_string(),
        ast::Expr::Identifier(name) => Some(name.value.clone()),
        _ => None,
    };
    text.and_then(|text| RecordMechanism::from_name(&text)).ok_or_else(|| {
        Refusal::new(
            format!("mechanism => {value} is not known"),
            format!("{}, as mechanism => 'SQRT'", RecordMechanism::NAMES),
        )
    })
}

/// The mechanism of a sum: what is named is for sums that are not clamped.
fn released_by(
    function: &ast::Function,
    arguments: &Arguments,
    split: bool,
) -> Result<RecordMechanism, Refusal> {
    let mechanism = arguments.mechanism.unwrap_or_default();
    if arguments.mechanism.is_some() && !split {
        return Err(Refusal::new(
            format!("`{function}`: mechanism => '{mechanism}' is for sums that are not clamped"),
            "SUM(x) of a column with `split` in the contract, without contribution_bounds_per_group",
        ));
    }
    if arguments.offset.is_some() && !mechanism.transforms() {
        return Err(Refusal::new(
            format!("`{function}`: {mechanism} has no offset"),
            "offset is for mechanism => 'LOG' and 'SQRT'",
        ));
    }
    Ok(mechanism)
}

fn counting(measure: Measure, low: i64, high: i64, weight: u32) -> Measurement {
    Measurement {
        name: String::new(),
        measure,
        low,
        high,
        split: None,
        mechanism: RecordMechanism::default(),
        offset: None,
        step: Step::Whole(1),
        weight,
        column_type: ColumnType::Int,
    }
}

/// What a reader would call the measurement.
fn describe(measurement: &Measurement, stored: &[(String, ColumnType)]) -> String {
    match &measurement.measure {
        Measure::Units => "count of privacy units".to_owned(),
        Measure::Rows => "count of rows".to_owned(),
        Measure::Values(expr) => format!("count of {}", short(expr, stored)),
        Measure::Sum(expr) if measurement.mechanism == RecordMechanism::default() => {
            format!("sum of {}", short(expr, stored))
        }
        Measure::Sum(expr) => {
            format!("sum of {} by {}", short(expr, stored), measurement.mechanism)
        }
    }
}

/// The expression in a few words.
fn short(expr: &Expr, stored: &[(String, ColumnType)]) -> String {
    match &expr.kind {
        ExprKind::Column(i) => stored.get(*i).map_or("?", |(name, _)| name).to_owned(),
        ExprKind::Call(Function::ToInt, inner) => {
            inner.first().map_or_else(|| "?".to_owned(), |e| short(e, stored))
        }
        _ => {
            let mut names = Vec::new();
            expr.visit_columns(&mut |i| {
                if let Some((name, _)) = stored.get(i)
                    && !names.contains(name)
                {
                    names.push(name.clone());
                }
            });
            format!("an expression of {}", names.join(", "))
        }
    }
}
