//! `budget`.

use std::fs;

use crate::support::{COUNT_BY_PRODUCT, Shop};

#[test]
fn budgets_show_what_was_charged() {
    let shop = Shop::new();
    let text = shop.run(&["budget"]).success();
    assert!(text.starts_with("ana on visits\n"), "{text}");
    assert!(text.contains("no charges yet"), "{text}");
    shop.assert_untouched();

    shop.run(&["query", COUNT_BY_PRODUCT]).success();
    shop.run(&["query", COUNT_BY_PRODUCT]).success();
    let by_town = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.25) town, COUNT(*) \
                   FROM visits GROUP BY town";
    shop.run(&["query", by_town]).success();
    let text = shop.run(&["budget"]).success();
    assert!(text.contains("spent     epsilon = 1.25, delta = 1e-6"), "{text}");
    assert!(text.contains(COUNT_BY_PRODUCT), "{text}");
    let account = shop.account();
    assert_eq!(account["analyst"], "ana");
    assert_eq!(account["table"], "visits");
    assert_eq!(account["total"]["epsilon"], 3.0);
    assert_eq!(account["left"]["epsilon"], 1.75);
    let charges = account["charges"].as_array().unwrap();
    assert_eq!(charges.len(), 2);
    assert!(charges.iter().all(|charge| charge["state"] == "recorded"));
    assert_eq!(charges[1]["charged"]["epsilon"], 0.25);
    assert_eq!(charges[1]["query"], by_town);
}

/// From the least to the largest epsilon, rho and delta: a price, or an error with the range.
#[test]
fn budgets_of_every_size_are_priced_or_refused_by_name() {
    let shop = Shop::with(50, "1000000");
    let contract = fs::read_to_string(shop.path("hushtable.toml")).unwrap();
    let most = contract.replace("delta = 1e-3", "delta = 0.999999999999999");
    fs::write(shop.path("hushtable.toml"), most).unwrap();
    let by_town = "town, COUNT(*) AS n FROM visits GROUP BY town";
    let explained = |options: &str, select: &str| {
        let sql = format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {select}");
        let run = shop.run(&["explain", &sql]);
        assert!(!run.stderr.contains("a fault in Hushtable"), "{options}: {}", run.stderr);
        run
    };
    for strategy in ["OPTIMAL", "GAUSSIAN_THRESHOLD", "SIPS", "SINGLE_VOTE", "MEASURED_COUNT"] {
        let options = format!(
            "epsilon = 1, delta = 0.999999999999999, group_selection_strategy = {strategy}"
        );
        explained(&options, by_town).success();
        explained(&options.replace("0.999999999999999", "1e-18"), by_town);
    }
    for epsilon in ["1e-12", "1e-9", "1000000"] {
        explained(&format!("epsilon = {epsilon}"), by_town);
        explained(&format!("epsilon = {epsilon}, delta = 0"), "COUNT(*) AS n FROM visits")
            .success();
    }
    for (options, range) in [
        ("epsilon = 1, delta = 0.999999999999999999", "from 0 to 0.999999999999999"),
        ("epsilon = 1, delta = 0.9999999999999991", "from 0 to 0.999999999999999"),
        ("epsilon = 1, delta = 1", "from 0 to 0.999999999999999"),
        ("epsilon = 1e-13", "from 0 to 1000000, at most 12 decimal places"),
        ("epsilon = 1000000.1", "from 0 to 1000000, at most 12 decimal places"),
    ] {
        let refusal = explained(options, by_town).refusal();
        assert!(refusal.contains(range), "{options}: {refusal}");
    }
    // The answer at the largest delta can be read back.
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 0.999999999999999) \
         {by_town}"
    );
    let answer = shop.run(&["query", &sql]).success();
    assert_eq!(shop.run(&["query", &sql]).success(), answer);
    let above = contract.replace("1e-3", "0.999999999999999999");
    fs::write(shop.path("hushtable.toml"), above).unwrap();
    let refusal = shop.run(&["budget"]).refusal();
    assert!(refusal.contains("from 0 to 0.999999999999999, at most"), "{refusal}");
}
