//! The integer lattice that contributions are rounded to (theory section 2).

use serde::{Deserialize, Serialize};

use crate::Number;

/// Largest bound in lattice units. Sums of up to 2^63 units' contributions then fit an `i128`
/// whatever the data, so that no sum can overflow while a query runs.
pub const MAX_LATTICE: i64 = 1 << 60;

/// Distance between neighbouring points of the lattice, in the measure's own unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A whole number, for integers.
    Whole(u32),
    /// `10^-scale`, for decimals.
    Decimal(u8),
    /// `2^exponent`, for floats: multiples are floats themselves.
    PowerOfTwo(i16),
}

impl Step {
    /// The step of that size for floats, if it is a power of two.
    pub fn power_of_two(size: Number) -> Option<Self> {
        let float = size.to_f64();
        let exponent = float.log2().round();
        ((-200.0..=200.0).contains(&exponent) && 2f64.powi(exponent as i32) == float)
            .then_some(Self::PowerOfTwo(exponent as i16))
    }

    /// The step used for floats up to `largest` in size.
    pub fn for_floats(largest: f64) -> Self {
        let exponent = if largest > 0.0 { largest.log2().floor() } else { 0.0 };
        Self::PowerOfTwo(exponent.clamp(-100.0, 100.0) as i16 - 30)
    }

    /// The step's size.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Whole(n) => f64::from(n),
            Self::Decimal(scale) => 10f64.powi(-i32::from(scale)),
            Self::PowerOfTwo(exponent) => 2f64.powi(i32::from(exponent)),
        }
    }

    /// The largest lattice point at or below `value`, in lattice units; `None` beyond
    /// [`MAX_LATTICE`] either way.
    pub fn floor(self, value: Number) -> Option<i64> {
        let (digits, scale) = value.digits_and_scale();
        let units = match self {
            Self::Whole(n) => digits.div_euclid(i128::from(n) * 10i128.pow(u32::from(scale))),
            Self::Decimal(s) if s >= scale => {
                digits.checked_mul(10i128.pow(u32::from(s - scale)))?
            }
            Self::Decimal(s) => digits.div_euclid(10i128.pow(u32::from(scale - s))),
            Self::PowerOfTwo(exponent) => {
                // Exact: dividing by a power of two only moves the exponent.
                let units = (value.to_f64() / 2f64.powi(i32::from(exponent))).floor();
                if units.abs() > MAX_LATTICE as f64 {
                    return None;
                }
                units as i128
            }
        };
        i64::try_from(units).ok().filter(|u| u.abs() <= MAX_LATTICE)
    }

    /// The smallest lattice point at or above `value`.
    pub fn ceil(self, value: Number) -> Option<i64> {
        self.floor(value.negative()).map(|u| -u)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn bounds_round_inwards() {
        assert_eq!(Step::Whole(10).floor(n("99")), Some(9));
        assert_eq!(Step::Whole(10).ceil(n("-99")), Some(-9));
        assert_eq!(Step::Decimal(2).floor(n("1.239")), Some(123));
        assert_eq!(Step::Decimal(2).floor(n("-1.231")), Some(-124));
        assert_eq!(Step::Decimal(2).floor(n("5")), Some(500));
        assert_eq!(Step::PowerOfTwo(-2).floor(n("0.6")), Some(2));
        assert_eq!(Step::PowerOfTwo(-2).ceil(n("0.6")), Some(3));
        assert_eq!(Step::Whole(1).floor(n("1e19")), None);
        assert_eq!(Step::PowerOfTwo(-60).floor(n("2")), None);
    }
}
