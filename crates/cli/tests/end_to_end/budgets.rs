//! `budget`.

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
    assert!(text.contains("spent   epsilon = 1.25, delta = 1e-6"), "{text}");
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
