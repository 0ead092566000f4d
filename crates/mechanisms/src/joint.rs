//! The delta that Gaussian noise and a threshold have together.
//!
//! A unit's groups are of two kinds. In *shared* groups there are other units, too: there the unit
//! moves a Gaussian. In *new* groups it is alone: they may appear only with it. If `appear` is the
//! probability that one of its new groups appears, the output with the unit is a mixture: with
//! probability `appear` something that cannot come without the unit, else a Gaussian that is `mu`
//! away. So the hockey-stick divergence from the table with the unit to the table without is
//!
//! `appear + (1 - appear) delta_G(epsilon - ln(1 - appear); mu)`,
//!
//! and the one back is `delta_G(epsilon + ln(1 - appear); mu)`, where `delta_G` is that of Gaussian
//! differential privacy. Both are reached by noisy counts, when the shared groups are so large that
//! they appear for certain (weights show less: only which groups appear). A group cannot be shared and new at once: of t groups with j new, only t - j move a
//! Gaussian. So delta is the worst case over j, and need not be divided between noise and threshold.

use std::f64::consts::SQRT_2;

use hushtable_noise::{Dyadic, RoundedGaussian};
use hushtable_privacy::{Neighbouring, analytic_gaussian_mu, gaussian_delta, normal_tail};

use crate::error::MechanismError;

/// Relative error that tail probabilities in floating point stay under.
const MARGIN: f64 = 1e-10;

/// Lattice points per unit of weight.
pub(crate) const FINE: i128 = 1 << 30;

/// Shares of delta that are tried for the noise; what they leave is for the threshold.
const NOISE_PARTS: [f64; 6] = [0.9999, 0.999, 0.99, 0.9, 0.7, 0.5];

/// What a unit adds to each of its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weights {
    /// One, however many they are.
    Ones,
    /// One over the root of their number, so that the l2 norm is one.
    Roots,
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

    /// The l2 sensitivity of the sums of weights. A unit's weights and those of its replacement have
    /// no negative ones, so their distance is at most the root of the sum of their squares.
    pub(crate) fn l2(self, weights: Weights) -> f64 {
        match weights {
            Weights::Ones => (self.touched() as f64).sqrt(),
            Weights::Roots if self.neighbouring == Neighbouring::Replace => SQRT_2,
            Weights::Roots => 1.0,
        }
    }
}

/// delta at `epsilon` of a mechanism that shows something impossible with probability `appear`, and
/// otherwise moves a Gaussian by `mu`; see the module. Under `replace` both tables may have groups of
/// their own, with probabilities of at most `appear`.
pub fn joint_delta(epsilon: f64, mu: f64, appear: f64, neighbouring: Neighbouring) -> f64 {
    if appear >= 1.0 {
        return 1.0;
    }
    let kept = (-appear).ln_1p();
    let delta = match neighbouring {
        Neighbouring::AddRemove => {
            let with = appear + (1.0 - appear) * hockey_stick(mu, epsilon - kept);
            with.max(hockey_stick(mu, epsilon + kept))
        }
        Neighbouring::Replace => summed_delta(epsilon, mu, appear),
    };
    delta.min(1.0)
}

/// The same where noise and appearing may come together, as from round to round or where a unit is
/// exchanged for another: appear + delta_G(epsilon + ln(1 - appear); mu) covers both directions. `appear`
/// is below one.
pub(crate) fn summed_delta(epsilon: f64, mu: f64, appear: f64) -> f64 {
    appear + hockey_stick(mu, epsilon + (-appear).ln_1p())
}

/// [`gaussian_delta`], also at epsilons below zero, where it follows from the one back.
fn hockey_stick(mu: f64, epsilon: f64) -> f64 {
    if epsilon >= 0.0 {
        return gaussian_delta(mu, epsilon);
    }
    -epsilon.exp_m1() + epsilon.exp() * gaussian_delta(mu, -epsilon)
}

/// The probability that one of `groups` groups of `weight` has a noisy weight of `threshold` or more,
/// rounded up.
pub(crate) fn appears(threshold: f64, sigma: f64, weight: f64, groups: f64) -> f64 {
    let one = (normal_tail((threshold - weight) / sigma) * (1.0 + MARGIN)).min(1.0);
    let none = groups * (-one).ln_1p();
    (-none.exp_m1() * (1.0 + MARGIN)).min(1.0)
}

/// The largest probability that a new group of a unit appears, over its number of groups.
///
/// For weights of l2 norm one, `groups * ln P[no group of weight 1/sqrt(groups) appears]` rises and
/// then falls in `groups` (its derivative has the sign of a function that falls), so the worst number
/// is the least or the greatest.
pub(crate) fn appears_at_most(threshold: f64, sigma: f64, most: u64, weights: Weights) -> f64 {
    let most = most as f64;
    match weights {
        Weights::Ones => appears(threshold, sigma, 1.0, most),
        Weights::Roots => appears(threshold, sigma, 1.0, 1.0).max(appears(
            threshold,
            sigma,
            1.0 / most.sqrt(),
            most,
        )),
    }
}

/// Upper bound on delta over all units: over the number t of a unit's groups, and how many of them
/// are new.
///
/// With x the share of the squared weights that lies in new groups, mu^2 = (1 - x) l2^2 / sigma^2. For
/// the same x the new groups appear most often if t is the greatest, or if one group alone is new (as
/// in [`appears_at_most`]); both families are gone through in steps of x, each with the probability at
/// its upper end and mu at its lower end.
///
/// `slack` is what rounding may add to the distance in l2, whatever the share.
fn worst_delta(
    epsilon: f64,
    (sigma, threshold): (f64, f64),
    reach: Reach,
    weights: Weights,
    slack: f64,
) -> f64 {
    const STEPS: u64 = 128;
    let most = reach.groups as f64;
    let l2 = reach.l2(weights);
    let joint = |shared: f64, appear: f64| {
        let moved = l2 * shared.max(0.0).sqrt() + slack;
        joint_delta(epsilon, moved / sigma, appear, reach.neighbouring)
    };
    if reach.neighbouring == Neighbouring::Replace {
        return joint(1.0, appears_at_most(threshold, sigma, reach.groups, weights));
    }
    let mut worst = joint(1.0, 0.0);
    let steps = reach.groups.min(STEPS);
    let weight = match weights {
        Weights::Ones => 1.0,
        Weights::Roots => 1.0 / most.sqrt(),
    };
    for step in 1..=steps {
        let high = step as f64 / steps as f64;
        let low = if weights == Weights::Ones && steps == reach.groups {
            high
        } else {
            ((step - 1) as f64 / steps as f64).max(1.0 / most)
        };
        worst = worst.max(joint(1.0 - low, appears(threshold, sigma, weight, most * high)));
    }
    if weights == Weights::Roots {
        for groups in 1..=steps {
            let weight = 1.0 / (groups as f64).sqrt();
            let low = if groups == steps { 1.0 / most } else { 1.0 / (groups + 1) as f64 };
            worst = worst.max(joint(1.0 - low, appears(threshold, sigma, weight, 1.0)));
        }
    }
    worst
}

/// The least value (rounded up) at which `delta_at` is at most `delta`; it does not rise.
fn least_threshold(sigma: f64, delta: f64, delta_at: impl Fn(f64) -> f64) -> f64 {
    // Forty standard deviations above any weight, where tails are zero.
    let (mut low, mut high) = (-40.0 * sigma, 1.0 + 40.0 * sigma);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if delta_at(middle) <= delta {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// Noise of at least this standard deviation, and the least threshold at which new groups of a unit appear
/// with a probability of at most `appear`.
pub(crate) fn noise_and_threshold(
    sigma: f64,
    appear: f64,
    groups: u64,
    weights: Weights,
) -> Result<(RoundedGaussian, f64), MechanismError> {
    let (law, sigma) = noise(sigma)?;
    let appears = |t: f64| appears_at_most(t, sigma, groups, weights);
    let threshold = least_threshold(sigma, appear, appears);
    if appear <= 0.0 || appears(threshold) > appear {
        return Err(MechanismError::NoBudget("delta"));
    }
    Ok((law, threshold))
}

/// The threshold in lattice points: noise that is rounded to a lattice point reaches it no more often
/// than noise that is not rounded reaches `threshold`.
pub(crate) fn to_lattice(threshold: f64) -> Result<i128, MechanismError> {
    let fine = (threshold * FINE as f64).ceil();
    if fine.abs() > 2f64.powi(100) {
        return Err(MechanismError::TooLarge);
    }
    Ok(fine as i128 + 1)
}

/// Gaussian noise on the lattice, of at least this standard deviation in units of weight, and what
/// its standard deviation is.
fn noise(sigma: f64) -> Result<(RoundedGaussian, f64), MechanismError> {
    let law = RoundedGaussian::new(Dyadic::at_least(sigma * (1.0 + 1e-12) * FINE as f64)?);
    let sigma = law.sigma().to_f64() / FINE as f64;
    Ok((law, sigma))
}

/// The noise and the threshold at (`epsilon`, `delta`), with the least threshold: of the tried shares
/// of delta for the noise the one that leaves it least. `slack` as in [`worst_delta`].
pub(crate) fn calibrate(
    epsilon: f64,
    delta: f64,
    reach: Reach,
    weights: Weights,
    slack: f64,
) -> Result<(RoundedGaussian, i128), MechanismError> {
    if epsilon <= 0.0 {
        return Err(MechanismError::NoBudget("epsilon"));
    }
    if delta <= 0.0 {
        return Err(MechanismError::NoBudget("delta"));
    }
    let mut best: Option<(RoundedGaussian, f64)> = None;
    for part in NOISE_PARTS {
        let mu = analytic_gaussian_mu(epsilon, delta * part);
        if mu <= 0.0 {
            continue;
        }
        let (law, sigma) = noise((reach.l2(weights) + slack) / mu)?;
        let fits = |t: f64| worst_delta(epsilon, (sigma, t), reach, weights, slack);
        let threshold = least_threshold(sigma, delta * (1.0 - MARGIN), fits);
        if fits(threshold) <= delta && best.as_ref().is_none_or(|(_, own)| threshold < *own) {
            best = Some((law, threshold));
        }
    }
    let (law, threshold) = best.ok_or(MechanismError::NoBudget("delta"))?;
    Ok((law, to_lattice(threshold)?))
}

#[cfg(test)]
#[path = "joint_tests.rs"]
mod tests;
