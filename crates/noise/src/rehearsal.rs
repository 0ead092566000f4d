//! Reproducible draws, to look at.

use crate::EntropyError;
use crate::generator::{Generator, Words};

/// A known seed that the samplers can be rehearsed with: the same draws on every machine.
///
/// It is there in release builds, to show what noise looks like and to check a law by hand. It is
/// *not* a [`Generator`] and cannot be made into one, so that nothing which asks for a generator
/// (no mechanism, no release) can be given a known seed. Only the samplers' `rehearse` takes it;
/// that runs the same code on the same kind of stream as `fill`.
///
/// ```
/// use hushtable_noise::{DiscreteLaplace, Ratio, Rehearsal};
///
/// let law = DiscreteLaplace::new(Ratio::new(10, 1)?);
/// let (mut one, mut two) = ([0; 5], [0; 5]);
/// law.rehearse(&mut Rehearsal::new(7), &mut one)?;
/// law.rehearse(&mut Rehearsal::new(7), &mut two)?;
/// assert_eq!(one, two);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```compile_fail
/// # use hushtable_noise::{DiscreteLaplace, Ratio, Rehearsal};
/// # let law = DiscreteLaplace::new(Ratio::new(10, 1).unwrap());
/// // A rehearsal is no generator.
/// law.fill(&mut Rehearsal::new(7), &mut [0; 5]);
/// ```
#[derive(Debug)]
pub struct Rehearsal(Generator);

impl Rehearsal {
    /// The rehearsal of this seed.
    pub fn new(seed: u64) -> Self {
        Self(Generator::with_known_seed(seed))
    }
}

impl Words for Rehearsal {
    const BITS: u32 = Generator::BITS;

    #[inline]
    fn word(&mut self) -> Result<u64, EntropyError> {
        self.0.word()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DiscreteGaussian, DiscreteLaplace, Dyadic, ExponentialPolylogarithmic, Ratio,
        RoundedGaussian, TestSeed, TruncatedDiscreteLaplace,
    };

    /// Same law, same code: a rehearsal gives what a generator of the same seed gives, law by law
    /// and batch after batch, and another seed gives something else.
    #[test]
    fn rehearsals_are_the_real_thing() {
        let scale = Ratio::new(1000, 3).unwrap();
        let sigma = Dyadic::new(1000, 0).unwrap();
        let (mut rehearsed, mut drawn) = ([0; 200], [0; 200]);
        let (mut rehearsal, mut generator) = (Rehearsal::new(5), TestSeed(5).generator());
        let mut other = Rehearsal::new(6);

        DiscreteLaplace::new(scale).rehearse(&mut rehearsal, &mut rehearsed).unwrap();
        DiscreteLaplace::new(scale).fill(&mut generator, &mut drawn).unwrap();
        assert_eq!(rehearsed, drawn);
        DiscreteLaplace::new(scale).rehearse(&mut other, &mut rehearsed).unwrap();
        assert_ne!(rehearsed, drawn);

        let truncated = TruncatedDiscreteLaplace::new(scale, 300);
        truncated.rehearse(&mut rehearsal, &mut rehearsed).unwrap();
        truncated.fill(&mut generator, &mut drawn).unwrap();
        assert_eq!(rehearsed, drawn);

        RoundedGaussian::new(sigma).rehearse(&mut rehearsal, &mut rehearsed).unwrap();
        RoundedGaussian::new(sigma).fill(&mut generator, &mut drawn).unwrap();
        assert_eq!(rehearsed, drawn);

        DiscreteGaussian::new(sigma).rehearse(&mut rehearsal, &mut rehearsed).unwrap();
        DiscreteGaussian::new(sigma).fill(&mut generator, &mut drawn).unwrap();
        assert_eq!(rehearsed, drawn);

        let [one, three] = [1, 3].map(|n| Dyadic::new(n, 0).unwrap());
        let law = ExponentialPolylogarithmic::new(one, three, sigma).unwrap();
        law.rehearse(&mut rehearsal, &mut rehearsed).unwrap();
        law.fill(&mut generator, &mut drawn).unwrap();
        assert_eq!(rehearsed, drawn);
    }

    #[test]
    fn debug_shows_no_state() {
        assert_eq!(format!("{:?}", Rehearsal::new(5)), "Rehearsal(Generator { .. })");
    }
}
