//! Collects the measurements of a query.

use hushtable_contract::LearntBounds;
use hushtable_lang::bind_expr::bind_row_expression;
use hushtable_lang::{ColumnType, Expr, Refusal};
use sqlparser::ast;

use super::automatic_limits::AutomaticBounds;
use super::describe::{describe, short};
use super::options::Options;
use super::view::View;
use super::{Key, Measurement};
use crate::warning::Warning;

/// Most different measurements in one query.
const MAX_MEASUREMENTS: usize = 100;

/// Collects the measurements of a query.
pub(super) struct Aggregates<'a> {
    pub(super) table: &'a View,
    pub(super) options: &'a Options,
    pub(super) stored: &'a [(String, ColumnType)],
    pub(super) keys: &'a [Key],
    pub(super) filter: Option<&'a Expr>,
    pub(super) measurements: Vec<Measurement>,
    pub(super) warnings: Vec<Warning>,
    /// Whether a count of rows is one of units, of which one row counts.
    pub(super) rows_as_units: bool,
    /// Whether the limit on rows of a unit in a group is chosen privately.
    pub(super) automatic_rows: bool,
    /// The values whose bounds are chosen privately.
    pub(super) automatic: Vec<AutomaticBounds>,
    /// The bounds in use that are on record.
    pub(super) learnt: Vec<LearntBounds>,
}

impl Aggregates<'_> {
    /// The expression in a few words.
    pub(super) fn name_of(&self, expr: &Expr) -> String {
        short(expr, self.stored)
    }

    pub(super) fn row(&self, node: &ast::Expr) -> Result<Expr, Refusal> {
        bind_row_expression(node, &self.table.scope)
    }

    /// Adds a measurement, or finds the same one, and gives its released column.
    pub(super) fn add_measurement(
        &mut self,
        mut measurement: Measurement,
        keys: usize,
    ) -> Result<Expr, Refusal> {
        let column_type = measurement.column_type;
        let weight = measurement.weight;
        let same = self.measurements.iter_mut().position(|existing| {
            measurement.weight = existing.weight;
            measurement.name.clone_from(&existing.name);
            *existing == measurement
        });
        let index = match same {
            Some(index) => {
                let existing = &mut self.measurements[index];
                existing.weight = existing.weight.max(weight);
                index
            }
            None => {
                measurement.weight = weight;
                measurement.name = describe(&measurement, self.stored);
                self.measurements.push(measurement);
                self.measurements.len() - 1
            }
        };
        if self.measurements.len() > MAX_MEASUREMENTS {
            return Err(Refusal::new(
                format!("the query has more than {MAX_MEASUREMENTS} different aggregates"),
                "ask several queries: each aggregate's share of the budget would be very small",
            ));
        }
        Ok(Expr::column(keys + index, column_type))
    }
}
