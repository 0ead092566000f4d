//! Whole numbers of 256 bits, as far as drawing one takes them.

use crate::EntropyError;
use crate::generator::Words;

/// `high * 2^128 + low`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wide {
    // In this order, numbers compare as they should.
    high: u128,
    low: u128,
}

impl Wide {
    pub(crate) const ZERO: Self = Self { high: 0, low: 0 };

    /// `value * 2^shift`, for a shift below 128.
    #[inline]
    pub(crate) fn shifted(value: u128, shift: u32) -> Self {
        let high = value.checked_shr(128 - shift).unwrap_or(0);
        Self { high, low: value << shift }
    }

    /// `floor(self / 2^shift)` for a shift below 128, if that is below 2^128; else its last 128 bits.
    #[inline]
    pub(crate) fn shifted_back(self, shift: u32) -> u128 {
        self.high.checked_shl(128 - shift).unwrap_or(0) | self.low >> shift
    }

    /// The sum, if it is below 2^256.
    #[inline]
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        let (low, carry) = self.low.overflowing_add(other.low);
        let high = self.high.checked_add(other.high)?.checked_add(u128::from(carry))?;
        Some(Self { high, low })
    }

    /// The difference, if it is not below zero.
    #[inline]
    pub(crate) fn minus(self, other: Self) -> Option<Self> {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        let high = self.high.checked_sub(other.high)?.checked_sub(u128::from(borrow))?;
        Some(Self { high, low })
    }

    /// A uniform number below `bound`, which is above zero: as many bits as the bound has, until they are
    /// below it.
    pub(crate) fn below<W: Words>(words: &mut W, bound: Self) -> Result<Self, EntropyError> {
        let bits = match bound.high {
            0 => 128 - bound.low.leading_zeros(),
            high => 256 - high.leading_zeros(),
        };
        loop {
            let mut drawn = Self::ZERO;
            let mut left = bits;
            while left > 0 {
                let take = left.min(W::BITS);
                let word = u128::from(words.word()? >> (W::BITS - take));
                let high = drawn.high << take | drawn.low.checked_shr(128 - take).unwrap_or(0);
                drawn = Self { high, low: drawn.low << take | word };
                left -= take;
            }
            if drawn < bound {
                return Ok(drawn);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::enumerate;

    /// All bit strings, at word sizes that divide the number of bits and that do not.
    #[test]
    fn enumerated() {
        for bound in [1u128, 2, 3, 5, 8, 11] {
            let law = |_: &u128| 1.0 / bound as f64;
            let draw = |drawn: Wide| (drawn.high == 0).then_some(drawn.low).unwrap();
            let bound = Wide { high: 0, low: bound };
            enumerate::<1, _>(12, |words| Wide::below(words, bound).map(draw))
                .assert_below(0.3, law);
            enumerate::<3, _>(4, |words| Wide::below(words, bound).map(draw))
                .assert_below(0.3, law);
        }
    }

    #[test]
    fn numbers_are_whole_across_the_middle() {
        let wide = |high, low| Wide { high, low };
        let all = u128::MAX;
        assert_eq!(Wide::shifted(all, 1), wide(1, all - 1));
        assert_eq!(Wide::shifted(all, 0), wide(0, all));
        assert_eq!(Wide::shifted(5, 127), wide(2, 1 << 127));
        for shift in [0, 1, 64, 127] {
            assert_eq!(Wide::shifted(all - 12, shift).shifted_back(shift), all - 12);
        }
        assert_eq!(wide(0, all).plus(wide(3, 1)), Some(wide(4, 0)));
        assert_eq!(wide(all, all).plus(wide(0, 1)), None);
        assert_eq!(wide(4, 0).minus(wide(3, 1)), Some(wide(0, all)));
        assert_eq!(wide(4, 0).minus(wide(4, 1)), None);
        assert!(wide(1, 0) > wide(0, all) && wide(1, 1) > wide(1, 0));
    }

    /// Two words and more: the share in the upper half, and a bound just above a power of two. 10,000 draws,
    /// six standard deviations.
    #[test]
    fn large_bounds_are_filled_evenly() {
        let mut generator = crate::TestSeed(51).generator();
        for bound in [Wide { high: 3, low: 0 }, Wide { high: 0, low: 3 << 70 }] {
            let third = |number: Wide| match bound.high {
                0 => number.low >> 70,
                _ => number.high,
            };
            let mut counts = [0u32; 3];
            for _ in 0..10_000 {
                counts[third(Wide::below(&mut generator, bound).unwrap()) as usize] += 1;
            }
            assert!(counts.iter().all(|c| c.abs_diff(3333) < 283), "{counts:?}");
        }
    }
}
