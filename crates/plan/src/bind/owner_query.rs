//! A query as the owner of the data reads it.

use hushtable_lang::Expr;

use super::query::PrivateQuery;
use super::{Key, Measure, Measurement};

/// A query as the owner of the data reads it: with keys and measurements beside those that were
/// asked for, or without its limits. It releases nothing: there is no `Quote` of
/// it, which a charge would need.
///
/// ```compile_fail,E0308
/// fn quoted(query: hushtable_plan::OwnerQuery) {
///     let _ = hushtable_quote::Quote::new(query);
/// }
/// ```
#[derive(Clone)]
pub struct OwnerQuery(PrivateQuery);

impl From<&PrivateQuery> for OwnerQuery {
    fn from(query: &PrivateQuery) -> Self {
        Self(query.clone())
    }
}

impl OwnerQuery {
    /// The query that its rows are read, grouped and added up by.
    pub fn as_read(&self) -> &PrivateQuery {
        &self.0
    }

    /// The query without any limit on what a unit adds, up to `largest` steps.
    #[must_use]
    pub fn without_limits(mut self, largest: i64) -> Self {
        self.0.max_groups_contributed = u32::MAX;
        for measurement in &mut self.0.measurements {
            match &mut measurement.measure {
                Measure::SumOfRows { of, .. } => {
                    measurement.measure = Measure::ClampedSum(of.clone());
                }
                Measure::Distinct { values: most, .. } | Measure::Quantile { rows: most, .. } => {
                    *most = u32::MAX;
                    continue;
                }
                Measure::Units => continue,
                Measure::Rows
                | Measure::Values(_)
                | Measure::ClampedSum(_)
                | Measure::PerRecordSum(_) => {}
            }
            (measurement.low, measurement.high) = (-largest, largest);
        }
        self
    }

    /// Adds a group key, and gives its position.
    pub fn push_key(&mut self, expr: Expr) -> usize {
        self.0.keys.push(Key { expr, public: None, by_query: false, known: None });
        self.0.keys.len() - 1
    }

    /// Adds a measurement.
    pub fn push_measurement(&mut self, measurement: Measurement) {
        self.0.measurements.push(measurement);
    }
}
