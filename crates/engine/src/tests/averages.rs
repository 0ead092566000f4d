//! Sums and means whose rows are bounded one by one.

use std::fmt::Write as _;

use datafusion::arrow::array::Array;
use hushtable_query::Measure;

use super::{Place, Wait, exactly};
use crate::exact::Reading;
use crate::session::Progress;

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

/// 662 people with 1,000 visits, of which 316 are by people of 65 and more.
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
    Place::new(CONTRACT, &[("visits.csv", data), ("rows.csv", data)]).rows(sql)
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
    let refused =
        exactly(&format!("AVG({old}, contribution_bounds_per_group => (0, 1)) AS a FROM visits"));
    assert!(answer(&data, &refused).contains("the quotient is no mean"));
}

/// Rows are clamped one by one, rows without a value take no place, and as many values are counted
/// as are added up.
#[test]
fn rows_are_clamped_one_by_one() {
    let data = format!(
        "{HEADER}1,x,,,-3.00,1.1,,\n1,x,,50,7.25,nan,,\n1,x,,,900,inf,,\n1,y,,3,,-0.3,,\n2,x,,4,1.005,,,\n,x,,9,9,9,,\n"
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
    for (place, number) in
        ["0", "1", "-1", "7", "13", "9223372036854775807", "-9223372036854775808", "", "x"]
            .iter()
            .enumerate()
    {
        let decimal = ["0", "-0.005", "99999999999999999999", "0.5", "-1.5", "12.345"][place % 6];
        let float = ["inf", "-inf", "nan", "1e308", "-5e-324", "0.1", "-2.5"][place % 7];
        let text = ["", "\u{df}\u{df}\u{df}", "\u{130}x", "abcdefghijk", " 7 "][place % 5];
        let at = [
            "2020-12-31T23:59:59",
            "0001-01-01T00:00:00",
            "1969-12-31T23:59:59.9",
            "2024-02-29",
            "",
        ][place % 5];
        writeln!(data, "{place},x,{number},{number},{decimal},{float},{text},{at}").unwrap();
    }
    let place = Place::new(CONTRACT, &[("visits.csv", &data)]);
    let session = place.session();
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
            let reading =
                Reading::plan(query, &checked.files, &Progress::default().0, checked.memory)
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
