//! Simulators that may be good, as whole numbers.

use std::collections::{BTreeMap, BTreeSet};

use hushtable_numbers::lcm;
use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::error::ModelError;
use super::mechanism::{Mechanism, OutputWeights};
use super::programme::Proposal;
use super::worlds::{Model, ProtectedRecord};

/// Most bits of a candidate's denominator.
const MOST_BITS: u64 = 4096;

/// For all records but the target: the class of what a simulator sees, and how often it has its
/// odds.
pub(super) type ClassOf = BTreeMap<Vec<u32>, (usize, BigUint)>;

/// For each class of what the simulator sees the law of its output.
pub(super) struct Simulator {
    pub(super) laws: Vec<OutputWeights>,
    /// The sum of the weights of each law.
    pub(super) total: BigUint,
}

/// Simulators that need no programme: those that substitute a fixed value for the target (as in PK
/// section 2.2, after Definition 5), and the one that publishes by the law given the other records.
pub(super) fn candidates(
    model: &Model,
    mechanism: &Mechanism,
    target: &ProtectedRecord,
    class_of: &ClassOf,
    classes: usize,
) -> Result<Vec<Simulator>, ModelError> {
    let mut real: BTreeMap<usize, BigUint> = BTreeMap::new();
    for case in target.cases.values() {
        for (database, weight) in &case.databases {
            *real.entry(*database).or_default() += weight;
        }
    }
    let sight = |database: usize| &class_of[&model.without(database, target.record)];
    let mut simulators = Vec::new();
    for value in &target.values {
        let mut laws = vec![OutputWeights::new(); classes];
        // Each sight once, as often as it has the odds of its class.
        let mut done = BTreeSet::new();
        for database in real.keys() {
            let changed = model.changed(*database, target.record, *value);
            let changed = changed.ok_or(ModelError::Inconsistent)?;
            if done.insert(changed) {
                let (class, times) = sight(*database);
                for (output, weight) in mechanism.of(changed)? {
                    *laws[*class].entry(*output).or_default() += weight * times;
                }
            }
        }
        simulators.extend(evened(laws));
    }
    let mut laws = vec![OutputWeights::new(); classes];
    for (database, weight) in &real {
        let (class, _) = sight(*database);
        for (output, chance) in mechanism.of(*database)? {
            *laws[*class].entry(*output).or_default() += weight * chance;
        }
    }
    simulators.extend(evened(laws));
    Ok(simulators)
}

/// Laws by weights of any sum, as ones with the same sum; `None` if that is too large.
fn evened(laws: Vec<OutputWeights>) -> Option<Simulator> {
    let sums: Vec<BigUint> = laws.iter().map(|law| law.values().sum()).collect();
    let total = sums.iter().fold(BigUint::one(), |all, sum| lcm(all, sum.clone()));
    if total.is_zero() || total.bits() > MOST_BITS {
        return None;
    }
    let scaled = |(law, sum): (OutputWeights, &BigUint)| {
        let factor = &total / sum;
        law.into_iter().map(|(output, weight)| (output, weight * &factor)).collect()
    };
    let laws = laws.into_iter().zip(&sums).map(scaled).collect();
    Some(Simulator { laws, total })
}

/// A proposal as whole numbers that add up to 2^50 in each class.
pub(super) fn rounded(proposal: &Proposal, outputs: &[u32]) -> Simulator {
    const TOTAL: u64 = 1 << 50;
    let law = |chances: &Vec<(usize, f64)>| {
        let sum: f64 = chances.iter().map(|(_, p)| p.max(0.0)).sum();
        let weight = |p: f64| (p.max(0.0) / sum * TOTAL as f64).floor() as u64;
        let mut weights: Vec<(u32, u64)> =
            chances.iter().map(|(output, p)| (outputs[*output], weight(*p))).collect();
        // The largest weight absorbs the difference that rounding makes.
        let all: u64 = weights.iter().map(|(_, weight)| weight).sum();
        if let Some((_, largest)) = weights.iter_mut().max_by_key(|(_, weight)| *weight) {
            *largest = (*largest + TOTAL).saturating_sub(all);
        }
        let positive = weights.into_iter().filter(|(_, weight)| *weight > 0);
        positive.map(|(output, weight)| (output, BigUint::from(weight))).collect()
    };
    Simulator { laws: proposal.iter().map(law).collect(), total: BigUint::from(TOTAL) }
}

#[cfg(test)]
mod tests {
    use hushtable_testkit::Dice;

    use super::*;

    #[test]
    fn proposals_become_laws() {
        let thirds = vec![(0, 1.0 / 3.0), (1, 1.0 / 3.0), (2, 1.0 / 3.0)];
        let proposal =
            vec![thirds, vec![(1, 0.999_999_9), (2, -1e-9)], vec![(0, 0.3), (2, 0.700_000_1)]];
        let simulator = rounded(&proposal, &[5, 6, 7]);
        for law in &simulator.laws {
            assert_eq!(law.values().sum::<BigUint>(), simulator.total, "{law:?}");
        }
        assert_eq!(simulator.laws[1].keys().copied().collect::<Vec<_>>(), [6]);
        let mut dice = Dice::new(1);
        for _ in 0..1000 {
            let proposal =
                vec![(0..7).map(|output| (output, dice.below(1 << 31) as f64)).collect()];
            let simulator = rounded(&proposal, &[0, 1, 2, 3, 4, 5, 6]);
            assert_eq!(simulator.laws[0].values().sum::<BigUint>(), simulator.total);
        }
    }
}
