//! Policy Gaussian selection (Gopi et al. 2020, Algorithms 1, 6 and 7 with l2 weights): the
//! yardstick of what adapting to the data can do, one unit after the other.
//!
//! Each unit moves the weights of its groups straight towards a cutoff, by a distance of at most
//! one. That step is d -> d - P(d), with P the projection on the unit ball and d the distances to
//! the cutoff: it brings no two states further apart, so one unit more or less moves the final
//! weights by at most one in l2, whatever the other units do. New groups all have the largest
//! distance, so a unit gives each of them the same weight, at most 1/sqrt(their number): the
//! threshold and the joint delta are those of weighted Gaussian selection.
//!
//! Under `replace` a unit leaves and another enters: their two steps may point the same way, so
//! that the weights of shared groups move by up to the sum of what each moves there.

use hushtable_noise::{EntropyError, Generator, Law, RoundedGaussian};
use hushtable_privacy::{Delta, Epsilon, Rho};

use crate::error::MechanismError;
use crate::joint::{FINE, Reach, Weights, calibrate, noise_and_threshold, to_lattice};
use crate::memberships::Memberships;
use crate::steps;

/// Standard deviations from the threshold to the cutoff above it (Gopi et al. use 2 to 5).
const ABOVE: f64 = 4.0;

/// Distance in l2 that rounding adds, relative to the cutoff and absolute.
///
/// A step errs by at most 2^-51 cutoff in each group, the two states that are compared by twice
/// that, and errors do not grow from step to step: the 2^36 pairs of a unit and a group that can be
/// kept give at most 2^-14 cutoff. Rounding the last weights to the lattice moves up to 2^32 groups
/// by 2^-30, which is 2^-14 in l2.
const ROUNDING: (f64, f64) = (1.0 / 16384.0, 1.0 / 16384.0);

/// Where chances are computed, units that together take less than this part count as one step.
const TOGETHER: f64 = 1.0 / 256.0;

/// Policy Gaussian selection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicyGaussian {
    noise: RoundedGaussian,
    threshold: i128,
    most_groups: u64,
}

impl PolicyGaussian {
    /// The selection at `epsilon` and `delta`.
    pub(crate) fn approximate(
        epsilon: Epsilon,
        delta: Delta,
        reach: Reach,
    ) -> Result<Self, MechanismError> {
        let (epsilon, delta) = (epsilon.to_f64(), delta.to_f64());
        Self::with(reach.groups, |slack| {
            let (noise, threshold) = calibrate(epsilon, delta, reach, Weights::Adaptive, slack)?;
            Ok((noise, threshold as f64 / FINE as f64))
        })
    }

    /// The selection at `rho` for the noise and `delta` for the threshold.
    pub(crate) fn concentrated(
        rho: Rho,
        delta: Delta,
        reach: Reach,
    ) -> Result<Self, MechanismError> {
        if rho.is_zero() {
            return Err(MechanismError::NoBudget("rho"));
        }
        Self::with(reach.groups, |slack| {
            let sigma = (reach.l2(Weights::Adaptive) + slack) / (2.0 * rho.to_f64()).sqrt();
            noise_and_threshold(sigma, delta.to_f64(), reach.groups, Weights::Adaptive)
        })
    }

    /// Noise and threshold by `calibration`, for a distance that rounding makes larger by a slack:
    /// first without slack, to learn the cutoff, then with twice what rounding adds at that cutoff.
    /// The weights in new groups are larger by no more, and the threshold so much higher.
    fn with(
        most_groups: u64,
        calibration: impl Fn(f64) -> Result<(RoundedGaussian, f64), MechanismError>,
    ) -> Result<Self, MechanismError> {
        let finished = |slack: f64| {
            let (noise, threshold) = calibration(slack)?;
            let threshold = to_lattice(threshold.max(0.0) + slack)?;
            Ok::<_, MechanismError>(Self { noise, threshold, most_groups })
        };
        let rounding = |cutoff: f64| cutoff * ROUNDING.0 + ROUNDING.1;
        let slack = 2.0 * rounding(finished(0.0)?.cutoff());
        let policy = finished(slack)?;
        if rounding(policy.cutoff()) > slack {
            return Err(MechanismError::TooLarge);
        }
        Ok(policy)
    }

    /// Standard deviation and threshold, in units of weight.
    pub(crate) fn sigma_and_threshold(&self) -> (f64, f64) {
        let units = |fine: f64| fine / FINE as f64;
        (units(self.noise.sigma().to_f64()), units(self.threshold as f64))
    }

    /// The probability that a group appears if each of its units is in the most groups, and alone
    /// in all others: each gives it the least that it can.
    pub(crate) fn keep_probability(&self, units: u64) -> f64 {
        if self.most_groups == 1 {
            return self.keep_probability_alone(units);
        }
        let cutoff = self.cutoff();
        let others = (self.most_groups.saturating_sub(1)) as f64 * cutoff * cutoff;
        self.keep(units, cutoff - gap_after(units, cutoff, others))
    }

    /// The probability that a group appears if all other groups of its units have enough weight.
    pub(crate) fn keep_probability_alone(&self, units: u64) -> f64 {
        self.keep(units, (units as f64).min(self.cutoff()))
    }

    fn keep(&self, units: u64, weight: f64) -> f64 {
        if units == 0 {
            return 0.0;
        }
        self.noise.tail(self.threshold - (weight * FINE as f64) as i128)
    }

    fn cutoff(&self) -> f64 {
        let (sigma, threshold) = self.sigma_and_threshold();
        (threshold + ABOVE * sigma).max(1.0)
    }

    /// Which groups appear, of those in `open`. Without `members` every unit is in one group.
    ///
    /// # Errors
    /// When the operating system's generator fails.
    pub(crate) fn select(
        &self,
        members: Option<&Memberships>,
        units: &[u64],
        open: &[bool],
        generator: &mut Generator,
    ) -> Result<Vec<bool>, EntropyError> {
        let weights = match members {
            Some(members) => self.weights(members, open),
            None => units.iter().map(|&n| (n as f64).min(self.cutoff())).collect(),
        };
        let candidates: Vec<usize> = (0..open.len())
            .filter(|&g| open.get(g) == Some(&true) && weights.get(g).is_some_and(|&w| w > 0.0))
            .collect();
        let mut appears = vec![false; open.len()];
        let mut noise = [0i128; 1024];
        for groups in candidates.chunks(noise.len()) {
            let noise = &mut noise[..groups.len()];
            self.noise.fill(generator, noise)?;
            for (&group, &noise) in groups.iter().zip(noise.iter()) {
                let weight = weights.get(group).map_or(0, |w| (w * FINE as f64) as i128);
                if let Some(appears) = appears.get_mut(group) {
                    *appears = weight + noise >= self.threshold;
                }
            }
        }
        Ok(appears)
    }

    /// The weights of the open groups after all units.
    fn weights(&self, members: &Memberships, open: &[bool]) -> Vec<f64> {
        let cutoff = self.cutoff();
        let mut weights = vec![0f64; open.len()];
        let mut open_groups: Vec<usize> = Vec::new();
        for unit in members.in_order() {
            open_groups.clear();
            let mut squares = 0.0;
            for &group in members.of(unit) {
                let group = group as usize;
                if let (Some(&weight), Some(true)) = (weights.get(group), open.get(group))
                    && weight < cutoff
                {
                    squares += (cutoff - weight) * (cutoff - weight);
                    open_groups.push(group);
                }
            }
            let step = 1.0 / squares.sqrt().max(1.0);
            for &group in &open_groups {
                if let Some(weight) = weights.get_mut(group) {
                    *weight = (*weight + (cutoff - *weight) * step).min(cutoff);
                }
            }
        }
        weights
    }
}

/// Upper bound on the distance that is left to the `cutoff` after `units` units, each of whose
/// other groups together have `others` of the square of theirs; exact while a unit takes a 256th
/// part or more.
///
/// A unit takes a part that grows as the distance shrinks. So where parts are small, units are
/// taken together, as if each took the part that the first of them does.
fn gap_after(units: u64, cutoff: f64, others: f64) -> f64 {
    let (mut gap, mut left) = (cutoff, units);
    // Below this nothing is left of the distance in floating point.
    while left > 0 && gap > cutoff * f64::EPSILON {
        steps::count();
        let part = 1.0 / (gap * gap + others).sqrt().max(1.0);
        let together = ((TOGETHER / part) as u64).clamp(1, left);
        gap *= if together == 1 { 1.0 - part } else { ((-part).ln_1p() * together as f64).exp() };
        left -= together;
    }
    gap
}

#[cfg(test)]
mod tests;
