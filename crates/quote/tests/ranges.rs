//! Bounds that follow from a query's structure and from the contract, through sub-queries, joins
//! and common table expressions.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use hushtable_contract::Contract;
use hushtable_plan::{Measure, PrivateQuery, bind};
use hushtable_quote::{Explanation, Quote};

const CONTRACT: &str = r#"
[units.person]
budgets = { ana = { epsilon = 3, delta = 1e-5 } }
defaults = { epsilon = 1, delta = 1e-6, max_groups_contributed = 3, max_rows_per_group = 7 }

[tables.hits]
path = "hits.parquet"
unit = { of = "person", column = "person" }
[tables.hits.columns]
person = { type = "int" }
town = { type = "string", public_keys = ["a", "b"] }
url = { type = "string", max_bytes = 60, not_null = true }
ms = { type = "int", bounds = [0, 500], sum_bounds = [0, 500], not_null = true }
paid = { type = "decimal(2)", bounds = [0, 10], sum_bounds = [0, 10] }
heat = { type = "float", bounds = [-4, 4], sum_bounds = [-4, 4] }
free = { type = "int" }
loose = { type = "float" }
half = { type = "int", expression = "DIV(free, 2)", bounds = [0, 9], not_null = true }

[tables.towns]
path = "towns.parquet"
public = true
unique = ["town"]
[tables.towns.columns]
town = { type = "string" }
size = { type = "int", bounds = [0, 3], sum_bounds = [0, 3], not_null = true }
"#;

fn query(sql: &str) -> Result<PrivateQuery, String> {
    let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
    bind(sql, &contract).map_err(|refusal| refusal.what)
}

/// The bounds of a row's value, and how many rows of a unit count; of the first sum.
fn bounds(sql: &str) -> Option<(f64, f64, u32)> {
    let query = query(sql).ok()?;
    query.measurements().iter().find_map(|m| match &m.measure {
        Measure::SumOfRows { low, high, rows, .. } => {
            let step = m.step.to_f64();
            Some((*low as f64 * step, *high as f64 * step, *rows))
        }
        _ => None,
    })
}

fn names(sql: &str) -> Vec<String> {
    let query = query(sql).map_err(|what| format!("{sql}: {what}")).unwrap();
    query.measurements().iter().map(|m| m.name.clone()).collect()
}

/// Ranges of expressions of columns with and without bounds, whether a sub-query computes them or
/// not.
#[test]
fn expressions_have_the_ranges_that_their_columns_and_conditions_give() {
    for (expression, condition, expected) in [
        ("ms * 2", "TRUE", Some((0.0, 1000.0))),
        ("ms - 100", "TRUE", Some((-100.0, 400.0))),
        ("ms * ms", "TRUE", Some((0.0, 250_000.0))),
        ("paid * 2", "TRUE", Some((0.0, 20.0))),
        ("heat * heat", "TRUE", Some((0.0, 16.0))),
        ("ABS(heat)", "TRUE", Some((0.0, 4.0))),
        ("half + 1", "TRUE", Some((1.0, 10.0))),
        ("LENGTH(url)", "TRUE", Some((0.0, 60.0))),
        ("LENGTH(CONCAT(url, '/'))", "TRUE", Some((0.0, 61.0))),
        ("IF(ms > 3, ms, 7)", "TRUE", Some((4.0, 500.0))),
        // Columns that nothing is known of.
        ("free", "TRUE", None),
        ("free * 0.5", "TRUE", None),
        ("loose + 1", "TRUE", None),
        ("LEAST(free, 8)", "TRUE", None),
        ("LEAST(GREATEST(free, 0), 8)", "TRUE", Some((0.0, 8.0))),
        ("GREATEST(LEAST(loose, 1.5), -1.5)", "TRUE", Some((-1.5, 1.5))),
        ("CASE WHEN free < 0 THEN 0 WHEN free > 8 THEN 8 ELSE free END", "TRUE", Some((0.0, 8.0))),
        ("IF(free BETWEEN 2 AND 6, free, NULL)", "TRUE", Some((2.0, 6.0))),
        ("IF(free IN (3, 5), free, 0)", "TRUE", Some((0.0, 5.0))),
        ("IF(NOT (free < 2 OR free > 6), free, 2)", "TRUE", Some((2.0, 6.0))),
        ("IF(0 <= free AND 6 > free, free, 0)", "TRUE", Some((0.0, 5.0))),
        ("IF(free > 1.5 AND free < 6.5, free, 2)", "TRUE", Some((2.0, 6.0))),
        // Neither side of a comparison that is NULL is narrower.
        ("IF(free > ms, 0, free)", "free >= -9", None),
        ("free", "free BETWEEN 1 AND 4", Some((1.0, 4.0))),
        ("free + 1", "free >= 1 AND free < 5", Some((2.0, 5.0))),
        ("free", "free > 3", None),
        ("loose", "loose BETWEEN 0 AND 1", Some((0.0, 1.0))),
        ("free", "free > 3 OR free < 5", None),
        ("DIV(ms, 60)", "TRUE", Some((0.0, 8.0))),
        ("MOD(free, 7)", "TRUE", Some((-6.0, 6.0))),
    ] {
        let direct = format!("SELECT SUM({expression}) FROM hits WHERE {condition}");
        let expected = expected.map(|(low, high)| (low, high, 7));
        assert_eq!(bounds(&direct), expected, "{direct}");
        let nested = format!(
            "WITH inner_rows AS (SELECT person, {expression} AS y FROM hits WHERE {condition}) \
             SELECT SUM(y) FROM inner_rows"
        );
        // A column that is shown as it is keeps the contract's bounds.
        assert_eq!(bounds(&nested), expected, "{nested}");
        let union = format!(
            "SELECT SUM(y) FROM (SELECT person, {expression} AS y FROM hits WHERE {condition} \
             UNION ALL SELECT person, 3 AS y FROM hits)"
        );
        let hull = expected.map(|(low, high, rows)| (low.min(3.0), high.max(3.0), rows));
        assert_eq!(bounds(&union), hull, "{union}");
    }
}

/// Aggregates and windows within units have ranges, and a unit has one row where the sub-query
/// leaves one.
#[test]
fn aggregates_of_units_have_ranges() {
    for (aggregate, expected) in [
        ("MAX(IF(url LIKE '%buy%', 1, 0))", Some((0.0, 1.0))),
        ("MIN(ms)", Some((0.0, 500.0))),
        ("AVG(ms)", Some((0.0, 500.0))),
        ("AVG(paid)", Some((0.0, 10.0))),
        ("MAX(ms) - MIN(ms)", Some((-500.0, 500.0))),
        // The contract's `sum_bounds` are those of what a unit adds to a group.
        ("SUM(ms)", Some((0.0, 500.0))),
        ("SUM(IF(url = '/', ms, 0))", Some((0.0, 500.0))),
        ("SUM(ms + 1)", None),
        // Nothing says how many rows a unit has.
        ("COUNT(*)", None),
        ("COUNT(DISTINCT url)", None),
        ("LEAST(COUNT(*), 9)", Some((1.0, 9.0))),
        ("LEAST(COUNTIF(ms > 9), 9)", Some((0.0, 9.0))),
        ("LEAST(SUM(ms + 1), 9)", Some((1.0, 9.0))),
        ("IF(COUNT(*) > 5, 5, COUNT(*))", Some((1.0, 5.0))),
        ("CAST(COUNT(*) > 5 AS INT64)", Some((0.0, 1.0))),
        ("MAX(free)", None),
        ("MAX(IF(free > 3, NULL, 1))", Some((1.0, 1.0))),
    ] {
        let sql = format!(
            "SELECT SUM(y) FROM (SELECT person, {aggregate} AS y FROM hits GROUP BY person)"
        );
        assert_eq!(bounds(&sql), expected.map(|(low, high)| (low, high, 1)), "{sql}");
        // One row for each town, and each town is a group of the outer query.
        let keyed = format!(
            "SELECT town, SUM(y) FROM (SELECT person, town, {aggregate} AS y FROM hits \
             GROUP BY person, town) GROUP BY town"
        );
        assert_eq!(bounds(&keyed), bounds(&sql), "{keyed}");
        let several = keyed.replace("SELECT town, SUM(y)", "SELECT SUM(y)");
        let several = several.trim_end_matches(" GROUP BY town");
        let expected = expected.map(|(low, high)| (low, high, 7));
        assert_eq!(bounds(several), expected, "{several}");
    }
    let window = "SELECT SUM(y) FROM (SELECT person, \
                  WINDOW OVER (PARTITION BY person ORDER BY free) AS y FROM hits)";
    for (function, expected) in [
        ("LAG(ms)", Some((0.0, 500.0, 7))),
        ("MAX(ms)", Some((0.0, 500.0, 7))),
        ("FIRST_VALUE(ms)", Some((0.0, 500.0, 7))),
        ("ROW_NUMBER()", None),
    ] {
        assert_eq!(bounds(&window.replace("WINDOW", function)), expected, "{function}");
    }
}

/// With one row of each unit, there is one group, too.
#[test]
fn a_unit_with_one_row_is_in_one_group() {
    let sql = "SELECT most, COUNT(*) FROM (SELECT person, MAX(ms) AS most FROM hits \
               GROUP BY person) GROUP BY most";
    assert_eq!(query(sql).unwrap().max_groups_contributed(), 1);
    assert_eq!(names(sql), ["count of privacy units"]);
    let several = "SELECT free, COUNT(*) FROM hits GROUP BY free";
    assert_eq!(query(several).unwrap().max_groups_contributed(), 3);
    // A join may repeat the row.
    let joined = "SELECT SUM(y) FROM (SELECT person, MAX(ms) AS y FROM hits GROUP BY person) \
                  JOIN hits USING (person)";
    assert_eq!(bounds(joined), Some((0.0, 500.0, 7)));
}

/// Counts of what a sub-query makes are those of its rows, where it always has a value.
#[test]
fn columns_of_sub_queries_know_that_they_have_values() {
    let of = |inner: &str| format!("SELECT COUNT(*), COUNT(y) FROM ({inner})");
    for (inner, rows) in [
        ("SELECT person, ms + 1 AS y FROM hits", true),
        ("SELECT person, IF(free > 3, 1, 0) AS y FROM hits", true),
        ("SELECT person, free AS y FROM hits", false),
        ("SELECT person, free AS y FROM hits WHERE free IS NOT NULL", true),
        ("SELECT person, free AS y FROM hits WHERE free > 3 AND ms > 1", true),
        ("SELECT person, free AS y FROM hits WHERE free > 3 OR ms > 1", false),
        ("SELECT person, half AS y FROM hits", true),
        ("SELECT person, MAX(ms) AS y FROM hits GROUP BY person", true),
        ("SELECT person, MAX(free) AS y FROM hits GROUP BY person", false),
        ("SELECT person, COUNT(free) AS y FROM hits GROUP BY person", true),
        ("SELECT person, SUM(IF(free > 3, 1, 0)) AS y FROM hits GROUP BY person", true),
        ("SELECT person, LAG(ms) OVER (PARTITION BY person ORDER BY free) AS y FROM hits", false),
        ("SELECT person, MAX(ms) OVER (PARTITION BY person ORDER BY free) AS y FROM hits", true),
        ("SELECT person, ms AS y FROM hits UNION ALL SELECT person, ms FROM hits", true),
        ("SELECT person, ms AS y FROM hits UNION ALL SELECT person, free FROM hits", false),
        ("SELECT person, size AS y FROM hits JOIN towns USING (town)", true),
        ("SELECT person, size AS y FROM hits LEFT JOIN towns USING (town)", false),
        (
            "SELECT h.person, y FROM hits h LEFT JOIN \
             (SELECT person, MAX(ms) AS y FROM hits GROUP BY person) g ON h.person = g.person",
            false,
        ),
        (
            "SELECT h.person, COALESCE(y, 0) AS y FROM hits h LEFT JOIN \
             (SELECT person, MAX(ms) AS y FROM hits GROUP BY person) g ON h.person = g.person",
            true,
        ),
    ] {
        assert_eq!(names(&of(inner)).len(), if rows { 1 } else { 2 }, "{inner}");
    }
}

/// The contract's word is clamped to, and the page says so; what follows from structure alone cuts
/// nothing off.
#[test]
fn only_what_nothing_enforces_is_cut_off() {
    let page = |sql: &str| {
        let quote = Quote::new(query(sql).unwrap()).unwrap();
        serde_json::to_string(&Explanation::new(&quote)).unwrap()
    };
    let claimed =
        page("SELECT AVG(y) FROM (SELECT person, MAX(ms) AS y FROM hits GROUP BY person)");
    assert!(claimed.contains("beyond 0 to 500"), "{claimed}");
    let structure = page(
        "SELECT AVG(y) FROM (SELECT person, MAX(IF(ms > 3, 1, 0)) AS y FROM hits GROUP BY person)",
    );
    assert!(!structure.contains("beyond 0 to 1"), "{structure}");
    // A join leaves rows out; one that keeps all of them does not.
    let unmatched = "rows without a match in a public table (towns)";
    let from = |join: &str| page(&format!("SELECT COUNT(*) FROM hits {join} towns USING (town)"));
    assert!(from("JOIN").contains(unmatched) && !from("LEFT JOIN").contains(unmatched));
}

/// Conditions leave less of the range that the contract gives a column.
#[test]
fn conditions_narrow_the_contracts_bounds() {
    for (select, expected) in [
        ("AVG(ms) FROM hits", (0.0, 500.0, 7)),
        ("AVG(ms) FROM hits WHERE ms BETWEEN 20 AND 60", (20.0, 60.0, 7)),
        ("AVG(paid) FROM hits WHERE paid <= 2.5", (0.0, 2.5, 7)),
        ("AVG(IF(ms < 9, ms, NULL)) FROM hits", (0.0, 8.0, 7)),
        // Wider ones say nothing.
        ("AVG(ms) FROM hits WHERE ms < 1000", (0.0, 500.0, 7)),
    ] {
        assert_eq!(bounds(&format!("SELECT {select}")), Some(expected), "{select}");
    }
}

/// Where a unit has one row, a wider bound of its sum says nothing, and sum and mean are one
/// measurement.
#[test]
fn sums_of_single_rows_go_with_their_means() {
    let contract = |sum_bounds: &str| {
        let text = format!(
            r#"
[tables.t]
path = "t.parquet"
privacy_unit = "row"
[tables.t.columns]
x = {{ type = "int", bounds = [0, 100], sum_bounds = {sum_bounds} }}
[tables.t.budgets]
ana = {{ epsilon = 3 }}
"#
        );
        Contract::parse(&text, "hushtable.toml").unwrap()
    };
    for (sum_bounds, high) in [("[0, 150]", 100), ("[0, 100]", 100), ("[0, 50]", 50)] {
        let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) SUM(x), AVG(x) FROM t";
        let query = bind(sql, &contract(sum_bounds)).unwrap();
        let sums: Vec<_> = query.measurements().iter().filter(|m| m.name == "sum of x").collect();
        assert_eq!(sums.len(), 1, "{sum_bounds}");
        assert_eq!((sums[0].low, sums[0].high), (0, high), "{sum_bounds}");
    }
}
