//! The mechanisms for sums that are not clamped, side by side.

use hushtable_mechanisms::{PerRecord, RecordMechanism, standard_error};
use hushtable_privacy::{Growth, Rho};
use serde::Serialize;

use crate::bind::Measurement;
use crate::quote::Quote;

/// Sums of groups, in thresholds.
const SUMS: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];

/// The sum at which mechanisms are made equally precise, in thresholds.
const SAME_AT: f64 = 100.0;

/// Values of records, in thresholds.
const VALUES: [f64; 5] = [0.1, 1.0, 10.0, 100.0, 1000.0];

/// The mechanisms for a sum that is not clamped: what they would cost and how precise they would be. Where
/// there are several thresholds, for the largest.
#[derive(Clone, Debug, Serialize)]
pub struct MechanismsExplained {
    /// Which sum.
    pub measurement: String,
    /// The mechanism that the query names or has by default.
    pub mechanism: RecordMechanism,
    /// The threshold T, in the column's units.
    pub threshold: f64,
    /// Sums of a group to which `standard_errors` belong, as multiples of T.
    pub sums: [f64; 4],
    /// Values of a record to which `losses` belong, as multiples of T.
    pub values: [f64; 5],
    /// Every mechanism, made so that a record at T loses the measurement's rho.
    pub at_equal_loss: Vec<MechanismCompared>,
    /// The sum at which the mechanisms below are equally precise, as a multiple of T.
    pub same_at: f64,
    /// Every mechanism, made so that it has there the standard error of the query's.
    pub at_equal_noise: Vec<MechanismCompared>,
}

/// A mechanism among others.
#[derive(Clone, Debug, Serialize)]
pub struct MechanismCompared {
    /// Which.
    pub mechanism: RecordMechanism,
    /// Why there is none, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impossible: Option<String>,
    /// Standard errors of estimates of the sums, in the column's units.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub standard_errors: Vec<f64>,
    /// What records of the values lose by the sum, in rho, rounded up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<f64>,
}

impl MechanismsExplained {
    /// The comparison for every sum of a query that is not clamped.
    pub fn of(quote: &Quote) -> Vec<Self> {
        let measurements = quote.query().measurements.iter().zip(quote.noise());
        let split = measurements.filter(|(measurement, _)| measurement.split.is_some());
        split.filter_map(|(m, noise)| compared(m, noise.loss()?.rho()?)).collect()
    }
}

fn compared(measurement: &Measurement, rho: Rho) -> Option<MechanismsExplained> {
    let step = measurement.step.to_f64();
    let threshold = measurement.high as f64 * step;
    let offset = measurement.offset.unwrap_or(measurement.high).unsigned_abs();
    let at_rho = |mechanism: RecordMechanism| {
        PerRecord::new(mechanism, measurement.high.unsigned_abs(), offset, rho)
            .map(|made| made.growth().in_units_of(step))
    };
    let told = |mechanism: RecordMechanism, growth: Growth| MechanismCompared {
        mechanism,
        impossible: None,
        standard_errors: SUMS.map(|sum| standard_error(growth, sum * threshold)).to_vec(),
        losses: VALUES.map(|value| growth.loss(value * threshold)).to_vec(),
    };
    let own = at_rho(measurement.mechanism).ok()?;
    let (sum, offset) = (SAME_AT * threshold, offset as f64 * step);
    let error = standard_error(own, sum);
    let at_equal_loss = RecordMechanism::ALL.map(|mechanism| match at_rho(mechanism) {
        Ok(growth) => told(mechanism, growth),
        Err(error) => MechanismCompared {
            mechanism,
            impossible: Some(error.to_string()),
            standard_errors: Vec::new(),
            losses: Vec::new(),
        },
    });
    let at_equal_noise = RecordMechanism::ALL
        .map(|mechanism| told(mechanism, mechanism.growth_at_error(offset, sum, error)));
    Some(MechanismsExplained {
        measurement: measurement.name.clone(),
        mechanism: measurement.mechanism,
        threshold,
        sums: SUMS,
        values: VALUES,
        at_equal_loss: at_equal_loss.to_vec(),
        same_at: SAME_AT,
        at_equal_noise: at_equal_noise.to_vec(),
    })
}
