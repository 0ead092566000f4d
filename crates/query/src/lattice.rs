//! Exact decimals, and the integer lattice that contributions are rounded to (theory section 2).

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::types::{ColumnType, MAX_SCALE};

/// Largest bound in lattice units. Sums of up to 2^63 units' contributions then fit an `i128`
/// whatever the data, so that no sum can overflow while a query runs.
pub const MAX_LATTICE: i64 = 1 << 60;

/// An exact decimal: `digits * 10^-scale`, at most 36 digits and scale 18, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    digits: i128,
    scale: u8,
}

impl Number {
    /// The decimal that `text` writes, if it is one that is kept exactly.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().replace('_', "");
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((m, e)) => (m, e.parse::<i32>().ok().filter(|e| e.abs() <= 100)?),
            None => (text.as_str(), 0),
        };
        let (sign, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, mantissa.strip_prefix('+').unwrap_or(mantissa)),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let significant = all.trim_start_matches('0');
        let trimmed = significant.trim_end_matches('0');
        if trimmed.is_empty() {
            return Some(Self { digits: 0, scale: 0 });
        }
        let power = exponent - i32::try_from(fraction.len()).ok()?
            + i32::try_from(significant.len() - trimmed.len()).ok()?;
        let mut digits = trimmed.parse::<i128>().ok()?;
        let mut scale = 0;
        if power > 0 {
            digits = digits.checked_mul(10i128.checked_pow(power.unsigned_abs())?)?;
        } else {
            scale = u8::try_from(-power).ok().filter(|&s| s <= MAX_SCALE)?;
        }
        (digits < 10i128.pow(36)).then_some(Self { digits: sign * digits, scale })
    }

    /// A whole number.
    pub fn whole(value: i64) -> Self {
        Self { digits: i128::from(value), scale: 0 }
    }

    /// The number with the other sign.
    pub(crate) fn negative(self) -> Self {
        Self { digits: -self.digits, ..self }
    }

    /// `digits` and `scale` in lowest terms.
    pub fn parts(self) -> (i128, u8) {
        (self.digits, self.scale)
    }

    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        // Reading the decimal text rounds once, where dividing would round twice.
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Whether the number is zero.
    pub fn is_zero(self) -> bool {
        self.digits == 0
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let scale = self.scale.max(other.scale);
        let aligned = |n: &Self| {
            let factor = 10i128.pow(u32::from(scale - n.scale));
            // Split, so that 36 digits at different scales cannot overflow.
            (
                n.digits.div_euclid(10i128.pow(18)) * factor
                    + (n.digits.rem_euclid(10i128.pow(18)) * factor).div_euclid(10i128.pow(18)),
                (n.digits.rem_euclid(10i128.pow(18)) * factor).rem_euclid(10i128.pow(18)),
            )
        };
        aligned(self).cmp(&aligned(other))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.digits < 0 { "-" } else { "" };
        let digits = self.digits.unsigned_abs();
        if self.scale == 0 {
            return write!(f, "{sign}{digits}");
        }
        let one = 10u128.pow(u32::from(self.scale));
        let width = usize::from(self.scale);
        write!(f, "{sign}{}.{:0width$}", digits / one, digits % one)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not a decimal"))
    }
}

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
    /// The step of size `value` for measures of that type, if there is one.
    pub fn new(value: &Number, column_type: ColumnType) -> Option<Self> {
        let (digits, scale) = value.parts();
        match column_type {
            ColumnType::Int if scale == 0 => {
                u32::try_from(digits).ok().filter(|&d| d > 0).map(Self::Whole)
            }
            ColumnType::Decimal { scale: column } if digits == 1 && scale <= column => {
                Some(Self::Decimal(scale))
            }
            ColumnType::Float => {
                let float = value.to_f64();
                let exponent = float.log2();
                let whole = exponent.round();
                ((-200.0..=200.0).contains(&whole) && 2f64.powi(whole as i32) == float)
                    .then_some(Self::PowerOfTwo(whole as i16))
            }
            _ => None,
        }
    }

    /// The step used where the contract names none: 1 for integers, the column's own scale for
    /// decimals, and for floats the power of two at or below 2^-30 of the larger bound, which
    /// costs a billionth of the bound in rounding and depends on public numbers only.
    pub fn default_for(column_type: ColumnType, low: Number, high: Number) -> Self {
        match column_type {
            ColumnType::Decimal { scale } => Self::Decimal(scale),
            ColumnType::Float => Self::for_floats(low.to_f64().abs().max(high.to_f64().abs())),
            _ => Self::Whole(1),
        }
    }

    /// The step used for floats up to `largest` in size.
    pub(crate) fn for_floats(largest: f64) -> Self {
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
        let (digits, scale) = value.parts();
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
        let negated = Number { digits: -value.digits, scale: value.scale };
        self.floor(negated).map(|u| -u)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn decimals_are_exact() {
        for (text, shown) in [
            ("0.10", "0.1"),
            ("-2.50e1", "-25"),
            ("1_000_000", "1000000"),
            ("1e-18", "0.000000000000000001"),
            ("0", "0"),
            ("-0.0", "0"),
        ] {
            assert_eq!(n(text).to_string(), shown);
        }
        for bad in ["", "x", "1e-19", "1e40", "nan", "inf", "--1", "1e999"] {
            assert_eq!(Number::parse(bad), None, "{bad}");
        }
        assert!(n("0.1") < n("0.11") && n("-3") < n("-2.5") && n("2") == n("2.0"));
        assert!(n("-0.5") < n("0.25") && n("99999999999999999999999999999999999") > n("0.1"));
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

    #[test]
    fn steps_fit_their_types() {
        let decimal = ColumnType::Decimal { scale: 2 };
        assert_eq!(Step::new(&n("100"), ColumnType::Int), Some(Step::Whole(100)));
        assert_eq!(Step::new(&n("0.5"), ColumnType::Int), None);
        assert_eq!(Step::new(&n("0"), ColumnType::Int), None);
        assert_eq!(Step::new(&n("0.01"), decimal), Some(Step::Decimal(2)));
        assert_eq!(Step::new(&n("0.001"), decimal), None);
        assert_eq!(Step::new(&n("0.0625"), ColumnType::Float), Some(Step::PowerOfTwo(-4)));
        assert_eq!(Step::new(&n("0.1"), ColumnType::Float), None);
        assert_eq!(Step::default_for(ColumnType::Float, n("-3"), n("1000")), Step::PowerOfTwo(-21));
    }
}
