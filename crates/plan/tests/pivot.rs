//! PIVOT is the aggregates that it stands for.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use hushtable_contract::Contract;
use hushtable_plan::{PrivateQuery, SqlStatement, bind};

const CONTRACT: &str = r#"
[units.person]
budgets.ana = { epsilon = 3, delta = 1e-5 }
defaults = { epsilon = 1, delta = 1e-6, max_groups_contributed = 2, max_rows_per_group = 3 }

[tables.people]
path = "people.csv"
unit = { of = "person", column = "id" }

[tables.people.columns]
id = { type = "int" }
town = { type = "string" }
sex = { type = "string" }
year = { type = "int" }
income = { type = "int", bounds = [0, 9], sum_bounds = [0, 9] }
"#;

fn contract() -> Contract {
    Contract::parse(CONTRACT, "hushtable.toml").unwrap()
}

fn query(sql: &str) -> Result<PrivateQuery, String> {
    bind(sql, &contract()).map_err(|refusal| refusal.to_string())
}

#[test]
fn a_pivot_is_its_aggregates_written_out() {
    for (pivot, written) in [
        (
            "SELECT * FROM (SELECT town, sex, income FROM people) PIVOT (SUM(income) FOR sex IN \
             ('f', 'm' AS men)) ORDER BY f DESC",
            "SELECT town, SUM(income) FILTER (WHERE sex = 'f') AS f, SUM(income) FILTER (WHERE \
             sex = 'm') AS men FROM (SELECT town, sex, income FROM people) GROUP BY town \
             ORDER BY f DESC",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) * FROM (SELECT year, income \
             FROM people) PIVOT (COUNT(*) AS n, AVG(income) FILTER (WHERE income > 0) AS mean \
             FOR year IN (2020, -1, NULL))",
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) \
             COUNT(*) FILTER (WHERE year = 2020) AS n__2020, \
             AVG(income) FILTER (WHERE (income > 0) AND year = 2020) AS mean__2020, \
             COUNT(*) FILTER (WHERE year = -1) AS n_minus_1, \
             AVG(income) FILTER (WHERE (income > 0) AND year = -1) AS mean_minus_1, \
             COUNT(*) FILTER (WHERE year IS NULL) AS n_NULL, \
             AVG(income) FILTER (WHERE (income > 0) AND year IS NULL) AS mean_NULL \
             FROM (SELECT year, income FROM people)",
        ),
    ] {
        assert_eq!(query(pivot), query(written), "{pivot}");
        assert!(query(pivot).is_ok(), "{pivot}: {:?}", query(pivot).err());
    }
}

/// SQL around a PIVOT is free, as around any release.
#[test]
fn a_pivot_within_a_statement_is_one_part() {
    let sql = "SELECT town, f / (f + m) AS share FROM (SELECT town, sex FROM people) \
               PIVOT (COUNT(*) FOR sex IN ('f', 'm')) AS p WHERE f > 10";
    let statement = SqlStatement::bind(sql, &contract()).unwrap();
    assert_eq!(statement.parts.len(), 1);
    assert!(statement.around.is_some());
    let written = "SELECT town, COUNT(*) FILTER (WHERE sex = 'f') AS f, COUNT(*) FILTER (WHERE \
                   sex = 'm') AS m FROM (SELECT town, sex FROM people) GROUP BY town";
    let (part, written) = (&statement.parts[0].query, query(written).unwrap());
    assert_eq!((part.relation(), part.keys()), (written.relation(), written.keys()));
    assert_eq!(part.measurements(), written.measurements());
}
