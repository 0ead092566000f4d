//! Policy Gaussian (Gopi et al. 2020, Algorithms 1, 6 and 7 with l2 weights), as a baseline.
//!
//! One unit after the other moves the weights of its groups straight towards a cutoff, by a
//! distance of at most one. New groups all have the largest distance, so a unit gives each of them
//! the same weight, at most one over the root of their number: if one unit more or less is the
//! difference, noise and threshold are those of weighted Gaussian selection. Rounding, for which a
//! release would need some more noise, is left out.

use hushtable_mechanisms::{MechanismError, Reach, Selection, Strategy};
use hushtable_numbers::search::least_whole;
use hushtable_privacy::{Loss, Neighbouring, normal_tail};

/// Standard deviations from the threshold to the cutoff above it (the paper uses 2 to 5).
const ABOVE: f64 = 4.0;

/// Units that together take less than this fraction of a distance count as one step.
const TOGETHER: f64 = 1.0 / 256.0;

/// Policy Gaussian selection of groups of which each unit is in some.
pub(super) struct PolicyGaussian {
    sigma: f64,
    threshold: f64,
    groups: u64,
}

impl PolicyGaussian {
    /// The selection at this loss, if each unit is in that many groups at most.
    pub(super) fn new(loss: Loss, groups: u64) -> Result<Self, MechanismError> {
        let reach = Reach { groups, neighbouring: Neighbouring::AddRemove };
        let weighted = Selection::new(Strategy::WeightedGaussian, loss, reach)?;
        let round = weighted.rounds().first().copied();
        let (sigma, threshold) = round.ok_or(MechanismError::NoBudget("epsilon"))?;
        Ok(Self { sigma, threshold, groups })
    }

    /// The least number of units with which a group appears at least half of the time, if its units
    /// are in the most groups; they are alone in the others, or with `others_appear` these have
    /// enough weight.
    pub(super) fn half_size(&self, others_appear: bool) -> u64 {
        let most = 1 << 62;
        let keep = |units| self.keep_probability(units, others_appear);
        least_whole(0, 1, most, |units| keep(units) >= 0.5).unwrap_or(most)
    }

    fn keep_probability(&self, units: u64, others_appear: bool) -> f64 {
        if units == 0 {
            return 0.0;
        }
        let cutoff = (self.threshold + ABOVE * self.sigma).max(1.0);
        let weight = if others_appear || self.groups == 1 {
            (units as f64).min(cutoff)
        } else {
            cutoff - distance_after(units, cutoff, (self.groups - 1) as f64 * cutoff * cutoff)
        };
        normal_tail((self.threshold - weight) / self.sigma)
    }
}

/// The distance to the cutoff that a group has left after `units` units, each of whose other groups
/// together have `others` of the square of theirs.
///
/// A unit takes a fraction that grows as the distance shrinks. Where fractions are small, units are
/// taken together, as if each took the fraction that the first of them does.
fn distance_after(units: u64, cutoff: f64, others: f64) -> f64 {
    let (mut distance, mut left) = (cutoff, units);
    // Below this nothing is left of the distance in floating point.
    while left > 0 && distance > cutoff * f64::EPSILON {
        let fraction = 1.0 / (distance * distance + others).sqrt().max(1.0);
        let together = ((TOGETHER / fraction) as u64).clamp(1, left);
        distance *= match together {
            1 => 1.0 - fraction,
            _ => ((-fraction).ln_1p() * together as f64).exp(),
        };
        left -= together;
    }
    distance
}
