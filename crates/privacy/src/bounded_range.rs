//! Mechanisms whose log-ratios have a bounded range, such as the exponential mechanism.
//!
//! Between any two neighbouring tables, the privacy losses of such a mechanism lie in
//! [t - range, t] for some t in [0, range] that depends on the tables. At worst there are just
//! these two losses: the likelihood ratio has mean one, and no other law with losses in that
//! interval is as spread. With Q\[t\] = (e^-t - e^-range)/(1 - e^-range) and P\[t\] = e^t Q\[t\]
//! that is a pair of laws for each t (Durfee & Rogers 2019; Dong, Durfee & Rogers 2020). No single
//! t is the worst for all purposes.

use crate::pure::{pure_of, pure_rho};
use crate::{Epsilon, Rho};

/// Relative error that the functions of this module stay under.
const MARGIN: f64 = 1e-12;

/// Most draws for which the closed form is summed.
const MOST: u64 = 500;

/// The largest range of log-ratios that loses no more than `rho`, rounded down: it loses range^2/8
/// (Hoeffding's lemma; Cesar & Rogers 2021), and from about 8 on no more than a pure epsilon.
pub fn range_of_rho(rho: f64) -> f64 {
    ((8.0 * rho).sqrt() * (1.0 - 4.0 * f64::EPSILON)).max(pure_of(rho))
}

/// The loss in rho of `draws` mechanisms whose ranges add up to `epsilon`, in equal shares, rounded
/// up: epsilon^2/(8 draws), and no more than that of pure epsilons.
pub(crate) fn ranges_rho(epsilon: Epsilon, draws: u32) -> Rho {
    let (units, draws) = (u128::from(epsilon.units()), u128::from(draws.max(1)));
    let square = (units * units).div_ceil(8 * draws * u128::from(Epsilon::units_per_one()));
    let whole = pure_rho(epsilon);
    // The minimum fits, as the other amount does.
    let square = u64::try_from(square).map_or(whole, |square| Rho::raw(square.min(whole.units())));
    let each = u64::try_from(units.div_ceil(draws)).ok().and_then(|u| Epsilon::from_units(u).ok());
    let each = each.and_then(|each| pure_rho(each).checked_mul(draws as u64));
    each.map_or(square, |each| each.min(square))
}

/// Draws of mechanisms of one range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ranges {
    /// Of each, above zero.
    pub(crate) range: f64,
    pub(crate) draws: u64,
}

impl Ranges {
    /// ln E\[e^(tilt L)\] of all draws at the worst t of each, rounded up, and its slope. The tilt
    /// is above zero.
    ///
    /// For one, E\[e^(tilt L)\] = e^(tilt t) (a - b e^t) / (1 - e^-range) with a = 1 - e^(-(1+tilt)
    /// range) and b = e^-range (1 - e^(-tilt range)), which is largest at e^t = tilt a/((1 + tilt)
    /// b). It bounds what the draws multiply the moment by however each is chosen in view of those
    /// before.
    pub(crate) fn ln_moment(&self, tilt: f64) -> (f64, f64) {
        let Self { range, draws } = *self;
        let a = -(-(1.0 + tilt) * range).exp_m1();
        let ln_b = (-(-tilt * range).exp_m1()).ln() - range;
        let t = (a.ln() - ln_b - (1.0 / tilt).ln_1p()).clamp(0.0, range);
        let ln_whole = (-(-range).exp_m1()).ln();
        let exact = tilt * t + a.ln() - tilt.ln_1p() - ln_whole;
        // Each logarithm and each argument of one is off by some roundings.
        let sizes = 2.0 + range + ln_whole.abs() + ln_b.abs() + (1.0 / tilt).ln_1p();
        let exact = exact + 8.0 * f64::EPSILON * (1.0 + tilt) * sizes;
        let square = 0.125 * range * range * tilt * (1.0 + tilt) * (1.0 + MARGIN);
        let (low, slope) = if exact < square {
            let down = -(1.0 + tilt) * range;
            (exact, t - range * ((t + down).exp() - down.exp()) * (1.0 + tilt) / a)
        } else {
            (square, 0.125 * range * range * (1.0 + 2.0 * tilt))
        };
        (draws as f64 * low, draws as f64 * slope)
    }

    /// The delta at any real `epsilon` of draws that were all fixed before the first answer,
    /// rounded up; `None` where there are too many to be summed.
    ///
    /// *Why t is the same for all.* Of two draws with t1 + t2 given, all losses are given; their
    /// probabilities are, too, except for how much of the middle one goes to the two outer ones,
    /// which is the more the larger Q\[t1\] Q\[t2\] is, and so at t1 = t2. That spreads the
    /// likelihood ratio without moving its mean, so that every expectation of a convex function of
    /// it grows or stays.
    ///
    /// *Which t.* Delta is the largest over l of the sum over the l + 1 outcomes with the most
    /// draws at t, whose slope in t has the sign of epsilon + (l + 1) range - (draws + 1) t. So the
    /// largest of all is at one of these t, cut off at 0 and range (Dong, Durfee & Rogers 2020,
    /// Theorem 3).
    pub(crate) fn delta_in_advance(&self, epsilon: f64) -> Option<f64> {
        let Self { range, draws } = *self;
        if draws > MOST {
            return None;
        }
        let at = |l: u64| {
            let t = (epsilon + (l as f64 + 1.0) * range) / (draws as f64 + 1.0);
            self.delta_at(t.clamp(0.0, range), epsilon)
        };
        let nothing = (-epsilon.exp_m1()).max(0.0);
        Some((0..draws).map(at).fold(nothing, f64::max).min(1.0))
    }

    /// The delta at `epsilon` where all draws have the losses t and t - range.
    fn delta_at(&self, t: f64, epsilon: f64) -> f64 {
        let k = self.draws as f64;
        let whole = -(-self.range).exp_m1();
        // P of t and of t - range, without cancellation.
        let (high, low) =
            (-(t - self.range).exp_m1() / whole, -(-t).exp_m1() * (t - self.range).exp() / whole);
        if high <= 0.0 || low <= 0.0 {
            return 0.0;
        }
        let (ln_high, ln_low) = (high.ln(), low.ln());
        let mut ln_weight = k * ln_high;
        let mut delta = 0.0;
        for i in 0..=self.draws {
            let loss = k * t - i as f64 * self.range;
            if loss <= epsilon {
                break;
            }
            delta += ln_weight.exp() * -(epsilon - loss).exp_m1();
            ln_weight += ((k - i as f64) / (i as f64 + 1.0)).ln() + ln_low - ln_high;
        }
        delta * (1.0 + 1e-9)
    }
}

#[cfg(test)]
mod tests;
