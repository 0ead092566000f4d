//! The functions that all laws of noise have.

use crate::{EntropyError, Generator, Rehearsal};

/// A probability distribution of noise on the integers, which is drawn from without error.
///
/// Draws come in batches: what a batch needs once (the process id, a table) is fetched once. The
/// probabilities are there as `f64` functions for intervals and tests; no draw depends on them.
pub trait Law {
    /// Fills `draws` with independent draws from a source of words.
    ///
    /// # Errors
    /// [`EntropyError`] if the operating system's generator fails. Do not use the contents of
    /// `draws` then.
    fn fill_from(&self, source: WordSource<'_>, draws: &mut [i128]) -> Result<(), EntropyError>;

    /// P\[X = x\].
    fn pmf(&self, x: i128) -> f64;

    /// P\[X >= x\].
    fn tail(&self, x: i128) -> f64;

    /// The variance.
    fn variance(&self) -> f64;

    /// Independent draws, as many as `draws` is long. Cheaper than as many calls of
    /// [`sample`](Self::sample), each of which asks the system for the process id.
    ///
    /// # Errors
    /// [`EntropyError`] if the operating system's generator fails. Do not use the contents of
    /// `draws` then.
    fn fill(&self, generator: &mut Generator, draws: &mut [i128]) -> Result<(), EntropyError> {
        generator.check_process()?;
        self.fill_from(WordSource(generator), draws)
    }

    /// One draw.
    ///
    /// # Errors
    /// [`EntropyError`] if the operating system's generator fails.
    fn sample(&self, generator: &mut Generator) -> Result<i128, EntropyError> {
        let mut draw = [0];
        self.fill(generator, &mut draw)?;
        let [draw] = draw;
        Ok(draw)
    }

    /// Fills `draws` from a known seed: as an illustration, never for a release.
    ///
    /// # Errors
    /// None in fact.
    fn rehearse(&self, rehearsal: &mut Rehearsal, draws: &mut [i128]) -> Result<(), EntropyError> {
        self.fill_from(WordSource(&mut rehearsal.0), draws)
    }
}

/// A generator that was checked to be in its own process, or a rehearsal: the source of words for
/// [`Law::fill_from`]. Only this crate makes one.
#[derive(Debug)]
pub struct WordSource<'a>(pub(crate) &'a mut Generator);
