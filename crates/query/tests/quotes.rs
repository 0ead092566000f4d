//! What accepted queries promise.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod common;

use hushtable_mechanisms::Strategy;
use hushtable_privacy::Loss;
use hushtable_query::{
    Explanation, Groups, GroupsExplained, Measure, Noise, PrivateQuery, Quote, bind,
};
use proptest::prelude::*;

fn query(text: &str) -> PrivateQuery {
    bind(text, &common::contract()).unwrap()
}

fn quote(text: &str) -> Quote {
    Quote::new(query(text)).unwrap()
}

fn explain(text: &str) -> Explanation {
    let contract = common::contract();
    let quote = quote(text);
    Explanation::new(&quote, contract.table(&quote.query().table).unwrap())
}

const PRIVATE: &str = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, max_groups_contributed = 2)";

#[test]
fn a_count_reuses_the_noise_that_selected_its_group() {
    let counted =
        quote(&format!("{PRIVATE} forum, COUNT(DISTINCT author) FROM posts GROUP BY forum"));
    let selection = counted.selection().unwrap();
    assert_eq!(selection.strategy(), Strategy::TruncatedGeometric);
    assert!(matches!(counted.noise(), [Noise::OfSelection]));
    assert_eq!(selection.loss(), counted.total());
    assert_eq!(counted.total().to_string(), "epsilon = 1, delta = 1e-6");
    // Keys alone are best chosen by pi_opt, and all of the budget goes to them.
    let keys = quote(&format!("{PRIVATE} forum FROM posts GROUP BY forum"));
    assert_eq!(keys.selection().unwrap().strategy(), Strategy::Optimal);
    assert_eq!(keys.total(), counted.total());
    // A count of rows is not a count of units.
    let rows = quote(&format!(
        "{PRIVATE} forum, COUNT(*, contribution_bounds_per_group => (0, 5)) FROM posts GROUP BY forum"
    ));
    assert!(matches!(rows.noise(), [Noise::Own(_)]));
    // But with at most one row of each unit it is.
    let single = query(&format!(
        "{PRIVATE} forum, COUNT(*, contribution_bounds_per_group => (0, 1)) FROM posts GROUP BY forum"
    ));
    assert_eq!(single.measurements[0].measure, Measure::Units);
}

#[test]
fn the_default_releases_smaller_groups_than_any_named_strategy() {
    for aggregates in
        ["", ", COUNT(DISTINCT author)", ", SUM(score)", ", AVG(score), COUNT(DISTINCT author)"]
    {
        for budget in ["epsilon = 1", "epsilon = 0.1", "rho = 0.5", "rho = 0.01"] {
            let text = |strategy: &str| {
                format!(
                    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({budget}, delta = 1e-6, \
                     max_rows_per_group = 1, max_groups_contributed = 3{strategy}) forum{aggregates} \
                     FROM posts GROUP BY forum"
                )
            };
            let selection = |t: &str| quote(t).selection().unwrap().clone();
            let default = selection(&text(""));
            for strategy in Strategy::CANDIDATES {
                let named = selection(&text(&format!(", group_selection_strategy = {strategy}")));
                assert!(!named.shows_smaller_groups(&default), "{budget} {aggregates} {strategy}");
            }
        }
    }
}

#[test]
fn equal_aggregates_are_measured_once() {
    let q = query(
        &format!(
            "{PRIVATE} forum, SUM(score) AS a, AVG(score, weight => 3) AS b, \
         COUNT(score, contribution_bounds_per_group => (0, 4)) AS c, SUM(score) + 1 AS d \
         FROM posts GROUP BY forum HAVING SUM(score) > 0 ORDER BY AVG(score) DESC"
        )
        .replace(
            "max_groups_contributed = 2",
            "max_groups_contributed = 2, max_rows_per_group = 4",
        ),
    );
    assert_eq!(q.measurements.len(), 2);
    assert_eq!(q.measurements[0].weight, 3);
    assert_eq!(q.outputs.len(), 5);
}

#[test]
fn public_keys_need_no_delta_and_drop_other_rows() {
    let q = query(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
         max_groups_contributed = 2, max_rows_per_group = 1) lang, EXTRACT(YEAR FROM posted) AS y, COUNT(*) \
         FROM posts GROUP BY lang, y",
    );
    assert_eq!(q.groups, Groups::Public);
    assert!(q.filter.is_some());
    assert_eq!(hushtable_query::public_groups(&q.keys).len(), 6);
    assert_eq!(Quote::new(q).unwrap().total().to_string(), "epsilon = 1");
    // One key that is not public makes the groups private, listed values or not.
    let mixed =
        query(&format!("{PRIVATE} lang, forum, COUNT(DISTINCT author) FROM posts GROUP BY 1, 2"));
    assert!(matches!(mixed.groups, Groups::Private { .. }));
    assert!(mixed.filter.is_some());
}

#[test]
fn noise_scales_are_sensitivity_over_budget() {
    // Replace: a county is left and another entered, so l1 = 2 and l2 = sqrt 2 per unit of bound.
    let e = explain(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) AS n FROM loans",
    );
    assert!((e.measurements[0].noise_scale - 2.0).abs() < 1e-12);
    let e = explain(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5, delta = 1e-6) county, SUM(amount) FROM loans GROUP BY 1",
    );
    // Half of rho to the sum: sigma^2 = 2 * 10^12 / (2 * 0.25), up to the rounding of the bound.
    assert!((e.measurements[0].noise_scale / 2e6 - 1.0).abs() < 1e-8);
    assert!(matches!(e.groups, GroupsExplained::Private { .. }));
    assert_eq!(e.total_as_epsilon.len(), 3);
    // All noise is Gaussian, so epsilon is that of Gaussian differential privacy at rho = 0.5,
    // 4.887 (theory section 2), where zCDP alone would say 5.222.
    assert!((e.total_as_epsilon[1].epsilon - 4.887).abs() < 5e-4);
    assert!((e.total_as_epsilon[1].delta - 2e-6).abs() < 1e-18);
}

#[test]
fn explanations_read_as_expected() {
    let text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
                max_groups_contributed = 2, max_rows_per_group = 3) forum, COUNT(DISTINCT author) AS authors, \
                AVG(price) AS price FROM posts WHERE score > 0 GROUP BY forum";
    insta::assert_snapshot!(serde_json::to_string_pretty(&explain(text)).unwrap());
}

proptest! {
    /// Whatever the weights and strategy, the parts add up to what was asked for, exactly.
    #[test]
    fn parts_add_up_to_the_budget(
        weights in proptest::array::uniform3(1u32..=1000),
        pico in 1_000_000u64..10_000_000_000_000,
        rho in any::<bool>(),
        strategy in 0usize..5,
    ) {
        let amount = pico as f64 / 1e12;
        let named = Strategy::ALL.get(strategy)
            .map_or(String::new(), |s| format!(", group_selection_strategy = {s}"));
        let text = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({} = {amount:.12}, delta = 1e-6, \
             max_groups_contributed = 2, max_rows_per_group = 1, group_selection_weight = {}{named}) \
             forum, COUNT(*, weight => {}), SUM(score, weight => {}) FROM posts GROUP BY forum",
            if rho { "rho" } else { "epsilon" }, weights[0], weights[1], weights[2],
        );
        if let Ok(quote) = Quote::new(query(&text)) {
            let mut sum = quote.selection().unwrap().loss();
            for noise in quote.noise() {
                if let Noise::Own(additive) = noise {
                    sum = sum.plus(additive.loss()).unwrap();
                }
            }
            prop_assert_eq!(sum, quote.total());
            prop_assert_eq!(sum, query(&text).loss);
            let asked: f64 = match quote.total() {
                Loss::Approximate { epsilon, .. } => epsilon.to_f64(),
                Loss::Concentrated { rho, .. } => rho.to_f64(),
            };
            prop_assert!((asked - amount).abs() < 1e-12);
        }
    }
}
