//! Tables of counts against the law of everything, by enumeration.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod enumeration;

use enumeration::{Model, above, delta, p, whole};
use hushtable_knowledge::{Histogram, KAnonymity, Probability, ProbabilityRange, Side};
use proptest::prelude::*;

/// How far above the worst case bounds of histograms are at most, in these models.
const FACTOR: f64 = 1.5;

/// The factor for two well-spread values under k-anonymity.
const SPREAD_FACTOR: f64 = 2.0;

/// The factor for a rare value under k-anonymity.
const RARE_FACTOR: f64 = 2.5;

/// Bounds of the probabilities of three values, and records within them: what is left by the lower
/// bounds is divided anew for each.
fn bounded_model() -> impl Strategy<Value = (Vec<f64>, Model)> {
    let lower = prop::collection::vec(prop_oneof![3 => 0.0..0.33f64, 1 => Just(0.0)], 2..=3);
    let rest = prop::collection::vec(prop::collection::vec(0.001..1.0f64, 3), 1..=5);
    (lower, rest, 0..4u32).prop_map(|(lower, rest, corner)| {
        let left = 1.0 - lower.iter().sum::<f64>();
        let model = rest
            .iter()
            .map(|weights| {
                let weights = &weights[..lower.len()];
                let largest = weights.iter().copied().fold(0.0, f64::max);
                // Mostly corners, which are worst.
                let share = |weight: f64| match corner {
                    0 => weight / weights.iter().sum::<f64>(),
                    _ => f64::from(u8::from(weight >= largest)),
                };
                lower.iter().zip(weights).map(|(l, weight)| l + left * share(*weight)).collect()
            })
            .collect();
        (lower, model)
    })
}

/// The worst case for the first two values, of models in which all that is left by the lower bounds
/// goes to one value of each record.
fn worst_vertex(
    lower: &[f64],
    others: usize,
    epsilon: f64,
    published: impl Fn(&[i64]) -> Vec<i64> + Copy,
) -> f64 {
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
                .map(|i| {
                    record(if i < first {
                        0
                    } else if i < first + second {
                        1
                    } else {
                        2
                    })
                })
                .collect();
            worst = worst.max(delta(&model, [0, 1], epsilon, published));
        }
    }
    worst
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2000)
    })]

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

    /// How far above the worst models bounds of histograms are: all that is left by the lower
    /// bounds goes to one value of each record there.
    #[test]
    fn histograms_are_bounded_within_a_factor(
        lower in prop::collection::vec(0.02..0.33f64, 2..=3),
        others in 1..=5usize,
        epsilon in 0.0..1.0f64,
    ) {
        let worst = worst_vertex(&lower, others, epsilon, whole);
        let bound = Histogram::new(others as u64, p(lower[0]), p(lower[1])).unwrap().delta(epsilon);
        above(bound, worst)?;
        prop_assert!(bound <= FACTOR * worst, "{bound:e} is over {FACTOR} times {worst:e}");
    }

    /// How far above the worst models bounds of two well-spread values under k-anonymity are: as
    /// those of histograms, which they rest on, and a part of what these tell is suppressed.
    #[test]
    fn spread_values_are_bounded_within_a_factor(
        lower in prop::collection::vec(0.1..0.33f64, 2..=3),
        others in 3..=6usize,
        epsilon in 0.0..1.0f64,
    ) {
        let published = |counts: &[i64]| -> Vec<i64> {
            counts.iter().map(|n| if *n >= 2 { *n } else { -1 }).collect()
        };
        let worst = worst_vertex(&lower, others, epsilon, published);
        let left = 1.0 - lower.iter().sum::<f64>();
        let bounds: Vec<ProbabilityRange> = lower
            .iter()
            .map(|low| ProbabilityRange::new(p(*low), p(low + left)).unwrap())
            .collect();
        let table = KAnonymity::new(2, others as u64, &bounds, None).unwrap();
        let pairs = table.pairs(epsilon);
        let has = |side: &Side| matches!(side, Side::Value(0 | 1));
        let pair = pairs.iter().find(|pair| has(&pair.one) && has(&pair.other)).unwrap();
        above(pair.delta, worst)?;
        prop_assert!(
            pair.delta <= SPREAD_FACTOR * worst,
            "{:e} is over {SPREAD_FACTOR} times {worst:e}", pair.delta
        );
    }

    /// How far above the worst model the bound of a rare value is: there, each record has it with
    /// the largest probability that it may have, or with none.
    #[test]
    fn rare_values_are_bounded_within_a_factor(
        most in 0.02..0.3f64,
        others in 2..=6usize,
        k in 2..=4i64,
    ) {
        let k = k.min(others as i64);
        let published = |counts: &[i64]| -> Vec<i64> {
            counts[..1].iter().map(|n| if *n >= k { *n } else { -1 }).collect()
        };
        let rare = ProbabilityRange::new(p(0.0), p(most)).unwrap();
        let absent = ProbabilityRange::new(p(0.0), p(1.0)).unwrap();
        let k = u64::try_from(k).unwrap();
        let table = KAnonymity::new(k, others as u64, &[rare], Some(absent)).unwrap();
        let model = |with: usize| -> Model {
            let of = |i: usize| if i < with { vec![most, 1.0 - most] } else { vec![0.0, 1.0] };
            (0..others).map(of).collect()
        };
        let models = (0..=others).map(model);
        let worst = models.map(|m| delta(&m, [0, 1], 0.0, published)).fold(0.0, f64::max);
        let bound = table.delta(0.0);
        above(bound, worst)?;
        prop_assert!(
            bound <= RARE_FACTOR * worst,
            "{bound:e} is over {RARE_FACTOR} times {worst:e}"
        );
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
        let bounds: Vec<ProbabilityRange> = (0..model[0].len())
            .map(|value| {
                let of = model.iter().map(|record| record[value]);
                let (share, more) = slack[value];
                let low = of.clone().fold(1.0, f64::min) * share;
                let high = (of.fold(0.0, f64::max) + more).min(1.0);
                ProbabilityRange::new(p(low), p(high)).unwrap()
            })
            .collect();
        for hidden in [0, 1] {
            let visible = bounds.len() - hidden;
            let published = |counts: &[i64]| -> Vec<i64> {
                counts[..visible].iter().map(|n| if *n >= k { *n } else { -1 }).collect()
            };
            let absent = bounds.get(visible).copied();
            let Ok(table) =
                KAnonymity::new(u64::try_from(k).unwrap(), others, &bounds[..visible], absent)
            else { continue };
            let row = |side| match side { Side::Value(index) => index, Side::Absent => visible };
            for pair in table.pairs(epsilon) {
                let brute = delta(&model, [row(pair.one), row(pair.other)], epsilon, published);
                above(pair.delta, brute)?;
                prop_assert!(pair.delta <= table.delta(epsilon));
            }
        }
    }
}
