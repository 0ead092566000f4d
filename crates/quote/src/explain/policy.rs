//! Possible loss of a record of a given size, where sums are not clamped.

use hushtable_mechanisms::RecordMechanism;
use hushtable_plan::{Groups, Measurement, PerRecordSum, Thresholds};
use hushtable_privacy::{
    LossCurve, PolicyTerm, RecordPolicy, Rho, gaussian_epsilon_at, zcdp_epsilon_at,
};
use serde::{Deserialize, Serialize};

use super::all_gaussian;
use crate::measurement_noise::Noise;
use crate::quote::Quote;

/// Relative error that the selection's tail probabilities stay under.
const TAIL_MARGIN: f64 = 1e-9;

/// The possible loss of a record of a given size (per-record zCDP), as a function that a program
/// can evaluate: P(r) = rho_constant + rho_pieces m(r)^2 + sum over the terms of rho (value /
/// threshold)^2, or of what the term's `growth` says of value, where a value is that of the record,
/// rounded to the granularity and without its sign, and m(r) is the largest of 1 and ceil(value /
/// own threshold) over the terms. A record's own threshold is that of its class where the term has
/// `classes`, and otherwise the term's. A record enters each sum at most once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyExplanation {
    /// The loss of every record: counts, quantiles, clamped sums, and the choice of groups by
    /// records.
    pub rho_constant: Rho,
    /// The loss of a record for each piece, by the square of their number: the choice of groups by
    /// pieces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho_pieces: Option<Rho>,
    /// Sums that are not clamped.
    pub terms: Vec<PolicyTermExplanation>,
    /// Records with the same multiple of every threshold.
    pub examples: Vec<PolicyExample>,
    /// The cost of exchanging one record for another.
    pub exchange: ExchangeExplanation,
}

/// The cost of exchanging one record for another, at most, in multiples of a rho that neither of
/// the two loses more than. Nothing is promised where one of them loses more.
///
/// An exchange is a removal and an addition, so that records of losses A and B come to at most
/// (sqrt A + sqrt B)^2. PR Lemma 4.8 has twice the rho for all records that lose no more, against
/// any other record, which is false: a value T in the place of -T moves a sum by 2 T.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeExplanation {
    /// Whatever the two are.
    pub any: u32,
    /// Where they are in different groups, whose noise is independent; absent where there is one
    /// group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub different_groups: Option<u32>,
    /// Where neither has a value below zero; absent where that is no help, as beside quantiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub none_negative: Option<u32>,
    /// The delta of choosing groups counts so often, where they are chosen privately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<u32>,
}

impl ExchangeExplanation {
    fn of(quote: &Quote) -> Self {
        let single = quote.query().groups() == Groups::Single;
        let quantiles = quote.noise().iter().any(|noise| noise.is_quantile());
        // In one sum the smaller of the two values takes from the larger. In several, each record
        // may have the larger value of some.
        let alone = single && quote.noise().len() == 1;
        Self {
            any: 4,
            different_groups: (!single).then_some(2),
            none_negative: (!quantiles).then_some(if alone { 1 } else { 2 }),
            delta: quote.selection().map(|_| 2),
        }
    }
}

/// One sum of the policy function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyTermExplanation {
    /// Which sum.
    pub measurement: String,
    /// Loss of a record at the threshold by it.
    pub rho: Rho,
    /// The threshold of the noise, in the column's units; the largest, where there are several.
    pub threshold: f64,
    /// The loss of a record by its value, where the sum is not released by Gaussian noise; for
    /// records of the class with the largest threshold, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<LossCurve>,
    /// That loss as a formula of the value q without its sign and of the numbers of `growth`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
    /// Thresholds by the class of the record, where another column tells them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<ClassesExplanation>,
}

/// Thresholds by the class of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassesExplanation {
    /// The column whose value is the class.
    pub by: String,
    /// Whether every group is of one class: then `threshold` of the term is the record's own, too.
    /// Otherwise the noise is that of the largest, and a record's own threshold only tells its
    /// number of pieces.
    pub noise_by_class: bool,
    /// The threshold of the classes that are not listed.
    pub default: f64,
    /// The growth of the loss in them, where `noise_by_class` and the sum is not released by
    /// Gaussian noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_growth: Option<LossCurve>,
    /// The other thresholds.
    pub listed: Vec<ClassThreshold>,
}

/// The threshold of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassThreshold {
    /// The class, a value of the column as text.
    pub value: String,
    /// Its threshold, in the summed column's units.
    pub threshold: f64,
    /// The loss of its records by value; like `default_growth`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<LossCurve>,
}

/// The largest loss of a record whose values are this multiple of its own thresholds; all rounded
/// up. Records of classes lose less where the noise is that of a larger threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyExample {
    /// Values over thresholds.
    pub multiple: f64,
    /// The loss in rho: what the noise gives.
    pub exact: f64,
    /// mu of Gaussian differential privacy, sqrt(2 rho), where all noise is Gaussian.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mu: Option<f64>,
    /// The epsilon that the exact loss implies at delta = 1e-6, beside the delta of choosing
    /// groups.
    pub epsilon: f64,
    /// The delta of choosing groups, where they are chosen privately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// The loss in rho by the paper's splitting of the record into whole pieces.
    pub split: f64,
}

/// The splitting thresholds that a record meets in a measurement at that position, in lattice
/// steps: that of the noise, and that at which it is split.
pub type Met<'a> = &'a dyn Fn(usize, &Measurement, &Thresholds) -> [i64; 2];

/// The largest threshold, in both roles.
fn largest(_: usize, measurement: &Measurement, _: &Thresholds) -> [i64; 2] {
    [measurement.high; 2]
}

/// The policy function of the records that meet these thresholds; `None` where every sum is
/// clamped, or the query is not in rho.
pub fn policy_of(quote: &Quote, met: Met<'_>) -> Option<RecordPolicy> {
    policy_of_noise(quote, &|_| 1.0, met)
}

/// The policy function as if the noise of each measurement, by its position, were `times` as large.
pub fn policy_of_noise(
    quote: &Quote,
    times: &dyn Fn(usize) -> f64,
    met: Met<'_>,
) -> Option<RecordPolicy> {
    let by_pieces = quote.query().chooses_by_pieces();
    let selecting = quote.selection().and_then(|s| s.loss().rho()).unwrap_or(Rho::ZERO);
    let (mut constant, pieces) =
        if by_pieces { (Rho::ZERO, selecting) } else { (selecting, Rho::ZERO) };
    let mut terms = Vec::new();
    let measurements = quote.query().measurements().iter().zip(quote.noise());
    for (index, (measurement, noise)) in measurements.enumerate() {
        let Some(loss) = noise.loss() else { continue };
        let rho = rho_at(loss.rho()?, times(index))?;
        match measurement.measure.per_record() {
            Some(sum) => {
                let step = measurement.step.to_f64();
                let [noise, split_at] = met(index, measurement, &sum.thresholds);
                let value = |steps: i64| steps as f64 * step;
                let term =
                    PolicyTerm::new(rho, value(noise)).ok()?.split_at(value(split_at)).ok()?;
                terms.push(match growth_of(measurement, sum, noise, rho)? {
                    Some(growth) => term.growing(growth),
                    None => term,
                });
            }
            None => constant = constant.checked_add(rho)?,
        }
    }
    (!terms.is_empty()).then(|| RecordPolicy::new(constant, terms).with_pieces(pieces))
}

/// The loss of a record by its value in the column's unit, for the noise of this threshold in
/// steps: the function of the very mechanism that is drawn from. `Some(None)` under Gaussian noise.
fn growth_of(
    measurement: &Measurement,
    sum: &PerRecordSum,
    threshold: i64,
    rho: Rho,
) -> Option<Option<LossCurve>> {
    if sum.mechanism == RecordMechanism::Gaussian {
        return Some(None);
    }
    let offset = sum.offset_at(threshold) as f64;
    let growth = sum.mechanism.growth(threshold as f64, offset, rho).ok()?;
    Some(Some(growth.in_units_of(measurement.step.to_f64())))
}

/// The delta of choosing groups for a record of that many pieces: the chance that its group appears
/// where it is alone in it. `None` where groups are not chosen privately.
pub(super) fn delta_of_pieces(quote: &Quote, pieces: f64) -> Option<f64> {
    let selection = quote.selection()?;
    if !quote.query().chooses_by_pieces() {
        return Some(quote.total().delta().to_f64());
    }
    // A float above u64 becomes the largest: its group appears for certain.
    let appears = selection.keep_probability(pieces.ceil() as u64);
    Some((appears * (1.0 + TAIL_MARGIN)).min(1.0).max(quote.total().delta().to_f64()))
}

/// The policy function as it is shown.
pub(super) fn explain_policy(quote: &Quote) -> Option<PolicyExplanation> {
    let policy = policy_of(quote, &largest)?;
    let terms = terms(quote);
    let examples = [0.1, 1.0, 10.0, 100.0, 1000.0];
    let examples = examples.into_iter().filter_map(|multiple| example(quote, multiple)).collect();
    let rho_pieces = Some(policy.by_pieces()).filter(|rho| !rho.is_zero());
    let (rho_constant, exchange) = (policy.constant(), ExchangeExplanation::of(quote));
    Some(PolicyExplanation { rho_constant, rho_pieces, terms, examples, exchange })
}

/// Greatest loss of a record whose values are that multiple of its own thresholds.
fn example(quote: &Quote, multiple: f64) -> Option<PolicyExample> {
    let worst = |index: usize, measurement: &Measurement, _: &Thresholds| {
        let rho = quote.noise().get(index).and_then(|n| n.loss()?.rho());
        let of_class = rho.and_then(|rho| worst_class(measurement, rho, multiple));
        [of_class.unwrap_or(measurement.high); 2]
    };
    let policy = policy_of(quote, &worst)?;
    let measurements = quote.query().measurements().iter().enumerate();
    let value = |(index, measurement): (usize, &Measurement)| {
        let [threshold, _] = worst(index, measurement, measurement.thresholds()?);
        Some(threshold as f64 * measurement.step.to_f64() * multiple)
    };
    let values: Vec<f64> = measurements.filter_map(value).collect();
    let exact = policy.exact(&values);
    let mu = (2.0 * exact).sqrt() * (1.0 + 1e-15);
    let gaussian = all_gaussian(quote);
    let epsilon =
        if gaussian { gaussian_epsilon_at(mu, 1e-6) } else { zcdp_epsilon_at(exact, 1e-6) };
    let delta = delta_of_pieces(quote, policy.pieces(&values));
    let (mu, split) = (gaussian.then_some(mu), policy.split(&values));
    Some(PolicyExample { multiple, exact, mu, epsilon, delta, split })
}

/// The threshold of the class whose records lose most at that multiple of it: where noise is made
/// for each class and its offset is the same for all, the loss is not that of the multiple alone.
fn worst_class(measurement: &Measurement, rho: Rho, multiple: f64) -> Option<i64> {
    let sum = measurement.measure.per_record()?;
    sum.thresholds.by_key()?;
    let step = measurement.step.to_f64();
    let loss = |threshold: i64| {
        let growth = growth_of(measurement, sum, threshold, rho).flatten();
        growth.map_or(0.0, |growth| growth.loss(threshold as f64 * step * multiple))
    };
    sum.thresholds.all().into_iter().max_by(|a, b| loss(*a).total_cmp(&loss(*b)))
}

fn terms(quote: &Quote) -> Vec<PolicyTermExplanation> {
    let term = |(measurement, noise): (&Measurement, &Noise)| {
        let sum = measurement.measure.per_record()?;
        let thresholds = &sum.thresholds;
        let value = |steps: i64| steps as f64 * measurement.step.to_f64();
        let rho = noise.loss()?.rho()?;
        let growth = |steps: i64| growth_of(measurement, sum, steps, rho).flatten();
        let by_class = |steps: i64| thresholds.by_key().is_some().then(|| growth(steps)).flatten();
        let classes = thresholds.classes.as_ref().map(|classes| ClassesExplanation {
            by: classes.column.clone(),
            noise_by_class: classes.key.is_some(),
            default: value(thresholds.default),
            default_growth: by_class(thresholds.default),
            listed: classes
                .values
                .iter()
                .map(|(class, t)| ClassThreshold {
                    value: class.to_string(),
                    threshold: value(*t),
                    growth: by_class(*t),
                })
                .collect(),
        });
        Some(PolicyTermExplanation {
            measurement: measurement.name.clone(),
            rho,
            threshold: value(measurement.high),
            growth: growth(measurement.high),
            formula: growth(measurement.high).map(|growth| growth.formula().to_owned()),
            classes,
        })
    };
    quote.query().measurements().iter().zip(quote.noise()).filter_map(term).collect()
}

/// Cost of Gaussian noise that is `times` as large as that of a rho; rounded up.
pub fn rho_at(rho: Rho, times: f64) -> Option<Rho> {
    if times == 1.0 { Some(rho) } else { Rho::from_f64_up(rho.to_f64() / (times * times)).ok() }
}
