//! Searches on the line that need no derivative.

/// Where a function with one valley between `low` and `high` is least, about: golden section, to
/// about 1e-9 of the interval, below which rounding decides.
pub(crate) fn valley(mut low: f64, mut high: f64, at: impl Fn(f64) -> f64) -> f64 {
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

/// The largest float for which `holds`, given that it holds at `low`, not at `high`, and changes
/// over once.
pub(crate) fn last(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The least float that was found for which `holds`, given that it holds at `high` (which is not
/// checked); near the least of all where it changes over once, and in any case one for which it
/// holds. Found to one part in 10^13 of `high - low`.
pub(crate) fn first(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..43 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// A point between `low` and `high` at which the falling function `at` is at most `target`, near
/// the least such point: within one part in 10^11 of `target`, if so near a one is found. `high`
/// must be one (which is not checked), and is what is given back where `at` has no number.
///
/// The secant of ln `at`, which is nearly a line in what it is used for, made safe by halving the
/// value at an end that stays (the Illinois method).
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
            let same = first(0.0, 40.0, |x| falling(x) <= target);
            assert!(falling(same) <= target && (same / x - 1.0).abs() < 1e-9);
        }
        assert_eq!(falls_to(2.0, 0.0, 40.0, falling), 0.0);
        assert_eq!(falls_to(0.5, 0.0, 40.0, |_| f64::NAN), 40.0);
        let x = falls_to(0.5, 0.0, 40.0, |x| if x < 7.0 { 1.0 } else { 0.0 });
        assert!((7.0..7.001).contains(&x), "{x}");
        assert!((last(0.0, 9.0, |x| x < 2.0) - 2.0).abs() < 1e-15);
        assert!((valley(-4.0, 9.0, |x| (x - 1.0) * (x - 1.0)) - 1.0).abs() < 1e-6);
    }
}
