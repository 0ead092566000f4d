//! Gaussian noise on the logarithm or the root of a sum, and unbiased estimates from it.
//!
//! The transformed sum is f(S) = log2(1 + S/a) or sqrt(1 + S/a), in steps of 2^-52, by integers
//! only. Rounding f keeps the mechanism private, as its sensitivity takes it into account: floor(x)
//! and floor(y) are less than |x - y| + 1 apart.

use hushtable_noise::{Dyadic, Law, RoundedGaussian};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::error::MechanismError;

/// Steps of the lattice in one, as a power of two.
const BITS: u32 = 52;
/// A step.
const STEP: f64 = 1.0 / (1u64 << BITS) as f64;

/// A standard deviation of the logarithm beyond which estimates are of no use: their standard error
/// is then e^(s^2/2), four million times the sum.
const MOST_SKEWED: f64 = 5.5;

/// Transformation of a sum before the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transform {
    /// log2(1 + S/a).
    Log,
    /// sqrt(1 + S/a).
    Sqrt,
}

/// Gaussian noise on a transformed sum.
///
/// With v the released number, s the deviation and N normal of mean 0 and deviation s, the
/// estimates are a (e^(v - s^2/2) - 1), as E e^N = e^(s^2/2), and a (v^2 - s^2 - 1), as E (f + N)^2
/// = f^2 + s^2.
///
/// *Unbiased* they are as real numbers for the f that was rounded, which is at most 1.01 steps too
/// low: so their mean is S except for one part in 2^50 of S + a. That the noise is rounded to the
/// lattice, too, is exact for the root (its variance is that of the rounded noise) and one part in
/// 10^30 for the logarithm. In doubles, and rounded to whole steps at the end, the mean may be off
/// by 14 digits of the estimate and half a step more.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TransformedSum {
    transform: Transform,
    offset: u64,
    /// s, of the natural logarithm or of the root.
    deviation: f64,
    /// In steps of the lattice.
    noise: RoundedGaussian,
}

impl TransformedSum {
    /// Noise of this standard deviation, of the natural logarithm or of the root, or a little more.
    pub(crate) fn new(
        transform: Transform,
        offset: u64,
        deviation: f64,
    ) -> Result<Self, MechanismError> {
        let mut steps = deviation / STEP;
        if transform == Transform::Log {
            if deviation > MOST_SKEWED {
                return Err(MechanismError::TooSkewed);
            }
            steps *= std::f64::consts::LOG2_E * (1.0 + 4.0 * f64::EPSILON);
        }
        let noise = RoundedGaussian::new(Dyadic::at_least(steps)?);
        Ok(Self { transform, offset: offset.max(1), deviation, noise })
    }

    /// The noise, on the lattice.
    pub(crate) fn noise(&self) -> &RoundedGaussian {
        &self.noise
    }

    /// The transformed sum in steps; a sum below zero counts as zero.
    ///
    /// Below log2(1 + S/a) - log2(1 + S'/a) + 2 for S > S', and below the same with roots.
    pub(crate) fn steps(&self, sum: i128) -> i128 {
        let sum = sum.max(0).unsigned_abs();
        let offset = u128::from(self.offset);
        match self.transform {
            Transform::Log => log2(sum.saturating_add(offset)) - log2(offset),
            Transform::Sqrt => {
                let ratio = ((BigUint::from(sum) + offset) << (2 * BITS)) / offset;
                // The floor of the root of a floor is that of the number's root.
                ratio.sqrt().to_i128().unwrap_or(i128::MAX)
            }
        }
    }

    /// The estimate from the released number, in steps of the sum.
    pub(crate) fn estimate(&self, released: i128) -> i128 {
        let (a, v) = (self.offset as f64, released as f64 * STEP);
        let estimate = match self.transform {
            Transform::Log => {
                let s = self.deviation;
                a * (v * std::f64::consts::LN_2 - 0.5 * s * s).exp_m1()
            }
            Transform::Sqrt => a * ((v - 1.0) * (v + 1.0) - self.noise.variance() * STEP * STEP),
        };
        // Saturates.
        estimate.round() as i128
    }

    /// The noise's standard deviation, of the natural logarithm or of the root.
    pub(crate) fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The transformed sum as a real number, of natural logarithms.
    pub(crate) fn real(&self, sum: i128) -> f64 {
        let ratio = sum.max(0) as f64 / self.offset as f64;
        match self.transform {
            Transform::Log => ratio.ln_1p(),
            Transform::Sqrt => (1.0 + ratio).sqrt(),
        }
    }

    /// The released number that an estimate came from, the root without its sign.
    pub(crate) fn middle(&self, estimate: f64) -> f64 {
        let (a, s) = (self.offset as f64, self.deviation);
        match self.transform {
            // Below the least double nothing can be inferred.
            Transform::Log => (estimate / a).max(-1.0 + f64::EPSILON).ln_1p() + 0.5 * s * s,
            Transform::Sqrt => (estimate / a + 1.0 + s * s).max(0.0).sqrt(),
        }
    }

    /// The sums at which the released number would be no more than `deviations` away, from the
    /// estimate.
    ///
    /// The square does not reveal the sign of the root. It is taken as positive, which brings it
    /// only nearer to the transformed sum, as that is.
    pub(crate) fn interval(&self, estimate: f64, deviations: f64) -> (f64, f64) {
        let (a, s) = (self.offset as f64, self.deviation);
        let (low, high) = match self.transform {
            Transform::Log => {
                let whole = (estimate / a + 1.0).max(0.0);
                let (middle, away) = (0.5 * s * s, deviations * s);
                (whole * (middle - away).exp() - 1.0, whole * (middle + away).exp() - 1.0)
            }
            Transform::Sqrt => {
                let root = self.middle(estimate);
                let away = deviations * s;
                let back = |root: f64| root.max(1.0).powi(2) - 1.0;
                (back(root - away), back(root + away))
            }
        };
        ((a * low).max(0.0), (a * high).max(0.0))
    }
}

/// log2 n in steps of 2^-52, for n >= 1: at most 1 + 2^-9 steps too low, never too high.
///
/// Digit by digit: squaring doubles the logarithm, and what is then above one is the next binary
/// digit. Each square is rounded down by at most one part in 2^63, which counts half as much for
/// every digit that has gone before: in all at most 2^-61.
fn log2(n: u128) -> i128 {
    let whole = n.max(1).ilog2();
    // The number over 2^whole, in [1, 2), in units of 2^-63.
    let mut z = if whole <= 63 { (n as u64) << (63 - whole) } else { (n >> (whole - 63)) as u64 };
    let mut digits = 0;
    for _ in 0..BITS {
        let square = u128::from(z) * u128::from(z);
        let digit = square >> 127;
        z = (square >> (63 + digit)) as u64;
        digits = digits << 1 | digit as i128;
    }
    i128::from(whole) << BITS | digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_below_by_no_more_than_stated() {
        // floor(2^52 log2 n), from 40-digit values.
        for (n, floor) in [
            (1u128, 0i128),
            (2, 1 << 52),
            (3, LOG2_3),
            (10, LOG2_10),
            ((1 << 64) - 1, (64 << 52) - 1),
            (1 << 126, 126 << 52),
            ((1 << 127) + 1, 127 << 52),
            (12_345_678_901_234_567_890_123_456_789, LOG2_LONG),
        ] {
            let logarithm = log2(n);
            assert!(logarithm == floor || logarithm == floor - 1, "{n}: {logarithm} {floor}");
        }
        let mut before = 0;
        for n in 1..100_000u128 {
            let logarithm = log2(n);
            assert!(logarithm >= before);
            let exact = (n as f64).log2() * 2f64.powi(52);
            assert!((logarithm as f64 - exact).abs() < 33.0, "{n}");
            before = logarithm;
        }
    }

    const LOG2_3: i128 = 7_138_036_527_644_008;
    const LOG2_10: i128 = 14_960_634_130_286_306;
    const LOG2_LONG: i128 = 420_266_877_739_537_280;

    #[test]
    fn roots_are_rounded_down() {
        let law = TransformedSum::new(Transform::Sqrt, 4, 0.1).unwrap();
        assert_eq!(law.steps(0), 1 << 52);
        assert_eq!(law.steps(-7), 1 << 52);
        assert_eq!(law.steps(12), 2 << 52);
        // floor(sqrt(1 + 1/4) 2^52)
        assert_eq!(law.steps(1), SQRT_5_4);
        // The largest sum that there can be.
        let largest = law.steps(1 << 126);
        let exact = 2f64.powi(62 + 52);
        assert!((largest as f64 / exact - 1.0).abs() < 1e-15);
    }

    const SQRT_5_4: i128 = 5_035_177_455_121_575;
}
