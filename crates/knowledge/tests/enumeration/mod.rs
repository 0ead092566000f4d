//! The law of everything, by enumeration of all records' values.

use std::collections::BTreeMap;

use hushtable_knowledge::Probability;
use proptest::prelude::*;

/// Probabilities of each value, by record; the last value may be that of being absent.
pub(crate) type Model = Vec<Vec<f64>>;
pub(crate) type Law = BTreeMap<Vec<i64>, f64>;

pub(crate) fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

/// The law of what is `published` of the counts of all values, when the target has `value`.
pub(crate) fn law(model: &Model, value: usize, published: impl Fn(&[i64]) -> Vec<i64>) -> Law {
    let values = model[0].len();
    let mut counts: Law = BTreeMap::new();
    let mut target = vec![0; values];
    target[value] += 1;
    counts.insert(target, 1.0);
    for record in model {
        let mut next = Law::new();
        for (count, weight) in &counts {
            for (value, p) in record.iter().enumerate() {
                let mut count = count.clone();
                count[value] += 1;
                *next.entry(count).or_default() += weight * p;
            }
        }
        counts = next;
    }
    let mut law = Law::new();
    for (count, weight) in counts {
        *law.entry(published(&count)).or_default() += weight;
    }
    law
}

pub(crate) fn hockey_stick(one: &Law, other: &Law, epsilon: f64) -> f64 {
    let other = |key| other.get(key).copied().unwrap_or(0.0);
    one.iter().map(|(key, weight)| (weight - epsilon.exp() * other(key)).max(0.0)).sum()
}

pub(crate) fn delta(
    model: &Model,
    [a, b]: [usize; 2],
    epsilon: f64,
    published: impl Fn(&[i64]) -> Vec<i64>,
) -> f64 {
    let (one, other) = (law(model, a, &published), law(model, b, &published));
    hockey_stick(&one, &other, epsilon).max(hockey_stick(&other, &one, epsilon))
}

pub(crate) fn whole(counts: &[i64]) -> Vec<i64> {
    counts.to_vec()
}

/// The most that rounding in the enumeration may take away.
pub(crate) const DUST: f64 = 1e-14;

pub(crate) fn above(bound: f64, brute: f64) -> Result<(), TestCaseError> {
    prop_assert!(bound >= brute * (1.0 - 1e-12) - DUST, "{bound:e} is below {brute:e}");
    Ok(())
}
