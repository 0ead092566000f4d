//! Randomised responses of one epsilon: the law of their total loss in closed form.

use super::kinds::{ComposingEvents, ROUNDING, Responses};
use super::tilted::TiltedLaw;

/// Terms below this part of the largest are left out.
const SMALLEST: f64 = 1e-18;

/// A stretch of a binomial law.
#[derive(Clone, Debug)]
pub(crate) struct Binomial {
    /// Fewest of the less likely outcome in the stretch.
    pub(crate) first: u64,
    /// Probabilities from `first` on, rounded up.
    pub(crate) weights: Vec<f64>,
    /// Bound of the probability outside.
    pub(crate) left_out: f64,
}

impl Binomial {
    /// The number of less likely outcomes among `times`, each with odds e^`ln_odds` <= 1.
    ///
    /// From the most likely number outwards, each probability is the last one times a ratio, and
    /// all are divided by their sum. So there is no logarithm of a factorial, and the relative
    /// error is a few roundings per step: 6 of the ratio, and of its exponent.
    pub(crate) fn new(times: u64, ln_odds: f64) -> Self {
        let (n, odds) = (times as f64, ln_odds.exp());
        let mode = ((n + 1.0) * odds / (1.0 + odds)).floor().clamp(0.0, n);
        // Ratios fall outwards, so what is left out is below a geometric series.
        let rest = |term: f64, ratio: f64| term / (1.0 - ratio).max(1.0 / (n + 1.0));
        let mut below = vec![];
        let (mut term, mut l, mut left_out) = (1.0, mode, 0.0);
        while l > 0.0 && odds > 0.0 {
            let ratio = l / ((n - l + 1.0) * odds);
            term *= ratio;
            if term < SMALLEST {
                left_out += rest(term, ratio);
                break;
            }
            below.push(term);
            l -= 1.0;
        }
        let mut weights: Vec<f64> = below.into_iter().rev().collect();
        let first = mode as u64 - weights.len() as u64;
        weights.push(1.0);
        (term, l) = (1.0, mode);
        while l < n {
            let ratio = (n - l) * odds / (l + 1.0);
            term *= ratio;
            if term < SMALLEST {
                left_out += rest(term.max(f64::MIN_POSITIVE), ratio);
                break;
            }
            weights.push(term);
            l += 1.0;
        }
        let steps = weights.len() as f64;
        let sum: f64 = weights.iter().sum();
        let margin = 1.0 + 4.0 * ROUNDING * steps * (8.0 + ln_odds.abs());
        for weight in &mut weights {
            *weight *= margin / sum;
        }
        Self { first, weights, left_out: left_out * margin / sum }
    }
}

/// The law of responses of one epsilon at a tilt, exact except for rounding.
pub(crate) fn tilted(responses: Responses, events: &ComposingEvents, tilt: f64) -> TiltedLaw {
    let Responses { epsilon, times } = responses;
    let Binomial { first, mut weights, left_out } = Binomial::new(times, responses.ln_odds(tilt));
    // The fewest of the less likely outcome have the highest loss.
    weights.reverse();
    let last = first + weights.len() as u64 - 1;
    let lowest = (times as f64 - 2.0 * last as f64) * epsilon;
    TiltedLaw {
        tilt,
        ln_moment: times as f64 * responses.ln_moment(tilt),
        slack: events.slack(tilt),
        lowest,
        step: 2.0 * epsilon,
        loss_slack: 8.0 * ROUNDING * times as f64 * epsilon,
        weights,
        error: 0.0,
        left_out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_binomial_law() {
        for (times, odds) in [(1u64, 1.0), (7, 0.3), (30, 0.9), (60, 1e-3)] {
            let p: f64 = odds / (1.0 + odds);
            let got = Binomial::new(times, f64::ln(odds));
            let mut want = (1.0 - p).powi(i32::try_from(times).unwrap());
            for l in 0..=times {
                let index = l.checked_sub(got.first).and_then(|i| usize::try_from(i).ok());
                match index.and_then(|i| got.weights.get(i)) {
                    Some(weight) => assert!((weight / want - 1.0).abs() < 1e-12, "{times} {l}"),
                    None => assert!(want < got.left_out),
                }
                want *= (times - l) as f64 / (l + 1) as f64 * odds;
            }
        }
    }

    #[test]
    fn odds_of_nothing_leave_one_outcome() {
        let got = Binomial::new(1000, -800.0);
        assert_eq!((got.first, got.weights.len()), (0, 1));
    }
}
