//! Decimals as whole numbers of a small unit: reading and printing, both exact.

use std::fmt;

/// The number that `text` is, in units of `10^-places`. `None` if it is not a decimal at all, is
/// negative, needs more places or does not fit.
pub(crate) fn units(text: &str, places: u32) -> Option<u128> {
    let trimmed = text.trim();
    let (mantissa, exponent) = match trimmed.split_once(['e', 'E']) {
        Some((m, e)) => (m, e.parse::<i32>().ok()?),
        None => (trimmed, 0),
    };
    let mantissa = mantissa.strip_prefix('+').unwrap_or(mantissa);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, fraction].concat();
    if digits.is_empty() || digits.len() > 60 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    let power = i64::from(exponent) - fraction.len() as i64 + trailing as i64 + i64::from(places);
    // A negative power would need more decimal places than are kept.
    let scale = 10u128.checked_pow(u32::try_from(power).ok()?)?;
    significant.parse::<u128>().ok()?.checked_mul(scale)
}

/// Prints `units` of `10^-places` as a decimal that reads back as the same.
pub(crate) fn write(f: &mut fmt::Formatter<'_>, units: u128, places: u32) -> fmt::Result {
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
