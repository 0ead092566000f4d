//! A public weighting of the points of a lattice.

use hushtable_numbers::search::first_whole;

/// Weights of the points from `low` to `high`: half of the whole is even over all points up to a
/// scale, half is even over the octaves that points are in (those of as many binary digits have
/// equal shares, whatever the sign), and falls by half from octave to octave beyond the scale,
/// twelve times.
///
/// So it suits values that fill a range as well as values of any order of magnitude: neither costs
/// more than what the better of the two would, and ln 2. It is public, and says nothing of any
/// data.
///
/// Points can be divided into [fine](Self::fine) ones, which have equal parts of their weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prior {
    /// The first and the last point, fine where points are divided.
    low: i128,
    high: i128,
    /// Each point is divided into 2^fine.
    fine: u32,
    scale: i64,
    /// Binary digits of the farthest point from zero, and of the scale.
    digits: u32,
    scale_digits: u32,
    /// Share of the even half that each point up to the scale has.
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

    /// Of the points `low` to `high`; `None` unless there is one up to the scale, and none is
    /// beyond 2^60.
    pub(crate) fn new(low: i64, high: i64, scale: i64) -> Option<Self> {
        let farthest = low.unsigned_abs().max(high.unsigned_abs());
        if low > high || farthest > Self::FARTHEST {
            return None;
        }
        let scale_digits = digits(scale.unsigned_abs());
        let mut prior = Self {
            low: low.into(),
            high: high.into(),
            fine: 0,
            scale,
            digits: digits(farthest),
            scale_digits,
            even: 0,
        };
        let points = Some(prior.points(low, high)).filter(|&points| points > 0)?;
        prior.even = (prior.whole(low, high) / points).max(1);
        Some(prior)
    }

    /// The prior whose points are each divided into 2^`bits`: point x into those from x 2^bits on.
    pub(crate) fn fine(self, bits: u32) -> Self {
        let (low, high) = (self.low << bits, ((self.high + 1) << bits) - 1);
        Self { low, high, fine: self.fine + bits, ..self }
    }

    /// The part of the prior from `low` to `high`.
    pub(crate) fn between(self, low: i128, high: i128) -> Self {
        Self { low: low.max(self.low), high: high.min(self.high), ..self }
    }

    /// The first point.
    pub(crate) fn low(&self) -> i128 {
        self.low
    }

    /// The last point.
    pub(crate) fn high(&self) -> i128 {
        self.high
    }

    /// The point that a fine one is a part of.
    pub(crate) fn of_fine(&self, point: i128) -> i64 {
        // Points that are not divided are within 2^60.
        (point >> self.fine) as i64
    }

    /// The weight of the points `from` to `to`, which are in the range; none if there are none.
    pub(crate) fn weight(&self, from: i128, to: i128) -> u128 {
        if from > to {
            return 0;
        }
        let (first, last) = (self.of_fine(from), self.of_fine(to));
        let all = self.whole(first, last) << self.fine;
        if self.fine == 0 {
            return all;
        }
        // Parts of the first and the last point that are outside.
        let before = (from - (i128::from(first) << self.fine)).unsigned_abs();
        let after = (((i128::from(last) + 1) << self.fine) - 1 - to).unsigned_abs();
        all - before * self.whole(first, first) - after * self.whole(last, last)
    }

    /// The weight of points that are not divided.
    fn whole(&self, from: i64, to: i64) -> u128 {
        let octaves = self.before(to + 1) - self.before(from);
        self.even * self.points(from, to) + octaves.unsigned_abs()
    }

    /// The point at which the weight from `from` on exceeds `offset`.
    pub(crate) fn nth(&self, from: i128, offset: u128) -> i128 {
        first_whole(from - 1, self.high, |point| self.weight(from, point) > offset)
    }

    /// The smallest weight of a point, as a share of the whole.
    pub(crate) fn least_share(&self) -> f64 {
        let least = self.weight(self.low, self.low).min(self.weight(self.high, self.high));
        least as f64 / self.weight(self.low, self.high) as f64
    }

    /// The number of points up to the scale.
    fn points(&self, from: i64, to: i64) -> u128 {
        let (from, to) = (from.max(-self.scale), to.min(self.scale));
        if from > to { 0 } else { u128::from(to.abs_diff(from)) + 1 }
    }

    /// How often weights have fallen at points of that many digits.
    fn fallen(&self, digits: u32) -> u32 {
        digits.saturating_sub(self.scale_digits).min(Self::FALLS)
    }

    /// The octaves' weight of the points from 0 to before `point`, negative below zero. A point of
    /// k binary digits has 2^(digits - k), as often doubled as weights are yet to fall, and zero as
    /// much as one.
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
            let in_octave = i128::from(t + 1 - (1 << (k - 1)));
            whole + (in_octave << (self.digits - k + last - self.fallen(k)))
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
    fn one(prior: &Prior, x: i128) -> u128 {
        let x = x as i64;
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
            let all = prior.points(low, high);
            let (low, high) = (prior.low(), prior.high());
            let mut sum = 0;
            for x in low..=high {
                assert_eq!(prior.weight(x, x), one(&prior, x), "{x} of {low} to {high}");
                assert_eq!(prior.weight(low, x - 1), sum);
                if x % 97 == 0 || high - low < 2000 {
                    for offset in [sum, sum + one(&prior, x) - 1] {
                        assert_eq!(prior.nth(low, offset), x);
                    }
                }
                sum += one(&prior, x);
            }
            let even = prior.even * all;
            let octaves = sum - even;
            assert!(even <= octaves && octaves <= 2 * even, "{low} to {high}: {even} {octaves}");
            let least = (low..=high).map(|x| one(&prior, x)).min().unwrap();
            assert_eq!(prior.least_share(), least as f64 / sum as f64);
        }
    }

    /// All octaves weigh the same up to the scale, except for the even half, and then half of the
    /// one before twelve times; on both sides of zero.
    #[test]
    fn octaves_are_even_and_fall_beyond_the_scale() {
        for (scale, scale_digits) in [(1 << 60, 61), (1000, 10), (1, 1)] {
            let prior = Prior::new(-(1 << 60), 1 << 60, scale).unwrap();
            let octave = |k: u32| {
                let (from, to) = (1i64 << (k - 1), (1i64 << k) - 1);
                assert_eq!(prior.whole(-to, -from), prior.whole(from, to));
                prior.whole(from, to) - prior.even * prior.points(from, to)
            };
            for k in 2..60 {
                let halved = k > scale_digits && k <= scale_digits + 12;
                assert_eq!(octave(k - 1), octave(k) << u32::from(halved), "{scale} {k}");
            }
            assert!(prior.weight(-(1 << 60), 1 << 60) < 1 << 80);
        }
    }

    /// Parts of points have equal weights, and any range of them the sum; also a part of the range.
    #[test]
    fn points_are_divided_evenly() {
        for (low, high, scale) in [(-5, 9, 9), (-5, 9, 1), (0, 0, 0), (-9, -3, 9), (100, 300, 300)]
        {
            let coarse = Prior::new(low, high, scale).unwrap();
            for bits in [1, 3] {
                let prior = coarse.fine(bits);
                let of = |x: i128| coarse.weight(x >> bits, x >> bits);
                let (low, high) = (i128::from(low) << bits, (i128::from(high + 1) << bits) - 1);
                assert_eq!((prior.low(), prior.high()), (low, high));
                for from in (low..=high).step_by(3) {
                    let inner = prior.between(from, high - 2);
                    let mut sum = 0;
                    for to in from..=high {
                        assert_eq!(prior.nth(from, sum), to);
                        sum += of(to);
                        assert_eq!(prior.weight(from, to), sum, "{low} {high} {from} {to}");
                        assert_eq!(inner.weight(from, to), sum);
                    }
                    assert_eq!((inner.low(), inner.high()), (from, high - 2));
                }
            }
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
