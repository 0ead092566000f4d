//! Conversions from rho to epsilon and delta.

use hushtable_numbers::search::{TO_THE_LAST_BIT, first, last_whole, valley};

use crate::{Delta, Epsilon, Rho};

/// ln delta at `epsilon` and order `alpha` for `rho`-zCDP (Canonne, Kamath & Steinke 2020,
/// Proposition 12): (a-1)(a rho - eps) - ln(a-1) + a ln(1 - 1/a).
fn ln_delta(rho: f64, epsilon: f64, alpha: f64) -> f64 {
    let above = alpha - 1.0;
    above * (alpha * rho - epsilon) - above.ln() + alpha * (-1.0 / alpha).ln_1p()
}

/// The least delta, rounded up, such that `rho`-zCDP implies (`epsilon`, delta)-differential
/// privacy by Canonne, Kamath & Steinke 2020, Proposition 12.
///
/// Any order alpha > 1 gives a valid delta, so the search for the best one need not be exact.
pub fn zcdp_delta_at(rho: f64, epsilon: f64) -> f64 {
    if rho <= 0.0 {
        return 0.0;
    }
    // In terms of ln(alpha - 1) the exponent has one valley.
    let at = |x: f64| ln_delta(rho, epsilon, 1.0 + x.exp());
    let best = at(valley(-40.0, 40.0, at));
    // Never nothing, however small: some delta is lost at every epsilon.
    (best + 1e-11 * (1.0 + best.abs())).exp().clamp(f64::MIN_POSITIVE, 1.0)
}

/// The least epsilon, rounded up, such that `rho`-zCDP implies (epsilon, `delta`)-differential
/// privacy by the same proposition. `delta` in (0, 1); infinite when `delta` is zero.
pub fn zcdp_epsilon_at(rho: f64, delta: f64) -> f64 {
    if rho <= 0.0 {
        return 0.0;
    }
    if delta <= 0.0 {
        return f64::INFINITY;
    }
    // Bun & Steinke's rho + 2 sqrt(rho ln(1/delta)) is a valid upper end.
    let most = rho + 2.0 * (rho * -delta.ln()).sqrt() + 1e-9;
    first(0.0, most, TO_THE_LAST_BIT, |epsilon| zcdp_delta_at(rho, epsilon) <= delta)
}

/// The largest rho, of those that a contract can hold, such that rho-zCDP implies (`epsilon`,
/// `delta`)-differential privacy by the same proposition; zero where there is none.
pub fn zcdp_rho_within(epsilon: Epsilon, delta: Delta) -> Rho {
    let (e, d) = (epsilon.to_f64(), delta.to_f64());
    // A delta too small for a double is not zero, and only rho = 0 fits into zero.
    let fits = |rho: Rho| d > 0.0 && zcdp_delta_at(rho.to_f64(), e) <= d;
    // Above the largest rho: it is refused, and so it does not fit.
    let above = 1_000_001 * Rho::units_per_one();
    Rho::raw(last_whole(0, above, |units| Rho::from_units(units).is_ok_and(fits)))
}

#[cfg(test)]
mod tests {
    use hushtable_testkit::{Vectors, number};

    use super::*;
    use crate::{gaussian_epsilon_at, normal_tail};

    #[test]
    fn never_below_the_vectors_and_close_to_them() {
        let rows = Vectors::Accounting.section("zcdp_to_approx");
        assert!(rows.len() > 5);
        for row in rows {
            let (rho, delta) = (number(&row["rho"]), number(&row["delta"]));
            let want = number(&row["epsilon_any_zcdp"]);
            let got = zcdp_epsilon_at(rho, delta);
            assert!(got >= want * (1.0 - 1e-15), "{rho} {delta}: {got} < {want}");
            assert!(got <= want * (1.0 + 1e-6), "{rho} {delta}: {got} > {want}");
            // The Gaussian's own epsilon is smaller, and known exactly.
            let want = number(&row["epsilon_gaussian"]);
            let got = gaussian_epsilon_at((2.0 * rho).sqrt(), delta);
            assert!(got >= want * (1.0 - 1e-15), "{rho} {delta}: {got} < {want}");
            assert!(got <= want * (1.0 + 1e-9), "{rho} {delta}: {got} > {want}");
        }
    }

    #[test]
    fn edges() {
        assert_eq!(zcdp_delta_at(0.0, 1.0), 0.0);
        assert_eq!(zcdp_epsilon_at(0.5, 0.0), f64::INFINITY);
        assert!(zcdp_delta_at(0.5, 0.0) <= 1.0);
        assert!(normal_tail(0.0) == 0.5);
    }
}
