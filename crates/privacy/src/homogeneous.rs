//! Optimal composition of several mechanisms with the same epsilon and delta.

use hushtable_numbers::search::last;

use crate::{Delta, Epsilon};

/// Most mechanisms for which the sum over their joint losses is computed.
const MOST: u64 = 10_000;

/// Relative error that the sum of [`MOST`] terms in logarithms stays under.
const MARGIN: f64 = 1e-8;

/// The delta at `epsilon` of `copies` epsilon0-differentially private mechanisms together (Kairouz,
/// Oh & Viswanath 2015, Theorem 3.3, at any epsilon): each is at worst a randomised response with
/// losses +-epsilon0, so this is the sum over l of C(k,l) p^(k-l) (1-p)^l (1 - e^(eps-(k-2l)eps0))
/// where that is positive, p = e^eps0/(1+e^eps0). Rounded up.
pub fn homogeneous_delta(epsilon0: f64, copies: u64, epsilon: f64) -> f64 {
    if epsilon0 <= 0.0 {
        return 0.0;
    }
    let k = copies as f64;
    // ln p and ln(1-p) without cancellation.
    let ln_high = -(-epsilon0).exp().ln_1p();
    let ln_low = ln_high - epsilon0;
    // Those below have a loss above epsilon.
    let end = (0.5 * (k - epsilon / epsilon0)).ceil().clamp(0.0, k + 1.0) as u64;
    let Some(last) = end.checked_sub(1) else { return 0.0 };
    // From the term with the most weight on, weights fall in both directions.
    let top = last.min(((k + 1.0) * ln_low.exp()) as u64);
    let ln_choose =
        libm::lgamma(k + 1.0) - libm::lgamma(top as f64 + 1.0) - libm::lgamma(k - top as f64 + 1.0);
    let ln_top = ln_choose + (k - top as f64) * ln_high + top as f64 * ln_low;
    let term = |l: u64, ln_weight: f64| {
        let loss = (k - 2.0 * l as f64) * epsilon0;
        ln_weight.exp() * -(epsilon - loss).min(0.0).exp_m1()
    };
    let step = |l: f64| ((k - l) / (l + 1.0)).ln() + ln_low - ln_high;
    let mut delta = term(top, ln_top);
    // Terms that are left out have weights no larger than the last, and are too small to tell.
    let rest_counts = |delta: f64, ln_weight: f64| ln_weight.exp() * k > 1e-16 * delta;
    let mut ln_weight = ln_top;
    for l in (0..top).rev() {
        ln_weight -= step(l as f64);
        delta += term(l, ln_weight);
        if !rest_counts(delta, ln_weight) {
            break;
        }
    }
    ln_weight = ln_top;
    for l in top + 1..end {
        ln_weight += step(l as f64 - 1.0);
        delta += term(l, ln_weight);
        if !rest_counts(delta, ln_weight) {
            break;
        }
    }
    (delta * (1.0 + MARGIN)).min(1.0)
}

/// (epsilon0, delta0) such that `copies` mechanisms with them are (`epsilon`,
/// `delta`)-differentially private together, when the share `spent_on_delta0` (above 0, at most 1)
/// of delta goes to their own deltas and the rest buys a larger epsilon0. Rounded down; equal
/// shares where nothing larger fits, or with more than 10,000 copies.
pub fn homogeneous_shares(
    epsilon: Epsilon,
    delta: Delta,
    copies: u64,
    spent_on_delta0: f64,
) -> (Epsilon, Delta) {
    let equal = (epsilon.share(copies), delta.share(copies));
    if copies <= 1 || copies > MOST || spent_on_delta0 >= 1.0 {
        return equal;
    }
    let whole = delta.to_f64();
    let Ok(delta0) = Delta::from_f64_down(whole * spent_on_delta0 / copies as f64) else {
        return equal;
    };
    // 1 - (1-delta0)^copies (1-rest) = delta.
    let ln_intact = copies as f64 * (-delta0.to_f64()).ln_1p();
    let rest = -((-whole).ln_1p() - ln_intact).exp_m1() * (1.0 - MARGIN);
    let target = epsilon.to_f64();
    let fits = |epsilon0: f64| homogeneous_delta(epsilon0, copies, target) <= rest;
    match Epsilon::from_f64_down(last(equal.0.to_f64(), target, 60, fits)) {
        Ok(epsilon0) if epsilon0 > equal.0 => (epsilon0, delta0),
        _ => equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hockey-stick divergence of `copies` randomised responses, outcome by outcome.
    fn brute(epsilon0: f64, copies: u32, epsilon: f64) -> f64 {
        let p = epsilon0.exp() / (1.0 + epsilon0.exp());
        (0..1u32 << copies)
            .map(|outcome| {
                let ones = outcome.count_ones() as i32;
                let zeros = copies as i32 - ones;
                let a = p.powi(ones) * (1.0 - p).powi(zeros);
                let b = (1.0 - p).powi(ones) * p.powi(zeros);
                (a - epsilon.exp() * b).max(0.0)
            })
            .sum()
    }

    #[test]
    fn the_sum_is_the_divergence_of_randomised_responses() {
        for copies in 1..=12 {
            for epsilon0 in [0.01, 0.3, 1.0, 3.0] {
                for fraction in [0.0, 0.2, 0.5, 0.9, 1.0] {
                    let epsilon = fraction * epsilon0 * f64::from(copies);
                    let want = brute(epsilon0, copies, epsilon);
                    let got = homogeneous_delta(epsilon0, u64::from(copies), epsilon);
                    // The sum over outcomes itself errs by about 1e-13.
                    assert!(got >= want - 1e-12, "{copies} {epsilon0} {epsilon}: {got} < {want}");
                    assert!(got <= want * (1.0 + 1e-6) + 1e-12, "{copies} {epsilon0} {epsilon}");
                }
            }
        }
    }

    /// Many copies: the sum over all terms, one by one.
    #[test]
    fn terms_that_are_left_out_are_too_small_to_tell() {
        for copies in [50u64, 1000, 10_000] {
            for epsilon0 in [1e-6, 1e-3, 0.02, 1.0, 30.0] {
                for fraction in [0.0, 0.01, 0.1, 0.5, 0.99] {
                    let k = copies as f64;
                    let epsilon = fraction * epsilon0 * k;
                    let (ln_high, mut want) = (-(-epsilon0).exp().ln_1p(), 0.0);
                    let mut ln_weight = k * ln_high;
                    for l in 0..=copies {
                        let loss = (k - 2.0 * l as f64) * epsilon0;
                        want += ln_weight.exp() * -(epsilon - loss).min(0.0).exp_m1();
                        ln_weight += ((k - l as f64) / (l as f64 + 1.0)).ln() - epsilon0;
                    }
                    let got = homogeneous_delta(epsilon0, copies, epsilon);
                    let case = format!("{copies} {epsilon0} {epsilon}: {got} {want}");
                    assert!(got >= want.min(1.0) * (1.0 - 1e-15) - 1e-300, "{case}");
                    assert!(got <= want * (1.0 + 3e-8) + 1e-300, "{case}");
                }
            }
        }
    }

    /// Theorem 3.3 as it is printed, at the epsilons of its grid.
    #[test]
    fn the_sum_is_the_printed_formula_on_its_grid() {
        let binomial =
            |n: u32, l: u32| (0..l).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
        for k in [2u32, 5, 10] {
            let e: f64 = 0.4;
            for i in 0..=k / 2 {
                let numerator: f64 = (0..i)
                    .map(|l| {
                        binomial(k, l)
                            * ((f64::from(k - l) * e).exp()
                                - (f64::from(k + l) * e - 2.0 * f64::from(i) * e).exp())
                    })
                    .sum();
                let want = numerator / (1.0 + e.exp()).powi(k as i32);
                let got = homogeneous_delta(e, u64::from(k), f64::from(k - 2 * i) * e);
                assert!((got - want).abs() <= 1e-7 * want + 1e-15, "{k} {i}: {got} {want}");
            }
        }
    }

    #[test]
    fn shares_keep_within_the_whole_and_are_never_less() {
        for (epsilon, delta) in [("1", "1e-5"), ("0.1", "1e-9"), ("10", "0.001")] {
            for copies in [1u64, 2, 10, 100, 3000] {
                for fraction in [0.1, 0.5, 0.9, 1.0] {
                    let (e, d): (Epsilon, Delta) =
                        (epsilon.parse().unwrap(), delta.parse().unwrap());
                    let (e0, d0) = homogeneous_shares(e, d, copies, fraction);
                    assert!(e0 >= e.share(copies));
                    let composed = homogeneous_delta(e0.to_f64(), copies, e.to_f64());
                    let ln_intact = copies as f64 * (-d0.to_f64()).ln_1p() + (-composed).ln_1p();
                    let total = -ln_intact.exp_m1();
                    assert!(
                        total <= d.to_f64() * (1.0 + 1e-7),
                        "{epsilon} {copies} {fraction}: {total}"
                    );
                }
            }
        }
        // For many copies it is much better: 0.0298 where equal shares have 0.01.
        let (e0, _) = homogeneous_shares("1".parse().unwrap(), "1e-5".parse().unwrap(), 100, 0.5);
        assert!(e0.to_f64() > 0.02, "{e0}");
    }
}
