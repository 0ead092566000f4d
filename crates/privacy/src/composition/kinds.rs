//! The events of a composition, sorted by kind, and the moments of their losses.

use hushtable_numbers::search::valley;

use crate::DiscreteGaussianEvent;
use crate::bounded_range::Ranges;

/// A unit of rounding, 2^-53.
pub(crate) const ROUNDING: f64 = 0.5 * f64::EPSILON;

/// Largest and smallest tilts that are searched for, as logarithms.
const TILTS: (f64, f64) = (-20.0, 16.0);

/// Randomised responses with losses +-epsilon: p = e^epsilon/(1 + e^epsilon).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Responses {
    /// Above zero.
    pub(crate) epsilon: f64,
    pub(crate) times: u64,
}

/// Discrete Gaussian events of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lattice {
    pub(crate) event: DiscreteGaussianEvent,
    pub(crate) times: u64,
}

/// The events that compose, without the deltas that are lost outright. Numbers are rounded up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ComposingEvents {
    /// Of all Gaussian events together.
    pub(crate) mu_squared: f64,
    /// By epsilon, which differ.
    pub(crate) responses: Vec<Responses>,
    /// By law and sensitivity, which differ.
    pub(crate) lattices: Vec<Lattice>,
    /// Of all that is known in rho only.
    pub(crate) rho: f64,
    /// By range, which differ: known by their moments only, as the worst t depends on all the rest.
    pub(crate) ranges: Vec<Ranges>,
    /// A common divisor of all epsilons of `responses`, or zero where none is known.
    pub(crate) common: f64,
}

/// ln of C(t) = t^t/(1+t)^(1+t), the largest value of (1 - e^-z) e^(-tz): what turns a moment into
/// a delta, as (1 - e^(epsilon-L))_+ <= C(t) e^(t(L-epsilon)) whatever the loss L.
pub(crate) fn ln_price(tilt: f64) -> f64 {
    if tilt <= 0.0 {
        return 0.0;
    }
    -tilt * (1.0 / tilt).ln_1p() - tilt.ln_1p()
}

impl Responses {
    /// ln E\[e^(tilt L)\] of one.
    pub(crate) fn ln_moment(&self, tilt: f64) -> f64 {
        // p e^(t eps) + (1-p) e^(-t eps), where 1-p = p e^-eps, is the same at -1-t as at t.
        let tilt = tilt.max(-1.0 - tilt);
        let ln_likely = -(-self.epsilon).exp().ln_1p();
        tilt * self.epsilon + ln_likely + self.ln_odds(tilt).exp().ln_1p()
    }

    /// ln of how much less likely the loss -epsilon is than epsilon, at a tilt.
    pub(crate) fn ln_odds(&self, tilt: f64) -> f64 {
        -(1.0 + 2.0 * tilt) * self.epsilon
    }

    /// The largest error of the computed logarithm of their moment.
    fn slack(&self, tilt: f64) -> f64 {
        8.0 * ROUNDING * self.times as f64 * (1.0 + (1.0 + tilt.abs()) * self.epsilon)
    }
}

impl Lattice {
    /// ln E\[e^(tilt L)\] of one: the continuous Gaussian's, and the ratio of two theta functions,
    /// which is at most one and for sigma^2 >= 4 is one in a double.
    pub(crate) fn ln_moment(&self, tilt: f64) -> f64 {
        let (s, shift) = (self.event.law().sigma_squared(), self.event.sensitivity() as f64);
        let continuous = tilt * (1.0 + tilt) * shift * shift / (2.0 * s);
        if s >= 4.0 {
            return continuous;
        }
        let centre = tilt * shift - (tilt * shift).round();
        let reach = (12.0 * s.sqrt()).ceil() as i32 + 1;
        let around = |centre: f64| -> f64 {
            let square = |y: i32| (f64::from(y) - centre) * (f64::from(y) - centre);
            (-reach..=reach).map(|y| (-square(y) / (2.0 * s)).exp()).sum()
        };
        continuous + (around(centre) / around(0.0)).ln()
    }
}

impl ComposingEvents {
    /// Whether nothing is there that loses anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.has_no_law() && self.has_only_laws()
    }

    /// Whether a pair of laws is known of all there is.
    pub(crate) fn has_only_laws(&self) -> bool {
        self.rho <= 0.0 && self.ranges.is_empty()
    }

    /// Whether all there is, if anything, is known by its moments only.
    pub(crate) fn has_no_law(&self) -> bool {
        self.mu_squared <= 0.0 && self.responses.is_empty() && self.lattices.is_empty()
    }

    /// A common divisor of all losses but those of Gaussian events; zero where none is known.
    pub(crate) fn common_step(&self) -> f64 {
        match (self.responses.as_slice(), self.lattices.as_slice()) {
            (_, []) => self.common,
            ([], [one]) => one.event.sensitivity() as f64 / (2.0 * one.event.law().sigma_squared()),
            _ => 0.0,
        }
    }

    /// Sum of ln E\[e^(tilt L)\] over all but what is known by its moments only: tilt times the
    /// Rényi divergence of order 1 + tilt. Any real tilt.
    pub(crate) fn ln_moment(&self, tilt: f64) -> f64 {
        let responses = self.responses.iter().map(|r| r.times as f64 * r.ln_moment(tilt));
        let lattices = self.lattices.iter().map(|l| l.times as f64 * l.ln_moment(tilt));
        0.5 * tilt * (1.0 + tilt) * self.mu_squared + responses.sum::<f64>() + lattices.sum::<f64>()
    }

    /// A bound of the same sum over what is known by its moments only, with its slope. The tilt is
    /// above zero.
    pub(crate) fn ln_bound(&self, tilt: f64) -> (f64, f64) {
        let of_rho = (tilt * (1.0 + tilt) * self.rho, (1.0 + 2.0 * tilt) * self.rho);
        self.ranges
            .iter()
            .map(|r| r.ln_moment(tilt))
            .fold(of_rho, |(sum, slopes), (ln, slope)| (sum + ln, slopes + slope))
    }

    /// The largest error of the sum of both.
    pub(crate) fn slack(&self, tilt: f64) -> f64 {
        let terms = (self.responses.len() + self.lattices.len() + self.ranges.len() + 8) as f64;
        let size = self.ln_moment(tilt).abs() + self.ln_bound(tilt).0.abs();
        let responses: f64 = self.responses.iter().map(|r| r.slack(tilt)).sum();
        // The theta functions are of some hundred terms.
        let lattices: f64 = self.lattices.iter().map(|l| 1e-13 * l.times as f64).sum();
        responses + lattices + terms * 8.0 * ROUNDING * size
    }

    fn ln_all(&self, tilt: f64) -> f64 {
        self.ln_moment(tilt) + self.ln_bound(tilt).0 + ln_price(tilt)
    }

    /// The tilt that is best at `epsilon`, and the ln of the delta that the moment at it bounds:
    /// min over t > 0 of C(t) e^(ln moment - t epsilon), which for zCDP is Canonne, Kamath &
    /// Steinke 2020, Proposition 12. Rounded up.
    pub(crate) fn ln_delta_at(&self, epsilon: f64) -> (f64, f64) {
        let at = |ln: f64| self.ln_all(ln.exp()) - ln.exp() * epsilon;
        let tilt = valley(TILTS.0, TILTS.1, at).exp();
        let slack = self.slack(tilt) + 8.0 * ROUNDING * tilt * epsilon.abs() + 1e-12;
        (tilt, at(tilt.ln()) + slack)
    }

    /// The tilt that is best at `delta`, and the epsilon that the moment at it bounds, rounded up.
    /// `delta` above 0.
    pub(crate) fn epsilon_at(&self, delta: f64) -> (f64, f64) {
        let at = |tilt: f64| (self.ln_all(tilt) - delta.ln()) / tilt;
        let tilt = valley(TILTS.0, TILTS.1, |ln| at(ln.exp())).exp();
        let epsilon = at(tilt) + (self.slack(tilt) + 1e-12) / tilt;
        (tilt, epsilon.max(0.0) * (1.0 + 1e-14))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn responses(epsilon: f64) -> Responses {
        Responses { epsilon, times: 1 }
    }

    #[test]
    fn moments_are_those_of_the_laws() {
        for epsilon in [1e-3, 0.5, 3.0] {
            let p = 1.0 / (1.0 + f64::exp(-epsilon));
            for tilt in [-3.0, -1.0, -0.5, 0.0, 0.7, 5.0f64] {
                let want = (p * (tilt * epsilon).exp() + (1.0 - p) * (-tilt * epsilon).exp()).ln();
                assert!((responses(epsilon).ln_moment(tilt) - want).abs() < 1e-14);
            }
        }
        for (s, shift) in [(0.05, 1), (0.3, 2), (1.0, 1), (5.0, 3)] {
            let event = DiscreteGaussianEvent::new(s, shift).unwrap();
            let law = |y: i32| (-f64::from(y * y) / (2.0 * s)).exp();
            let total: f64 = (-40..=40).map(law).sum();
            let step = f64::from(u32::try_from(shift).unwrap());
            for tilt in [-1.0, 0.0, 0.3, 2.0f64] {
                let loss = |y: i32| step * (2.0 * f64::from(y) + step) / (2.0 * s);
                let square = |y: i32| f64::from(y * y) / (2.0 * s);
                let want: f64 = (-40..=40).map(|y| (tilt * loss(y) - square(y)).exp()).sum();
                let got = Lattice { event, times: 1 }.ln_moment(tilt);
                let want = (want / total).ln();
                assert!(
                    (got - want).abs() < 1e-12 * (1.0 + want.abs()),
                    "{s} {tilt}: {got} {want}"
                );
            }
        }
    }

    /// With rho alone, both bounds are zCDP's.
    #[test]
    fn bounds_are_those_of_zcdp() {
        let events = ComposingEvents { rho: 0.5, ..ComposingEvents::default() };
        let (_, ln) = events.ln_delta_at(5.0);
        assert!((ln.exp() / crate::zcdp_delta_at(0.5, 5.0) - 1.0).abs() < 1e-9);
        let (_, epsilon) = events.epsilon_at(1e-6);
        assert!((epsilon / crate::zcdp_epsilon_at(0.5, 1e-6) - 1.0).abs() < 1e-9);
    }
}
