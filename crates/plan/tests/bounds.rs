//! The limits of a statement before its charge: whatever multiplies is counted, and refused with
//! its span and with what would work.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

use std::fmt::Write;

use hushtable_contract::Contract;
use hushtable_lang::Refusal;
use hushtable_plan::SqlStatement;

fn bind(sql: &str) -> Result<SqlStatement, Refusal> {
    let contract = include_str!("../../../examples/shop/hushtable.toml");
    SqlStatement::bind(sql, &Contract::parse(contract, "hushtable.toml").unwrap())
}

/// WITH queries that each name the one before twice.
fn doubled(first: &str, next: &str, times: usize, last: &str) -> String {
    let mut sql = format!("WITH a0 AS ({first})");
    for i in 0..times {
        let next = next.replace("{i}", &i.to_string());
        write!(sql, ", a{} AS ({next})", i + 1).unwrap();
    }
    format!("{sql} {last} a{times}")
}

const COUNTS: &str = "SELECT product, COUNT(*) AS n FROM visits GROUP BY product";

#[test]
fn what_multiplies_is_counted_before_it_is_bound() {
    let twice = "SELECT n FROM a{i} UNION ALL SELECT n FROM a{i}";
    let many =
        |of: &str, n: usize| (0..n).map(|i| of.replace("{i}", &i.to_string())).collect::<String>();
    let patterns = many(" OR REGEXP_CONTAINS(town, r'a{900}{i}')", 400);
    let classes = many(r"\pL", 200);
    let columns = many("n AS c{i}, ", 900);
    let statements = [
        doubled("SELECT amount AS n FROM visits", twice, 25, "SELECT COUNT(*) FROM"),
        doubled(COUNTS, twice, 25, "SELECT SUM(n) FROM"),
        doubled(COUNTS, "SELECT * FROM a{i} x CROSS JOIN a{i} y", 20, "SELECT * FROM"),
        doubled(
            "SELECT COUNT(*) AS n FROM visits",
            "SELECT (SELECT MAX(n) FROM a{i}) + (SELECT MIN(n) FROM a{i}) AS n",
            25,
            "SELECT n FROM",
        ),
        doubled(
            &format!("SELECT {columns} n FROM ({COUNTS})"),
            "SELECT * FROM a{i}",
            30,
            "SELECT * FROM",
        ),
        format!("SELECT COUNT(*) FROM visits WHERE FALSE{patterns}"),
        format!("SELECT COUNT(*) FROM visits WHERE REGEXP_CONTAINS(town, r'{classes}')"),
        format!("SELECT {}COUNT(*) FROM visits", "COUNT(*), ".repeat(1_000)),
        format!("WITH t AS ({COUNTS}) SELECT COUNT(*) FROM t a, t b, t c, t d WHERE a.n = 3"),
        format!(
            "WITH t AS ({COUNTS}) SELECT SUM(n) FROM t GROUP BY CUBE ({}0)",
            many("MOD(n, {i}), ", 31)
        ),
        format!(
            "WITH t AS ({COUNTS}) SELECT COUNT(*) FROM t a CROSS JOIN t b CROSS JOIN t c \
             JOIN t d ON a.n < d.n"
        ),
    ];
    let mut refusals = String::new();
    for sql in &statements {
        let refused = bind(sql).unwrap_err();
        let start: String = sql.chars().take(100).collect();
        let excerpt = refused.range().map(|range| sql[range].chars().take(60).collect::<String>());
        let excerpt = excerpt.unwrap_or_default();
        writeln!(refusals, "{start} …\n-> {refused}\n  at: {excerpt}\n").unwrap();
    }
    insta::assert_snapshot!(refusals);
}

/// Statements that people write are far below the limits.
#[test]
fn usual_statements_are_not_refused() {
    let joined: String = (1..20).map(|i| format!(" JOIN t t{i} USING (product)")).collect();
    let totals = "(SELECT COUNT(*) AS n FROM visits)";
    for sql in [
        format!("WITH t AS ({COUNTS}) SELECT product FROM t{joined}"),
        format!("WITH t AS ({COUNTS}) SELECT a.n FROM t a, t b, t c WHERE a.n < b.n"),
        format!(
            "WITH t AS ({COUNTS}) SELECT t.n FROM t, {totals} a, {totals} b, {totals} c, {totals} d"
        ),
        format!(
            "WITH t AS ({COUNTS}), s AS (SELECT SUM(n) AS s FROM t) \
             SELECT a.n FROM t a, t b, t c, t d, s WHERE a.n = b.n AND c.n + 1 = d.n"
        ),
        doubled(COUNTS, "SELECT n FROM a{i} UNION ALL SELECT n FROM a{i}", 5, "SELECT SUM(n) FROM"),
        format!(
            "SELECT COUNT(*) FROM visits WHERE FALSE{}",
            (0..10)
                .map(|i| {
                    let pattern = format!(r"^(?i)[a-zäöü]{{2,9}}-\d+{i}$");
                    format!(" OR REGEXP_CONTAINS(SUBSTR(town, 1, 20), r'{pattern}')")
                })
                .collect::<String>()
        ),
        format!(
            "SELECT REGEXP_EXTRACT(SUBSTR(town, 1, 99), r'^{}+') AS t, COUNT(*) FROM visits \
             GROUP BY t",
            r"\pL"
        ),
        format!("SELECT COUNT(*) FROM visits WHERE quantity IN ({}0)", "1, ".repeat(5_000)),
    ] {
        if let Err(refused) = bind(&sql) {
            panic!("{}\n{refused}", &sql[..200.min(sql.len())]);
        }
    }
}

/// Columns that break the ties of windows are sorted once, however many windows there are, and only
/// where they are read.
#[test]
fn texts_that_break_ties_are_counted_once() {
    let contract = "[units.person]\nbudgets.ana = { epsilon = 1 }\n\n[units.person.defaults]\n\
                    epsilon = 1\nmax_groups_contributed = 1\nmax_rows_per_group = 1\n\n\
                    [tables.notes]\npath = \"notes.csv\"\n\
                    unit = { of = \"person\", column = \"id\" }\n\n[tables.notes.columns]\n\
                    id = { type = \"int\" }\nday = { type = \"int\" }\n\
                    note = { type = \"string\", max_bytes = 60000 }\n";
    let contract = Contract::parse(contract, "hushtable.toml").unwrap();
    let operations = |windows: usize, column: &str| {
        let window = |n| format!("LAG(day, {n}) OVER (PARTITION BY id ORDER BY day) AS k{n}");
        let all: Vec<String> = (1..=windows).map(window).collect();
        let shown: Vec<String> = (1..=windows).map(|n| format!("COUNT(k{n})")).collect();
        let sql = format!(
            "SELECT COUNT({column}), {} FROM (SELECT id, {column}, {} FROM notes)",
            shown.join(", "),
            all.join(", ")
        );
        let statement = SqlStatement::bind(&sql, &contract).unwrap();
        statement.parts[0].query.check_row(&[], 1).unwrap().operations
    };
    for windows in [1, 5] {
        let more = operations(windows, "note") - operations(windows, "day");
        assert!((120_000..140_000).contains(&more), "{windows}: {more}");
    }
}
