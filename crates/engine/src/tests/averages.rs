//! Sums and means whose rows are bounded one by one.

use std::fmt::Write as _;

use datafusion::arrow::array::Array;
use hushtable_plan::Measure;

use super::{Fixture, Wait, exactly};
use crate::exact::RowReading;
use crate::progress::Progress;

const CONTRACT: &str = r#"
[tables.visits]
path = "visits.csv"
privacy_unit = "person"
[tables.visits.columns]
person = { type = "int" }
town = { type = "string" }
age = { type = "int" }
days = { type = "int", bounds = [0, 10] }
cost = { type = "decimal(2)" }
load = { type = "float", granularity = 0.25 }
name = { type = "string" }
at = { type = "timestamp" }
[tables.visits.budgets]
ana = { epsilon = 1000000, delta = 0.9999999 }

[tables.rows]
path = "rows.csv"
privacy_unit = "row"
[tables.rows.columns]
age = { type = "int" }
days = { type = "int", bounds = [0, 10] }
[tables.rows.budgets]
ana = { epsilon = 1000000, delta = 0.9999999 }
"#;

const HEADER: &str = "person,town,age,days,cost,load,name,at\n";

/// 662 people with 1,000 visits, 316 of them by people of 65 and more.
fn visits() -> String {
    let mut csv = HEADER.to_owned();
    for person in 0..662u32 {
        // 209 are old, and 107 of them come twice; of the others 231.
        let age = if person < 209 { 70 } else { 30 };
        let twice = person < 107 || (209..440).contains(&person);
        for _ in 0..if twice { 2 } else { 1 } {
            writeln!(csv, "{person},x,{age},{},,,,", person % 10).unwrap();
        }
    }
    csv
}

fn answer(data: &str, sql: &str) -> String {
    Fixture::new(CONTRACT, &[("visits.csv", data), ("rows.csv", data)]).rows(sql)
}

/// The issue's example: a sum that is clamped by unit and group, over a count of rows, is 0.209.
#[test]
fn a_mean_is_that_of_the_rows() {
    let data = visits();
    let old = "IF(age >= 65, 1, 0)";
    let by_group = exactly(&format!(
        "SUM({old}, contribution_bounds_per_group => (0, 1)) / COUNT(age) AS a FROM visits"
    ));
    assert_eq!(answer(&data, &by_group), "0.209\n");
    for mean in [
        format!("AVG({old}) AS a FROM visits"),
        format!("AVG({old}, contribution_bounds_per_row => (0, 1)) AS a FROM visits"),
        "AVG(CAST(age >= 65 AS INT64)) AS a FROM visits".to_owned(),
        format!("SUM({old}) / COUNT(*) AS a FROM visits"),
        format!("AVG({old}) AS a FROM rows"),
        format!("AVG({old}, contribution_bounds_per_group => (0, 1)) AS a FROM rows"),
    ] {
        assert_eq!(answer(&data, &exactly(&mean)), "0.316\n", "{mean}");
    }
    // One row of each person is 209 of 662.
    let one = exactly(&format!("AVG({old}) AS a FROM visits"))
        .replace("max_rows_per_group = 100", "max_rows_per_group = 1");
    assert!(answer(&data, &one).starts_with("0.3157"));
    // The mean of each person's rows is within the bounds, whichever rows count.
    let of_people = format!("AVG({old}, contribution_bounds_per_group => (0, 1)) AS a FROM visits");
    assert_eq!(answer(&data, &exactly(&of_people)), "0.316\n");
}

/// The rows that are added up are those that are counted: one of each person's here, and not the
/// sum of all over one. The mean of a person's rows that count is clamped, not its rows.
#[test]
fn numerator_and_denominator_are_of_the_same_rows() {
    let mut data = HEADER.to_owned();
    for person in 0..300 {
        for day in 0..4 {
            writeln!(data, "{person},x,,{},,,,", 3 * day).unwrap();
        }
    }
    let ask = |rows: u32, bounds: &str| -> f64 {
        let sql = exactly(&format!("AVG(days{bounds}) AS a FROM visits"))
            .replace("max_rows_per_group = 100", &format!("max_rows_per_group = {rows}"));
        answer(&data, &sql).trim().parse().unwrap()
    };
    let (per_row, per_group) =
        (", contribution_bounds_per_row => (0, 9)", ", contribution_bounds_per_group => (0, 9)");
    // The mean is 4.5, and that of 300 rows drawn from it within 6 deviations of 3.35 / 17.3.
    for rows in [1, 2, 3] {
        for bounds in ["", per_row, per_group] {
            let mean = ask(rows, bounds);
            assert!((mean - 4.5).abs() < 1.17, "{rows} {bounds}: {mean}");
        }
    }
    for bounds in ["", per_row, per_group] {
        assert_eq!(ask(4, bounds), 4.5);
    }
    // 0, 3, 5 and 5 are the rows that are clamped, and 4.5 is clamped to 4.
    assert_eq!(ask(4, ", contribution_bounds_per_row => (0, 5)"), 3.25);
    assert_eq!(ask(4, ", contribution_bounds_per_group => (0, 4)"), 4.0);
}

/// A row without a value of a column that is said to have one counts, as zero within the bounds:
/// what the noise is made for does not rest on what the contract says.
#[test]
fn promised_values_that_are_missing_count_as_zero() {
    let contract = CONTRACT.replace(
        "days = { type = \"int\", bounds = [0, 10] }",
        "days = { type = \"int\", bounds = [0, 10], not_null = true }",
    );
    let contract = contract
        .replace("load = { type = \"float\",", "load = { type = \"float\", not_null = true,");
    let data = format!("{HEADER}1,x,,4,,1,,\n1,x,,,,nan,,\n2,x,,8,,oh,,\n");
    let fixture = Fixture::new(&contract, &[("visits.csv", &data), ("rows.csv", &data)]);
    for (select, want) in [
        ("COUNT(days), AVG(days), SUM(days)", "3|4.0|12\n"),
        ("COUNT(*), AVG(days, contribution_bounds_per_row => (3, 10))", "3|5.0\n"),
        (
            "COUNT(load), AVG(load, contribution_bounds_per_row => (-1, 1))",
            "3|0.3333333333333333\n",
        ),
        ("COUNTIF(days IS NULL), COUNT(IF(days > 1, days, 0))", "1|3\n"),
    ] {
        for table in ["visits", "rows"] {
            if table == "visits" || !select.contains("load") {
                let sql = exactly(&format!("{select} FROM {table}"));
                assert_eq!(fixture.rows(&sql), want, "{sql}");
            }
        }
    }
}

/// No mean of values within bounds is outside of them, whatever the noise.
#[test]
fn means_stay_within_the_bounds_of_their_values() {
    let data = visits();
    let fixture = Fixture::new(CONTRACT, &[("visits.csv", &data), ("rows.csv", &data)]);
    let mut at_an_end = 0;
    for table in ["visits", "rows"] {
        for (select, low, high) in [
            ("AVG(days)", 0.0, 10.0),
            ("AVG(days, contribution_bounds_per_row => (3, 7))", 3.0, 7.0),
            ("AVG(days, contribution_bounds_per_group => (-2, 4))", -2.0, 4.0),
            ("AVG(IF(age >= 65, 1, 0))", 0.0, 1.0),
        ] {
            for try_ in 0..10 {
                // The noise on sums is some ten times as large as they are.
                let sql = format!(
                    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.00{try_}1, \
                     max_groups_contributed = 2, max_rows_per_group = 9) {select} AS a FROM {table}"
                );
                let mean = fixture.rows(&sql);
                let Ok(mean) = mean.trim().parse::<f64>() else {
                    assert_eq!(mean, "NULL\n", "{sql}");
                    continue;
                };
                assert!((low..=high).contains(&mean), "{sql}: {mean}");
                at_an_end += u32::from(mean == low || mean == high);
            }
        }
    }
    assert!(at_an_end > 5, "{at_an_end}");
}

/// Rows are clamped one by one, rows without a value take no place, and as many values are counted
/// as are added up.
#[test]
fn rows_are_clamped_one_by_one() {
    let data = format!(
        "{HEADER}1,x,,,-3.00,1.1,,\n1,x,,50,7.25,nan,,\n1,x,,,900,inf,,\n1,y,,3,,-0.3,,\n\
         2,x,,4,1.005,,,\n,x,,9,9,9,,\n"
    );
    let ask = |rows: u32, select: &str| {
        let sql = exactly(select)
            .replace("max_rows_per_group = 100", &format!("max_rows_per_group = {rows}"));
        answer(&data, &sql)
    };
    let select = "town, SUM(cost, contribution_bounds_per_row => (0, 10)) AS c, \
                  AVG(days, contribution_bounds_per_row => (0, 10)) AS d, \
                  SUM(load, contribution_bounds_per_row => (-1, 2)) AS l \
                  FROM visits GROUP BY town HAVING COUNT(*) > 0";
    // Cost: 0, 7.25, 10 and 1.01. Load: 1 and 2 in x, -0.25 in y.
    assert_eq!(ask(3, select), "x|18.26|7.0|3.0\ny|0.00|3.0|-0.25\n");
    // With one row of each person: one of 0, 7.25 and 10.
    let one = ask(1, select);
    let costs: Vec<&str> = one.lines().filter_map(|line| line.split('|').nth(1)).collect();
    assert!(["1.01", "8.26", "11.01"].contains(&costs[0]) && costs[1] == "0.00", "{one}");
    // The one value of days in x that person 1 has counts, whatever other rows there are.
    assert!(one.starts_with(&format!("x|{}|7.0|", costs[0])), "{one}");
    // A lower bound above zero lifts the rows that have a value, and no others.
    let lifted = "SUM(days, contribution_bounds_per_row => (5, 10)) AS d FROM visits";
    assert_eq!(ask(3, lifted), "20\n");
}

/// No value of an expression is outside of the range that its structure tells, whatever the data.
#[test]
fn ranges_hold() {
    let mut data = HEADER.to_owned();
    for (row, number) in
        ["0", "1", "-1", "7", "13", "9223372036854775807", "-9223372036854775808", "", "x"]
            .iter()
            .enumerate()
    {
        let decimal = ["0", "-0.005", "99999999999999999999", "0.5", "-1.5", "12.345"][row % 6];
        let float = ["inf", "-inf", "nan", "1e308", "-5e-324", "0.1", "-2.5"][row % 7];
        let text = ["", "\u{df}\u{df}\u{df}", "\u{130}x", "abcdefghijk", " 7 "][row % 5];
        let at = [
            "2020-12-31T23:59:59",
            "0001-01-01T00:00:00",
            "1969-12-31T23:59:59.9",
            "2024-02-29",
            "",
        ][row % 5];
        writeln!(data, "{row},x,{number},{number},{decimal},{float},{text},{at}").unwrap();
    }
    let fixture = Fixture::new(CONTRACT, &[("visits.csv", &data)]);
    let session = fixture.session();
    for expression in [
        "IF(age > 3, 5, -2)",
        "CASE WHEN age > 3 THEN 7 WHEN cost < 0 THEN 1.25 END",
        "CAST(age > 0 AS INT64)",
        "COALESCE(MOD(age, 10), -20)",
        "MOD(age, -7)",
        "MOD(ABS(MOD(age, 100)), 10)",
        "MOD(EXTRACT(SECOND FROM at), MOD(age, 5))",
        "SIGN(age) - SIGN(cost)",
        "SIGN(load) / 3",
        "-ABS(MOD(age, 9)) * SIGN(age)",
        "DIV(MOD(age, 100), SIGN(age) * 3)",
        "LENGTH(UPPER(LEFT(name, 2)))",
        "LENGTH(LOWER(RIGHT(name, 3)) || 'ab')",
        "LENGTH(TRIM(SUBSTR(LEFT(name, 9), 3)))",
        "LENGTH(CAST(age AS STRING))",
        "LENGTH(CAST(age > 0 AS STRING))",
        "EXTRACT(QUARTER FROM at)",
        "EXTRACT(MONTH FROM at)",
        "EXTRACT(DAY FROM at)",
        "EXTRACT(DAYOFWEEK FROM at)",
        "EXTRACT(DAYOFYEAR FROM at)",
        "EXTRACT(HOUR FROM at) * EXTRACT(MINUTE FROM at)",
        "ROUND(SQRT(EXTRACT(HOUR FROM at)), 1)",
        "FLOOR(EXTRACT(HOUR FROM at) / 7) - CEIL(SIGN(load) / 7)",
        "SQRT(MOD(age, 10))",
        "CAST(MOD(age, 1000) / 7 AS NUMERIC(9, 2))",
        "CAST(CAST(MOD(age, 1000) / 7 AS NUMERIC(9, 2)) AS FLOAT64)",
        "CAST(CAST(MOD(age, 1000) / 8 AS NUMERIC(9, 3)) AS INT64)",
        "CAST(MOD(age, 1000) / 2 AS INT64)",
        "CAST(SIGN(cost) AS NUMERIC(9, 4)) * 1.5",
        "IF(age > 3, 9223372036854775807, 0) * 0 + 3",
        "NULLIF(MOD(age, 10), 7)",
        "1 / (2 + SIGN(age))",
        "ABS(SIGN(load) * 0.1)",
    ] {
        let checked =
            session.check(&exactly(&format!("SUM({expression}) AS s FROM visits"))).unwrap();
        let query = checked.quote.query();
        let Measure::SumOfRows { low, high, .. } = query.measurements()[0].measure else {
            panic!("{expression} has no range");
        };
        let mut values = 0;
        let read = async {
            let reading = RowReading::plan(
                &query.into(),
                &checked.data,
                &Progress::default().reading(),
                checked.memory,
            )
            .await
            .unwrap();
            let look = reading.each(|rows| {
                for value in rows.values[0].iter().flatten() {
                    assert!(
                        (low..=high).contains(&value),
                        "{expression}: {value} in {low}..={high}"
                    );
                }
                values += rows.values[0].len() - rows.values[0].null_count();
                Ok(())
            });
            look.await.unwrap();
        };
        read.wait();
        assert!(values > 0, "{expression}");
    }
}
