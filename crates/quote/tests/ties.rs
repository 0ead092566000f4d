//! Sums that are measured together with their count.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod common;

use hushtable_contract::Contract;
use hushtable_mechanisms::TiedRole;
use hushtable_plan::bind;
use hushtable_quote::{Noise, Quote};

/// The names of the measurements, those in brackets that are measured together.
fn measured_names(sql: &str, contract: &Contract) -> String {
    let quote =
        Quote::new(bind(sql, contract).map_err(|e| format!("{sql}: {e}")).unwrap()).unwrap();
    let (loss, of_noise) = (quote.query().loss(), quote.query().noise_delta());
    let limit = loss.with_delta(loss.delta().max(of_noise));
    assert!(quote.total().is_within(limit), "{sql}");
    let of = |noise: &Noise| matches!(noise, Noise::Tied(_));
    let names = quote.query().measurements().iter().zip(quote.noise());
    let names = names.map(|(m, n)| if of(n) { format!("[{}]", m.name) } else { m.name.clone() });
    names.collect::<Vec<_>>().join(", ")
}

fn posts(options: &str, select: &str) -> String {
    let rows = if options.contains("max_rows") { "" } else { ", max_rows_per_group = 4" };
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (delta = 1e-6, max_groups_contributed = 2, \
         {options}{rows}) {select} FROM posts GROUP BY lang"
    );
    measured_names(&sql, &common::contract())
}

#[test]
fn sums_are_tied_to_the_count_of_their_values() {
    let per_row = "SUM(score, contribution_bounds_per_row => (0, 100))";
    for options in ["epsilon = 1", "rho = 0.1"] {
        for (select, want) in [
            ("AVG(score)", "[sum of score], [count of score]"),
            // With missing values, too.
            ("AVG(score), COUNT(*)", "[sum of score], [count of score], [count of rows]"),
            ("COUNT(score), COUNT(*)", "[count of score], [count of rows]"),
            (
                "COUNT(*), AVG(score), AVG(price), COUNTIF(pinned)",
                "[count of rows], [sum of score], [count of score], [sum of price], \
                 [count of price], [count of an expression of pinned]",
            ),
            (&format!("COUNT(score), {per_row}"), "[count of score], [sum of score]"),
            // Several sums share the count.
            (
                "AVG(IF(pinned, 1, 0)), AVG(IF(score > 9, 1, 0)), COUNT(*)",
                "[sum of an expression of pinned], [count of rows], \
                 [sum of an expression of score]",
            ),
            // The sum of all of a unit's rows says nothing of how many there are.
            ("COUNT(score), SUM(score)", "count of score, sum of score"),
            // A missing value adds zero.
            (&format!("COUNT(*), {per_row}"), "[count of rows], [sum of score]"),
            // Not of the same values.
            (&format!("COUNT(price), {per_row}"), "count of price, sum of score"),
            // Not of as many.
            (
                &format!("COUNT(score, contribution_bounds_per_group => (0, 3)), {per_row}"),
                "count of score, sum of score",
            ),
            (
                &format!("COUNT(score, contribution_bounds_per_group => (1, 4)), {per_row}"),
                "count of score, sum of score",
            ),
        ] {
            assert_eq!(posts(options, &format!("lang, {select}")), want, "{options} {select}");
        }
    }
    // With one row of each unit in a group, its sum is that of its count.
    let one = "epsilon = 1, max_rows_per_group = 1";
    assert_eq!(posts(one, "lang, COUNT(score), SUM(score)"), "[count of score], [sum of score]");
    let sums = posts(one, "lang, COUNT(*), SUM(score)");
    assert_eq!(sums, "[count of privacy units], [sum of score]");
    let always = "lang, COUNT(*), SUM(IF(score > 9, 1, 0))";
    assert_eq!(posts(one, always), "[count of privacy units], [sum of an expression of score]");
}

/// Where a number would be noisier together than apart, the query's weights stand.
#[test]
fn nothing_is_tied_that_is_better_apart() {
    let sums =
        "lang, COUNT(score, weight => 9), SUM(score, contribution_bounds_per_row => (0, 100))";
    assert_eq!(posts("epsilon = 1", sums), "count of score, sum of score");
    let sums = sums.replace("9", "2");
    assert_eq!(posts("epsilon = 1", &sums), "[count of score], [sum of score]");
    // Where a unit replaces another in the only group, their count does not move at all.
    let replaced = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) AVG(amount) FROM loans";
    let contract = common::contract();
    assert_eq!(measured_names(replaced, &contract), "sum of amount, count of amount");
}

/// A count that selection gives is not measured again.
#[test]
fn counts_of_the_selection_stay_its_own() {
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, \
               delta = 1e-6, max_groups_contributed = 1, max_rows_per_group = 1, \
               group_selection_strategy = STRATEGY) forum, COUNT(*), AVG(IF(score > 9, 1, 0)) \
               FROM posts GROUP BY forum";
    let named =
        |strategy: &str| measured_names(&sql.replace("STRATEGY", strategy), &common::contract());
    let apart = "count of privacy units, sum of an expression of score";
    assert_eq!(named("TRUNCATED_GEOMETRIC"), apart);
    assert_eq!(named("OPTIMAL"), "[count of privacy units], [sum of an expression of score]");
}

/// The deviations of theory section 8, with K groups, m rows and values up to h in steps: apart,
/// the count has sqrt(8) K m / epsilon, the sum h times as much.
#[test]
fn noise_is_that_of_the_theory() {
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.01, \
               max_groups_contributed = 5, max_rows_per_group = 3) lang, pinned, COUNT(score), \
               SUM(score, contribution_bounds_per_row => (0, 100)) FROM posts \
               GROUP BY lang, pinned";
    let quote = Quote::new(bind(sql, &common::contract()).unwrap()).unwrap();
    let deviation = |index: usize| quote.noise()[index].deviation().unwrap();
    let unit = 5.0 * 3.0 / 0.01;
    assert!((deviation(0) / unit - 2.0).abs() < 1e-6);
    assert!((deviation(1) / unit - 100.0 * 2f64.sqrt()).abs() < 1e-4);
    let [Noise::Tied(count), Noise::Tied(sum)] = quote.noise() else { panic!("tied") };
    assert_eq!(
        (count.count, count.role, sum.count, sum.role),
        (0, TiedRole::Count, 0, TiedRole::Sum(0))
    );
    // The sum has paid for both.
    assert_eq!(quote.noise()[0].loss(), None);
    assert_eq!(quote.noise()[1].loss(), Some(quote.total()));
    assert_eq!(quote.events().len(), 1);
}
