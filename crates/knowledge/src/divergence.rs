//! The divergence between what is published under two values of the target's record.

use crate::integer_law::{IntegerLaw, UNIT};

/// The hockey-stick divergences at `epsilon` of a count with the target in it from one without, and
/// of one without from one with: of S + 1 from S and of S from S + 1, where S has the `law`. Both
/// rounded up.
///
/// The law is log-concave, so the terms above zero of the one are those of its upper end, and of
/// the other those of its lower end.
pub(crate) fn both(law: &IntegerLaw, epsilon: f64) -> [f64; 2] {
    if law.tail < f64::INFINITY && epsilon >= law.tail {
        return [0.0, 0.0];
    }
    let factors = Factors::new(law, epsilon);
    let up = factors.sum_of_terms(law.weights.iter().rev());
    let down = factors.sum_of_terms(law.weights.iter());
    [factors.rounded(up, law), factors.rounded(down, law)]
}

/// The larger of the two.
pub(crate) fn larger([one, other]: [f64; 2]) -> f64 {
    one.max(other)
}

/// At each `thresholds`, in rising order, the divergences of a count that is released if it is
/// above the threshold (PK Definition 15): S + 1 and S as in [`both`], with one outcome for
/// whatever is not released. The law must have no tail.
///
/// S + 1 is suppressed less often than S, so the suppressed outcome adds to the second only:
/// P\[S <= t\] - e^epsilon P\[S <= t - 1\] = P\[t\] - (e^epsilon - 1) P\[S <= t - 1\].
pub(crate) fn above(law: &IntegerLaw, epsilon: f64, thresholds: &[i64]) -> Vec<[f64; 2]> {
    let factors = Factors::new(law, epsilon);
    let weights = &law.weights;
    let weight = |k: i64| {
        usize::try_from(k - law.first).ok().and_then(|i| weights.get(i)).copied().unwrap_or(0.0)
    };
    let (first, last) = (law.first, law.last());
    let less = epsilon.exp_m1() * (1.0 - law.error - 8.0 * UNIT);
    let shrink = 1.0 - weights.len() as f64 * UNIT;
    // From above, what is released: S = t and more with the target, S above t without.
    let mut divergences = Vec::with_capacity(thresholds.len());
    let (mut up, mut down) = (0.0, 0.0);
    let mut next = last + 1;
    for threshold in thresholds.iter().rev() {
        let end = (*threshold).max(first - 2);
        while next > end {
            // The outcome is `next`.
            up += factors.term(weight(next - 1), weight(next));
            down += factors.term(weight(next), weight(next - 1));
            next -= 1;
        }
        divergences.push([up, down]);
    }
    divergences.reverse();
    // From below, what is suppressed.
    let mut below = 0.0;
    let mut at = first;
    for (threshold, [up, down]) in thresholds.iter().zip(&mut divergences) {
        while at < *threshold && at <= last {
            below += weight(at);
            at += 1;
        }
        let atom = weight(*threshold) * (1.0 + law.error);
        // An infinite factor takes no more than nothing from what nothing suppresses.
        let subtrahend = if below > 0.0 { less * (below * shrink) } else { 0.0 };
        *down += (atom - subtrahend).max(0.0);
        *up = factors.rounded(*up, law);
        *down = factors.rounded(*down, law);
    }
    divergences
}

/// Factors of weights before a subtraction, so that no result is too low.
struct Factors {
    more: f64,
    less: f64,
    /// Relative size of what lies beyond the last weight, together with it.
    end: f64,
}

impl Factors {
    fn new(law: &IntegerLaw, epsilon: f64) -> Self {
        let more = 1.0 + law.error;
        let end = if law.tail < f64::INFINITY {
            // The sum over all i of a^i (1 - e^epsilon a), with a = e^-tail.
            let all = -(-law.tail).exp_m1();
            let short = -(epsilon - law.tail).exp_m1();
            (short + 4.0 * UNIT * (1.0 + law.tail)) / all * (1.0 + 8.0 * UNIT)
        } else {
            1.0
        };
        Self { more, less: epsilon.exp() * (1.0 - law.error - 4.0 * UNIT), end }
    }

    /// (`weight` - e^epsilon `other`)_+, or no less.
    fn term(&self, weight: f64, other: f64) -> f64 {
        if weight <= 0.0 {
            return 0.0;
        }
        let subtrahend = if other > 0.0 { self.less * other } else { 0.0 };
        (weight * self.more - subtrahend).max(0.0)
    }

    /// The sum of the terms of each weight and the one before it, up to where there is none above
    /// zero: ratios of neighbours fall, so none is after it either.
    fn sum_of_terms<'a>(&self, weights: impl Iterator<Item = &'a f64>) -> f64 {
        let mut sum = 0.0;
        let mut before = 0.0;
        for (i, weight) in weights.enumerate() {
            let term =
                if i == 0 { weight * self.more * self.end } else { self.term(*weight, before) };
            if term <= 0.0 {
                break;
            }
            sum += term;
            before = *weight;
        }
        sum
    }

    fn rounded(&self, sum: f64, law: &IntegerLaw) -> f64 {
        let rounding = (law.weights.len() as f64 + 8.0) * 2.0 * UNIT;
        (sum * (1.0 + rounding) + law.lost).clamp(f64::MIN_POSITIVE, 1.0)
    }
}
