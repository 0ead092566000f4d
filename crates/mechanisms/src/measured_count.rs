//! Choosing groups by a count that a query measures anyway: those whose noisy count reaches a
//! threshold. It costs delta alone.
//!
//! A group of one table alone becomes visible with a probability of at most P\[noise >= T - m\],
//! for a unit that counts m times; delta is that for all of the unit's groups. Everything else that
//! is released is as private as the noise. Proof:
//! `theorems/partition-selection.md#choosing-by-a-measured-count`.

use hushtable_numbers::search::least_whole;
use hushtable_privacy::{Delta, normal_tail};

use crate::additive::{Additive, AdditiveLaw};
use crate::count_threshold::least_tail;
use crate::ends::{TiedRole, TiedSums};
use crate::error::MechanismError;
use crate::laplace_sum::LaplaceSum;

/// Above this scale of the noise, in steps, its rounding does not matter.
const FINE: f64 = 3.0;

/// The noise of a count that is measured.
#[derive(Clone, Copy, Debug)]
pub enum MeasuredNoise<'a> {
    /// The count is measured by itself.
    Single(&'a Additive),
    /// The count is measured together with sums.
    Tied(&'a TiedSums),
}

/// The law of the count's noise, in whole counts.
#[derive(Clone, Debug)]
enum NoiseLaw {
    Additive(AdditiveLaw),
    /// A normal law of this standard deviation, rounded.
    Normal(f64),
    /// A sum of Laplace draws, rounded.
    Laplace(LaplaceSum),
}

/// A noisy count that shows its group where it reaches a threshold.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredCount {
    law: NoiseLaw,
    most: u64,
    threshold: i128,
    rounding: i128,
}

impl MeasuredCount {
    /// The least threshold at which one unit alone, which counts `most` times at most in each of
    /// `groups` groups, shows any of them with a probability of `delta` at most.
    ///
    /// # Errors
    /// When delta is zero, there are too many sums, or the noise is too large.
    pub(crate) fn new(
        noise: MeasuredNoise<'_>,
        most: u64,
        delta: Delta,
        groups: u64,
    ) -> Result<Self, MechanismError> {
        if delta.is_zero() {
            return Err(MechanismError::NoBudget("delta"));
        }
        // Delta is for all groups of a unit together; each has an even share.
        let one = delta.to_f64() / groups.max(1) as f64;
        let (law, above, rounding) = match noise {
            MeasuredNoise::Single(additive) => {
                let law = additive.law();
                let above = least_tail(additive.scale(), one, |x| law.as_law().tail(x))?;
                (NoiseLaw::Additive(law), above, 0)
            }
            MeasuredNoise::Tied(tied) => {
                // Noise is as likely to be above as below, and one more than a width is beyond it.
                let width = tied.width_beyond(TiedRole::Count, (2.0 * one).min(1.0));
                let above = i128::try_from(width).map_err(|_| MechanismError::TooLarge)?;
                (NoiseLaw::of(tied)?, above.saturating_add(1), rounding(tied))
            }
        };
        // A unit alone counts `most` times, and only the noise above that may make its group
        // visible.
        Ok(Self { law, most, threshold: above.saturating_add(most.into()), rounding })
    }

    /// Noisy counts at or above it show their groups, where these have at least `least` units.
    pub(crate) fn threshold_from(&self, least: u64) -> i128 {
        let below = i128::from(least.saturating_sub(1)) * i128::from(self.most);
        self.threshold.saturating_add(below)
    }

    /// The most that one unit adds to a group's count.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// How far apart the noise and its [law](Self::tail) may be where draws are rounded.
    pub(crate) fn rounding(&self) -> i128 {
        self.rounding
    }

    /// The least count that is seen with that probability at least.
    pub(crate) fn seen_with(&self, probability: f64, least: u64) -> i128 {
        let threshold = self.threshold_from(least);
        let seen = |beyond: i128| self.tail(-beyond) >= probability;
        threshold + least_whole(-threshold, 1, 1 << 100, seen).unwrap_or(1 << 100)
    }

    /// P\[noise >= `x`\]: of a count that is measured together with sums, except for the rounding
    /// of draws.
    pub(crate) fn tail(&self, x: i128) -> f64 {
        // The result is rounded.
        let from = x as f64 - 0.5;
        let tail = match &self.law {
            NoiseLaw::Additive(law) => law.as_law().tail(x),
            NoiseLaw::Normal(sigma) => normal_tail(from / sigma),
            NoiseLaw::Laplace(law) => law.tail(from),
        };
        tail.clamp(0.0, 1.0)
    }
}

/// Counts by which the rounding of draws may move the common count, where that is not far less than
/// the noise.
fn rounding(tied: &TiedSums) -> i128 {
    let draws = tied.draws(TiedRole::Count);
    if draws.iter().all(|(_, noise)| noise.scale() >= FINE) {
        return 0;
    }
    draws.iter().map(|(times, _)| 0.5 * times.abs()).sum::<f64>().ceil() as i128
}

impl NoiseLaw {
    fn of(tied: &TiedSums) -> Result<Self, MechanismError> {
        if tied.is_gaussian() {
            return Ok(Self::Normal(tied.deviation(TiedRole::Count)));
        }
        let draws = tied.draws(TiedRole::Count);
        let scales: Vec<f64> = draws.iter().map(|(times, n)| times.abs() * n.scale()).collect();
        LaplaceSum::new(&scales).map(Self::Laplace).ok_or(MechanismError::ManySums)
    }
}

#[cfg(test)]
mod tests;
