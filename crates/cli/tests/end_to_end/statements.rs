//! Statements of several private parts and SQL around them.

use std::process::Stdio;
use std::thread;
use std::time::Instant;

use crate::support::Shop;

const SHARES: &str = "WITH by_product AS (SELECT product, COUNT(*) AS n FROM visits WHERE quantity \
                      > (SELECT AVG(quantity, contribution_bounds_per_row => (0, 9)) FROM visits) \
                      GROUP BY product) SELECT product, n, ROUND(n / SUM(n) OVER (), 2) AS share, \
                      RANK() OVER (ORDER BY n DESC) AS place FROM by_product ORDER BY place";

#[test]
fn explain_shows_each_part_and_the_sql_around_them() {
    let shop = Shop::new();
    insta::assert_snapshot!("explain", shop.run(&["explain", "--verbose", SHARES]).success());
    let json = shop.run(&["explain", "--format", "json", SHARES]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["parts"].as_array().unwrap().len(), 2);
    assert_eq!(json["parts"][1]["reads"][0], "part_1.avg");
    assert_eq!(json["accounts"][0]["population"], "visits");
    assert!(json["around"].as_str().unwrap().contains("part_2"), "{json}");
    shop.assert_untouched();
}

#[test]
fn a_statement_is_one_answer_in_every_format() {
    let shop = Shop::new();
    let first = shop.run(&["query", "--statement", "s.json", SHARES]);
    assert!(first.stderr.contains("charged epsilon = 1"), "{}", first.stderr);
    let csv = first.success();
    assert!(csv.starts_with("product,n,share,place\n"), "{csv}");
    let again = shop.run(&["query", "--statement", "t.json", SHARES]);
    assert!(again.stderr.contains("on record since 20"), "{}", again.stderr);
    assert_eq!(again.success(), csv);
    let statement = |name: &str| std::fs::read_to_string(shop.path(name)).unwrap();
    assert_eq!(statement("s.json"), statement("t.json"));
    let document: serde_json::Value = serde_json::from_str(&statement("s.json")).unwrap();
    assert_eq!(document["parts"][0]["name"], "part_1");
    assert!(document["around"].as_str().unwrap().contains("RANK() OVER"), "{document}");
    let json = shop.run(&["query", "--format", "json", SHARES]).success();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap()[0]["place"], 1);
    shop.run(&["query", "--output", "x.parquet", SHARES]).success();
    assert_eq!(shop.spent(), 1.0);
    let explained = shop.run(&["explain", "--verbose", SHARES]).success();
    assert!(explained.contains("All parts are paid for: asking is free."), "{explained}");
}

/// A limit that noise may have decided has a warning below the charge, also on record and in the
/// statement. Noise shows units where there are hardly any six times in 10,000.
#[test]
fn a_limit_from_too_few_units_has_a_warning() {
    let shop = Shop::with(20, "1");
    let contract = std::fs::read_to_string(shop.path("hushtable.toml")).unwrap();
    let contract = contract.replace("bounds = [0, 20]", "bounds = \"auto\"");
    std::fs::write(shop.path("hushtable.toml"), contract).unwrap();
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) SUM(quantity) FROM visits";
    for _ in 0..2 {
        let run = shop.run(&["query", "--statement", "s.json", sql]);
        let warning = "warning: too few units were visible to choose bounds of the sum of quantity";
        let limits = "limits of this answer, those of AUTO chosen privately: ";
        assert!(run.stderr.contains(limits), "{}", run.stderr);
        assert!(run.stderr.contains(warning), "{}", run.stderr);
        run.success();
        let statement = std::fs::read_to_string(shop.path("s.json")).unwrap();
        let statement: serde_json::Value = serde_json::from_str(&statement).unwrap();
        let warnings = &statement["parts"][1]["release"]["warnings"];
        assert_eq!(warnings[0]["code"], "uncertain_limit", "{statement}");
    }
}

#[test]
fn a_statement_that_the_budget_cannot_pay_charges_nothing() {
    let shop = Shop::with(500, "0.9");
    let refused = shop.run(&["query", SHARES]).refusal();
    assert!(refused.contains("0 of 0.9 is spent"), "{refused}");
    shop.assert_untouched();
}

/// Commands about one private query say so.
#[test]
fn other_commands_take_one_private_select() {
    let shop = Shop::new();
    let fit = &["fit", "--target", "0.5", "--at", "0.9"];
    for command in [&["audit"][..], &["policy"], fit, &["check"]] {
        let refused = shop.run(&[command, &[SHARES]].concat()).stderr;
        assert!(refused.contains("the statement has 2 private parts"), "{command:?}: {refused}");
    }
}

#[test]
fn killed_statements_are_charged_once() {
    let shop = Shop::with(20_000, "1");
    // How long a whole run takes decides where kills fall.
    let other = Shop::with(20_000, "1");
    let start = Instant::now();
    other.run(&["query", SHARES]).success();
    let whole = start.elapsed();
    let mut answer: Option<Vec<u8>> = None;
    for kill in 0..12 {
        let mut child = shop
            .command(&["query", SHARES])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(whole.mul_f64(f64::from(kill) / 10.0));
        let _ = child.kill();
        let output = child.wait_with_output().unwrap().stdout;
        if !output.is_empty() {
            assert_eq!(*answer.get_or_insert_with(|| output.clone()), output);
        }
    }
    let last = shop.run(&["query", SHARES]);
    // The whole budget, once: a second charge would have been refused.
    assert_eq!(shop.spent(), 1.0);
    let charges = shop.account()["charges"].as_array().unwrap().clone();
    assert_eq!(charges.len(), 2);
    if charges.iter().any(|charge| charge["state"] == "drawn") {
        // A kill between the draw and its record: what was drawn is lost, and is not drawn again.
        assert!(answer.is_none());
        last.refusal();
        return;
    }
    let last = last.success().into_bytes();
    assert_eq!(answer.unwrap_or_else(|| last.clone()), last);
    assert!(charges.iter().all(|charge| charge["state"] == "recorded"), "{charges:?}");
}
