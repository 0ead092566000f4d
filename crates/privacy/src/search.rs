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
