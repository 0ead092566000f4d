//! How the loss of a record grows with its value, where sums are not clamped.
//!
//! Finley et al., "Slowly Scaling Per-Record Differential Privacy" (2024, arXiv 2409.18118), name
//! three ways to release a sum S whose loss grows more slowly than the (q/T)^2 of Gaussian noise:
//! Gaussian noise on ln(1 + S/a), Gaussian noise on sqrt(1 + S/a), and additive
//! exponential-polylogarithmic noise. Each is calibrated so that a record at the threshold T loses
//! the rho of its sum.
//!
//! A concave f with f(0) = 0 moves by at most f(|v|) for a record of value v, and two lattice steps
//! more, as f is rounded. The additive noise's formula holds for an offset of e or more only.
//! Proofs: `theorems/per-record.md#sums-whose-loss-grows-slowly`.

use serde::{Deserialize, Serialize};

use crate::Rho;
use crate::pure::{pure_in_rho, pure_of};

/// Relative error that the functions of this module stay under.
const MARGIN: f64 = 1e-13;

/// The step of the lattice to which a transformed sum is rounded: 2^-52, in units of log2 or of the
/// root.
const STEP: f64 = f64::EPSILON;

/// The loss of a record as a function of its value, by how its sum is released. All numbers are in
/// the unit of the value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mechanism", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LossCurve {
    /// Gaussian noise: (q/deviation)^2 / 2.
    Gaussian {
        /// The noise's standard deviation.
        deviation: f64,
    },
    /// Gaussian noise on ln(1 + S/offset): ((ln(1 + q/offset) + 2^-51 ln 2) / deviation)^2 / 2.
    Log {
        /// The offset a.
        offset: f64,
        /// The noise's standard deviation, of the logarithm.
        deviation: f64,
    },
    /// Gaussian noise on sqrt(1 + S/offset): ((sqrt(1 + q/offset) - 1 + 2^-51) / deviation)^2 / 2.
    Sqrt {
        /// The offset a.
        offset: f64,
        /// The noise's standard deviation, of the root.
        deviation: f64,
    },
    /// Noise of probability e^(-shape ln^2(|x|/scale + offset)): epsilon tanh(epsilon/2) for
    /// epsilon = shape (ln^2(q/scale + offset) - ln^2 offset).
    ExponentialPolylogarithmic {
        /// d.
        shape: f64,
        /// a, at least e.
        offset: f64,
        /// s, in the unit of the value.
        scale: f64,
    },
}

/// A parameter that gives no policy.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{name} = {value} is not valid: it must be {range}")]
pub struct LossCurveError {
    /// Which.
    pub name: &'static str,
    /// The value given.
    pub value: f64,
    /// The allowed range.
    pub range: &'static str,
}

impl LossCurve {
    /// Gaussian noise under which a record at `threshold` loses `rho`.
    ///
    /// # Errors
    /// Unless both are finite and above zero.
    pub fn gaussian(rho: Rho, threshold: f64) -> Result<Self, LossCurveError> {
        positive("a splitting threshold", threshold)?;
        Ok(Self::Gaussian { deviation: deviation(threshold, rho)? })
    }

    /// Gaussian noise on the logarithm, under which a record at `threshold` loses `rho`.
    ///
    /// # Errors
    /// Unless all are finite and above zero.
    pub fn log(rho: Rho, threshold: f64, offset: f64) -> Result<Self, LossCurveError> {
        positive("a splitting threshold", threshold)?;
        positive("offset", offset)?;
        Ok(Self::Log { offset, deviation: deviation(log(threshold, offset), rho)? })
    }

    /// Gaussian noise on the root, under which a record at `threshold` loses `rho`.
    ///
    /// # Errors
    /// Unless all are finite and above zero.
    pub fn sqrt(rho: Rho, threshold: f64, offset: f64) -> Result<Self, LossCurveError> {
        positive("a splitting threshold", threshold)?;
        positive("offset", offset)?;
        Ok(Self::Sqrt { offset, deviation: deviation(root(threshold, offset), rho)? })
    }

    /// Exponential-polylogarithmic noise under which a record at `threshold` loses `rho`. The
    /// `offset` is a number, in units of the scale.
    ///
    /// # Errors
    /// Unless rho, threshold and shape are finite and above zero, and the offset is at least e.
    pub fn exponential_polylogarithmic(
        rho: Rho,
        threshold: f64,
        shape: f64,
        offset: f64,
    ) -> Result<Self, LossCurveError> {
        positive("a splitting threshold", threshold)?;
        positive("shape", shape)?;
        positive("rho", rho.to_f64())?;
        // The double nearest to e is below it.
        if !(offset.is_finite() && offset > std::f64::consts::E) {
            return Err(LossCurveError { name: "offset", value: offset, range: "at least e" });
        }
        // d (g^2 + 2 g ln a) = epsilon, for g = ln(T/(s a) + 1).
        let (ln_a, ratio) = (offset.ln(), pure_of(rho.to_f64()) / shape);
        let grown = ratio / ((ratio + ln_a * ln_a).sqrt() + ln_a);
        let scale = threshold / (offset * grown.exp_m1()) * (1.0 + 10.0 * MARGIN);
        positive("the scale of the noise", scale)?;
        Ok(Self::ExponentialPolylogarithmic { shape, offset, scale })
    }

    /// The loss in rho of a record of this value, rounded up. Its sign does not count; NaN counts
    /// as zero, as NULL does.
    pub fn loss(&self, value: f64) -> f64 {
        let q = value.abs();
        if q.is_nan() || q == 0.0 {
            return 0.0;
        }
        let half_square = |ratio: f64| 0.5 * ratio * ratio * (1.0 + MARGIN);
        match *self {
            Self::Gaussian { deviation } => half_square(q / deviation),
            Self::Log { offset, deviation } => half_square(log(q, offset) / deviation),
            Self::Sqrt { offset, deviation } => half_square(root(q, offset) / deviation),
            Self::ExponentialPolylogarithmic { .. } => {
                self.epsilon(q).map_or(f64::INFINITY, pure_in_rho)
            }
        }
    }

    /// The pure epsilon of a record of this value, rounded up, where there is one: under
    /// exponential-polylogarithmic noise.
    pub fn epsilon(&self, value: f64) -> Option<f64> {
        let Self::ExponentialPolylogarithmic { shape, offset, scale } = *self else { return None };
        let q = if value.is_nan() { 0.0 } else { value.abs() };
        let grown = (q / (scale * offset)).ln_1p();
        Some(shape * grown * (grown + 2.0 * offset.ln()) * (1.0 + MARGIN))
    }

    /// The function that [`loss`](Self::loss) computes, as a formula of the value q without its
    /// sign and of the fields, for q above zero; zero loses nothing.
    pub fn formula(&self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "(q / deviation)^2 / 2",
            Self::Log { .. } => "((ln(1 + q / offset) + 2^-51 ln 2) / deviation)^2 / 2",
            Self::Sqrt { .. } => "((sqrt(1 + q / offset) - 1 + 2^-51) / deviation)^2 / 2",
            Self::ExponentialPolylogarithmic { .. } => {
                "epsilon tanh(epsilon / 2), epsilon = shape \
                 (ln^2(q / scale + offset) - ln^2 offset)"
            }
        }
    }

    /// Rescales the function to values in another unit, of which one of the present ones has
    /// `step`.
    pub fn in_units_of(self, step: f64) -> Self {
        match self {
            Self::Gaussian { deviation } => Self::Gaussian { deviation: deviation * step },
            Self::Log { offset, deviation } => Self::Log { offset: offset * step, deviation },
            Self::Sqrt { offset, deviation } => Self::Sqrt { offset: offset * step, deviation },
            Self::ExponentialPolylogarithmic { shape, offset, scale } => {
                Self::ExponentialPolylogarithmic { shape, offset, scale: scale * step }
            }
        }
    }
}

/// ln(1 + q/a), by how much it may move on the lattice.
fn log(q: f64, offset: f64) -> f64 {
    (q / offset).ln_1p() + 2.0 * STEP * std::f64::consts::LN_2
}

/// sqrt(1 + q/a) - 1, by how much it may move on the lattice.
fn root(q: f64, offset: f64) -> f64 {
    let ratio = q / offset;
    ratio / ((1.0 + ratio).sqrt() + 1.0) + 2.0 * STEP
}

/// The standard deviation at which a shift by `distance` loses `rho`, rounded up.
fn deviation(distance: f64, rho: Rho) -> Result<f64, LossCurveError> {
    positive("rho", rho.to_f64())?;
    let deviation = distance / (2.0 * rho.to_f64()).sqrt() * (1.0 + MARGIN);
    positive("the standard deviation of the noise", deviation)?;
    Ok(deviation)
}

fn positive(name: &'static str, value: f64) -> Result<(), LossCurveError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(LossCurveError { name, value, range: "finite and above 0" })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ABOVE_E: f64 = 2.718_281_828_459_045_5;

    fn rho(text: &str) -> Rho {
        text.parse().unwrap()
    }

    fn all(rho: Rho, threshold: f64) -> [LossCurve; 4] {
        [
            LossCurve::gaussian(rho, threshold).unwrap(),
            LossCurve::log(rho, threshold, threshold).unwrap(),
            LossCurve::sqrt(rho, threshold, threshold).unwrap(),
            LossCurve::exponential_polylogarithmic(rho, threshold, 1.0, ABOVE_E).unwrap(),
        ]
    }

    /// At the threshold each loses the rho, no more; and what is printed of the others.
    #[test]
    fn a_record_at_the_threshold_loses_the_rho() {
        for text in ["0.000001", "0.05", "0.5", "7", "1000"] {
            for threshold in [1e-6, 1.0, 3.7e11] {
                for growth in all(rho(text), threshold) {
                    let loss = growth.loss(threshold) / rho(text).to_f64();
                    assert!((1.0 - 1e-11..=1.0 + 1e-12).contains(&loss), "{growth:?}: {loss}");
                    assert_eq!(growth.loss(0.0), 0.0);
                    assert_eq!(growth.loss(f64::NAN), 0.0);
                    assert_eq!(growth.loss(-threshold), growth.loss(threshold));
                }
            }
        }
        // At a thousand thresholds: squares, logarithms, roots, logarithms squared.
        let [gaussian, log, sqrt, polylog] = all(rho("0.5"), 10.0);
        let near = |x: f64, y: f64| assert!((x / y - 1.0).abs() < 1e-9, "{x} {y}");
        near(gaussian.loss(1e4), 0.5e6);
        near(log.loss(1e4), 0.5 * (1001f64.ln() / 2f64.ln()).powi(2));
        let roots = (1001f64.sqrt() - 1.0) / (2f64.sqrt() - 1.0);
        near(sqrt.loss(1e4), 0.5 * roots * roots);
        // epsilon(T) tanh(epsilon(T)/2) = 1/2 at 1.0436268955916.
        near(polylog.epsilon(10.0).unwrap(), 1.043_626_895_591_6);
        let scale = 10.0 / ((1.043_626_895_591_6f64 + 1.0).sqrt().exp() - ABOVE_E);
        near(polylog.epsilon(1e4).unwrap(), (1e4 / scale + ABOVE_E).ln().powi(2) - 1.0);
    }

    #[test]
    fn parameters_are_checked() {
        let half = rho("0.5");
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(LossCurve::gaussian(half, bad).is_err());
            assert!(
                LossCurve::log(half, bad, 1.0).is_err() && LossCurve::log(half, 1.0, bad).is_err()
            );
            assert!(
                LossCurve::sqrt(half, bad, 1.0).is_err()
                    && LossCurve::sqrt(half, 1.0, bad).is_err()
            );
            assert!(LossCurve::exponential_polylogarithmic(half, 1.0, bad, 3.0).is_err());
            assert!(LossCurve::exponential_polylogarithmic(half, 1.0, 1.0, bad).is_err());
        }
        let below = LossCurve::exponential_polylogarithmic(half, 1.0, 1.0, std::f64::consts::E);
        let text = below.unwrap_err().to_string();
        assert_eq!(text, "offset = 2.718281828459045 is not valid: it must be at least e");
        assert!(LossCurve::gaussian(Rho::ZERO, 1.0).is_err());
        assert!(LossCurve::exponential_polylogarithmic(Rho::ZERO, 1.0, 1.0, 3.0).is_err());
        // A scale of e^-1000.
        assert!(LossCurve::exponential_polylogarithmic(rho("1000000"), 1.0, 1.0, 3.0).is_err());
    }

    /// Below e the printed formula is no bound: some x has a larger ratio than x = 0. From e on
    /// none has.
    #[test]
    fn below_e_the_formula_is_no_bound() {
        let excess = |a: f64, q: f64| {
            let phi = |x: f64| (x + a).ln().powi(2);
            let ratio = |i: u32| {
                let x = f64::from(i) / 1000.0;
                phi(x + q) - phi(x)
            };
            let largest = (0..20_000).map(ratio).fold(0.0, f64::max);
            largest / (phi(q) - phi(0.0))
        };
        // At a = 1 a record of 0.1 scales loses 0.0736, eight times what the formula says.
        assert!((excess(1.0, 0.1) - 8.099).abs() < 0.001, "{}", excess(1.0, 0.1));
        assert!(excess(2.0, 0.1) > 1.04 && excess(2.5, 0.01) > 1.003);
        for a in [ABOVE_E, 2.8, 5.0, 64.0] {
            for q in [0.01, 0.1, 1.0, 10.0, 1000.0] {
                assert!(excess(a, q) <= 1.0 + 1e-12, "{a} {q}");
            }
        }
    }

    proptest! {
        /// In another unit the same loss; larger values lose more, and m thresholds at most m^2 the
        /// rho.
        #[test]
        fn losses_grow_and_are_never_more_than_by_pieces(
            thousandths in 1u32..100_000,
            threshold in 1e-3f64..1e9,
            multiple in 1e-3f64..1e6,
        ) {
            let rho = rho(&format!("{}.{:03}", thousandths / 1000, thousandths % 1000));
            for growth in all(rho, threshold) {
                let loss = growth.loss(threshold * multiple);
                let pieces = multiple.ceil();
                prop_assert!(loss <= rho.to_f64() * pieces * pieces * (1.0 + 1e-11));
                prop_assert!(loss <= growth.loss(threshold * multiple * 1.01));
                let other = growth.in_units_of(0.01).loss(threshold * 0.01 * multiple);
                prop_assert!((other / loss - 1.0).abs() < 1e-11);
                if let Some(epsilon) = growth.epsilon(threshold * multiple) {
                    prop_assert!(loss <= 0.5 * epsilon * epsilon * (1.0 + 1e-11));
                }
            }
        }
    }
}
