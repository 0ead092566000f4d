//! Limits on the rows of a unit in joins: where they come from, and the query with others.

use hushtable_lang::Refusal;
use serde::{Deserialize, Serialize};

use super::{Measure, Measurement, PrivateQuery};

/// Where a limit on the rows of a unit in a join comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitSource {
    /// The query, which names none, has the largest that costs it nothing.
    #[default]
    Computed,
    /// The query's OPTIONS.
    Options,
    /// The defaults of the contract, or of a workload.
    Defaults,
}

impl LimitSource {
    /// Of a limit that is set among the defaults or not at all.
    pub(super) fn of_default(limit: Option<u32>) -> Self {
        if limit.is_some() { Self::Defaults } else { Self::Computed }
    }
}

/// The sources of both limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitSources {
    /// Of `max_rows_joined`.
    pub joined: LimitSource,
    /// Of `max_rows_contributed`.
    pub contributed: LimitSource,
}

impl PrivateQuery {
    /// Where its limits on the rows of a unit in joins come from.
    pub fn limit_sources(&self) -> LimitSources {
        self.limit_sources
    }

    /// The query with another limit on the rows of a unit in joins in which its rows can meet each
    /// other. Where that leaves a unit one row, the query counts on one.
    ///
    /// # Errors
    /// Those of [`Relation::new`](crate::Relation::new).
    pub fn with_max_rows_joined(self, rows: u32) -> Result<Self, Refusal> {
        let mut query = self.with_rows_joined(Some(rows))?;
        if query.relation.has_one_of_a_unit([].iter()) {
            query.max_groups_contributed = 1;
            query.measurements.iter_mut().for_each(of_one_row);
        }
        Ok(query)
    }
}

/// Bounds a measurement as that of units with one row.
fn of_one_row(measurement: &mut Measurement) {
    match &mut measurement.measure {
        Measure::Rows | Measure::Values(_) => measurement.high = measurement.high.min(1),
        Measure::SumOfRows { low, high, rows, .. } => {
            *rows = 1;
            (measurement.low, measurement.high) = (*low, *high);
        }
        Measure::Distinct { values, .. } => {
            *values = 1;
            measurement.high = measurement.high.min(1);
        }
        Measure::Quantile { rows, .. } => *rows = 1,
        Measure::Units | Measure::ClampedSum(_) | Measure::PerRecordSum(_) => {}
    }
}
