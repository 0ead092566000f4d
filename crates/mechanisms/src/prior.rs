//! A public weighting of the points of a lattice.

/// Weights of the points from `low` to `high`: half of the whole is even over all points up to a scale,
/// half is even over the octaves that points are in (those of as many binary digits have equal shares,
/// whatever the sign), and falls by half from octave to octave beyond the scale, twelve times.
///
/// So it suits values that fill a range as well as values of any order of magnitude: neither costs more than
/// what the better of the two would, and ln 2. It is public, and says nothing of any data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prior {
    low: i64,
    high: i64,
    scale: i64,
    /// Binary digits of the farthest point from zero, and of the scale.
    digits: u32,
    scale_digits: u32,
    /// What each point up to the scale has of the even half.
    even: u128,
}

/// Binary digits; zero counts as one.
fn digits(x: u64) -> u32 {
    (u64::BITS - x.leading_zeros()).max(1)
}

impl Prior {
    /// Ends are at most 2^60.
    const FARTHEST: u64 = 1 << 60;
    /// How often weights of octaves fall by half.
    const FALLS: u32 = 12;

    /// Of the points `low` to `high`; `None` unless there is one up to the scale, and none is beyond 2^60.
    pub(crate) fn new(low: i64, high: i64, scale: i64) -> Option<Self> {
        let farthest = low.unsigned_abs().max(high.unsigned_abs());
        if low > high || farthest > Self::FARTHEST {
            return None;
        }
        let scale_digits = digits(scale.unsigned_abs());
        let mut prior = Self { low, high, scale, digits: digits(farthest), scale_digits, even: 0 };
        let points = Some(prior.points(low, high)).filter(|&points| points > 0)?;
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
        let octaves = self.before(to + 1) - self.before(from);
        self.even * self.points(from, to) + octaves.unsigned_abs()
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

    /// How many of the points are up to the scale.
    fn points(&self, from: i64, to: i64) -> u128 {
        let (from, to) = (from.max(-self.scale), to.min(self.scale));
        if from > to { 0 } else { u128::from(to.abs_diff(from)) + 1 }
    }

    /// How often weights have fallen at points of so many digits.
    fn fallen(&self, digits: u32) -> u32 {
        digits.saturating_sub(self.scale_digits).min(Self::FALLS)
    }

    /// The octaves' weight of the points from 0 to before `point`, negative below zero. A point of k binary
    /// digits has 2^(digits - k), as often doubled as weights are yet to fall, and zero as much as one.
    fn before(&self, point: i64) -> i128 {
        let last = self.fallen(self.digits);
        let octave = |fallen: u32| 1i128 << (self.digits - 1 + last - fallen);
        // Points 1 to t.
        let to = |t: u64| {
            if t == 0 {
                return 0;
            }
            let k = digits(t);
            // Whole octaves: those up to the scale, those that fall, and those that have fallen.
            let even = (k - 1).min(self.scale_digits);
            let falling = self.fallen(k - 1);
            let low = k - 1 - even - falling;
            let falling = octave(0) - octave(falling);
            let whole = i128::from(even) * octave(0) + falling + i128::from(low) * octave(last);
            let own = i128::from(t + 1 - (1 << (k - 1)));
            whole + (own << (self.digits - k + last - self.fallen(k)))
        };
        match point {
            ..0 => -to(point.unsigned_abs()),
            0 => 0,
            1.. => octave(0) + to(point.unsigned_abs() - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Point by point, by the definition.
    fn one(prior: &Prior, x: i64) -> u128 {
        let k = digits(x.unsigned_abs());
        let even = if x.abs() <= prior.scale { prior.even } else { 0 };
        let yet = prior.fallen(prior.digits) - prior.fallen(k);
        even + (1u128 << (prior.digits - k + yet))
    }

    #[test]
    fn weights_are_those_of_the_points_and_the_halves_are_even() {
        let ranges = [
            (0, 0, 0),
            (0, 1, 1),
            (-5, 9, 9),
            (-5, 9, 1),
            (100, 1000, 1000),
            (100, 1000, 100),
            (-1000, -3, 1000),
            (-1000, -3, 3),
            (0, 255, 255),
            (0, 70_000, 1),
            (-70_000, 3, 5),
            (7, 7, 7),
        ];
        for (low, high, scale) in ranges {
            let prior = Prior::new(low, high, scale).unwrap();
            let mut sum = 0;
            for x in low..=high {
                assert_eq!(prior.weight(x, x), one(&prior, x), "{x} of {low} to {high}");
                assert_eq!(prior.weight(low, x - 1), sum);
                if x % 97 == 0 || high - low < 2000 {
                    for place in [sum, sum + one(&prior, x) - 1] {
                        assert_eq!(prior.nth(low, place), x);
                    }
                }
                sum += one(&prior, x);
            }
            let even = prior.even * prior.points(low, high);
            let octaves = sum - even;
            assert!(even <= octaves && octaves <= 2 * even, "{low} to {high}: {even} {octaves}");
            let least = (low..=high).map(|x| one(&prior, x)).min().unwrap();
            assert_eq!(prior.least_share(), least as f64 / sum as f64);
        }
    }

    /// All octaves weigh the same up to the scale, but for the even half, and then half of the one before
    /// twelve times; on both sides of zero.
    #[test]
    fn octaves_are_even_and_fall_beyond_the_scale() {
        for (scale, scale_digits) in [(1 << 60, 61), (1000, 10), (1, 1)] {
            let prior = Prior::new(-(1 << 60), 1 << 60, scale).unwrap();
            let octave = |k: u32| {
                let (from, to) = (1i64 << (k - 1), (1i64 << k) - 1);
                assert_eq!(prior.weight(-to, -from), prior.weight(from, to));
                prior.weight(from, to) - prior.even * prior.points(from, to)
            };
            for k in 2..60 {
                let halved = k > scale_digits && k <= scale_digits + 12;
                assert_eq!(octave(k - 1), octave(k) << u32::from(halved), "{scale} {k}");
            }
            assert!(prior.weight(-(1 << 60), 1 << 60) < 1 << 80);
        }
    }

    #[test]
    fn ranges_are_checked() {
        assert_eq!(Prior::new(1, 0, 1), None);
        assert_eq!(Prior::new(0, (1 << 60) + 1, 1), None);
        assert_eq!(Prior::new(i64::MIN, 0, 1), None);
        assert_eq!(Prior::new(5, 9, 4), None);
        assert!(Prior::new(-(1 << 60), 1 << 60, 0).is_some());
    }
}
