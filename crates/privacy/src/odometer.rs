//! The loss so far, where nobody set a limit beforehand.

use std::f64::consts::LN_2;

use hushtable_numbers::search::{first, valley};

use crate::{Delta, Epsilon, Event, Loss, LossError, Rho, normal_tail};

/// A running total of losses that are decided in view of the answers before (*fully adaptive*),
/// which holds at all times at once.
///
/// It is made for one delta, of which half is the chance that the bound fails, the *confidence*,
/// and half is for the events' own deltas, the *allowance*. Neither ever changes: a confidence that
/// shrank with the deltas charged would be exceeded before they are.
///
/// # The guarantee
/// The outputs are computed from a *view* that reveals at least as much. Except with probability
/// delta, the privacy loss of the view is at no time above [`Odometer::epsilon`] at that time. For
/// events without deltas this is true of the outputs' own loss. It is not for the others: an
/// (epsilon, delta)-DP mechanism may lose slightly more than epsilon with probability 1/2, if it
/// does so by little. For outputs it follows, with U the reading at a time chosen in view of them:
/// - P\[S\] <= E\[e^U; S\] + delta for every set S of outputs;
/// - their loss is at any time above U + x, for a fixed x > 0, with probability at most delta/(1 -
///   e^-x): twice delta for x = ln 2;
/// - an interaction that stops before its reading is above an epsilon fixed in advance is (epsilon,
///   delta)-differentially private: to stop there is a filter.
///
/// Proof: `theorems/composition.md#odometers`.
///
/// The reading itself is not the epsilon of an (epsilon, delta) promise where it depends on the
/// answers. Where losses are fixed in advance, a [`Composition`](crate::Composition) says less.
///
/// # Method A one-sided normal mixture of supermartingales, each event counting as
/// [`Event::in_rho`]. Where all events have an epsilon, the sum of the epsilons is a bound without
/// exception, and the smaller of the two is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odometer {
    confidence: f64,
    allowed: Delta,
    /// The scale of the half-normal density.
    scale: f64,
    /// All events in rho, with their deltas.
    spent: Loss,
    /// The sum of the epsilons, while every event has one and the sum fits.
    epsilons: Option<Epsilon>,
}

/// A loss that an odometer cannot count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OdometerError {
    /// The events' deltas would add up to more than half of the odometer's.
    #[error("the events' deltas would add up to more than half of the odometer's")]
    Delta,
    /// The rhos add up to more than a [`Rho`] holds.
    #[error("the losses add up to more than the largest amount")]
    TooLarge,
    /// The delta is zero.
    #[error("an odometer's delta is not valid: it must be above 0")]
    Confidence,
}

impl Odometer {
    /// An odometer at zero, whose guarantee fails with probability `delta` at most. It is tightest
    /// when about `rho` is spent.
    ///
    /// Like delta, `rho` is fixed before the first answer, or it is another odometer.
    ///
    /// # Errors
    /// When `delta` is zero.
    pub fn new(delta: Delta, rho: Rho) -> Result<Self, OdometerError> {
        let allowed = delta.share(2);
        let confidence = delta.checked_sub(allowed).unwrap_or(Delta::ZERO);
        if confidence.is_zero() {
            return Err(OdometerError::Confidence);
        }
        let confidence = confidence.to_f64() * (1.0 - f64::EPSILON);
        let near = rho.to_f64().max(1e-12);
        let scale = valley(-20.0, 20.0, |ln| bound(near, ln.exp(), confidence)).exp();
        let spent = Loss::concentrated(Rho::ZERO);
        Ok(Self { confidence, allowed, scale, spent, epsilons: Some(Epsilon::ZERO) })
    }

    /// Counts an event that is about to run `times` times.
    ///
    /// # Errors
    /// When the events' deltas would pass the allowance, or rho the largest amount; then nothing is
    /// counted, and the event must not run.
    pub fn record(&mut self, event: &Event, times: u64) -> Result<(), OdometerError> {
        let in_rho = event.in_rho().ok_or(OdometerError::TooLarge)?;
        let too_large = |_: LossError| OdometerError::TooLarge;
        let spent = self.spent.plus(in_rho.times(times).map_err(too_large)?).map_err(too_large)?;
        if spent.delta() > self.allowed {
            return Err(OdometerError::Delta);
        }
        self.spent = spent;
        self.epsilons = match (self.epsilons, event.in_epsilon()) {
            (Some(sum), Some(Loss::Approximate { epsilon, .. })) => {
                epsilon.checked_mul(times).and_then(|more| sum.checked_add(more))
            }
            _ => None,
        };
        Ok(())
    }

    /// The reading, rounded up; `None` above the largest amount.
    pub fn epsilon(&self) -> Option<Epsilon> {
        let rho = match self.spent {
            Loss::Concentrated { rho, .. } => rho,
            Loss::Approximate { .. } => Rho::ZERO,
        };
        if rho.is_zero() {
            return Some(Epsilon::ZERO);
        }
        let rho = rho.to_f64() * (1.0 + f64::EPSILON);
        let mixture = Epsilon::from_f64_up(bound(rho, self.scale, self.confidence)).ok();
        match (mixture, self.epsilons) {
            (Some(mixture), Some(sum)) => Some(mixture.min(sum)),
            (mixture, sum) => mixture.or(sum),
        }
    }
}

/// The loss at which the mixture reaches 1/confidence, rounded up.
///
/// With a = rho + 1/(2 scale^2) and b = loss - rho, the mixture is
/// 2/sqrt(1 + 2 scale^2 rho) e^(b^2/4a) P\[N <= b/sqrt(2a)\], by completing the square.
fn bound(rho: f64, scale: f64, confidence: f64) -> f64 {
    let spread = (2.0 * scale * scale * rho).ln_1p();
    let a = rho + 0.5 / (scale * scale);
    let needed = -confidence.ln() + 0.5 * spread + 1e-12;
    let ln_mixture = |b: f64| LN_2 + b * b / (4.0 * a) + normal_tail(-b / (2.0 * a).sqrt()).ln();
    // The probability is at least a half.
    let most = 2.0 * (a * needed).sqrt() * (1.0 + 1e-12);
    (rho + first(0.0, most, 43, |b| ln_mixture(b) >= needed)) * (1.0 + 1e-12)
}

#[cfg(test)]
mod tests {
    use hushtable_testkit::Dice;

    use super::*;
    use crate::{MuSquared, normal_quantile};

    fn odometer(delta: &str, rho: &str) -> Odometer {
        Odometer::new(delta.parse().unwrap(), rho.parse().unwrap()).unwrap()
    }

    fn gaussian(mu_squared: &str) -> Event {
        Event::Gaussian { mu_squared: mu_squared.parse().unwrap() }
    }

    #[test]
    fn it_is_near_what_a_fixed_rho_gives() {
        for (rho, delta) in [("0.01", "2e-6"), ("0.5", "2e-6"), ("0.5", "2e-10"), ("4", "2e-9")] {
            let mut odometer = odometer(delta, rho);
            assert_eq!(odometer.epsilon(), Some(Epsilon::ZERO));
            let rho: Rho = rho.parse().unwrap();
            odometer.record(&Event::from(Loss::concentrated(rho)), 1).unwrap();
            let got = odometer.epsilon().unwrap().to_f64();
            let (rho, delta) = (rho.to_f64(), 0.5 * delta.parse::<f64>().unwrap());
            // Bun & Steinke's Proposition 1.3, a tail bound at one time only.
            let fixed = rho + 2.0 * (rho * -delta.ln()).sqrt();
            assert!(got > fixed && got < 1.15 * fixed, "{rho} {delta}: {got} {fixed}");
        }
    }

    /// One odometer for all budgets: that for a hundredth is near the best of each.
    #[test]
    fn it_is_near_the_best_far_from_where_it_is_tightest() {
        for delta in ["2e-6", "2e-10"] {
            for rho in ["0.001", "0.1", "1", "10"] {
                let read = |near: &str| {
                    let mut odometer = odometer(delta, near);
                    let event = Event::from(Loss::concentrated(rho.parse().unwrap()));
                    odometer.record(&event, 1).unwrap();
                    odometer.epsilon().unwrap().to_f64()
                };
                let (one, best) = (read("0.01"), read(rho));
                assert!(one >= best && one < 1.1 * best, "{rho} {delta}: {one} {best}");
            }
        }
    }

    /// Someone watches the loss itself, and stops as soon as it is above the reading: that must not
    /// happen more often than half of the delta says.
    #[test]
    fn the_reading_holds_at_all_times() {
        let mut dice = Dice::new(7);
        let mut normal = || normal_quantile(dice.uniform());
        let (runs, steps) = (4000, 60);
        let mut step = odometer("0.1", "0.3");
        let readings: Vec<f64> = (0..steps)
            .map(|_| {
                step.record(&gaussian("0.04"), 1).unwrap();
                step.epsilon().unwrap().to_f64()
            })
            .collect();
        let mut above = 0;
        for _ in 0..runs {
            // A Gaussian event's loss is normal with mean mu^2/2 and variance mu^2.
            let mut loss = 0.0;
            if readings.iter().any(|reading| {
                loss += 0.02 + 0.2 * normal();
                loss > *reading
            }) {
                above += 1;
            }
        }
        let rate = f64::from(above) / f64::from(runs);
        assert!(rate < 0.05, "{rate}");
        assert!(rate > 0.005, "the bound is far from what it bounds: {rate}");
    }

    /// An (epsilon, delta)-DP mechanism that loses more than epsilon with probability 1/2: an
    /// output that P gives half of the time, and Q with e^-epsilon (1/2 - delta). The consequence
    /// for outputs holds.
    #[test]
    fn outputs_may_lose_more_than_their_view_but_by_little() {
        let (epsilon, delta) = (0.5f64, 0.01f64);
        let p = [0.5, 0.5];
        let q = [(-epsilon).exp() * (0.5 - delta), 1.0 - (-epsilon).exp() * (0.5 - delta)];
        let divergence = |a: [f64; 2], b: [f64; 2]| -> f64 {
            a.iter().zip(b).map(|(a, b)| (a - epsilon.exp() * b).max(0.0)).sum()
        };
        assert!((divergence(p, q) - delta).abs() < 1e-12 && divergence(q, p) < delta);
        let mut odometer = odometer("0.02", "0.1");
        let event = Event::Approximate {
            epsilon: Epsilon::from_f64(epsilon).unwrap(),
            delta: Delta::from_f64(delta).unwrap(),
        };
        odometer.record(&event, 1).unwrap();
        let reading = odometer.epsilon().unwrap().to_f64();
        assert_eq!(reading, epsilon);
        // The loss is above the reading half of the time, which the odometer's delta does not
        // allow,
        let excess = (p[0] / q[0]).ln() - reading;
        assert!(excess > 0.0 && p[0] > 0.02);
        // and above it by so little that delta/(1 - e^-excess) does.
        assert!(p[0] <= 0.02 / -(-excess).exp_m1());
    }

    #[test]
    fn few_small_epsilons_just_add_up() {
        let mut odometer = odometer("2e-7", "0.1");
        let (epsilon, delta) = ("0.1".parse().unwrap(), "1e-8".parse().unwrap());
        odometer.record(&Event::Approximate { epsilon, delta }, 10).unwrap();
        assert_eq!(odometer.epsilon(), "1".parse().ok());
        let before = odometer;
        assert_eq!(
            odometer.record(&Event::Approximate { epsilon, delta }, 1),
            Err(OdometerError::Delta)
        );
        assert_eq!(odometer, before);
        odometer.record(&Event::DiscreteLaplace { epsilon }, 10_000).unwrap();
        assert!(odometer.epsilon().unwrap().to_f64() < 150.0);
        odometer.record(&gaussian("0.01"), 1).unwrap();
        let huge =
            Event::Gaussian { mu_squared: MuSquared::from("1000000".parse::<Rho>().unwrap()) };
        assert_eq!(odometer.record(&huge, 1), Err(OdometerError::TooLarge));
        assert_eq!(Odometer::new(Delta::ZERO, Rho::ZERO), Err(OdometerError::Confidence));
    }
}
