//! MEDIAN and PERCENTILE_CONT: the range that the quantile is chosen from, and how many of a unit's
//! rows count.

use hushtable_lang::aggregate_names::is_percentile;
use hushtable_lang::bind_expr::cast;
use hushtable_lang::{ColumnType, Expr, Refusal};
use hushtable_mechanisms::Percentile;
use hushtable_numbers::{MAX_LATTICE, Number};
use sqlparser::ast;

use super::bounds_in_steps::{in_steps, released_as};
use super::call_arguments::{Arguments, needs_numbers};
use super::collected::Aggregates;
use super::row_bounds::RowBounds;
use super::{Measure, Measurement};

impl Aggregates<'_> {
    /// The quantile of an expression, in a range from the call or the contract: that of its bounds,
    /// or of a column with `split` the whole lattice, as ranks do not depend on sizes; with values
    /// of up to about the threshold to be expected.
    pub(super) fn quantile(
        &mut self,
        function: &ast::Function,
        name: &str,
        arguments: &Arguments,
        keys: usize,
    ) -> Result<Expr, Refusal> {
        let operand = self.operand(arguments, function)?;
        let column_type = operand.column_type;
        if !column_type.is_numeric() {
            return Err(needs_numbers(function, column_type));
        }
        let percentile = match &arguments.percentile {
            Some(node) => self.percentile(node)?,
            None => Percentile::MEDIAN,
        };
        let declared = self.table.bounded_column(&operand);
        let split = declared.and_then(|c| c.split.as_ref());
        let split = split.map(|split| self.in_force(&operand, split));
        let bounds = arguments.row_bounds.or(declared.and_then(|c| c.bounds));
        let bounds = bounds.or_else(|| self.learnt(&operand, 1));
        let declared_step = declared.and_then(|c| c.granularity);
        let step_for = |low, high| declared_step.unwrap_or(column_type.default_step(low, high));
        let (step, (low, high), scale) = match (bounds, split) {
            (Some((low, high)), _) => {
                let step = step_for(low, high);
                let (low, high) = in_steps((low, high), step)?;
                (step, (low, high), low.abs().max(high.abs()))
            }
            (None, Some(split)) => {
                let finest = split.smallest();
                let step = step_for(finest.negative(), finest);
                // As a threshold that is beyond the lattice would be for a sum.
                let (_, scale) = in_steps((Number::whole(0), split.largest()), step)?;
                (step, (-MAX_LATTICE, MAX_LATTICE), scale)
            }
            (None, None) => {
                let known = RowBounds::of(&operand, arguments, self.table).or_else(|| {
                    let (low, high) = self.automatic_bounds(&operand, true)?;
                    Some(RowBounds::Given(low, high))
                });
                let Some(known) = known else {
                    return Err(Refusal::new(
                        format!("`{function}` has no bounds on its values"),
                        format!(
                            "{name}(x, {}contribution_bounds_per_row => (0, 100)), or bounds of \
                             the column in the contract; choose them without looking at the data, \
                             or write bounds = AUTO in OPTIONS",
                            if is_percentile(name) { "y, " } else { "" }
                        ),
                    ));
                };
                let step = known.step(&operand, declared_step);
                let (low, high) = known.in_steps(&operand, step)?;
                (step, (low, high), low.abs().max(high.abs()))
            }
        };
        if low > high {
            return Err(Refusal::new(
                format!(
                    "the bounds of `{function}` hold no multiple of the granularity {}",
                    step.to_f64()
                ),
                "use wider bounds, or a finer granularity of the column in the contract",
            ));
        }
        let rows = self.rows_of_a_unit(function)?;
        let measurement = Measurement {
            name: String::new(),
            measure: Measure::Quantile { of: operand, percentile, rows, scale, reach: None },
            low,
            high,
            step,
            weight: arguments.weight,
            column_type: released_as(step),
        };
        let interval = self.options.quantile_intervals.map(|level| {
            let mut interval = measurement.clone();
            if let Measure::Quantile { reach, .. } = &mut interval.measure {
                *reach = Some(level);
            }
            interval
        });
        let released = self.add_measurement(measurement, keys)?;
        if let Some(interval) = interval {
            self.add_measurement(interval, keys)?;
        }
        // As GoogleSQL has it, which interpolates.
        let whole = name.ends_with("_CONT") && released.column_type == ColumnType::Int;
        Ok(if whole { cast(released, ColumnType::Float) } else { released })
    }

    fn percentile(&self, node: &ast::Expr) -> Result<Percentile, Refusal> {
        let form = "PERCENTILE_CONT(x, 0.9)";
        let number = self.constant(node, form)?;
        let (digits, scale) = number.digits_and_scale();
        Percentile::new(digits, scale).ok_or_else(|| {
            Refusal::new(
                format!(
                    "the percentile {number} is not between 0 and 1 with at most {} decimal places",
                    Percentile::MAX_SCALE
                ),
                "PERCENTILE_CONT(x, 0.9), MEDIAN(x); the least and greatest values are those \
                 of one record",
            )
        })
    }
}
