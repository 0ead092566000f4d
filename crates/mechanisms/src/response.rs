//! Randomised response: every record answers for itself, and may lie.

use hushtable_noise::{EntropyError, Generator, Uniform, bernoulli_enclosed_all};
use hushtable_numbers::{Bracket, Enclosure};
use hushtable_privacy::{Epsilon, Loss};
use num_bigint::BigUint;

use crate::error::MechanismError;

/// Number of answers that are drawn at a time.
const CHUNK: usize = 256;

/// Most answers for which floating-point counts are exact.
const MOST_ANSWERS: u64 = 1 << 53;

/// k-ary randomised response (theory section 2; Warner 1965 for k = 2): of `k` categories 0 .. k a
/// record answers with its own with probability e^epsilon / (e^epsilon + k - 1), else with one of
/// the others, each with the same probability.
///
/// The answer alone is epsilon-differentially private for the record, whatever it is replaced with:
/// no collector needs to be trusted. Both choices are drawn exactly.
#[derive(Clone, Debug)]
pub struct RandomisedResponse {
    epsilon: Epsilon,
    categories: u32,
    others: Uniform,
    /// Bounds of the probability to keep the category, for the first word.
    first: (u64, u64),
}

/// How many records have a category, estimated from the answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate. It is right on average, and may be negative or more than all.
    pub count: f64,
    /// Its standard error, from the answers too (its square is right on average), given the
    /// categories of the records.
    pub standard_error: f64,
}

/// Values or answers that do not fit the categories; or no randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResponseError {
    /// A value is not one of the categories.
    #[error("a value is not below the number of categories, {categories}")]
    Value {
        /// The number of categories.
        categories: u32,
    },
    /// The numbers of answers and values differ.
    #[error("there must be as many answers as values")]
    LengthsDiffer,
    /// The numbers of counts and categories differ.
    #[error(
        "there are {given} counts of answers for {categories} categories: one for each is needed"
    )]
    Counts {
        /// How many were given.
        given: usize,
        /// The number of categories.
        categories: u32,
    },
    /// The counts add up to more than 2^53.
    #[error("the counts of answers add up to more than 2^53")]
    TooManyAnswers,
    /// The operating system's generator failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl RandomisedResponse {
    /// Randomised response among `categories` at `epsilon`.
    ///
    /// # Errors
    /// Zero epsilon, with which the answers would tell nothing; fewer than two categories.
    pub fn new(epsilon: Epsilon, categories: u32) -> Result<Self, MechanismError> {
        if epsilon.is_zero() {
            return Err(MechanismError::NoBudget("epsilon"));
        }
        if categories < 2 {
            return Err(MechanismError::TooFewCategories(categories));
        }
        let others = Uniform::below(u128::from(categories - 1))?;
        let (low, high) = ResponseProbability { epsilon, categories }.enclose(64);
        // The sampler asks for saturated bounds.
        let word = |bound: &BigUint| u64::try_from(bound).unwrap_or(u64::MAX);
        Ok(Self { epsilon, categories, others, first: (word(&low), word(&high)) })
    }

    /// The loss of one answer.
    pub fn loss(&self) -> Loss {
        Loss::pure(self.epsilon)
    }

    /// The number of categories.
    pub fn categories(&self) -> u32 {
        self.categories
    }

    /// The probability that the answer is true, within 1e-14 relative.
    pub fn keep_probability(&self) -> f64 {
        1.0 / (1.0 + f64::from(self.categories - 1) * (-self.epsilon.to_f64()).exp())
    }

    /// The answers of records, each drawn independently. How long it takes does not depend on who
    /// lies.
    ///
    /// # Errors
    /// A value that is not a category, or slices of different lengths: both are detected before
    /// anything is drawn. When the operating system's generator fails: the answers must not be used
    /// then.
    pub fn respond_all(
        &self,
        values: &[u32],
        answers: &mut [u32],
        generator: &mut Generator,
    ) -> Result<(), ResponseError> {
        if values.len() != answers.len() {
            return Err(ResponseError::LengthsDiffer);
        }
        if values.iter().any(|value| *value >= self.categories) {
            return Err(ResponseError::Value { categories: self.categories });
        }
        let (mut truthful, mut others) = ([false; CHUNK], [0u128; CHUNK]);
        for (values, answers) in values.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
            let (truthful, others) = (&mut truthful[..values.len()], &mut others[..values.len()]);
            let keep = |_| {
                (
                    self.first,
                    ResponseProbability { epsilon: self.epsilon, categories: self.categories },
                )
            };
            bernoulli_enclosed_all(generator, truthful, keep)?;
            self.others.fill(generator, others)?;
            for (((answer, value), truthful), other) in
                answers.iter_mut().zip(values).zip(truthful.iter()).zip(others.iter())
            {
                // The others in order, without the value itself: below k - 1, so this fits.
                let other = *other as u32;
                let other = other + u32::from(other >= *value);
                *answer = if *truthful { *value } else { other };
            }
        }
        Ok(())
    }

    /// Unbiased estimates of how many records have each category, from how many gave each answer.
    ///
    /// With n answers, Y of them being the category: Y + (k Y - n) / (e^epsilon - 1). For k = 2
    /// that is the sum of ((e^epsilon + 1) y - 1) / (e^epsilon - 1) over the answers y in 0, 1,
    /// whose variance is e^epsilon / (e^epsilon - 1)^2 each.
    ///
    /// # Errors
    /// Unless there is one count for each category, and they add up to at most 2^53.
    pub fn estimate(&self, counts: &[u64]) -> Result<Vec<Estimate>, ResponseError> {
        if usize::try_from(self.categories) != Ok(counts.len()) {
            let (given, categories) = (counts.len(), self.categories);
            return Err(ResponseError::Counts { given, categories });
        }
        let total = counts
            .iter()
            .try_fold(0u64, |sum, count| sum.checked_add(*count))
            .filter(|total| *total <= MOST_ANSWERS)
            .ok_or(ResponseError::TooManyAnswers)?;
        let epsilon = self.epsilon.to_f64();
        let half = (0.5 * epsilon).sinh();
        // e^epsilon / (e^epsilon - 1)^2
        let per_answer = 0.25 / (half * half);
        let k = f64::from(self.categories);
        Ok(counts
            .iter()
            .map(|count| {
                // At most 2^85: exact.
                let more = i128::from(self.categories) * i128::from(*count) - i128::from(total);
                let count = *count as f64;
                // With the probabilities p to answer a category that is one's own and q that is
                // not, Y is the sum of independent answers: Var Y = t p (1 - p) + (n - t) q (1 - q)
                // for t records. Put in the estimate of t, and divided by (p - q)^2, all that
                // cancels is gone:
                let variance =
                    per_answer * (total as f64 + (k - 2.0) * count / self.keep_probability());
                Estimate {
                    count: count + more as f64 / epsilon.exp_m1(),
                    standard_error: variance.sqrt(),
                }
            })
            .collect())
    }
}

/// e^epsilon / (e^epsilon + k - 1), to any precision.
struct ResponseProbability {
    epsilon: Epsilon,
    categories: u32,
}

impl Enclosure for ResponseProbability {
    fn enclose(&self, bits: u32) -> (BigUint, BigUint) {
        // As 1 / (1 + (k - 1) e^-epsilon). The factor below 2^32 costs as many bits, and the rest a
        // few.
        let inner = bits + 64;
        let one = Bracket::whole(1, inner);
        let shrink = Bracket::exp_minus(
            &BigUint::from(self.epsilon.units()),
            &BigUint::from(Epsilon::units_per_one()),
            inner,
        );
        let others = Bracket::whole(self.categories.saturating_sub(1), inner);
        match one.divided_by(&one.plus(&others.times(&shrink))) {
            Some(keep) => {
                let keep = keep.rescaled(bits);
                (keep.low, keep.high)
            }
            // The divisor is at least one.
            None => (BigUint::ZERO, BigUint::from(1u32) << bits),
        }
    }
}

#[cfg(test)]
mod tests;
