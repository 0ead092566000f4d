//! `check`.

use std::fs;

use crate::support::Shop;

const CONTRACT: &str = r#"
[tables.orders]
path = "orders.csv"
privacy_unit = "customer"

[tables.orders.columns]
customer = { type = "int" }
town = { type = "string" }
product = { type = "string", public_keys = ["bread", "coffee", "wine"] }
price = { type = "float", bounds = [0, 20], sum_bounds = [0, 20] }
day = { type = "date" }
note = { type = "string" }
cents = { type = "int", expression = "CAST(price * 100 AS INT64)", bounds = [0, 100_000] }

[tables.orders.defaults]
epsilon = 1
delta = 1e-6
max_groups_contributed = 2
max_rows_per_group = 2

[tables.orders.budgets]
ana = { epsilon = 3, delta = 1e-3 }

[tables.shelves]
path = "shelves.csv"
privacy_unit = "row"
[tables.shelves.columns]
metres = { type = "int", bounds = [0, 1_000_000] }
[tables.shelves.budgets]
ana = { epsilon = 3 }
"#;

const BY_TOWN: &str = "SELECT town, COUNT(*) AS n, COUNT(DISTINCT customer) AS customers, \
                       SUM(price) AS spent, MEDIAN(price, \
                       contribution_bounds_per_row => (0, 20)) AS m FROM orders GROUP BY town";

/// 1,200 orders, with prices, days and products as people type them; `note` is empty.
fn messy() -> Shop {
    let shop = Shop::new();
    let mut csv = String::from("customer,town,product,price,day,note\n");
    for row in 0..1200u32 {
        let customer = match row % 97 {
            0 => String::new(),
            _ => (row * row % 211).to_string(),
        };
        let town = ["Ashford", "Wick", "Lerwick"][(row % 7 % 3) as usize];
        let product =
            ["bread", "coffee", "Bread", " coffee", "honey", "\"tea, black\""][(row % 6) as usize];
        let price = match row % 11 {
            0 => format!("\"{},50\"", row % 30),
            1 => format!("{}.00 €", row % 9),
            2 => "n/a".to_owned(),
            3 => String::new(),
            _ => format!("{}.25", row * 7 % 31),
        };
        let day = match row % 3 {
            0 => format!("{:02}.05.2024", 1 + row % 28),
            _ => format!("2024-05-{:02}", 1 + row % 28),
        };
        csv += &format!("{customer},{town},{product},{price},{day},\n");
    }
    fs::write(shop.path("orders.csv"), csv).unwrap();
    fs::write(shop.path("shelves.csv"), "metres\n1\n2\n3\n").unwrap();
    fs::write(shop.path("hushtable.toml"), CONTRACT).unwrap();
    shop
}

#[test]
fn a_messy_table_is_reported() {
    let shop = messy();
    let before = shop.files();
    let text = shop.run(&["check"]).success();
    assert!(text.starts_with("CONFIDENTIAL: "), "{text}");
    insta::assert_snapshot!(text);
    assert_eq!(shop.files(), before);
    shop.assert_untouched();
}

#[test]
fn what_a_query_cuts_off_is_reported() {
    let shop = messy();
    // No more than the groups of any unit, so that nothing depends on the key.
    let sql = BY_TOWN
        .replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 3)");
    let text = shop.run(&["check", "orders", &sql]).success();
    let query = &text[text.find("The query\n").unwrap()..];
    insta::assert_snapshot!(query);
    // The query alone says which table it is about.
    assert_eq!(shop.run(&["check", &sql]).success(), text);
    // Where every row is a unit.
    let rows =
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) SUM(metres) AS m FROM shelves";
    insta::assert_snapshot!("check_of_rows", shop.run(&["check", rows]).success());
    shop.assert_untouched();
}

#[test]
fn a_check_is_read_by_programs() {
    let shop = messy();
    let json = shop.run(&["check", "--format", "json", "shelves"]).success();
    let read: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(read["confidential"], true);
    insta::assert_snapshot!(json);
    let json = shop.run(&["check", "--format", "json", BY_TOWN]).success();
    let read: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(read["confidential"], true);
    let query = &read["tables"][0]["query"];
    let keys: Vec<&String> = query.as_object().unwrap().keys().collect();
    // How many groups a unit keeps does not depend on the key.
    insta::assert_snapshot!("check_of_a_query", format!("{keys:?}\n{}", query["cut_off"][2]));
}

/// Of values that do not fit, and of keys that are not listed, the form alone is shown.
#[test]
fn a_check_names_no_value_that_does_not_fit() {
    let shop = messy();
    for format in ["text", "json"] {
        let text = shop.run(&["check", "--format", format, BY_TOWN]).success();
        for secret in ["Lerwick", "Ashford", "honey", "tea", "Bread", "n/a", "05.2024", "8.00 €"]
        {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

/// The findings of a check are in none of an analyst's commands: they say the same of a table that
/// is not messy.
#[test]
fn an_analyst_sees_nothing_of_it() {
    let (messy, clean) = (messy(), messy());
    fs::write(
        clean.path("orders.csv"),
        "customer,town,product,price,day,note\n1,a,bread,1,2024-05-01,x\n",
    )
    .unwrap();
    messy.run(&["check", BY_TOWN]).success();
    let by_product = "SELECT product, COUNT(*) AS n FROM orders GROUP BY product";
    for sql in [BY_TOWN, by_product] {
        let command = ["explain", sql];
        let (one, other) = (messy.run(&command), clean.run(&command));
        assert_eq!((&one.stdout, &one.stderr), (&other.stdout, &other.stderr));
    }
    let (one, other) = (messy.run(&["query", by_product]), clean.run(&["query", by_product]));
    assert_eq!(one.stderr, other.stderr);
    let released = one.success();
    assert!(released.starts_with("product,n\nbread,"), "{released}");
    assert_eq!(released.lines().count(), 4);
    let (one, other) = (messy.run(&["budget"]), clean.run(&["budget"]));
    assert_eq!(one.stdout.len(), other.stdout.len());
}

#[test]
fn wrong_checks_read_as_expected() {
    let shop = messy();
    let command_lines: Vec<Vec<&str>> = vec![
        vec!["nothing"],
        vec!["--contract", "missing.toml"],
        vec!["shelves", BY_TOWN],
        vec!["SELECT nothing FROM orders"],
        vec!["orders", BY_TOWN, "more"],
        vec!["--analyst", "ana"],
    ];
    let rendered: Vec<String> = command_lines
        .into_iter()
        .map(|arguments| {
            let run = shop.run(&[&["check"], arguments.as_slice()].concat());
            assert!(run.stdout.is_empty(), "{arguments:?}");
            format!("> {}\n-> {}: {}", arguments.join(" "), run.code.unwrap(), run.stderr)
        })
        .collect();
    insta::assert_snapshot!(rendered.join("\n"));
    shop.assert_untouched();
}

/// A tuning shows all components of errors, says whom it is for, names no key, and writes nothing
/// but a chart.
#[test]
fn a_tuning_compares_settings() {
    let shop = messy();
    let text = shop.run(&["tune", BY_TOWN]).success();
    assert!(text.starts_with("CONFIDENTIAL: "), "{text}");
    let settings = ["max_groups_contributed", "max_rows_per_group", "bounds", "noise", "epsilon"];
    for expected in settings.into_iter().chain(["bounding", "not shown", "What to set", " *"]) {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    for secret in ["Lerwick", "Ashford", "Wick"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    shop.assert_untouched();
    let json = shop.run(&["tune", "--format", "json", "--plot", "tune.svg", BY_TOWN]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["confidential"], true);
    // A quantile has no such error.
    assert_eq!(json["settings"][0]["trials"][0]["errors"][3], serde_json::Value::Null);
    assert!(fs::read_to_string(shop.path("tune.svg")).unwrap().contains("CONFIDENTIAL"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(shop.path("tune.svg")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "only the owner reads it");
    }
}
