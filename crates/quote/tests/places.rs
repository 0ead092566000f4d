//! Where in the SQL a refusal is, and what was probably meant.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

mod common;

use std::fmt::Write as _;

use hushtable_contract::Contract;
use hushtable_plan::{SqlStatement, bind};

const TABLES: &str = concat!(
    r#"
[units.person]
budgets.ana = { epsilon = 3, delta = 1e-5 }
defaults = { epsilon = 1, delta = 1e-6, max_groups_contributed = 3, max_rows_per_group = 5 }

[tables.visits]
path = "visits.csv"
unit = { of = "person", column = "person_id" }
columns = { person_id = { type = "int" }, visit_id = { type = "int" }, "#,
    r#"kind = { type = "string" }, day = { type = "date" } }

[tables.claims]
path = "claims.csv"
unit = { of = "person", through = { column = "visit_id", references = "visits.visit_id" } }
columns = { visit_id = { type = "int" }, amount = { type = "int" } }

[tables.towns]
path = "towns.csv"
public = true
columns = { town = { type = "string" }, region = { type = "string" } }
"#,
);

/// The error that an analyst reads, under each query.
fn rendered(queries: &[&str]) -> String {
    let contract =
        Contract::parse(&format!("{}{TABLES}", common::CONTRACT), "hushtable.toml").unwrap();
    let mut text = String::new();
    for query in queries {
        let refusal = bind(query, &contract).unwrap_err();
        let excerpt = refusal.excerpt().unwrap_or_else(|| "(no place)".to_owned());
        writeln!(text, "error: {}\n{excerpt}\n  hint: {}\n", refusal.what, refusal.hint).unwrap();
    }
    text
}

#[test]
fn refusals_underline_the_place() {
    insta::assert_snapshot!(rendered(&[
        "SELECT COUNT(*) FROM loans WHERE",
        "SELECT COUNT((*) FROM loans",
        "SELECT county, COUNT(*) FROM loans GROUP BY county LIMIT 3 FROM",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, epsilon = 2) COUNT(*) FROM loans",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho 1) COUNT(*) FROM loans",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = -1) COUNT(*) FROM loans",
        "SELECT COUNT(*)\nFROM loans\nWHERE amount > 'x'\n  AND county LIKE 'A%'",
        "SELECT county,\n       SUM(EXP(amount))\nFROM loans\nGROUP BY county",
        "SELECT county, amount FROM loans GROUP BY county",
        "SELECT author, COUNT(*) FROM posts GROUP BY author",
        "SELECT * FROM loans",
        "SELECT COUNT(*) FROM loans l JOIN posts p ON l.county = p.forum",
        "SELECT COUNT(*) FROM visits v, claims c WHERE v.day > DATE '2026-01-01'",
        "SELECT COUNT(*) FROM visits v JOIN visits w ON v.kind = w.kind",
        "SELECT COUNT(*) FROM visits WHERE kind IN (SELECT kind FROM visits)",
        "SELECT kind, n, COUNT(*) FROM\n  \
         (SELECT kind, COUNT(*) AS n\n   FROM visits\n   GROUP BY kind)\n\
         GROUP BY kind, n",
        "SELECT COUNT(*) FROM (SELECT person_id, \
         RANK() OVER (PARTITION BY kind ORDER BY day) AS r FROM visits) WHERE r = 1",
        "SELECT COUNT(*) FROM (SELECT * FROM visits LIMIT 10)",
        "SELECT visit_id, SUM(amount, contribution_bounds_per_row => (0, 9)) FROM claims \
         GROUP BY visit_id",
        "SELECT COUNT(*) FROM loans WHERE county = 'Überlingen' AND UPPER(amount) = 'é'",
        "SELECT county, COUNT(*) AS number_of_loans_in_the_county, \
         SUM(amount) AS all_of_their_amounts FROM loans \
         WHERE amount > 1000 AND county <> 'nowhere at all' AND countty <> '' GROUP BY county",
    ]));
}

/// Refusals of statements of several parts, and of the SQL around them.
#[test]
fn refusals_of_statements_underline_the_place() {
    let contract =
        Contract::parse(&format!("{}{TABLES}", common::CONTRACT), "hushtable.toml").unwrap();
    let by_kind = "(SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind)";
    let mut text = String::new();
    for query in [
        "WITH by_kind AS (SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind) \
         SELECT * FROM by_kidn",
        "WITH a_kind AS $t SELECT a_kind.kind, a_kind.m FROM a_kind",
        "SELECT kidn, n / 2 FROM $t",
        "SELECT kind FROM $t AS a JOIN visits USING (kind)",
        "SELECT n FROM $t WHERE kind IN (SELECT kind FROM visits)",
        "SELECT COUNT(*) FROM visits\nWHERE kind IN (SELECT UPPER(kind) FROM $t)",
        "SELECT COUNT(*) FROM visits\nWHERE visit_id > (SELECT COUNT(*) FROM visits GROUP BY kind)",
        "WITH n AS (SELECT COUNT(*) AS many FROM visits) SELECT COUNT(*) FROM visits \
         WHERE visit_id > (SELECT mny FROM n)",
        "SELECT kind FROM visits UNION ALL SELECT kind FROM $t",
        "SELECT RANK(n) OVER (ORDER BY n) FROM $t",
        "SELECT kind FROM $t, UNNEST([1, 2])",
        "SELECT COUNT(*) FROM visits CROSS JOIN UNNEST(['a', 'b']) AS k WHERE kind = k",
        "SELECT COUNT(*) FROM visits WHERE kind IN UNNEST(kinds)",
        "SELECT kind, GROUPING(day), COUNT(*) FROM visits GROUP BY ROLLUP (kind)",
        "SELECT kind, RANK() OVER v FROM visits GROUP BY kind WINDOW w AS (ORDER BY COUNT(*))",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (other_row = 7) kind, COUNT(*) FROM visits \
         GROUP BY kind",
    ] {
        let query = query.replace("$t", by_kind);
        let Err(refusal) = SqlStatement::bind(&query, &contract) else { panic!("{query}") };
        let excerpt = refusal.excerpt().unwrap_or_else(|| "(no place)".to_owned());
        writeln!(text, "error: {}\n{excerpt}\n  hint: {}\n", refusal.what, refusal.hint).unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn refusals_name_what_was_probably_meant() {
    insta::assert_snapshot!(rendered(&[
        "SELECT conty, COUNT(*) FROM loans GROUP BY conty",
        "SELECT COUNT(*) FROM laons",
        "SELECT COUNT(*) FROM loans l WHERE l.Amuont > 3",
        "SELECT COUNT(*) FROM loans WHERE UPER(county) = 'A'",
        "SELECT MEDAIN(amount) FROM loans",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilom = 1) COUNT(*) FROM loans",
        "WITH big AS (SELECT * FROM loans) SELECT COUNT(*) FROM bigg",
        "SELECT COUNT(*) FROM elsewhere",
    ]));
}
