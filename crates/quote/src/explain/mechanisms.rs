//! The mechanisms for sums that are not clamped, side by side.

use hushtable_mechanisms::{MechanismError, PerRecord, RecordMechanism, standard_error};
use hushtable_plan::{Measurement, PerRecordSum};
use hushtable_privacy::{LossCurve, Rho};
use serde::{Deserialize, Serialize};

use crate::quote::Quote;

/// Sums of groups, in thresholds.
const SUMS: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];

/// The sum at which mechanisms are made equally precise, in thresholds.
const SAME_AT: f64 = 100.0;

/// Values of records, in thresholds.
const VALUES: [f64; 5] = [0.1, 1.0, 10.0, 100.0, 1000.0];

/// The mechanisms for a sum that is not clamped: what they would cost and how precise they would
/// be. Where there are several thresholds, for the largest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MechanismsExplanation {
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
    pub at_equal_loss: Vec<MechanismComparison>,
    /// The sum at which the mechanisms below are equally precise, as a multiple of T.
    pub same_at: f64,
    /// Every mechanism, made so that it has there the standard error of the query's.
    pub at_equal_noise: Vec<MechanismComparison>,
}

/// A mechanism among others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MechanismComparison {
    /// Which.
    pub mechanism: RecordMechanism,
    /// Why there is none, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impossible: Option<String>,
    /// Standard errors of estimates of the sums, in the column's units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standard_errors: Vec<f64>,
    /// Losses of records of the values by the sum, in rho, rounded up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<f64>,
}

impl MechanismsExplanation {
    /// The comparison for every sum of a query that is not clamped.
    pub fn of(quote: &Quote) -> Vec<Self> {
        let measurements = quote.query().measurements().iter().zip(quote.noise());
        measurements.filter_map(|(m, noise)| explained(m, noise.loss()?.rho()?)).collect()
    }
}

/// The mechanisms for a sum that is not clamped, on the records and groups of a table. About the
/// exact data: for its owner, not to be published. Where there are several thresholds, for the
/// largest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MechanismsOnData {
    /// Which sum.
    pub measurement: String,
    /// The mechanism that the query names or has by default.
    pub mechanism: RecordMechanism,
    /// Quantiles of the sums of groups, without their signs, to which `standard_errors` belong.
    pub sums: Vec<SizeQuantile>,
    /// Quantiles of the values of records, without their signs, to which `losses` belong.
    pub values: Vec<SizeQuantile>,
    /// The quantile at which records lose the same by every mechanism below.
    pub same_loss: SizeQuantile,
    /// Every mechanism, made so that as many records lose no more by it than by the query's.
    pub at_equal_loss: Vec<MechanismComparison>,
    /// The quantile at which groups have the same standard error.
    pub same_noise: SizeQuantile,
    /// Every mechanism, made so that it has there the standard error of the query's.
    pub at_equal_noise: Vec<MechanismComparison>,
}

/// A size that a share of all does not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeQuantile {
    /// The share.
    pub share: f64,
    /// The size, in the column's units.
    pub size: f64,
}

impl MechanismsOnData {
    /// The comparison for one sum of a query, by its position among the measurements. `None` if
    /// that is no sum that is not clamped, or one of the sizes is zero.
    pub fn of(
        quote: &Quote,
        index: usize,
        (sums, same_noise): (Vec<SizeQuantile>, SizeQuantile),
        (values, same_loss): (Vec<SizeQuantile>, SizeQuantile),
    ) -> Option<Self> {
        let measurement = quote.query().measurements().get(index)?;
        let sum = measurement.measure.per_record()?;
        let rho = quote.noise().get(index)?.loss()?.rho()?;
        let step = measurement.step.to_f64();
        let growth = mechanism_growth(
            (measurement, sum),
            sum.mechanism,
            measurement.high.unsigned_abs(),
            rho,
        );
        let lost = Rho::from_f64_up(growth.ok()?.loss(same_loss.size)).ok()?;
        let steps = (same_loss.size / step).round() as u64;
        if steps == 0 || same_noise.size <= 0.0 || lost.is_zero() {
            return None;
        }
        let sizes = |all: &[SizeQuantile]| all.iter().map(|q| q.size).collect::<Vec<_>>();
        let sides = (sizes(&sums), sizes(&values));
        let at = MatchedSizes { loss: (steps, lost), noise: same_noise.size };
        let [at_equal_loss, at_equal_noise] =
            compared((measurement, sum), rho, &at, &sides.0, &sides.1)?;
        Some(Self {
            measurement: measurement.name.clone(),
            mechanism: sum.mechanism,
            sums,
            values,
            same_loss,
            at_equal_loss,
            same_noise,
            at_equal_noise,
        })
    }
}

/// The sizes at which mechanisms are made equal.
struct MatchedSizes {
    /// The size of a record in steps, and its loss.
    loss: (u64, Rho),
    /// Sums of that size are equally precise.
    noise: f64,
}

fn explained(measurement: &Measurement, rho: Rho) -> Option<MechanismsExplanation> {
    let sum = measurement.measure.per_record()?;
    let threshold = measurement.high as f64 * measurement.step.to_f64();
    let at =
        MatchedSizes { loss: (measurement.high.unsigned_abs(), rho), noise: SAME_AT * threshold };
    let (sums, values) = (SUMS.map(|n| n * threshold), VALUES.map(|n| n * threshold));
    let [at_equal_loss, at_equal_noise] = compared((measurement, sum), rho, &at, &sums, &values)?;
    Some(MechanismsExplanation {
        measurement: measurement.name.clone(),
        mechanism: sum.mechanism,
        threshold,
        sums: SUMS,
        values: VALUES,
        at_equal_loss,
        same_at: SAME_AT,
        at_equal_noise,
    })
}

/// The growth of a mechanism that can be drawn from, in the column's units: a record of that many
/// steps loses that rho.
fn mechanism_growth(
    (measurement, sum): (&Measurement, &PerRecordSum),
    mechanism: RecordMechanism,
    steps: u64,
    rho: Rho,
) -> Result<LossCurve, MechanismError> {
    let per_record = PerRecord::new(mechanism, steps, sum.offset_at(measurement.high), rho)?;
    Ok(per_record.growth().in_units_of(measurement.step.to_f64()))
}

/// All mechanisms, at equal loss and at equal noise: their standard errors at these sums and losses
/// of these values, in the column's units.
fn compared(
    (measurement, sum): (&Measurement, &PerRecordSum),
    rho: Rho,
    at: &MatchedSizes,
    sums: &[f64],
    values: &[f64],
) -> Option<[Vec<MechanismComparison>; 2]> {
    let step = measurement.step.to_f64();
    let comparison = |mechanism: RecordMechanism, growth: LossCurve| MechanismComparison {
        mechanism,
        impossible: None,
        standard_errors: sums.iter().map(|&sum| standard_error(growth, sum)).collect(),
        losses: values.iter().map(|&value| growth.loss(value)).collect(),
    };
    let current =
        mechanism_growth((measurement, sum), sum.mechanism, measurement.high.unsigned_abs(), rho)
            .ok()?;
    let offset = sum.offset_at(measurement.high) as f64 * step;
    let error = standard_error(current, at.noise);
    let (steps, lost) = at.loss;
    let at_equal_loss = RecordMechanism::ALL.map(|mechanism| {
        match mechanism_growth((measurement, sum), mechanism, steps, lost) {
            Ok(growth) => comparison(mechanism, growth),
            Err(error) => MechanismComparison {
                mechanism,
                impossible: Some(error.to_string()),
                standard_errors: Vec::new(),
                losses: Vec::new(),
            },
        }
    });
    let at_equal_noise = RecordMechanism::ALL
        .map(|mechanism| comparison(mechanism, mechanism.growth_at_error(offset, at.noise, error)));
    Some([at_equal_loss.to_vec(), at_equal_noise.to_vec()])
}
