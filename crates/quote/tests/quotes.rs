//! Promises of accepted queries.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod common;

use hushtable_contract::Contract;
use hushtable_mechanisms::{AdditiveLaw, Strategy};
use hushtable_noise::Law;
use hushtable_plan::{Groups, Measure, PrivateQuery, bind};
use hushtable_privacy::{Delta, Event, Loss};
use hushtable_quote::{ExchangeExplanation, Explanation, GroupsExplanation, Noise, Quote};
use proptest::prelude::*;
use serde_json::Value;

fn query(text: &str) -> PrivateQuery {
    bind(text, &common::contract()).unwrap()
}

fn quote(text: &str) -> Quote {
    Quote::new(query(text)).unwrap()
}

fn explain(text: &str) -> Explanation {
    Explanation::new(&quote(text))
}

const PRIVATE: &str = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
    max_groups_contributed = 2)";

#[test]
fn a_count_reuses_the_noise_that_selected_its_group() {
    let count =
        quote(&format!("{PRIVATE} forum, COUNT(DISTINCT author) FROM posts GROUP BY forum"));
    let selection = count.selection().unwrap();
    assert_eq!(selection.strategy(), Strategy::TruncatedGeometric);
    assert!(matches!(count.noise(), [Noise::OfSelection]));
    assert_eq!(selection.loss(), count.total());
    assert_eq!(count.total().to_string(), "epsilon = 1, delta = 1e-6");
    // Keys alone are best chosen by single votes, and all of the budget goes to them.
    let keys = quote(&format!("{PRIVATE} forum FROM posts GROUP BY forum"));
    assert_eq!(keys.selection().unwrap().strategy(), Strategy::SingleVote);
    assert_eq!(keys.total(), count.total());
    // A count of rows is not a count of units.
    let rows = quote(&format!(
        "{PRIVATE} forum, COUNT(*, contribution_bounds_per_group => (0, 5)) FROM posts \
         GROUP BY forum"
    ));
    assert!(matches!(rows.noise(), [Noise::Single(_)]));
    // But with at most one row of each unit it is.
    let single = query(&format!(
        "{PRIVATE} forum, COUNT(*, contribution_bounds_per_group => (0, 1)) FROM posts \
         GROUP BY forum"
    ));
    assert_eq!(single.measurements()[0].measure, Measure::Units);
}

/// Rows of other keys than the public ones are left out, so a larger limit would be noise alone.
#[test]
fn no_unit_is_in_more_groups_than_there_are_public_ones() {
    let of = |limit: u32, keys: &str| {
        query(&format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
             max_groups_contributed = {limit}, max_rows_per_group = 1) {keys}, COUNT(*) \
             FROM posts GROUP BY {keys}"
        ))
    };
    for (limit, keys, most) in [
        (40, "lang", 3),
        (2, "lang", 2),
        (40, "lang, pinned", 6),
        (5, "lang, pinned", 5),
        (40, "forum", 40),
        (40, "lang, forum", 40),
    ] {
        assert_eq!(of(limit, keys).max_groups_contributed(), most, "{keys}");
    }
    // It is one question, with one noise.
    let identity = |limit| Quote::new(of(limit, "lang")).unwrap().identity().unwrap();
    assert_eq!(identity(40), identity(3));
    assert_ne!(identity(40), identity(2));
}

/// A change of this snapshot makes stored releases other questions: an analyst who asks them again
/// pays again. Bump the format where the same bytes come to mean another release.
#[test]
fn the_identity_of_a_question_is_its_query_and_its_calibrations() {
    let identity = |text: &str| String::from_utf8(quote(text).identity().unwrap()).unwrap();
    let original = identity(&format!(
        "{PRIVATE} forum, SUM(score) AS s FROM posts WHERE score > 1 GROUP BY forum"
    ));
    let json: serde_json::Value = serde_json::from_str(&original).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&json).unwrap());
    // Another spelling, heading, order or HAVING is no other question; another weight or strategy
    // is one.
    let spelled = identity(
        "select with differential_privacy options (max_groups_contributed = 2, delta = 1e-6, \
         epsilon = 1.0) p.forum, sum(P.score) as s from posts p where (p.score > 1) group by 1",
    );
    assert_eq!(spelled, original);
    for same in [
        "forum, SUM(score) AS t FROM posts WHERE score > 1 GROUP BY forum HAVING t > 7",
        "-SUM(score) FROM posts WHERE TRUE AND score > 1 GROUP BY forum ORDER BY forum LIMIT 2",
    ] {
        assert_eq!(identity(&format!("{PRIVATE} {same}")), original, "{same}");
    }
    for other in [
        "forum, SUM(score, weight => 2) AS s FROM posts WHERE score > 1 GROUP BY forum",
        "forum, SUM(score) AS s FROM posts WHERE score > 2 GROUP BY forum",
    ] {
        assert_ne!(identity(&format!("{PRIVATE} {other}")), original, "{other}");
    }
    let strategy = PRIVATE.replace(")", ", group_selection_strategy = LAPLACE_THRESHOLD)");
    let other = "forum, SUM(score) AS s FROM posts WHERE score > 1 GROUP BY forum";
    assert_ne!(identity(&format!("{strategy} {other}")), original);
}

#[test]
fn with_keys_alone_the_default_releases_smaller_groups_than_any_named_strategy() {
    for budget in ["epsilon = 1", "epsilon = 0.1", "rho = 0.5", "rho = 0.01"] {
        let text = |strategy: &str| {
            format!(
                "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({budget}, delta = 1e-6, \
                 max_groups_contributed = 3{strategy}) forum FROM posts GROUP BY forum"
            )
        };
        let to_appear = |t: &str| quote(t).usefulness().to_appear;
        let default = to_appear(&text(""));
        for strategy in Strategy::ALL.into_iter().filter(|candidate| candidate.is_by_itself()) {
            let named = to_appear(&text(&format!(", group_selection_strategy = {strategy}")));
            assert!(named >= default * (1.0 - 1e-9), "{budget} {strategy}");
        }
    }
}

#[test]
fn equal_aggregates_are_measured_once() {
    let q = query(
        &format!(
            "{PRIVATE} forum, SUM({of}) AS a, AVG({of}, weight => 3) AS b, \
         COUNT(score, contribution_bounds_per_group => (0, 4)) AS c, SUM({of}) + 1 AS d \
         FROM posts GROUP BY forum HAVING SUM({of}) > 0 ORDER BY AVG({of}) DESC",
            of = "score, contribution_bounds_per_row => (-10, 100)",
        )
        .replace(
            "max_groups_contributed = 2",
            "max_groups_contributed = 2, max_rows_per_group = 4",
        ),
    );
    assert_eq!(q.measurements().len(), 2);
    assert_eq!(q.measurements()[0].weight, 3);
    assert_eq!(q.outputs().len(), 5);
}

#[test]
fn public_keys_need_no_delta_and_drop_other_rows() {
    let q = query(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
         max_groups_contributed = 2, max_rows_per_group = 1) lang, EXTRACT(YEAR FROM posted) AS y, \
         COUNT(*) FROM posts GROUP BY lang, y",
    );
    assert_eq!(q.groups(), Groups::Public);
    assert!(q.filter().is_some());
    assert_eq!(hushtable_plan::public_groups(q.keys()).len(), 6);
    assert_eq!(Quote::new(q).unwrap().total().to_string(), "epsilon = 1");
    // One key that is not public makes the groups private, listed values or not.
    let mixed =
        query(&format!("{PRIVATE} lang, forum, COUNT(DISTINCT author) FROM posts GROUP BY 1, 2"));
    assert!(matches!(mixed.groups(), Groups::Private { .. }));
    assert!(mixed.filter().is_some());
}

/// Groups that the query names are known from its structure: none is chosen, and no delta is spent.
#[test]
fn groups_that_the_query_names_are_public() {
    let values = |text: &str| {
        let q = query(&format!("{PRIVATE} {text}"));
        assert_eq!(q.groups(), Groups::Public, "{text}");
        assert!(q.keys().iter().any(|key| key.by_query), "{text}");
        let groups = hushtable_plan::public_groups(q.keys());
        let rendered = |row: &Vec<hushtable_lang::Value>| {
            row.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        let rendered = groups.iter().map(rendered).collect::<Vec<_>>().join(" ");
        let quote = Quote::new(q).unwrap();
        assert!(quote.selection().is_none() && quote.total().delta().is_zero(), "{text}");
        rendered
    };
    let of = "COUNT(DISTINCT author) AS n FROM posts";
    for (text, want) in [
        (format!("forum, {of} WHERE forum IN ('a', 'b', 'a') GROUP BY 1"), "a b"),
        (format!("forum, {of} WHERE 'a' = forum AND score > 3 GROUP BY 1"), "a"),
        (format!("forum, {of} WHERE forum IN ('a', 'b') AND forum IN ('c', 'b') GROUP BY 1"), "b"),
        (format!("forum, pinned, {of} WHERE forum = 'a' GROUP BY 1, 2"), "a,false a,true"),
        (format!("score >= 3 AS s, {of} GROUP BY 1"), "NULL false true"),
        (format!("score >= 3 AS s, {of} WHERE score IS NOT NULL GROUP BY 1"), "false true"),
        (format!("score >= 3 AS s, {of} WHERE score >= 3 GROUP BY 1"), "true"),
        (format!("score IS NULL AS s, {of} GROUP BY 1"), "false true"),
        (format!("IF(score > 3, 'x', 'y') AS s, {of} GROUP BY 1"), "x y"),
        (
            format!("CASE WHEN score > 3 THEN 1 WHEN score > 2 THEN 1 END AS s, {of} GROUP BY 1"),
            "NULL 1",
        ),
        (
            format!(
                "CASE pinned WHEN TRUE THEN CASE WHEN score > 1 THEN 'x' END ELSE 'y' END AS s, \
                 {of} GROUP BY 1"
            ),
            "NULL x y",
        ),
        (format!("price, {of} WHERE price = 2.5 GROUP BY 1"), "2.50"),
        (
            format!("posted, {of} WHERE posted IN ('2024-01-01', DATE '2024-02-01') GROUP BY 1"),
            "2024-01-01 2024-02-01",
        ),
        (
            "f, COUNT(DISTINCT author) AS n FROM (SELECT author, forum AS f FROM posts WHERE forum \
             = 'a') GROUP BY f"
                .to_owned(),
            "a",
        ),
    ] {
        assert_eq!(values(&text), want, "{text}");
    }
    for text in [
        format!("forum, {of} WHERE forum = 'a' OR score > 3 GROUP BY 1"),
        format!("forum, {of} WHERE NOT forum = 'a' GROUP BY 1"),
        format!("forum, {of} WHERE forum LIKE 'a' GROUP BY 1"),
        format!("forum, {of} WHERE UPPER(forum) = 'A' GROUP BY 1"),
        format!("forum, {of} WHERE forum = 'a' AND forum = 'b' GROUP BY 1"),
        format!("score, {of} WHERE score = 2.5 GROUP BY 1"),
        format!("score, {of} WHERE CAST(score AS STRING) = '2' GROUP BY 1"),
        format!("forum, score, {of} WHERE forum = 'a' GROUP BY 1, 2"),
        format!("CASE WHEN score > 3 THEN forum ELSE 'x' END AS s, {of} GROUP BY 1"),
    ] {
        let q = query(&format!("{PRIVATE} {text}"));
        assert!(matches!(q.groups(), Groups::Private { .. }), "{text}");
    }
    // So does a query for keys alone, and rules about which groups appear.
    let q = query(&format!("{PRIVATE} forum FROM posts WHERE forum IN ('a', 'b') GROUP BY 1"));
    assert!(matches!(q.groups(), Groups::Private { .. }));
    let least = PRIVATE.replace("max_groups", "min_privacy_units_per_group = 5, max_groups");
    let q = query(&format!("{least} forum, {of} WHERE forum IN ('a', 'b') GROUP BY 1"));
    assert!(matches!(q.groups(), Groups::Private { .. }));
}

#[test]
fn noise_scales_are_sensitivity_over_budget() {
    // Replace: a county is left and another entered, so l1 = 2 and l2 = sqrt 2 per unit of bound.
    let e = explain(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) AS n FROM loans",
    );
    assert!((e.measurements[0].noise_scale.unwrap() - 2.0).abs() < 1e-12);
    let e = explain(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5, delta = 1e-6, \
         group_selection_weight = 1) county, SUM(amount) FROM loans GROUP BY 1",
    );
    // Half of rho to the sum: sigma^2 = 2 * 10^12 / (2 * 0.25), up to the rounding of the bound.
    assert!((e.measurements[0].noise_scale.unwrap() / 2e6 - 1.0).abs() < 1e-8);
    assert!(matches!(e.groups, GroupsExplanation::Private { .. }));
    assert_eq!(e.total_as_epsilon.len(), 3);
    // All noise is Gaussian, so epsilon is that of Gaussian differential privacy at rho = 0.5,
    // 4.887 (theory section 2), where zCDP alone would say 5.222.
    assert!((e.total_as_epsilon[1].epsilon - 4.887).abs() < 5e-4);
    assert!((e.total_as_epsilon[1].delta - 2e-6).abs() < 1e-18);
}

/// A quantile's rate is the loss over what one unit can do to ranks, whatever the size of values;
/// the same quantile is measured once, and another one, or of other rows, is another.
#[test]
fn quantiles_cost_by_ranks() {
    let options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
                   max_groups_contributed = 2, max_rows_per_group = 3)";
    let e = explain(&format!("{options} MEDIAN(score) AS m FROM posts"));
    let [median] = e.measurements.as_slice() else { panic!("one") };
    assert_eq!((median.name.as_str(), median.bounds), ("median of score", (-10.0, 100.0)));
    assert_eq!(median.loss.unwrap().to_string(), "epsilon = 1");
    assert_eq!((median.noise_scale, median.half_width_95), (None, None));
    // One unit has up to 3 rows in the only group.
    let quantile = median.quantile.unwrap();
    assert_eq!((quantile.percentile, quantile.rows_per_unit), (0.5, 3));
    assert!((quantile.rate - 1.0 / 3.0).abs() < 1e-12);
    // 111 points, whose weights differ by 63/55 parts of a half at least: 20 times as many weigh
    // all.
    let between = (20.0f64 * 111.0).ln() * 3.0;
    assert!(quantile.values_between_95 > between && quantile.values_between_95 < between + 15.0);

    let same = quote(&format!(
        "{options} MEDIAN(score), PERCENTILE_CONT(score, 0.50), PERCENTILE_CONT(score, 0.9), \
         MEDIAN(score, contribution_bounds_per_row => (0, 50)) FROM posts"
    ));
    assert_eq!(same.noise().len(), 3);
    assert_eq!(same.total().to_string(), "epsilon = 1");
    assert!(same.noise().iter().all(|noise| matches!(noise, Noise::Quantile(_))));
    let types: Vec<String> =
        same.query().outputs().iter().map(|o| o.expr.column_type.to_string()).collect();
    assert_eq!(types, ["int", "float", "float", "int"]);
    let exact = query(&format!("{options} PERCENTILE_CONT(price, 0.1) FROM posts"));
    assert_eq!(exact.outputs()[0].expr.column_type.to_string(), "decimal(2)");

    // Not all noise is Gaussian, so zCDP alone says what epsilon is.
    let e =
        explain("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5) MEDIAN(amount) FROM loans");
    assert!((e.total_as_epsilon[1].epsilon - 5.222).abs() < 5e-4);
    // Rows are exchanged for others: ranks by one either way.
    let rate = e.measurements[0].quantile.unwrap().rate;
    assert!((rate - (8.0f64 * 0.5).sqrt() / 2.0).abs() < 1e-12);
}

/// Where a unit is in several groups, each has its share of the loss; and what is drawn near a
/// quantile is no Gaussian noise, of which several queries together would promise more.
#[test]
fn quantiles_of_several_groups_share_the_loss() {
    let options = "delta = 1e-6, max_groups_contributed = 4, max_rows_per_group = 1";
    let rate = |budget: &str, contract: &str| {
        let contract = hushtable_contract::Contract::parse(contract, "hushtable.toml").unwrap();
        let text = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({budget}, {options}) lang, pinned, \
             MEDIAN(score) FROM posts GROUP BY lang, pinned"
        );
        let quote = Quote::new(bind(&text, &contract).unwrap()).unwrap();
        let [Noise::Quantile(quantile)] = quote.noise() else { panic!("one quantile") };
        // One event of four draws, which spends all of the budget.
        let [event @ Event::BoundedRange { draws, .. }] = quote.events()[..] else {
            panic!("no bounded range")
        };
        assert_eq!(draws.get(), 4);
        match quote.total() {
            Loss::Concentrated { rho, .. } => {
                let event_rho = event.in_rho().unwrap().rho().unwrap();
                assert!((event_rho.to_f64() / rho.to_f64() - 1.0).abs() < 1e-9);
            }
            total => assert_eq!(event.in_epsilon(), Some(total.with_delta(Delta::ZERO))),
        }
        quantile.rate()
    };
    let unit = "privacy_unit = \"author\"\n";
    let exchanged = format!("{unit}neighbouring = \"replace\"\n");
    let exchanged = common::CONTRACT.replace(unit, &exchanged);
    for (budget, add_remove, replace) in [("epsilon = 1", 4.0, 8.0), ("rho = 0.125", 2.0, 4.0)] {
        assert!((rate(budget, common::CONTRACT) * add_remove - 1.0).abs() < 1e-12, "{budget}");
        // A value that takes another's place moves a median's ranks by one either way, twice as far
        // as one value more does; and a unit that is not in the groups of the one before is in as
        // many others.
        assert!((rate(budget, &exchanged) * replace - 1.0).abs() < 1e-12, "{budget}");
    }
}

/// PR Example 5.7: a median beside a split sum costs every record the same, whatever its size, and
/// needs no bounds.
#[test]
fn medians_beside_split_sums_cost_plain_rho() {
    let contract = common::CONTRACT
        .replace("neighbouring = \"replace\"\n", "")
        .replace("bounds = [0, 1_000_000]", "split = 1_000");
    let contract = hushtable_contract::Contract::parse(&contract, "hushtable.toml").unwrap();
    let text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.3) \
                SUM(amount, weight => 2) AS s, MEDIAN(amount) AS m FROM loans";
    let quote = Quote::new(bind(text, &contract).unwrap()).unwrap();
    let e = Explanation::new(&quote);
    let policy = e.policy.unwrap();
    assert_eq!(policy.rho_constant.to_string(), "0.1");
    assert_eq!(policy.terms.len(), 1);
    assert_eq!(policy.terms[0].rho.to_string(), "0.2");
    // A record of three thresholds: rho_1 + 9 rho_2, where a median after splitting would cost 9
    // rho_1, too.
    let function = hushtable_quote::policy_of(&quote, &|_, m, _| [m.high; 2]).unwrap();
    assert!((function.split(&[3000.0]) - (0.1 + 9.0 * 0.2)).abs() < 1e-9);
    let median = &e.measurements[1];
    assert_eq!(median.split_threshold, None);
    assert_eq!(median.loss.unwrap().to_string(), "rho = 0.1");
    // The whole lattice: 2^60 steps of a default granularity, either way.
    assert_eq!(median.bounds.1, 2f64.powi(60) * median.granularity);
    assert!((median.quantile.unwrap().rate - 0.8f64.sqrt()).abs() < 1e-12);
    // In epsilon, too, where sums that are not clamped are refused.
    let text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) MEDIAN(amount) FROM loans";
    assert_eq!(
        Quote::new(bind(text, &contract).unwrap()).unwrap().total().to_string(),
        "epsilon = 1"
    );
}

#[test]
fn explanations_read_as_expected() {
    let text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
                max_groups_contributed = 2, max_rows_per_group = 3) forum, COUNT(DISTINCT author) \
                AS authors, AVG(price, contribution_bounds_per_row => (0, 99.99)) AS price \
                FROM posts WHERE score > 0 GROUP BY forum";
    insta::assert_snapshot!(serde_json::to_string_pretty(&explain(text)).unwrap());
}

proptest! {
    /// Whatever the weights and strategy, the shares add up to the requested budget, exactly.
    #[test]
    fn shares_add_up_to_the_budget(
        weights in proptest::array::uniform3(1u32..=1000),
        pico in 1_000_000u64..10_000_000_000_000,
        rho in any::<bool>(),
        strategy in 0usize..5,
    ) {
        let amount = pico as f64 / 1e12;
        let named = Strategy::ALL.get(strategy)
            .map_or(String::new(), |s| format!(", group_selection_strategy = {s}"));
        let text = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({} = {amount:.12}, \
             delta = 1e-6, max_groups_contributed = 2, max_rows_per_group = 1, \
             group_selection_weight = {}{named}) forum, COUNT(*, weight => {}), \
             SUM(score, weight => {}), MEDIAN(score, weight => {}), AVG(IF(score > 3, 1, 0)), \
             AVG(IF(score > 4, 1, 0), weight => 7), COUNT(price), SUM(price) FROM posts \
             GROUP BY forum",
            if rho { "rho" } else { "epsilon" }, weights[0], weights[1], weights[2], weights[0],
        );
        if let Ok(quote) = Quote::new(query(&text)) {
            let mut sum = quote.selection().unwrap().loss();
            for noise in quote.noise() {
                if let Some(loss) = noise.loss() {
                    sum = sum.plus(loss).unwrap();
                }
            }
            prop_assert_eq!(sum, quote.total());
            prop_assert_eq!(sum, query(&text).loss());
            let total: f64 = match quote.total() {
                Loss::Approximate { epsilon, .. } => epsilon.to_f64(),
                Loss::Concentrated { rho, .. } => rho.to_f64(),
            };
            prop_assert!((total - amount).abs() < 1e-12);
        }
    }
}

const FIRMS: &str = r#"
[tables.firms]
path = "firms.parquet"
privacy_unit = "row"
[tables.firms.columns]
county = { type = "string" }
pay = { type = "int", split = 100 }
jobs = { type = "int", split = 50 }
[tables.firms.budgets]
ana = { rho = 2, delta = 1e-6 }
"#;

/// In place of PR Lemma 4.8: a value T in the place of -T loses four times what either may lose,
/// and not the printed two; in different groups two, and next to another value that is not negative
/// one.
#[test]
fn an_exchange_costs_up_to_four_times_the_policy() {
    let contract = Contract::parse(FIRMS, "hushtable.toml").unwrap();
    let quoted = |text: &str| {
        let sql =
            format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5, delta = 1e-6) {text}");
        let quote = Quote::new(bind(&sql, &contract).unwrap()).unwrap();
        let explained = Explanation::new(&quote);
        (quote, explained.policy.unwrap())
    };
    let (quote, policy) = quoted("SUM(pay) FROM firms");
    let AdditiveLaw::RoundedGaussian(law) =
        quote.noise()[0].largest().unwrap().additive().unwrap().law()
    else {
        panic!("law")
    };
    // Records alone lose rho = 0.5, as their values are the threshold.
    assert!(policy.examples.iter().any(|e| e.multiple == 1.0 && (e.exact - 0.5).abs() < 1e-9));
    // The Rényi divergence of order 2 over the order, between sums that a record moves to two
    // places.
    let rho = |first: i128, second: i128| {
        let term = |x: i128| law.pmf(x - first).powi(2) / law.pmf(x - second);
        (-1500..=1500).map(term).sum::<f64>().ln() / 2.0
    };
    let exchanged = rho(100, -100);
    assert!(exchanged > 0.999 * 2.0 && exchanged <= 2.0 * (1.0 + 1e-9), "{exchanged}");
    let two_groups = rho(100, 0) + rho(0, -100);
    assert!(two_groups > 0.999 && two_groups <= 1.0 + 1e-9, "{two_groups}");
    assert!((0..=100).all(|other| rho(100, other) <= 0.5 * (1.0 + 1e-9)));

    let multiples = |text: &str| {
        let ExchangeExplanation { any, different_groups, none_negative, delta } =
            quoted(text).1.exchange;
        (any, different_groups, none_negative, delta)
    };
    assert_eq!(multiples("SUM(pay) FROM firms"), (4, None, Some(1), None));
    assert_eq!(multiples("SUM(pay), SUM(jobs) FROM firms"), (4, None, Some(2), None));
    assert_eq!(multiples("SUM(pay), MEDIAN(jobs) FROM firms"), (4, None, None, None));
    let grouped = "county, SUM(pay) FROM firms GROUP BY county";
    assert_eq!(multiples(grouped), (4, Some(2), Some(2), Some(2)));
}

/// PR Table 3: AVG of a split column loses by its sum and by its count. The two share the budget
/// rho, and so m pieces lose no more than the printed rho m^2.
#[test]
fn averages_of_split_columns_cost_their_count_too() {
    let contract = Contract::parse(FIRMS, "hushtable.toml").unwrap();
    let text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5) AVG(pay) AS a FROM firms";
    let quote = Quote::new(bind(text, &contract).unwrap()).unwrap();
    let policy = hushtable_quote::policy_of(&quote, &|_, m, _| [m.high; 2]).unwrap();
    let count = policy.constant().to_f64();
    assert!(count > 0.0 && (policy.exact(&[0.0]) - count).abs() < 1e-12, "{count}");
    for pieces in [1.0f64, 2.0, 7.0] {
        let got = policy.split(&[100.0 * pieces]);
        let want = count + (0.5 - count) * pieces.powi(2);
        assert!((got - want).abs() < 1e-9, "{pieces}: {got} {want}");
        assert!(got <= 0.5 * pieces.powi(2) * (1.0 + 1e-12));
    }
}

/// How far the worst of many groups is off: of all public ones, or of numbers that may appear.
#[test]
fn intervals_of_many_groups_are_wider() {
    let widths = |text: &str| {
        let measured = explain(text).measurements.remove(0);
        (measured.half_width_95.unwrap(), measured.simultaneous_95)
    };
    let (one, many) =
        widths(&format!("{PRIVATE} forum, COUNT(DISTINCT author) FROM posts GROUP BY forum"));
    let groups: Vec<u64> = many.iter().map(|s| s.groups).collect();
    assert_eq!(groups, [10, 100, 1000]);
    assert!(many[0].half_width > one && many[1].half_width > many[0].half_width);
    let (one, many) =
        widths("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.02) SUM(score) FROM posts");
    assert!(one > 0.0 && many.is_empty());
}

/// Sub-queries that only filter and compute leave no trace: the query has the plan and the identity
/// of the query without them.
#[test]
fn plain_sub_queries_are_inlined() {
    let contract = common::contract();
    let bound = |sql: &str| serde_json::to_value(bind(sql, &contract).unwrap()).unwrap();
    let flat = bound(
        "SELECT county AS k, COUNT(*) AS n, SUM(amount) AS s FROM loans \
         WHERE amount > 5 AND county <> 'x' GROUP BY county",
    );
    for nested in [
        "SELECT k, COUNT(*) AS n, SUM(a) AS s FROM \
         (SELECT county AS k, amount AS a FROM loans WHERE amount > 5) WHERE k <> 'x' GROUP BY k",
        "WITH big AS (SELECT * FROM loans WHERE amount > 5), \
         named AS (SELECT county AS k, b.amount AS a FROM big AS b WHERE county <> 'x') \
         SELECT k, COUNT(*) AS n, SUM(a) AS s FROM named GROUP BY k",
        "SELECT k, COUNT(*) AS n, SUM(a) AS s FROM (SELECT county AS k, amount AS a FROM \
         (SELECT amount, county FROM (SELECT * FROM loans) WHERE amount > 5 AND county <> 'x')) \
         GROUP BY k",
    ] {
        assert_eq!(bound(nested), flat, "{nested}");
    }
    // Expressions of a sub-query are computed where they are used.
    let flat = bound("SELECT COUNT(*) FROM loans WHERE amount * 2 > 5");
    assert_eq!(bound("SELECT COUNT(*) FROM (SELECT amount * 2 AS d FROM loans) WHERE d > 5"), flat);
}

#[test]
fn queries_and_explanations_are_read_as_they_are_written() {
    let loans = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.1, delta = 1e-6, \
                 max_groups_contributed = 1) county, AVG(amount) AS a, \
                 MEDIAN(amount, weight => 2) AS m, PERCENTILE_CONT(amount, 0.999) AS p \
                 FROM loans WHERE amount > -0.5e-7 GROUP BY county HAVING a > 1.25 ORDER BY m";
    let rows = PRIVATE.replace(')', ", max_rows_per_group = 3)");
    let posts = format!(
        "{rows} lang, year, SUM(price) AS p, \
         SUM(weight, contribution_bounds_per_row => (-1, 2)) AS w, COUNT(*) AS n \
         FROM posts WHERE posted > DATE '2020-01-31' AND forum NOT IN ('a', 'b') \
         AND posts.author IN (SELECT author FROM posts WHERE pinned) GROUP BY lang, year LIMIT 3"
    );
    let keys = format!("{PRIVATE} forum FROM posts GROUP BY forum");
    for text in [loans, &posts, &keys] {
        let quote = quote(text);
        let written = serde_json::to_string(quote.query()).unwrap();
        let read: PrivateQuery = serde_json::from_str(&written).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), written);
        let explanation = Explanation::new(&quote);
        let written = serde_json::to_string(&explanation).unwrap();
        let read: Explanation = serde_json::from_str(&written).unwrap();
        let [read, written] = [&read, &explanation].map(|e| serde_json::to_value(e).unwrap());
        assert!(alike(&read, &written), "{read}\n{written}");
    }
}

/// Whether two documents are the same except for the last bit of floats, which the reader of JSON
/// may get wrong.
fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-15 * b.abs(),
            _ => false,
        },
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.keys().eq(b.keys()) && a.values().zip(b.values()).all(|(a, b)| alike(a, b))
        }
        _ => one == other,
    }
}

const ROWS: &str = r#"
[tables.loans]
path = "loans.csv"
privacy_unit = "row"
[tables.loans.columns]
sector = { type = "string" }
town = { type = "string" }
amount = { type = "int", split = { by = "sector", default = 100, values = { mining = 5000 } } }
[tables.loans.defaults]
rho = 0.5
delta = 1e-6
max_groups_contributed = 2
[tables.loans.budgets]
ana = { rho = 3, delta = 1e-3 }

[tables.towns]
path = "towns.csv"
public = true
UNIQUE
[tables.towns.columns]
town = { type = "string" }
sector = { type = "string" }
"#;

/// Sums whose noise follows from what a row may lose need rows that a join does not repeat; their
/// thresholds go by the row's own column, whatever a public table calls its own.
#[test]
fn split_columns_are_joined_on_unique_keys() {
    let bound = |unique: &str, sql: &str| {
        let contract = Contract::parse(&ROWS.replace("UNIQUE", unique), "hushtable.toml").unwrap();
        bind(sql, &contract)
    };
    let sql = "SELECT t.sector, SUM(l.amount) AS s FROM towns t JOIN loans l ON l.town = t.town \
               GROUP BY t.sector";
    let query = bound("unique = [\"town\"]", sql).unwrap();
    assert_eq!(query.unit(), None);
    let split = query.measurements()[0].thresholds().unwrap();
    let classes = split.classes.as_ref().unwrap();
    assert_eq!((split.default, classes.values.len(), classes.key), (100, 1, None));
    let position = |expr: &hushtable_lang::Expr| {
        (0..query.columns().len()).find(|&position| expr.is_column(position)).unwrap()
    };
    let origin = query.relation().fields()[position(&classes.expr)].origin.as_ref().unwrap();
    assert_eq!((origin.table.as_str(), origin.column.as_str()), ("loans", "sector"));

    for unique in ["", "unique = [\"sector\"]", "unique = [\"town\", \"sector\"]"] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(bound(unique, sql).unwrap_err());
        }
        // Clamped, it may be: rows that are repeated are one unit.
        let clamped = "SELECT SUM(l.amount, contribution_bounds_per_group => (0, 9)) FROM loans l \
                       JOIN towns t ON l.town = t.town";
        assert!(bound(unique, clamped).unwrap().unit().is_some());
        let once = "SELECT SUM(amount) FROM loans WHERE town IN (SELECT town FROM towns)";
        assert_eq!(bound(unique, once).unwrap().unit(), None);
    }
}

/// A query with the further measurements of another has its release, in whatever order; a release
/// that lacks something is no release of it.
#[test]
fn fewer_measurements_have_the_release_of_more() {
    let identity = |query: PrivateQuery| Quote::new(query).unwrap().identity().unwrap();
    let options = "epsilon = 1, delta = 1e-6, max_groups_contributed = 2, max_rows_per_group = 3";
    let of = |select: &str| {
        query(&format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {select}"))
    };
    let all = of("forum, COUNT(*, contribution_bounds_per_group => (0, 5)) AS n, \
                  SUM(score, contribution_bounds_per_group => (0, 9)) AS s, \
                  MEDIAN(score, contribution_bounds_per_row => (0, 99)) AS m \
                  FROM posts WHERE score > 3 GROUP BY forum");
    for few in [
        "forum, SUM(score, contribution_bounds_per_group => (0, 9)) AS s \
         FROM posts WHERE score > 3 GROUP BY forum",
        "COUNT(*, contribution_bounds_per_group => (0, 5)) AS number \
         FROM posts WHERE score > 3 GROUP BY forum HAVING number > 7",
        "MEDIAN(score, contribution_bounds_per_row => (0, 99)) - 1 AS m, forum \
         FROM posts WHERE score > 3 GROUP BY forum ORDER BY m LIMIT 2",
    ] {
        let few = of(few);
        assert_eq!(few.family_bytes().unwrap(), all.family_bytes().unwrap());
        let whole = few.with_measurements_of(&all).unwrap().expect("the release has all of it");
        let names = |query: &PrivateQuery| {
            query.outputs().iter().map(|o| o.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&whole), names(&few));
        assert_ne!(identity(few.clone()), identity(all.clone()));
        assert_eq!(identity(whole), identity(all.clone()));
        assert!(all.with_measurements_of(&few).unwrap().is_none());
    }
    for other in [
        "forum, SUM(score, contribution_bounds_per_group => (0, 9)) AS s \
         FROM posts WHERE score > 4 GROUP BY forum",
        "SUM(score, contribution_bounds_per_group => (0, 9)) AS s FROM posts WHERE score > 3",
        "forum, SUM(score, contribution_bounds_per_group => (0, 8)) AS s \
         FROM posts WHERE score > 3 GROUP BY forum",
    ] {
        assert!(of(other).with_measurements_of(&all).unwrap().is_none(), "{other}");
    }
}
