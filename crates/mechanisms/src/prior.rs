//! A public weighting of the points of a lattice.

/// Weights of the points from `low` to `high`: half of the whole is even over all points, half is even over
/// the octaves that they are in (points of as many binary digits have equal shares, whatever the sign).
///
/// So it suits values that fill their range as well as values of any order of magnitude in a range that is
/// as wide as can be: neither costs more than what the better of the two would, and ln 2. It is public, and
/// says nothing of any data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prior {
    low: i64,
    high: i64,
    /// Binary digits of the farthest point from zero.
    digits: u32,
    /// What each point has of the even half.
    even: u128,
}

impl Prior {
    /// Ends are at most 2^60.
    const FARTHEST: u64 = 1 << 60;

    /// Of the points `low` to `high`; `None` unless there is one, and none is beyond 2^60.
    pub(crate) fn new(low: i64, high: i64) -> Option<Self> {
        let farthest = low.unsigned_abs().max(high.unsigned_abs());
        if low > high || farthest > Self::FARTHEST {
            return None;
        }
        let digits = (u64::BITS - farthest.leading_zeros()).max(1);
        let mut prior = Self { low, high, digits, even: 0 };
        let points = u128::from(high.abs_diff(low)) + 1;
        prior.even = (prior.weight(low, high) / points).max(1);
        Some(prior)
    }

    /// The first point.
    pub(crate) fn low(&self) -> i64 {
        self.low
    }

    /// The last point.
    pub(crate) fn high(&self) -> i64 {
        self.high
    }

    /// The weight of the points `from` to `to`, which are in the range; none if there are none.
    pub(crate) fn weight(&self, from: i64, to: i64) -> u128 {
        if from > to {
            return 0;
        }
        let points = u128::from(to.abs_diff(from)) + 1;
        self.even * points + (self.before(to + 1) - self.before(from)).unsigned_abs()
    }

    /// The point at which the weight from `from` on exceeds `place`.
    pub(crate) fn nth(&self, from: i64, place: u128) -> i64 {
        let (mut low, mut high) = (from, self.high);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.weight(from, middle) > place {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// The smallest weight of a point, as a share of the whole.
    pub(crate) fn least_share(&self) -> f64 {
        let least = self.weight(self.low, self.low).min(self.weight(self.high, self.high));
        least as f64 / self.weight(self.low, self.high) as f64
    }

    /// The octaves' weight of the points from 0 to before `point`, negative below zero. A point of k binary
    /// digits has 2^(digits - k), and zero as much as one.
    fn before(&self, point: i64) -> i128 {
        let octave = 1i128 << (self.digits - 1);
        // Points 1 to t.
        let to = |t: u64| {
            if t == 0 {
                return 0;
            }
            let k = u64::BITS - t.leading_zeros();
            let own = i128::from(t + 1 - (1 << (k - 1))) << (self.digits - k);
            i128::from(k - 1) * octave + own
        };
        match point {
            ..0 => -to(point.unsigned_abs()),
            0 => 0,
            1.. => octave + to(point.unsigned_abs() - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Point by point, by the definition.
    fn one(prior: &Prior, x: i64) -> u128 {
        let k = (u64::BITS - x.unsigned_abs().leading_zeros()).max(1);
        prior.even + (1u128 << (prior.digits - k))
    }

    #[test]
    fn weights_are_those_of_the_points_and_the_halves_are_even() {
        for (low, high) in [(0, 0), (0, 1), (-5, 9), (100, 1000), (-1000, -3), (0, 255), (7, 7)] {
            let prior = Prior::new(low, high).unwrap();
            let mut sum = 0;
            for x in low..=high {
                assert_eq!(prior.weight(x, x), one(&prior, x), "{x} of {low} to {high}");
                assert_eq!(prior.weight(low, x - 1), sum);
                for place in [sum, sum + one(&prior, x) - 1] {
                    assert_eq!(prior.nth(low, place), x);
                }
                sum += one(&prior, x);
            }
            let even = prior.even * (high - low + 1) as u128;
            let octaves = sum - even;
            assert!(even <= octaves && octaves <= 2 * even, "{low} to {high}: {even} {octaves}");
            let least = (low..=high).map(|x| one(&prior, x)).min().unwrap();
            assert_eq!(prior.least_share(), least as f64 / sum as f64);
        }
    }

    /// All octaves of a range from zero weigh the same, but for the even half.
    #[test]
    fn octaves_are_even() {
        let prior = Prior::new(-(1 << 60), 1 << 60).unwrap();
        for k in 1..60 {
            let (from, to) = (1i64 << (k - 1), (1i64 << k) - 1);
            let even = prior.even * u128::from(to.abs_diff(from) + 1);
            assert_eq!(prior.weight(from, to) - even, 1 << 60);
            assert_eq!(prior.weight(-to, -from), prior.weight(from, to));
        }
        assert!(prior.weight(-(1 << 60), 1 << 60) < 1 << 69);
    }

    #[test]
    fn ranges_are_checked() {
        assert_eq!(Prior::new(1, 0), None);
        assert_eq!(Prior::new(0, (1 << 60) + 1), None);
        assert_eq!(Prior::new(i64::MIN, 0), None);
        assert!(Prior::new(-(1 << 60), 1 << 60).is_some());
    }
}
