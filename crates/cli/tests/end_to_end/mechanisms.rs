//! Sums that are not clamped, by the mechanisms that a query may name.

use std::fs;

use crate::support::Shop;

const CONTRACT: &str = r#"
[tables.visits]
path = "visits.csv"
privacy_unit = "row"

[tables.visits.columns]
product = { type = "string", public_keys = ["bread", "coffee", "wine", "honey"] }
quantity = { type = "int", split = 4 }

[tables.visits.budgets]
ana = { rho = 20 }
"#;

const ALL: &str = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 6) product, \
                   SUM(quantity, mechanism => 'LOG', offset => 40) AS l, \
                   SUM(quantity, mechanism => 'SQRT') AS s, \
                   SUM(quantity, mechanism => 'EXPONENTIAL_POLYLOGARITHMIC') AS p \
                   FROM visits GROUP BY product ORDER BY product";

fn shop() -> Shop {
    let shop = Shop::with(500, "1");
    fs::write(shop.path("hushtable.toml"), CONTRACT).unwrap();
    shop
}

#[test]
fn explain_compares_the_mechanisms() {
    let shop = shop();
    insta::assert_snapshot!(shop.run(&["explain", "--verbose", ALL]).success());
    // Under a rho of 0.001 there is no logarithm; the others are still compared.
    let little =
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.001) SUM(quantity) AS q FROM visits";
    let text = shop.run(&["explain", "--verbose", little]).success();
    let section =
        text.split("Mechanisms for").nth(1).unwrap().split("What is shown").next().unwrap();
    insta::assert_snapshot!("a_logarithm_that_is_impossible", section);
}

/// Each product has 1500 quantities of 4 on average in all, 375 rows of it: sums of about 1500.
#[test]
fn sums_come_from_every_mechanism() {
    let text = shop().run(&["query", "--format", "csv", ALL]).success();
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows[0], "product,l,s,p", "{text}");
    assert_eq!(rows.len(), 5, "{text}");
    for row in &rows[1..] {
        let sums: Vec<f64> = row.split(',').skip(1).map(|sum| sum.parse().unwrap()).collect();
        // Standard errors are about 80 (LOG), 64 (SQRT) and 3: ten of them, for noise from the
        // system.
        let [log, sqrt, polylog] = sums[..] else { panic!("{row}") };
        assert!((log - 1500.0).abs() < 800.0 && (sqrt - 1500.0).abs() < 640.0, "{row}");
        assert!((polylog - 1500.0).abs() < 200.0, "{row}");
    }
}
