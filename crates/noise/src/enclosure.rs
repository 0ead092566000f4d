//! Events whose probability is a real number known only by its enclosures.

use hushtable_numbers::Enclosure;
use num_bigint::BigUint;

use crate::generator::Words;
use crate::{EntropyError, Generator};

/// True with probability exactly p.
///
/// `first = (lo, hi)` are known bounds `lo <= p * 2^64 <= hi`, where `hi` is `u64::MAX` when the
/// upper bound does not fit (p = 1; `p * 2^64 <= hi + 1` is in fact enough). With them one word
/// decides, except for a chance of `(hi - lo + 1) / 2^64`; then 128 bits of a uniform deviate are
/// compared with `p.enclose(128)`, then 192 bits, and so on. Loose bounds cost time, never
/// exactness; false bounds give a false law.
///
/// # Errors
/// [`EntropyError`] if the operating system's generator fails.
pub fn bernoulli_enclosed(
    generator: &mut Generator,
    first: (u64, u64),
    p: &impl Enclosure,
) -> Result<bool, EntropyError> {
    generator.check_process()?;
    enclosed(generator, first, p)
}

/// Independent draws, as many as `draws` is long, the one at index i as by [`bernoulli_enclosed`]
/// with the bounds and the probability `events(i)`. Cheaper than as many calls of that, each of
/// which asks the system for the process id.
///
/// # Errors
/// [`EntropyError`] if the operating system's generator fails. The contents of `draws` are then not
/// to be used.
#[inline]
pub fn bernoulli_enclosed_all<P: Enclosure>(
    generator: &mut Generator,
    draws: &mut [bool],
    events: impl Fn(usize) -> ((u64, u64), P),
) -> Result<(), EntropyError> {
    generator.check_process()?;
    for (index, draw) in draws.iter_mut().enumerate() {
        let (first, p) = events(index);
        *draw = enclosed(generator, first, &p)?;
    }
    Ok(())
}

/// Decides as [`bernoulli_enclosed`] does, for words of any size; `first` counts in words.
#[inline]
pub(crate) fn enclosed<W: Words>(
    words: &mut W,
    first: (u64, u64),
    p: &impl Enclosure,
) -> Result<bool, EntropyError> {
    let (low, high) = first;
    let word = words.word()?;
    // U is in [word, word + 1) / 2^B. Below `low`: word + 1 <= low <= p 2^B, so U < p. Above
    // `high`: word >= high + 1 >= p 2^B, so U >= p.
    if word < low {
        Ok(true)
    } else if word > high {
        Ok(false)
    } else {
        enclosed_slowly(words, word, p)
    }
}

#[cold]
fn enclosed_slowly<W: Words>(
    words: &mut W,
    first: u64,
    p: &impl Enclosure,
) -> Result<bool, EntropyError> {
    let mut known = BigUint::from(first);
    let mut bits = W::BITS;
    loop {
        known = known << W::BITS | BigUint::from(words.word()?);
        bits = bits.saturating_add(W::BITS);
        let (low, high) = p.enclose(bits);
        if known < low {
            return Ok(true);
        }
        if known >= high {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use hushtable_numbers::Bracket;

    use super::*;
    use crate::TestSeed;
    use crate::script::{Script, enumerate};

    /// e^-1/2.
    struct ExpMinusHalf;

    impl Enclosure for ExpMinusHalf {
        fn enclose(&self, bits: u32) -> (BigUint, BigUint) {
            let bounds = Bracket::exp_minus(&1u8.into(), &2u8.into(), bits);
            (bounds.low, bounds.high)
        }
    }

    /// floor(2^64 e^-1/2)
    const EXP_MINUS_HALF: u64 = 0x9b45_97e3_7cb0_4ff3;

    fn exp_minus_half<W: Words>(words: &mut W) -> Result<bool, EntropyError> {
        let word = EXP_MINUS_HALF >> (64 - W::BITS);
        enclosed(words, (word, word), &ExpMinusHalf)
    }

    /// A rational number, enclosed with a given slack.
    struct Rational {
        numerator: u32,
        denominator: u32,
        slack: u32,
    }

    impl Enclosure for Rational {
        fn enclose(&self, bits: u32) -> (BigUint, BigUint) {
            let floor = (BigUint::from(self.numerator) << bits) / self.denominator;
            let slack = BigUint::from(self.slack);
            (if floor > slack { &floor - &slack } else { BigUint::ZERO }, floor + slack + 1u8)
        }
    }

    /// An integer 0 or 1, enclosed without slack: both bounds equal p.
    struct Sure(bool);

    impl Enclosure for Sure {
        fn enclose(&self, bits: u32) -> (BigUint, BigUint) {
            let bound = BigUint::from(u8::from(self.0)) << bits;
            (bound.clone(), bound)
        }
    }

    /// The published digits of e^-1/2 (OEIS A092605), and bounds that tighten.
    #[test]
    fn exp_minus_half_is_enclosed() {
        let (low, high) = ExpMinusHalf.enclose(64);
        assert!(low <= EXP_MINUS_HALF.into() && high > EXP_MINUS_HALF.into());
        let digits: BigUint =
            "606530659712633423603799534991180453441918135487186955682".parse().unwrap();
        let scale = BigUint::from(10u8).pow(57);
        for bits in [1, 2, 3, 64, 100, 128] {
            let (low, high) = ExpMinusHalf.enclose(bits);
            assert!(low <= (&digits << bits) / &scale && ((&digits + 1u8) << bits) / &scale < high);
        }
        for bits in (64..2000).step_by(64) {
            let (low, high) = ExpMinusHalf.enclose(bits);
            let (finer, _) = ExpMinusHalf.enclose(bits + 64);
            assert!(&high - &low <= BigUint::from(2u8));
            assert!(low <= &finer >> 64 && &finer >> 64 <= high);
        }
    }

    /// All bit strings, at word sizes of 1 to 4 bits.
    #[test]
    fn exp_minus_half_enumerated() {
        let p = (-0.5f64).exp();
        let law = |yes: &bool| if *yes { p } else { 1.0 - p };
        enumerate::<1, _>(16, exp_minus_half).assert_below(3.0 / 65536.0, law);
        enumerate::<2, _>(8, exp_minus_half).assert_below(3.0 / 65536.0, law);
        enumerate::<4, _>(4, exp_minus_half).assert_below(3.0 / 65536.0, law);
    }

    /// All bit strings, for tight, loose and no first bounds and for slack enclosures.
    #[test]
    fn enclosed_enumerated() {
        for (numerator, denominator) in [(0, 1), (1, 3), (1, 2), (5, 8), (6, 7), (1, 1)] {
            let p = f64::from(numerator) / f64::from(denominator);
            let law = |yes: &bool| if *yes { p } else { 1.0 - p };
            let floor = ((numerator << 3) / denominator).min(7);
            for first in [(u64::from(floor), u64::from(floor)), (0, 7)] {
                for slack in [0, 1, 3] {
                    let real = Rational { numerator, denominator, slack };
                    enumerate::<3, _>(5, |w| enclosed(w, first, &real))
                        .assert_below(f64::from(2 * slack + 2) / 32768.0, law);
                }
            }
        }
    }

    /// p = 0 and p = 1 exactly: every word leads to the sure outcome, also where `2^64` does not
    /// fit.
    #[test]
    fn sure_events() {
        for word in [0, 1, 1 << 63, u64::MAX - 1, u64::MAX] {
            for next in [0, u64::MAX] {
                let words = [word, next];
                let one =
                    |first| enclosed(&mut Script::<64>::new(&words), first, &Sure(true)).unwrap();
                assert!(one((u64::MAX, u64::MAX)) && one((0, u64::MAX)));
                let zero =
                    |first| enclosed(&mut Script::<64>::new(&words), first, &Sure(false)).unwrap();
                assert!(!zero((0, 0)) && !zero((0, u64::MAX)));
            }
        }
    }

    /// A batch takes the words that single draws take.
    #[test]
    fn batches_are_single_draws() {
        let event = |index: usize| {
            let real = Rational { numerator: index as u32, denominator: 7, slack: 2 };
            // Sometimes without first bounds, so that further words are drawn.
            let first =
                if index == 3 { (0, u64::MAX) } else { (u64::MAX / 7 * index as u64, u64::MAX) };
            (first, real)
        };
        let (mut one, mut many) = (TestSeed(17).generator(), TestSeed(17).generator());
        let mut draws = [false; 8];
        for _ in 0..100 {
            bernoulli_enclosed_all(&mut many, &mut draws, event).unwrap();
            for (index, draw) in draws.iter().enumerate() {
                let (first, real) = event(index);
                assert_eq!(*draw, bernoulli_enclosed(&mut one, first, &real).unwrap());
            }
        }
    }

    /// Forced fallback: the first word equals the threshold word, and further words decide as the
    /// true bits of e^-1/2 say, down to the last bit before and after.
    #[test]
    fn threshold_word_falls_back() {
        let (low, high) = ExpMinusHalf.enclose(192);
        assert!(&high - &low <= BigUint::from(2u8));
        let digits = low.to_u64_digits();
        let [c, b, a] = digits[..] else { panic!("192 bits") };
        assert_eq!(a, EXP_MINUS_HALF);
        let decide = |words: &[u64]| {
            let mut script = Script::<64>::new(words);
            (exp_minus_half(&mut script).ok(), script.used())
        };
        assert_eq!(decide(&[a - 1]), (Some(true), 1));
        assert_eq!(decide(&[a + 1]), (Some(false), 1));
        assert_eq!(decide(&[a]), (None, 1), "undecided without more words");
        assert_eq!(decide(&[a, b - 2]), (Some(true), 2));
        assert_eq!(decide(&[a, b + 2]), (Some(false), 2));
        assert_eq!(decide(&[a, b, c - 2]), (Some(true), 3));
        assert_eq!(decide(&[a, b, c + 2]), (Some(false), 3));
    }

    /// Through the public function, with a million draws: 6 standard deviations, a false alarm has
    /// probability 2e-9. The seed is fixed.
    #[test]
    fn frequency() {
        let mut generator = TestSeed(11).generator();
        let real = Rational { numerator: 1, denominator: 3, slack: 0 };
        let third = u64::MAX / 3;
        let count = (0..1_000_000)
            .filter(|_| bernoulli_enclosed(&mut generator, (third, third + 1), &real).unwrap())
            .count() as f64;
        assert!((count - 1e6 / 3.0).abs() < 6.0 * (2e6 / 9.0f64).sqrt());
    }
}
