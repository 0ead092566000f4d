//! Numbers that users give, checked.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use hushtable::privacy::AmountError;

use crate::failure::Failure;

/// `flag = value` is not good, what would be, and an example of it.
pub(crate) fn refuse(flag: &str, value: impl Display, range: &str, example: &str) -> Failure {
    Failure::Argument {
        flag: flag.to_owned(),
        value: value.to_string(),
        range: range.to_owned(),
        example: example.to_owned(),
    }
}

/// An epsilon, delta or rho.
pub(crate) fn amount<A>(flag: &str, text: &str, example: &str) -> Result<A, Failure>
where
    A: FromStr<Err = AmountError>,
{
    text.parse().map_err(|error: AmountError| {
        refuse(flag, text, &format!("a number {}", error.range), example)
    })
}

/// A whole number in `range`.
pub(crate) fn whole(
    flag: &str,
    text: &str,
    range: RangeInclusive<u64>,
    example: &str,
) -> Result<u64, Failure> {
    let refuse = || {
        let words = format!("a whole number from {} to {}", range.start(), range.end());
        refuse(flag, text, &words, example)
    };
    let number = text.trim().parse().map_err(|_| refuse())?;
    if range.contains(&number) { Ok(number) } else { Err(refuse()) }
}

/// A number in `range`, as the nearest double; the range `in_words`.
pub(crate) fn real(
    flag: &str,
    text: &str,
    range: RangeInclusive<f64>,
    in_words: &str,
    example: &str,
) -> Result<f64, Failure> {
    match text.trim().parse::<f64>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(refuse(flag, text, in_words, example)),
    }
}

/// A share in `range`, as `0.05` or `5%`.
pub(crate) fn share(
    flag: &str,
    text: &str,
    range: RangeInclusive<f64>,
    example: &str,
) -> Result<f64, Failure> {
    let number = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|p| p / 100.0),
        None => text.trim().parse::<f64>(),
    };
    match number {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => {
            let percent = |share: f64| (share * 1e8).round() / 1e6;
            let (least, most) = (percent(*range.start()), percent(*range.end()));
            let words = format!("a share from {least}% to {most}%");
            Err(refuse(flag, text, &words, example))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_their_range_only() {
        for bad in ["", "x", "nan", "inf", "-1", "0.4", "9", "1,5"] {
            assert!(real("x", bad, 0.5..=8.0, "a number", "1").is_err(), "{bad}");
        }
        assert_eq!(real("x", "5e-1", 0.5..=8.0, "a number", "1").unwrap(), 0.5);
        for bad in ["", "x", "-1", "0", "9", "1.5", "99999999999999999999"] {
            assert!(whole("x", bad, 1..=8, "1").is_err(), "{bad}");
        }
        assert_eq!(whole("x", " 8", 1..=8, "1").unwrap(), 8);
        for bad in ["", "%", "x%", "nan%", "0", "101%", "1.1"] {
            assert!(share("x", bad, 0.01..=1.0, "5%").is_err(), "{bad}");
        }
        assert_eq!(share("x", " 5 %", 0.01..=1.0, "5%").unwrap(), 0.05);
        assert_eq!(share("x", "0.05", 0.01..=1.0, "5%").unwrap(), 0.05);
    }
}
