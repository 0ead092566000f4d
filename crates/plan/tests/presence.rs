//! Counts of what always has a value are counts of rows, and are measured once.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use hushtable_contract::Contract;
use hushtable_plan::{Measure, bind};

const CONTRACT: &str = r#"
[units.person]
budgets = { ana = { epsilon = 3, delta = 1e-5 } }

[tables.visits]
path = "visits.parquet"
unit = { of = "person", column = "person" }
[tables.visits.columns]
person = { type = "int" }
town = { type = "string", not_null = true }
age = { type = "int", not_null = true, bounds = [0, 120] }
cost = { type = "decimal(2)", bounds = [0, 500] }
days = { type = "float", not_null = true, bounds = [0, 10] }
old = { type = "int", expression = "IF(age > 64, 1, 0)" }

[tables.towns]
path = "towns.parquet"
public = true
[tables.towns.columns]
town = { type = "string" }
size = { type = "int", not_null = true, bounds = [0, 9] }
"#;

fn names(rows: u32, select: &str) -> Vec<String> {
    let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
    let from = if select.contains("FROM") { "" } else { " FROM visits" };
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_groups_contributed = 1, \
         max_rows_per_group = {rows}) {select}{from}"
    );
    let query = bind(&sql, &contract).map_err(|refusal| format!("{sql}: {refusal:?}")).unwrap();
    query.measurements().iter().map(|m| m.name.clone()).collect()
}

#[test]
fn counts_of_what_is_never_null_are_one() {
    let all =
        "COUNT(*), COUNT(age), COUNT(days), COUNT(town), COUNTIF(age IS NULL OR TRUE), AVG(age)";
    assert_eq!(names(3, all), ["count of rows", "count of an expression of age", "sum of age"]);
    assert_eq!(names(3, "AVG(age), AVG(days)"), ["sum of age", "count of rows", "sum of days"]);
    let moments = "COUNT(*), VARIANCE(age)";
    assert_eq!(names(3, moments).len(), 3);
    assert_eq!(names(3, "COUNT(*), CORR(age, days)").len(), 6);
    // With one row of each person, rows are persons.
    assert_eq!(
        names(1, "COUNT(DISTINCT person), AVG(age)"),
        ["count of privacy units", "sum of age"]
    );
    // A value that may be missing.
    assert_eq!(names(3, "COUNT(*), COUNT(cost)"), ["count of rows", "count of cost"]);
    let joined = "COUNT(*), COUNT(size) FROM visits v LEFT JOIN towns t ON v.town = t.town";
    assert_eq!(names(3, joined), ["count of rows", "count of size"]);
    let joined = joined.replace("LEFT", "INNER");
    assert_eq!(names(3, &joined), ["count of rows"]);
    let inner = "COUNT(*), COUNT(a) FROM (SELECT person, IF(age > 9, age, NULL) AS a FROM visits)";
    assert_eq!(names(3, inner).len(), 2);
}

/// The structure of expressions, where columns have values.
#[test]
fn expressions_tell_whether_they_have_values() {
    for (expression, always) in [
        ("age", true),
        ("cost", false),
        ("1", true),
        ("NULL", false),
        ("old", true),
        ("IF(age < 5, 0, IF(age > 100, 100, age))", true),
        ("IF(cost > 5, 1, 0)", true),
        ("IF(cost > 5, 1, NULL)", false),
        ("CASE WHEN age > 5 THEN age END", false),
        ("CASE WHEN age > 5 THEN age ELSE cost END", false),
        ("COALESCE(cost, 0)", true),
        ("COALESCE(cost, NULLIF(cost, 1))", false),
        ("GREATEST(age, 0)", true),
        ("LEAST(age, cost)", false),
        ("CAST(age AS FLOAT64)", true),
        ("CAST(town AS INT64)", false),
        ("CAST(age > 3 AS INT64)", true),
        ("CAST(cost > 3 AS INT64)", false),
        ("age + 1", true),
        ("cost + 1", false),
        ("age + 9223372036854775807", false),
        ("IF(age > 4, 1, 0) + 1", true),
        ("IF(age > 4, 9223372036854775807, 0) + 1", false),
        ("IF(age > 4, 1, 0) * 7 - 2", true),
        ("DIV(1, IF(age > 4, 1, 0))", false),
        ("days / 2", false),
        ("LENGTH(town)", false),
        ("IF(age IN (1, 2) AND NOT town = 'x', 1, 0)", true),
        ("CAST(age BETWEEN 1 AND 2 AS INT64)", true),
    ] {
        let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_groups_contributed = 1, \
             max_rows_per_group = 3) COUNT({expression}) FROM visits"
        );
        let query = bind(&sql, &contract).unwrap();
        let rows = query.measurements()[0].measure == Measure::Rows;
        assert_eq!(rows, always, "{expression}");
        // Its sums then say so by themselves, whatever the contract promises.
        let sum = sql.replace(
            &format!("COUNT({expression})"),
            &format!("SUM({expression}, contribution_bounds_per_row => (0, 9))"),
        );
        if let Ok(query) = bind(&sum, &contract) {
            let Measure::SumOfRows { of, .. } = &query.measurements()[0].measure else {
                panic!("{expression}")
            };
            assert_eq!(of.is_never_null(), always, "{expression}");
        }
    }
}

#[test]
fn a_setting_that_is_no_truth_value_is_refused() {
    let odd = CONTRACT.replacen("not_null = true", "not_null = \"yes\"", 1);
    let error = Contract::parse(&odd, "hushtable.toml").unwrap_err().to_string();
    assert!(error.contains("true or false"), "{error}");
}
