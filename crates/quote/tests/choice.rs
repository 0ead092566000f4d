//! The choice of noise, strategy and split.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod common;

use hushtable_contract::{Contract, NoiseKind};
use hushtable_mechanisms::Strategy;
use hushtable_plan::{SqlStatement, bind};
use hushtable_quote::{LimitExplanation, Quote};

/// The contract with some defaults of posts.
fn with_defaults(lines: &str) -> String {
    let budgets = "[tables.posts.budgets]";
    common::with_many_groups()
        .replace(budgets, &format!("[tables.posts.defaults]\n{lines}\n\n{budgets}"))
}

fn ask(sql: &str, contract: &Contract) -> Result<Quote, String> {
    let refused = |refusal| format!("{sql}\n{refusal}");
    Quote::new(bind(sql, contract).map_err(refused)?).map_err(refused)
}

fn quoted(options: &str, select: &str) -> Result<Quote, String> {
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {select} FROM posts GROUP BY ALL"
    );
    let contract = Contract::parse(&common::with_many_groups(), "hushtable.toml").unwrap();
    ask(&sql, &contract)
}

fn quote(options: &str, select: &str) -> Quote {
    quoted(options, select).unwrap()
}

fn options(groups: u32, more: &str) -> String {
    format!(
        "epsilon = 1, delta = 1e-8, max_groups_contributed = {groups}, max_rows_per_group = 2{more}"
    )
}

const COUNTS: &str = "forum, COUNT(DISTINCT author)";
const SUMS: &str = "forum, AVG(score)";
const MANY: &str = "forum, AVG(score), COUNT(price), SUM(price)";

/// With few groups of a unit Laplace noise is the smaller, with many Gaussian noise.
#[test]
fn noise_is_the_better_for_the_whole_query() {
    use NoiseKind::{Gaussian, Laplace};
    for (groups, want) in [(1, Laplace), (4, Laplace), (64, Gaussian)] {
        for select in [COUNTS, SUMS, "lang, COUNT(*), AVG(score)"] {
            let chosen = quote(&options(groups, ""), select);
            assert_eq!(chosen.noise_kind(), want, "{groups} {select}");
            for noise in ["LAPLACE", "'gaussian'"] {
                let named = quote(&options(groups, &format!(", noise = {noise}")), select);
                let (chosen, named) = (chosen.usefulness().size(), named.usefulness().size());
                // Two ways to the same noise may differ by their rounding.
                assert!(
                    chosen <= named * (1.0 + 1e-5),
                    "{groups} {select} {noise}: {chosen} {named}"
                );
            }
        }
    }
}

/// Public groups cost delta only where the query names one: the contract's is for choosing groups.
#[test]
fn delta_that_is_not_named_buys_no_noise() {
    let text = with_defaults("delta = 1e-8");
    let contract = Contract::parse(&text, "hushtable.toml").unwrap();
    let total = |options: &str| {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_groups_contributed = 100, \
             max_rows_per_group = 1{options}) lang, COUNT(*) FROM posts GROUP BY lang"
        );
        ask(&sql, &contract).unwrap().total().to_string()
    };
    assert_eq!(total(""), "epsilon = 1");
    assert_eq!(total(", delta = 1e-8"), "epsilon = 1, delta = 1e-8");
    assert_eq!(total(", noise = GAUSSIAN"), "epsilon = 1, delta = 1e-8");
    assert_eq!(total(", delta = 1e-8, noise = LAPLACE"), "epsilon = 1");
}

/// The contract's noise and preference hold where a query sets neither.
#[test]
fn contracts_have_defaults_of_both() {
    let text = with_defaults("noise = \"laplace\"\nprefer = \"GROUPS\"");
    let contract = Contract::parse(&text, "hushtable.toml").unwrap();
    let ask = |budget: &str| {
        let options = options(64, "").replace("epsilon = 1", budget);
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {SUMS} FROM posts GROUP BY ALL"
        );
        ask(&sql, &contract).unwrap()
    };
    let default_quote = ask("epsilon = 1");
    assert_eq!(default_quote.noise_kind(), NoiseKind::Laplace);
    assert_eq!(default_quote.usefulness().relative_error, 0.5);
    assert_eq!(ask("noise = GAUSSIAN, epsilon = 1").noise_kind(), NoiseKind::Gaussian);
    // A rho buys no other.
    assert_eq!(ask("rho = 1").noise_kind(), NoiseKind::Gaussian);
    let wrong = text.replace("laplace", "cauchy");
    insta::assert_snapshot!(Contract::parse(&wrong, "hushtable.toml").unwrap_err().to_string());
}

/// No strategy, no noise and no split that can be named is of use from a smaller size on.
#[test]
fn one_objective_chooses_all() {
    for prefer in ["", ", prefer = GROUPS", ", prefer = 'precision'"] {
        for groups in [1, 4, 30] {
            for select in [COUNTS, SUMS, MANY] {
                let size = |more: &str| {
                    let all = options(groups, &format!("{prefer}{more}"));
                    quoted(&all, select).map_or(f64::INFINITY, |priced| priced.usefulness().size())
                };
                let chosen = size("");
                for strategy in Strategy::ALL {
                    for weight in [None, Some(1), Some(2), Some(5), Some(12)] {
                        let mut named = format!(", group_selection_strategy = {strategy}");
                        if let Some(weight) = weight {
                            named += &format!(", group_selection_weight = {weight}");
                        }
                        let other = size(&named);
                        // Shares are whole parts of 64, and a twentieth is for more groups.
                        assert!(
                            chosen <= 1.07 * other,
                            "{groups} {select}{prefer}{named}: {chosen} {other}"
                        );
                    }
                }
            }
        }
    }
}

/// The share of selection is the one at which groups appear from the size on from which they are
/// precise, and larger by what a twentieth of that size pays for.
#[test]
fn the_split_makes_both_sizes_equal() {
    let mut measured = 0;
    for groups in [1, 4, 64] {
        for select in [SUMS, MANY] {
            let chosen = quote(&options(groups, ""), select);
            let sizes = chosen.usefulness();
            let Some(share) = chosen.selection_share() else {
                // A measured count takes no share.
                assert_eq!(chosen.selection().unwrap().strategy(), Strategy::MeasuredCount);
                measured += 1;
                continue;
            };
            let ratio = sizes.to_appear / sizes.to_be_precise;
            assert!((0.15..1.1).contains(&ratio), "{groups} {select} {sizes:?}");
            // An even split is not as good.
            let even = quote(&options(groups, ", group_selection_weight = 1"), select);
            assert!(sizes.size() <= 1.05 * even.usefulness().size());
            assert!(Some(share) != even.selection_share());
        }
    }
    assert!((1..6).contains(&measured), "{measured}");
}

/// At four groups of a unit the smallest threshold had twice the noise of the second.
#[test]
fn thresholds_alone_do_not_decide() {
    let chosen = quote(&options(4, ""), COUNTS);
    assert_eq!(chosen.selection().unwrap().strategy(), Strategy::TruncatedGeometric);
    assert!(chosen.runner_up().is_some());
    let more = quote(&options(4, ", prefer = GROUPS"), COUNTS);
    let (chosen, more) = (chosen.usefulness(), more.usefulness());
    assert!(more.to_appear < chosen.to_appear && more.to_be_precise / 0.2 > chosen.to_be_precise);
}

/// Quotes of equal queries are equal in everything that a release is found by.
#[test]
fn the_same_query_has_the_same_mechanisms() {
    for select in [COUNTS, SUMS, MANY] {
        let identity = || quote(&options(16, ""), select).identity().unwrap();
        assert_eq!(identity(), identity());
    }
}

/// The price of other limits follows from the query, and rises with the limit.
#[test]
fn other_limits_on_groups_have_a_price() {
    let limits = |groups: u32| LimitExplanation::around(&quote(&options(groups, ""), MANY));
    let prices = limits(4);
    let most: Vec<u32> = prices.iter().map(|limit| limit.max_groups_contributed).collect();
    assert_eq!(most, [1, 2, 4, 8, 16]);
    for pair in prices.windows(2) {
        // Single votes need many units where none of the others is certain, and few where all are.
        let same = pair[0].strategy == pair[1].strategy;
        assert!(!same || pair[0].units_for_half < pair[1].units_for_half, "{pair:?}");
        for (less, more) in pair[0].half_widths_95.iter().zip(&pair[1].half_widths_95) {
            assert!(less.unwrap() < more.unwrap(), "{pair:?}");
        }
    }
    // Each is that of the query with the limit.
    assert_eq!(
        limits(16).into_iter().find(|limit| limit.max_groups_contributed == 4),
        Some(prices[2].clone())
    );
    let one: Vec<u32> = limits(1).iter().map(|limit| limit.max_groups_contributed).collect();
    assert_eq!(one, [1, 2, 4]);
    let whole = ask(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(DISTINCT author) FROM posts",
        &common::contract(),
    );
    assert!(LimitExplanation::around(&whole.unwrap()).is_empty());
}

/// A statement's parts and their mechanisms, with Gaussian noise as the contract's default.
fn parts_with_gaussian_default(sql: &str) -> Result<Vec<Quote>, String> {
    let text = with_defaults("noise = \"GAUSSIAN\"");
    let contract = Contract::parse(&text, "hushtable.toml").unwrap();
    let refused = |refusal| format!("{sql}\n{refusal}");
    let statement = SqlStatement::bind(sql, &contract).map_err(refused)?;
    let parts = statement.parts.iter();
    parts.map(|part| Quote::new(part.query.clone()).map_err(refused)).collect()
}

/// A default refuses no query that names no noise: where it cannot serve, the better is taken.
#[test]
fn a_default_noise_is_a_preference() {
    let budget = "epsilon = 1, delta = 1e-6, max_groups_contributed = 2, max_rows_per_group = 2";
    let ask = |options: &str, rest: &str| {
        let sql = format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {rest}");
        let parts = parts_with_gaussian_default(&sql).unwrap();
        parts.iter().map(Quote::noise_kind).collect::<Vec<_>>()
    };
    use NoiseKind::{Gaussian, Laplace};
    let levels = "forum, COUNT(*), AVG(score) FROM posts GROUP BY ROLLUP (forum)";
    assert_eq!(ask(budget, levels), [Gaussian, Laplace]);
    let both = "x.n, y.n AS m FROM (SELECT lang, COUNT(*) AS n FROM posts GROUP BY lang) x \
                CROSS JOIN (SELECT COUNT(*) AS n FROM posts) y";
    assert_eq!(ask(budget, both), [Laplace, Laplace]);
    let one = "lang, COUNT(*) FROM posts GROUP BY lang";
    assert_eq!(ask(budget, one), [Gaussian]);
    assert_eq!(
        ask("epsilon = 1, max_groups_contributed = 2, max_rows_per_group = 2", one),
        [Laplace]
    );
    let quantile = "forum, MEDIAN(score) FROM posts GROUP BY forum";
    assert_eq!(ask(budget, quantile), [Laplace]);
    let named = format!("{budget}, group_selection_strategy = OPTIMAL");
    assert_eq!(ask(&named, "forum, COUNT(*) FROM posts GROUP BY forum"), [Laplace]);
}

/// Wishes are no part of a question: what they choose is.
#[test]
fn wishes_do_not_belong_to_a_question() {
    let identity = |more: &str, select: &str| quote(&options(1, more), select).identity().unwrap();
    let plain = identity("", SUMS);
    assert_eq!(identity(", noise = LAPLACE", SUMS), plain);
    assert_ne!(identity(", noise = GAUSSIAN", SUMS), plain);
    assert_ne!(identity(", group_selection_weight = 7", SUMS), plain);
    // Two parts that differ in wishes alone have one release.
    let twice = "SELECT x.n, y.n AS m FROM (SELECT COUNT(*) AS n FROM posts) x CROSS JOIN (SELECT \
                 WITH DIFFERENTIAL_PRIVACY OPTIONS (noise = LAPLACE) COUNT(*) AS n FROM posts) y";
    let sql = twice.replacen(
        "SELECT",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_rows_per_group = 2)",
        1,
    );
    let parts = SqlStatement::bind(&sql, &common::contract()).unwrap().parts;
    let identities: Vec<_> = parts
        .into_iter()
        .map(|part| hushtable_quote::Quote::new(part.query).unwrap().identity().unwrap())
        .collect();
    assert_eq!(identities.len(), 2);
    assert_eq!(identities[0], identities[1]);
}

/// The choices themselves: releases on record are found by them.
#[test]
fn choices_do_not_change_by_mistake() {
    let mut choices = Vec::new();
    for budget in
        ["epsilon = 1, delta = 1e-8", "epsilon = 0.1, delta = 1e-6", "rho = 0.1, delta = 1e-6"]
    {
        for groups in [1, 4, 64] {
            for (name, select) in [("counts", COUNTS), ("sums", SUMS), ("many", MANY)] {
                for prefer in ["BALANCE", "GROUPS", "PRECISION"] {
                    let all = options(groups, &format!(", prefer = {prefer}"));
                    let chosen = quote(&all.replace("epsilon = 1, delta = 1e-8", budget), select);
                    let strategy = chosen.selection().unwrap().strategy();
                    let share = chosen.selection_share().unwrap_or_default();
                    let noise = chosen.noise_kind();
                    choices.push(format!(
                        "{budget}, {groups} groups, {name}, {prefer}: {strategy} {share:.4}, \
                         {noise}"
                    ));
                }
            }
        }
    }
    insta::assert_snapshot!(choices.join("\n"));
}
