//! Events of a given probability.

use crate::exponential::exp_minus_ratio;
use crate::generator::Words;
use crate::uniform::{self, MAX_BOUND};
use crate::{EntropyError, Generator, ParameterError};

/// A yes-or-no law whose probability is an exact number: a double, a fraction, or e to minus a
/// fraction.
///
/// For other real numbers see [`bernoulli_enclosed`](crate::bernoulli_enclosed).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bernoulli(Chance);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Chance {
    Float(f64),
    Ratio {
        numerator: u128,
        denominator: u128,
    },
    /// e^-(whole + numerator / denominator)
    ExpMinus {
        whole: u128,
        numerator: u128,
        denominator: u128,
    },
}

impl Bernoulli {
    /// Probability `p`, taken as the exact binary number that it is.
    ///
    /// # Errors
    /// [`ParameterError::NotAProbability`] unless `0 <= p <= 1`.
    pub fn from_f64(p: f64) -> Result<Self, ParameterError> {
        if (0.0..=1.0).contains(&p) {
            Ok(Self(Chance::Float(p)))
        } else {
            Err(ParameterError::NotAProbability)
        }
    }

    /// Probability `numerator / denominator`.
    ///
    /// # Errors
    /// [`ParameterError::BoundOutOfRange`] unless `1 <= denominator <= 2^126`;
    /// [`ParameterError::NotAProbability`] if `numerator > denominator`.
    pub fn from_ratio(numerator: u128, denominator: u128) -> Result<Self, ParameterError> {
        if denominator == 0 || denominator > MAX_BOUND {
            return Err(ParameterError::BoundOutOfRange);
        }
        if numerator > denominator {
            return Err(ParameterError::NotAProbability);
        }
        Ok(Self(Chance::Ratio { numerator, denominator }))
    }

    /// Probability e^-(numerator / denominator), for any `numerator`.
    ///
    /// # Errors
    /// [`ParameterError::BoundOutOfRange`] unless `1 <= denominator <= 2^126`.
    pub fn exp_minus(numerator: u128, denominator: u128) -> Result<Self, ParameterError> {
        if denominator == 0 || denominator > MAX_BOUND {
            return Err(ParameterError::BoundOutOfRange);
        }
        let (whole, numerator) = (numerator / denominator, numerator % denominator);
        Ok(Self(Chance::ExpMinus { whole, numerator, denominator }))
    }

    /// One draw.
    ///
    /// # Errors
    /// [`EntropyError`] if the operating system's generator fails.
    pub fn sample(&self, generator: &mut Generator) -> Result<bool, EntropyError> {
        generator.check_process()?;
        self.draw(generator)
    }

    /// Independent draws, as many as `draws` is long. Cheaper than as many calls of
    /// [`sample`](Self::sample), each of which asks the system for the process id.
    ///
    /// # Errors
    /// Fails where [`sample`](Self::sample) does. Do not use the contents of `draws` then.
    pub fn fill(&self, generator: &mut Generator, draws: &mut [bool]) -> Result<(), EntropyError> {
        generator.check_process()?;
        for draw in draws {
            *draw = self.draw(generator)?;
        }
        Ok(())
    }

    fn draw<W: Words>(&self, words: &mut W) -> Result<bool, EntropyError> {
        match self.0 {
            Chance::Float(p) => float(words, p),
            Chance::Ratio { numerator, denominator } => {
                uniform::ratio(words, numerator, denominator)
            }
            Chance::ExpMinus { whole, numerator, denominator } => {
                // The product of that many independent events; it nearly always fails soon.
                let mut left = whole;
                while left > 0 {
                    if !exp_minus_ratio(words, 1, 1)? {
                        return Ok(false);
                    }
                    left -= 1;
                }
                exp_minus_ratio(words, numerator, denominator)
            }
        }
    }
}

/// True with probability `p` in [0, 1]: the bits of a uniform deviate against the bits of `p`.
fn float<W: Words>(words: &mut W, p: f64) -> Result<bool, EntropyError> {
    let scale = f64::from(W::BITS).exp2();
    let mut rest = p;
    loop {
        // Exact: a multiplication by a power of two that cannot overflow, and a number minus its
        // floor.
        let scaled = rest * scale;
        let digit = scaled.floor();
        rest = scaled - digit;
        // As u128, since p = 1 makes it 2^BITS.
        let (digit, word) = (digit as u128, u128::from(words.word()?));
        if word != digit {
            return Ok(word < digit);
        }
        if rest == 0.0 {
            // No bits of p are left: whatever follows, U >= p.
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestSeed;
    use crate::script::{Script, enumerate};

    fn law(p: f64) -> impl Fn(&bool) -> f64 {
        move |yes| if *yes { p } else { 1.0 - p }
    }

    /// All bit strings.
    #[test]
    fn float_enumerated() {
        for p in
            [0.0, 1.0, 0.5, 0.25, 0.1, 1.0 / 3.0, 0.999, 1e-3, 5e-324, 1.0 - f64::EPSILON / 2.0]
        {
            let bernoulli = Bernoulli::from_f64(p).unwrap();
            enumerate::<1, _>(16, |w| bernoulli.draw(w)).assert_below(1.0 / 65536.0, law(p));
            enumerate::<4, _>(4, |w| bernoulli.draw(w)).assert_below(1.0 / 65536.0, law(p));
        }
        // A dyadic p is decided completely, with its exact probability.
        let outcomes = enumerate::<2, _>(3, |w| Bernoulli::from_f64(0.3125).unwrap().draw(w));
        assert_eq!((outcomes.mass[&true], outcomes.undecided), (0.3125, 0.0));
    }

    /// 64-bit words: the smallest double is 2^-1074, the 1074th bit; the largest below 1 ends in
    /// the first word.
    #[test]
    fn float_ties_draw_further_words() {
        let run = |p: f64, words: &[u64]| {
            let mut script = Script::<64>::new(words);
            (Bernoulli::from_f64(p).unwrap().draw(&mut script).ok(), script.used())
        };
        let tiny = 5e-324; // 1074 = 16 * 64 + 50: word 17 must be below 2^14.
        let mut words = [0; 17];
        assert_eq!(run(tiny, &words[..16]), (None, 16));
        words[16] = (1 << 14) - 1;
        assert_eq!(run(tiny, &words), (Some(true), 17));
        words[16] = 1 << 14;
        assert_eq!(run(tiny, &words), (Some(false), 17));
        let third = 1.0 / 3.0; // 0x15555555555555 * 2^-54: in the first word, then exact.
        let threshold = 0x15_5555_5555_5555u64 << 10;
        assert_eq!(run(third, &[threshold - 1]), (Some(true), 1));
        assert_eq!(run(third, &[threshold]), (Some(false), 1));
        let below = 2f64.powi(-30) + 2f64.powi(-80); // Two words.
        let first = 1 << 34;
        assert_eq!(run(below, &[first]), (None, 1));
        assert_eq!(run(below, &[first, (1 << 48) - 1]), (Some(true), 2));
        assert_eq!(run(below, &[first, 1 << 48]), (Some(false), 2));
        assert_eq!(run(1.0, &[u64::MAX]), (Some(true), 1));
        assert_eq!(run(0.0, &[0]), (Some(false), 1));
    }

    /// All bit strings.
    #[test]
    fn ratio_enumerated() {
        for (numerator, denominator) in
            [(0, 1), (1, 1), (1, 2), (1, 3), (3, 7), (99, 100), (1, 1000)]
        {
            let bernoulli = Bernoulli::from_ratio(numerator, denominator).unwrap();
            let p = numerator as f64 / denominator as f64;
            enumerate::<1, _>(16, |w| bernoulli.draw(w)).assert_below(1.0 / 65536.0, law(p));
            enumerate::<3, _>(5, |w| bernoulli.draw(w)).assert_below(1.0 / 32768.0, law(p));
        }
    }

    /// All bit strings, also above 1.
    #[test]
    fn exp_minus_enumerated() {
        for (numerator, denominator) in [(0, 5), (1, 2), (3, 3), (5, 3), (2, 1), (7, 2)] {
            let bernoulli = Bernoulli::exp_minus(numerator, denominator).unwrap();
            let p = (-(numerator as f64) / denominator as f64).exp();
            enumerate::<2, _>(9, |w| bernoulli.draw(w)).assert_below(0.2, law(p));
        }
    }

    /// A batch takes the words that single draws take.
    #[test]
    fn batches_are_single_draws() {
        let (mut one, mut many) = (TestSeed(15).generator(), TestSeed(15).generator());
        let mut draws = [false; 7];
        let law = Bernoulli::exp_minus(5, 3).unwrap();
        law.fill(&mut many, &mut draws).unwrap();
        assert_eq!(draws, [law; 7].map(|law| law.sample(&mut one).unwrap()));
    }

    #[test]
    fn parameters_are_checked() {
        for p in [-0.1, 1.0 + f64::EPSILON, f64::NAN, f64::INFINITY] {
            assert_eq!(Bernoulli::from_f64(p), Err(ParameterError::NotAProbability));
        }
        assert_eq!(Bernoulli::from_ratio(2, 1), Err(ParameterError::NotAProbability));
        assert_eq!(Bernoulli::from_ratio(0, 0), Err(ParameterError::BoundOutOfRange));
        assert_eq!(Bernoulli::exp_minus(1, MAX_BOUND + 1), Err(ParameterError::BoundOutOfRange));
        assert!(Bernoulli::exp_minus(u128::MAX, MAX_BOUND).is_ok());
    }
}
