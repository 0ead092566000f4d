//! Exact decimals in lowest terms.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::decimal::{FixedDecimal, WrittenDecimal};

/// Largest exponent that is read, positive or negative.
const MOST_EXPONENT: u32 = 100;

/// An exact decimal: `digits * 10^-scale`, at most 36 digits and scale 18, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    digits: i128,
    scale: u8,
}

impl Number {
    /// Largest scale.
    pub const MAX_SCALE: u8 = 18;

    /// Reads a decimal; `None` if `text` is none, or cannot be held exactly.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().replace('_', "");
        let written = WrittenDecimal::read(&text)?;
        if written.exponent().unsigned_abs() > MOST_EXPONENT {
            return None;
        }
        let scale = u8::try_from(written.places()).ok().filter(|&s| s <= Self::MAX_SCALE)?;
        let digits = i128::try_from(written.exactly(u32::from(scale))?).ok()?;
        let digits = if written.is_negative() { -digits } else { digits };
        (digits.abs() < 10i128.pow(36)).then_some(Self { digits, scale })
    }

    /// A whole number.
    pub fn whole(value: i64) -> Self {
        Self { digits: i128::from(value), scale: 0 }
    }

    /// The number with the other sign.
    pub fn negative(self) -> Self {
        Self { digits: -self.digits, ..self }
    }

    /// `digits` and `scale` in lowest terms.
    pub fn digits_and_scale(self) -> (i128, u8) {
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
        let Self { digits, scale } = *self;
        FixedDecimal { digits, scale }.fmt(f)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn n(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn decimals_are_exact() {
        for (text, rendered) in [
            ("0.10", "0.1"),
            ("-2.50e1", "-25"),
            ("1_000_000", "1000000"),
            ("1e-18", "0.000000000000000001"),
            ("0", "0"),
            ("-0.0", "0"),
        ] {
            assert_eq!(n(text).to_string(), rendered);
        }
        for bad in
            ["", "x", "1e-19", "1e40", "nan", "inf", "--1", "1e999", "0e101", "1e-2147483648"]
        {
            assert_eq!(Number::parse(bad), None, "{bad}");
        }
        assert!(n("0.1") < n("0.11") && n("-3") < n("-2.5") && n("2") == n("2.0"));
        assert!(n("-0.5") < n("0.25") && n("99999999999999999999999999999999999") > n("0.1"));
    }
}
