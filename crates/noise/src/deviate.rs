//! A uniform real number in [0, 1) whose bits are drawn when they are needed.
//!
//! The idea is Knuth and Yao's (1976); Karney, "Sampling exactly from the normal distribution", ACM
//! TOMS 42 (2016), builds his samplers on such "u-rands". Here a digit is a whole word, so that the
//! first one nearly always suffices.

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::EntropyError;
use crate::generator::Words;

/// A uniform deviate with only some leading words drawn.
///
/// The words that have not been drawn are independent of everything that has happened so far: every
/// question put to a deviate is answered by the drawn words alone, or draws more.
pub(crate) struct Deviate {
    first: u64,
    second: Option<u64>,
    /// The third word and those after it; used once in 2^64 draws or so.
    rest: Vec<u64>,
}

impl Deviate {
    #[inline]
    pub(crate) fn draw<W: Words>(words: &mut W) -> Result<Self, EntropyError> {
        Ok(Self { first: words.word()?, second: None, rest: Vec::new() })
    }

    #[inline]
    fn second<W: Words>(&mut self, words: &mut W) -> Result<u64, EntropyError> {
        if let Some(word) = self.second {
            return Ok(word);
        }
        let word = words.word()?;
        self.second = Some(word);
        Ok(word)
    }

    /// Word `index`, counted from 0, drawn now if it was not before.
    fn nth<W: Words>(&mut self, index: usize, words: &mut W) -> Result<u64, EntropyError> {
        match index {
            0 => Ok(self.first),
            1 => self.second(words),
            _ => loop {
                if let Some(&word) = self.rest.get(index - 2) {
                    return Ok(word);
                }
                self.rest.push(words.word()?);
            },
        }
    }

    /// Whether this deviate is below `other` (they are equal with probability zero).
    #[inline]
    pub(crate) fn below<W: Words>(
        &mut self,
        other: &mut Self,
        words: &mut W,
    ) -> Result<bool, EntropyError> {
        if self.first == other.first {
            return self.below_after_tie(other, words);
        }
        Ok(self.first < other.first)
    }

    #[cold]
    fn below_after_tie<W: Words>(
        &mut self,
        other: &mut Self,
        words: &mut W,
    ) -> Result<bool, EntropyError> {
        let mut index = 1;
        loop {
            let (word, other_word) = (self.nth(index, words)?, other.nth(index, words)?);
            if word != other_word {
                return Ok(word < other_word);
            }
            index += 1;
        }
    }

    /// `decide(base + floor(n * U))` for this deviate U; `1 <= n < 2^127`, `decide` monotone.
    ///
    /// After j words of B bits U lies in `[F, F + 2^-jB)`. If `decide` says the same at both ends
    /// of the integers that `floor(n * U)` can be, it says so everywhere between, and no more words
    /// are drawn. The sum with `base` saturates at 2^128 - 1.
    #[inline]
    pub(crate) fn settle<W: Words, T: PartialEq>(
        &mut self,
        words: &mut W,
        n: u128,
        base: u128,
        decide: impl Fn(u128) -> T,
    ) -> Result<T, EntropyError> {
        let mask = u128::from(u64::MAX >> (64 - W::BITS));
        let (high, low) = (n >> W::BITS, n & mask);
        let word = u128::from(self.first);
        // n U 2^B is in [n word, n word + n). Split, since n * word can have 191 bits.
        let product = low * word;
        let floor = high * word + (product >> W::BITS);
        let rest = product & mask;
        let top = floor + ((rest + (n - 1)) >> W::BITS);
        if let Some(decided) = agreed(base, floor, top, &decide) {
            return Ok(decided);
        }

        // The second word, needed in a share n / 2^64 of all draws: often, when n is large. It adds
        // n * word / 2^2B, that is addend / 2^B and the low word of the product below that.
        let word = u128::from(self.second(words)?);
        let product = low * word;
        let carry = rest + (high * word + (product >> W::BITS));
        let floor = floor + (carry >> W::BITS);
        let fraction = (carry & mask) << W::BITS | (product & mask);
        // A sum that overflows is left to the general path: it is not decided here.
        if let Some(sum) = fraction.checked_add(n - 1) {
            let top = floor + sum.checked_shr(2 * W::BITS).unwrap_or(0);
            if let Some(decided) = agreed(base, floor, top, &decide) {
                return Ok(decided);
            }
        }
        self.settle_slowly(words, n, base, decide)
    }

    /// Does the work of [`settle`](Self::settle) with any number of words.
    #[cold]
    fn settle_slowly<W: Words, T: PartialEq>(
        &mut self,
        words: &mut W,
        n: u128,
        base: u128,
        decide: impl Fn(u128) -> T,
    ) -> Result<T, EntropyError> {
        let mut known = BigUint::from(self.first) << W::BITS | BigUint::from(self.second(words)?);
        let mut count = 2;
        loop {
            known = known << W::BITS | BigUint::from(self.nth(count, words)?);
            count += 1;
            let shift = count * W::BITS as usize;
            let product = &known * n;
            // Both are below n, hence fit.
            let floor = (&product >> shift).to_u128().unwrap_or(u128::MAX);
            let top = ((product + (n - 1)) >> shift).to_u128().unwrap_or(u128::MAX);
            if let Some(decided) = agreed(base, floor, top, &decide) {
                return Ok(decided);
            }
        }
    }
}

#[inline]
fn agreed<T: PartialEq>(
    base: u128,
    floor: u128,
    top: u128,
    decide: &impl Fn(u128) -> T,
) -> Option<T> {
    let low = decide(base.saturating_add(floor));
    (floor == top || decide(base.saturating_add(top)) == low).then_some(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Script, enumerate};

    /// `floor(n U)` from the words, by the definition.
    fn reference(n: u128, words: &[u64], bits: u32) -> Option<u128> {
        let known =
            words.iter().fold(BigUint::ZERO, |sum, word| (sum << bits) | BigUint::from(*word));
        let shift = words.len() * bits as usize;
        let floor = (&known * n) >> shift;
        let top = ((known + 1u8) * n - 1u8) >> shift;
        (floor == top).then(|| floor.to_u128().unwrap())
    }

    fn run<const BITS: u32>(n: u128, words: &[u64]) -> Option<u128> {
        let mut script = Script::<BITS>::new(words);
        let mut deviate = Deviate::draw(&mut script).unwrap();
        deviate.settle(&mut script, n, 0, |x| x).ok().filter(|_| script.used() == words.len())
    }

    /// All strings of up to four words of three bits, for n on all sides of the word size: decided
    /// exactly when the words decide it, never a word sooner or later, and with the right value.
    #[test]
    fn settles_as_soon_as_the_words_allow() {
        for n in [1, 2, 3, 5, 7, 8, 9, 11, 63, 64, 65, 100, 511, 513, 4095] {
            for length in 1..=4usize {
                for code in 0..1u64 << (3 * length) {
                    let words: Vec<u64> = (0..length).map(|i| (code >> (3 * i)) & 7).collect();
                    let sooner = (1..length).any(|l| reference(n, &words[..l], 3).is_some());
                    let expected = if sooner { None } else { reference(n, &words, 3) };
                    assert_eq!(run::<3>(n, &words), expected, "n = {n}, words = {words:?}");
                }
            }
        }
    }

    /// Tests 64-bit words around the boundaries, where the fast paths could overflow.
    #[test]
    fn settles_wide_products() {
        let edges =
            [0, 1, 2, 3, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX];
        let sizes = [
            1,
            3,
            (1 << 64) - 1,
            1 << 64,
            (1 << 64) + 1,
            3 << 100,
            (1 << 106) - 1,
            1 << 106,
            (1 << 127) - 1,
        ];
        for n in sizes {
            for a in edges {
                for b in edges {
                    for c in edges {
                        let words = [a, b, c];
                        let mut used = 0;
                        let expected = (1..=3).find_map(|l| {
                            used = l;
                            reference(n, &words[..l], 64)
                        });
                        let mut script = Script::<64>::new(&words);
                        let mut deviate = Deviate::draw(&mut script).unwrap();
                        let result = deviate.settle(&mut script, n, 0, |x| x).ok();
                        // The two-word path may give up on a sum over 2^128 and draw a third word.
                        if result != expected || script.used() != used {
                            assert_eq!(used, 2, "n = {n}, words = {words:?}");
                            assert!(
                                result.is_none() || result == expected,
                                "n = {n}, words = {words:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn base_saturates() {
        let mut script = Script::<64>::new(&[5]);
        let mut deviate = Deviate::draw(&mut script).unwrap();
        assert_eq!(deviate.settle(&mut script, 1 << 100, u128::MAX, |x| x).unwrap(), u128::MAX);
    }

    /// All bit strings: the comparison is fair, whatever the ties.
    #[test]
    fn comparison_enumerated() {
        let outcomes = enumerate::<2, _>(8, |words| {
            let (mut a, mut b) = (Deviate::draw(words)?, Deviate::draw(words)?);
            a.below(&mut b, words)
        });
        outcomes.assert_below(1.0 / 256.0, |_| 0.5);
    }

    /// Forced ties: equal words lead to the next ones, which stay those of the deviate afterwards.
    #[test]
    fn ties_draw_further_words() {
        let mut script = Script::<64>::new(&[9, 9, 4, 4, 6, 5]);
        let (mut a, mut b) =
            (Deviate::draw(&mut script).unwrap(), Deviate::draw(&mut script).unwrap());
        assert!(!a.below(&mut b, &mut script).unwrap());
        assert_eq!(script.used(), 6);
        assert!(b.below(&mut a, &mut script).unwrap());
        assert_eq!((a.nth(2, &mut script).unwrap(), b.nth(2, &mut script).unwrap()), (6, 5));
        assert_eq!(script.used(), 6, "no word is drawn twice");
    }
}
