//! The values that were computed apart, with 60 digits.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use hushtable_knowledge::{
    Count, CountAbove, CountNoise, CountWithin, Histogram, Probability, ProbabilityRange, Profile,
    least_epsilon,
};
use hushtable_testkit::{Vectors, number};
use serde_json::Value;

const WITHIN: f64 = 1e-9;

fn vectors(section: &str) -> Vec<Value> {
    Vectors::PartialKnowledge.section(section)
}

fn p(value: &Value) -> Probability {
    Probability::new(number(value)).unwrap()
}

fn group(value: &Value) -> (u64, Probability) {
    (value["count"].as_u64().unwrap(), p(&value["p"]))
}

fn unknown(case: &Value) -> Profile {
    Profile::new(case["unknown_records"].as_array().unwrap().iter().map(group)).unwrap()
}

/// The rows of a case: what it is at, by key, and a check that it is near and not below.
fn check(case: &Value, key: &str, delta: impl Fn(f64) -> f64) {
    for row in case["values"].as_array().unwrap() {
        let (epsilon, want) = (number(&row["epsilon"]), number(&row[key]));
        let got = delta(epsilon);
        assert!(got >= want * (1.0 - 1e-15), "{row}: {got:e} is below");
        assert!(got <= want * (1.0 + WITHIN), "{row}: {got:e}");
    }
}

#[test]
fn counts_are_as_in_the_vectors() {
    for case in vectors("count_profile") {
        let count = Count::new(&unknown(&case), None).unwrap();
        check(&case, "delta", |epsilon| count.delta(epsilon));
        for row in case["values"].as_array().unwrap() {
            let back = least_epsilon(number(&row["delta"]), |e| count.delta(e)).unwrap();
            assert!((back / number(&row["epsilon"]) - 1.0).abs() < 1e-8, "{row}: {back}");
        }
    }
}

#[test]
fn worst_cases_are_as_in_the_vectors() {
    for case in vectors("count_worst_case") {
        let between = ProbabilityRange::new(p(&case["lower"]), p(&case["upper"])).unwrap();
        let others = case["unknown_others"].as_u64().unwrap();
        let within = CountWithin::new(others, between, None).unwrap();
        check(&case, "delta", |epsilon| within.worst(epsilon).delta);
        for row in case["values"].as_array().unwrap() {
            // The bounds are symmetric, so that a vertex and its mirror image are alike.
            let worst = within.worst(number(&row["epsilon"]));
            let want = row["records_at_lower"].as_u64().unwrap();
            let have = worst.records_at_lower;
            assert!(have == want || have == others - want, "{row}: {have}");
            assert_eq!(worst.forgone, 0);
        }
    }
}

#[test]
fn thresholds_are_as_in_the_vectors() {
    for case in vectors("threshold") {
        let above = case["released_iff_count_greater_than"].as_u64().unwrap();
        let threshold = CountAbove::new(above, &unknown(&case), &Profile::none()).unwrap();
        check(&case, "delta", |epsilon| threshold.delta(epsilon).active);
        check(&case, "delta", |epsilon| threshold.delta(epsilon).passive);
    }
    for case in vectors("threshold_passive") {
        let above = case["released_iff_count_greater_than"].as_u64().unwrap();
        let known = Profile::new([group(&case["known_records"])]).unwrap();
        let threshold = CountAbove::new(above, &unknown(&case), &known).unwrap();
        check(&case, "delta_passive", |epsilon| threshold.delta(epsilon).passive);
        check(&case, "delta_active", |epsilon| threshold.delta(epsilon).active);
    }
}

#[test]
fn blankets_are_as_in_the_vectors() {
    for case in vectors("blanket") {
        let (gamma, q) = (number(&case["gamma"]), number(&case["q"]));
        let share = |share: f64| Probability::new(gamma * share).unwrap();
        let others = case["unknown_others"].as_u64().unwrap();
        let histogram = Histogram::new(others, share(q), share(1.0 - q)).unwrap();
        assert!(histogram.exact());
        check(&case, "delta", |epsilon| histogram.delta(epsilon));
    }
}

/// Geometric noise alone makes every likelihood ratio at most 1/p, so that delta is exactly zero
/// from epsilon = ln 1/p on. The vectors have 1.9e-77 and 1.0e-33 there: what is left where the
/// noise is cut off after 250 steps, 0.5^250 and 0.75^250 as they are.
#[test]
fn noise_on_top_is_as_in_the_vectors() {
    let mut cut_off = 0;
    for mut case in vectors("nested_geometric") {
        let noise = number(&case["two_sided_geometric_p"]);
        let count =
            Count::new(&unknown(&case), Some(CountNoise::geometric(noise).unwrap())).unwrap();
        let rows = case["values"].as_array_mut().unwrap();
        rows.retain(|row| {
            let beyond = number(&row["epsilon"]) >= -noise.ln();
            if beyond {
                assert_eq!(count.delta(number(&row["epsilon"])), 0.0);
                assert!(number(&row["delta"]) < noise.powi(245), "{row}");
                cut_off += 1;
            }
            !beyond
        });
        check(&case, "delta", |epsilon| count.delta(epsilon));
        let none = least_epsilon(0.0, |epsilon| count.delta(epsilon)).unwrap();
        assert!((none / -noise.ln() - 1.0).abs() < 1e-9);
    }
    assert_eq!(cut_off, 2);
}
