//! Decimals as whole numbers of a small unit: reading, rounding and printing.

use std::fmt;

use num_bigint::BigUint;

/// Most digits of a decimal in a table.
pub const MOST_DIGITS: u8 = 38;

/// The largest whole number of [`MOST_DIGITS`] digits.
pub const LARGEST: i128 = 10i128.pow(MOST_DIGITS as u32) - 1;

/// A decimal as it is written: `[+-]digits[.digits][e[+-]digits]`.
#[derive(Clone, Copy, Debug)]
pub struct WrittenDecimal<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i32,
}

impl<'a> WrittenDecimal<'a> {
    /// Takes a text apart. `None` if it is no decimal, if anything is around it, or if its exponent
    /// is beyond 32 bits.
    #[inline]
    pub fn read(text: &'a str) -> Option<Self> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse().ok()?),
            None => (text, 0),
        };
        let (negative, number) = match number.as_bytes().first()? {
            b'-' => (true, &number[1..]),
            b'+' => (false, &number[1..]),
            _ => (false, number),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let written = Self { negative, whole, fraction, exponent };
        let is_number = !(whole.is_empty() && fraction.is_empty());
        (is_number && written.characters().all(|digit| digit.is_ascii_digit())).then_some(written)
    }

    #[inline]
    fn characters(&self) -> impl DoubleEndedIterator<Item = u8> + 'a {
        self.whole.bytes().chain(self.fraction.bytes())
    }

    #[inline]
    fn digits(&self) -> impl DoubleEndedIterator<Item = u8> + 'a {
        self.characters().map(|character| character - b'0')
    }

    /// Whether there is a minus sign, perhaps before a zero.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The exponent after the digits.
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The power of ten of the last digit that is written.
    fn last_power(&self) -> i64 {
        i64::from(self.exponent) - self.fraction.len() as i64
    }

    /// The least number of decimal places that hold the number.
    pub fn places(&self) -> u64 {
        let zeros = self.digits().rev().take_while(|digit| *digit == 0).count();
        if zeros == self.whole.len() + self.fraction.len() {
            return 0;
        }
        (self.last_power() + zeros as i64).min(0).unsigned_abs()
    }

    /// The number without its sign, in units of `10^-places`. `None` if it needs more places or
    /// more than 128 bits.
    pub fn exactly(&self, places: u32) -> Option<u128> {
        let zeros = self.digits().rev().take_while(|digit| *digit == 0).count();
        let significant = self.whole.len() + self.fraction.len() - zeros;
        if significant == 0 {
            return Some(0);
        }
        let mut digits = self.digits().take(significant);
        let number = digits.try_fold(0u128, |number, digit| {
            number.checked_mul(10)?.checked_add(u128::from(digit))
        })?;
        let power = self.last_power() + zeros as i64 + i64::from(places);
        number.checked_mul(10u128.checked_pow(u32::try_from(power).ok()?)?)
    }

    /// The number times `10^scale`, rounded half away from zero. `None` if it has more than
    /// [`MOST_DIGITS`] digits then.
    #[inline]
    pub fn rounded(&self, scale: u8) -> Option<i128> {
        // The result has the first `retained` digits of the number, and zeros from there on.
        let length = i64::try_from(self.whole.len()).ok()?;
        let retained = length + i64::from(self.exponent) + i64::from(scale);
        let mut value = 0_i128;
        let mut position = 0_i64;
        for digit in self.digits().map(i128::from) {
            if position < retained {
                value = value.checked_mul(10)?.checked_add(digit)?;
            } else {
                if position == retained && digit >= 5 {
                    value = value.checked_add(1)?;
                }
                break;
            }
            position += 1;
        }
        if value != 0 && retained > position {
            value = value.checked_mul(power_of_ten(retained - position)?)?;
        }
        within_digits(if self.negative { -value } else { value })
    }

    /// All digits as a whole number, and how many of them are decimal places: less than none where
    /// zeros are left out.
    pub fn all_digits(&self) -> Option<(BigUint, i64)> {
        let text: Vec<u8> = self.characters().collect();
        Some((BigUint::parse_bytes(&text, 10)?, -self.last_power()))
    }
}

/// `10^exponent`; `None` if it has more digits than a decimal.
pub fn power_of_ten(exponent: i64) -> Option<i128> {
    10i128.checked_pow(u32::try_from(exponent).ok()?)
}

/// The digits of a decimal, if there are at most [`MOST_DIGITS`].
#[inline]
pub fn within_digits(digits: i128) -> Option<i128> {
    (-LARGEST..=LARGEST).contains(&digits).then_some(digits)
}

/// `value / divisor`, halves away from zero; `divisor` above zero.
#[inline]
pub fn round_quotient(value: i128, divisor: i128) -> i128 {
    if divisor == 1 {
        return value;
    }
    // Processors divide numbers of 64 bits several times faster.
    if let (Ok(short), Ok(divisor)) = (i64::try_from(value), i64::try_from(divisor)) {
        let (quotient, rest) = (short / divisor, short % divisor);
        let away = i64::from(rest.abs() >= divisor - rest.abs());
        return (quotient + away * short.signum()).into();
    }
    let (quotient, rest) = (value / divisor, value % divisor);
    // rest >= divisor / 2, without doubling.
    if rest.abs() >= divisor - rest.abs() { quotient + value.signum() } else { quotient }
}

/// A whole number of units of `10^-scale`, which prints with all of its decimal places: `-0.50`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedDecimal {
    /// How many units.
    pub digits: i128,
    /// The decimal places.
    pub scale: u8,
}

impl fmt::Display for FixedDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.digits < 0 { "-" } else { "" };
        let size = self.digits.unsigned_abs();
        if self.scale == 0 {
            return write!(f, "{sign}{size}");
        }
        // 10^39 is above every size.
        let one = 10u128.checked_pow(u32::from(self.scale));
        let (whole, fraction) = one.map_or((0, size), |one| (size / one, size % one));
        write!(f, "{sign}{whole}.{fraction:0width$}", width = usize::from(self.scale))
    }
}

/// Prints `units` of `10^-places` (at most 38 places) as the shortest decimal that reads back as
/// the same, small ones as `1e-5`.
///
/// # Errors
/// Fails where `f` does.
pub fn write_short(f: &mut fmt::Formatter<'_>, units: u128, places: u32) -> fmt::Result {
    let one = 10u128.pow(places);
    let (whole, fraction) = (units / one, units % one);
    if fraction == 0 {
        return write!(f, "{whole}");
    }
    let digits = format!("{fraction:0width$}", width = places as usize);
    let digits = digits.trim_end_matches('0');
    let zeros = digits.len() - digits.trim_start_matches('0').len();
    if whole == 0 && zeros >= 4 {
        // 0.00001 is easier to read, and to get right, as 1e-5.
        let (first, rest) = digits[zeros..].split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return write!(f, "{first}{point}{rest}e-{}", zeros + 1);
    }
    write!(f, "{whole}.{digits}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> WrittenDecimal<'_> {
        WrittenDecimal::read(text).unwrap()
    }

    #[test]
    fn decimals_are_read_whole_or_not_at_all() {
        for wrong in
            ["", "+", "-", ".", "e5", "1e", "--1", "+-1", "1.2.3", "1 2", " 1", "0x1", "nan", "1_0"]
        {
            assert!(WrittenDecimal::read(wrong).is_none(), "{wrong}");
        }
        assert!(WrittenDecimal::read("1e99999999999").is_none());
        assert!(WrittenDecimal::read("1é").is_none() && WrittenDecimal::read("é").is_none());
        assert!(read("-0").is_negative() && !read("+5").is_negative());
    }

    #[test]
    fn exact_reading_drops_no_digit() {
        for (text, places, units) in [
            ("1", 0, Some(1)),
            ("-2.50e1", 0, Some(25)),
            ("2.5", 0, None),
            ("100e-2", 0, Some(1)),
            (".25", 18, Some(25 * 10u128.pow(16))),
            ("1e-19", 18, None),
            ("0e400", 0, Some(0)),
            ("0.000e-2147483648", 3, Some(0)),
            ("1e2147483647", 30, None),
            ("340282366920938463463374607431768211455", 0, Some(u128::MAX)),
            ("340282366920938463463374607431768211456", 0, None),
            ("34028236692093846346337460743176821145.50", 1, Some(u128::MAX)),
        ] {
            assert_eq!(read(text).exactly(places), units, "{text}");
        }
        let places =
            ["1", "1.0", "1.50", "100e-3", "1e5", "0.00", "12.5e1"].map(|t| read(t).places());
        assert_eq!(places, [0, 0, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn rounded_reading_is_half_away_from_zero() {
        for (text, scale, digits) in [
            ("2.345", 2, Some(235)),
            ("-2.345", 2, Some(-235)),
            ("2.3449999", 2, Some(234)),
            ("1e3", 2, Some(100_000)),
            ("5e-3", 2, Some(1)),
            ("4.9e-3", 2, Some(0)),
            ("5e-4", 2, Some(0)),
            ("-0", 2, Some(0)),
            ("99999999999999999999999999999999999999", 0, Some(LARGEST)),
            ("99999999999999999999999999999999999999.5", 0, None),
            ("1e38", 0, None),
            ("0e38", 5, Some(0)),
        ] {
            assert_eq!(read(text).rounded(scale), digits, "{text}");
        }
        let halves = [(5, 10), (-5, 10), (4, 10), (15, 10), (i128::MAX, 1)];
        assert_eq!(halves.map(|(n, d)| round_quotient(n, d)), [1, -1, 0, 2, i128::MAX]);
        // Numbers of 64 bits have a way of their own.
        let ends = [0, i128::from(i64::MAX), i128::from(i64::MIN), 1 << 70, -(1 << 70)];
        for value in ends.into_iter().flat_map(|end| end - 25..=end + 25) {
            for divisor in [1, 2, 3, 10, 1000, (1 << 62) + 1, i128::from(i64::MAX), 1 << 64] {
                let twice = 2 * value.abs() + divisor;
                let want = value.signum() * (twice / (2 * divisor));
                assert_eq!(round_quotient(value, divisor), want, "{value} / {divisor}");
            }
        }
    }

    #[test]
    fn all_digits_are_those_before_and_after_the_point() {
        assert_eq!(read("12.50e1").all_digits(), Some((BigUint::from(1250u32), 1)));
        assert_eq!(read("3e2").all_digits(), Some((BigUint::from(3u32), -2)));
    }

    #[test]
    fn printing_keeps_the_places() {
        for (digits, scale, text) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (-5, 2, "-0.05"),
            (12_345, 2, "123.45"),
            (-12_345, 0, "-12345"),
            (i128::MIN, 1, "-17014118346046923173168730371588410572.8"),
            (5, 40, "0.0000000000000000000000000000000000000005"),
        ] {
            assert_eq!(FixedDecimal { digits, scale }.to_string(), text);
        }
    }
}
