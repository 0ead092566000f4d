//! Statements of private parts and SQL around them, word for word.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod common;

use std::fmt::Write as _;

use hushtable_contract::Contract;
use hushtable_lang::{EarlierRows, ExprKind, KeyedValues, Value};
use hushtable_plan::around_tree::Node;
use hushtable_plan::{Around, ColumnTrace, ReleasedColumn, ReleasedValues, SqlStatement};
use hushtable_quote::{Explanation, Quote};

fn contract() -> Contract {
    let more = r#"
[units.person.defaults]
epsilon = 0.5
delta = 1e-6
max_groups_contributed = 2
max_rows_per_group = 1

[units.person.budgets]
ana = { epsilon = 3, delta = 1e-5 }

[tables.people]
path = "people.csv"
unit = { of = "person", column = "id" }

[tables.people.columns]
id = { type = "int" }
town = { type = "string" }
age = { type = "int", bounds = [0, 100] }
Sex = { type = "string", public_keys = ["f", "m"] }

[tables.towns]
path = "towns.csv"
public = true

[tables.towns.columns]
town = { type = "string" }
region = { type = "string" }
size = { type = "int" }
"#;
    Contract::parse(&format!("{}{more}", common::CONTRACT), "hushtable.toml").unwrap()
}

/// Each statement with its parts and the SQL around them, or its refusal.
fn rendered(statements: &[&str]) -> String {
    let contract = contract();
    let mut out = String::new();
    for sql in statements {
        writeln!(out, "{sql}").unwrap();
        match SqlStatement::bind(sql, &contract) {
            Err(refusal) => writeln!(out, "-> {refusal}").unwrap(),
            Ok(statement) => {
                for part in &statement.parts {
                    let (weight, reads) = (part.weight, &part.reads);
                    writeln!(out, "-> {}: {}", part.name, part.sql).unwrap();
                    write!(out, "   {} of {}", part.query.loss(), part.query.population()).unwrap();
                    if let Some(weight) = weight.filter(|weight| *weight > 1) {
                        write!(out, ", weight {weight}").unwrap();
                    }
                    let budget = if weight.is_none() { ", its own" } else { "" };
                    let read =
                        |r: &ReleasedColumn| format!(", reads part_{}[{}]", r.part + 1, r.column);
                    let reads: String = reads.iter().map(read).collect();
                    write!(out, "{budget}{reads}").unwrap();
                    if let Some(first) = part.same_as {
                        write!(out, ", free as part_{}", first + 1).unwrap();
                    }
                    writeln!(out).unwrap();
                }
                if let Some(around) = &statement.around {
                    writeln!(out, "   around: {}", around.sql).unwrap();
                    writeln!(out, "   shows: {}", around.columns.join(", ")).unwrap();
                }
            }
        }
        writeln!(out).unwrap();
    }
    out
}

#[test]
fn parts_and_the_sql_around_them() {
    insta::assert_snapshot!(rendered(&[
        "SELECT town, COUNT(*) AS n FROM people GROUP BY town ORDER BY n DESC LIMIT 3",
        // Windows over a private SELECT's own results.
        "SELECT town, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM people \
         GROUP BY town QUALIFY place <= 3",
        "SELECT town AS t, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people WHERE age > 17 \
         GROUP BY t HAVING COUNT(*) > 5 ORDER BY share DESC, t LIMIT 3",
        "SELECT Sex, age > 64 AS old, COUNT(*) AS n, LAG(COUNT(*)) OVER (PARTITION BY Sex \
         ORDER BY age > 64) AS before FROM people GROUP BY 1, 2",
        "SELECT COUNT(*) OVER () AS towns FROM people GROUP BY town",
        "SELECT DISTINCT COUNT(*) > 10 AS large FROM people GROUP BY town",
        // Derived tables, CTEs and both sides of UNION ALL.
        "SELECT AVG(n) AS mean, MAX(n) AS most FROM (SELECT town, COUNT(*) AS n FROM people \
         GROUP BY town)",
        "WITH by_town AS (SELECT town, COUNT(*) AS n FROM people GROUP BY town) \
         SELECT a.town, a.n, b.n AS of_next FROM by_town a JOIN by_town AS b ON a.n = b.n + 1",
        "SELECT 'towns' AS what, COUNT(*) AS n FROM people UNION ALL SELECT 'posts', COUNT(*) \
         FROM people WHERE age > 20 ORDER BY n",
        "WITH unused AS (SELECT COUNT(*) AS n FROM people), used AS (SELECT COUNT(*) AS n \
         FROM people WHERE age > 3) SELECT * FROM used",
        "WITH adults AS (SELECT * FROM people WHERE age > 17) \
         SELECT x.town, x.n * 100.0 / y.n AS share FROM (SELECT town, COUNT(*) AS n FROM adults \
         GROUP BY town) x CROSS JOIN (SELECT COUNT(*) AS n FROM adults) y",
        // Per-unit sub-queries stay rows.
        "SELECT SUM(people) OVER () AS all_people, k FROM (SELECT k, COUNT(*) AS people \
         FROM (SELECT id, COUNT(*) AS k FROM people GROUP BY id) GROUP BY k)",
        // Released values in the conditions of other parts, and beside other released values.
        "SELECT town, COUNT(*) AS n FROM people WHERE age > (SELECT AVG(age) FROM people \
         WHERE Sex = 'f') GROUP BY town",
        "SELECT town, COUNT(*) AS n FROM people GROUP BY town \
         HAVING COUNT(*) > (SELECT COUNT(*) * 0.01 FROM people)",
        "SELECT age > (SELECT AVG(age) FROM people) AS above, COUNT(*) AS n, SUM(IF(age > (SELECT \
         AVG(age) FROM people), age, 0), contribution_bounds_per_group => (0, 100)) AS s, \
         (SELECT COUNT(*) FROM people) AS all_people FROM people GROUP BY above",
        "WITH limits AS (SELECT AVG(age) AS mean FROM people), old AS (SELECT * FROM people \
         WHERE age > (SELECT mean FROM (SELECT AVG(age) AS mean FROM people))) \
         SELECT town, COUNT(*) AS n FROM old GROUP BY town",
        "WITH of_all AS (SELECT AVG(age) AS mean, COUNT(*) AS n FROM people) SELECT town, \
         COUNT(*) AS n FROM people WHERE age > (SELECT mean FROM of_all) OR age < (SELECT o.n \
         FROM of_all AS o) GROUP BY town",
        // Two populations.
        "SELECT (SELECT COUNT(*) FROM people) AS people, (SELECT COUNT(*) FROM loans) AS loans",
        // Sub-queries over releases.
        "WITH t AS (SELECT town, COUNT(*) AS n FROM people GROUP BY town) SELECT town \
         FROM t AS o WHERE n = (SELECT MAX(n) FROM t) OR EXISTS (SELECT 1 FROM t \
         WHERE t.n > o.n * 2) OR town IN (SELECT UPPER(town) FROM t)",
    ]));
}

#[test]
fn each_level_of_a_group_by_is_a_part() {
    insta::assert_snapshot!(rendered(&[
        "SELECT town, Sex, COUNT(*) AS n FROM people GROUP BY ROLLUP (town, Sex)",
        "SELECT Town AS t, COUNT(*) AS n, GROUPING(town) AS all_towns, \
         COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY GROUPING(people.town)) AS share FROM people \
         GROUP BY GROUPING SETS (town, ()) HAVING n > 5 ORDER BY all_towns DESC, n DESC LIMIT 5",
        "SELECT COALESCE(Sex, 'all') AS s, GROUPING(Sex, age > 64) AS level, \
         SUM(IF(Sex = 'f', age, 0), contribution_bounds_per_group => (0, 100)) / COUNT(*) AS x \
         FROM people GROUP BY CUBE (Sex, age > 64)",
        "SELECT town, COUNT(*) FROM people GROUP BY town WITH ROLLUP",
        "SELECT town, Sex, COUNT(*) FROM people \
         GROUP BY town, Sex GROUPING SETS ((town, Sex), (town))",
        "SELECT town, Sex, age, COUNT(*) FROM people \
         GROUP BY Sex, GROUPING SETS (ROLLUP (town), (age))",
        "SELECT town, GROUPING(town) AS g, COUNT(*) AS n FROM people GROUP BY town",
        "SELECT town FROM people GROUP BY ROLLUP (town)",
        "SELECT COUNT(*) OVER () AS levels FROM people GROUP BY ROLLUP (town)",
        "WITH levels AS (SELECT town, COUNT(*) AS n FROM people GROUP BY ROLLUP (town)) \
         SELECT a.town, a.n / b.n AS share FROM levels a JOIN levels b ON b.town IS NULL",
        // One budget, split over the levels: the statement's, or that of the SELECT.
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.9, delta = 1e-6, \
         max_groups_contributed = 1) town, COUNT(*) AS n FROM people GROUP BY ROLLUP (town)",
        "SELECT COUNT(*) AS rows_of_both \
         FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.2, delta = 1e-7) town, \
         COUNT(*) AS n FROM people GROUP BY ROLLUP (town)), (SELECT COUNT(*) AS n FROM people)",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
         min_privacy_units_per_group = 5) town, COUNT(*) AS n FROM people GROUP BY ROLLUP (town)",
        "SELECT IF(GROUPING(town) = 1, 'all', town) AS town, COUNT(*) AS n FROM people \
         GROUP BY ROLLUP (town)",
        // Levels of a release.
        "SELECT region, SUM(n) AS n, GROUPING(region) AS g FROM (SELECT region, town, \
         COUNT(*) AS n FROM people JOIN towns USING (town) GROUP BY 1, 2) GROUP BY ROLLUP (region)",
        "SELECT town, MAX(n) AS most FROM (SELECT town, Sex, COUNT(*) AS n FROM people \
         GROUP BY 1, 2) GROUP BY ALL",
        // Refused.
        "SELECT town, Sex, COUNT(*) FROM people \
         GROUP BY CUBE (town, Sex, age, id > 3, id > 4, id > 5)",
        "SELECT town, COUNT(*) FROM people GROUP BY ROLLUP (town, id)",
        "SELECT age, COUNT(*) FROM people GROUP BY ROLLUP (town)",
        "SELECT GROUPING(age), COUNT(*) FROM people GROUP BY ROLLUP (town)",
        "SELECT town, COUNT(*) FROM people GROUP BY town WITH TOTALS",
        "SELECT town, COUNT(*) FROM people GROUP BY ROLLUP (town, 7)",
    ]));
}

#[test]
fn levels_fit_each_other_on_request() {
    let select = |options: &str, rest: &str| {
        format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {rest} FROM people GROUP BY")
    };
    let consistent = select("consistent = true", "town, Sex, COUNT(*) AS n");
    let all = [
        // HAVING looks at the numbers that fit, and rows whose sex is not listed are in no level.
        format!("{consistent} CUBE (town, Sex) HAVING n > 10 ORDER BY n"),
        select("consistent = true", "Sex, COUNT(*) AS n") + " GROUPING SETS ((Sex), (), ())",
        format!(
            "SELECT a.town, a.n - b.n AS other FROM ({consistent} ROLLUP (town, Sex)) a \
             JOIN ({} ROLLUP (town)) b USING (town)",
            select("consistent = NON_NEGATIVE", "town, COUNT(*) AS n")
        ),
        format!("{} ROLLUP (town)", select("consistent = false", "town, COUNT(*) AS n")),
        format!("{} ROLLUP (town)", select("consistent = maybe", "town, COUNT(*) AS n")),
        format!("{} CUBE (Sex)", select("consistent = true", "Sex, COUNT(*) AS n")),
        format!(
            "{} CUBE (Sex)",
            select("consistent = true, level_shares = sum", "Sex, COUNT(*) AS n")
        ),
        format!(
            "{} CUBE (Sex)",
            select("consistent = true, level_shares = most", "Sex, COUNT(*) AS n")
        ),
        format!("{} CUBE (Sex)", select("level_shares = sum", "Sex, COUNT(*) AS n")),
        format!("{consistent} town, Sex"),
        select("consistent = true", "COUNT(*) AS n").replace(" GROUP BY", ""),
        "WITH part_1_consistent AS (SELECT 1) SELECT * FROM part_1_consistent".to_owned(),
    ];
    insta::assert_snapshot!(rendered(&all.each_ref().map(String::as_str)));
}

#[test]
fn groups_that_are_not_shown_have_a_row() {
    let with = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS";
    let all = [
        format!("{with} (other_row = true) town, COUNT(*) AS n FROM people GROUP BY town"),
        format!(
            "{with} (epsilon = 0.8, delta = 1e-6, weight = 3, other_row = true, \
             min_privacy_units_per_group = 3) UPPER(town) AS t, age > 64, AVG(age) AS mean, \
             GROUPING(town) AS other FROM people WHERE Sex = 'f' OR age > 3 GROUP BY town, 2 \
             HAVING mean > 30 ORDER BY t, 2, COUNT(*) DESC LIMIT 10"
        ),
        format!(
            "SELECT town, n / SUM(n) OVER () AS share FROM ({with} (epsilon = 0.2, delta = 1e-7, \
             other_row = true) town, COUNT(*) AS n FROM people GROUP BY ALL)"
        ),
        format!("{with} (other_row = true) COUNT(*) AS n FROM people"),
        format!("{with} (other_row = maybe) town, COUNT(*) AS n FROM people GROUP BY town"),
        format!("{with} (other_row = true) town, COUNT(*) AS n FROM people GROUP BY ROLLUP (town)"),
        format!(
            "{with} (other_row = true) town, RANK() OVER (ORDER BY COUNT(*)) AS r FROM people \
             GROUP BY town"
        ),
        format!("{with} (other_row = true) * FROM (SELECT COUNT(*) AS n FROM people)"),
        format!(
            "SELECT k, COUNT(*) FROM ({with} (other_row = true) id, COUNT(*) AS k FROM people \
             GROUP BY id) GROUP BY k"
        ),
    ];
    insta::assert_snapshot!(rendered(&all.each_ref().map(String::as_str)));
}

#[test]
fn clipping_reports_are_parts_of_their_own() {
    let with = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS";
    let on = format!("{with} (clipping_report = true)");
    let all = [
        format!("{on} town, COUNT(*) AS n FROM people GROUP BY town"),
        format!(
            "{with} (epsilon = 0.8, delta = 1e-6, clipping_report = true, \
             noise = GAUSSIAN) SUM(age) AS n FROM people"
        ),
        format!("{on} Sex, town, COUNT(*) AS n FROM people GROUP BY ROLLUP (Sex, town)"),
        format!(
            "{with} (clipping_report = true, other_row = true) town, COUNT(*) AS n FROM people \
             GROUP BY town"
        ),
        // For the whole statement, and for one of its parts.
        format!(
            "{on} a.n, b.n AS m FROM ({with} (weight = 3) SUM(age) AS n FROM people) a CROSS JOIN \
             ({with} (clipping_report = false) COUNT(*) AS n FROM people WHERE age > 3) b"
        ),
        format!(
            "SELECT a.n, b.n AS m FROM ({on} AVG(age) AS n FROM people) a \
             CROSS JOIN (SELECT COUNT(*) AS n FROM people \
             WHERE age > (SELECT AVG(age) FROM people)) b"
        ),
        format!(
            "SELECT a.n, b.n AS m FROM ({with} (epsilon = 0.1, \
             clipping_report = true) SUM(age) AS n FROM people) a CROSS JOIN (SELECT COUNT(*) AS n \
             FROM people WHERE age > 3) b"
        ),
        // Equal limits on the same rows have one report.
        format!(
            "{on} a.n, b.n AS m FROM (SELECT SUM(age) AS n FROM people) a \
             CROSS JOIN (SELECT SUM(age) AS n FROM people HAVING SUM(age) > 3) b"
        ),
        // A SELECT that reads a released value has a report that reads it, too.
        format!("{on} SUM(age) AS n FROM people WHERE age > (SELECT AVG(age) FROM people)"),
        // Nothing is cut off.
        format!("{on} COUNT(DISTINCT id) AS n FROM people"),
        format!("{on} COUNT(*) AS n FROM loans"),
        format!("{with} (clipping_report = 7) COUNT(*) AS n FROM people"),
        format!("{with} (weight = 2, clipping_report = true) SUM(age) AS n FROM people"),
    ];
    insta::assert_snapshot!(rendered(&all.each_ref().map(String::as_str)));

    let contract = contract();
    let reported = |sql: &str| {
        let statement = SqlStatement::bind(&format!("{on} {sql}"), &contract).unwrap();
        let report = statement.parts.iter().find(|part| !part.report_of.is_empty()).unwrap();
        let quote = Quote::new(report.query.clone()).unwrap();
        let mut out = format!("{sql}\n");
        for (measurement, noise) in report.query.measurements().iter().zip(quote.noise()) {
            let (high, step) = (measurement.high as f64, measurement.step.to_f64());
            let by = noise.deviation().unwrap() * step;
            writeln!(out, "  {}: 0 to {}, noise of {by:.3}", measurement.name, high * step)
                .unwrap();
        }
        for output in report.query.outputs() {
            writeln!(out, "  -> {}", output.name).unwrap();
        }
        out
    };
    let all = [
        "town, COUNT(*), COUNT(DISTINCT id), SUM(age) FROM people GROUP BY town",
        "town, AVG(age), MEDIAN(age), COUNT(DISTINCT age) FROM people GROUP BY town",
        "town, AVG(age, contribution_bounds_per_group => (1, 100)) FROM people GROUP BY town",
        "Sex, SUM(IF(age > 9, 2, 1), contribution_bounds_per_group => (-3, 4)), SUM(age, \
         contribution_bounds_per_row => (0, 9)) FROM people GROUP BY Sex",
    ];
    insta::assert_snapshot!("measured in reports", all.map(reported).concat());
    let plain = hushtable_plan::bind(&format!("{on} SUM(age) FROM people"), &contract);
    insta::assert_snapshot!("reports and one query", plain.unwrap_err().to_string());
}

#[test]
fn named_windows_are_written_where_they_are_used() {
    insta::assert_snapshot!(rendered(&[
        "SELECT town, COUNT(*) AS n, RANK() OVER w AS place, \
         SUM(COUNT(*)) OVER (w ROWS UNBOUNDED PRECEDING) AS running FROM people GROUP BY town \
         WINDOW w AS (ORDER BY COUNT(*) DESC) ORDER BY place",
        "SELECT n, SUM(n) OVER up AS s FROM (SELECT town, COUNT(*) AS n FROM people GROUP BY town) \
         WINDOW w AS (PARTITION BY n > 3), up AS (w ORDER BY n) QUALIFY LAG(n) OVER up IS NULL",
        "SELECT age, COUNT(*) FROM (SELECT id, age, ROW_NUMBER() OVER own AS r FROM people \
         WINDOW own AS (PARTITION BY id ORDER BY age)) WHERE r = 1 GROUP BY age",
        "SELECT town, RANK() OVER v FROM people GROUP BY town WINDOW w AS (ORDER BY COUNT(*))",
        "SELECT town, RANK() OVER w FROM people GROUP BY town \
         WINDOW w AS (ORDER BY COUNT(*)), W AS (ORDER BY town)",
        "SELECT town, RANK() OVER (w ORDER BY town) FROM people GROUP BY town \
         WINDOW w AS (ORDER BY COUNT(*))",
    ]));
}

#[test]
fn budgets_of_statements() {
    insta::assert_snapshot!(rendered(&[
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.9, delta = 1e-6, \
         max_groups_contributed = 1) x.town, x.n, y.n AS all_people \
         FROM (SELECT town, COUNT(*) AS n FROM people GROUP BY town) x CROSS JOIN (SELECT WITH \
         DIFFERENTIAL_PRIVACY OPTIONS (weight = 2) COUNT(*) AS n FROM people) y",
        "SELECT x.n, y.n AS m FROM (SELECT COUNT(*) AS n FROM people) x CROSS JOIN (SELECT WITH \
         DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.01) COUNT(*) AS n FROM people) y",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.2, delta = 1e-6) COUNT(*) FROM people \
         WHERE age > (SELECT AVG(age) FROM people)",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, \
         group_selection_weight = 2) * FROM (SELECT COUNT(*) AS n FROM people)",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, \
         kappa = 2) * FROM (SELECT COUNT(*) AS n FROM people)",
        "SELECT * FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, \
         weight = 2) COUNT(*) AS n FROM people)",
        "SELECT * FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (delta = 1e-6) \
         COUNT(*) AS n FROM people)",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (weight = 2) COUNT(*) FROM people",
        "SELECT k, COUNT(*) FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) id, \
         COUNT(*) AS k FROM people GROUP BY id) GROUP BY k",
        "SELECT * FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) \
         COUNT(*) AS n FROM people), (SELECT COUNT(*) AS m FROM people)",
        "SELECT a.n FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) \
         COUNT(*) AS n FROM people) a, (SELECT COUNT(*) AS n FROM people) b",
    ]));
}

#[test]
fn refusals_of_statements() {
    let deep = format!("SELECT {}1 FROM people", "1 + ".repeat(3000));
    let chain = format!("SELECT COUNT(*) FROM people{}", " UNION ALL SELECT 1".repeat(3000));
    let collated = format!("SELECT town{} FROM people", " COLLATE x".repeat(3000));
    let refused = rendered(&[&deep, &chain, &collated]).replace(&"1 + ".repeat(3000), "…");
    let refused = refused.replace(&" UNION ALL SELECT 1".repeat(3000), "…");
    insta::assert_snapshot!("deep statements", refused.replace(&" COLLATE x".repeat(3000), "…"));
    let t = "(SELECT town, COUNT(*) AS n FROM people GROUP BY town)";
    let around: Vec<String> = [
        "SELECT 1",
        "SELECT region, COUNT(*) FROM towns GROUP BY region",
        "SELECT region FROM towns UNION ALL SELECT region FROM towns",
        "SELECT n FROM $t JOIN people USING (town)",
        "SELECT n FROM $t JOIN towns USING (town)",
        "SELECT n FROM $t WHERE town IN (SELECT town FROM towns)",
        "SELECT town FROM people UNION ALL SELECT town FROM $t",
        "SELECT COUNT(*) FROM people WHERE town IN (SELECT town FROM $t WHERE n > 3)",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(n) FROM $t)",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT COUNT(*) FROM people GROUP BY town)",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT COUNT(*), 1 FROM people)",
        "SELECT COUNT(*) FROM people p WHERE age > (SELECT AVG(age) FROM people \
         WHERE town = p.town)",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT MAX(size) FROM towns)",
        "SELECT id, RANK() OVER (ORDER BY age) FROM people",
        "SELECT town, SUM(age) OVER () FROM people GROUP BY town",
        "SELECT nothing FROM $t",
        "SELECT a.town FROM $t a, $t b WHERE town = 'x'",
        "SELECT n FROM part_1, $t",
        "WITH part_1 AS $t SELECT n FROM part_1",
        "SELECT n FROM $t, UNNEST([1, 2])",
        "SELECT n FROM $t, generate_series(1, 3)",
        "SELECT n FROM $t, information_schema.tables",
        "SELECT n FROM $t, 'people.csv'",
        "SELECT n FROM $t, people.csv",
        "SELECT SUM(n, contribution_bounds_per_group => (0, 1)) FROM $t",
        "SELECT town FROM $t GROUP BY ROLLUP(town)",
        "SELECT n FROM $t ORDER BY 3",
        "SELECT n FROM $t ORDER BY ALL",
        "SELECT n, n + 1 FROM $t UNION ALL SELECT n FROM $t",
        "SELECT RANK() OVER w FROM $t WINDOW w AS (ORDER BY n)",
        "SELECT SUM(n) OVER (ORDER BY n ROWS n PRECEDING) FROM $t",
        "SELECT n FROM $t FOR UPDATE",
        "SELECT n INTO x FROM $t",
        "SELECT n FROM $t LIMIT n",
        "SELECT * EXCEPT (n) FROM $t",
        "SELECT (SELECT town, n FROM $t) FROM $t",
        "VALUES (1)",
    ]
    .map(|sql| sql.replace("$t", t))
    .to_vec();
    let around: Vec<&str> = around.iter().map(String::as_str).collect();
    insta::assert_snapshot!(rendered(&around));
}

#[test]
fn a_released_value_is_typed_before_it_is_known() {
    let sql = "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)";
    let statement = SqlStatement::bind(sql, &contract()).unwrap();
    let query = &statement.parts[1].query;
    let kinds = |query: &hushtable_plan::PrivateQuery| {
        let mut found = Vec::new();
        query.filter().unwrap().visit(&mut |e| found.push(e.kind.clone()));
        found
    };
    assert!(kinds(query).contains(&ExprKind::Released(0)));
    assert_eq!(statement.parts[1].reads, [ReleasedColumn { part: 0, column: 0, all: false }]);
    let quoted = Quote::new(query.clone()).unwrap();
    // The value decides nothing but itself, and an odd one is NULL.
    for (value, literal) in [
        (Value::Float(41.5), Value::Float(41.5)),
        (Value::Null, Value::Null),
        (Value::Float(f64::NAN), Value::Null),
        (Value::Int(3), Value::Null),
    ] {
        let run = query.clone().with_released(&[ReleasedValues::One(value)]).unwrap();
        assert!(kinds(&run).contains(&ExprKind::Literal(literal)));
        assert_eq!(Quote::new(run).unwrap().total(), quoted.total());
    }
    assert!(query.clone().with_released(&[]).is_err());
    // A question beside another part is still the same query.
    let more = format!("SELECT ({sql}) AS n, (SELECT COUNT(*) FROM people) AS m");
    let more = SqlStatement::bind(&more, &contract()).unwrap();
    let text = |statement: &SqlStatement| {
        let query = statement.parts[1].query.clone().with_loss(quoted.total());
        serde_json::to_string(&query).unwrap()
    };
    assert_eq!(text(&more), text(&statement));
}

/// Whatever keys an earlier part shows, the part that reads them costs what was quoted, and a unit
/// can move it no farther.
#[test]
fn released_keys_decide_nothing_but_which_rows_count() {
    let sql = "SELECT Sex, COUNT(*), AVG(age) FROM people \
               WHERE town NOT IN (SELECT town FROM people GROUP BY town) GROUP BY Sex";
    let statement = SqlStatement::bind(sql, &contract()).unwrap();
    let query = &statement.parts[1].query;
    assert_eq!(statement.parts[1].reads, [ReleasedColumn { part: 0, column: 0, all: true }]);
    let quoted = Quote::new(query.clone()).unwrap();
    let condition = Explanation::new(&quoted).condition.unwrap();
    assert!(condition.contains("WHEN no value is released THEN FALSE"), "{condition}");
    assert!(condition.contains("WHEN a released value is NULL THEN NULL"), "{condition}");
    let town = |name: &str| Value::String(name.to_owned());
    for keys in [vec![], vec![town("A"), Value::Null], vec![town("B"); 500], vec![Value::Int(7)]] {
        let run = query.clone().with_released(&[ReleasedValues::All(keys)]).unwrap();
        assert_eq!(run.measurements(), query.measurements());
        assert_eq!(run.max_groups_contributed(), query.max_groups_contributed());
        assert_eq!(Quote::new(run).unwrap().total(), quoted.total());
    }
    assert!(query.clone().with_released(&[ReleasedValues::One(Value::Null)]).is_err());
    // NULL is no key that is looked for, and a list is held once for each place that reads it.
    let with_null = ReleasedValues::All(vec![town("A"), Value::Null]);
    let run = query.clone().with_released(&[with_null]).unwrap();
    let mut lists = Vec::new();
    run.filter().unwrap().visit(&mut |e| {
        if let ExprKind::Among(_, rows) = &e.kind {
            lists.push(rows.clone());
        }
    });
    assert_eq!(lists, [EarlierRows::Shown(vec![vec![town("A")]])]);
}

/// Whatever an earlier part shows, the part whose rows are joined with it costs what was quoted.
#[test]
fn released_values_of_keys_decide_nothing_but_themselves() {
    let sql = "SELECT p.Sex, COUNT(*), SUM(r.mean, contribution_bounds_per_row => (0, 99)) \
               FROM people p JOIN (SELECT town, AVG(age) AS mean FROM people GROUP BY town) r \
               ON p.town = r.town WHERE p.age > r.mean GROUP BY p.Sex";
    let statement = SqlStatement::bind(sql, &contract()).unwrap();
    let query = &statement.parts[1].query;
    let reads = |column| ReleasedColumn { part: 0, column, all: true };
    let mut columns = statement.parts[1].reads.clone();
    columns.sort_by_key(|read| read.column);
    assert_eq!(columns, [reads(0), reads(1)]);
    let quoted = Quote::new(query.clone()).unwrap();
    let condition = Explanation::new(&quoted).condition.unwrap();
    assert!(condition.contains("age > the released value at (town)"), "{condition}");
    assert!(condition.contains("(town) IN (released values)"), "{condition}");
    let text = |text: &str| Value::String(text.to_owned());
    for (towns, means) in [
        (vec![], vec![]),
        (vec![text("A"), Value::Null], vec![Value::Float(1e300), Value::Float(0.0)]),
        (vec![Value::Int(7), text("B")], vec![text("odd"), Value::Float(f64::NAN)]),
    ] {
        let all = statement.parts[1].reads.iter().map(|read| match read.column {
            0 => ReleasedValues::All(towns.clone()),
            _ => ReleasedValues::All(means.clone()),
        });
        let run = query.clone().with_released(&all.collect::<Vec<_>>()).unwrap();
        assert_eq!(run.measurements().len(), query.measurements().len());
        assert_eq!(run.max_groups_contributed(), query.max_groups_contributed());
        assert_eq!(Quote::new(run.clone()).unwrap().total(), quoted.total());
        // A row without a key is none that is looked for, and odd values are NULL.
        run.filter().unwrap().visit(&mut |e| {
            if let ExprKind::ValueAt(_, KeyedValues::Shown { keys, values }) = &e.kind {
                assert!(keys[0].iter().all(|key| matches!(key, Value::String(_))));
                assert_eq!(keys[0].len(), values.len());
                let fits =
                    |v: &Value| *v == Value::Null || matches!(v, Value::Float(x) if x.is_finite());
                assert!(values.iter().all(fits));
            }
        });
    }
    let one = [ReleasedValues::One(Value::Null), ReleasedValues::One(Value::Null)];
    assert!(query.clone().with_released(&one).is_err());
}

/// Each place that reads a list holds it in memory, so there are few.
#[test]
fn lists_of_released_keys_are_few() {
    let among = |n| format!("age + {n} IN (SELECT age FROM people GROUP BY age)");
    let bind = |lists: usize| {
        let all: Vec<String> = (0..lists).map(among).collect();
        let sql = format!("SELECT COUNT(*) FROM people WHERE {}", all.join(" OR "));
        SqlStatement::bind(&sql, &contract())
    };
    bind(16).unwrap();
    insta::assert_snapshot!(bind(17).unwrap_err().to_string());
}

/// Forms that are written out: a short text must not become millions of parts of a tree.
#[test]
fn forms_that_are_written_out_are_bounded() {
    let refused = |sql: &str| SqlStatement::bind(sql, &contract()).map(|_| ()).unwrap_err().what;
    let any = format!(" LIKE ANY ({})", vec!["''"; 100].join(","));
    let chain = format!("SELECT COUNT(*) FROM people WHERE town{}", any.repeat(4));
    assert!(refused(&chain).contains("at most 200 characters"), "{}", refused(&chain));
    let windows = |keys: usize, uses: usize, long: &str| {
        let (keys, uses) = (vec![long; keys].join(","), vec!["SUM(n) OVER w"; uses].join(","));
        format!(
            "SELECT {uses} FROM (SELECT town, COUNT(*) AS n FROM people GROUP BY town) \
             WINDOW w AS (PARTITION BY {keys})"
        )
    };
    let keys = refused(&windows(3_000, 1, "n"));
    assert!(keys.contains("at most 30 are allowed"), "{keys}");
    let key = format!("CONCAT(town, '{}')", "x".repeat(130));
    let long = refused(&windows(20, 40, &key));
    assert!(long.contains("more than 100000 characters"), "{long}");
}

/// A release with one row for each town, under a name.
const TOWNS: &str = "WITH t AS (SELECT town, COUNT(*) AS n, AVG(age) AS a FROM people \
                     GROUP BY town)";

/// The SQL around parts, as it is bound.
fn around(sql: &str) -> Around {
    let bound = SqlStatement::bind(&format!("{TOWNS} {sql}"), &contract());
    bound.map_err(|refusal| format!("{sql}: {refusal}")).unwrap().around.unwrap()
}

/// The tree of the SQL around parts is data: it is written and read back, and does not depend on
/// the names and the forms that the SQL has.
#[test]
fn the_sql_around_parts_is_a_tree_of_data() {
    for sql in [
        "SELECT n * 2 AS twice, UPPER(town) AS u FROM t WHERE n > 3.5 OR town IN ('a', 'b')",
        "SELECT x.town, y.n FROM t x FULL JOIN t y USING (town) ORDER BY 2 DESC LIMIT 3 OFFSET 1",
        "SELECT a > 40 AS old, SUM(n) AS s, COUNT(DISTINCT town) AS c, GROUPING(a > 40) AS g \
         FROM t GROUP BY ROLLUP (a > 40) HAVING s > 1",
        "SELECT town, SUM(n) OVER (ORDER BY a ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s, \
         LAG(n, 1, 0) OVER (PARTITION BY town ORDER BY n) AS b FROM t QUALIFY s > 0",
        "SELECT DISTINCT n FROM t o WHERE n = (SELECT MAX(n) FROM t WHERE town = o.town) \
         AND EXISTS (SELECT 1 FROM t) AND a NOT IN (SELECT n FROM t)",
        "SELECT n FROM t UNION ALL SELECT a FROM t UNION ALL SELECT NULL",
    ] {
        let node = around(sql).node;
        let text = serde_json::to_string(&node).unwrap();
        assert_eq!(serde_json::from_str::<Node>(&text).unwrap(), node, "{sql}");
    }
    for (one, other) in [
        ("SELECT n FROM t", "SELECT u.N AS m FROM t AS u"),
        (
            "SELECT n + 1 AS k, COUNT(*) AS c FROM t GROUP BY n + 1",
            "SELECT (u.n + 1) AS k, COUNT(*) FROM t AS u GROUP BY k ORDER BY k",
        ),
    ] {
        assert_eq!(around(one).node, around(other).node);
    }
}

/// Where values come from is a property of the tree: of columns that are handed on, of expressions
/// over one row, and of nothing that is computed from several.
#[test]
fn the_origins_of_columns_follow_from_the_tree() {
    let traced = |sql: &str| around(sql).traced.remove(0);
    for sql in [
        "SELECT n FROM t",
        "SELECT m FROM (SELECT n AS m FROM t ORDER BY n LIMIT 3) WHERE m > 3",
        "SELECT x.n FROM t x LEFT JOIN t y ON x.town = y.town",
        "SELECT n FROM t UNION ALL SELECT n FROM t",
    ] {
        let ColumnTrace { origins, computed } = traced(sql);
        assert_eq!((origins.from, origins.as_they_are), (vec![(0, 1)], true), "{sql}");
        assert_eq!(computed, None, "{sql}");
    }
    for sql in [
        "SELECT n / a FROM t",
        "SELECT x FROM (SELECT n / a AS x FROM t)",
        "SELECT m / b FROM (SELECT n AS m, a AS b FROM t WHERE n > 3) ORDER BY 1 LIMIT 2",
    ] {
        let ColumnTrace { origins, computed } = traced(sql);
        assert_eq!((origins.from, origins.as_they_are), (vec![(0, 1), (0, 2)], false), "{sql}");
        assert_eq!(computed.unwrap().operands.len(), 2, "{sql}");
    }
    for sql in [
        "SELECT MAX(n) FROM t",
        "SELECT RANK() OVER (ORDER BY n) FROM t",
        "SELECT (SELECT MAX(n) FROM t) FROM t",
        "SELECT n + RANK() OVER (ORDER BY n) FROM t",
    ] {
        let ColumnTrace { origins, computed } = traced(sql);
        assert!(origins.unknown && !origins.as_they_are && computed.is_none(), "{sql}");
    }
    let distinct = traced("SELECT DISTINCT n FROM t");
    assert_eq!((distinct.origins.as_they_are, distinct.computed), (false, None));
}

/// A sub-query that is a value has one row at most by its form, or is refused before the charge
/// with a hint that works.
#[test]
fn a_value_of_a_sub_query_has_one_row_by_its_form() {
    let bound = |query: &str| {
        let sql = format!(
            "{TOWNS}, one AS (SELECT COUNT(*) AS c FROM people) SELECT {query} AS x FROM t"
        );
        SqlStatement::bind(&sql, &contract())
    };
    for query in [
        "(SELECT MAX(n) FROM t)",
        "(SELECT c FROM one)",
        "(SELECT c FROM one WHERE c > 3)",
        "(SELECT n FROM t ORDER BY n LIMIT 1)",
        "(SELECT n FROM t u WHERE u.town = t.town)",
        "(SELECT u.n FROM t u WHERE t.town = u.town AND u.n < t.n)",
        "(SELECT n FROM t WHERE town = 'Here')",
        "(SELECT n FROM t WHERE town IS NULL)",
        "(SELECT n + m FROM (SELECT town AS k, n, a AS m FROM t) u WHERE k = t.town)",
        "(SELECT u.n FROM t u JOIN t v USING (town) WHERE v.town = t.town)",
        "(SELECT u.n FROM t u JOIN t v ON u.town = v.town WHERE v.town = t.town)",
        "(SELECT v.n FROM t u LEFT JOIN t v ON u.town = v.town WHERE u.town = t.town)",
        "(SELECT u.n FROM t u CROSS JOIN one WHERE u.town = t.town)",
        "(SELECT SUM(n) FROM t u WHERE u.a = t.a GROUP BY u.a)",
        "(SELECT DISTINCT a FROM t u WHERE u.a = t.a)",
        "(SELECT town FROM t u WHERE u.town = t.town EXCEPT DISTINCT SELECT town FROM t)",
        "(SELECT t.n)",
    ] {
        bound(query).unwrap_or_else(|refusal| panic!("{query}: {}", refusal.what));
    }
    for (query, mended) in [
        ("(SELECT n FROM t)", "(SELECT n FROM t ORDER BY 1 LIMIT 1)"),
        ("(SELECT n FROM t ORDER BY a)", "(SELECT n FROM t ORDER BY a LIMIT 1)"),
        ("(SELECT n FROM t LIMIT 2)", "(SELECT n FROM t LIMIT 1)"),
        ("(SELECT n FROM t LIMIT 2 OFFSET 1)", "(SELECT n FROM t LIMIT 1 OFFSET 1)"),
        (
            "(SELECT n FROM t u WHERE u.town < t.town)",
            "(SELECT MAX(n) FROM t u WHERE u.town < t.town)",
        ),
        (
            "(SELECT n FROM t u WHERE u.town = t.town OR n = 1)",
            "(SELECT n FROM t u WHERE u.town = t.town)",
        ),
        ("(SELECT n FROM t u WHERE u.a = t.a)", "(SELECT MAX(n) FROM t u WHERE u.a = t.a)"),
        ("(SELECT n FROM t u WHERE u.town = u.town)", "(SELECT n FROM t u WHERE u.town = t.town)"),
        (
            "(SELECT u.n FROM t u FULL JOIN t v USING (town) WHERE u.town = t.town)",
            "(SELECT u.n FROM t u LEFT JOIN t v USING (town) WHERE u.town = t.town)",
        ),
        (
            "(SELECT u.n FROM t u LEFT JOIN t v ON u.a = v.a WHERE u.town = t.town)",
            "(SELECT MAX(u.n) FROM t u LEFT JOIN t v ON u.a = v.a WHERE u.town = t.town)",
        ),
        (
            "(SELECT n FROM t UNION ALL SELECT 1)",
            "(SELECT n FROM t UNION ALL SELECT 1 ORDER BY 1 LIMIT 1)",
        ),
        (
            "(SELECT SUM(n) FROM t GROUP BY a)",
            "(SELECT SUM(n) FROM t GROUP BY a ORDER BY 1 LIMIT 1)",
        ),
        (
            "(SELECT SUM(n) FROM t WHERE a = 3 GROUP BY ROLLUP (a))",
            "(SELECT SUM(n) FROM t WHERE a = 3 GROUP BY a)",
        ),
    ] {
        let refusal = bound(query).unwrap_err();
        assert!(
            refusal.what.ends_with("may have several rows, but one value is needed here"),
            "{query}"
        );
        bound(mended).unwrap_or_else(|refusal| panic!("{mended}: {}", refusal.what));
    }
}

/// Plain SQL that has no reason to be refused: the key of a FULL JOIN links the next one, GROUPING
/// of several keys is a number of bits, and OPTIONS go with a query of WITH that nothing reads.
#[test]
fn what_is_plain_sql_around_parts_is_bound() {
    let unread = "u AS (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) AS c \
                  FROM people) SELECT n FROM t";
    for sql in [
        "SELECT town FROM t FULL JOIN t b USING (town) FULL JOIN t c USING (town) FULL JOIN t d \
         USING (town) FULL JOIN t e USING (town) FULL JOIN t f USING (town)",
        "SELECT GROUPING(town, n) AS g FROM t GROUP BY ROLLUP (town, n) HAVING g > 0",
        "SELECT town FROM (t JOIN t b USING (town)) JOIN t c USING (town)",
        "SELECT NTILE(1) OVER (ORDER BY n ROWS BETWEEN 2 PRECEDING AND 2 PRECEDING) AS x FROM t",
    ] {
        around(sql);
    }
    SqlStatement::bind(&format!("{TOWNS}, {unread}"), &contract()).unwrap();
}

/// A sub-query that reads columns from outside is computed over their values, so the rows outside
/// are planned twice. That is counted where such queries are nested.
#[test]
fn copies_of_the_rows_around_sub_queries_are_counted() {
    let nested = |depth: usize| {
        let mut from = "t".to_owned();
        for _ in 0..depth {
            from = format!(
                "(SELECT town, (SELECT MAX(n) FROM t WHERE town < o.town) AS n FROM {from} o)"
            );
        }
        SqlStatement::bind(&format!("{TOWNS} SELECT town, n FROM {from} o"), &contract())
    };
    nested(5).unwrap();
    let refusal = nested(20).unwrap_err();
    assert!(refusal.what.contains("has more than 2000 columns"), "{}", refusal.what);
    // So are those of IN, where it matters that it may be NULL.
    let nested = |membership: &str, depth: usize| {
        let inner = format!(" WHERE n {membership} (SELECT n FROM t").repeat(depth);
        let sql = format!("{TOWNS} SELECT n FROM t{inner}{}", ")".repeat(depth));
        SqlStatement::bind(&sql, &contract())
    };
    nested("IN", 20).unwrap();
    nested("NOT IN", 3).unwrap();
    let refusal = nested("NOT IN", 20).unwrap_err();
    assert!(refusal.what.contains("has more than 2000 columns"), "{}", refusal.what);
}

/// Types are known when the SQL around parts is bound, so what does not fit is refused there, with
/// its place.
#[test]
fn what_does_not_fit_around_parts_is_refused_with_its_place() {
    let refused = |sql: &str| {
        let sql = format!("{TOWNS} {sql}");
        let refusal = SqlStatement::bind(&sql, &contract()).unwrap_err();
        let excerpt = refusal.range().map(|range| sql[range].to_owned());
        (refusal.what, excerpt.unwrap_or_default())
    };
    for (sql, what, excerpt) in [
        ("SELECT SUM(town) FROM t", "SUM needs a number; `town` is of type string", "town"),
        ("SELECT LOGICAL_OR(n) FROM t", "LOGICAL_OR needs a condition", "n"),
        ("SELECT LAG(n, 1, 'x') OVER (ORDER BY n) FROM t", "LAG mixes int and string", "LAG("),
        ("SELECT LEAD(n, n) OVER (ORDER BY n) FROM t", "LEAD needs a constant whole number", "n"),
        (
            "SELECT LAG(n, 1, town) OVER (ORDER BY n) FROM t",
            "LAG needs a constant; `town` is none",
            "town",
        ),
        ("SELECT town FROM t WHERE n", "WHERE needs a condition", "n"),
        ("SELECT town FROM t WHERE SUM(n) > 1", "is computed from several rows", "SUM(n)"),
        ("SELECT SUM(MAX(n)) FROM t", "is computed from several rows", "MAX(n)"),
        ("SELECT n, COUNT(*) FROM t", "`n` is neither grouped by nor aggregated", "n"),
        ("SELECT * FROM t GROUP BY town", "`n` is neither grouped by nor aggregated", "SELECT"),
        ("SELECT DISTINCT town FROM t ORDER BY n", "is not shown by SELECT DISTINCT", "n"),
        ("SELECT n FROM t UNION ALL SELECT town FROM t", "column 1 of UNION mixes int", ""),
        ("SELECT n FROM t WHERE town IN (SELECT n FROM t)", "IN mixes string and int", "town IN"),
        ("SELECT 1 FROM t x JOIN t y USING (size)", "there is no released column `size`", "size"),
        ("SELECT NTILE(0) OVER (ORDER BY n) FROM t", "NTILE counts from 1; `0` is below it", "0"),
        ("SELECT NTH_VALUE(n, 0) OVER (ORDER BY n) FROM t", "NTH_VALUE counts from 1", "0"),
        (
            "SELECT SUM(n) OVER (ORDER BY n ROWS BETWEEN CURRENT ROW AND 2 PRECEDING) FROM t",
            "a frame from CURRENT ROW to 2 PRECEDING ends before it begins",
            "SUM(n)",
        ),
        (
            "SELECT SUM(n) OVER (ORDER BY n ROWS 1 FOLLOWING) FROM t",
            "a frame from 1 FOLLOWING to CURRENT ROW ends before it begins",
            "SUM(n)",
        ),
        (
            "SELECT SUM(n) OVER (GROUPS CURRENT ROW) FROM t",
            "a frame of GROUPS needs an order",
            "SUM(n)",
        ),
        (
            "SELECT SUM(n) OVER (ORDER BY n, a RANGE 1 PRECEDING) FROM t",
            "counts from one value that rows are ordered by, but there are 2",
            "SUM(n)",
        ),
        ("SELECT x.n FROM t x JOIN t X ON x.n = x.n", "two tables in FROM have the name", "t X"),
        ("SELECT n FROM t, t", "two tables in FROM have the name `t`", "t"),
        (
            "SELECT (SELECT n FROM t) AS m FROM t",
            "`(SELECT n FROM t)` may have several rows, but one value is needed here",
            "SELECT",
        ),
        (
            "SELECT n FROM t x LEFT JOIN t y ON x.a = y.a AND x.n IN (SELECT n FROM t)",
            "ON of a LEFT JOIN has a sub-query that reads its rows",
            "x.a = y.a",
        ),
        (
            "SELECT n FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.n < t.n GROUP BY CUBE (a))",
            "a sub-query that reads columns from outside has a level of all rows",
            "SELECT",
        ),
        (
            "SELECT SUM(n) OVER (ORDER BY town RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
            "counts back from values that are no numbers",
            "",
        ),
    ] {
        let (refusal, at) = refused(sql);
        assert!(refusal.contains(what) && at.starts_with(excerpt), "{sql}: {refusal} at {at:?}");
    }
}
