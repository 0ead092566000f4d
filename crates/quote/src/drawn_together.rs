//! Quantiles of the same values that are drawn together, and the intervals around them.

use std::sync::Arc;

use hushtable_contract::Level;
use hushtable_mechanisms::{JointQuantiles, MechanismError, Percentile, QuantileReaches};
use hushtable_plan::{Groups, Measure, Measurement, PrivateQuery};
use hushtable_privacy::Loss;

/// Two separate draws cost what two levels do, and the second of these has both errors.
const FEWEST: usize = 3;

/// Shares that every weight is divided into, so that those of quantiles can be made even.
const SHARES_OF_WEIGHT: u32 = 840;

/// A quantile that is drawn together with others.
#[derive(Clone, Debug)]
pub struct Joint {
    /// The index of the first of them among the measurements, which pays for all.
    pub first: usize,
    /// Which of them it is, in the order of measurements.
    pub nth: usize,
    /// All of them.
    pub draws: Arc<JointQuantiles>,
}

impl Joint {
    /// Whether it pays for all.
    pub fn pays(&self) -> bool {
        self.nth == 0
    }
}

/// How far the interval around a quantile reaches, which is drawn together with those around all
/// other quantiles of the same values.
#[derive(Clone, Debug)]
pub struct QuantileReach {
    /// The index of the first of them among the measurements, which pays for all.
    pub first: usize,
    /// Which of them it is, in the order of measurements.
    pub nth: usize,
    /// The indexes of the quantiles that all of them are around.
    pub quantiles: Arc<[usize]>,
    /// All of them.
    pub draws: Arc<QuantileReaches>,
}

impl QuantileReach {
    /// Whether it pays for all.
    pub fn pays(&self) -> bool {
        self.nth == 0
    }
}

/// The indexes of quantiles of the same values, or of the intervals around them.
pub(crate) struct SameValues(Vec<usize>);

/// Whether two quantiles are of the same values: of one expression, rows, range and step; or
/// whether both are intervals around such quantiles.
fn of_same_values(one: &Measurement, other: &Measurement) -> bool {
    match (&one.measure, &other.measure) {
        (
            Measure::Quantile { of, rows, scale, reach, .. },
            Measure::Quantile {
                of: other_of,
                rows: other_rows,
                scale: other_scale,
                reach: other_reach,
                ..
            },
        ) => {
            of == other_of
                && (rows, scale, reach) == (other_rows, other_scale, other_reach)
                && (one.low, one.high, one.step) == (other.low, other.high, other.step)
        }
        _ => false,
    }
}

/// The quantiles that could be drawn together.
fn same_values(query: &PrivateQuery) -> Vec<SameValues> {
    let mut groups = grouped(query, |reach| reach.is_none());
    groups.retain(|group| group.0.len() >= FEWEST);
    groups
}

/// The intervals around quantiles that are drawn together: one draw costs what one of them does.
pub(crate) fn common_reaches(query: &PrivateQuery) -> Vec<SameValues> {
    grouped(query, |reach| reach.is_some())
}

/// Quantiles, or intervals around them, of the same values.
fn grouped(query: &PrivateQuery, is_listed: impl Fn(Option<Level>) -> bool) -> Vec<SameValues> {
    let all = query.measurements();
    let mut groups: Vec<SameValues> = Vec::new();
    for (index, measurement) in all.iter().enumerate() {
        let is_listed = match measurement.measure {
            Measure::Quantile { reach, .. } => is_listed(reach),
            _ => false,
        };
        let same = |group: &&mut SameValues| {
            let first = group.0.first().and_then(|first| all.get(*first));
            first.is_some_and(|first| of_same_values(first, measurement))
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.0.push(index),
            None if is_listed => groups.push(SameValues(vec![index])),
            None => {}
        }
    }
    groups
}

/// The weights of all measurements, where the first of several that are drawn together gets the
/// weights of all of them.
pub(crate) fn gathered<'a>(
    weights: &[u32],
    together: impl IntoIterator<Item = &'a SameValues>,
) -> Vec<u32> {
    let mut gathered = weights.to_vec();
    for SameValues(indexes) in together {
        let mut all = 0u32;
        for index in indexes {
            all = all.saturating_add(gathered.get_mut(*index).map(std::mem::take).unwrap_or(0));
        }
        if let Some(first) = indexes.first().and_then(|first| gathered.get_mut(*first)) {
            *first = all;
        }
    }
    gathered
}

/// The quantiles that are better drawn together than apart: then the least precise of them is more
/// precise, at the same total cost. `apart` gives the deviation of a measurement's error at its
/// separate share.
pub(crate) fn better_joint(
    query: &PrivateQuery,
    (split, weights): (impl Fn(&[u32]) -> Vec<Loss>, &[u32]),
    apart: impl Fn(&Measurement, Loss) -> Option<f64>,
) -> Vec<SameValues> {
    let mut joint = same_values(query);
    if joint.is_empty() {
        return joint;
    }
    let (separate, common) = (split(weights), split(&gathered(weights, &joint)));
    joint.retain(|group| {
        let alone = |index: &usize| {
            let measurement = query.measurements().get(*index)?;
            apart(measurement, *separate.get(*index)?)
        };
        // A quantile that cannot be drawn apart counts as infinitely far off.
        let apart = group.0.iter().map(|index| alone(index).unwrap_or(f64::INFINITY));
        let apart = apart.fold(0.0, f64::max);
        draws_of(query, group, &common).is_ok_and(|draws| {
            let together = (0..draws.quantiles()).map(|nth| draws.deviation_even(nth));
            together.fold(0.0, f64::max) < apart
        })
    });
    joint
}

/// Makes the joint draws, at the indexes of the query's measurements.
///
/// # Errors
/// When a share is too small to draw at.
pub(crate) fn joint(
    query: &PrivateQuery,
    groups: &[SameValues],
    shares: &[Loss],
) -> Result<Vec<Option<Joint>>, MechanismError> {
    let mut noises: Vec<Option<Joint>> = vec![None; query.measurements().len()];
    for group in groups {
        let draws = Arc::new(draws_of(query, group, shares)?);
        for (nth, index) in group.0.iter().enumerate() {
            if let (Some(noise), Some(first)) = (noises.get_mut(*index), group.0.first()) {
                let draws = Arc::clone(&draws);
                *noise = Some(Joint { first: *first, nth, draws });
            }
        }
    }
    Ok(noises)
}

/// Quantiles, or intervals around them, that one draw is of.
struct CommonDraw {
    percentiles: Vec<Percentile>,
    range: (i64, i64),
    scale: i64,
    rows: u32,
    reach: Option<Level>,
    groups: (u32, bool),
    share: Loss,
}

impl CommonDraw {
    fn new(
        query: &PrivateQuery,
        SameValues(indexes): &SameValues,
        shares: &[Loss],
    ) -> Result<Self, MechanismError> {
        let measurements = || indexes.iter().filter_map(|index| query.measurements().get(*index));
        let percentile = |measurement: &Measurement| match measurement.measure {
            Measure::Quantile { percentile, .. } => Ok(percentile),
            _ => Err(MechanismError::NoSensitivity),
        };
        let first = measurements().next().ok_or(MechanismError::NoSensitivity)?;
        let Measure::Quantile { rows, scale, reach, .. } = first.measure else {
            return Err(MechanismError::NoSensitivity);
        };
        let share = indexes.first().and_then(|first| shares.get(*first));
        Ok(Self {
            percentiles: measurements().map(percentile).collect::<Result<_, _>>()?,
            range: (first.low, first.high),
            scale,
            rows,
            reach,
            groups: (query.max_groups_contributed(), query.groups() == Groups::Single),
            share: *share.ok_or(MechanismError::NoBudget("epsilon"))?,
        })
    }
}

fn draws_of(
    query: &PrivateQuery,
    group: &SameValues,
    shares: &[Loss],
) -> Result<JointQuantiles, MechanismError> {
    let of = CommonDraw::new(query, group, shares)?;
    let range = (of.range, of.scale);
    let relation = query.neighbouring();
    JointQuantiles::new(&of.percentiles, range, of.rows, of.groups, relation, of.share)
}

/// Makes the draws of intervals around quantiles, at the indexes of the query's measurements.
///
/// # Errors
/// When a share is too small to draw at, or an interval has no quantile that it is around.
pub(crate) fn reaches(
    query: &PrivateQuery,
    groups: &[SameValues],
    shares: &[Loss],
) -> Result<Vec<Option<QuantileReach>>, MechanismError> {
    let all = query.measurements();
    let mut noises: Vec<Option<QuantileReach>> = vec![None; all.len()];
    for group in groups {
        let of = CommonDraw::new(query, group, shares)?;
        let level = of.reach.ok_or(MechanismError::NoSensitivity)?;
        let around = |index: &usize| {
            let reach = all.get(*index)?;
            all.iter().position(|quantile| reach.is_reach_of(quantile))
        };
        let quantiles: Option<Arc<[usize]>> = group.0.iter().map(around).collect();
        let quantiles = quantiles.ok_or(MechanismError::NoSensitivity)?;
        let quantiles_at = (&of.percentiles[..], 1.0 - level.outside());
        let relation = query.neighbouring();
        let draws =
            QuantileReaches::new(quantiles_at, of.range, of.rows, of.groups, relation, of.share)?;
        let draws = Arc::new(draws);
        for (nth, index) in group.0.iter().enumerate() {
            if let (Some(noise), Some(&first)) = (noises.get_mut(*index), group.0.first()) {
                let (quantiles, draws) = (Arc::clone(&quantiles), Arc::clone(&draws));
                *noise = Some(QuantileReach { first, nth, quantiles, draws });
            }
        }
    }
    Ok(noises)
}

/// Shares of a loss of which none is for more than quantiles cost in rho, apart or together.
///
/// *Proof.* Of m quantiles with shares of epsilon that add up to s, each costs f(its share) apart,
/// and each of the L < m levels costs f(s / L) together, where f(x) / x never falls. So m shares of
/// s / m cost m f(s / m) <= L f(s / L). Where they cost more than their own shares do (these may be
/// so uneven, and so large, that they cost less), it is their own that are given back.
pub(crate) fn least_shares(
    query: &PrivateQuery,
    (loss, weights): (Loss, &[u32]),
    cost: impl Fn(&Loss) -> f64,
) -> Vec<Loss> {
    let mut shares = loss.split(weights);
    let joint = same_values(query);
    if joint.is_empty() {
        return shares;
    }
    let mut even: Vec<u32> =
        weights.iter().map(|weight| weight.saturating_mul(SHARES_OF_WEIGHT)).collect();
    for SameValues(indexes) in &joint {
        let group_weights = indexes.iter().filter_map(|index| even.get(*index));
        let all = group_weights.fold(0u32, |sum, weight| sum.saturating_add(*weight));
        let count = indexes.len().max(1) as u32;
        for (rank, index) in (0..).zip(indexes) {
            if let Some(weight) = even.get_mut(*index) {
                *weight = all / count + u32::from(rank < all % count);
            }
        }
    }
    let even = loss.split(&even);
    for SameValues(indexes) in &joint {
        let all = |shares: &[Loss]| indexes.iter().filter_map(|p| shares.get(*p)).map(&cost).sum();
        let (separate_cost, even_cost): (f64, f64) = (all(&shares), all(&even));
        if even_cost < separate_cost {
            for index in indexes {
                if let (Some(share), Some(even)) = (shares.get_mut(*index), even.get(*index)) {
                    *share = *even;
                }
            }
        }
    }
    shares
}
