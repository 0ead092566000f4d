//! Words chosen by a test, and the exhaustive trial of all of them.

use std::collections::BTreeMap;

use crate::EntropyError;
use crate::generator::Words;

/// Gives the words of a list, then fails: what a sampler does with exactly these words.
pub(crate) struct Script<const BITS: u32> {
    words: Vec<u64>,
    used: usize,
}

impl<const BITS: u32> Script<BITS> {
    pub(crate) fn new(words: &[u64]) -> Self {
        Self { words: words.to_vec(), used: 0 }
    }

    /// The number of words given so far.
    pub(crate) fn used(&self) -> usize {
        self.used
    }
}

impl<const BITS: u32> Words for Script<BITS> {
    const BITS: u32 = BITS;

    fn word(&mut self) -> Result<u64, EntropyError> {
        let word = *self.words.get(self.used).ok_or(EntropyError(getrandom::Error::UNSUPPORTED))?;
        self.used += 1;
        Ok(word)
    }
}

/// The outcomes of all word strings up to a length.
pub(crate) struct Outcomes<T> {
    /// The probability with which each outcome is reached within the length; exact in f64, as it is
    /// a sum of multiples of 2^-(BITS * length).
    pub(crate) mass: BTreeMap<T, f64>,
    /// The probability that the sampler wants more words.
    pub(crate) undecided: f64,
}

impl<T: Ord + std::fmt::Debug> Outcomes<T> {
    /// Fails if some outcome is already reached with more than its probability, if one lacks more
    /// than what is still undecided, or if more than `allowed` is undecided. No chance is involved.
    pub(crate) fn assert_below(&self, allowed: f64, law: impl Fn(&T) -> f64) {
        assert!(self.undecided <= allowed, "undecided: {} > {allowed}", self.undecided);
        let total: f64 = self.mass.values().sum::<f64>() + self.undecided;
        assert!((total - 1.0).abs() < 1e-12, "total {total}");
        for (outcome, mass) in &self.mass {
            let exact = law(outcome);
            assert!(*mass <= exact + 1e-13, "{outcome:?}: {mass} reached, law {exact}");
            assert!(
                exact - mass <= self.undecided + 1e-13,
                "{outcome:?}: {mass} reached, law {exact}"
            );
        }
    }
}

/// Runs `sampler` on every string of up to `length` words of `BITS` bits.
pub(crate) fn enumerate<const BITS: u32, T: Ord>(
    length: usize,
    sampler: impl Fn(&mut Script<BITS>) -> Result<T, EntropyError>,
) -> Outcomes<T> {
    let mut outcomes = Outcomes { mass: BTreeMap::new(), undecided: 0.0 };
    let mut pending = vec![Vec::new()];
    while let Some(prefix) = pending.pop() {
        let mut script = Script::new(&prefix);
        let result = sampler(&mut script);
        let probability = (-(f64::from(BITS) * prefix.len() as f64)).exp2();
        match result {
            Ok(outcome) => {
                // Its parent was undecided, so a decision must have used the last word.
                assert_eq!(script.used(), prefix.len());
                *outcomes.mass.entry(outcome).or_insert(0.0) += probability;
            }
            Err(_) if prefix.len() == length => outcomes.undecided += probability,
            Err(_) => pending.extend((0..1u64 << BITS).map(|word| {
                let mut longer = prefix.clone();
                longer.push(word);
                longer
            })),
        }
    }
    outcomes
}
