//! Counts against the law of everything, by enumeration.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod enumeration;

use enumeration::{DUST, Law, Model, above, delta, hockey_stick, law, p, whole};
use hushtable_knowledge::{
    Count, CountAbove, CountAboveWithin, CountNoise, CountWithin, GroupCounts, Knows,
    ProbabilityRange, Profile,
};
use proptest::prelude::*;

/// A count above a threshold, or nothing.
fn released_above(threshold: i64, counts: &[i64]) -> Vec<i64> {
    if counts[1] > threshold { vec![counts[1]] } else { Vec::new() }
}

/// By enumeration of what the known records are: for those who happen to know them, and for those
/// who planted them.
fn attackers(unknown: &[f64], known: &[f64], threshold: i64, epsilon: f64) -> (f64, f64) {
    let mut means = [0.0, 0.0];
    let mut active = 0.0f64;
    for set in 0..1usize << known.len() {
        let ones = i64::from(set.count_ones());
        let chance: f64 =
            (0..).zip(known).map(|(i, p)| if set >> i & 1 == 1 { *p } else { 1.0 - p }).product();
        let published = |counts: &[i64]| released_above(threshold - ones, counts);
        let model = binary(unknown);
        let (zero, one) = (law(&model, 0, published), law(&model, 1, published));
        let both = [hockey_stick(&one, &zero, epsilon), hockey_stick(&zero, &one, epsilon)];
        for (mean, delta) in means.iter_mut().zip(both) {
            *mean += chance * delta;
            active = active.max(delta);
        }
    }
    (means[0].max(means[1]), active)
}

/// All ways to have each of that many records at one of the two bounds.
fn corners(records: usize, low: f64, high: f64) -> Vec<Vec<f64>> {
    (0..=records)
        .map(|at_low| (0..records).map(|i| if i < at_low { low } else { high }).collect())
        .collect()
}

fn profile(probabilities: &[f64]) -> Profile {
    Profile::new(probabilities.iter().map(|q| (1, p(*q)))).unwrap()
}

fn ordered(a: f64, b: f64) -> (f64, f64) {
    if a <= b { (a, b) } else { (b, a) }
}

/// Records that are counted with these probabilities: values 0 and 1.
fn binary(probabilities: &[f64]) -> Model {
    probabilities.iter().map(|p| vec![1.0 - p, *p]).collect()
}

fn near(bound: f64, brute: f64) -> Result<(), TestCaseError> {
    above(bound, brute)?;
    prop_assert!(bound <= brute * (1.0 + 1e-9) + 10.0 * DUST, "{bound:e} is not {brute:e}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2000)
    })]

    #[test]
    fn counts_are_exact(
        probabilities in prop::collection::vec(0.0..=1.0f64, 1..=6),
        epsilon in 0.0..4.0f64,
    ) {
        let brute = delta(&binary(&probabilities), [0, 1], epsilon, whole);
        near(Count::new(&profile(&probabilities), None).unwrap().delta(epsilon), brute)?;
    }

    #[test]
    fn counts_with_noise_are_exact(
        probabilities in prop::collection::vec(0.0..=1.0f64, 1..=6),
        factor in 0.05..0.8f64,
        squared in 0.1..20.0f64,
        epsilon in 0.0..2.0f64,
    ) {
        let noises: [(CountNoise, &dyn Fn(f64) -> f64); 2] = [
            (CountNoise::geometric(factor).unwrap(), &|x| factor.powf(x.abs())),
            (CountNoise::discrete_gaussian(squared).unwrap(), &|x| {
                (-x * x / (2.0 * squared)).exp()
            }),
        ];
        for (noise, weight) in noises {
            let total: f64 = (-300..=300).map(|x| weight(f64::from(x))).sum();
            let noisy = |value: usize| -> Law {
                let counts = law(&binary(&probabilities), value, |counts| vec![counts[1]]);
                let mut noisy = Law::new();
                for (count, chance) in counts {
                    for x in -300..=300 {
                        let share = weight(f64::from(x)) / total;
                        *noisy.entry(vec![count[0] + i64::from(x)]).or_default() += chance * share;
                    }
                }
                noisy
            };
            let (zero, one) = (noisy(0), noisy(1));
            let brute =
                hockey_stick(&one, &zero, epsilon).max(hockey_stick(&zero, &one, epsilon));
            let count = Count::new(&profile(&probabilities), Some(noise)).unwrap();
            near(count.delta(epsilon), brute)?;
            let within = ProbabilityRange::new(p(0.0), p(1.0)).unwrap();
            let worst = CountWithin::new(probabilities.len() as u64, within, Some(noise)).unwrap();
            near(worst.worst(epsilon).delta, noise.delta(epsilon))?;
        }
    }

    #[test]
    fn worst_cases_are_above_and_reached(
        shares in prop::collection::vec(0.0..=1.0f64, 1..=6),
        ends in (0.0..=1.0f64, 0.0..=1.0f64),
        epsilon in 0.0..4.0f64,
    ) {
        let (low, high) = ordered(ends.0, ends.1);
        let worst = CountWithin::new(
            shares.len() as u64, ProbabilityRange::new(p(low), p(high)).unwrap(), None,
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
        let deltas = CountAbove::new(above, &profile(&unknown), &knowns).unwrap().delta(epsilon);
        near(deltas.passive, passive)?;
        near(deltas.active, active)?;
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
        let within = CountAboveWithin::new(
            u64::try_from(threshold).unwrap(), unknown.len() as u64, known.len() as u64,
            ProbabilityRange::new(p(low), p(high)).unwrap(),
        ).unwrap();
        let deltas = within.delta(epsilon);
        let scaled = |shares: &[f64]| -> Vec<f64> {
            shares.iter().map(|s| low + s * (high - low)).collect()
        };
        let (passive, active) = attackers(&scaled(&unknown), &scaled(&known), threshold, epsilon);
        above(deltas.passive, passive)?;
        above(deltas.active, active)?;
        let mut most = (0.0f64, 0.0f64);
        for unknown in corners(unknown.len(), low, high) {
            for known in corners(known.len(), low, high) {
                let (passive, active) = attackers(&unknown, &known, threshold, epsilon);
                most = (most.0.max(passive), most.1.max(active));
            }
        }
        near(deltas.passive, most.0)?;
        near(deltas.active, most.1)?;
    }

    /// Tries records that the realised size tells nothing of: more uncertain ones, and known
    /// ones that count.
    #[test]
    fn groups_are_bounded(
        records in 0..=5u64,
        known in 0..=3u64,
        more in 0..=3usize,
        shares in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0f64], 7),
        ends in (0.0..=1.0f64, 0.0..=1.0f64),
        threshold in 0..=6u64,
        epsilon in 0.0..3.0f64,
    ) {
        let (low, high) = ordered(ends.0, ends.1);
        let between = ProbabilityRange::new(p(low), p(high)).unwrap();
        let mut groups = GroupCounts::new(Knows::AtMost(known), between, epsilon, 1.0).unwrap();
        let known = known.min(records);
        let uncertain = usize::try_from(records - known).unwrap().saturating_sub(1);
        let inside = shares[..uncertain + more].iter().map(|s| low + s * (high - low));
        // One more who surely does not count.
        let inside: Vec<f64> = inside.chain([0.0]).collect();
        let bound = groups.group(records, Some(threshold)).delta;
        for planted in 0..=i64::try_from(known).unwrap() {
            let left = i64::try_from(threshold).unwrap() - planted;
            above(bound, delta(&binary(&inside), [0, 1], epsilon, |c| released_above(left, c)))?;
        }
        if uncertain > 0 {
            let reached = corners(uncertain, low, high)
                .iter()
                .map(|corner| delta(&binary(corner), [0, 1], epsilon, whole))
                .fold(0.0, f64::max);
            near(groups.group(records, None).delta, reached)?;
        }
    }
}
