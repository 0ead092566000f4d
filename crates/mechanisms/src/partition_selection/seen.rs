//! Intervals around noisy counts that are seen only because they reached a threshold: counts of
//! units that the selection gives, and the measured count that it chooses by.

use hushtable_noise::Law;
use hushtable_numbers::search::{first_whole, least_whole};

use super::{Selection, SelectionMechanism};

/// Why a noisy count is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShowReason {
    /// It reached the threshold of the selection.
    Selected,
    /// Its group is known without the data: it is seen from this noisy count on, or always.
    Known(Option<i64>),
}

impl Selection {
    /// The least and greatest number of units, or of what a measured count counts, with which the
    /// noisy count is not in an outer tail of its law, each tail with a probability of
    /// (1 - `level`)/2, *given that the count is seen*. The interval holds the released count, too.
    /// `None` for strategies without noisy counts.
    ///
    /// Of all counts that are seen of a group, a share of at least `level` has the true number in
    /// the interval: the number is left out only where the count is in one of the two tails. The
    /// tails are monotone in the number, as the laws have monotone likelihood ratios, also where
    /// they are cut off below.
    pub fn count_interval(
        &self,
        count: i128,
        level: f64,
        seen: ShowReason,
    ) -> Option<(i128, i128)> {
        let measured = matches!(self.mechanism, SelectionMechanism::Measured(_));
        if !measured && !self.strategy().gives_count() {
            return None;
        }
        let tail = 0.5 * (1.0 - level);
        let least = match seen {
            // A unit may add nothing to the count.
            ShowReason::Selected if measured => 0,
            ShowReason::Selected => i128::from(self.least),
            ShowReason::Known(_) => 0,
        };
        let law = CountLaw { selection: self, seen };
        let start = count.max(least);
        let above = |n: i128| law.at_least(count, n) > tail * law.seen(n);
        let below = |n: i128| law.at_most(count, n) > tail * law.seen(n);
        let low = if above(least) { least } else { first_whole(least, start, above) };
        let most = 1 << 126;
        let room = match &self.mechanism {
            SelectionMechanism::Measured(m) => m.rounding(),
            _ => 0,
        };
        let beyond = least_whole(0, 1, most, |far| !below(start.saturating_add(far)));
        let (low, beyond) = ((low - room).max(least), beyond.unwrap_or(most) - 1 + room);
        Some((low.min(start), start.saturating_add(beyond)))
    }

    /// The chance of being seen from which on a count is taken to be seen anyway. An interval that
    /// misses with this times o, seen or not, then misses with o at most of those that are seen.
    pub const SEEN_ANYWAY: f64 = 0.8;

    /// The released count from which on what is measured with a count that chooses groups may be
    /// taken as if its group were always seen: such a count tells, except for a chance of
    /// `outside`, that it is seen with a probability of [`SEEN_ANYWAY`](Self::SEEN_ANYWAY) at
    /// least. `None` for other strategies.
    pub fn seen_anyway_from(&self, outside: f64) -> Option<i128> {
        let SelectionMechanism::Measured(m) = &self.mechanism else { return None };
        let often = m.seen_with(Self::SEEN_ANYWAY, self.least);
        let seems = |count: i128| {
            let interval = self.count_interval(count, 1.0 - 2.0 * outside, ShowReason::Selected);
            interval.is_some_and(|(low, _)| low >= often)
        };
        // No count below it is seen.
        let least = m.threshold_from(self.least);
        least_whole(least - 1, least.max(1), 1 << 100, seems)
    }
}

/// The law of a noisy count that is seen.
struct CountLaw<'a> {
    selection: &'a Selection,
    seen: ShowReason,
}

impl CountLaw<'_> {
    /// P\[noise >= `x`\], of noise in whole units.
    fn tail(&self, x: i128) -> f64 {
        match &self.selection.mechanism {
            SelectionMechanism::TruncatedGeometric(m) => m.law().tail(x).clamp(0.0, 1.0),
            // The fine noise is rounded to units.
            SelectionMechanism::Threshold(m) => m.noise_tail(x as f64 - 0.5).clamp(0.0, 1.0),
            SelectionMechanism::Measured(m) => m.tail(x),
            SelectionMechanism::Optimal(_)
            | SelectionMechanism::Weighted(_)
            | SelectionMechanism::Votes(_) => 0.0,
        }
    }

    /// The probability that the count of a group of `n` units is seen.
    fn seen(&self, n: i128) -> f64 {
        match self.seen {
            ShowReason::Selected => match &self.selection.mechanism {
                SelectionMechanism::Measured(m) => {
                    m.tail(m.threshold_from(self.selection.least) - n)
                }
                _ => self.selection.keep_probability(u64::try_from(n).unwrap_or(u64::MAX)),
            },
            ShowReason::Known(Some(threshold)) => {
                self.tail(i128::from(threshold).saturating_sub(n))
            }
            ShowReason::Known(None) => 1.0,
        }
    }

    /// The probability that it is seen and at least `count`.
    fn at_least(&self, count: i128, n: i128) -> f64 {
        self.tail(count.saturating_sub(n)).min(self.seen(n))
    }

    /// The probability that it is seen and at most `count`.
    fn at_most(&self, count: i128, n: i128) -> f64 {
        self.seen(n) - self.at_least(count.saturating_add(1), n)
    }
}
