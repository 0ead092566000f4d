//! The delta of each definition.

use hushtable_numbers::Quotient;
use hushtable_privacy::Epsilon;

use super::compare;
use super::error::ModelError;
use super::fraction::Fraction;
use super::mechanism::Mechanism;
use super::normalisation::{Normalisation, check};
use super::separation::{Curves, Witness, WorstSeparation};
use super::simulator::Simulators;
use super::worlds::{Model, check_steps};

/// A definition of privacy (PK sections 2 and 3), as [`Definitions`] computes it.
///
/// All are about two laws being (epsilon, delta)-indistinguishable (PK Definition 1), in both
/// directions, for every target, every two of its values a and b that have a probability above
/// zero, and everything that an attacker may know and that is compatible with these values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Definition {
    /// Noiseless privacy (PK Definition 3): what is published given that the target has a, and
    /// given that it has b.
    Noiseless,
    /// Distributional differential privacy (PK Definition 4): what is published, and what a
    /// simulator makes of all records but the target, which knows neither the target nor what the
    /// attacker knows. The simulator may be another for each target, as which record is missing can
    /// be seen.
    Distributional,
    /// Causal differential privacy (PK Definition 5): what is published given that the target has
    /// a, and what would be if it were then changed to b while everything else stayed.
    Causal,
    /// Inference-based causal differential privacy (PK Definition 6): what is inferred of the
    /// target from an output, and from the same output of the database with the target changed to
    /// b; b need not be compatible with what the attacker knows, as the definition does not ask for
    /// it.
    InferenceBased,
    /// Active partial knowledge (PK Definition 12): the worst of all that may be known. It is
    /// noiseless privacy.
    Active,
    /// Passive partial knowledge (PK Definition 13): the mean over what may be known.
    Passive,
}

impl Definition {
    /// All definitions.
    pub const ALL: [Self; 6] = [
        Self::Noiseless,
        Self::Distributional,
        Self::Causal,
        Self::InferenceBased,
        Self::Active,
        Self::Passive,
    ];
}

/// The least epsilon or delta of a definition, rounded up, and where it is reached.
#[derive(Clone, Debug, PartialEq)]
pub struct LeastAmount<A> {
    /// The epsilon (`None` if none is enough) or the delta.
    pub amount: A,
    /// Where it is reached; `None` if no two laws differ.
    pub witness: Option<Witness>,
}

/// All comparisons of a model and a mechanism.
#[derive(Debug)]
pub struct Definitions {
    noiseless: Curves,
    causal: Curves,
    inference: Curves,
    passive: Curves,
    simulators: Result<Simulators, ModelError>,
    dependence: Option<Curves>,
    normalisations: Vec<Normalisation>,
}

impl Definitions {
    /// Compares what a mechanism publishes of a model. If it publishes several numbers, `split`
    /// has, for each output, a number for all of them before the last and one for the last.
    ///
    /// # Errors
    /// If the model is too large. If it is so for the simulators of distributional privacy only,
    /// they alone are refused.
    pub fn new(
        model: &Model,
        mechanism: &Mechanism,
        split: Option<&[[u32; 2]]>,
    ) -> Result<Self, ModelError> {
        let largest = (0..model.databases().len())
            .map(|database| mechanism.of(database).map(|law| law.len()))
            .try_fold(0, |most, law| law.map(|law| most.max(law)))?;
        let steps: usize = model
            .targets
            .iter()
            .map(|target| {
                let real: usize = target.cases.values().map(|case| case.databases.len()).sum();
                real.saturating_mul(target.values.len()).saturating_mul(largest)
            })
            .sum();
        check_steps("databases times values of the target times outputs", steps)?;
        Ok(Self {
            noiseless: compare::noiseless(model, mechanism)?,
            causal: compare::causal(model, mechanism)?,
            inference: compare::inference(model, mechanism)?,
            passive: compare::passive(model, mechanism)?,
            simulators: Simulators::new(model, mechanism),
            dependence: split.map(|p| compare::dependence(model, mechanism, p)).transpose()?,
            normalisations: model.targets.iter().map(|target| check(model, target)).collect(),
        })
    }

    /// For each target whether PK Definition 8 holds.
    pub fn normalisations(&self) -> &[Normalisation] {
        &self.normalisations
    }

    /// The least delta at `epsilon`. At epsilons above 2000 it is that of 2000.
    ///
    /// It is exact except for its rounding up to a float, and for e^epsilon, which is rounded down
    /// by one part in 2^150. For [`Definition::Distributional`] it is the delta, as exact, of the
    /// best simulator in the search: never below the least, and about 1e-6 above at most where the
    /// linear programme was solved.
    ///
    /// # Errors
    /// For [`Definition::Distributional`], if the linear programme is too large.
    pub fn delta(
        &self,
        definition: Definition,
        epsilon: Epsilon,
    ) -> Result<LeastAmount<f64>, ModelError> {
        let x = Quotient::exp_down(epsilon.units(), Epsilon::units_per_one());
        let worst = match self.curves(definition) {
            Some(curves) => curves.delta(&x),
            None => self.simulators.as_ref().map_err(Clone::clone)?.delta(&x),
        };
        Ok(LeastAmount { amount: worst.amount.up().min(1.0), witness: worst.witness })
    }

    /// The least epsilon at which delta is at most `delta`; `None` if there is none.
    ///
    /// It is exact except for its rounding up to 12 decimal places. For
    /// [`Definition::Distributional`] it is that of the best simulator that was found, never below
    /// the least; with a delta above zero only simulators for an epsilon of up to 14 are searched
    /// for, and `None` may mean that there are others.
    ///
    /// # Errors
    /// For [`Definition::Distributional`], if the linear programme is too large.
    pub fn epsilon(
        &self,
        definition: Definition,
        delta: &Fraction,
    ) -> Result<LeastAmount<Option<Epsilon>>, ModelError> {
        let worst = match self.curves(definition) {
            Some(curves) => curves.least(delta),
            None => self.simulators.as_ref().map_err(Clone::clone)?.least(delta),
        };
        Ok(rounded(worst))
    }

    /// The least mu for which the last number that is published is (mu, nu)-bounded dependent on
    /// those before (PK Definition 18); `None` if there is no `split`.
    pub fn dependence(&self, nu: &Fraction) -> Option<LeastAmount<Option<Epsilon>>> {
        self.dependence.as_ref().map(|curves| rounded(curves.least(nu)))
    }

    fn curves(&self, definition: Definition) -> Option<&Curves> {
        match definition {
            Definition::Noiseless | Definition::Active => Some(&self.noiseless),
            Definition::Distributional => None,
            Definition::Causal => Some(&self.causal),
            Definition::InferenceBased => Some(&self.inference),
            Definition::Passive => Some(&self.passive),
        }
    }
}

fn rounded(worst: WorstSeparation<Option<Quotient>>) -> LeastAmount<Option<Epsilon>> {
    let epsilon = worst.amount.and_then(|x| Epsilon::from_f64_up(x.ln_up()).ok());
    LeastAmount { amount: epsilon, witness: worst.witness }
}
