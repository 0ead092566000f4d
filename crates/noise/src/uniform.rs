//! Uniform integers.

use crate::deviate::Deviate;
use crate::generator::Words;
use crate::{EntropyError, Generator, ParameterError};

/// Largest bound and denominator: below 2^127, so that the products in `Deviate::settle` fit.
pub(crate) const MAX_BOUND: u128 = 1 << 126;

/// The uniform law on the integers `0 .. bound`.
///
/// A draw is `floor(bound * U)`, with as many bits of the uniform real U as that takes. Nothing is
/// rejected, and there is no bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uniform {
    bound: u128,
}

impl Uniform {
    /// The law on `0 .. bound`.
    ///
    /// # Errors
    /// [`ParameterError::BoundOutOfRange`] unless `1 <= bound <= 2^126`.
    pub fn below(bound: u128) -> Result<Self, ParameterError> {
        if bound == 0 || bound > MAX_BOUND {
            return Err(ParameterError::BoundOutOfRange);
        }
        Ok(Self { bound })
    }

    /// One draw.
    ///
    /// # Errors
    /// [`EntropyError`] if the operating system's generator fails.
    pub fn sample(&self, generator: &mut Generator) -> Result<u128, EntropyError> {
        generator.check_process()?;
        below(generator, self.bound)
    }

    /// Independent draws, as many as `draws` is long.
    ///
    /// # Errors
    /// Fails where [`sample`](Self::sample) does. Do not use the contents of `draws` then.
    pub fn fill(&self, generator: &mut Generator, draws: &mut [u128]) -> Result<(), EntropyError> {
        generator.check_process()?;
        for draw in draws {
            *draw = below(generator, self.bound)?;
        }
        Ok(())
    }
}

/// A uniform integer in `0 .. bound`, for `1 <= bound < 2^127`.
#[inline]
pub(crate) fn below<W: Words>(words: &mut W, bound: u128) -> Result<u128, EntropyError> {
    Deviate::draw(words)?.settle(words, bound, 0, |x| x)
}

/// True with probability `numerator / denominator`, for `1 <= denominator < 2^127`.
#[inline]
pub(crate) fn ratio<W: Words>(
    words: &mut W,
    numerator: u128,
    denominator: u128,
) -> Result<bool, EntropyError> {
    // U < numerator / denominator exactly if floor(denominator * U) < numerator.
    Deviate::draw(words)?.settle(words, denominator, 0, |x| x < numerator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::enumerate;

    /// All bit strings. The undecided share after j words of B bits is below bound / 2^jB.
    #[test]
    fn enumerated() {
        for bound in [1u128, 2, 3, 5, 6, 7, 11, 16, 17, 100] {
            let law = |_: &u128| 1.0 / bound as f64;
            let limit = |bits: f64| bound as f64 * (-bits).exp2();
            let outcomes = enumerate::<1, _>(14, |words| below(words, bound));
            outcomes.assert_below(limit(14.0), law);
            assert_eq!(outcomes.mass.len() as u128, bound);
            enumerate::<4, _>(4, |words| below(words, bound)).assert_below(limit(16.0), law);
        }
    }

    #[test]
    fn batches_are_single_draws() {
        let law = Uniform::below((1 << 70) + 1).unwrap();
        let mut draws = [0; 50];
        law.fill(&mut crate::TestSeed(18).generator(), &mut draws).unwrap();
        let mut generator = crate::TestSeed(18).generator();
        for draw in draws {
            assert_eq!(draw, law.sample(&mut generator).unwrap());
        }
    }

    #[test]
    fn bounds_are_checked() {
        assert_eq!(Uniform::below(0), Err(ParameterError::BoundOutOfRange));
        assert_eq!(Uniform::below(MAX_BOUND + 1), Err(ParameterError::BoundOutOfRange));
        assert!(Uniform::below(MAX_BOUND).is_ok());
    }
}
