//! Every bound against the law of everything, by enumeration of all records' values.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::collections::BTreeMap;

use hushtable_knowledge::{
    Count, CountWithin, Histogram, Interval, KAnonymity, Probability, Profile, Side, Threshold,
    ThresholdWithin,
};
use proptest::prelude::*;

/// Probabilities of each value, by record; the last value may be that of being absent.
type Model = Vec<Vec<f64>>;
type Law = BTreeMap<Vec<i64>, f64>;

fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

/// The law of what is `published` of the counts of all values, when the target has `value`.
fn law(model: &Model, value: usize, published: impl Fn(&[i64]) -> Vec<i64>) -> Law {
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

fn hockey_stick(one: &Law, other: &Law, epsilon: f64) -> f64 {
    let other = |key| other.get(key).copied().unwrap_or(0.0);
    one.iter().map(|(key, weight)| (weight - epsilon.exp() * other(key)).max(0.0)).sum()
}

fn delta(
    model: &Model,
    [a, b]: [usize; 2],
    epsilon: f64,
    published: impl Fn(&[i64]) -> Vec<i64>,
) -> f64 {
    let (one, other) = (law(model, a, &published), law(model, b, &published));
    hockey_stick(&one, &other, epsilon).max(hockey_stick(&other, &one, epsilon))
}

/// Records that are counted with these probabilities: values 0 and 1.
fn binary(probabilities: &[f64]) -> Model {
    probabilities.iter().map(|p| vec![1.0 - p, *p]).collect()
}

fn whole(counts: &[i64]) -> Vec<i64> {
    counts.to_vec()
}

/// A count above a threshold, or nothing.
fn released_above(threshold: i64, counts: &[i64]) -> Vec<i64> {
    if counts[1] > threshold { vec![counts[1]] } else { Vec::new() }
}

/// By enumeration of what the known records are: for those who happen to know them, and for those who
/// planted them.
fn attackers(unknown: &[f64], known: &[f64], threshold: i64, epsilon: f64) -> (f64, f64) {
    let mut means = [0.0, 0.0];
    let mut active = 0.0f64;
    for set in 0..1usize << known.len() {
        let counted = i64::from(set.count_ones());
        let chance: f64 =
            (0..).zip(known).map(|(i, p)| if set >> i & 1 == 1 { *p } else { 1.0 - p }).product();
        let published = |counts: &[i64]| released_above(threshold - counted, counts);
        let model = binary(unknown);
        let (zero, one) = (law(&model, 0, published), law(&model, 1, published));
        let both = [hockey_stick(&one, &zero, epsilon), hockey_stick(&zero, &one, epsilon)];
        for (mean, part) in means.iter_mut().zip(both) {
            *mean += chance * part;
            active = active.max(part);
        }
    }
    (means[0].max(means[1]), active)
}

/// All ways to have each of so many records at one of the two bounds.
fn corners(records: usize, low: f64, high: f64) -> Vec<Vec<f64>> {
    (0..=records)
        .map(|at_low| (0..records).map(|i| if i < at_low { low } else { high }).collect())
        .collect()
}

/// How far above the worst case bounds of histograms are at most, in these models.
const FACTOR: f64 = 1.5;

/// What rounding in the enumeration may take away.
const DUST: f64 = 1e-14;

fn above(bound: f64, brute: f64) -> Result<(), TestCaseError> {
    prop_assert!(bound >= brute * (1.0 - 1e-12) - DUST, "{bound:e} is below {brute:e}");
    Ok(())
}

fn near(bound: f64, brute: f64) -> Result<(), TestCaseError> {
    above(bound, brute)?;
    prop_assert!(bound <= brute * (1.0 + 1e-9) + 10.0 * DUST, "{bound:e} is not {brute:e}");
    Ok(())
}

fn profile(probabilities: &[f64]) -> Profile {
    Profile::new(probabilities.iter().map(|q| (1, p(*q)))).unwrap()
}

fn ordered(a: f64, b: f64) -> (f64, f64) {
    if a <= b { (a, b) } else { (b, a) }
}

/// Bounds of the probabilities of three values, and records within them: what is left by the lower
/// bounds is divided anew for each.
fn bounded_model() -> impl Strategy<Value = (Vec<f64>, Model)> {
    let lower = prop::collection::vec(prop_oneof![3 => 0.0..0.33f64, 1 => Just(0.0)], 2..=3);
    let rest = prop::collection::vec(prop::collection::vec(0.001..1.0f64, 3), 1..=5);
    (lower, rest, 0..4u32).prop_map(|(lower, rest, corner)| {
        let left = 1.0 - lower.iter().sum::<f64>();
        let model = rest
            .iter()
            .map(|parts| {
                let parts = &parts[..lower.len()];
                let largest = parts.iter().copied().fold(0.0, f64::max);
                // Mostly corners, which are worst.
                let share = |part: f64| match corner {
                    0 => part / parts.iter().sum::<f64>(),
                    _ => f64::from(u8::from(part >= largest)),
                };
                lower.iter().zip(parts).map(|(l, part)| l + left * share(*part)).collect()
            })
            .collect();
        (lower, model)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn counts_are_exact(
        probabilities in prop::collection::vec(0.0..=1.0f64, 1..=6),
        epsilon in 0.0..4.0f64,
    ) {
        let brute = delta(&binary(&probabilities), [0, 1], epsilon, whole);
        near(Count::new(&profile(&probabilities), None).unwrap().delta(epsilon), brute)?;
    }

    #[test]
    fn worst_cases_are_above_and_reached(
        shares in prop::collection::vec(0.0..=1.0f64, 1..=6),
        ends in (0.0..=1.0f64, 0.0..=1.0f64),
        epsilon in 0.0..4.0f64,
    ) {
        let (low, high) = ordered(ends.0, ends.1);
        let worst = CountWithin::new(
            shares.len() as u64, Interval::new(p(low), p(high)).unwrap(), None,
        ).unwrap();
        let bound = worst.worst(epsilon).delta;
        let inside: Vec<f64> = shares.iter().map(|s| low + s * (high - low)).collect();
        above(bound, delta(&binary(&inside), [0, 1], epsilon, whole))?;
        let reached = corners(shares.len(), low, high)
            .iter()
            .map(|corner| delta(&binary(corner), [0, 1], epsilon, whole))
            .fold(0.0, f64::max);
        near(bound, reached)?;
        if let Some(least) = worst.epsilon(bound) {
            prop_assert!(worst.worst(least).delta <= bound, "{least}");
            prop_assert!(worst.worst(least * 0.999_999).delta >= bound * (1.0 - 1e-9), "{least}");
        }
    }

    #[test]
    fn thresholds_are_exact(
        unknown in prop::collection::vec(0.0..=1.0f64, 1..=5),
        known in prop::collection::vec(0.0..=1.0f64, 0..=3),
        share in 0.0..1.0f64,
        epsilon in 0.0..3.0f64,
    ) {
        let threshold = (share * (unknown.len() + known.len() + 1) as f64) as i64;
        let (passive, active) = attackers(&unknown, &known, threshold, epsilon);
        let knowns = if known.is_empty() { Profile::none() } else { profile(&known) };
        let above = u64::try_from(threshold).unwrap();
        let found = Threshold::new(above, &profile(&unknown), &knowns).unwrap().delta(epsilon);
        near(found.passive, passive)?;
        near(found.active, active)?;
    }

    #[test]
    fn worst_thresholds_are_above_and_reached(
        unknown in prop::collection::vec(0.0..=1.0f64, 1..=4),
        known in prop::collection::vec(0.0..=1.0f64, 0..=3),
        ends in (prop_oneof![Just(0.0), 0.0..=1.0f64], 0.0..=1.0f64),
        share in 0.0..1.0f64,
        epsilon in 0.0..3.0f64,
    ) {
        let (low, high) = ordered(ends.0, ends.1);
        let threshold = (share * (unknown.len() + known.len() + 1) as f64) as i64;
        let within = ThresholdWithin::new(
            u64::try_from(threshold).unwrap(), unknown.len() as u64, known.len() as u64,
            Interval::new(p(low), p(high)).unwrap(),
        ).unwrap();
        let found = within.delta(epsilon);
        let scaled = |shares: &[f64]| -> Vec<f64> {
            shares.iter().map(|s| low + s * (high - low)).collect()
        };
        let (passive, active) = attackers(&scaled(&unknown), &scaled(&known), threshold, epsilon);
        above(found.passive, passive)?;
        above(found.active, active)?;
        let mut most = (0.0f64, 0.0f64);
        for unknown in corners(unknown.len(), low, high) {
            for known in corners(known.len(), low, high) {
                let (passive, active) = attackers(&unknown, &known, threshold, epsilon);
                most = (most.0.max(passive), most.1.max(active));
            }
        }
        near(found.passive, most.0)?;
        near(found.active, most.1)?;
    }

    #[test]
    fn histograms_are_bounded((lower, model) in bounded_model(), epsilon in 0.0..3.0f64) {
        let lower: Vec<Probability> = lower.into_iter().map(p).collect();
        let others = model.len() as u64;
        let all = Histogram::of_values(others, &lower).unwrap().delta(epsilon);
        for a in 0..lower.len() {
            for b in 0..a {
                let brute = delta(&model, [a, b], epsilon, whole);
                let pair = Histogram::new(others, lower[a], lower[b]).unwrap().delta(epsilon);
                above(pair, brute)?;
                above(all, brute)?;
            }
        }
    }

    /// How far above the worst models bounds of histograms are: all that is left by the lower bounds
    /// goes to one value of each record there.
    #[test]
    fn histograms_are_bounded_within_a_factor(
        lower in prop::collection::vec(0.02..0.33f64, 2..=3),
        others in 1..=5usize,
        epsilon in 0.0..1.0f64,
    ) {
        let left = 1.0 - lower.iter().sum::<f64>();
        let values = lower.len();
        let record = |value: usize| -> Vec<f64> {
            (0..values).map(|v| lower[v] + if v == value { left } else { 0.0 }).collect()
        };
        let mut worst = 0.0f64;
        for first in 0..=others {
            for second in 0..=others - first {
                if values == 2 && first + second < others {
                    continue;
                }
                let model: Model = (0..others)
                    .map(|i| record(if i < first { 0 } else if i < first + second { 1 } else { 2 }))
                    .collect();
                worst = worst.max(delta(&model, [0, 1], epsilon, whole));
            }
        }
        let bound = Histogram::new(others as u64, p(lower[0]), p(lower[1])).unwrap().delta(epsilon);
        above(bound, worst)?;
        prop_assert!(bound <= FACTOR * worst, "{bound:e} is over {FACTOR} times {worst:e}");
    }

    /// With all counts in the table, and with the last value as absent.
    #[test]
    fn k_anonymity_is_bounded(
        (_, model) in bounded_model(),
        slack in prop::collection::vec((0.0..=1.0f64, 0.0..0.2f64), 3),
        k in 1..=6i64,
        epsilon in 0.0..3.0f64,
    ) {
        let others = model.len() as u64;
        let k = k.min(others as i64 + 1);
        let bounds: Vec<Interval> = (0..model[0].len())
            .map(|value| {
                let of = model.iter().map(|record| record[value]);
                let (share, more) = slack[value];
                let low = of.clone().fold(1.0, f64::min) * share;
                let high = (of.fold(0.0, f64::max) + more).min(1.0);
                Interval::new(p(low), p(high)).unwrap()
            })
            .collect();
        for hidden in [0, 1] {
            let shown = bounds.len() - hidden;
            let published = |counts: &[i64]| -> Vec<i64> {
                counts[..shown].iter().map(|n| if *n >= k { *n } else { -1 }).collect()
            };
            let absent = bounds.get(shown).copied();
            let Ok(table) =
                KAnonymity::new(u64::try_from(k).unwrap(), others, &bounds[..shown], absent)
            else { continue };
            let place = |side| match side { Side::Value(place) => place, Side::Absent => shown };
            for pair in table.pairs(epsilon) {
                let brute = delta(&model, [place(pair.one), place(pair.other)], epsilon, published);
                above(pair.delta, brute)?;
                prop_assert!(pair.delta <= table.delta(epsilon));
            }
        }
    }
}
