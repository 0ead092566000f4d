//! Simulators of a mechanism that do not see the target (PK Definition 4).

use std::collections::{BTreeMap, BTreeSet};

use hushtable_numbers::{Quotient, gcd};
use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::candidates::{ClassOf, Simulator, candidates, rounded};
use super::compare::side_by_side;
use super::error::ModelError;
use super::fraction::Fraction;
use super::mechanism::{Mechanism, OutputWeights};
use super::programme::{Programme, ProgrammeCase, Proposal};
use super::separation::{Curves, Witness, WorstSeparation};
use super::worlds::{Model, ProtectedRecord};

/// Most variables times rows of a linear programme.
const MOST_SIZE: usize = 4_000_000;
/// The largest epsilon for which an approximate simulator is searched for: linear programmes with
/// larger coefficients are not solved well. At larger epsilons that simulator is taken.
const MOST_EPSILON: f64 = 14.0;
/// Steps of a search, and how near in epsilon is near enough.
const STEPS: usize = 40;
const NEAR: f64 = 1e-9;

/// The simulators for every target.
#[derive(Debug)]
pub(super) struct Simulators(Vec<SimulatorLaws>);

/// The laws that a simulator for one target must be close to, and the comparisons of the simulators
/// of the search.
#[derive(Debug)]
struct SimulatorLaws {
    cases: Vec<TargetCase>,
    total: BigUint,
    outputs: Vec<u32>,
    programme: Programme,
    /// One entry for each simulator.
    curves: Vec<Curves>,
}

/// One knowledge and value of the target.
#[derive(Debug)]
struct TargetCase {
    witness: Witness,
    weight: BigUint,
    classes: Vec<(usize, BigUint)>,
    law: OutputWeights,
}

impl Simulators {
    pub(super) fn new(model: &Model, mechanism: &Mechanism) -> Result<Self, ModelError> {
        let all = model.targets.iter().map(|target| SimulatorLaws::new(model, mechanism, target));
        all.collect::<Result<_, _>>().map(Self)
    }

    /// The largest over the targets of the least over the simulators.
    pub(super) fn delta(&self, x: &Quotient) -> WorstSeparation<Quotient> {
        let none = WorstSeparation {
            amount: Quotient { above: BigUint::zero(), below: BigUint::one() },
            witness: None,
        };
        self.0.iter().map(|target| target.delta(x)).fold(none, |worst, current| {
            if current.amount.is_above(&worst.amount) { current } else { worst }
        })
    }

    /// The least ratio at which [`Self::delta`] is at most `delta`.
    pub(super) fn least(&self, delta: &Fraction) -> WorstSeparation<Option<Quotient>> {
        let none = WorstSeparation { amount: Some(Quotient::one()), witness: None };
        self.0.iter().map(|target| target.least(delta)).fold(none, |worst, current| {
            if lower(&worst.amount, &current.amount) { current } else { worst }
        })
    }
}

/// The epsilon, where none is infinity.
fn ln_up(x: &Option<Quotient>) -> f64 {
    x.as_ref().map_or(f64::INFINITY, Quotient::ln_up)
}

/// Whether the first is the lower e^epsilon, where none is the highest.
fn lower(one: &Option<Quotient>, other: &Option<Quotient>) -> bool {
    match (one, other) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(one), Some(other)) => other.is_above(one),
    }
}

impl SimulatorLaws {
    fn new(
        model: &Model,
        mechanism: &Mechanism,
        target: &ProtectedRecord,
    ) -> Result<Self, ModelError> {
        // A simulator sees all records but the target. Two such sights that have the same odds in
        // every case are one class, as nothing is gained by treating them differently.
        let mut sights: BTreeMap<Vec<u32>, BTreeMap<usize, BigUint>> = BTreeMap::new();
        for (number, case) in target.cases.values().enumerate() {
            for (database, weight) in &case.databases {
                let sight = sights.entry(model.without(*database, target.record)).or_default();
                *sight.entry(number).or_default() += weight;
            }
        }
        let mut classes: BTreeMap<Vec<(usize, BigUint)>, usize> = BTreeMap::new();
        // For each sight its class, and how often the class's odds it has.
        let mut class_of = ClassOf::new();
        for (sight, weights) in sights {
            let common =
                weights.values().fold(BigUint::zero(), |all, weight| gcd(all, weight.clone()));
            let odds = weights.iter().map(|(case, weight)| (*case, weight / &common)).collect();
            let next = classes.len();
            let class = *classes.entry(odds).or_insert(next);
            class_of.insert(sight, (class, common));
        }
        let mut cases = Vec::new();
        for ((knowledge, value), case) in &target.cases {
            let mut class_weights: BTreeMap<usize, BigUint> = BTreeMap::new();
            for (database, weight) in &case.databases {
                let (class, _) = &class_of[&model.without(*database, target.record)];
                *class_weights.entry(*class).or_default() += weight;
            }
            cases.push(TargetCase {
                witness: Witness {
                    target: target.record,
                    value: Some(*value),
                    other: None,
                    knowledge: Some(*knowledge),
                    output: None,
                },
                weight: case.weight.clone(),
                classes: class_weights.into_iter().collect(),
                law: mechanism.published(case)?,
            });
        }
        let outputs: BTreeSet<u32> =
            cases.iter().flat_map(|case| case.law.keys().copied()).collect();
        let outputs: Vec<u32> = outputs.into_iter().collect();
        let programme = programme(&cases, &outputs, classes.len(), &mechanism.total);
        if programme.size() > MOST_SIZE {
            return Err(ModelError::Large {
                what: "variables times rows of the linear programme for simulators",
                size: programme.size().to_string(),
                most: MOST_SIZE,
            });
        }
        let total = mechanism.total.clone();
        let mut simulated = Self { cases, total, outputs, programme, curves: Vec::new() };
        for candidate in candidates(model, mechanism, target, &class_of, classes.len())? {
            simulated.keep(&candidate)?;
        }
        simulated.search_pure()?;
        Ok(simulated)
    }

    /// The exact distance of a simulator's output from what is published.
    fn compare(&self, simulator: &Simulator) -> Result<Curves, ModelError> {
        let mut curves = Curves::default();
        for case in &self.cases {
            let mut simulated = OutputWeights::new();
            for (class, weight) in &case.classes {
                for (output, chance) in &simulator.laws[*class] {
                    *simulated.entry(*output).or_default() += weight * chance;
                }
            }
            let terms = side_by_side(&case.law, &simulator.total, &simulated, &self.total);
            let scale = &case.weight * &simulator.total * &self.total;
            curves.push_both(case.witness, &terms, &scale)?;
        }
        Ok(curves)
    }

    fn keep(
        &mut self,
        simulator: &Simulator,
    ) -> Result<WorstSeparation<Option<Quotient>>, ModelError> {
        let curves = self.compare(simulator)?;
        let least = curves.least(&Fraction::zero());
        self.curves.push(curves);
        Ok(least)
    }

    /// Simulators for a delta of zero, for ever smaller epsilons.
    ///
    /// At a given x = e^epsilon, a linear programme has the least z such that simulated
    /// probabilities are between 1/x and z times those published. The least epsilon of all is
    /// between ln x and ln z.
    fn search_pure(&mut self) -> Result<(), ModelError> {
        if !self.is_pure_possible() {
            return Ok(());
        }
        let even = self.programme.allowed.iter().map(|outputs| {
            outputs.iter().map(|output| (*output, 1.0 / outputs.len() as f64)).collect()
        });
        let even: Proposal = even.collect();
        let even = rounded(&even, &self.outputs);
        self.keep(&even)?;
        let mut high = self.pure();
        let mut low = 0.0f64;
        for step in 0..STEPS {
            if high - low <= NEAR * high.max(1e-3) {
                break;
            }
            // First where nothing at all is lost, which is where many are.
            let middle = if step == 0 { NEAR } else { 0.5 * (low + high) };
            let Some((proposal, z)) = self.programme.pure(middle.exp()) else {
                low = middle;
                continue;
            };
            let proposal = rounded(&proposal, &self.outputs);
            self.keep(&proposal)?;
            high = high.min(self.pure());
            low = low.max(middle.min(z.max(1.0).ln()).min(high));
        }
        Ok(())
    }

    /// The least epsilon at a delta of zero of the simulators so far; infinity if there is none.
    fn pure(&self) -> f64 {
        let least = self.curves.iter().map(|curves| curves.least(&Fraction::zero()).amount);
        least.flatten().map(|x| x.ln_up()).fold(f64::INFINITY, f64::min)
    }

    /// Whether any simulator has an epsilon at a delta of zero: what is simulated must be possible
    /// in every case that looks the same, and all that is possible must be simulated.
    fn is_pure_possible(&self) -> bool {
        let allowed = &self.programme.allowed;
        allowed.iter().all(|outputs| !outputs.is_empty())
            && self.programme.cases.iter().all(|case| {
                case.law.iter().all(|(output, _)| {
                    case.classes.iter().any(|(class, _)| allowed[*class].contains(output))
                })
            })
    }

    fn delta(&self, x: &Quotient) -> WorstSeparation<Quotient> {
        let mut best: Option<WorstSeparation<Quotient>> = None;
        let mut offer = |candidate: WorstSeparation<Quotient>| {
            if best.as_ref().is_none_or(|best| best.amount.is_above(&candidate.amount)) {
                best = Some(candidate);
            }
        };
        self.curves.iter().for_each(|curves| offer(curves.delta(x)));
        if let Some(curves) = self.approximate(x.up().min(MOST_EPSILON.exp())) {
            offer(curves.delta(x));
        }
        best.unwrap_or(WorstSeparation { amount: Quotient::one(), witness: None })
    }

    fn least(&self, delta: &Fraction) -> WorstSeparation<Option<Quotient>> {
        let mut best: Option<WorstSeparation<Option<Quotient>>> = None;
        let mut offer = |candidate: WorstSeparation<Option<Quotient>>| {
            if best.as_ref().is_none_or(|best| lower(&candidate.amount, &best.amount)) {
                best = Some(candidate);
            }
        };
        self.curves.iter().for_each(|curves| offer(curves.least(delta)));
        let mut high = MOST_EPSILON;
        if let Some(best) = &best {
            high = high.min(ln_up(&best.amount));
        }
        let mut low = 0.0;
        for step in 0..STEPS {
            // At a delta of zero, the search is already done.
            if delta == &Fraction::zero() || high - low <= NEAR * high.max(1e-3) {
                break;
            }
            let middle = if step == 0 { 0.0 } else { 0.5 * (low + high) };
            let next = self.approximate(middle.exp()).map(|curves| curves.least(delta));
            let reached = next.as_ref().map_or(f64::INFINITY, |next| ln_up(&next.amount));
            if reached > middle * (1.0 + NEAR) + NEAR {
                low = middle;
            }
            high = high.min(reached.max(low));
            if let Some(next) = next
                && best.as_ref().is_none_or(|best| lower(&next.amount, &best.amount))
            {
                best = Some(next);
            }
        }
        best.unwrap_or(WorstSeparation { amount: None, witness: None })
    }

    fn approximate(&self, x: f64) -> Option<Curves> {
        let proposal = self.programme.approximate(x)?;
        self.compare(&rounded(&proposal, &self.outputs)).ok()
    }
}

fn programme(cases: &[TargetCase], outputs: &[u32], classes: usize, total: &BigUint) -> Programme {
    let quotient =
        |above: &BigUint, below: BigUint| Quotient { above: above.clone(), below }.up().min(1.0);
    let index = |output: &u32| outputs.binary_search(output).unwrap_or_default();
    let programme_cases: Vec<ProgrammeCase> = cases
        .iter()
        .map(|case| ProgrammeCase {
            classes: case
                .classes
                .iter()
                .map(|(class, weight)| (*class, quotient(weight, case.weight.clone())))
                .collect(),
            law: case
                .law
                .iter()
                .map(|(output, weight)| (index(output), quotient(weight, &case.weight * total)))
                .collect(),
        })
        .collect();
    let mut allowed: Vec<Vec<usize>> = vec![(0..outputs.len()).collect(); classes];
    for case in &programme_cases {
        for (class, _) in &case.classes {
            allowed[*class].retain(|output| case.law.iter().any(|(other, _)| other == output));
        }
    }
    Programme { classes, outputs: outputs.len(), cases: programme_cases, allowed }
}
