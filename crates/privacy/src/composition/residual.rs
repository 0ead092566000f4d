//! Mechanisms that are known by their moments only, as a function of the loss of all the rest.

use super::kinds::{ComposingEvents, ln_price};

/// An upper bound of the hockey-stick divergence of any mechanisms with these bounds of their
/// moments, at any real epsilon x: the delta that is left when the rest of a composition has the
/// loss `epsilon - x`.
///
/// Where there are none it is (1 - e^x)_+. Otherwise it is the least of 1 and of C(t) e^(K(t) - tx)
/// at some t > 0, K(t) being the bound of ln E\[e^(t L)\], which is t(1+t) rho in zCDP (Canonne,
/// Kamath & Steinke 2020, Proposition 12, whose proof holds at any x).
///
/// Why the whole delta is at most the expectation of this over the loss of the rest, in whatever
/// order mechanisms run and however later ones are chosen from earlier answers, as long as their
/// losses are not: with r = e^-(loss so far), the value still to be lost is a convex function of r
/// at the end, (1 - e^epsilon r)_+. Going back, a mechanism that a pair of laws dominates takes the
/// expectation over an independent loss, which keeps convexity and is at least what the mechanism
/// itself does to a convex function; one of which moments are known takes a supremum, which keeps
/// it too. Knowing the independent losses first only helps the suprema; together, those are of one
/// mechanism with the sum of the bounds.
#[derive(Clone, Debug)]
pub(crate) struct Residual<'a> {
    events: &'a ComposingEvents,
    /// ln of the last t: the next is near. Any t is valid.
    ln_order: f64,
}

impl<'a> Residual<'a> {
    pub(crate) fn new(events: &'a ComposingEvents) -> Self {
        Self { events, ln_order: 0.0 }
    }

    /// Whether nothing can be lost where x >= 0.
    pub(crate) fn is_nothing(&self) -> bool {
        self.events.has_only_laws()
    }

    /// ln of the bound at `x`; minus infinity for nothing.
    pub(crate) fn ln_at(&mut self, x: f64) -> f64 {
        if self.is_nothing() {
            return if x < 0.0 { (-x.exp_m1()).ln() } else { f64::NEG_INFINITY };
        }
        // Newton's method on the derivative, -ln(1 + 1/t) + K'(t) - x, in ln t.
        for _ in 0..40 {
            let order = self.ln_order.exp();
            let moments = self.events.ln_bound(order).1;
            let slope = moments - (-self.ln_order).exp().ln_1p() - x;
            let step = slope / (1.0 / (1.0 + order) + self.curvature(order, moments));
            let before = self.ln_order;
            self.ln_order = (before - step.clamp(-3.0, 3.0)).clamp(-30.0, 30.0);
            if (self.ln_order - before).abs() < 1e-6 {
                break;
            }
        }
        let order = self.ln_order.exp();
        let (moment, shift) = (self.events.ln_bound(order).0, order * x);
        let ln = ln_price(order) + moment - shift;
        (ln + 1e-15 * (8.0 + 8.0 * moment + 8.0 * shift.abs())).min(0.0)
    }

    /// How fast K'(t) grows with ln t, about.
    fn curvature(&self, order: f64, slope: f64) -> f64 {
        if self.events.ranges.is_empty() {
            return 2.0 * order * self.events.rho;
        }
        ((self.events.ln_bound(order * 1.001).1 - slope) / 0.001).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_positive_epsilons_it_is_the_conversion_of_rho() {
        for rho in [1e-6, 0.01, 0.5, 20.0] {
            let events = ComposingEvents { rho, ..ComposingEvents::default() };
            let mut residual = Residual::new(&events);
            for x in [0.0, 0.01, 0.3, 1.0, 5.0, 60.0] {
                let (got, want) = (residual.ln_at(x), crate::zcdp_delta_at(rho, x).ln());
                // A number that is computed here may underflow in the other computation.
                if want > -700.0 {
                    assert!(
                        (got - want).abs() < 1e-8 * (1.0 + want.abs()),
                        "{rho} {x}: {got} {want}"
                    );
                }
            }
        }
    }

    /// Gaussian noise is zCDP: at a negative epsilon too, its delta is below the bound.
    #[test]
    fn it_is_above_a_gaussians_delta_everywhere() {
        for rho in [0.005, 0.5, 3.0f64] {
            let mu = (2.0 * rho).sqrt();
            let events = ComposingEvents { rho, ..ComposingEvents::default() };
            let mut residual = Residual::new(&events);
            for x in (-80..80).map(|i| f64::from(i) / 8.0) {
                let near = crate::normal_cdf(mu / 2.0 - x / mu);
                let delta = near - x.exp() * crate::normal_cdf(-mu / 2.0 - x / mu);
                assert!(residual.ln_at(x).exp() >= delta, "{rho} {x}");
            }
        }
        let events = ComposingEvents::default();
        let mut nothing = Residual::new(&events);
        assert_eq!(nothing.ln_at(0.0), f64::NEG_INFINITY);
        assert_eq!(nothing.ln_at(f64::NEG_INFINITY), 0.0);
    }
}
