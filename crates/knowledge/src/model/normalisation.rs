//! Whether what is known and what is to be protected can be separated (PK Definitions 7 and 8).

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;

use super::worlds::{Case, Model, ProtectedRecord};

/// The properties of a model for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalisation {
    /// The target, by its index among the records.
    pub target: usize,
    /// Whether the law of database and knowledge has an acceptable normalisation at all (PK
    /// Definition 8), by whatever parameters.
    pub acceptable: bool,
    /// Whether what is known is independent of the target's value: what an acceptable normalisation
    /// is for, and all of it that PK Proposition 3 needs. It is acceptable except for one thing
    /// then: Definition 7 wants one database and knowledge for each combination of parameters.
    pub knowledge_independent: bool,
    /// Whether the parameters that the model was given by are one.
    pub parameters: Parameters,
    /// Whether the target's record tells nothing of the other records to an attacker with any of
    /// the knowledge: what PK Propositions 2 and 4 need, so that noiseless and causal privacy are
    /// the same.
    pub others_independent: bool,
    /// Whether all that may be known is compatible with every value of the target, which is so
    /// where the normalisation is acceptable.
    pub compatible: bool,
}

/// The parameters of a model as a normalisation. Parameters are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// They are acceptable: those of `phi_0` determine the target, and `known` are the attacker's.
    Acceptable {
        /// The target is a function of these, which are taken together as one.
        phi_0: Vec<usize>,
        /// The attacker knows these.
        known: Vec<usize>,
    },
    /// Both the target and what is known depend on these.
    Shared(Vec<usize>),
    /// The attacker knows a function of these, which does not determine them.
    Vague(Vec<usize>),
    /// More than one combination of the parameters' values gives one database and knowledge.
    Merged,
}

pub(super) fn check(model: &Model, target: &ProtectedRecord) -> Normalisation {
    Normalisation {
        target: target.record,
        acceptable: acceptable(target),
        knowledge_independent: knowledge_independent(target),
        parameters: parameters(model, target),
        others_independent: others_independent(model, target),
        compatible: target.cases.len() == target.knowledge.len() * target.values.len(),
    }
}

/// Given what is known, the databases with each value of the target must have the same
/// probabilities, whatever is known.
///
/// If there is an acceptable normalisation, a database and what is known are one to one with what
/// is known and the parameters that are not; these are independent of it and determine the target.
/// So the law of the databases given what is known is the same except for names that keep the
/// target's value. The other way round, one parameter that is what is known and another for these
/// names are an acceptable normalisation.
fn acceptable(target: &ProtectedRecord) -> bool {
    let weights = |knowledge: u32| {
        let mut all: BTreeMap<u32, Vec<&BigUint>> = BTreeMap::new();
        let mut sum = BigUint::default();
        for value in &target.values {
            let Some(case) = target.cases.get(&(knowledge, *value)) else { continue };
            let mut list: Vec<&BigUint> = case.databases.values().collect();
            list.sort();
            all.insert(*value, list);
            sum += &case.weight;
        }
        (all, sum)
    };
    let Some(first) = target.knowledge.first() else { return true };
    let (all, sum) = weights(*first);
    target.knowledge.iter().skip(1).all(|knowledge| {
        let (others, other_sum) = weights(*knowledge);
        all.len() == others.len()
            && all.iter().zip(&others).all(|((value, list), (other_value, other_list))| {
                value == other_value
                    && list.len() == other_list.len()
                    && list.iter().zip(other_list).all(|(w, v)| *w * &other_sum == *v * &sum)
            })
    })
}

/// Each case must weigh what its knowledge and its value weigh together.
fn knowledge_independent(target: &ProtectedRecord) -> bool {
    let (mut known, mut values) = (BTreeMap::new(), BTreeMap::new());
    let mut all = BigUint::default();
    for ((knowledge, value), case) in &target.cases {
        *known.entry(knowledge).or_insert_with(BigUint::default) += &case.weight;
        *values.entry(value).or_insert_with(BigUint::default) += &case.weight;
        all += &case.weight;
    }
    known.iter().all(|(knowledge, known)| {
        values.iter().all(|(value, weight)| {
            let case = target.cases.get(&(**knowledge, **value));
            case.is_some_and(|case| &case.weight * &all == known * weight)
        })
    })
}

fn parameters(model: &Model, target: &ProtectedRecord) -> Parameters {
    let worlds = &model.worlds;
    let possible: Vec<(usize, usize)> = (0..worlds.count())
        .filter_map(|world| Some((world, (*model.database_of.get(world)?)?)))
        .collect();
    // A parameter matters to a function if giving it its first value ever changes the function.
    let matters = |parameter: usize, function: &dyn Fn(usize, usize) -> u32| {
        let first = worlds.first_possible(parameter);
        possible.iter().any(|(world, database)| {
            let back = worlds.choice(*world, parameter).abs_diff(first) * worlds.stride(parameter);
            let other =
                if worlds.choice(*world, parameter) > first { world - back } else { world + back };
            let other_database = model.database_of.get(other).copied().flatten();
            other_database.is_some_and(|d| function(other, d) != function(*world, *database))
        })
    };
    let value = |_: usize, database: usize| model.databases()[database][target.record];
    let knowledge = |world: usize, _: usize| model.knowledge_of[world];
    let all = 0..worlds.parameters();
    let phi_0: Vec<usize> = all.clone().filter(|p| matters(*p, &value)).collect();
    let known: Vec<usize> = all.filter(|p| matters(*p, &knowledge)).collect();
    let shared: Vec<usize> = phi_0.iter().copied().filter(|p| known.contains(p)).collect();
    if !shared.is_empty() {
        return Parameters::Shared(shared);
    }
    let known_values: usize = known.iter().map(|p| worlds.possible(*p)).product();
    if target.knowledge.len() < known_values {
        return Parameters::Vague(known);
    }
    let pairs: BTreeSet<(usize, u32)> =
        possible.iter().map(|(world, database)| (*database, model.knowledge_of[*world])).collect();
    if pairs.len() < possible.len() {
        return Parameters::Merged;
    }
    Parameters::Acceptable { phi_0, known }
}

/// Given what is known, the law of the others must be the same for all values of the target.
fn others_independent(model: &Model, target: &ProtectedRecord) -> bool {
    let others = |case: &Case| -> BTreeMap<Vec<u32>, BigUint> {
        let mut law: BTreeMap<Vec<u32>, BigUint> = BTreeMap::new();
        for (database, weight) in &case.databases {
            *law.entry(model.without(*database, target.record)).or_default() += weight;
        }
        law
    };
    target.knowledge.iter().all(|knowledge| {
        let mut cases = target
            .cases
            .range((*knowledge, 0)..=(*knowledge, u32::MAX))
            .map(|(_, case)| (others(case), &case.weight));
        let Some((first, weight)) = cases.next() else { return true };
        cases.all(|(law, other_weight)| {
            first.len() == law.len()
                && first.iter().zip(&law).all(|((rest, w), (other_rest, v))| {
                    rest == other_rest && w * other_weight == v * weight
                })
        })
    })
}
