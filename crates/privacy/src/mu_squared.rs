//! Mu squared, by which Gaussian events add up.

use std::fmt;
use std::str::FromStr;

use hushtable_numbers::decimal::write_short;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::amount::read_units;
use crate::{AmountError, Mu, Rho};

const PLACES: u32 = 30;
const RANGE: &str = "from 0 to 100000000, at most 30 decimal places";

/// The square of mu, in which Gaussian events add up: an exact decimal from 0 to 100,000,000, kept
/// to 30 decimal places, so that every [`Mu`] has its square and every [`Rho`] its double.
/// Serialised as text, as no JSON number holds all its digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MuSquared {
    units: u128,
}

impl MuSquared {
    /// No loss.
    pub const ZERO: Self = Self { units: 0 };
    /// The largest, in smallest units.
    const MAX: u128 = 100_000_000 * 10u128.pow(PLACES);

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.units == 0
    }

    /// The exact sum, or `None` above the largest.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Self::within(self.units.checked_add(other.units)?)
    }

    /// The exact difference, or `None` if it would be negative.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        Self::within(self.units.checked_sub(other.units)?)
    }

    /// The exact product, or `None` above the largest.
    pub fn checked_mul(self, times: u64) -> Option<Self> {
        Self::within(self.units.checked_mul(times.into())?)
    }

    /// Rounded up, by less than 1e-15 of itself.
    pub fn to_f64_up(self) -> f64 {
        // Three roundings to nearest, and two units in the last place up.
        self.units as f64 / 1e30 * (1.0 + 4.0 * f64::EPSILON)
    }

    /// Rho = mu^2/2 of a Gaussian event, rounded up; `None` above the largest rho.
    pub fn to_rho_up(self) -> Option<Rho> {
        let units = self.units.div_ceil(2 * 10u128.pow(PLACES - 12));
        Rho::from_units(u64::try_from(units).ok()?).ok()
    }

    fn within(units: u128) -> Option<Self> {
        (units <= Self::MAX).then_some(Self { units })
    }
}

impl From<Mu> for MuSquared {
    fn from(mu: Mu) -> Self {
        // At most (10^19)^2, the largest; 2 * 15 places are 30.
        Self { units: u128::from(mu.units()) * u128::from(mu.units()) }
    }
}

impl From<Rho> for MuSquared {
    /// mu^2 = 2 rho: of a Gaussian event that was calibrated to rho.
    fn from(rho: Rho) -> Self {
        Self { units: 2 * u128::from(rho.units()) * 10u128.pow(PLACES - 12) }
    }
}

impl FromStr for MuSquared {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        read_units(text, PLACES).and_then(Self::within).ok_or_else(|| AmountError {
            name: "mu squared",
            value: text.to_owned(),
            range: RANGE,
        })
    }
}

impl fmt::Display for MuSquared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_short(f, self.units, PLACES)
    }
}

impl Serialize for MuSquared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MuSquared {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_and_doubles_are_exact() {
        let tenth = MuSquared::from("0.1".parse::<Mu>().unwrap());
        assert_eq!(tenth.to_string(), "0.01");
        assert_eq!(tenth.checked_mul(100).unwrap(), "1".parse().unwrap());
        let smallest = MuSquared::from("1e-15".parse::<Mu>().unwrap());
        assert_eq!(smallest.to_string(), "1e-30");
        let largest = MuSquared::from("10000".parse::<Mu>().unwrap());
        assert_eq!(largest.to_string(), "100000000");
        assert_eq!(largest.checked_add(smallest), None);
        assert_eq!(largest.checked_mul(u64::MAX), None);
        let half = "0.500000000001".parse::<Rho>().unwrap();
        assert_eq!(MuSquared::from(half).to_string(), "1.000000000002");
        assert_eq!(MuSquared::from(half).to_rho_up(), Some(half));
        assert_eq!(smallest.to_rho_up(), Some("1e-12".parse().unwrap()));
        assert_eq!(largest.to_rho_up(), None);
    }

    #[test]
    fn text_reads_back() {
        for text in ["0", "0.01", "1e-30", "12.5", "99999999.999999999999999999999999999999"] {
            let read: MuSquared = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
            let json = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<MuSquared>(&json).unwrap(), read);
            assert!(read.to_f64_up() >= text.parse::<f64>().unwrap());
        }
        for bad in ["-1", "1e9", "1e-31", "nan", ""] {
            assert!(bad.parse::<MuSquared>().is_err(), "{bad}");
        }
    }
}
