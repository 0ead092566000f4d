//! `policy` and `fit`.

use std::fs;

use crate::support::Shop;

const CONTRACT: &str = r#"
[tables.firms]
path = "firms.csv"
privacy_unit = "row"
group_selection_by_pieces = true
owner = "firm"
[tables.firms.columns]
firm = { type = "int" }
county = { type = "string" }
sector = { type = "string" }
pay = { type = "int", split = { by = "sector", default = 1000, values = { mining = 20_000 } } }
jobs = { type = "int", split = 20 }
[tables.firms.budgets]
ana = { rho = 5, delta = 1e-5 }
"#;

const BY_COUNTY: &str = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1, delta = 1e-6) county, \
                         sector, SUM(pay) AS pay, SUM(jobs) AS jobs, COUNT(*) AS n FROM firms \
                         GROUP BY county, sector";

/// 400 firms, the largest a thousand times the smallest.
fn firms() -> Shop {
    let shop = Shop::new();
    let mut csv = String::from("firm,county,sector,pay,jobs\n");
    for row in 0..400u32 {
        let sector = if row % 5 == 0 { "mining" } else { "shops" };
        let size = 1 + (row * row * row) % 1009;
        let owner = row / 3;
        csv += &format!("{owner},C{},{sector},{},{}\n", row % 4, size * 50, size / 4);
    }
    fs::write(shop.path("firms.csv"), csv).unwrap();
    fs::write(shop.path("hushtable.toml"), CONTRACT).unwrap();
    shop
}

#[test]
fn the_owner_sees_what_records_lose() {
    let shop = firms();
    let before = shop.files();
    let text = shop.run(&["policy", "--by-group", BY_COUNTY]).success();
    assert!(text.starts_with("CONFIDENTIAL: "), "{text}");
    insta::assert_snapshot!(text);
    let text = shop.run(&["policy", "--by-mechanism", BY_COUNTY]).success();
    insta::assert_snapshot!("losses_by_mechanism", &text[text.find("By mechanism").unwrap()..]);
    let json = shop.run(&["policy", "--format", "json", BY_COUNTY]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["confidential"], &json["records"]), (&true.into(), &400.into()));
    assert_eq!(shop.files(), before);
    shop.assert_untouched();
}

#[test]
fn a_fit_is_found_and_explained() {
    let shop = firms();
    let text = shop.run(&["fit", "--target", "10%", "--at", "90%", BY_COUNTY]).success();
    assert!(text.starts_with("CONFIDENTIAL: "), "{text}");
    insta::assert_snapshot!(text);
    let json = shop.run(&["fit", "--target", "0.1", "--at", "0.9", "--format", "json", BY_COUNTY]);
    let json: serde_json::Value = serde_json::from_str(&json.success()).unwrap();
    assert_eq!((&json["confidential"], &json["groups"]), (&true.into(), &8.into()));
    shop.assert_untouched();
}

#[test]
fn explanations_name_classes_and_pieces() {
    let sql = BY_COUNTY.replace("1e-6)", "1e-6, group_selection_by = PIECES)");
    insta::assert_snapshot!(firms().run(&["explain", "--verbose", &sql]).success());
    // Each class has a formula of its own under other mechanisms.
    let log = BY_COUNTY.replace("SUM(pay)", "SUM(pay, mechanism => 'LOG')");
    let text = firms().run(&["explain", "--verbose", &log]).success();
    let (from, to) =
        (text.find("What a record may lose").unwrap(), text.find("Mechanisms").unwrap());
    insta::assert_snapshot!("losses_of_each_class", &text[from..to]);
}

#[test]
fn losses_are_drawn() {
    let shop = firms();
    shop.run(&["policy", "--plot", "losses.svg", BY_COUNTY]).success();
    let svg = fs::read_to_string(shop.path("losses.svg")).unwrap();
    for text in ["CONFIDENTIAL", "by whole pieces", "realised", "owners", "in rho"] {
        assert!(svg.contains(text), "{text}");
    }
    shop.run(&["fit", "--target", "10%", "--at", "90%", "--plot", "losses.png", BY_COUNTY])
        .success();
    assert!(fs::read(shop.path("losses.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn wrong_input_is_told() {
    let shop = firms();
    let clamped = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1) COUNT(*) FROM firms";
    let fit =
        |target: &str, at: &str| shop.run(&["fit", "--target", target, "--at", at, BY_COUNTY]);
    let refusals = [
        shop.run(&["policy", clamped]).refusal(),
        shop.run(&["policy", "--plot", "losses.pdf", BY_COUNTY]).refusal(),
        fit("5", "120%").refusal(),
        fit("none", "90%").refusal(),
        shop.run(&[
            "fit",
            "--target",
            "5%",
            "--at",
            "90%",
            "--groups-with-at-least",
            "0",
            BY_COUNTY,
        ])
        .refusal(),
        shop.run(&[
            "fit",
            "--target",
            "5%",
            "--at",
            "90%",
            "--groups-with-at-least",
            "99999",
            BY_COUNTY,
        ])
        .refusal(),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}
