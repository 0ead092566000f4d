//! Mechanisms: the publication of each database.

use std::collections::BTreeMap;

use hushtable_numbers::lcm;
use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::error::ModelError;
use super::fraction::{FiniteLaw, Fraction};
use super::worlds::{Case, Model, Worlds};

/// For each database of a model the law of what is published: numbers of outputs with their
/// weights.
#[derive(Clone, Debug)]
pub struct Mechanism {
    laws: Vec<BTreeMap<u32, BigUint>>,
    /// The sum of the weights of each law.
    pub(super) total: BigUint,
}

/// The weights of outputs.
pub(super) type OutputWeights = BTreeMap<u32, BigUint>;

impl Mechanism {
    /// A mechanism that publishes a function of the database and of noise of its own: `outputs`
    /// has, for each database, what is published for each combination of the noise's values.
    ///
    /// Without noise there is one combination.
    ///
    /// # Errors
    /// Unless there are as many outputs as databases and combinations.
    pub fn with_noise(model: &Model, noise: &Worlds, outputs: &[u32]) -> Result<Self, ModelError> {
        if outputs.len() != model.databases().len() * noise.count() {
            return Err(ModelError::Inconsistent);
        }
        let weights: Vec<BigUint> = (0..noise.count()).map(|world| noise.weight(world)).collect();
        let laws = outputs
            .chunks(noise.count())
            .map(|outputs| {
                let mut law = OutputWeights::new();
                for (output, weight) in outputs.iter().zip(&weights) {
                    if !weight.is_zero() {
                        *law.entry(*output).or_default() += weight;
                    }
                }
                law
            })
            .collect();
        Ok(Self { laws, total: noise.total() })
    }

    /// A mechanism by a table: for each database its outputs and their probabilities.
    ///
    /// # Errors
    /// Unless there are as many laws as databases, each adding up to one.
    pub fn table(model: &Model, laws: &[Vec<(u32, Fraction)>]) -> Result<Self, ModelError> {
        if laws.len() != model.databases().len() {
            return Err(ModelError::Inconsistent);
        }
        let exact = |law: &Vec<(u32, Fraction)>| {
            FiniteLaw::new(&law.iter().map(|(_, p)| p.clone()).collect::<Vec<_>>())
        };
        let exact: Vec<FiniteLaw> = laws.iter().map(exact).collect::<Result<_, _>>()?;
        let total = exact.iter().fold(BigUint::one(), |all, law| lcm(all, law.total.clone()));
        let scaled = |(law, exact): (&Vec<(u32, Fraction)>, &FiniteLaw)| {
            let factor = &total / &exact.total;
            let mut scaled = OutputWeights::new();
            for ((output, _), weight) in law.iter().zip(&exact.weights) {
                if !weight.is_zero() {
                    *scaled.entry(*output).or_default() += weight * &factor;
                }
            }
            scaled
        };
        Ok(Self { laws: laws.iter().zip(&exact).map(scaled).collect(), total })
    }

    /// The law of one database.
    pub(super) fn of(&self, database: usize) -> Result<&OutputWeights, ModelError> {
        self.laws.get(database).ok_or(ModelError::Inconsistent)
    }

    /// The outputs in a case, out of the case's weight times [`Self::total`].
    pub(super) fn published(&self, case: &Case) -> Result<OutputWeights, ModelError> {
        self.published_after(case, Ok)
    }

    /// The outputs in a case, after `change` was applied to each database.
    pub(super) fn published_after(
        &self,
        case: &Case,
        change: impl Fn(usize) -> Result<usize, ModelError>,
    ) -> Result<OutputWeights, ModelError> {
        let mut all = OutputWeights::new();
        for (database, weight) in &case.databases {
            for (output, chance) in self.of(change(*database)?)? {
                *all.entry(*output).or_default() += weight * chance;
            }
        }
        Ok(all)
    }
}
