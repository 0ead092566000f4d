//! Several quantiles of the same values are drawn together, at one loss.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod common;

use hushtable_plan::{PrivateQuery, bind};
use hushtable_privacy::{Event, Loss, Rho};
use hushtable_quote::{Explanation, Noise, QuantileExplanation, Quote, least_loss};
use proptest::prelude::*;

const OPTIONS: &str = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
                       max_groups_contributed = 2, max_rows_per_group = 3)";

fn query(text: &str) -> PrivateQuery {
    bind(text, &common::contract()).map_err(|e| format!("{text}: {e}")).unwrap()
}

fn quote(text: &str) -> Quote {
    Quote::new(query(text)).unwrap()
}

fn joint(quote: &Quote) -> Vec<bool> {
    quote.noise().iter().map(|noise| matches!(noise, Noise::Joint(_))).collect()
}

/// Three or more quantiles of one expression, with equal bounds and rows, are one measurement: the
/// first pays, and has as many events as there are levels. Two are two.
#[test]
fn three_quantiles_are_one_measurement() {
    let of = |select: &str| quote(&format!("{OPTIONS} {select} FROM posts"));
    let three = of("MEDIAN(score), PERCENTILE_CONT(score, 0.9), PERCENTILE_CONT(score, 0.25)");
    assert_eq!(joint(&three), [true; 3]);
    assert_eq!(three.total().to_string(), "epsilon = 1");
    let losses: Vec<Option<Loss>> = three.noise().iter().map(Noise::loss).collect();
    assert_eq!(losses, [Some(three.total()), None, None]);
    let [Event::BoundedRange { epsilon, draws }, _] = three.events()[..] else {
        panic!("2 levels")
    };
    assert_eq!((epsilon.to_string().as_str(), draws.get()), ("0.5", 1));
    let Noise::Joint(one) = &three.noise()[1] else { panic!("a joint draw") };
    assert_eq!((one.first, one.nth, one.draws.quantiles()), (0, 1, 3));
    assert_eq!(one.draws.percentile(1).unwrap().to_f64(), 0.9);

    assert_eq!(joint(&of("MEDIAN(score), PERCENTILE_CONT(score, 0.9)")), [false; 2]);
    let nine = of("COUNT(*), APPROX_QUANTILES(score, 10)");
    assert_eq!(joint(&nine), [[false].as_slice(), &[true; 9]].concat());
    assert_eq!(nine.total().to_string(), "epsilon = 1");
    // Nine of ten parts of the budget, in four levels; and the count.
    assert_eq!(nine.noise()[1].loss().unwrap().to_string(), "epsilon = 0.9");
    assert_eq!(nine.events().len(), 5);
    // Of other values, or in another range, each is for itself.
    let others = of(
        "MEDIAN(score), PERCENTILE_CONT(score + 1, 0.9, contribution_bounds_per_row => (0, 9)), \
                     PERCENTILE_CONT(score, 0.1, contribution_bounds_per_row => (0, 50)), \
                     PERCENTILE_CONT(score, 0.2)",
    );
    assert_eq!(joint(&others), [false; 4]);
}

/// Extreme quantiles where records are exchanged are nearer when drawn apart: then each is for
/// itself.
#[test]
fn quantiles_are_together_where_that_is_better() {
    let of = |low: &str, middle: &str, high: &str| {
        let p = |p: &str| format!("PERCENTILE_CONT(amount, {p})");
        let select = [low, middle, high].map(p).join(", ");
        joint(&quote(&format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5) {select} FROM loans"
        )))
    };
    assert_eq!(of("0.25", "0.5", "0.75"), [true; 3]);
    assert_eq!(of("0.9", "0.95", "0.99"), [false; 3]);
}

/// `explain` has the nearness of each quantile: better than apart, the more so the more there are;
/// and in how many levels they are drawn.
#[test]
fn explain_tells_of_levels() {
    let of = |n: u32| {
        let text = format!("{OPTIONS} APPROX_QUANTILES(score, {n}) FROM posts");
        let all = Explanation::new(&quote(&text));
        let each = all.measurements.iter().map(|m| {
            assert_eq!(m.mechanism, if n > 3 { "joint_exponential" } else { "exponential" });
            m.quantile.unwrap()
        });
        each.collect::<Vec<_>>()
    };
    // Two apart, and three together, are about as near.
    let (two, three, nineteen) = (of(3), of(4), of(20));
    assert_eq!([two[0].levels, three[0].levels, nineteen[0].levels], [None, Some(2), Some(5)]);
    let worst = |all: &[QuantileExplanation]| {
        all.iter().map(|q| q.values_between_95_even).fold(0.0, f64::max)
    };
    assert!(worst(&three) < 1.3 * worst(&two), "{} {}", worst(&three), worst(&two));
    // Apart they would be 19/2 times as far as two.
    assert!(worst(&nineteen) < 5.0 * worst(&two));
    assert!(three.iter().all(|q| q.values_between_95 > q.values_between_95_even));
    let percentiles: Vec<f64> = three.iter().map(|q| q.percentile).collect();
    assert_eq!(percentiles, [0.25, 0.5, 0.75]);
}

/// Equal questions have one release, and another quantile among them makes another.
#[test]
fn identities_tell_of_what_is_drawn_together() {
    let of = |p: &str| {
        let text = format!(
            "{OPTIONS} MEDIAN(score) AS a, PERCENTILE_CONT(score, 0.25) AS b, \
             PERCENTILE_CONT(score, {p}) AS c FROM posts"
        );
        quote(&text).identity().unwrap()
    };
    assert_eq!(of("0.9"), of("0.90"));
    assert_ne!(of("0.9"), of("0.8"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The losses of all measurements, quantiles that are drawn together among them, add up to the
    /// budget; and what is refused before there are mechanisms is never below what they cost in
    /// rho, whatever the weights are and however large the budget.
    #[test]
    fn losses_add_up_and_are_not_below_the_least(
        weights in proptest::collection::vec(1u32..=40, 5),
        milli in prop_oneof![1u64..10_000, 10_000u64..400_000],
        groups in 1u32..4,
        rho in any::<bool>(),
    ) {
        let amount = milli as f64 / 1e3;
        let select: Vec<String> = ["0.1", "0.35", "0.5", "0.9"]
            .iter()
            .zip(&weights)
            .map(|(p, weight)| format!("PERCENTILE_CONT(score, {p}, weight => {weight})"))
            .collect();
        let text = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({} = {amount}, \
             max_groups_contributed = {groups}, \
             max_rows_per_group = 2, delta = 1e-9) {}, COUNT(*, weight => {}) FROM posts",
            if rho { "rho" } else { "epsilon" }, select.join(", "), weights[4],
        );
        let quote = Quote::new(query(&text)).unwrap();
        let losses = quote.noise().iter().filter_map(Noise::loss);
        let sum = losses.reduce(|a, b| a.plus(b).unwrap()).unwrap();
        prop_assert_eq!(sum, quote.total());
        prop_assert_eq!(sum.with_delta(query(&text).loss().delta()), query(&text).loss());
        if !rho {
            let limit = Loss::concentrated("1000000".parse::<Rho>().unwrap());
            let least = least_loss(&[query(&text)], limit).unwrap().rho().unwrap();
            let events = quote.events();
            let costs = events.iter().map(|event| event.in_rho().unwrap().rho().unwrap().to_f64());
            prop_assert!(least.to_f64() <= costs.sum::<f64>() * (1.0 + 1e-9) + 1e-11);
        }
    }
}
