//! The crate's guarantees for counts, thresholds and tables against finite models of the same
//! records.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::collections::BTreeMap;

use hushtable_knowledge::model::{
    Definition, Definitions, FiniteLaw, Fraction, Mechanism, Model, Worlds,
};
use hushtable_knowledge::{
    Count, CountAbove, CountAboveWithin, CountWithin, Histogram, KAnonymity, Probability,
    ProbabilityRange, Profile, Side,
};
use hushtable_privacy::Epsilon;
use proptest::prelude::*;

/// A law of some values in twentieths, so that each probability is a double's nearest.
type Shares = Vec<u32>;

const WHOLE: u32 = 20;

fn p(share: u32) -> Probability {
    Probability::new(f64::from(share) / f64::from(WHOLE)).unwrap()
}

fn interval(shares: impl Iterator<Item = u32> + Clone) -> ProbabilityRange {
    let (low, high) = (shares.clone().min().unwrap(), shares.max().unwrap());
    ProbabilityRange::new(p(low), p(high)).unwrap()
}

/// A target whose values are equally likely, others with the given laws, of which the last `known`
/// are known; what is published of how often each value is there.
fn definitions(
    others: &[Shares],
    known: usize,
    published: impl Fn(&[u64]) -> Vec<u64>,
) -> Definitions {
    let values = others[0].len();
    let exact = |shares: &Shares| {
        let parse = |share: &u32| format!("{share}/{WHOLE}").parse::<Fraction>().unwrap();
        FiniteLaw::new(&shares.iter().map(parse).collect::<Vec<_>>()).unwrap()
    };
    let mut laws = vec![FiniteLaw::uniform(values).unwrap()];
    laws.extend(others.iter().map(exact));
    let worlds = Worlds::new(laws).unwrap();
    let column = |parameter: usize| -> Vec<u32> {
        (0..worlds.count()).map(|world| worlds.choice(world, parameter) as u32).collect()
    };
    let records: Vec<Vec<u32>> = (0..=others.len()).map(column).collect();
    let knowledge = (0..worlds.count())
        .map(|world| {
            let known_records = &records[others.len() + 1 - known..];
            known_records.iter().fold(0, |all, record| all * values as u32 + record[world])
        })
        .collect();
    let model = Model::new(worlds, &records, knowledge, &[0]).unwrap();
    let mut outputs: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
    let mut numbers = Vec::new();
    for database in model.databases() {
        let mut counts = vec![0; values];
        database.iter().for_each(|value| counts[*value as usize] += 1);
        let next = outputs.len() as u32;
        numbers.push(*outputs.entry(published(&counts)).or_insert(next));
    }
    let mechanism = Mechanism::with_noise(&model, &Worlds::new(Vec::new()).unwrap(), &numbers);
    Definitions::new(&model, &mechanism.unwrap(), None).unwrap()
}

fn delta(definitions: &Definitions, definition: Definition, epsilon: Epsilon) -> f64 {
    definitions.delta(definition, epsilon).unwrap().amount
}

/// Never below, except for what the probabilities were rounded by.
fn above(bound: f64, exact: f64) -> Result<(), TestCaseError> {
    prop_assert!(bound >= exact * (1.0 - 1e-12) - 1e-15, "{bound:e} is below {exact:e}");
    Ok(())
}

fn equal(bound: f64, exact: f64) -> Result<(), TestCaseError> {
    above(bound, exact)?;
    prop_assert!(bound <= exact * (1.0 + 1e-9) + 1e-15, "{bound:e} is above {exact:e}");
    Ok(())
}

fn ones(others: &[Shares]) -> Option<Profile> {
    Profile::new(others.iter().map(|shares| (1, p(shares[1])))).ok()
}

fn votes(most: usize) -> impl Strategy<Value = Vec<Shares>> {
    prop::collection::vec((0..=WHOLE).prop_map(|yes| vec![WHOLE - yes, yes]), 2..=most)
}

/// Three values, the last of which may be absence.
fn choices() -> impl Strategy<Value = Vec<Shares>> {
    let one = (0..=WHOLE, 0..=WHOLE).prop_map(|(a, b)| {
        let (low, high) = (a.min(b), a.max(b));
        vec![low, high - low, WHOLE - high]
    });
    prop::collection::vec(one, 1..=5)
}

fn epsilons() -> impl Strategy<Value = Epsilon> {
    (0..3_000_000u64).prop_map(|micros| Epsilon::from_units(micros * 1_000_000).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(1000)
    })]

    /// And known records make no difference (PK Proposition 6, Theorem 2).
    #[test]
    fn counts_are_as_in_models(others in votes(7), known in 0..3usize, epsilon in epsilons()) {
        let known = known.min(others.len() - 1);
        let exact = definitions(&others, known, |counts| vec![counts[1]]);
        let unknown = &others[..others.len() - known];
        let count = Count::new(&ones(unknown).unwrap(), None).unwrap();
        let active = delta(&exact, Definition::Active, epsilon);
        equal(count.delta(epsilon.to_f64()), active)?;
        let passive = delta(&exact, Definition::Passive, epsilon);
        prop_assert!((passive - active).abs() <= 1e-14, "{passive} {active}");
        let bounds = interval(unknown.iter().map(|shares| shares[1]));
        let within = CountWithin::new(unknown.len() as u64, bounds, None).unwrap();
        above(within.worst(epsilon.to_f64()).delta, active)?;
    }

    #[test]
    fn thresholds_are_as_in_models(
        others in votes(7),
        known in 0..4usize,
        threshold in 0..7u64,
        epsilon in epsilons(),
    ) {
        let known = known.min(others.len() - 1);
        let threshold = threshold.min(others.len() as u64);
        let published =
            |counts: &[u64]| if counts[1] > threshold { vec![counts[1]] } else { vec![] };
        let exact = definitions(&others, known, published);
        let (unknown, known_shares) = others.split_at(others.len() - known);
        let profile = ones(known_shares).unwrap_or_else(Profile::none);
        let count_above = CountAbove::new(threshold, &ones(unknown).unwrap(), &profile).unwrap();
        let deltas = count_above.delta(epsilon.to_f64());
        equal(deltas.passive, delta(&exact, Definition::Passive, epsilon))?;
        // An active attacker plants what is impossible, too; a model has only what is possible.
        let active = delta(&exact, Definition::Active, epsilon);
        above(deltas.active, active)?;
        if known_shares.iter().all(|shares| (1..WHOLE).contains(&shares[1])) {
            equal(deltas.active, active)?;
        }
        let bounds = interval(others.iter().map(|shares| shares[1]));
        let within =
            CountAboveWithin::new(threshold, unknown.len() as u64, known as u64, bounds).unwrap();
        let within = within.delta(epsilon.to_f64());
        above(within.active, active)?;
        above(within.passive, delta(&exact, Definition::Passive, epsilon))?;
    }

    /// PK Proposition 8: whoever plants K records lowers the threshold by K, as a higher threshold
    /// is computed from what a lower one shows.
    #[test]
    fn active_attackers_lower_the_threshold_by_what_they_plant(
        others in votes(7),
        known in 0..4usize,
        threshold in 0..7u64,
        epsilon in epsilons(),
    ) {
        let known = known.min(others.len() - 1);
        let threshold = threshold.min(others.len() as u64);
        let (unknown, planted) = others.split_at(others.len() - known);
        let above = |threshold: u64| {
            move |counts: &[u64]| if counts[1] > threshold { vec![counts[1]] } else { vec![] }
        };
        let lower = threshold.saturating_sub(known as u64);
        // With more planted records than the threshold is, nothing is ever suppressed.
        let remains = if known as u64 > threshold {
            definitions(unknown, 0, |counts: &[u64]| vec![counts[1]])
        } else {
            definitions(unknown, 0, above(lower))
        };
        let whole = definitions(&others, known, above(threshold));
        let active = delta(&whole, Definition::Active, epsilon);
        let passive = delta(&remains, Definition::Passive, epsilon);
        if planted.iter().all(|shares| shares[1] > 0) {
            prop_assert!((active - passive).abs() <= 1e-14, "{active} {passive}");
        }
        // A record that is never counted cannot be planted as one that is: then it is a bound.
        prop_assert!(active <= passive + 1e-14, "{active} {passive}");
        let Some(law) = ones(unknown) else { return Ok(()) };
        let profile = ones(planted).unwrap_or_else(Profile::none);
        let deltas = CountAbove::new(threshold, &law, &profile).unwrap().delta(epsilon.to_f64());
        equal(deltas.active, passive)?;
        if known as u64 <= threshold && lower <= unknown.len() as u64 {
            let nobody = Profile::none();
            let lowered = CountAbove::new(lower, &law, &nobody).unwrap().delta(epsilon.to_f64());
            equal(lowered.passive, passive)?;
        }
    }

    #[test]
    fn histograms_are_above_models(others in choices(), epsilon in epsilons()) {
        let exact = definitions(&others, 0, |counts| counts.to_vec());
        let least = |value: usize| p(others.iter().map(|shares| shares[value]).min().unwrap());
        let bounds: Vec<Probability> = (0..3).map(least).collect();
        let bound = Histogram::of_values(others.len() as u64, &bounds).unwrap();
        above(bound.delta(epsilon.to_f64()), delta(&exact, Definition::Active, epsilon))?;
    }

    #[test]
    fn k_anonymous_tables_are_above_models(
        others in choices(),
        k in 1..5u64,
        hidden in any::<bool>(),
        epsilon in epsilons(),
    ) {
        let k = k.min(others.len() as u64 + 1);
        let visible = if hidden { 2 } else { 3 };
        let published = |counts: &[u64]| {
            counts[..visible].iter().map(|n| if *n >= k { *n } else { 0 }).collect()
        };
        let exact = definitions(&others, 0, published);
        let bounds: Vec<ProbabilityRange> =
            (0..3).map(|value| interval(others.iter().map(move |shares| shares[value]))).collect();
        let absent = hidden.then(|| bounds[2]);
        let Ok(table) = KAnonymity::new(k, others.len() as u64, &bounds[..visible], absent) else {
            return Ok(());
        };
        let active = delta(&exact, Definition::Active, epsilon);
        above(table.delta(epsilon.to_f64()), active)?;
        // The worst pair of values is one of the table's.
        let index_of = |side| match side { Side::Value(index) => index as u32, Side::Absent => 2 };
        let worst = exact.delta(Definition::Active, epsilon).unwrap();
        if let Some(witness) = worst.witness {
            let pair = [witness.value.unwrap(), witness.other.unwrap()];
            let bound = table.pairs(epsilon.to_f64()).into_iter().find(|bound| {
                let sides = [index_of(bound.one), index_of(bound.other)];
                sides == pair || sides == [pair[1], pair[0]]
            });
            above(bound.unwrap().delta, active)?;
        }
    }
}

/// PK Proposition 8 needs a chance of one of each known record, as Definition 12 speaks of what may
/// be known: two voters who never say yes lower no threshold.
#[test]
fn records_that_are_never_counted_lower_no_threshold() {
    let (never, rarely) = (vec![WHOLE, 0], vec![18, 2]);
    let others = [rarely.clone(), rarely.clone(), rarely, never.clone(), never];
    let above = |threshold: u64| {
        move |counts: &[u64]| if counts[1] > threshold { vec![counts[1]] } else { vec![] }
    };
    let epsilon = "0.1".parse().unwrap();
    let active = delta(&definitions(&others, 2, above(2)), Definition::Active, epsilon);
    let lowered = delta(&definitions(&others[..3], 0, above(0)), Definition::Passive, epsilon);
    assert!(active < 0.1 * lowered, "{active} {lowered}");
}
