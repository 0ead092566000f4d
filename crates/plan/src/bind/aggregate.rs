//! COUNT, SUM, AVG and aggregates computed from them: what they measure, and how it is bounded.

use hushtable_contract::{Column, MAX_ROWS};
use hushtable_lang::aggregate_names::is_percentile;
use hushtable_lang::bind_expr::{cast, condition, where_true};
use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind, Function, Refusal, Value};
use hushtable_mechanisms::RecordMechanism;
use hushtable_numbers::{MAX_LATTICE, Number, Step};
use hushtable_privacy::Loss;
use sqlparser::ast;

use super::automatic_limits::{AutomaticBounds, EXAMPLE_BOUND};
use super::bounds_in_steps::{in_steps, no_step_within, released_as};
use super::call_arguments::{Arguments, needs_numbers};
use super::collected::Aggregates;
use super::row_bounds::RowBounds;
use super::view::QueryUnit;
use super::{Clamps, Measure, Measurement, PerRecordSum};

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
            "COUNT" | "COUNTIF" | "APPROX_COUNT_DISTINCT" => self.count(&arguments, name, keys),
            "SUM" => self.sum(function, arguments, keys),
            "AVG" => self.average(function, arguments, keys),
            _ if name == "MEDIAN" || is_percentile(name) => {
                self.quantile(function, name, &arguments, keys)
            }
            _ => self.moment(function, name, &arguments, keys),
        }
    }

    fn count(&mut self, arguments: &Arguments, name: &str, keys: usize) -> Result<Expr, Refusal> {
        let named = arguments.operand.as_ref().filter(|_| arguments.distinct);
        let mut operand = match named.and_then(|name| self.table.unit_by_name(name)) {
            Some(unit) => Some(unit),
            None => arguments.operand.as_ref().map(|e| self.row(e)).transpose()?,
        };
        if name == "COUNTIF"
            && let (Some(tested), Some(node)) = (operand.take(), &arguments.operand)
        {
            operand = Some(where_true(condition(tested, node, "COUNTIF")?, None));
        }
        if arguments.distinct {
            return self.count_distinct(arguments, operand, keys);
        }
        let operand = match &arguments.filter {
            Some(filter) => Some(where_true(filter.clone(), operand)),
            None => operand,
        };
        let (low, high) = self.count_bounds(arguments.bounds, "COUNT")?;
        let measurement = self.row_count(operand, (low, high), arguments.weight);
        self.add_measurement(measurement, keys)
    }

    /// The count of rows with a value of the operand, or of all rows, from `low` to `high` of a
    /// unit.
    pub(super) fn row_count(
        &mut self,
        operand: Option<Expr>,
        (low, high): (i64, i64),
        weight: u32,
    ) -> Measurement {
        // A row count between 0 or 1 and 1 counts the unit itself.
        let measure = match operand.filter(|e| !self.table.is_never_null(e)) {
            None if high == 1 && low >= 0 => {
                self.rows_as_units |= self.table.unit != QueryUnit::Row;
                Measure::Units
            }
            None => Measure::Rows,
            Some(expr) => Measure::Values(expr),
        };
        let low = if measure == Measure::Units { 0 } else { low };
        counting(measure, low, high, weight)
    }

    fn count_distinct(
        &mut self,
        arguments: &Arguments,
        operand: Option<Expr>,
        keys: usize,
    ) -> Result<Expr, Refusal> {
        let is_unit =
            arguments.others.is_empty() && operand.as_ref().is_some_and(|e| self.table.is_unit(e));
        if !is_unit {
            let Some(operand) = operand else {
                return Err(Refusal::new("COUNT(DISTINCT *) is not supported", "COUNT(*)"));
            };
            let others = arguments.others.iter().map(|node| self.row(node));
            let operands = std::iter::once(Ok(operand)).chain(others);
            return self.count_values(arguments, operands.collect::<Result<_, _>>()?, keys);
        }
        if arguments.bounds.is_some() {
            return Err(Refusal::new(
                "COUNT(DISTINCT unit) takes no bounds",
                "leave the bounds out: a unit counts once in a group",
            ));
        }
        let measure = match &arguments.filter {
            // A unit counts if one of its rows is let through.
            Some(filter) => Measure::Values(where_true(filter.clone(), None)),
            None => Measure::Units,
        };
        self.add_measurement(counting(measure, 0, 1, arguments.weight), keys)
    }

    /// The number of different values of a column that is not the unit, or of combinations of
    /// several. A value counts once, and a unit moves the number by no more than as many as count
    /// of its own.
    fn count_values(
        &mut self,
        arguments: &Arguments,
        mut operands: Vec<Expr>,
        keys: usize,
    ) -> Result<Expr, Refusal> {
        let no_bounds = arguments.bounds.is_none() && self.rows_for_now().is_none();
        if let (QueryUnit::Column(unit), true) = (&self.table.unit, no_bounds) {
            return Err(Refusal::new(
                "COUNT(DISTINCT …) has no limit on the different values of one unit in a group",
                format!(
                    "COUNT(DISTINCT x, contribution_bounds_per_group => (0, 3)), \
                     or max_rows_per_group = 3 in OPTIONS or in the contract's defaults; \
                     COUNT(DISTINCT {unit}) counts the units themselves"
                ),
            ));
        }
        let (low, high) = self.count_bounds(arguments.bounds, "COUNT")?;
        let values = u32::try_from(high).ok().filter(|_| low <= 0 && high <= i64::from(MAX_ROWS));
        let Some(values) = values else {
            return Err(Refusal::new(
                format!(
                    "the bounds ({low}, {high}) are not valid for COUNT(DISTINCT …): their low \
                     end must be at most 0, their high end from 0 to {MAX_ROWS}"
                ),
                "contribution_bounds_per_group => (0, 3)",
            ));
        };
        if let (Some(filter), Some(first)) = (&arguments.filter, operands.first_mut()) {
            *first = where_true(filter.clone(), Some(first.clone()));
        }
        let code = Expr::call(Function::Code, operands, ColumnType::Int);
        let measure = Measure::Distinct { of: code, values };
        self.add_measurement(counting(measure, 0, high, arguments.weight), keys)
    }

    /// Bounds of a unit's rows in a group. Errors call the aggregate by its `name`.
    pub(super) fn count_bounds(
        &mut self,
        given: Option<(Number, Number)>,
        name: &str,
    ) -> Result<(i64, i64), Refusal> {
        if let Some((low, high)) = given {
            let ends = (Step::Whole(1).ceil(low), Step::Whole(1).floor(high));
            return match ends {
                (Some(low), Some(high)) if low <= high && high > 0 => Ok((low, high)),
                _ => Err(Refusal::new(
                    format!("the bounds ({low}, {high}) of {name} leave nothing to count"),
                    "contribution_bounds_per_group => (0, 5)",
                )),
            };
        }
        let most = self.max_rows_per_group();
        match (&self.table.unit, most) {
            (QueryUnit::Row, _) => Ok((0, 1)),
            (QueryUnit::Column(_), Some(most)) => Ok((0, i64::from(most))),
            (QueryUnit::Column(unit), None) => Err(Refusal::new(
                format!("{name} has no limit on the rows of one unit in a group"),
                format!(
                    "COUNT(*, contribution_bounds_per_group => (0, 5)), or max_rows_per_group = 5 \
                     or AUTO in OPTIONS or in the contract's defaults, or COUNT(DISTINCT {unit})"
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
        let weight = arguments.weight;
        if !operand.column_type.is_numeric() {
            return Err(needs_numbers(function, operand.column_type));
        }
        let declared = self.table.bounded_column(&operand);
        let has_bounds = arguments.bounds.is_some() || arguments.row_bounds.is_some();
        let split = declared.and_then(|c| c.split.as_ref()).filter(|_| !has_bounds);
        if split.is_some() && self.table.unit != QueryUnit::Row {
            return Err(Refusal::new(
                format!(
                    "`{function}` is of a column with `split`, but the join can repeat a row: \
                     what a row may lose is known only if it counts once"
                ),
                "set unique = [\"town\"] for the public table in the contract, with the columns \
                 that it is joined on; or add contribution_bounds_per_group => (0, 100)",
            ));
        }
        let split = split.map(|split| self.in_force(&operand, split));
        if split.is_some() && !matches!(self.options.loss, Some(Loss::Concentrated { .. })) {
            return Err(Refusal::new(
                format!("`{function}` is of a column with `split`, but the query has no rho"),
                "OPTIONS (rho = 0.5): what a record of a given size may lose is counted in rho; or \
                 contribution_bounds_per_group => (0, 100) to clamp",
            ));
        }
        let mechanism = released_by(function, arguments, split.is_some())?;
        let of_units = declared.and_then(|column| self.narrower_sum_bounds(column));
        let bounds = arguments.bounds.or(of_units.filter(|_| arguments.row_bounds.is_none()));
        if bounds.is_none()
            && split.is_none()
            && let Some(bounds) = self.row_bounds(&operand, arguments)
        {
            let clamped = (&bounds, Clamps::Rows);
            return self.sum_of_rows(function, operand, clamped, (weight, keys));
        }
        let within = |threshold: Number| (threshold.negative(), threshold);
        let bounds = bounds.or(split.as_ref().map(|s| within(s.largest())));
        let bounds = bounds.or_else(|| self.automatic_bounds(&operand, false));
        let Some((low, high)) = bounds else {
            if let Some(column) = self.split_column_in(&operand) {
                return Err(Refusal::new(
                    format!(
                        "`{function}` is of an expression of `{column}`, which has `split`: \
                         what a record may lose is known only for the sum of the column itself"
                    ),
                    format!(
                        "SUM({column}), with conditions in WHERE; or a computed column in the \
                         contract with a `split` of its own; or contribution_bounds_per_group"
                    ),
                ));
            }
            return Err(Refusal::new(
                format!("`{function}` has no bounds on what one unit adds to a group"),
                format!(
                    "{}(x, contribution_bounds_per_row => (0, 100)) for the value of each row, \
                     contribution_bounds_per_group for the sum of a unit's rows, or bounds of the \
                     column in the contract; choose them without looking at the data, or write \
                     bounds = AUTO in OPTIONS",
                    function.name
                ),
            ));
        };
        let declared_step = declared.and_then(|c| c.granularity);
        let column_type = operand.column_type;
        let (finest_low, finest_high) =
            split.as_ref().map_or((low, high), |s| within(s.smallest()));
        let step =
            declared_step.unwrap_or_else(|| column_type.default_step(finest_low, finest_high));
        let (low_steps, high_steps) = in_steps((low, high), step)?;
        if low_steps > high_steps || low_steps == 0 && high_steps == 0 {
            return Err(no_step_within((low, high), step));
        }
        let split = split.map(|s| s.in_steps(step)).transpose()?;
        let largest = split.as_ref().and_then(|s| s.all().into_iter().max());
        let (low_steps, high_steps) =
            largest.map_or((low_steps, high_steps), |largest| (-largest, largest));
        let offset = arguments.offset.map(|offset| {
            step.floor(offset).filter(|&steps| (1..=MAX_LATTICE).contains(&steps)).ok_or_else(
                || {
                    Refusal::new(
                        format!(
                            "offset => {offset} is not from 1 to {MAX_LATTICE} times the \
                             granularity {} of the sum",
                            step.to_f64()
                        ),
                        "use an offset about as large as the splitting threshold, which is the \
                         default",
                    )
                },
            )
        });
        let offset = offset.transpose()?;
        let measure = match split {
            Some(thresholds) => {
                Measure::PerRecordSum(PerRecordSum { of: operand, thresholds, mechanism, offset })
            }
            None => Measure::ClampedSum(self.table.complete(operand)),
        };
        let measurement = Measurement {
            name: String::new(),
            measure,
            low: low_steps,
            high: high_steps,
            step,
            weight,
            column_type: released_as(step),
        };
        self.add_measurement(measurement, keys)
    }

    /// Bounds of each row's value: those of the call, of the column, or that the structure of the
    /// expression tells.
    fn row_bounds(&mut self, operand: &Expr, arguments: &Arguments) -> Option<RowBounds> {
        let known = RowBounds::of(operand, arguments, self.table);
        if !matches!(known, Some(RowBounds::Given(..)))
            && let Some((low, high)) = self.learnt_of_sum(operand)
        {
            return Some(RowBounds::Given(low, high));
        }
        let column = self.table.bounded_column(operand).filter(|column| column.split.is_none());
        let Some((low, high)) = column.and_then(|column| column.bounds) else { return known };
        match known {
            Some(RowBounds::Known(range)) => {
                // Conditions may leave less of the column's range.
                let narrower = range
                    .to_f64(operand.column_type)
                    .is_some_and(|(least, most)| least > low.to_f64() || most < high.to_f64());
                Some(if narrower { RowBounds::Known(range) } else { RowBounds::Given(low, high) })
            }
            None => Some(RowBounds::Given(low, high)),
            given => given,
        }
    }

    /// The contract's bounds of what a unit adds to a group. Where a unit has one row they say
    /// nothing that narrower bounds of a row do not, by which sum and mean are one measurement.
    fn narrower_sum_bounds(&self, column: &Column) -> Option<(Number, Number)> {
        let (least, most) = column.sum_bounds?;
        let within = column.bounds.is_some_and(|(low, high)| least <= low && high <= most);
        (!(within && self.has_one_row_of_a_unit())).then_some((least, most))
    }

    /// Bounds that are chosen privately, where the query or the column asks for that: those that
    /// were chosen, or an example of them.
    pub(super) fn automatic_bounds(
        &mut self,
        operand: &Expr,
        per_row: bool,
    ) -> Option<(Number, Number)> {
        let column = self.table.bounded_column(operand);
        if !self.options.automatic_bounds && !column.is_some_and(|c| c.automatic_bounds) {
            return None;
        }
        // A column with `split` has no bounds.
        if self.split_column_in(operand).is_some() {
            return None;
        }
        let of = self.table.complete(operand.clone());
        let bounds = AutomaticBounds { of, per_row: per_row && self.table.unit != QueryUnit::Row };
        let index = self.automatic.iter().position(|sum| *sum == bounds).unwrap_or_else(|| {
            self.automatic.push(bounds);
            self.automatic.len() - 1
        });
        let step = column.and_then(|c| c.granularity).map_or(0.0, Step::to_f64);
        let coarse = (step > EXAMPLE_BOUND as f64).then(|| Number::parse(&format!("{step}")));
        let bound = coarse.flatten().unwrap_or(Number::whole(EXAMPLE_BOUND));
        let chosen = self.options.chosen.bounds.get(index).copied();
        Some(chosen.unwrap_or((bound.negative(), bound)))
    }

    /// The range of the values of rows in a released sum, or of their mean; `None` where they are
    /// not clamped.
    fn range_of_values(&self, sum: &Expr, keys: usize) -> Option<(f64, f64)> {
        let ExprKind::Column(column) = sum.kind else { return None };
        let measurement = self.measurements.get(column.checked_sub(keys)?)?;
        let (low, high) = match measurement.measure {
            Measure::SumOfRows { low, high, .. } => (low, high),
            Measure::ClampedSum(_) if self.table.unit == QueryUnit::Row => {
                (measurement.low, measurement.high)
            }
            _ => return None,
        };
        let step = measurement.step.to_f64();
        Some((low as f64 * step, high as f64 * step))
    }

    /// A column with `split` that an expression reads.
    pub(super) fn split_column_in(&self, operand: &Expr) -> Option<String> {
        let mut split_column = None;
        operand.visit_columns(&mut |i| {
            let name = self.stored.get(i).map(|(name, _)| name);
            let column = self.table.columns.iter().find(|c| Some(&c.name) == name);
            if let Some(column) = column.filter(|c| c.split.is_some()) {
                split_column.get_or_insert(column.name.clone());
            }
        });
        split_column
    }

    pub(super) fn operand(
        &self,
        arguments: &Arguments,
        function: &ast::Function,
    ) -> Result<Expr, Refusal> {
        if arguments.distinct {
            return Err(Refusal::new(
                format!(
                    "`{function}` of several units is not supported: whether a unit's value counts \
                     would depend on who else has it"
                ),
                "count each value of a unit once: FROM (SELECT DISTINCT unit, x FROM table)",
            ));
        }
        match &arguments.operand {
            Some(node) => {
                let operand = self.row(node)?;
                Ok(match &arguments.filter {
                    Some(filter) => where_true(filter.clone(), Some(operand)),
                    None => operand,
                })
            }
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
        // The sum of a condition is the number of rows on which it holds.
        let plain = arguments.row_bounds.is_none() && arguments.mechanism.is_none();
        if operand.column_type == ColumnType::Bool && plain {
            let bounds = self.count_bounds(arguments.bounds, "SUM of a condition")?;
            let counted = Some(where_true(operand, None));
            let measurement = self.row_count(counted, bounds, arguments.weight);
            return self.add_measurement(measurement, keys);
        }
        self.sum_of(function, operand, &arguments, keys)
    }

    /// The released sum over the released count of the same rows, which costs both, within the
    /// bounds of their values.
    fn average(
        &mut self,
        function: &ast::Function,
        arguments: Arguments,
        keys: usize,
    ) -> Result<Expr, Refusal> {
        let operand = match self.operand(&arguments, function)? {
            // The mean of a condition is the share of rows on which it holds.
            condition if condition.column_type == ColumnType::Bool => {
                cast(condition, ColumnType::Int)
            }
            operand => operand,
        };
        let weight = arguments.weight;
        // The sum of a unit's rows in a group is that of those that are counted.
        let clamped = match (arguments.bounds, &self.table.unit) {
            _ if !operand.column_type.is_numeric() => None,
            (_, QueryUnit::Row) => None,
            (Some((low, high)), _) => Some((RowBounds::Given(low, high), Clamps::Mean)),
            (None, _) => {
                let bounds = self.row_bounds(&operand, &arguments).or_else(|| {
                    let (low, high) = self.automatic_bounds(&operand, true)?;
                    Some(RowBounds::Given(low, high))
                });
                bounds.map(|bounds| (bounds, Clamps::Rows))
            }
        };
        if clamped.is_none()
            && let QueryUnit::Column(_) = self.table.unit
            && self.table.bounded_column(&operand).is_some_and(|c| c.sum_bounds.is_some())
        {
            // Of all rows of a unit, more than are counted, it would be no mean.
            return Err(Refusal::new(
                format!("`{function}` has no bounds on the value of each row"),
                "contribution_bounds_per_row => (0, 100), or bounds of the column in the contract \
                 beside sum_bounds; choose them without looking at the data",
            ));
        }
        let sum = match clamped {
            Some((bounds, clamps)) => {
                let of = (weight, keys);
                self.sum_of_rows(function, operand.clone(), (&bounds, clamps), of)?
            }
            None => self.sum_of(function, operand.clone(), &arguments, keys)?,
        };
        let within = self.range_of_values(&sum, keys);
        let bounds = self.count_bounds(None, "COUNT")?;
        let count = self.row_count(Some(operand), bounds, weight);
        let count = self.add_measurement(count, keys)?;
        let ratio = Expr::binary(
            BinaryOp::Div,
            cast(sum, ColumnType::Float),
            cast(count.clone(), ColumnType::Float),
            ColumnType::Float,
        );
        // No mean is outside, so that noise is cut off there.
        let ratio = match within {
            None => ratio,
            Some((low, high)) => {
                let end = |x: f64| Expr::literal(Value::Float(x + 0.0));
                let within = vec![ratio, end(high)];
                let within = Expr::call(Function::Least, within, ColumnType::Float);
                Expr::call(Function::Greatest, vec![within, end(low)], ColumnType::Float)
            }
        };
        // A noisy count of zero or less is no base for a mean.
        let zero = Expr::literal(Value::Int(0));
        let positive = Expr::binary(BinaryOp::Gt, count, zero, ColumnType::Bool);
        Ok(Expr::new(ExprKind::Case(vec![(positive, ratio)], None), ColumnType::Float))
    }
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
            "use SUM(x) of a column with `split` in the contract, without bounds in the query",
        ));
    }
    if arguments.offset.is_some() && !mechanism.transforms() {
        return Err(Refusal::new(
            format!("`{function}`: {mechanism} has no offset"),
            "leave offset out: it is for mechanism => 'LOG' and 'SQRT'",
        ));
    }
    Ok(mechanism)
}

pub(super) fn counting(measure: Measure, low: i64, high: i64, weight: u32) -> Measurement {
    Measurement {
        name: String::new(),
        measure,
        low,
        high,
        step: Step::Whole(1),
        weight,
        column_type: ColumnType::Int,
    }
}
