//! Released clipping reports: the shares of units and of totals that limits cut off.

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::Float64Type;
use hushtable_contract::IntervalRequest;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::intervals::{ColumnIntervals, Uncertainty};

/// The released shares that the limits of private parts cut off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClippingReport {
    /// The parts that it is about, which have the same limits on the same rows.
    pub of: Vec<String>,
    /// The shares, by limit and by measurement.
    pub shares: Vec<ClippedShare>,
}

/// A released share, with its interval at 95 %.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClippedShare {
    /// The units or the total that it is a share of, and the limit.
    pub what: String,
    /// The share; `None` where its noisy denominator is not above zero.
    pub share: Option<f64>,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end of its interval.
    pub high: Option<f64>,
}

impl ClippingReport {
    /// The report in the one row of a release.
    pub(crate) fn new(of: Vec<String>, released: &Uncertainty) -> Result<Self, EngineError> {
        let table = released.table();
        if table.num_rows() != 1 {
            return Err(EngineError::inconsistent(
                "a release of clipped shares has more or less than one row",
            ));
        }
        let number = |column: &dyn Array| -> Result<Option<f64>, EngineError> {
            let column = column.as_primitive_opt::<Float64Type>();
            let column =
                column.ok_or(EngineError::inconsistent("a clipped share is not a float"))?;
            Ok(column.is_valid(0).then(|| column.value(0)))
        };
        let intervals = released.intervals(IntervalRequest::USUAL)?.columns;
        let schema = table.schema();
        let mut shares = Vec::with_capacity(intervals.len());
        for ((field, column), interval) in
            schema.fields().iter().zip(table.columns()).zip(intervals)
        {
            let ColumnIntervals::Ends { low, high } = interval else {
                return Err(EngineError::inconsistent("a clipped share has no interval"));
            };
            let (share, low, high) = (number(column)?, number(&low)?, number(&high)?);
            shares.push(ClippedShare { what: field.name().clone(), share, low, high });
        }
        Ok(Self { of, shares })
    }
}
