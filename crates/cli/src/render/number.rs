//! Numbers with as many digits as help.

/// Digits that are kept where there is a fraction.
const DIGITS: i32 = 6;

/// `12,345.6`, `51`, `4.63e-7`.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "unknown".to_owned();
    }
    let size = value.abs();
    if size == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e15).contains(&size) {
        scientific(value)
    } else {
        let magnitude = size.log10().floor() as i32;
        let decimals = usize::try_from(DIGITS - 1 - magnitude).unwrap_or(0);
        grouped(&trimmed(&format!("{value:.decimals$}")))
    }
}

/// A number with all of its digits: `2,024`, `0.125`.
pub(crate) fn exact(value: f64) -> String {
    match value.abs() {
        size if size == 0.0 || (1e-6..1e15).contains(&size) => grouped(&value.to_string()),
        _ if value.is_finite() => format!("{value:e}"),
        _ => number(value),
    }
}

/// `1e-6`, `4.63e-7`: three digits.
fn scientific(value: f64) -> String {
    let text = format!("{value:.2e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => format!("{}e{exponent}", trimmed(mantissa)),
        None => text,
    }
}

/// A probability; next to 1 it is not rounded to 1.
pub(crate) fn probability(p: f64) -> String {
    if p > 0.9999 && p < 1.0 {
        "over 0.9999".to_owned()
    } else if p >= 0.99 {
        trimmed(&format!("{p:.4}"))
    } else if p >= 1e-3 {
        trimmed(&format!("{p:.3}"))
    } else {
        number(p)
    }
}

/// Rounds `value` up to four digits: for what must not be understated.
pub(crate) fn at_least(value: f64) -> String {
    if !value.is_finite() || value <= 0.0 {
        return number(value);
    }
    if value < 1e-290 {
        // Where a unit of the fourth digit is no normal double. 0.0005 is at least what the
        // rounding to four digits takes away.
        return format!("{:.3e}", value * 1.0005);
    }
    let magnitude = value.log10().floor() as i32;
    let unit = 10f64.powi(magnitude - 3);
    // A value a hair above a short decimal is that decimal after a rounding.
    four_digits((value / unit * (1.0 - 1e-12)).ceil() * unit, magnitude)
}

/// Rounds `value`, which is not below zero, down to four digits: for what must not be overstated.
pub(crate) fn at_most(value: f64) -> String {
    if !value.is_finite() || value <= 0.0 {
        return number(value);
    }
    let magnitude = value.log10().floor() as i32;
    let unit = 10f64.powi(magnitude - 3);
    // A value a hair below a short decimal is that decimal before a rounding.
    four_digits((value / unit * (1.0 + 1e-12)).floor() * unit, magnitude)
}

/// Text of a value that is already rounded to four digits; `magnitude` is the power of ten of the
/// first.
fn four_digits(value: f64, magnitude: i32) -> String {
    if (1e-3..1e15).contains(&value) {
        let decimals = usize::try_from(3 - magnitude).unwrap_or(0);
        return grouped(&trimmed(&format!("{value:.decimals$}")));
    }
    let text = format!("{value:.3e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => format!("{}e{exponent}", trimmed(mantissa)),
        None => text,
    }
}

/// A JSON number with 17 significant digits, except for zeros at its end.
pub(crate) fn digits17(value: f64) -> String {
    let text = format!("{value:.16e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    match exponent.parse::<i32>() {
        // 0.00012 and 1234.5 read better than 1.2e-4 and 1.2345e3.
        Ok(power @ -5..=16) => {
            let decimals = usize::try_from(16 - power).unwrap_or(0);
            trimmed(&format!("{value:.decimals$}"))
        }
        _ => format!("{}e{exponent}", trimmed(mantissa)),
    }
}

/// Without zeros at the end of the fraction.
fn trimmed(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

/// With a comma after every three digits before the point.
fn grouped(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(w, f)| (w, Some(f)));
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (value, text) in [
            (0.0, "0"),
            (51.0, "51"),
            (1_000_000.0, "1,000,000"),
            (-12_345.6, "-12,345.6"),
            (2396.35, "2,396.35"),
            (799.920_000_000_1, "799.92"),
            (99.990_000_000_000_01, "99.99"),
            (999_999.96, "1,000,000"),
            (0.0625, "0.0625"),
            (4.634_220_2e-7, "4.63e-7"),
            (1e-6, "1e-6"),
            (2e18, "2e18"),
            (f64::NAN, "unknown"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn probabilities_are_never_rounded_to_certainty() {
        for (value, text) in [
            (0.0, "0"),
            (1e-6, "1e-6"),
            (0.000_018_245, "1.82e-5"),
            (0.5, "0.5"),
            (0.512_34, "0.512"),
            (0.9895, "0.99"),
            (0.999_5, "0.9995"),
            (0.999_999_5, "over 0.9999"),
            (1.0, "1"),
        ] {
            assert_eq!(probability(value), text);
        }
    }

    #[test]
    fn implied_losses_are_rounded_up() {
        for (value, text) in [
            (5.256_521_3, "5.257"),
            (1e-5 + 1e-6, "1.1e-5"),
            (2e-6, "2e-6"),
            (0.01, "0.01"),
            (10.0, "10"),
            (9.999_9, "10"),
            (12_345.1, "12,350"),
            (0.0, "0"),
            (f64::MIN_POSITIVE, "2.226e-308"),
        ] {
            assert_eq!(at_least(value), text);
        }
    }

    #[test]
    fn lower_bounds_are_rounded_down() {
        for (value, text) in [
            (0.973_96, "0.9739"),
            (1.0, "1"),
            (0.3, "0.3"),
            (1.999_99, "1.999"),
            (12_345.9, "12,340"),
            (4.567_89e-7, "4.567e-7"),
            (0.0, "0"),
        ] {
            assert_eq!(at_most(value), text);
        }
    }

    #[test]
    fn floats_have_17_digits_and_read_back() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.5, "0.5"),
            (0.1, "0.10000000000000001"),
            (1234.5, "1234.5"),
            (1e16, "10000000000000000"),
            (1e17, "1e17"),
            (7.718_211_827_601_505e-6, "7.7182118276015051e-6"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        ] {
            let got = digits17(value);
            assert_eq!(got, text);
            assert_eq!(got.parse::<f64>().unwrap().to_bits(), value.to_bits());
            let read: serde_json::Value = serde_json::from_str(&got).unwrap();
            assert_eq!(read.as_f64().unwrap().to_bits(), value.to_bits());
        }
    }
}
