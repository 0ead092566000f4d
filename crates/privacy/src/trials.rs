//! Repeated trials: bounds on a probability, and on a privacy loss from two of them.

use hushtable_numbers::search::{TO_THE_LAST_BIT, last};

/// Relative error that binomial tails stay under, for up to 2^27 trials.
const MARGIN: f64 = 1e-5;

/// A lower bound of a probability from `successes` in `trials` (at most 2^27): the chance that it
/// lies above the probability is at most `error`, whatever that is (Clopper & Pearson 1934).
/// Rounded down; zero without any success.
pub fn probability_at_least(successes: u64, trials: u64, error: f64) -> f64 {
    if successes == 0 || successes > trials {
        return 0.0;
    }
    // P[X >= successes] under p, which grows with p: I_p(successes, trials - successes + 1).
    let (a, b) = (successes as f64, (trials - successes) as f64 + 1.0);
    let small = |p: f64| incomplete_beta(a, b, p) * (1.0 + MARGIN) <= error;
    last(0.0, a / trials as f64, TO_THE_LAST_BIT, small)
}

/// An upper bound of a probability, as [`probability_at_least`] is a lower one. Rounded up; one
/// where every trial was a success.
pub fn probability_at_most(successes: u64, trials: u64, error: f64) -> f64 {
    let failures = trials.saturating_sub(successes);
    (1.0 - probability_at_least(failures, trials, error) + f64::EPSILON).min(1.0)
}

/// The least epsilon of any (epsilon, `delta`)-differentially private mechanism under which an
/// event has a probability of at least `low` on one table and at most `high` on a neighbouring one
/// (Kairouz, Oh & Viswanath 2015, hypothesis testing): ln((low - delta) / high), never below zero,
/// and infinite where `high` is zero and `low` above delta.
pub fn epsilon_at_least(low: f64, high: f64, delta: f64) -> f64 {
    let beyond = low - delta;
    if beyond > 0.0 { (beyond / high).ln().max(0.0) } else { 0.0 }
}

/// The regularised incomplete beta function I_x(a, b), for a and b of 1 or more.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let ln_front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (-x).ln_1p();
    let front = ln_front.exp();
    // The fraction converges fast on this side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    // It needs about the root of a or b terms.
    for term in 1..100_000 {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for step in [even, odd] {
            d = 1.0 / away(1.0 + step * d);
            c = away(1.0 + step / c);
            change = c * d;
            result *= change;
        }
        if (change - 1.0).abs() < 1e-14 {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clopper_pearson_bounds_are_the_known_ones() {
        // Two-sided 95 % intervals, as printed by R's binom.test.
        for (successes, trials, low, high) in [
            (8, 10, 0.443_904_5, 0.974_789_3),
            (1, 10, 0.002_528_579, 0.445_016_1),
            (5, 10, 0.187_086_0, 0.812_914_0),
            (0, 10, 0.0, 0.308_497_1),
        ] {
            let got = probability_at_least(successes, trials, 0.025);
            assert!((got - low).abs() < 3e-6, "{successes} of {trials}: {got}");
            let got = probability_at_most(successes, trials, 0.025);
            assert!((got - high).abs() < 3e-6, "{successes} of {trials}: {got}");
        }
        // In closed form where all trials end alike.
        for trials in [1u64, 30, 100_000, 100_000_000] {
            let root = (0.001f64.ln() / trials as f64).exp();
            let got = probability_at_least(trials, trials, 0.001);
            assert!(got <= root && root - got <= 2e-5 / trials as f64 + 1e-15, "{trials}: {got}");
            assert_eq!(probability_at_most(trials, trials, 0.001), 1.0);
            assert_eq!(probability_at_least(0, trials, 0.001), 0.0);
        }
    }

    /// Summed over all outcomes, the chance of a bound on the wrong side is at most the error, and
    /// near to it for some probability.
    #[test]
    fn bounds_err_no_more_often_than_stated() {
        let (trials, error) = (40u64, 0.01);
        let bounds: Vec<f64> =
            (0..=trials).map(|k| probability_at_least(k, trials, error)).collect();
        let mut worst = 0.0f64;
        for step in 1..400 {
            let p = f64::from(step) / 400.0;
            let mut mass = (1.0 - p).powi(40);
            let mut wrong = 0.0;
            for (k, &bound) in bounds.iter().enumerate() {
                if bound > p {
                    wrong += mass;
                }
                mass *= (40 - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
            }
            assert!(wrong <= error * (1.0 + 1e-9), "{p}: {wrong}");
            worst = worst.max(wrong);
        }
        assert!(worst > 0.9 * error, "{worst}");
    }

    #[test]
    fn many_trials_give_the_normal_interval() {
        // 3.0902 standard deviations of 1/(2 root n), less what is of the order of 1/n.
        let trials = 100_000_000u64;
        let got = probability_at_least(trials / 2, trials, 0.001);
        assert!((got - (0.5 - 3.090_232 * 0.5e-4)).abs() < 2e-8, "{got}");
    }

    #[test]
    fn epsilon_is_that_of_the_region() {
        assert!((epsilon_at_least(0.5, 0.25, 0.0) - 2f64.ln()).abs() < 1e-15);
        assert!((epsilon_at_least(0.5, 0.1, 0.3) - 2f64.ln()).abs() < 1e-15);
        assert_eq!(epsilon_at_least(0.1, 0.2, 0.0), 0.0);
        assert_eq!(epsilon_at_least(1e-6, 0.0, 1e-5), 0.0);
        assert_eq!(epsilon_at_least(0.1, 0.0, 1e-5), f64::INFINITY);
        // Randomised response is epsilon-DP, and shows it.
        let truth = 1f64.exp() / (1.0 + 1f64.exp());
        assert!((epsilon_at_least(truth, 1.0 - truth, 0.0) - 1.0).abs() < 1e-15);
    }
}
