//! Searches on the line that need no derivative.

use num_traits::{Num, PrimInt};

/// Where a function with one valley between `low` and `high` is least, about: golden section, to
/// about 1e-9 of the interval, below which rounding decides.
pub fn valley(mut low: f64, mut high: f64, at: impl Fn(f64) -> f64) -> f64 {
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let (mut left, mut right) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_left, mut at_right) = (at(left), at(right));
    for _ in 0..48 {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - golden * (high - low);
            at_left = at(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + golden * (high - low);
            at_right = at(right);
        }
    }
    0.5 * (low + high)
}

/// Moves two ends together: `reached` is false at the low one and true at the high one, neither of
/// which is checked. `between` gives the next one to try between them, and ends the search where it
/// gives none. All other searches by halving are this one.
#[inline]
pub fn narrow<T: Copy>(
    (mut low, mut high): (T, T),
    mut between: impl FnMut(T, T) -> Option<T>,
    mut reached: impl FnMut(T) -> bool,
) -> (T, T) {
    while let Some(middle) = between(low, high) {
        if reached(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    (low, high)
}

/// Halvings after which no float is left between two of about the same size.
pub const TO_THE_LAST_BIT: u32 = 200;

/// The middle of two floats, `halvings` times, as long as there is one.
fn halvings(mut halvings: u32) -> impl FnMut(f64, f64) -> Option<f64> {
    move |low, high| {
        halvings = halvings.checked_sub(1)?;
        let middle = 0.5 * (low + high);
        (middle > low && middle < high).then_some(middle)
    }
}

/// The largest float tried for which `holds`, given that it holds at `low` (which is not checked)
/// and not at `high`; near the border where it changes over once, and in any case one for which it
/// holds. The border is within `high - low`, halved `times` times.
pub fn last(low: f64, high: f64, times: u32, mut holds: impl FnMut(f64) -> bool) -> f64 {
    narrow((low, high), halvings(times), |x| !holds(x)).0
}

/// The least float tried for which `holds`, given that it holds at `high` (which is not checked)
/// and not at `low`; otherwise as [`last`].
pub fn first(low: f64, high: f64, times: u32, holds: impl FnMut(f64) -> bool) -> f64 {
    narrow((low, high), halvings(times), holds).1
}

/// The middle of two whole numbers, unless one of them is that.
#[inline]
fn whole_between<T: PrimInt>(low: T, high: T) -> Option<T> {
    // Without overflow: the bits that both have, and half of all others.
    let middle = (low & high) + ((low ^ high) >> 1);
    (middle > low && middle < high).then_some(middle)
}

/// The last whole number from `low` on and below `high` for which `holds`, given that it holds at
/// `low` and not at `high` (neither is checked), and changes over once.
#[inline]
pub fn last_whole<T: PrimInt>(low: T, high: T, mut holds: impl FnMut(T) -> bool) -> T {
    narrow((low, high), whole_between, |x| !holds(x)).0
}

/// The first whole number above `low` and up to `high` for which `holds`, given that it holds at
/// `high` and not at `low` (neither is checked), and changes over once.
#[inline]
pub fn first_whole<T: PrimInt>(low: T, high: T, holds: impl FnMut(T) -> bool) -> T {
    narrow((low, high), whole_between, holds).1
}

/// The first of `start`, `times` that, and so on up to `most`, which is tried too, for which
/// `holds`; and the one before it, if that is not the start. `None` if it holds for none.
pub fn grow<T: Num + Copy + PartialOrd>(
    start: T,
    times: T,
    most: T,
    mut holds: impl FnMut(T) -> bool,
) -> Option<(Option<T>, T)> {
    let (mut before, mut at) = (None, start);
    while !holds(at) {
        let next = if at > most / times { most } else { at * times };
        if next > at {
            (before, at) = (Some(at), next);
        } else {
            return None;
        }
    }
    Some((before, at))
}

/// The first whole number above `low` for which `holds`, by doubling from `start` and then by
/// halving, given that it does not hold at `low` and changes over once. `None` if it holds for none
/// that was tried up to `most`.
pub fn least_whole<T: PrimInt>(
    low: T,
    start: T,
    most: T,
    mut holds: impl FnMut(T) -> bool,
) -> Option<T> {
    let (before, reached) = grow(start, T::one() + T::one(), most, &mut holds)?;
    Some(first_whole(before.unwrap_or(low), reached, holds))
}

/// A point between `low` and `high` at which the falling function `at` is at most `target`, near
/// the least such point: within one part in 10^11 of `target`, if a point as near is reached.
/// `high` must be one (which is not checked), and is what is given back where `at` has no number.
///
/// The secant method on ln `at`, which is nearly linear where this is used, made safe by halving
/// the value at an end that stays (the Illinois method).
pub fn falls_to(target: f64, mut low: f64, mut high: f64, at: impl Fn(f64) -> f64) -> f64 {
    let above = |x: f64| (at(x) / target).ln().clamp(-700.0, 700.0);
    let mut at_low = above(low);
    if at_low <= 0.0 {
        return low;
    }
    let mut at_high = above(high).min(-1e-9);
    for _ in 0..100 {
        let secant = high + (high - low) * at_high / (at_low - at_high);
        let x = if secant > low && secant < high { secant } else { 0.5 * (low + high) };
        if x <= low || x >= high {
            break;
        }
        let now = above(x);
        if now <= 0.0 {
            (high, at_high, at_low) = (x, now.min(-1e-300), 0.5 * at_low);
            if now > -1e-11 {
                break;
            }
        } else {
            // Where there is no number, this end moves too.
            (low, at_low, at_high) = (x, now.max(1e-300), 0.5 * at_high);
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_end_on_the_right_side() {
        let falling = |x: f64| (-x * x - x).exp();
        for target in [0.9, 0.1, 1e-10, 1e-200] {
            let x = falls_to(target, 0.0, 40.0, falling);
            assert!(falling(x) <= target && falling(x) >= target * (1.0 - 1e-10), "{target}: {x}");
            let same = first(0.0, 40.0, 43, |x| falling(x) <= target);
            assert!(falling(same) <= target && (same / x - 1.0).abs() < 1e-9);
        }
        assert_eq!(falls_to(2.0, 0.0, 40.0, falling), 0.0);
        assert_eq!(falls_to(0.5, 0.0, 40.0, |_| f64::NAN), 40.0);
        let x = falls_to(0.5, 0.0, 40.0, |x| if x < 7.0 { 1.0 } else { 0.0 });
        assert!((7.0..7.001).contains(&x), "{x}");
        assert!((last(0.0, 9.0, TO_THE_LAST_BIT, |x| x < 2.0) - 2.0).abs() < 1e-15);
        assert!((valley(-4.0, 9.0, |x| (x - 1.0) * (x - 1.0)) - 1.0).abs() < 1e-6);
    }

    /// Whatever the number of halvings, one end holds and the other does not.
    #[test]
    fn floats_are_on_the_side_that_is_asked_for() {
        for border in [1e-9, 0.3, 2.0, 8.999] {
            for times in [0, 1, 7, 43, TO_THE_LAST_BIT] {
                let (below, from) = (
                    last(0.0, 9.0, times, |x| x < border),
                    first(0.0, 9.0, times, |x| x >= border),
                );
                assert!(below < border && border <= from, "{border}, {times}: {below}, {from}");
                assert!(from - below <= 9.0 * 0.5f64.powi(times.min(50) as i32), "{border}");
            }
        }
        // Not a number is not a border.
        assert_eq!(first(0.0, f64::INFINITY, 60, |x| x > 1.0), f64::INFINITY);
        assert!(first(0.0, f64::NAN, 60, |x| x > 1.0).is_nan());
    }

    #[test]
    fn whole_numbers_are_those_next_to_the_border() {
        for border in [1u64, 2, 3, 99, 1 << 40] {
            assert_eq!(first_whole(0, u64::MAX, |x| x >= border), border);
            assert_eq!(last_whole(0, u64::MAX, |x| x < border), border - 1);
            assert_eq!(least_whole(0, 1, 1 << 62, |x| x >= border), Some(border));
            assert_eq!(least_whole(0, 77, 1 << 62, |x| x >= border), Some(border));
        }
        for border in [i128::MIN + 1, -5, 0, i128::MAX] {
            assert_eq!(first_whole(i128::MIN, i128::MAX, |x| x >= border), border);
        }
        assert_eq!(least_whole(-1i128, 8, 1 << 90, |_| true), Some(0));
        assert_eq!(least_whole(0, 3, 1000u64, |x| x >= 1000), Some(1000));
        assert_eq!(least_whole(0, 3, 1000u64, |x| x > 1000), None);
        // Ends that are next to each other, or the same, are not moved.
        assert_eq!((first_whole(4, 5, |_| false), last_whole(4, 4, |_| true)), (5, 4));
    }

    #[test]
    fn growth_ends_at_the_most() {
        assert_eq!(grow(1.0, 4.0, 1e6, |x| x >= 5.0), Some((Some(4.0), 16.0)));
        assert_eq!(grow(1.0, 4.0, 1e6, |x| x >= 1e6), Some((Some(262_144.0), 1e6)));
        assert_eq!(grow(1.0, 4.0, 1e6, |_| true), Some((None, 1.0)));
        assert_eq!(grow(1.0, 4.0, 1e6, |_| false), None);
        assert_eq!(grow(1u64, 2, u64::MAX, |x| x == u64::MAX), Some((Some(1 << 63), u64::MAX)));
        // Zero and infinity do not grow.
        assert_eq!(grow(0.0, 2.0, 0.0, |_| false), None);
        assert_eq!(grow(1.0, 2.0, f64::INFINITY, |_| false), None);
        assert_eq!(grow(1.0, 2.0, 8.0, |x: f64| x.is_nan()), None);
    }
}
