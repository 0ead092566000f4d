//! Exact numbers that parametrise the laws.

use hushtable_numbers::lowest_terms;

use crate::ParameterError;

/// A positive rational number in lowest terms, the scale of a law.
///
/// After reduction the numerator is at most 2^106 and the denominator at most 2^64. These limits
/// keep the samplers' products in 128 bits: a draw that exceeds 2^20 scales has probability below
/// e^-1000000, and only such a draw could saturate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    numerator: u128,
    denominator: u128,
}

impl Ratio {
    const MAX_NUMERATOR: u128 = 1 << 106;
    const MAX_DENOMINATOR: u128 = 1 << 64;

    /// A double that is 2^-10 or more, exactly.
    ///
    /// # Errors
    /// When it is not such a number, or above what a ratio can hold.
    pub fn exactly(number: f64) -> Result<Self, ParameterError> {
        let dyadic = Dyadic::at_least(number)?;
        let (mantissa, exponent) = (u128::from(dyadic.mantissa()), dyadic.exponent());
        let power = 1u128.checked_shl(exponent.unsigned_abs()).unwrap_or(0);
        if exponent < 0 {
            Self::new(mantissa, power)
        } else {
            Self::new(mantissa.saturating_mul(power), 1)
        }
    }

    /// `numerator / denominator`, reduced.
    ///
    /// # Errors
    /// [`ParameterError::ZeroRatio`] if either is zero; [`ParameterError::NumeratorTooLarge`] or
    /// [`ParameterError::DenominatorTooLarge`] if, in lowest terms, they exceed 2^106 or 2^64.
    pub fn new(numerator: u128, denominator: u128) -> Result<Self, ParameterError> {
        if numerator == 0 || denominator == 0 {
            return Err(ParameterError::ZeroRatio);
        }
        let (numerator, denominator) = lowest_terms(numerator, denominator);
        if numerator > Self::MAX_NUMERATOR {
            return Err(ParameterError::NumeratorTooLarge);
        }
        if denominator > Self::MAX_DENOMINATOR {
            return Err(ParameterError::DenominatorTooLarge);
        }
        Ok(Self { numerator, denominator })
    }

    /// The numerator in lowest terms, at least 1.
    pub fn numerator(&self) -> u128 {
        self.numerator
    }

    /// The denominator in lowest terms, at least 1.
    pub fn denominator(&self) -> u128 {
        self.denominator
    }

    /// The nearest double, except for an error of at most two units in the last place.
    pub fn to_f64(&self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The inverse, with the same accuracy.
    pub(crate) fn inverse(&self) -> f64 {
        self.denominator as f64 / self.numerator as f64
    }
}

/// A positive number `mantissa * 2^exponent`, the standard deviation of a law.
///
/// Its value is between 2^-20 and 2^100, both included. The mantissa is kept odd, so that equal
/// numbers are equal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dyadic {
    mantissa: u64,
    exponent: i32,
}

impl Dyadic {
    const MIN_EXPONENT: i32 = -20;
    const MAX_EXPONENT: i32 = 100;

    /// `mantissa * 2^exponent`.
    ///
    /// # Errors
    /// [`ParameterError::NotPositive`] if the mantissa is zero;
    /// [`ParameterError::DyadicOutOfRange`] unless the number is in 2^-20 ..= 2^100.
    pub fn new(mantissa: u64, exponent: i32) -> Result<Self, ParameterError> {
        if mantissa == 0 {
            return Err(ParameterError::NotPositive);
        }
        let shift = mantissa.trailing_zeros();
        let mantissa = mantissa >> shift;
        let exponent = exponent.saturating_add_unsigned(shift);
        // 2^floor <= number, with equality for an odd mantissa of 1 only.
        let floor = exponent.saturating_add_unsigned(mantissa.ilog2());
        let inside = (Self::MIN_EXPONENT..=Self::MAX_EXPONENT).contains(&floor);
        if !inside || (floor == Self::MAX_EXPONENT && mantissa > 1) {
            return Err(ParameterError::DyadicOutOfRange);
        }
        Ok(Self { mantissa, exponent })
    }

    /// The number `value` itself: every finite double is dyadic, so nothing is rounded, and a
    /// standard deviation given as a double is never made smaller.
    ///
    /// # Errors
    /// [`ParameterError::NotPositive`] if `value` is not finite or not above zero;
    /// [`ParameterError::DyadicOutOfRange`] unless it is in 2^-20 ..= 2^100. (A smaller value is
    /// refused, not raised: it would be a mistake of units.)
    pub fn at_least(value: f64) -> Result<Self, ParameterError> {
        if !(value.is_finite() && value > 0.0) {
            return Err(ParameterError::NotPositive);
        }
        let bits = value.to_bits();
        let biased = (bits >> 52) as i32; // The sign bit is zero.
        if biased == 0 {
            // Subnormal.
            return Err(ParameterError::DyadicOutOfRange);
        }
        Self::new(bits & ((1 << 52) - 1) | 1 << 52, biased - 1075)
    }

    /// The odd mantissa.
    pub fn mantissa(&self) -> u64 {
        self.mantissa
    }

    /// The exponent that belongs to the odd [`mantissa`](Self::mantissa).
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The nearest double; exact if the mantissa has at most 53 bits.
    pub fn to_f64(&self) -> f64 {
        self.mantissa as f64 * f64::from(self.exponent).exp2()
    }

    /// `(n, s)` with this number equal to `n / 2^s`, `1 <= n <= 2^101` and `1 <= s <= 83`.
    pub(crate) fn over_power(&self) -> (u128, u32) {
        let n = u128::from(self.mantissa);
        match u32::try_from(self.exponent) {
            Ok(shift) => (n << (shift + 1), 1),
            Err(_) => (n, self.exponent.unsigned_abs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_doubles_exactly() {
        for number in [0.01, 0.1, 1.0, 3.5, 1e6 / 3.0, 1e22, 1e30] {
            let ratio = Ratio::exactly(number).unwrap();
            assert_eq!(ratio.to_f64().to_bits(), f64::to_bits(number));
        }
    }

    #[test]
    fn ratios_are_reduced_and_bounded() {
        let ratio = Ratio::new(10, 4).unwrap();
        assert_eq!((ratio.numerator(), ratio.denominator(), ratio.to_f64()), (5, 2, 2.5));
        assert_eq!(Ratio::new(0, 1), Err(ParameterError::ZeroRatio));
        assert_eq!(Ratio::new(1, 0), Err(ParameterError::ZeroRatio));
        assert_eq!(Ratio::new((1 << 106) + 1, 1), Err(ParameterError::NumeratorTooLarge));
        assert_eq!(Ratio::new(1, (1 << 64) + 1), Err(ParameterError::DenominatorTooLarge));
        assert!(Ratio::new(1 << 106, 1).is_ok() && Ratio::new(1, 1 << 64).is_ok());
        // Only the reduced numbers count.
        assert_eq!(Ratio::new(u128::MAX, u128::MAX), Ratio::new(1, 1));
        assert_eq!(Ratio::new(1 << 127, 1 << 30), Ratio::new(1 << 97, 1));
        assert!(
            Ratio::new((1 << 62) * 1_000_000_000_000, 1).is_ok() && Ratio::new(1, 1000).is_ok()
        );
    }

    #[test]
    fn dyadics_are_bounded() {
        assert!(
            Dyadic::new(1, -20).is_ok()
                && Dyadic::new(1, 100).is_ok()
                && Dyadic::new(u64::MAX, 36).is_ok()
        );
        assert!(Dyadic::new(1 << 63, -83).is_ok());
        for (mantissa, exponent) in
            [(1, -21), (3, -22), (1, 101), (3, 99), (u64::MAX, 37), (1, i32::MIN), (2, i32::MAX)]
        {
            assert_eq!(Dyadic::new(mantissa, exponent), Err(ParameterError::DyadicOutOfRange));
        }
        assert_eq!(Dyadic::new(0, 0), Err(ParameterError::NotPositive));
        assert_eq!(Dyadic::new(12, -2), Dyadic::new(3, 0));
    }

    #[test]
    fn doubles_are_taken_exactly() {
        let below_limit = f64::from_bits(2f64.powi(100).to_bits() - 1);
        for value in
            [1.0, 0.1, 2f64.powi(-20), 2f64.powi(100), std::f64::consts::PI, 1e30, below_limit]
        {
            assert_eq!(Dyadic::at_least(value).unwrap().to_f64().to_bits(), value.to_bits());
        }
        for value in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Dyadic::at_least(value), Err(ParameterError::NotPositive));
        }
        let above_limit = f64::from_bits(2f64.powi(100).to_bits() + 1);
        for value in [5e-324, 1e-300, 9e-7, above_limit, f64::MAX] {
            assert_eq!(Dyadic::at_least(value), Err(ParameterError::DyadicOutOfRange));
        }
    }

    /// From a hundredth of a lattice unit to 2^40 of them, in every form, and for the square that
    /// the discrete Gaussian law takes.
    #[test]
    fn the_scales_in_use_are_accepted() {
        for (numerator, denominator) in [(1, 100), (1, 1), (123_456_789, 1000), (1 << 40, 1)] {
            assert!(Ratio::new(numerator, denominator).is_ok());
            let scale = numerator as f64 / denominator as f64;
            assert!(Dyadic::at_least(scale).is_ok() && Dyadic::at_least(scale * scale).is_ok());
        }
    }

    #[test]
    fn over_power_is_the_same_number() {
        for (mantissa, exponent) in
            [(1, -20), (1, 100), (u64::MAX, 36), (u64::MAX, -83), (3, 0), (3, -1), (5, 7)]
        {
            let dyadic = Dyadic::new(mantissa, exponent).unwrap();
            let (n, s) = dyadic.over_power();
            assert!((1..=83).contains(&s) && (1..=1 << 101).contains(&n));
            assert_eq!(n as f64 / f64::from(s).exp2(), dyadic.to_f64());
        }
    }
}
