//! MEDIAN and PERCENTILE_CONT, from the command line.

use std::fs;

use crate::support::Shop;

/// Rows that are units, of skewed sizes; and units of several rows.
const CONTRACT: &str = r#"
[tables.firms]
path = "firms.csv"
privacy_unit = "row"
[tables.firms.columns]
county = { type = "string", public_keys = ["C0", "C1"] }
pay = { type = "int", split = 1000 }
[tables.firms.budgets]
ana = { rho = 5 }

[tables.visits]
path = "visits.csv"
privacy_unit = "customer"
[tables.visits.columns]
customer = { type = "int" }
quantity = { type = "int", bounds = [0, 20] }
[tables.visits.defaults]
epsilon = 1
max_rows_per_group = 3
[tables.visits.budgets]
ana = { epsilon = 3 }
"#;

const FIRMS: &str = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1) county, \
                     COUNT(*) AS n, SUM(pay) AS pay, MEDIAN(pay, weight => 2) AS m, \
                     PERCENTILE_CONT(pay, 0.9) AS h FROM firms GROUP BY county";

/// 2,000 firms whose pays are 100, 101, .. in each of two counties, and one that pays 10^12.
fn shop() -> Shop {
    let shop = Shop::with(500, "1");
    let mut csv = String::from("county,pay\nC0,1000000000000\n");
    for row in 0..2000u32 {
        csv += &format!("C{},{}\n", row % 2, 100 + row / 2);
    }
    fs::write(shop.path("firms.csv"), csv).unwrap();
    fs::write(shop.path("hushtable.toml"), CONTRACT).unwrap();
    shop
}

#[test]
fn explain_says_what_quantiles_cost_and_how_near_they_are() {
    let shop = shop();
    let text = shop.run(&["explain", "--verbose", FIRMS]).success();
    let before_mechanisms = text.split("Mechanisms for").next().unwrap();
    insta::assert_snapshot!(before_mechanisms);
    let text =
        shop.run(&["explain", "--verbose", "SELECT MEDIAN(quantity) AS m FROM visits"]).success();
    let section = text.split("Budget of").next().unwrap();
    insta::assert_snapshot!("explain_a_median_of_units", section);
}

/// At these losses a released median is fewer than 50 values from the exact one, and a 90th
/// percentile fewer than 80, except for a probability below 1e-8 (rates of 2 and 0.8 and noise from
/// the system).
#[test]
fn quantiles_are_near_and_on_record() {
    let shop = shop();
    let text =
        shop.run(&["query", "--format", "csv", "--statement", "statement.json", FIRMS]).success();
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows[0], "county,n,pay,m,h", "{text}");
    for row in &rows[1..] {
        let values: Vec<f64> = row.split(',').skip(1).map(|v| v.parse().unwrap()).collect();
        assert!((values[2] - 600.0).abs() < 50.0 && (values[3] - 1000.0).abs() < 80.0, "{row}");
    }
    assert_eq!(rows.len(), 3);
    let statement = fs::read_to_string(shop.path("statement.json")).unwrap();
    let statement: serde_json::Value = serde_json::from_str(&statement).unwrap();
    let statement = &statement["parts"][0]["release"];
    let median = &statement["measurements"][2];
    assert_eq!(median["mechanism"], "exponential");
    assert_eq!(median["quantile"]["percentile"], 0.5);
    assert!(median.get("noise_scale").is_none());
    // The count, the median and the percentile are the constant; the sum alone grows with the
    // record.
    assert_eq!(statement["policy"]["rho_constant"], 0.8);
    assert_eq!(statement["policy"]["terms"].as_array().unwrap().len(), 1);
    assert_eq!(statement["query"]["measurements"][2]["measure"]["quantile"]["percentile"], "0.5");
    // Asking the same question again is free, and has the same answer.
    assert_eq!(shop.run(&["query", "--format", "csv", FIRMS]).success(), text);
}

/// The intervals that are drawn around a median and three quantiles are shown beside them, and
/// hold the exact values; without them, there are no such columns.
#[test]
fn intervals_around_quantiles_are_shown_where_they_are_drawn() {
    let shop = shop();
    let ask = |options: &str, select: &str| {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1.5{options}) {select} FROM firms"
        );
        shop.run(&["query", "--format", "csv", "--intervals", "95", &sql]).success()
    };
    let median = ask(", quantile_intervals = 95", "MEDIAN(pay) AS m");
    let lines: Vec<&str> = median.lines().collect();
    assert_eq!(lines[0], "m,m_low,m_high", "{median}");
    let values: Vec<f64> = lines[1].split(',').map(|v| v.parse().unwrap()).collect();
    assert!(values[1] <= 600.0 && 600.0 <= values[2], "{median}");
    assert!(values[1] > 500.0 && values[2] < 700.0, "{median}");
    let quartiles = ask(", quantile_intervals = 95", "APPROX_QUANTILES(pay, 4) AS q");
    let values: Vec<f64> =
        quartiles.lines().nth(1).unwrap().split(',').map(|v| v.parse().unwrap()).collect();
    for (interval, exact) in values.chunks(3).zip([350.0, 600.0, 850.0]) {
        assert!(
            interval[1] <= exact && exact <= interval[2] && interval[2] - interval[1] < 400.0,
            "{quartiles}"
        );
    }
    // On record is the median with its interval, so the median alone has them, too.
    assert_eq!(ask("", "MEDIAN(pay) AS m").lines().next(), Some("m,m_low,m_high"));
    let without = ask("", "MEDIAN(pay) + 0 AS m, COUNT(*) AS n");
    assert_eq!(without.lines().next(), Some("m,n,n_low,n_high"));
}

/// The owner sees that a record loses no more by its median if it is large.
#[test]
fn what_records_lose_has_quantiles_in_it() {
    let shop = shop();
    let only = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1) MEDIAN(pay) AS m, \
                SUM(pay) AS s FROM firms";
    let json = shop.run(&["policy", "--format", "json", only]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    // Of the firm with 10^12: 0.5 (10^9)^2 by the sum, and 0.5 by the median; of the others at
    // least 0.5.
    let losses = &json["losses"]["policy"];
    let largest = losses["largest"].as_f64().unwrap();
    assert!((largest / 5e17 - 1.0).abs() < 1e-3, "{json}");
    let text = shop.run(&["fit", "--target", "10%", "--at", "90%", only]).refusal();
    insta::assert_snapshot!(text);
}

#[test]
fn wrong_quantiles_are_refused() {
    let shop = shop();
    let mut text = String::new();
    for query in [
        "SELECT MEDIAN(quantity, contribution_bounds_per_group => (0, 5)) FROM visits",
        "SELECT PERCENTILE_CONT(quantity, 1.5) FROM visits",
        "SELECT MAX(quantity) FROM visits",
        "SELECT MEDIAN(EXP(quantity)) FROM visits",
    ] {
        text += &shop.run(&["query", query]).refusal();
    }
    insta::assert_snapshot!(text);
    shop.assert_untouched();
}
