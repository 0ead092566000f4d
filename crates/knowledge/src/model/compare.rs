//! The comparisons that each definition makes.

use std::collections::{BTreeMap, BTreeSet};

use hushtable_numbers::{lcm, lowest_terms};
use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::error::ModelError;
use super::mechanism::{Mechanism, OutputWeights};
use super::separation::{Curves, Witness};
use super::worlds::{Case, Model, ProtectedRecord};

/// The weights of two laws side by side, each multiplied by a factor.
pub(super) fn side_by_side(
    one: &OutputWeights,
    times: &BigUint,
    other: &OutputWeights,
    times_other: &BigUint,
) -> Vec<(BigUint, BigUint)> {
    let outputs: BTreeSet<&u32> = one.keys().chain(other.keys()).collect();
    let weight = |law: &OutputWeights, output: &u32, times: &BigUint| {
        law.get(output).map_or_else(BigUint::zero, |weight| weight * times)
    };
    let pair = |output: &u32| (weight(one, output, times), weight(other, output, times_other));
    outputs.into_iter().map(pair).collect()
}

/// Two values of the target that one knowledge is compatible with, each with its case.
pub(super) fn compatible(
    target: &ProtectedRecord,
    knowledge: u32,
) -> impl Iterator<Item = (u32, &Case)> + Clone {
    target
        .cases
        .range((knowledge, 0)..=(knowledge, u32::MAX))
        .map(|((_, value), case)| (*value, case))
}

/// PK Definitions 3 and 12: what is published if the target has value a, against what is if it has
/// b, for everything that the attacker may know and that is compatible with both.
pub(super) fn noiseless(model: &Model, mechanism: &Mechanism) -> Result<Curves, ModelError> {
    let mut curves = Curves::default();
    for target in &model.targets {
        for knowledge in &target.knowledge {
            let published: Vec<(u32, &Case, OutputWeights)> = compatible(target, *knowledge)
                .map(|(value, case)| Ok((value, case, mechanism.published(case)?)))
                .collect::<Result<_, ModelError>>()?;
            for (i, (value, case, law)) in published.iter().enumerate() {
                for (other, other_case, other_law) in &published[i + 1..] {
                    let terms = side_by_side(law, &other_case.weight, other_law, &case.weight);
                    let scale = &case.weight * &other_case.weight * &mechanism.total;
                    let witness = Witness {
                        target: target.record,
                        value: Some(*value),
                        other: Some(*other),
                        knowledge: Some(*knowledge),
                        output: None,
                    };
                    curves.push_both(witness, &terms, &scale)?;
                }
            }
        }
    }
    Ok(curves)
}

/// PK Definition 13: as [`noiseless`], on average over what the attacker knows, given the target's
/// value a.
///
/// Knowledge that is compatible with a and not with b tells them apart without anything being
/// published. The definition has no loss for it (it assumes Definition 8, under which there is
/// none), and neither has Definition 3: it is left out.
pub(super) fn passive(model: &Model, mechanism: &Mechanism) -> Result<Curves, ModelError> {
    let mut curves = Curves::default();
    for target in &model.targets {
        let laws: BTreeMap<(u32, u32), OutputWeights> = target
            .cases
            .iter()
            .map(|(key, case)| Ok((*key, mechanism.published(case)?)))
            .collect::<Result<_, ModelError>>()?;
        for value in &target.values {
            for other in target.values.iter().filter(|other| *other != value) {
                let both = target.knowledge.iter().filter_map(|b| {
                    let (one, two) = ((*b, *value), (*b, *other));
                    Some((
                        (target.cases.get(&one)?, laws.get(&one)?),
                        (target.cases.get(&two)?, laws.get(&two)?),
                    ))
                });
                let both: Vec<_> = both.collect();
                // P[B, O | b] is that of Definition 13 with P[B | a] in it: over all of a's weight,
                // and one case of b's, whose common multiple is the scale.
                let common = both
                    .iter()
                    .fold(BigUint::one(), |all, (_, (case, _))| lcm(all, case.weight.clone()));
                let mut terms = Vec::new();
                for ((case, law), (other_case, other_law)) in &both {
                    let factor = &common / &other_case.weight * &case.weight;
                    terms.extend(side_by_side(law, &common, other_law, &factor));
                }
                let whole: BigUint = target
                    .cases
                    .iter()
                    .filter(|((_, other), _)| other == value)
                    .map(|(_, case)| &case.weight)
                    .sum();
                let witness = Witness {
                    target: target.record,
                    value: Some(*value),
                    other: Some(*other),
                    knowledge: None,
                    output: None,
                };
                curves.push(witness, terms, whole * common * &mechanism.total)?;
            }
        }
    }
    Ok(curves)
}

/// PK Definition 5: what is published if the target has value a, against what is if it had a and is
/// then changed to b, with all that depends on it left as it was.
pub(super) fn causal(model: &Model, mechanism: &Mechanism) -> Result<Curves, ModelError> {
    let mut curves = Curves::default();
    for target in &model.targets {
        for ((knowledge, value), case) in &target.cases {
            let law = mechanism.published(case)?;
            for (other, _) in compatible(target, *knowledge).filter(|(other, _)| other != value) {
                let changed = mechanism.published_after(case, |database| {
                    model.changed(database, target.record, other).ok_or(ModelError::Inconsistent)
                })?;
                let one = BigUint::one();
                let terms = side_by_side(&law, &one, &changed, &one);
                let witness = Witness {
                    target: target.record,
                    value: Some(*value),
                    other: Some(other),
                    knowledge: Some(*knowledge),
                    output: None,
                };
                curves.push_both(witness, &terms, &(&case.weight * &mechanism.total))?;
            }
        }
    }
    Ok(curves)
}

/// PK Definition 6: what is known of the target once t is published, against what is if the target
/// was changed to b before. For every t that is possible both ways, as it is printed.
pub(super) fn inference(model: &Model, mechanism: &Mechanism) -> Result<Curves, ModelError> {
    let mut curves = Curves::default();
    for target in &model.targets {
        for knowledge in &target.knowledge {
            let real = by_output(compatible(target, *knowledge), |case| mechanism.published(case))?;
            for other in &target.values {
                let changed = by_output(compatible(target, *knowledge), |case| {
                    mechanism.published_after(case, |database| {
                        model
                            .changed(database, target.record, *other)
                            .ok_or(ModelError::Inconsistent)
                    })
                })?;
                for (output, values) in &real {
                    let Some(others) = changed.get(output) else { continue };
                    let (sum, sum_other): (BigUint, BigUint) =
                        (values.values().sum(), others.values().sum());
                    let terms = side_by_side(values, &sum_other, others, &sum);
                    let witness = Witness {
                        target: target.record,
                        value: None,
                        other: Some(*other),
                        knowledge: Some(*knowledge),
                        output: Some(*output),
                    };
                    curves.push_both(witness, &terms, &(sum * sum_other))?;
                }
            }
        }
    }
    Ok(curves)
}

/// For each output the weights of the target's values.
fn by_output<'a>(
    cases: impl Iterator<Item = (u32, &'a Case)>,
    published: impl Fn(&Case) -> Result<OutputWeights, ModelError>,
) -> Result<BTreeMap<u32, OutputWeights>, ModelError> {
    let mut all: BTreeMap<u32, OutputWeights> = BTreeMap::new();
    for (value, case) in cases {
        for (output, weight) in published(case)? {
            *all.entry(output).or_default().entry(value).or_default() += weight;
        }
    }
    Ok(all)
}

/// PK Definitions 17 and 18: how much more the last number that is published reveals to someone
/// who has seen those before it. `split` has for each output a number for all of those before, and
/// one for the last.
///
/// Outputs of which those before alone, or the last alone, rule b out are left out: there is
/// nothing left to tell. In PK Theorem 6 they are in the delta of these. (By the letter of
/// Definition 17, the latter are infinitely dependent.)
pub(super) fn dependence(
    model: &Model,
    mechanism: &Mechanism,
    split: &[[u32; 2]],
) -> Result<Curves, ModelError> {
    let mut curves = Curves::default();
    let marginal = |law: &OutputWeights, side: usize| -> Result<OutputWeights, ModelError> {
        let mut marginal = OutputWeights::new();
        for (output, weight) in law {
            let pair = split.get(*output as usize).ok_or(ModelError::Inconsistent)?;
            *marginal.entry(pair[side]).or_default() += weight;
        }
        Ok(marginal)
    };
    for target in &model.targets {
        for knowledge in &target.knowledge {
            let mut laws = Vec::new();
            for (value, case) in compatible(target, *knowledge) {
                let law = mechanism.published(case)?;
                let (before, last) = (marginal(&law, 0)?, marginal(&law, 1)?);
                laws.push((value, case, law, before, last));
            }
            for (value, case, law, before, last) in &laws {
                for (other, other_case, other_law, other_before, other_last) in &laws {
                    if value == other {
                        continue;
                    }
                    // For each output its p, and the q = p e^-Dep as a quotient.
                    let mut ratios = Vec::new();
                    for (output, weight) in law {
                        let [first, second] =
                            *split.get(*output as usize).ok_or(ModelError::Inconsistent)?;
                        let Some(seen) = other_before.get(&first) else { continue };
                        let Some(alone) = other_last.get(&second) else { continue };
                        let (above, below) = match other_law.get(output) {
                            Some(joint) => (
                                &before[&first] * joint * &last[&second] * &other_case.weight,
                                seen * alone * &case.weight,
                            ),
                            None => (BigUint::zero(), BigUint::one()),
                        };
                        let (above, below) = lowest_terms(above, below);
                        ratios.push((weight, above, below));
                    }
                    let common = ratios
                        .iter()
                        .fold(BigUint::one(), |all, (_, _, below)| lcm(all, below.clone()));
                    let terms: Vec<_> = ratios
                        .iter()
                        .map(|(p, above, below)| (*p * &common, above * (&common / below)))
                        .collect();
                    let witness = Witness {
                        target: target.record,
                        value: Some(*value),
                        other: Some(*other),
                        knowledge: Some(*knowledge),
                        output: None,
                    };
                    curves.push(witness, terms, &case.weight * &mechanism.total * common)?;
                }
            }
        }
    }
    Ok(curves)
}
