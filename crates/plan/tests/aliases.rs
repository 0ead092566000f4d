//! Names that SELECT gives, where columns have them, too: which of both a clause reads.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::fmt::Write as _;

use hushtable_contract::Contract;
use hushtable_plan::SqlStatement;

const CONTRACT: &str = r#"
[units.person]
budgets.ana = { epsilon = 1, delta = 1e-6 }
defaults = { epsilon = 1, delta = 1e-6, max_groups_contributed = 1, max_rows_per_group = 1 }

[tables.people]
path = "people.csv"
unit = { of = "person", column = "id" }

[tables.people.columns]
id = { type = "int" }
town = { type = "string" }
region = { type = "string" }
age = { type = "int", bounds = [0, 100] }
decade = { type = "int", expression = "DIV(age, 10)" }
"#;

fn bind(sql: &str) -> Result<SqlStatement, hushtable_lang::Refusal> {
    SqlStatement::bind(sql, &Contract::parse(CONTRACT, "hushtable.toml").unwrap())
}

/// A query, and queries that its refusal proposes.
type Case = (&'static str, [&'static str; 2]);

const HIDDEN: [Case; 9] = [
    (
        "SELECT town AS region, COUNT(*) AS n FROM people GROUP BY town HAVING region = 'x'",
        [
            "SELECT town AS region, COUNT(*) AS n FROM people GROUP BY town HAVING town = 'x'",
            "SELECT town AS region, COUNT(*) AS n FROM people GROUP BY town, region \
             HAVING region = 'x'",
        ],
    ),
    (
        "SELECT town, AVG(age) AS age FROM people GROUP BY town HAVING COUNT(*) > 3 AND age > 40",
        [
            "SELECT town, AVG(age) AS age FROM people GROUP BY town \
             HAVING COUNT(*) > 3 AND AVG(age) > 40",
            "SELECT town, AVG(age) AS mean FROM people GROUP BY town \
             HAVING COUNT(*) > 3 AND mean > 40",
        ],
    ),
    (
        "SELECT region AS town, COUNT(*) FROM people GROUP BY town",
        [
            "SELECT region AS town, COUNT(*) FROM people GROUP BY region",
            "SELECT region AS town, COUNT(*) FROM people GROUP BY town, region",
        ],
    ),
    // With windows, parts compute for the SQL around them.
    (
        "SELECT town AS region, RANK() OVER (ORDER BY COUNT(*)) AS r FROM people GROUP BY town \
         HAVING region = 'x'",
        [
            "SELECT town AS region, RANK() OVER (ORDER BY COUNT(*)) AS r FROM people \
             GROUP BY town HAVING town = 'x'",
            "SELECT town AS region, RANK() OVER (ORDER BY COUNT(*)) AS r FROM people \
             GROUP BY town, region HAVING region = 'x'",
        ],
    ),
    (
        "SELECT town, RANK() OVER (ORDER BY COUNT(*)) AS age FROM people GROUP BY town \
         QUALIFY age < 4",
        [
            "SELECT town, RANK() OVER (ORDER BY COUNT(*)) AS age FROM people GROUP BY town \
             QUALIFY RANK() OVER (ORDER BY COUNT(*)) < 4",
            "SELECT town, RANK() OVER (ORDER BY COUNT(*)) AS place FROM people GROUP BY town \
             QUALIFY place < 4",
        ],
    ),
    (
        "SELECT town, COUNT(*) AS age FROM people GROUP BY ROLLUP (town) HAVING age > 4",
        [
            "SELECT town, COUNT(*) AS age FROM people GROUP BY ROLLUP (town) HAVING COUNT(*) > 4",
            "SELECT town, COUNT(*) AS age FROM people GROUP BY ROLLUP (town, age) HAVING age > 4",
        ],
    ),
    // Around parts.
    (
        "SELECT town AS region, COUNT(*) AS c FROM (SELECT town, region, COUNT(*) AS n FROM people \
         GROUP BY town, region) GROUP BY town HAVING region = 'x'",
        [
            "SELECT town AS region, COUNT(*) AS c FROM (SELECT town, region, COUNT(*) AS n \
             FROM people GROUP BY town, region) GROUP BY town HAVING town = 'x'",
            "SELECT town AS region, COUNT(*) AS c FROM (SELECT town, region, COUNT(*) AS n \
             FROM people GROUP BY town, region) GROUP BY town, region HAVING region = 'x'",
        ],
    ),
    (
        "SELECT town, SUM(n) AS n FROM (SELECT town, region, COUNT(*) AS n FROM people \
         GROUP BY town, region) GROUP BY town HAVING n > 4",
        [
            "SELECT town, SUM(n) AS n FROM (SELECT town, region, COUNT(*) AS n FROM people \
             GROUP BY town, region) GROUP BY town HAVING SUM(n) > 4",
            "SELECT town, SUM(n) AS people FROM (SELECT town, region, COUNT(*) AS n FROM people \
             GROUP BY town, region) GROUP BY town HAVING people > 4",
        ],
    ),
    (
        "SELECT region AS town, SUM(n) FROM (SELECT town, region, COUNT(*) AS n FROM people \
         GROUP BY town, region) GROUP BY town",
        [
            "SELECT region AS town, SUM(n) FROM (SELECT town, region, COUNT(*) AS n FROM people \
             GROUP BY town, region) GROUP BY region",
            "SELECT region AS town, SUM(n) FROM (SELECT town, region, COUNT(*) AS n FROM people \
             GROUP BY town, region) GROUP BY town, region",
        ],
    ),
];

#[test]
fn columns_that_hide_aliases_and_are_no_keys_are_refused() {
    let mut report = String::new();
    for (sql, proposals) in HIDDEN {
        let refusal = bind(sql).unwrap_err();
        let excerpt = refusal.excerpt().unwrap();
        writeln!(report, "{excerpt}\n-> {refusal}\n").unwrap();
        for proposal in proposals {
            bind(proposal).unwrap_or_else(|refusal| panic!("{proposal}\n{refusal}"));
        }
    }
    insta::assert_snapshot!(report);
}

/// Queries whose first form must be the same question as the second one, which has no such names.
#[test]
fn columns_go_before_aliases_but_in_order_by() {
    let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
    let bound = |sql: &str| hushtable_plan::bind(sql, &contract).unwrap();
    for (sql, plain) in [
        // The key, and not what SELECT shows under its name.
        (
            "SELECT town AS region, region AS town, COUNT(*) AS n FROM people \
             GROUP BY town, region HAVING region = 'x' ORDER BY town",
            "SELECT town AS region, region AS town, COUNT(*) AS n FROM people \
             GROUP BY people.town, people.region HAVING people.region = 'x' ORDER BY 2",
        ),
        (
            "SELECT LOWER(town) AS town, COUNT(*) AS n FROM people GROUP BY town HAVING town = 'x'",
            "SELECT LOWER(town) AS town, COUNT(*) AS n FROM people GROUP BY people.town \
             HAVING people.town = 'x'",
        ),
        (
            "SELECT LOWER(town) AS town, COUNT(*) AS n FROM people GROUP BY 1 ORDER BY town DESC",
            "SELECT LOWER(town) AS town, COUNT(*) AS n FROM people GROUP BY LOWER(people.town) \
             ORDER BY 1 DESC",
        ),
        // An aggregate is over rows.
        (
            "SELECT town, AVG(age) AS age FROM people GROUP BY town HAVING SUM(age) > 3",
            "SELECT town, AVG(people.age) AS age FROM people GROUP BY town \
             HAVING SUM(people.age) > 3",
        ),
        // A name that no column has, or that means the same.
        (
            "SELECT LOWER(town) AS t, COUNT(*) AS n FROM people GROUP BY t \
             HAVING n > 3 AND t > 'a'",
            "SELECT LOWER(town) AS t, COUNT(*) AS n FROM people GROUP BY 1 \
             HAVING COUNT(*) > 3 AND LOWER(town) > 'a'",
        ),
        (
            "SELECT DIV(age, 10) AS decade, COUNT(*) FROM people GROUP BY decade HAVING decade > 3",
            "SELECT DIV(age, 10) AS decade, COUNT(*) FROM people GROUP BY 1 \
             HAVING DIV(age, 10) > 3",
        ),
    ] {
        let (query, other) = (bound(sql), bound(plain));
        assert_eq!(query.keys(), other.keys(), "{sql}");
        assert_eq!(query.having(), other.having(), "{sql}");
        assert_eq!(query.order_by(), other.order_by(), "{sql}");
        assert_eq!(query.outputs(), other.outputs(), "{sql}");
    }
}

#[test]
fn no_alias_is_known_in_an_aggregate() {
    let part = "(SELECT town, region, COUNT(*) AS n FROM people GROUP BY town, region)";
    for sql in [
        "SELECT town, AVG(age) AS mean FROM people GROUP BY town HAVING SUM(mean) > 3".to_owned(),
        "SELECT town, AVG(age) AS mean, RANK() OVER (ORDER BY COUNT(*)) AS r FROM people \
         GROUP BY town HAVING SUM(mean) > 3"
            .to_owned(),
        format!("SELECT town, SUM(n) AS mean FROM {part} GROUP BY town HAVING MAX(mean) > 3"),
    ] {
        let refusal = bind(&sql).unwrap_err();
        assert!(refusal.what.contains("column `mean`"), "{sql}: {refusal}");
    }
}

#[test]
fn keys_under_the_name_of_something_else_have_a_warning() {
    let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
    let warnings = |sql: &str| {
        let query = hushtable_plan::bind(sql, &contract).unwrap();
        let line = |w: &hushtable_plan::Warning| format!("{}\n  hint: {}\n", w.what, w.hint);
        query.warnings().iter().map(line).collect::<String>()
    };
    assert_eq!(
        warnings("SELECT LOWER(town) AS town, COUNT(*) FROM people GROUP BY town"),
        "GROUP BY town groups by the column `town`, and not by `LOWER(town)`, which SELECT shows \
         under that name\n  hint: to group by what is shown, write GROUP BY LOWER(town)\n"
    );
    for sql in [
        "SELECT LOWER(town) AS town, COUNT(*) FROM people GROUP BY LOWER(town)",
        "SELECT LOWER(town) AS town, COUNT(*) FROM people GROUP BY 1",
        "SELECT LOWER(town) AS town, COUNT(*) FROM people GROUP BY people.town",
        "SELECT town AS Town, COUNT(*) FROM people GROUP BY town",
        "SELECT DIV(age, 10) AS decade, COUNT(*) FROM people GROUP BY decade",
    ] {
        assert_eq!(warnings(sql), "", "{sql}");
    }
}

#[test]
fn a_name_of_grouping_is_no_key() {
    for keys in ["level", "ROLLUP (town, level)"] {
        let sql = format!("SELECT GROUPING(town) AS level, COUNT(*) FROM people GROUP BY {keys}");
        let refusal = bind(&sql).unwrap_err();
        assert_eq!(refusal.what, "GROUP BY `GROUPING(town)` is about groups, and not about rows");
    }
    bind("SELECT GROUPING(town) AS level, COUNT(*) FROM people GROUP BY ROLLUP (town)").unwrap();
}
