//! Bounds that are learnt once.

use std::fs;

use crate::support::Shop;

/// A shop whose quantities, from 0 to 8, have no bounds.
fn shop() -> Shop {
    let shop = Shop::with(1000, "1000");
    let contract = fs::read_to_string(shop.path("hushtable.toml")).unwrap();
    let contract = contract.replace("bounds = [0, 20]", "bounds = \"auto\"");
    fs::write(shop.path("hushtable.toml"), contract).unwrap();
    shop
}

/// Text with the day on which bounds were learnt as a word.
fn without_day(text: &str) -> String {
    let day = |line: &str| {
        let Some((before, after)) = line.split_once("on 20") else { return line.to_owned() };
        format!("{before}on DAY{}", &after[8..])
    };
    text.lines().map(|line| day(line) + "\n").collect()
}

const SUM: &str = "SELECT SUM(quantity) AS n FROM visits";
const MEDIAN: &str = "SELECT MEDIAN(quantity) AS n FROM visits";

#[test]
fn bounds_are_learnt_shown_and_used() {
    let shop = shop();
    // A question without them pays for its own histogram.
    for sql in [SUM, MEDIAN] {
        assert!(shop.run(&["explain", sql]).success().contains("chosen privately"));
    }
    let quoted = shop.run(&["learn", "--explain", "--epsilon", "20", "visits"]).success();
    assert!(quoted.contains("epsilon = 20"), "{quoted}");
    shop.assert_untouched();

    let learnt = shop.run(&["learn", "--epsilon", "20", "visits"]);
    assert!(learnt.stderr.contains("charged epsilon = 20 to ana"), "{}", learnt.stderr);
    let learnt = learnt.success();
    insta::assert_snapshot!("learnt", without_day(&learnt));
    // In another process it is on record.
    let again = shop.run(&["learn", "--epsilon", "20", "visits"]);
    assert!(again.stderr.contains("on record: no charge"), "{}", again.stderr);
    assert_eq!(again.success(), learnt);
    assert_eq!(shop.spent(), 20.0);

    insta::assert_snapshot!("explained", without_day(&shop.run(&["explain", SUM]).success()));
    for (spent, sql) in [(21.0, SUM), (22.0, MEDIAN)] {
        for _ in 0..2 {
            shop.run(&["query", "--statement", "statement.json", sql]).success();
            assert_eq!(shop.spent(), spent);
        }
        let statement = fs::read_to_string(shop.path("statement.json")).unwrap();
        let statement: serde_json::Value = serde_json::from_str(&statement).unwrap();
        let bounds = &statement["parts"][0]["release"]["learnt_bounds"][0];
        assert_eq!(bounds["column"], "quantity");
        assert_eq!(bounds["paid"]["epsilon"].as_f64(), Some(20.0));
        let json = shop.run(&["explain", "--format", "json", sql]).success();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(&json["parts"][0]["explanation"]["learnt_bounds"][0], bounds);
    }
    let json = shop.run(&["learn", "--epsilon", "20", "--format", "json", "visits"]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["learnt_bounds"][0]["of_earlier_data"], false);

    // New files are other data: the bounds stay, and say so.
    let csv = fs::read_to_string(shop.path("visits.csv")).unwrap();
    fs::write(shop.path("visits.csv"), csv + "1000,Wick,wine,3\n").unwrap();
    let explained = shop.run(&["explain", SUM]).success();
    let words: Vec<&str> = explained.split_whitespace().collect();
    assert!(words.join(" ").contains("from earlier data"), "{explained}");
    assert!(!explained.contains("chosen privately"), "{explained}");
}

#[test]
fn what_cannot_be_learnt_is_refused() {
    let shop = shop();
    for (arguments, text) in [
        (vec!["learn", "visit"], "there is no table `visit`"),
        (vec!["learn", "visits", "customer"], "bounds of `customer` cannot be learnt"),
        (vec!["learn", "visits", "towns"], "`visits` has no column `towns`"),
        (vec!["learn", "--epsilon", "x", "visits"], "epsilon = x is not valid"),
        (vec!["learn", "--epsilon", "2000", "visits"], "the budget"),
    ] {
        let refusal = shop.run(&arguments).refusal();
        assert!(refusal.contains(text), "{refusal}");
    }
    shop.assert_untouched();
}
