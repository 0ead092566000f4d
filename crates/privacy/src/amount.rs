//! Amounts of privacy loss as exact decimals.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use hushtable_numbers::decimal::{WrittenDecimal, write_short};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The quantity that an [`Amount`] counts; sealed, as there are just four.
pub trait Quantity: sealed::Sealed + Copy + 'static {
    /// The parameter's name, as users write it.
    const NAME: &'static str;
    /// Number of decimal places: the smallest amount is `10^-PLACES`.
    const PLACES: u32;
    /// The largest amount, in smallest units.
    const MAX: u64;
    /// The allowed range, in words.
    const RANGE: &'static str;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::EpsilonQuantity {}
    impl Sealed for super::DeltaQuantity {}
    impl Sealed for super::RhoQuantity {}
    impl Sealed for super::MuQuantity {}
}

/// The quantity that [`Epsilon`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EpsilonQuantity;
/// The quantity that [`Delta`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeltaQuantity;
/// The quantity that [`Rho`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RhoQuantity;
/// The quantity that [`Mu`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MuQuantity;

impl Quantity for EpsilonQuantity {
    const NAME: &'static str = "epsilon";
    const PLACES: u32 = 12;
    const MAX: u64 = 1_000_000 * 10u64.pow(12);
    const RANGE: &'static str = "from 0 to 1000000, at most 12 decimal places";
}
impl Quantity for DeltaQuantity {
    const NAME: &'static str = "delta";
    const PLACES: u32 = 18;
    // Statements are JSON, whose numbers are doubles: a larger one could be read back as 1.
    const MAX: u64 = 10u64.pow(18) - 1000;
    const RANGE: &'static str = "from 0 to 0.999999999999999, at most 18 decimal places";
}
impl Quantity for RhoQuantity {
    const NAME: &'static str = "rho";
    const PLACES: u32 = 12;
    const MAX: u64 = 1_000_000 * 10u64.pow(12);
    const RANGE: &'static str = "from 0 to 1000000, at most 12 decimal places";
}
impl Quantity for MuQuantity {
    const NAME: &'static str = "mu";
    const PLACES: u32 = 15;
    const MAX: u64 = 10_000 * 10u64.pow(15);
    const RANGE: &'static str = "from 0 to 10000, at most 15 decimal places";
}

/// A non-negative exact decimal of one kind of privacy loss.
///
/// Sums are exact, so ten charges of 0.1 are one. Serialised as a JSON number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount<U> {
    units: u64,
    kind: PhantomData<U>,
}

/// The epsilon of pure or approximate differential privacy: the log of a ratio of probabilities.
/// From 0 to 1,000,000, kept to 12 decimal places.
pub type Epsilon = Amount<EpsilonQuantity>;
/// The delta of approximate differential privacy: a probability of at most 1 - 10^-15, kept to 18
/// decimal places.
pub type Delta = Amount<DeltaQuantity>;
/// The rho of zero-concentrated differential privacy (Bun & Steinke 2016): a Rényi divergence of
/// every order `a` is at most `a * rho`. From 0 to 1,000,000, kept to 12 decimal places.
pub type Rho = Amount<RhoQuantity>;
/// The mu of Gaussian differential privacy (Dong, Roth & Su 2022): sensitivity over sigma. From 0
/// to 10,000, kept to 15 decimal places. Composes by its square, [`MuSquared`](crate::MuSquared).
pub type Mu = Amount<MuQuantity>;

/// An amount outside its range, or not a decimal at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} = {value} is not a valid {name}: it must be a number {range}")]
pub struct AmountError {
    /// `epsilon`, `delta`, `rho` or `mu`.
    pub name: &'static str,
    /// The value given.
    pub value: String,
    /// The allowed range.
    pub range: &'static str,
}

impl<U: Quantity> Amount<U> {
    /// No loss.
    pub const ZERO: Self = Self::raw(0);

    /// The amount of `units` that are known to be at most the largest.
    pub(crate) const fn raw(units: u64) -> Self {
        Self { units, kind: PhantomData }
    }

    fn error(value: impl fmt::Display) -> AmountError {
        AmountError { name: U::NAME, value: value.to_string(), range: U::RANGE }
    }

    /// The amount of `units` times `10^-PLACES`; refused above the kind's largest.
    pub fn from_units(units: u64) -> Result<Self, AmountError> {
        if units > U::MAX {
            return Err(Self::error(format_args!("{units}e-{}", U::PLACES)));
        }
        Ok(Self::raw(units))
    }

    /// The decimal that prints as `value` does: `0.1` is exactly one tenth.
    ///
    /// # Errors
    /// When `value` is negative, not finite, too large, or needs more decimal places than are kept.
    pub fn from_f64(value: f64) -> Result<Self, AmountError> {
        // Rust prints the shortest decimal that reads back as the same float, which is what the
        // user wrote wherever that had at most 15 digits.
        if value.is_finite() { value.to_string().parse() } else { Err(Self::error(value)) }
    }

    /// The smallest amount at or above `value`: for losses computed in floating point.
    pub fn from_f64_up(value: f64) -> Result<Self, AmountError> {
        let scaled = value * 10f64.powi(U::PLACES as i32);
        if !(0.0..=U::MAX as f64).contains(&scaled) {
            return Err(Self::error(value));
        }
        // Two ulps up cover the rounding of the product; the ceiling covers the rest.
        let up = (scaled * (1.0 + 4.0 * f64::EPSILON)).ceil() as u64;
        Self::from_units(up).map_err(|_| Self::error(value))
    }

    /// The largest amount at or below `value`: for budgets computed in floating point.
    pub fn from_f64_down(value: f64) -> Result<Self, AmountError> {
        let scaled = value * 10f64.powi(U::PLACES as i32);
        if !(0.0..=U::MAX as f64).contains(&scaled) {
            return Err(Self::error(value));
        }
        Ok(Self::raw((scaled * (1.0 - 4.0 * f64::EPSILON)).floor() as u64))
    }

    /// In smallest units: `10^-12` for epsilon and rho, `10^-15` for mu, `10^-18` for delta.
    pub fn units(self) -> u64 {
        self.units
    }

    /// Smallest units in one.
    pub fn units_per_one() -> u64 {
        10u64.pow(U::PLACES)
    }

    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        // Both operands are exact below 2^53; above, this is one rounding off the nearest.
        self.units as f64 / Self::units_per_one() as f64
    }

    /// Whether the amount is zero.
    pub fn is_zero(self) -> bool {
        self.units == 0
    }

    /// The exact sum, or `None` above the kind's largest amount.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let units = self.units.checked_add(other.units)?;
        (units <= U::MAX).then(|| Self::raw(units))
    }

    /// The exact product, or `None` above the kind's largest amount.
    pub fn checked_mul(self, times: u64) -> Option<Self> {
        let units = self.units.checked_mul(times)?;
        (units <= U::MAX).then(|| Self::raw(units))
    }

    /// The exact difference, or `None` if it would be negative.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.units.checked_sub(other.units).map(Self::raw)
    }

    /// One of `count` equal shares, rounded down, so that the shares never exceed the whole.
    /// A count of zero is taken as one.
    pub fn share(self, count: u64) -> Self {
        Self::raw(self.units / count.max(1))
    }

    /// Shares in proportion to `weights` that add up to the whole exactly (what rounding leaves
    /// over goes to the first shares, a smallest unit each). Zero weights get nothing.
    pub fn split(self, weights: &[u32]) -> Vec<Self> {
        let total: u128 = weights.iter().map(|&w| u128::from(w)).sum();
        if total == 0 {
            return vec![Self::ZERO; weights.len()];
        }
        let floor = |w: u32| (u128::from(self.units) * u128::from(w) / total) as u64;
        let mut left = self.units - weights.iter().map(|&w| floor(w)).sum::<u64>();
        weights
            .iter()
            .map(|&w| {
                let extra = u64::from(w > 0 && left > 0);
                left -= extra;
                Self::raw(floor(w) + extra)
            })
            .collect()
    }
}

/// Reads a decimal in units of `10^-places`. `None` if `text` is no decimal, is negative or needs
/// more places.
pub(crate) fn read_units(text: &str, places: u32) -> Option<u128> {
    let written = WrittenDecimal::read(text.trim())?;
    if written.is_negative() { None } else { written.exactly(places) }
}

impl<U: Quantity> FromStr for Amount<U> {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let units = read_units(text, U::PLACES).and_then(|units| u64::try_from(units).ok());
        match units {
            Some(units) if units <= U::MAX => Ok(Self::raw(units)),
            _ => Err(Self::error(text)),
        }
    }
}

impl<U: Quantity> fmt::Display for Amount<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_short(f, self.units.into(), U::PLACES)
    }
}

impl<U: Quantity> fmt::Debug for Amount<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={self}", U::NAME)
    }
}

impl<U: Quantity> Serialize for Amount<U> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Through the decimal text, so that the number in a JSON file is the decimal itself.
        let float: f64 = self.to_string().parse().map_err(serde::ser::Error::custom)?;
        serializer.serialize_f64(float)
    }
}

impl<'de, U: Quantity> Deserialize<'de> for Amount<U> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        // A JSON reader may be off in the last digit of a float, which no constructor accepts.
        let nearest = format!("{value:.*}", U::PLACES as usize).parse::<Self>().ok();
        let off = |amount: &Self| (amount.to_f64() - value).abs();
        match nearest.filter(|amount| off(amount) <= 4.0 * f64::EPSILON * value) {
            Some(nearest) => Ok(nearest),
            None => Self::from_f64(value).map_err(serde::de::Error::custom),
        }
    }
}

/// Amounts as JSON text, for `#[serde(with)]`: with all digits, where a JSON number has 17.
pub(crate) mod as_text {
    use super::{Amount, Deserialize, Deserializer, Quantity, Serializer};

    pub(crate) fn serialize<U: Quantity, S: Serializer>(
        amount: &Amount<U>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(amount)
    }

    pub(crate) fn deserialize<'de, U: Quantity, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Amount<U>, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_tenths_are_one() {
        let tenth: Epsilon = "0.1".parse().unwrap();
        let sum = (0..10).fold(Epsilon::ZERO, |s, _| s.checked_add(tenth).unwrap());
        assert_eq!(sum, Epsilon::from_f64(1.0).unwrap());
        assert_eq!(sum.checked_sub(tenth).unwrap().checked_sub(sum), None);
    }

    #[test]
    fn decimals_are_read_exactly() {
        for (text, units) in [
            ("1", 10u64.pow(18)),
            ("1e-5", 10u64.pow(13)),
            ("0.00001", 10u64.pow(13)),
            ("1.5E-17", 15),
            ("+0.5e0", 5 * 10u64.pow(17)),
            ("100e-2", 10u64.pow(18)),
            (".25", 25 * 10u64.pow(16)),
            ("0", 0),
            ("0e400", 0),
        ] {
            let got = text.parse::<Delta>();
            match units {
                u if u > DeltaQuantity::MAX => assert!(got.is_err(), "{text}"),
                u => assert_eq!(got.unwrap().units(), u, "{text}"),
            }
        }
        assert_eq!(Delta::from_f64(1e-5).unwrap().units(), 10u64.pow(13));
        for bad in ["", "-1", "1e-19", "nan", "inf", "0x1", "1.2.3", "1e999999999", "1_0", "e5"] {
            assert!(bad.parse::<Delta>().is_err(), "{bad}");
        }
        assert!(Epsilon::from_f64(f64::NAN).is_err());
        assert!(Epsilon::from_f64(1e7).is_err());
    }

    #[test]
    fn prints_as_written() {
        for text in ["0", "1", "0.5", "1e-5", "2.5e-7", "0.0001", "12.000000000001", "1e-12"] {
            assert_eq!(text.parse::<Epsilon>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn rounding_goes_the_stated_way() {
        for x in [0.1, 1.0 / 3.0, 0.123_456_789_012_345, 7.0, 1e-9 / 3.0] {
            let (up, down) = (Rho::from_f64_up(x).unwrap(), Rho::from_f64_down(x).unwrap());
            assert!(up.to_f64() >= x && down.to_f64() <= x, "{x}");
            assert!(up.units() - down.units() <= 2, "{x}");
        }
    }

    #[test]
    fn splits_add_up() {
        let whole: Epsilon = "1".parse().unwrap();
        let shares = whole.split(&[1, 1, 1, 0]);
        assert_eq!(shares.iter().map(|p| p.units()).sum::<u64>(), whole.units());
        assert_eq!(shares[3], Epsilon::ZERO);
        assert!(shares[0].units() - shares[2].units() <= 1);
        assert_eq!(whole.split(&[0, 0]), vec![Epsilon::ZERO; 2]);
    }

    /// A statement that could not be read back would lose its release.
    #[test]
    fn every_amount_is_read_back_from_json() {
        fn assert_read<U: Quantity + fmt::Debug + PartialEq>(units: u64) {
            let amount = Amount::<U>::from_units(units).unwrap();
            let json = serde_json::to_string(&amount).unwrap();
            let read: Amount<U> = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}"));
            let off = read.units().abs_diff(units) as f64;
            assert!(off <= 4.0 * units as f64 * f64::EPSILON, "{amount} {read}");
        }
        fn assert_all_read<U: Quantity + fmt::Debug + PartialEq>() {
            for digits in 0..18 {
                let units = 1_234_567_890_123_456_789 / 10u64.pow(digits);
                if units <= U::MAX {
                    assert_read::<U>(units);
                }
                assert_read::<U>(U::MAX - U::MAX / 10u64.pow(digits));
                assert_read::<U>(U::MAX - 10u64.pow(digits).min(U::MAX));
            }
            assert_read::<U>(U::MAX);
        }
        assert_all_read::<EpsilonQuantity>();
        assert_all_read::<DeltaQuantity>();
        assert_all_read::<RhoQuantity>();
        assert_all_read::<MuQuantity>();
        let error = "0.999999999999999999".parse::<Delta>().unwrap_err().to_string();
        assert_eq!(
            error,
            "delta = 0.999999999999999999 is not a valid delta: it must be a number from 0 to \
             0.999999999999999, at most 18 decimal places"
        );
    }

    #[test]
    fn serde_goes_through_the_constructor() {
        let delta: Delta = "1e-5".parse().unwrap();
        assert_eq!(serde_json::to_string(&delta).unwrap(), "0.00001");
        assert_eq!(serde_json::from_str::<Delta>("1e-5").unwrap(), delta);
        assert!(serde_json::from_str::<Delta>("1.0").is_err());
        assert!(serde_json::from_str::<Epsilon>("-1").is_err());
        assert!(serde_json::from_str::<Epsilon>("1e-13").is_err());
        assert!(serde_json::from_str::<Epsilon>("1.0000000000001").is_err());
    }
}
