//! The query with another limit on the rows of a unit in joins.

use hushtable_lang::Refusal;

use super::{Measure, Measurement, PrivateQuery};

impl PrivateQuery {
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
