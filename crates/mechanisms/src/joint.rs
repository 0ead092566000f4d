//! The delta that Gaussian noise and a threshold have together.
//!
//! A unit's groups are of two kinds. In *shared* groups there are other units, too: there the unit
//! moves a Gaussian. In *unshared* groups it is alone: they may appear only with it.
//!
//! One formula bounds both together, so that delta need not be divided between noise and threshold:
//! the worst case over the unit's groups of each kind, also over the rounds of SIPS, where chances
//! multiply and the squares of `mu` add up. Proof: `theorems/partition-selection.md#a-joint-delta`.

use hushtable_noise::{Dyadic, RoundedGaussian};
use hushtable_numbers::search::first;
use hushtable_privacy::{Neighbouring, analytic_gaussian_mu, joint_delta, normal_tail};

use crate::error::MechanismError;
use crate::steps;

/// Relative error that tail probabilities in floating point stay under.
const MARGIN: f64 = 1e-10;

/// Lattice points per unit of weight.
pub(crate) const FINE: i128 = 1 << 30;

/// A round's standard deviation and threshold, in units of weight.
pub(crate) type JointRound = (f64, f64);

/// Shares of delta that are tried for the noise; what they leave is for the threshold.
pub(crate) const NOISE_SHARES: [f64; 6] = [0.9999, 0.999, 0.99, 0.9, 0.7, 0.5];

/// Weight that a unit adds to each of its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weights {
    /// One, however many they are.
    Ones,
    /// One over the root of their number, so that the l2 norm is one.
    Roots,
    /// Those of [`Self::Roots`] over the groups that no round before has shown.
    RootsInRounds,
}

/// How one unit reaches into the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Most groups that one unit is in.
    pub groups: u64,
    /// Which tables are neighbours.
    pub neighbouring: Neighbouring,
}

impl Reach {
    /// Groups whose numbers of units differ between neighbouring tables.
    pub(crate) fn touched(self) -> u64 {
        match self.neighbouring {
            Neighbouring::AddRemove => self.groups,
            Neighbouring::Replace => 2 * self.groups,
        }
    }

    /// The l2 sensitivity of the sums of weights.
    pub(crate) fn l2(self, weights: Weights) -> f64 {
        let entered = f64::from(u8::from(self.neighbouring == Neighbouring::Replace));
        weights.distance(self.groups, [1.0, entered])
    }
}

impl Weights {
    /// The distance in l2 of the sums of weights in shared groups, if the unit that leaves and the
    /// one that enters have these fractions of their squared weights there. No weight is negative,
    /// so that the squares add up.
    fn distance(self, groups: u64, [left, entered]: [f64; 2]) -> f64 {
        match self {
            Self::Ones => (groups as f64 * (left + entered)).sqrt(),
            Self::Roots | Self::RootsInRounds => (left + entered).sqrt(),
        }
    }
}

/// The probability that one of `groups` groups of `weight` has a noisy weight of `threshold` or
/// more, rounded up.
pub(crate) fn appears(threshold: f64, sigma: f64, weight: f64, groups: f64) -> f64 {
    let one = (normal_tail((threshold - weight) / sigma) * (1.0 + MARGIN)).min(1.0);
    let none = groups * (-one).ln_1p();
    (-none.exp_m1() * (1.0 + MARGIN)).min(1.0)
}

/// The largest probability that an unshared group of a unit appears, over its number of groups.
///
/// For weights of l2 norm one, `groups * ln P[no group of weight 1/sqrt(groups) appears]` rises and
/// then falls in `groups` (its derivative changes its sign once, from plus to minus), so the worst
/// number is the least or the greatest.
pub(crate) fn appears_at_most(threshold: f64, sigma: f64, most: u64, weights: Weights) -> f64 {
    appears_with_fraction(threshold, sigma, most, weights, (1.0 / most as f64, 1.0))
}

/// The largest such probability for a unit with a fraction of its squared weights in unshared
/// groups that lies between `low` and `high`, both from 1/`most` to 1. Except in rounds, it does
/// not fall as the fraction grows. In rounds it is that of the first one, o/t in the module's
/// words.
fn appears_with_fraction(
    threshold: f64,
    sigma: f64,
    most: u64,
    weights: Weights,
    (low, high): (f64, f64),
) -> f64 {
    let most = most as f64;
    match weights {
        Weights::Ones => appears(threshold, sigma, 1.0, most * high),
        Weights::Roots => {
            let many = appears(threshold, sigma, 1.0 / most.sqrt(), most * high);
            appears(threshold, sigma, high.sqrt(), 1.0).max(many)
        }
        Weights::RootsInRounds => {
            let all = |fraction: f64| {
                let groups = (most * fraction).max(1.0);
                appears(threshold, sigma, 1.0 / groups.sqrt(), groups)
            };
            all(low).max(all(high))
        }
    }
}

/// All pairs of neighbouring tables, by the fraction of its squared weights that the unit which
/// leaves has in unshared groups, and likewise the one that enters.
#[derive(Clone, Debug)]
pub(crate) struct Neighbours {
    reach: Reach,
    weights: Weights,
    /// All possible fractions, as intervals in ascending order; where they are few, each interval
    /// is a single fraction.
    fractions: Vec<(f64, f64)>,
}

/// Neighbours whose fractions lie in two ranges of intervals, ends included.
#[derive(Clone, Copy, Debug)]
struct IntervalCell {
    left: (usize, usize),
    entered: (usize, usize),
}

/// Most intervals that the fractions are grouped into.
const MOST_INTERVALS: u64 = 1 << 12;

/// Most groups of a unit for which all fractions of divided weights are listed.
const LISTED: u64 = 32;

/// Most cells that are examined before a threshold counts as too low.
const CELLS: usize = 1 << 8;

impl Neighbours {
    pub(crate) fn new(reach: Reach, weights: Weights) -> Self {
        let Reach { groups, .. } = reach;
        let all = groups as f64;
        let by_number = matches!(weights, Weights::Ones | Weights::RootsInRounds);
        let fractions = if by_number && groups <= MOST_INTERVALS {
            (0..=groups).map(|alone| [alone as f64 / all; 2].into()).collect()
        } else if !by_number && groups <= LISTED {
            let of = |groups: u64| (0..=groups).map(move |alone| alone as f64 / groups as f64);
            let mut fractions: Vec<f64> = (1..=groups).flat_map(of).collect();
            fractions.sort_by(f64::total_cmp);
            fractions.dedup();
            fractions.into_iter().map(|fraction| (fraction, fraction)).collect()
        } else {
            // One group has no smaller fraction than this.
            let at = |step: u64| (step as f64 / MOST_INTERVALS as f64).max(1.0 / all);
            let steps = (1..=MOST_INTERVALS).map(|step| (at(step - 1), at(step)));
            [(0.0, 0.0)].into_iter().chain(steps).collect()
        };
        Self { reach, weights, fractions }
    }

    /// Upper bound on delta over a cell, and delta itself where the cell has one fraction of each
    /// kind: delta never falls as the distance or the probabilities that unshared groups
    /// appear grow.
    fn delta(&self, epsilon: f64, rounds: &[JointRound], cell: IntervalCell) -> f64 {
        steps::count();
        let Reach { groups, neighbouring } = self.reach;
        let fraction =
            |interval: usize| self.fractions.get(interval).copied().unwrap_or((0.0, 1.0));
        let appear = |(first, last): (usize, usize)| {
            let ends = (fraction(first).0.max(1.0 / groups as f64), fraction(last).1);
            if ends.1 == 0.0 {
                return 0.0;
            }
            let hidden = |&(sigma, threshold): &JointRound| {
                (-appears_with_fraction(threshold, sigma, groups, self.weights, ends)).ln_1p()
            };
            (-rounds.iter().map(hidden).sum::<f64>().exp_m1() * (1.0 + MARGIN)).min(1.0)
        };
        let shared = |interval: usize| 1.0 - fraction(interval).0;
        let precision = rounds.iter().map(|(sigma, _)| sigma.powi(-2)).sum::<f64>().sqrt();
        let mu = |entered: f64| {
            self.weights.distance(groups, [shared(cell.left.0), entered]) * precision
        };
        let left = appear(cell.left);
        match neighbouring {
            Neighbouring::AddRemove => {
                let mu = mu(0.0);
                joint_delta(epsilon, mu, left, 0.0).max(joint_delta(epsilon, mu, 0.0, left))
            }
            Neighbouring::Replace => {
                let mu = mu(shared(cell.entered.0));
                joint_delta(epsilon, mu, left, appear(cell.entered))
            }
        }
    }

    /// Whether all neighbours keep within `delta`, less a margin for rounding. Cells that may hold
    /// worse ones are halved, down to one interval each way. There is one round, unless weights are
    /// those of several.
    pub(crate) fn keep_within(&self, epsilon: f64, delta: f64, rounds: &[JointRound]) -> bool {
        let delta = delta * (1.0 - MARGIN);
        let whole = (0, self.fractions.len() - 1);
        let entered = match self.reach.neighbouring {
            Neighbouring::AddRemove => (0, 0),
            Neighbouring::Replace => whole,
        };
        let mut cells = vec![IntervalCell { left: whole, entered }];
        for _ in 0..CELLS {
            let Some(cell) = cells.pop() else { return true };
            if self.delta(epsilon, rounds, cell) <= delta {
                continue;
            }
            let (left, entered) = (cell.left, cell.entered);
            let halves = |(low, high): (usize, usize)| {
                let middle = low + (high - low) / 2;
                [(low, middle), (middle + 1, high)]
            };
            if left.1 - left.0 > entered.1 - entered.0 {
                cells.extend(halves(left).map(|left| IntervalCell { left, entered }));
            } else if entered.1 > entered.0 {
                cells.extend(halves(entered).map(|entered| IntervalCell { left, entered }));
            } else {
                return false;
            }
        }
        cells.is_empty()
    }
}

/// The least value below `high` (rounded up by a billionth of sigma) from which on a threshold
/// fits.
fn least_threshold(sigma: f64, high: f64, fits: impl Fn(f64) -> bool) -> f64 {
    // Tails are zero forty standard deviations below no weight.
    let low = -40.0 * sigma;
    let times = ((high - low) / (1e-9 * sigma)).log2().ceil().clamp(0.0, 60.0) as u32;
    first(low, high, times, fits)
}

/// A threshold that lies forty standard deviations above any weight, where tails are zero.
fn far_above(sigma: f64) -> f64 {
    1.0 + 40.0 * sigma
}

/// Noise of at least this standard deviation, and the least threshold at which new groups of a unit
/// appear with a probability of at most `appear`.
pub(crate) fn noise_and_threshold(
    sigma: f64,
    appear: f64,
    groups: u64,
    weights: Weights,
) -> Result<(RoundedGaussian, f64), MechanismError> {
    let (law, sigma) = noise(sigma)?;
    let appears = |t: f64| appears_at_most(t, sigma, groups, weights);
    let threshold = least_threshold(sigma, far_above(sigma), |t| appears(t) <= appear);
    if appear <= 0.0 || appears(threshold) > appear {
        return Err(MechanismError::NoBudget("delta"));
    }
    Ok((law, threshold))
}

/// The threshold in lattice points: noise that is rounded to a lattice point reaches it no more
/// often than noise that is not rounded reaches `threshold`.
pub(crate) fn to_lattice(threshold: f64) -> Result<i128, MechanismError> {
    let fine = (threshold * FINE as f64).ceil();
    if fine.abs() > 2f64.powi(100) {
        return Err(MechanismError::TooLarge);
    }
    Ok(fine as i128 + 1)
}

/// Gaussian noise on the lattice, of at least this standard deviation in units of weight, with its
/// actual standard deviation.
fn noise(sigma: f64) -> Result<(RoundedGaussian, f64), MechanismError> {
    let law = RoundedGaussian::new(Dyadic::at_least(sigma * (1.0 + 1e-12) * FINE as f64)?);
    let sigma = law.sigma().to_f64() / FINE as f64;
    Ok((law, sigma))
}

/// The noise and the threshold at (`epsilon`, `delta`), with the least threshold that any of the
/// tried shares of delta for the noise gives.
pub(crate) fn calibrate(
    epsilon: f64,
    delta: f64,
    reach: Reach,
    weights: Weights,
) -> Result<(RoundedGaussian, i128), MechanismError> {
    if epsilon <= 0.0 {
        return Err(MechanismError::NoBudget("epsilon"));
    }
    if delta <= 0.0 {
        return Err(MechanismError::NoBudget("delta"));
    }
    let neighbours = Neighbours::new(reach, weights);
    let mut best: Option<(RoundedGaussian, f64)> = None;
    for share in NOISE_SHARES {
        let mu = analytic_gaussian_mu(epsilon, delta * share);
        if mu <= 0.0 {
            continue;
        }
        let (law, sigma) = noise(reach.l2(weights) / mu)?;
        let fits = |t: f64| neighbours.keep_within(epsilon, delta, &[(sigma, t)]);
        // Only a threshold below the best one so far is of interest.
        let high = best.as_ref().map_or(far_above(sigma), |&(_, t)| t.min(far_above(sigma)));
        if fits(high) {
            best = Some((law, least_threshold(sigma, high, fits)));
        }
    }
    let (law, threshold) = best.ok_or(MechanismError::NoBudget("delta"))?;
    Ok((law, to_lattice(threshold)?))
}

#[cfg(test)]
mod tests;
