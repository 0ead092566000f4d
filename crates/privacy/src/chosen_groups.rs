//! The delta that Gaussian noise and a private choice of groups have together.
//!
//! Of a unit's groups, in some there are other units, too: there the unit moves a Gaussian. In the
//! others it is alone: they may appear only with it, and then all is lost. The more of the second
//! kind it has, the less it has of the first. So the noise and the choice need not divide a delta.
//! Proof: `theorems/partition-selection.md#noise-and-groups-together`.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;

use hushtable_numbers::search::{falls_to, grow, last};

use crate::gaussian::{analytic_gaussian_mu, gaussian_delta};
use crate::{Delta, Epsilon, MuSquared};

/// How far above the largest delta of all neighbours an upper bound of it may be, as a part.
const NEAR: f64 = 1e-7;

/// The most bounds that are computed for one delta.
const STEPS: usize = 1 << 10;

/// Relative error that sums and powers in floating point stay under.
const MARGIN: f64 = 1e-13;

/// delta at `epsilon` of one table's output from its neighbour's, if they show something that the
/// other cannot show with probabilities `left` and `entered`, and otherwise are Gaussians that are
/// `mu` apart. Rounded up. It does not fall as `mu`, `left` or `entered` grows.
pub fn joint_delta(epsilon: f64, mu: f64, left: f64, entered: f64) -> f64 {
    if left >= 1.0 || entered >= 1.0 {
        return 1.0;
    }
    let shift = (-entered).ln_1p() - (-left).ln_1p();
    (left + (1.0 - left) * hockey_stick(mu, epsilon + shift)).min(1.0)
}

/// [`gaussian_delta`], also at epsilons below zero, where it follows from the one back.
pub fn hockey_stick(mu: f64, epsilon: f64) -> f64 {
    if epsilon >= 0.0 {
        return gaussian_delta(mu, epsilon);
    }
    -epsilon.exp_m1() + epsilon.exp() * gaussian_delta(mu, -epsilon)
}

/// Gaussian noise on groups that are chosen: for every fraction x from 0 to 1, the noise of mu^2
/// less x times what is `apart`, and with probability 1 - (1 - `shown`)^x something that only one
/// of two tables can show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChosenGroups {
    mu_squared: f64,
    apart: f64,
    shown: f64,
}

impl ChosenGroups {
    /// The loss of [`Event::GaussianGroups`](crate::Event::GaussianGroups).
    pub(crate) fn new(mu_squared: MuSquared, shares: NonZeroU64, delta: Delta) -> Self {
        Self::of(mu_squared.to_f64_up(), shares, delta)
    }

    fn of(mu_squared: f64, shares: NonZeroU64, delta: Delta) -> Self {
        // Rounded down, so that the rest of mu^2 is rounded up.
        let apart = mu_squared / shares.get() as f64 * (1.0 - 2.0 * f64::EPSILON);
        Self { mu_squared, apart, shown: delta.to_f64() * (1.0 + f64::EPSILON) }
    }

    /// Upper bound of delta over all fractions from `low` to `high`, and delta itself where they
    /// are one; except that what the second table alone may show counts as if its fraction were 1.
    fn within(self, epsilon: f64, low: f64, high: f64) -> f64 {
        let mu = (self.mu_squared - low * self.apart).max(0.0).sqrt() * (1.0 + MARGIN);
        let left = -(high * (-self.shown).ln_1p()).exp_m1() * (1.0 + MARGIN);
        joint_delta(epsilon, mu, left, self.shown)
    }

    /// The largest delta at `epsilon` over all fractions, rounded up. With a `limit`, some bound of
    /// it: above the limit only if delta is, or cannot be seen not to be.
    fn largest(self, epsilon: f64, limit: Option<f64>) -> f64 {
        let at = |fraction: f64| self.within(epsilon, fraction, fraction);
        let mut point = at(0.0).max(at(1.0));
        let cell = |(low, high): (f64, f64)| DeltaInterval {
            bound: self.within(epsilon, low, high),
            low,
            high,
        };
        let mut cells = BinaryHeap::from([cell((0.0, 1.0))]);
        for step in 0.. {
            // No other cell has a larger bound.
            let Some(DeltaInterval { bound, low, high }) = cells.pop() else { break };
            let enough = limit.unwrap_or(point * (1.0 + NEAR));
            let middle = low + 0.5 * (high - low);
            if bound <= enough || step > STEPS || middle <= low || middle >= high {
                return bound.max(point);
            }
            point = point.max(at(middle));
            if limit.is_some_and(|limit| point > limit) {
                return point;
            }
            cells.extend([(low, middle), (middle, high)].map(cell));
        }
        point
    }

    /// A delta, rounded up, such that these are (`epsilon`, delta)-differentially private.
    pub(crate) fn delta_at(self, epsilon: f64) -> f64 {
        self.largest(epsilon, None)
    }

    /// An epsilon, rounded up, such that these are (epsilon, `delta`)-differentially private;
    /// `None` where there is none up to the largest amount.
    pub(crate) fn epsilon_at(self, delta: f64) -> Option<f64> {
        if delta < self.shown {
            return None;
        }
        let within = |epsilon: f64| self.largest(epsilon, Some(delta)) <= delta;
        let (_, most) = grow(1.0, 2.0, 1e6, within)?;
        Some(falls_to(delta, 0.0, most, |epsilon| self.delta_at(epsilon)))
    }
}

/// Fractions from `low` to `high`, with an upper bound of their delta.
struct DeltaInterval {
    bound: f64,
    low: f64,
    high: f64,
}

impl PartialEq for DeltaInterval {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for DeltaInterval {}

impl PartialOrd for DeltaInterval {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DeltaInterval {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound)
    }
}

/// The largest mu (rounded down) of Gaussian noise on groups that are chosen so that, with a choice
/// that shows a group of one unit alone with probability `shown` at most, both together are
/// (`epsilon`, `delta`)-differentially private. One of `shares` equal shares of mu^2 goes as a unit
/// has more groups for itself. Zero if there is none.
pub fn gaussian_groups_mu(epsilon: Epsilon, delta: Delta, shown: Delta, shares: NonZeroU64) -> f64 {
    // A unit of rounding is left for the decimals, and twice what a bound may be off.
    let limit = delta.to_f64() * (1.0 - 2.0 * NEAR);
    let at = epsilon.to_f64() * (1.0 - f64::EPSILON);
    let fits = |mu: f64| {
        ChosenGroups::of(mu * mu * (1.0 + MARGIN), shares, shown).largest(at, Some(limit)) <= limit
    };
    let most = analytic_gaussian_mu(at, limit);
    if fits(most) {
        return most;
    }
    // With all of the noise in both, the deltas add up.
    let rest = delta.checked_sub(shown).unwrap_or(Delta::ZERO);
    let least = analytic_gaussian_mu(at, rest.to_f64() * (1.0 - 4.0 * NEAR));
    let least = if fits(least) { least } else { 0.0 };
    last(least, most, 40, fits) * (1.0 - 1e-12)
}

#[cfg(test)]
mod tests;
