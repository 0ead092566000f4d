//! `summary`: every column of a table under one budget.

use std::fs;

use crate::support::Shop;

/// A shop with the customers' table and columns of more types, and a budget.
fn shop() -> Shop {
    let shop = Shop::with(500, "3");
    let contract = fs::read_to_string(shop.path("hushtable.toml")).unwrap();
    let more = "quantity = { type = \"int\", bounds = [0, 20] }\n\
                weight = { type = \"decimal(1)\", expression = \"quantity * 1.5\" }\n\
                many = { type = \"bool\", expression = \"quantity > 4\" }";
    let contract = contract.replace("quantity = { type = \"int\", bounds = [0, 20] }", more);
    fs::write(shop.path("hushtable.toml"), contract).unwrap();
    shop
}

#[test]
fn a_summary_is_charged_once_and_shown_in_every_format() {
    let shop = shop();
    let text = shop.run(&["summary", "visits"]).success();
    assert_eq!(shop.spent(), 1.0);
    for expected in [
        "visits: epsilon = 1, delta = 1e-6",
        "\nmany, bool\n",
        "\nproduct, string\n",
        "\nquantity, int\n",
        "25 % quantile",
        "20 or more",
        "\ntown, string\n",
        "left out: no `bounds` in the contract",
        "intervals: noise only",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("customer, int"), "{text}");

    let json = shop.run(&["summary", "--format", "json", "visits"]);
    assert!(json.stderr.contains("no charge to ana on visits"), "{}", json.stderr);
    let json: serde_json::Value = serde_json::from_str(&json.success()).unwrap();
    assert_eq!(json["level"], 95);
    let rows = json["rows"]["rows"].as_i64().unwrap();
    assert!((1_000..2_000).contains(&rows), "{json}");
    let column = |name: &str| {
        let columns = json["columns"].as_array().unwrap();
        columns.iter().find(|column| column["name"] == name).unwrap().clone()
    };
    assert_eq!(column("quantity")["quantiles"].as_array().unwrap().len(), 5);
    assert_eq!(column("quantity")["counts"].as_array().unwrap().len(), 21);
    assert!(column("quantity")["missing"]["rows"].is_i64(), "{json}");
    assert_eq!(column("product")["counts"].as_array().unwrap().len(), 3);
    assert_eq!(column("many")["counts"].as_array().unwrap().len(), 2);

    let page = shop.run(&["summary", "--output", "visits.html", "visits"]);
    page.success();
    let page = fs::read_to_string(shop.path("visits.html")).unwrap();
    assert!(page.contains("<h2>quantity <span class=\"type\">int</span></h2>"), "{page}");
    assert_eq!(shop.spent(), 1.0);
}

#[test]
fn a_summary_is_a_workload_and_its_quote_costs_nothing() {
    let shop = shop();
    let workload = shop.run(&["summary", "--workload", "visits"]).success();
    let quote = shop.run(&["summary", "--explain", "visits"]).success();
    assert!(quote.contains("quantity.quantiles"), "{quote}");
    shop.assert_untouched();

    // The workload, released as it is, asks the same questions.
    fs::write(shop.path("workload.toml"), workload).unwrap();
    shop.run(&["summary", "visits"]).success();
    let run = shop.run(&["release", "--out", "out", "workload.toml"]);
    assert!(run.stderr.contains("no charge to ana on visits"), "{}", run.stderr);
    assert_eq!(shop.spent(), 1.0);
}

#[test]
fn summaries_that_cannot_be_are_refused_before_the_charge() {
    let shop = shop();
    for (arguments, what) in [
        (&["summary", "visit"][..], "there is no table `visit`"),
        (&["summary", "--epsilon", "0.x", "visits"], "epsilon"),
        (&["summary", "--output", "page.doc", "visits"], "does not say which format"),
        (&["summary", "--output", "visits.csv", "--format", "text", "visits"], "visits.csv"),
        (&["summary", "--epsilon", "4", "visits"], "budget"),
    ] {
        let refusal = shop.run(arguments).refusal();
        assert!(refusal.contains(what), "{refusal}");
    }
    assert!(!shop.path("hushtable.ledger").exists() || shop.spent() == 0.0);
}
