//! Pure epsilons in rho, and back.

use hushtable_numbers::search::{TO_THE_LAST_BIT, last, last_whole};

use crate::{Epsilon, Rho};

/// Relative error that the functions of this module stay under.
const MARGIN: f64 = 1e-13;

/// Relative error of the second term of [`pure_rho`]: five roundings, and that of an exponent below
/// 40, above which the term is nothing.
const SHORT: f64 = 1e-14;

/// Binary places below the smallest unit.
const FRACTION: u32 = 20;

/// The loss in rho of an `epsilon`-differentially private mechanism, rounded up: epsilon
/// tanh(epsilon/2), which for small epsilon is epsilon^2/2 and never more.
///
/// *Proof.* The ratio r of two such laws is between e^-epsilon and e^epsilon, and has mean 1 under
/// the second. As r^a is convex, its mean is largest where r has its ends only: for a randomised
/// response (Kairouz, Oh & Viswanath 2015). Its Rényi divergence of order a is
/// `(ln cosh(x epsilon) - ln cosh(epsilon/2)) / (a - 1)` for x = a - 1/2. As x^2 - 1/4 = a (a - 1),
/// the divergence over a is the slope of psi(z) = ln cosh(epsilon sqrt z) between z = 1/4 and z =
/// x^2. psi is concave, since psi'(z) = epsilon tanh(epsilon sqrt z) / (2 sqrt z) falls; so the
/// slope is at most psi'(1/4) = epsilon tanh(epsilon/2). It is reached as a goes to 1.
pub fn pure_in_rho(epsilon: f64) -> f64 {
    epsilon * (0.5 * epsilon).tanh() * (1.0 + MARGIN)
}

/// The largest epsilon that loses no more than `rho` by [`pure_in_rho`], rounded down.
pub(crate) fn pure_of(rho: f64) -> f64 {
    // tanh x >= x / (1 + x), so epsilon tanh(epsilon/2) >= rho at epsilon = rho + sqrt(2 rho) + 1.
    let most = rho + (2.0 * rho).sqrt() + 1.0;
    last(0.0, most, TO_THE_LAST_BIT, |epsilon| pure_in_rho(epsilon) <= rho)
}

/// [`pure_in_rho`] as a decimal, rounded up.
///
/// It is the lesser of two bounds, each a whole number of smallest units that is never below the
/// true value: epsilon^2/2, exactly, and epsilon - 2 epsilon/(e^epsilon + 1), of which only the
/// second term is computed in floating point. That term is below 0.56, so its error is far below a
/// smallest unit.
pub fn pure_rho(epsilon: Epsilon) -> Rho {
    let units = u128::from(epsilon.units());
    let square = (units * units).div_ceil(2 * u128::from(Epsilon::units_per_one()));
    let less = epsilon.units().saturating_sub((shortfall(epsilon) >> FRACTION) as u64);
    // Both amounts have the same largest one.
    Rho::raw(u64::try_from(square).map_or(less, |square| square.min(less)))
}

/// The largest epsilon of which `copies` mechanisms together lose no more than `rho`, as a decimal
/// that is never too large: it passes the comparison of [`pure_rho`], before that rounds up.
pub fn pure_epsilon(rho: Rho, copies: u64) -> Epsilon {
    let (copies, left) = (u128::from(copies.max(1)), u128::from(rho.units()));
    let one = u128::from(Epsilon::units_per_one());
    let fits = |epsilon: Epsilon| {
        let units = u128::from(epsilon.units());
        // At most 10^36 times copies.
        let square = (units * units).checked_mul(copies).is_some_and(|all| all <= 2 * one * left);
        let less = (units << FRACTION).saturating_sub(shortfall(epsilon));
        square || less.checked_mul(copies).is_some_and(|all| all <= left << FRACTION)
    };
    // Above the largest epsilon: it is refused, and so it does not fit.
    let above = 1_000_001 * Epsilon::units_per_one();
    Epsilon::raw(last_whole(0, above, |units| Epsilon::from_units(units).is_ok_and(fits)))
}

/// epsilon - epsilon tanh(epsilon/2) = 2 epsilon/(e^epsilon + 1), rounded down, in 2^-[`FRACTION`]
/// of a smallest unit.
fn shortfall(epsilon: Epsilon) -> u128 {
    let epsilon = epsilon.to_f64();
    let short = 2.0 * epsilon / (epsilon.exp() + 1.0) * (1.0 - SHORT);
    (short * Epsilon::units_per_one() as f64 * f64::from(1u32 << FRACTION)) as u128
}

/// The epsilon of Laplace noise of that scale on a sum of that sensitivity, rounded up; both are
/// positive, and their quotient is a normal double.
pub fn laplace_epsilon(sensitivity: f64, scale: f64) -> f64 {
    let nearest = sensitivity / scale;
    if nearest.mul_add(scale, -sensitivity) < 0.0 { nearest.next_up() } else { nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_up() {
        assert_eq!(laplace_epsilon(1.0, 4.0), 0.25);
        assert_eq!(laplace_epsilon(3.0, 1.0), 3.0);
        for (a, b) in [(1.0, 3.0), (1.0, 0.1), (7.0, 11.0), (1e-12, 1e30), (1e15, 0.01)] {
            let up = laplace_epsilon(a, b);
            assert!(up.mul_add(b, -a) >= 0.0 && up.next_down().mul_add(b, -a) < 0.0, "{a} {b}");
        }
    }

    /// epsilon and the first units of epsilon tanh(epsilon/2), cut off, by 60-digit arithmetic.
    const KNOWN: [(&str, u64); 21] = [
        ("1e-12", 0),
        ("1e-7", 0),
        ("0.000003", 4),
        ("0.0001", 4_999),
        ("0.01", 49_999_583),
        ("0.1", 4_995_837_495),
        ("0.123456789012", 7_611_124_701),
        ("0.5", 122_459_331_201),
        ("1", 462_117_157_260),
        ("1.043626895591", 499_999_999_999),
        ("2", 1_523_188_311_911),
        ("3.3", 3_065_230_150_800),
        ("4", 3_856_110_320_303),
        ("8.005340595359", 7_999_999_999_999),
        ("16", 15_999_996_398_874),
        ("27.5", 27_499_999_999_937),
        ("31.7", 31_699_999_999_998),
        ("33.000000000001", 33_000_000_000_000),
        ("40", 39_999_999_999_999),
        ("1000.5", 1_000_499_999_999_999),
        ("123456.789012345678", 123_456_789_012_345_677),
    ];

    /// Never below the true value, and a smallest unit above at most.
    #[test]
    fn pure_decimals_in_rho_are_rounded_up() {
        for (text, cut) in KNOWN {
            let got = pure_rho(text.parse().unwrap()).units();
            assert!(got > cut && got <= cut + 2, "{text}: {got} {cut}");
        }
        assert_eq!(pure_rho(Epsilon::ZERO), Rho::ZERO);
        // Two units squared and halved are one unit: nothing is added for rounding.
        assert_eq!(pure_rho("0.000002".parse().unwrap()), "2e-12".parse().unwrap());
        // Beyond doubt: the difference to epsilon is far below a unit.
        assert_eq!(pure_rho("1000000".parse().unwrap()), "1000000".parse().unwrap());
    }

    /// There and back: the largest decimal that fits, and not the next.
    #[test]
    fn the_largest_epsilon_fits_and_the_next_does_not() {
        for text in ["1e-12", "1e-9", "0.005", "0.125", "0.5", "1", "8", "40", "123456", "999999"] {
            let rho: Rho = text.parse().unwrap();
            let most = pure_epsilon(rho, 1);
            assert!(pure_rho(most) <= rho, "{text}");
            let next = Epsilon::from_units(most.units() + 1).unwrap();
            assert!(pure_rho(next) > rho, "{text}");
            // Several, in floating point.
            for copies in [2u64, 7, 1000, 1_000_000_000] {
                let each = pure_epsilon(rho, copies).to_f64();
                let all = copies as f64 * pure_in_rho(each);
                assert!(all <= rho.to_f64() * (1.0 + 1e-12), "{text} {copies}: {all}");
                let more = copies as f64 * pure_in_rho(each * (1.0 + 1e-9) + 2e-12);
                assert!(more > rho.to_f64(), "{text} {copies}: {more}");
            }
        }
        assert_eq!(pure_epsilon("1000000".parse().unwrap(), 1).to_string(), "1000000");
        assert_eq!(pure_epsilon(Rho::ZERO, 5), Epsilon::ZERO);
    }

    /// A budget of rho = 8 pays for a pure epsilon of 8, where epsilon^2/2 pays for 4.
    #[test]
    fn large_budgets_pay_for_twice_the_epsilon() {
        let most = pure_epsilon("8".parse().unwrap(), 1);
        assert_eq!(most.to_string(), "8.005340595359");
    }

    /// Against the Rényi divergences of a randomised response, the worst of all pairs.
    #[test]
    fn pure_losses_in_rho_are_above_every_order_and_reached() {
        for epsilon in [0.01f64, 0.3, 1.0, 3.0, 10.0] {
            let rho = pure_in_rho(epsilon);
            assert!(rho <= 0.5 * epsilon * epsilon * (1.0 + 1e-12));
            let p = 1.0 / (1.0 + (-epsilon).exp());
            let q = 1.0 - p;
            let mut most = 0.0f64;
            for order in [1.001, 1.1, 1.5, 2.0, 5.0, 20.0, 60.0] {
                let (a, b) = (order, 1.0 - order);
                let sum = p.powf(a) * q.powf(b) + q.powf(a) * p.powf(b);
                most = most.max(sum.ln() / (order - 1.0) / order);
            }
            assert!(most <= rho * (1.0 + 1e-9), "{epsilon}: {most} {rho}");
            assert!(most >= rho * 0.99, "{epsilon}: {most} {rho}");
            let back = pure_of(rho);
            assert!(pure_in_rho(back) <= rho && (back / epsilon - 1.0).abs() < 1e-9);
        }
    }
}
