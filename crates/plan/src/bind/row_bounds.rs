//! Sums and means of the rows of a unit that count in a group, whose values are within bounds, each
//! by itself or their mean.

use hushtable_contract::UnitLimit;
use hushtable_lang::range::Range;
use hushtable_lang::{Expr, Refusal};
use hushtable_numbers::{MAX_LATTICE, Number, Step};
use sqlparser::ast;

use super::automatic_limits::EXAMPLE_ROWS;
use super::bounds_in_steps::{in_steps, no_step_within, released_as};
use super::call_arguments::Arguments;
use super::collected::Aggregates;
use super::view::{QueryUnit, View};
use super::{Clamps, Measure, Measurement};

/// Bounds of a row's value.
pub(super) enum RowBounds {
    /// Bounds from the query: other values are clamped.
    Given(Number, Number),
    /// Bounds from the structure of the expression and the contract: other values are clamped, too.
    Known(Range),
}

impl RowBounds {
    /// Of an expression over the rows of a table: as the call says, or as is known.
    pub(super) fn of(operand: &Expr, arguments: &Arguments, table: &View) -> Option<Self> {
        match arguments.row_bounds {
            Some((low, high)) => Some(Self::Given(low, high)),
            None => table.range(operand).map(Self::Known),
        }
    }

    /// The lattice where the contract declares none.
    pub(super) fn step(&self, operand: &Expr, declared: Option<Step>) -> Step {
        let column_type = operand.column_type;
        declared.unwrap_or_else(|| match self {
            Self::Given(low, high) => column_type.default_step(*low, *high),
            Self::Known(range) => range.default_step(column_type),
        })
    }

    /// The bounds in steps: those of a query rounded inwards, as it asks for no more; known ones
    /// outwards, so that nothing is cut off.
    pub(super) fn in_steps(&self, operand: &Expr, step: Step) -> Result<(i64, i64), Refusal> {
        match self {
            Self::Given(low, high) => in_steps((*low, *high), step),
            Self::Known(range) => range.in_steps(step, operand.column_type).ok_or_else(|| {
                Refusal::new(
                    "the values of the expression can be too large to be added up",
                    "contribution_bounds_per_row => (0, 100)",
                )
            }),
        }
    }
}

impl Aggregates<'_> {
    /// The sum of an expression over the rows that count, of which the bounds clamp each or the
    /// mean.
    pub(super) fn sum_of_rows(
        &mut self,
        function: &ast::Function,
        operand: Expr,
        (bounds, clamps): (&RowBounds, Clamps),
        (weight, keys): (u32, usize),
    ) -> Result<Expr, Refusal> {
        let declared = self.table.bounded_column(&operand).and_then(|c| c.granularity);
        let step = bounds.step(&operand, declared);
        let (low, high) = bounds.in_steps(&operand, step)?;
        if low > high || low == 0 && high == 0 {
            return Err(match bounds {
                RowBounds::Given(low, high) => no_step_within((*low, *high), step),
                RowBounds::Known(_) => Refusal::new(
                    format!("`{function}` adds up values that are always zero"),
                    "leave it out; zero needs no data",
                ),
            });
        }
        let rows = self.rows_of_a_unit(function)?;
        let operand = self.table.complete(operand);
        let (measure, (low, high)) = match self.table.unit {
            // A row's contribution is its value.
            QueryUnit::Row => (Measure::ClampedSum(operand), (low, high)),
            QueryUnit::Column(_) => {
                let within = unit_within((low, high), rows).ok_or_else(|| {
                    Refusal::new(
                        format!(
                            "`{function}`: {rows} rows of one unit may add up to more than \
                             {MAX_LATTICE} steps of {}",
                            step.to_f64()
                        ),
                        "use a smaller max_rows_per_group, narrower bounds, or a coarser \
                         granularity of the column in the contract",
                    )
                })?;
                (Measure::SumOfRows { of: operand, low, high, clamps, rows }, within)
            }
        };
        let measurement = Measurement {
            name: String::new(),
            measure,
            low,
            high,
            step,
            weight,
            column_type: released_as(step),
        };
        self.add_measurement(measurement, keys)
    }

    /// Most rows of one unit that count in a group; one where a sub-query leaves no more.
    pub(super) fn max_rows_per_group(&mut self) -> Option<u32> {
        let most = self.rows_for_now()?;
        let is_chosen = self.options.max_rows_per_group == Some(UnitLimit::Automatic);
        if !is_chosen || self.has_one_row_of_a_unit() {
            return Some(most);
        }
        self.automatic_rows = true;
        Some(self.options.chosen.rows.unwrap_or(most))
    }

    /// Most rows of one unit that count in a group, with an example of a limit that is chosen: the
    /// same before and after the choice.
    pub(super) fn rows_for_now(&self) -> Option<u32> {
        match self.options.max_rows_per_group {
            _ if self.has_one_row_of_a_unit() => Some(1),
            Some(UnitLimit::Automatic) => Some(EXAMPLE_ROWS),
            Some(UnitLimit::Most(most)) => Some(most),
            None => None,
        }
    }

    /// Whether a sub-query leaves a unit at most one row in a group.
    fn has_one_of_a_unit(&self) -> bool {
        self.table.relation.has_one_of_a_unit(self.keys.iter().map(|key| &key.expr))
    }

    /// Whether a unit has at most one row in a group, whatever the data.
    pub(super) fn has_one_row_of_a_unit(&self) -> bool {
        matches!(self.table.unit, QueryUnit::Row) || self.has_one_of_a_unit()
    }

    /// Most rows of one unit that count in a group, where each counts by itself.
    pub(super) fn rows_of_a_unit(&mut self, function: &ast::Function) -> Result<u32, Refusal> {
        let most = self.max_rows_per_group();
        match (&self.table.unit, most) {
            (QueryUnit::Row, _) => Ok(1),
            (QueryUnit::Column(_), Some(most)) => Ok(most),
            (QueryUnit::Column(_), None) => {
                let is_sum = function.name.to_string().eq_ignore_ascii_case("SUM");
                let or = if is_sum {
                    "; or contribution_bounds_per_group => (0, 100) for all rows of a unit together"
                } else {
                    ""
                };
                Err(Refusal::new(
                    format!("`{function}` has no limit on the rows of one unit in a group"),
                    format!(
                        "max_rows_per_group = 1 in OPTIONS or in the contract's defaults, or AUTO \
                         to have it chosen privately{or}"
                    ),
                ))
            }
        }
    }
}

/// The range of the total of one to `rows` rows within these bounds; `None` beyond [`MAX_LATTICE`].
fn unit_within((low, high): (i64, i64), rows: u32) -> Option<(i64, i64)> {
    let rows = i64::from(rows);
    let low = if low < 0 { low.checked_mul(rows)? } else { low };
    let high = if high > 0 { high.checked_mul(rows)? } else { high };
    (low >= -MAX_LATTICE && high <= MAX_LATTICE).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds of a unit are the least and greatest sum of one row or more, over all choices.
    #[test]
    fn units_of_several_rows_add_up_to_no_more() {
        for low in -3i64..=3 {
            for high in low..=3 {
                for rows in 1..=4u32 {
                    let mut sums: Vec<i64> = (low..=high).collect();
                    let mut all = sums.clone();
                    for _ in 1..rows {
                        sums = sums.iter().flat_map(|s| (low..=high).map(move |v| s + v)).collect();
                        sums.sort_unstable();
                        sums.dedup();
                        all.extend(&sums);
                    }
                    let ends = all.iter().min().copied().zip(all.iter().max().copied());
                    assert_eq!(unit_within((low, high), rows), ends, "{low} {high} {rows}");
                }
            }
        }
        assert_eq!(unit_within((0, MAX_LATTICE), 1), Some((0, MAX_LATTICE)));
        for (low, high, rows) in [
            (0, MAX_LATTICE / 2 + 1, 2),
            (-MAX_LATTICE / 2 - 1, 0, 2),
            (0, MAX_LATTICE, u32::MAX),
            (-MAX_LATTICE, 0, u32::MAX),
        ] {
            assert_eq!(unit_within((low, high), rows), None);
        }
    }
}
