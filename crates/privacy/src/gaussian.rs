//! The normal law, and exact Gaussian differential privacy.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use hushtable_numbers::search::{TO_THE_LAST_BIT, last};

/// Relative error that the functions of this module stay under; what must round one way is moved
/// by this much.
pub(crate) const MARGIN: f64 = 1e-11;

/// P\[N <= x\] for a standard normal N.
pub fn normal_cdf(x: f64) -> f64 {
    normal_tail(-x)
}

/// P\[N >= x\] for a standard normal N, to about 1e-13 relative down to the smallest floats.
pub fn normal_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// The largest x (within 1e-12 relative) with P\[N >= x\] at or above `tail`: an upper quantile
/// that errs on the low side. `tail` in (0, 1); outside, infinite.
pub fn normal_quantile(tail: f64) -> f64 {
    if tail <= 0.0 {
        return f64::INFINITY;
    }
    if tail >= 1.0 {
        return f64::NEG_INFINITY;
    }
    last(-40.0, 40.0, TO_THE_LAST_BIT, |x| normal_tail(x) >= tail)
}

/// P\[N >= x\] / density(x): the Mills ratio, decreasing in x.
fn mills(x: f64) -> f64 {
    if x < 25.0 {
        return normal_tail(x) * (2.0 * PI).sqrt() * (0.5 * x * x).exp();
    }
    // Laplace's continued fraction 1/(x+ 1/(x+ 2/(x+ ...))): at x >= 25, 30 terms are exact in f64.
    let mut below = x;
    for term in (1..=30).rev() {
        below = x + f64::from(term) / below;
    }
    1.0 / below
}

/// delta at `epsilon` of a Gaussian event with `mu` = sensitivity / sigma, exactly (Balle & Wang
/// 2018, Theorem 8; theory section 5): Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).
///
/// `epsilon` >= 0, `mu` >= 0. Rounded up. Gaussian events compose by adding mu^2.
pub fn gaussian_delta(mu: f64, epsilon: f64) -> f64 {
    if mu <= 0.0 {
        return 0.0;
    }
    if mu < 1e-6 {
        // The ratios are too close to be subtracted. Mills' ratio is convex with slope x M(x) - 1,
        // so the difference is at most mu times the slope at the nearer point.
        let near = epsilon / mu - 0.5 * mu;
        let slope = (1.0 - near * mills(near)).max(0.0);
        let density = (-0.5 * near * near).exp() / (2.0 * PI).sqrt();
        let delta = density * mu * slope * (1.0 + MARGIN + 1e-13 * (1.0 + near * near));
        return delta.clamp(f64::MIN_POSITIVE, 1.0);
    }
    let near = epsilon / mu - 0.5 * mu;
    let far = epsilon / mu + 0.5 * mu;
    let delta = if near < -25.0 {
        // The density at `near` underflows, and the subtrahend is negligible beside one.
        normal_tail(near)
    } else {
        // e^eps density(far) = density(near), so the two terms share a factor, and their
        // difference is taken between Mills ratios, where it does not cancel away.
        let density = (-0.5 * near * near).exp() / (2.0 * PI).sqrt();
        density * (mills(near) - mills(far))
    };
    // The ratios differ by about mu in a slope of 1 / (1 + x^2), so their errors of some 1e-16
    // times x^2 (from the exponential) count by (1 + x^2) / mu.
    let amplified = (1.0 + near * near) / mu;
    (delta * (1.0 + MARGIN + 1e-12 * amplified)).min(1.0)
}

/// The largest mu (rounded down) whose Gaussian event is (`epsilon`, `delta`)-differentially
/// private: the analytic Gaussian mechanism, sigma = sensitivity / mu. Zero if there is none.
pub fn analytic_gaussian_mu(epsilon: f64, delta: f64) -> f64 {
    let mu = last(0.0, 1e4, TO_THE_LAST_BIT, |mu| gaussian_delta(mu, epsilon) <= delta);
    mu * (1.0 - MARGIN)
}

/// The least epsilon (rounded up) such that a Gaussian event with `mu` is (epsilon,
/// `delta`)-differentially private. Infinite when `delta` is not above zero.
pub fn gaussian_epsilon_at(mu: f64, delta: f64) -> f64 {
    if delta <= 0.0 {
        return f64::INFINITY;
    }
    if gaussian_delta(mu, 0.0) <= delta {
        return 0.0;
    }
    // At epsilon = mu^2/2 + 39 mu the tail is below the smallest float.
    let most = 0.5 * mu * mu + 39.0 * mu;
    let epsilon = last(0.0, most, TO_THE_LAST_BIT, |e| gaussian_delta(mu, e) > delta);
    epsilon * (1.0 + MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // Printed in theory section 5: sigma^2 = 1, eps = 1.
        assert!((gaussian_delta(1.0, 1.0) - 0.126_936_737_506).abs() < 1e-9);
        assert!((normal_tail(1.959_963_984_540_054) - 0.025).abs() < 1e-15);
        assert!((normal_quantile(0.025) - 1.959_963_984_540_054).abs() < 1e-12);
        assert!(normal_tail(normal_quantile(1e-300)) >= 1e-300);
    }

    #[test]
    fn mills_pieces_meet() {
        let (below, above) = (mills(25.0 - 1e-9), mills(25.0));
        assert!((below / above - 1.0).abs() < 1e-10);
    }

    #[test]
    fn the_two_forms_of_delta_agree() {
        for mu in [0.3, 1.0, 4.0, 30.0] {
            for epsilon in [0.0, 0.5, 2.0] {
                let plain = normal_cdf(mu / 2.0 - epsilon / mu)
                    - epsilon.exp() * normal_cdf(-mu / 2.0 - epsilon / mu);
                let got = gaussian_delta(mu, epsilon);
                assert!(
                    got >= plain - 1e-15 && got <= plain * (1.0 + 1e-9) + 1e-14,
                    "{mu} {epsilon}"
                );
            }
        }
    }

    /// At epsilon = 0 the exact value is 2 Phi(mu/2) - 1, about mu / sqrt(2 pi).
    #[test]
    fn a_tiny_mu_is_not_rounded_to_nothing() {
        for mu in [1e-42, 1e-20, 1e-13, 1e-9, 1e-7, 1e-6, 1e-5] {
            let exact = mu / (2.0 * PI).sqrt();
            let got = gaussian_delta(mu, 0.0);
            assert!(got >= exact * (1.0 - 1e-11) && got <= exact * 1.000_01, "{mu}: {got}");
        }
        assert!(gaussian_delta(1e-9, 1.0) > 0.0);
    }

    #[test]
    fn epsilon_and_delta_are_inverse() {
        // Printed in theory section 2: rho = 0.5, delta = 1e-6 gives epsilon 4.887.
        assert!((gaussian_epsilon_at(1.0, 1e-6) - 4.887).abs() < 5e-4);
        for mu in [0.01, 1.0, 20.0] {
            for delta in [1e-12, 1e-5, 0.1] {
                let epsilon = gaussian_epsilon_at(mu, delta);
                assert!(gaussian_delta(mu, epsilon) <= delta);
                assert!(epsilon == 0.0 || gaussian_delta(mu, epsilon * (1.0 - 1e-6)) > delta);
            }
        }
    }

    #[test]
    fn the_analytic_mechanism_keeps_its_promise() {
        for epsilon in [0.01, 1.0, 10.0] {
            for delta in [1e-12, 1e-5, 0.1] {
                let mu = analytic_gaussian_mu(epsilon, delta);
                assert!(mu > 0.0 && gaussian_delta(mu, epsilon) <= delta);
                assert!(gaussian_delta(mu * 1.000_001, epsilon) > delta);
            }
        }
    }
}
