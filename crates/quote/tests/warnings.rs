//! Warnings about queries, word for word; and the ranges that expressions have by their structure.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod common;

use std::fmt::Write as _;

use hushtable_plan::{Measure, bind};
use hushtable_quote::{Explanation, Quote};

fn posts(select: &str) -> String {
    format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
         max_groups_contributed = 2, max_rows_per_group = 1) {select}"
    )
}

/// The warnings of every query, under the query.
fn warnings(selects: &[&str]) -> String {
    let contract = common::contract();
    let mut report = String::new();
    for select in selects {
        let query = bind(&posts(select), &contract).unwrap();
        let warned = query.warnings().to_vec();
        let explained = Explanation::new(&Quote::new(query).unwrap());
        assert_eq!(explained.warnings, warned);
        writeln!(report, "{select}").unwrap();
        for warning in warned {
            writeln!(report, "-> {:?}: {}\n   hint: {}", warning.code, warning.what, warning.hint)
                .unwrap();
        }
    }
    report
}

#[test]
fn odd_queries() {
    insta::assert_snapshot!(warnings(&[
        "COUNT(*) FROM posts WHERE FALSE",
        "COUNT(*) FROM posts WHERE score > 3 AND 1 = 2",
        "COUNT(*) FROM posts WHERE 'score' > '3'",
        "COUNT(*) FROM posts WHERE NOT (2 < 1)",
        "COUNT(*) FROM posts WHERE 1 + 1 = 2",
        "COUNT(*) FROM posts WHERE lang = 'DE'",
        "COUNT(*) FROM posts WHERE lang <> 'es' AND lang <> 'es'",
        "COUNT(*) FROM posts WHERE lang IN ('de', 'es', 'it')",
        "lang, COUNT(*) FROM posts WHERE lang IN ('de', 'es') GROUP BY lang",
        "COUNT(*) FROM posts WHERE EXTRACT(YEAR FROM posted) = 1999",
        "COUNT(*) FROM posts WHERE EXTRACT(MONTH FROM posted) = 13",
        "COUNT(*) FROM posts WHERE LENGTH(LEFT(forum, 2)) > 2 OR SIGN(score) >= 1.5",
        "SUM(IF(lang = 'xx', 1, 0)) FROM posts",
        "COUNT(CASE lang WHEN 'xx' THEN 1 END) FROM posts",
        "IF(lang = 'xx', 'x', forum) AS f, COUNT(*) FROM posts GROUP BY f",
        "lang, COUNT(*) FROM posts GROUP BY lang HAVING lang = 'xx' OR COUNT(*) > 3",
        "forum, COUNT(*) FROM posts GROUP BY forum HAVING 1 > 2",
        "COUNT(*) FROM posts WHERE 'forum' LIKE 'a%' OR 'score' IS NULL OR STARTS_WITH('a', 'b')",
        "COUNT(*) FROM posts WHERE score NOT BETWEEN 10 AND 5 OR forum >= 'b' AND forum <= 'a'",
    ]));
}

/// Queries that are not odd.
#[test]
fn plain_queries_have_no_warnings() {
    for select in [
        "COUNT(*) FROM posts WHERE TRUE",
        "COUNT(*) FROM posts WHERE lang = 'de' OR year = 2024 OR year > 2000 OR year < 0",
        "COUNT(*) FROM posts WHERE forum LIKE 'x' OR forum = 'forum' OR pinned IS TRUE",
        "COUNT(*) FROM posts WHERE EXTRACT(MONTH FROM posted) BETWEEN 12 AND 14 AND score <> 0",
        "COUNT(*) FROM posts WHERE CASE WHEN score > 3 THEN TRUE ELSE FALSE END",
        "lang, COUNT(*) FROM posts WHERE lang <> 'de' GROUP BY lang \
         HAVING lang = 'fr' AND COUNT(*) > 1",
        "AVG(score, contribution_bounds_per_row => (0, 5)) FROM posts",
        "AVG(score, contribution_bounds_per_group => (0, 5)) FROM posts",
        "AVG(IF(score > 3, 1, 0)) AS a, SUM(score) AS s FROM posts",
    ] {
        let report = warnings(&[select]);
        assert_eq!(report.lines().count(), 1, "{report}");
    }
    // Rows that are units have one row in a group.
    let query = bind("SELECT AVG(amount) FROM loans", &common::contract()).unwrap();
    assert!(query.warnings().is_empty());
}

/// The bounds of a row, in steps, of an expression that has them by its structure.
#[test]
fn expressions_tell_their_range() {
    let contract = common::contract();
    let bounds = |expression: &str| {
        let query = bind(&posts(&format!("SUM({expression}) FROM posts")), &contract).ok()?;
        match &query.measurements()[0].measure {
            Measure::SumOfRows { low, high, rows: 1, .. } => Some((*low, *high)),
            _ => None,
        }
    };
    let float = |x: f64, largest: f64| (x * 2f64.powi(30 - largest.log2().floor() as i32)) as i64;
    for (expression, want) in [
        ("IF(score >= 65, 1, 0)", Some((0, 1))),
        ("CASE WHEN score > 3 THEN 1 END", Some((1, 1))),
        ("CASE WHEN score > 3 THEN 5 WHEN pinned THEN -2 ELSE 0 END", Some((-2, 5))),
        ("CASE WHEN score > 3 THEN score ELSE 0 END", None),
        ("CAST(score > 3 AS INT64)", Some((0, 1))),
        ("CAST(pinned AS INT64) * 3 - 1", Some((-1, 2))),
        ("COALESCE(MOD(score, 10), -20)", Some((-20, 9))),
        ("MOD(ABS(MOD(score, 100)), 10)", Some((0, 9))),
        ("MOD(score, -7)", Some((-6, 6))),
        ("MOD(score, 1)", None),
        ("MOD(7, score)", Some((0, 7))),
        ("-ABS(SIGN(score))", Some((-1, 0))),
        ("SIGN(price)", Some((0, 100))),
        ("SIGN(weight)", Some((-(1 << 30), 1 << 30))),
        ("ABS(score)", Some((0, 100))),
        ("LENGTH(LEFT(forum, 3))", Some((0, 3))),
        ("LENGTH(SUBSTR(LEFT(forum, 9), 3, 20))", Some((0, 7))),
        ("LENGTH(UPPER(RIGHT(forum, 2)) || 'ab')", Some((0, 8))),
        ("LENGTH(forum)", Some((0, 1024))),
        ("LENGTH(CAST(score AS STRING))", Some((0, 20))),
        ("EXTRACT(HOUR FROM seen) - 12", Some((-12, 11))),
        ("EXTRACT(YEAR FROM seen)", None),
        ("DIV(EXTRACT(DAYOFYEAR FROM seen), -30)", Some((-12, 0))),
        ("DIV(EXTRACT(MONTH FROM seen), SIGN(score))", Some((-12, 12))),
        ("IF(pinned, 1.25, 0.5) * 2", Some((100, 250))),
        ("IF(pinned, 1.25, 0.5) - 1.250", Some((-75, 0))),
        ("CAST(IF(pinned, 1.25, -0.5) AS INT64)", Some((-1, 1))),
        ("EXTRACT(MINUTE FROM seen) / 60", Some((0, float(59.0 / 60.0, 0.9).max(1)))),
        ("ROUND(SQRT(EXTRACT(HOUR FROM seen)), 1)", Some((0, float(4.8, 4.8) + 1))),
        ("FLOOR(EXTRACT(HOUR FROM seen) / 7)", Some((0, float(3.0, 3.0)))),
        ("1 / EXTRACT(HOUR FROM seen)", Some(((1 << 30) / 23, 1 << 30))),
        ("LN(EXTRACT(DAY FROM seen))", None),
        ("SQRT(-EXTRACT(DAY FROM seen))", None),
        ("IF(pinned, 9223372036854775807, 0) + IF(pinned, 1, 0)", None),
        ("IF(pinned, 9223372036854775807, 0) * 0 + 1", Some((1, 1))),
        ("CAST(NULL AS INT64)", None),
        ("3", Some((3, 3))),
    ] {
        let got = bounds(expression);
        let near =
            |(a, b): (i64, i64), (c, d): (i64, i64)| a == c && (b == d || b - 1 == d && b > 1000);
        assert!(
            got == want || got.zip(want).is_some_and(|(f, w)| near(f, w)),
            "{expression}: {got:?}, {want:?}"
        );
    }
    // Quantiles have them as their range, and rows that are units need no limit of rows.
    for text in [
        posts("MEDIAN(EXTRACT(HOUR FROM seen)) FROM posts"),
        "SELECT AVG(IF(amount > 5, 1, 0)) FROM loans".to_owned(),
    ] {
        bind(&text, &contract).unwrap();
    }
}
