//! Limits that are chosen privately, from histograms as they could be released.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of a test")]

mod common;

use hushtable_mechanisms::Strategy;
use hushtable_plan::{PrivateQuery, ReleasedSizes, SqlStatement, row_buckets};
use hushtable_privacy::Event;
use hushtable_quote::{Quote, chosen_limits};
use proptest::prelude::{ProptestConfig, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

const STATEMENTS: [&str; 8] = [
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-8, bounds = AUTO, \
     max_groups_contributed = AUTO, max_rows_per_group = 2) forum, AVG(weight), SUM(weight), \
     COUNT(*) FROM posts GROUP BY forum",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5, delta = 1e-8, bounds = AUTO, \
     max_groups_contributed = AUTO, max_rows_per_group = 2) forum, SUM(weight) \
     FROM posts GROUP BY forum",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, noise = GAUSSIAN, \
     max_groups_contributed = AUTO, max_rows_per_group = 2) lang, COUNT(*) \
     FROM posts GROUP BY lang",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1, bounds = AUTO) SUM(weight) \
     FROM posts",
    // With the example's groups Laplace noise is the better, and with more Gaussian noise.
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
     max_groups_contributed = AUTO, max_rows_per_group = 2) COUNT(*) \
     FROM posts GROUP BY lang, pinned, year",
    // Rows of a unit in a group, whose limit may be one: then rows are units.
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-8, bounds = AUTO, \
     max_groups_contributed = AUTO, max_rows_per_group = AUTO) forum, AVG(weight), COUNT(*), \
     SUM(score, contribution_bounds_per_row => (-10, 100)), COUNT(DISTINCT lang) \
     FROM posts GROUP BY forum",
    // Bounds of medians, quantiles and variances.
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, bounds = AUTO, \
     max_groups_contributed = 2, max_rows_per_group = AUTO) lang, MEDIAN(weight), \
     PERCENTILE_CONT(weight * 2, 0.9), STDDEV(weight) FROM posts GROUP BY lang",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5, bounds = AUTO, \
     max_rows_per_group = 3) CORR(weight, weight + 1), MEDIAN(CAST(weight AS INT64)) FROM posts",
];

/// Histograms with any numbers in them, as noise can make of any data.
fn histograms(query: &PrivateQuery, numbers: &[i64]) -> Vec<(ReleasedSizes, f64)> {
    let automatic = query.automatic();
    let all = usize::from(automatic.groups) + usize::from(automatic.rows) + automatic.bounds.len();
    let sizes = |from: usize| {
        let number = |size: i64| {
            let index = (from * 7 + usize::try_from(size).unwrap()) % numbers.len();
            (size, numbers[index] as f64)
        };
        ((0..207).map(number).collect(), 28.3)
    };
    (0..all).map(sizes).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever the histograms release, the query with its limits costs no more than was charged
    /// for it before, and is one that its author could have written.
    #[test]
    fn any_chosen_limits_cost_no_more_than_is_charged(
        numbers in prop::collection::vec(prop_oneof![-200i64..200, 0i64..1_000_000_000], 1..60),
        case in 0..STATEMENTS.len(),
    ) {
        let contract = common::contract();
        let statement = SqlStatement::bind(STATEMENTS[case], &contract).unwrap();
        let last = statement.parts.len() - 1;
        let template = Quote::new(statement.parts[last].query.clone()).unwrap();
        prop_assert_eq!(template.events(), [Event::from(template.total())]);
        let (mut limits, _) =
            chosen_limits(template.query(), &histograms(template.query(), &numbers)).unwrap();
        let quote = loop {
            let query = statement.with_limits(last, &limits);
            match query.and_then(Quote::new) {
                Ok(quote) => break quote,
                Err(_) => limits = limits.smaller().expect("the smallest limits are allowed"),
            }
        };
        prop_assert!(quote.query().automatic().is_none());
        prop_assert!(quote.total().is_within(template.total()));
        let query = quote.query();
        if let Some(groups) = limits.groups {
            prop_assert_eq!(query.max_groups_contributed(), groups);
        }
        // The charge is that of the whole: histograms have what the query leaves.
        let mut whole = template.total();
        for part in &statement.parts[..last] {
            prop_assert!(part.is_histogram);
            let histogram = Quote::new(part.query.clone()).unwrap();
            whole = whole.plus(histogram.total()).unwrap();
        }
        let want = [
            "epsilon = 1, delta = 1e-8",
            "rho = 0.5, delta = 1e-8",
            "epsilon = 1, delta = 1e-6",
            "epsilon = 0.1",
            "epsilon = 1, delta = 1e-6",
            "epsilon = 1, delta = 1e-8",
            "epsilon = 1",
            "rho = 0.5",
        ][case];
        prop_assert_eq!(whole.to_string(), want);
    }
}

/// Bounds below the granularity that the contract names would be refused after the charge.
#[test]
fn chosen_bounds_hold_a_step_of_the_lattice() {
    let contract = common::contract();
    for numbers in [[1i64], [5], [150]] {
        for sql in STATEMENTS {
            let statement = SqlStatement::bind(sql, &contract).unwrap();
            let last = statement.parts.len() - 1;
            let query = &statement.parts[last].query;
            let template = Quote::new(query.clone()).unwrap();
            let histograms = histograms(template.query(), &numbers);
            let (limits, _) = chosen_limits(template.query(), &histograms).unwrap();
            let query = statement.with_limits(last, &limits);
            assert!(query.and_then(Quote::new).is_ok(), "{numbers:?} {sql}");
        }
    }
}

/// A clipping report has the limits of its part, and costs no more than is charged for it, in the
/// same columns whatever the limits are.
#[test]
fn reports_have_the_limits_that_are_chosen() {
    let contract = common::contract();
    let mut reported = 0;
    for sql in STATEMENTS {
        let sql = sql.replace("OPTIONS (", "OPTIONS (clipping_report = true, ");
        let statement = match SqlStatement::bind(&sql, &contract) {
            Ok(statement) => statement,
            // A report on many aggregates is too long, whatever the limits.
            Err(refusal) => {
                assert!(refusal.what.contains("are allowed"), "{refusal:?}");
                continue;
            }
        };
        reported += 1;
        let [.., part, report] = statement.parts.as_slice() else { panic!("{sql}") };
        let of = statement.parts.len() - 2;
        assert_eq!(
            (report.report_of.as_slice(), &report.limits_from),
            (&[of][..], &part.limits_from)
        );
        let mut whole = part.query.loss().plus(report.query.loss()).unwrap();
        for histogram in &statement.parts[..of] {
            whole = whole.plus(histogram.query.loss()).unwrap();
        }
        let unreported =
            SqlStatement::bind(&sql.replace("clipping_report = true, ", ""), &contract);
        let unreported = unreported.unwrap();
        let unreported = unreported.parts.iter().map(|part| part.query.loss());
        let unreported = unreported.reduce(|sum, loss| sum.plus(loss).unwrap()).unwrap();
        assert_eq!(whole.to_string(), unreported.to_string());
        let template = Quote::new(report.query.clone()).unwrap();
        assert_eq!(template.events(), [Event::from(template.total())]);
        for number in [0i64, 30, 5_000] {
            let histograms = histograms(&part.query, &[number, 3 * number, 7]);
            let (mut limits, _) = chosen_limits(&part.query, &histograms).unwrap();
            let [query, quote] = loop {
                let bound = |at| statement.with_limits(at, &limits);
                let both = bound(of).and_then(|query| Ok([query, bound(of + 1)?]));
                match both.and_then(|[part, report]| Ok([Quote::new(part)?, Quote::new(report)?])) {
                    Ok(both) => break both,
                    Err(_) => limits = limits.smaller().expect("the smallest limits are allowed"),
                }
            };
            assert!(quote.total().is_within(template.total()), "{sql}");
            let columns = |quote: &Quote| quote.query().outputs().len();
            assert_eq!(columns(&quote), columns(&template), "{number} {sql}");
            // It is the report that the query with these limits would have.
            let of_query = query.query().clipping_report().unwrap();
            if let Some(of_query) =
                of_query.filter(|of_query| of_query.outputs().len() == columns(&quote))
            {
                let of_query = of_query.with_loss(quote.query().loss());
                assert_eq!(of_query.measurements(), quote.query().measurements(), "{sql}");
            }
        }
    }
    assert!(reported > 4, "{reported}");
}

/// A limit on rows is near to the rows that units have, where noise is small.
#[test]
fn limits_on_rows_follow_sizes() {
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 10, max_rows_per_group = AUTO) \
               COUNT(*) FROM posts";
    let statement = SqlStatement::bind(sql, &common::contract()).unwrap();
    let query = &statement.parts[1].query;
    for (rows, least, most) in [(1.0, 1, 1), (2.0, 2, 2), (7.0, 7, 8), (300.0, 256, 512)] {
        let bucket = row_buckets().iter().position(|(low, high)| *low < rows && rows <= *high);
        let sizes: ReleasedSizes = vec![(bucket.unwrap() as i64 + 1, 10_000.0)];
        let (limits, warnings) = chosen_limits(query, &[(sizes, 1.4)]).unwrap();
        let chosen = limits.rows.unwrap();
        assert!((least..=most).contains(&chosen) && warnings.is_empty(), "{rows}: {chosen}");
    }
    // Nobody is visible: one row, with a warning.
    let (limits, warnings) = chosen_limits(query, &[(ReleasedSizes::new(), 1.4)]).unwrap();
    assert_eq!((limits.rows, warnings.len()), (Some(1), 1));
}

/// Two parts about the same rows have one histogram, and pay for it together.
#[test]
fn parts_about_the_same_rows_have_one_histogram() {
    let sql = "WITH a AS (SELECT lang, COUNT(*) AS n FROM posts GROUP BY lang), \
               b AS (SELECT lang, COUNT(DISTINCT author) AS n FROM posts GROUP BY lang) \
               SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, \
               max_groups_contributed = AUTO, max_rows_per_group = 2) a.lang, a.n, b.n AS authors \
               FROM a JOIN b ON a.lang = b.lang";
    let statement = SqlStatement::bind(sql, &common::contract()).unwrap();
    let shares: Vec<(bool, String)> = statement
        .parts
        .iter()
        .map(|part| (part.is_histogram, part.query.loss().to_string()))
        .collect();
    let want = [(true, "epsilon = 0.1"), (false, "epsilon = 0.45"), (false, "epsilon = 0.45")];
    assert_eq!(shares, want.map(|(is_histogram, loss)| (is_histogram, loss.to_owned())));
    assert_eq!(statement.parts[2].limits_from, [0]);
}

/// The usual number of a unit's rows in a join is one that the histograms can have, too.
#[test]
fn joined_rows_are_few_enough_for_histograms() {
    for (limits, aggregate) in [
        ("max_groups_contributed = AUTO, max_rows_per_group = 2", "COUNT(*)"),
        ("max_groups_contributed = 2, max_rows_per_group = AUTO", "COUNT(*)"),
        ("max_groups_contributed = 2, max_rows_per_group = 2, bounds = AUTO", "SUM(a.weight)"),
        ("max_groups_contributed = 2, max_rows_per_group = AUTO, bounds = AUTO", "AVG(a.weight)"),
    ] {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, {limits}) a.lang, {aggregate} \
             FROM posts a JOIN posts b ON a.author = b.author GROUP BY a.lang"
        );
        let statement = SqlStatement::bind(&sql, &common::contract()).unwrap();
        assert!(statement.parts.iter().any(|part| part.is_histogram));
        for part in &statement.parts {
            assert!(part.query.relation().max_rows_joined().unwrap() > 10);
            part.query.check_row(&[], u32::MAX).unwrap();
        }
    }
}

/// The strategy with which groups are chosen after a histogram of units by their number of groups,
/// in octaves.
fn strategy(sql: &str, octaves: &[f64]) -> (Strategy, u32) {
    let contract = common::contract();
    let statement = SqlStatement::bind(sql, &contract).unwrap();
    let last = statement.parts.len() - 1;
    let template = Quote::new(statement.parts[last].query.clone()).unwrap();
    let sizes = octaves.iter().enumerate().map(|(octave, units)| (octave as i64, *units)).collect();
    let (limits, _) = chosen_limits(template.query(), &[(sizes, 28.3)]).unwrap();
    let query = statement.with_limits(last, &limits).unwrap();
    let quote = Quote::new(query).unwrap();
    assert!(quote.total().is_within(template.total()));
    (quote.selection().unwrap().strategy(), limits.groups.unwrap())
}

/// Votes where units are in few groups, although their limit is large, and SIPS where most units
/// fill it: the words of posts, and of ten posts as one unit (`docs/benchmarks.md`).
#[test]
fn full_units_have_their_groups_chosen_by_sips_and_others_by_votes() {
    let keys = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-5, \
                max_groups_contributed = AUTO) forum FROM posts GROUP BY forum";
    let posts = [30_786.0, 92_687.0, 295_530.0, 728_825.0, 805_198.0, 279_170.0, 27_574.0];
    let (votes, most) = strategy(keys, &posts);
    assert_eq!(votes, Strategy::SingleVote);
    assert!(most >= 32, "{most}");
    let ten = [0.0, 0.0, 2.0, 40.0, 144.0, 3_194.0, 48_663.0, 163_262.0, 10_669.0];
    let (sips, most) = strategy(keys, &ten);
    assert_eq!(sips, Strategy::Sips);
    assert!(most >= 64, "{most}");
    // Without a visible unit nothing is known, and the limit is the least.
    assert_eq!(strategy(keys, &[3.0, -2.0]).1, 1);
}
