//! `audit`.

use std::fs;

use crate::support::{COUNT_BY_PRODUCT, Shop};

/// Removes what depends on chance: the rest of each line with numbers from runs.
fn settled(text: &str) -> String {
    let chance = ["epsilon is at least ", "evidence ", "probability ", "no violation found: "];
    let line = |line: &str| match chance.iter().find(|c| line.trim_start().starts_with(**c)) {
        Some(start) => format!("{}…", &line[..line.find(start).unwrap() + start.len()]),
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_audit_says_what_it_found_and_changes_nothing() {
    let shop = Shop::with(50, "3");
    let before = shop.files();
    let text = shop.run(&["audit", "--runs", "2000", "--units", "2", COUNT_BY_PRODUCT]).success();
    assert!(text.starts_with("CONFIDENTIAL: "), "{text}");
    assert!(text.ends_with("it can never prove that there are none.\n"), "{text}");
    insta::assert_snapshot!(settled(&text));
    assert_eq!(shop.files(), before);
    shop.assert_untouched();
}

#[test]
fn an_audit_is_read_by_programs() {
    let shop = Shop::with(50, "3");
    let by_town = "SELECT town, COUNT(DISTINCT customer) AS n FROM visits GROUP BY town";
    let json = shop.run(&["audit", "--runs", "2000", "--format", "json", by_town]).success();
    let mut json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let epsilon = json["epsilon_at_least"].as_f64().unwrap();
    // Wrong once in a thousand times, and by so much never.
    assert!((0.0..1.5).contains(&epsilon), "{json}");
    assert_eq!(json["confidential"], true);
    let comparisons = json["comparisons"].as_array_mut().unwrap();
    // Whether the unit with the smallest groups is one of the heaviest, where many weigh the same,
    // is a matter of the key.
    assert!((3..=4).contains(&comparisons.len()));
    comparisons.truncate(3);
    for compared in comparisons {
        let event = compared["event"].as_object_mut().unwrap();
        for (key, of) in [("at_least", 0.0..=1.0), ("at_most", 0.0..=1.0)] {
            assert!(of.contains(&event[key].as_f64().unwrap()), "{event:?}");
        }
        let keys: Vec<&String> = event.keys().collect();
        assert_eq!(keys, ["at_least", "at_most", "likely_on", "what"]);
        compared["event"] = "…".into();
        compared["epsilon_at_least"] = "…".into();
    }
    json["epsilon_at_least"] = "…".into();
    json["verdict"] = "…".into();
    insta::assert_snapshot!(serde_json::to_string_pretty(&json).unwrap());
    shop.assert_untouched();
}

/// No number of the data, and no key, is in what an audit says.
#[test]
fn an_audit_names_no_value() {
    let shop = Shop::with(300, "3");
    let csv = fs::read_to_string(shop.path("visits.csv")).unwrap();
    let csv = csv.replace("Wick", "Kirkwall") + "987654,Lerwick,bread,19\n";
    fs::write(shop.path("visits.csv"), csv).unwrap();
    let by_town = "SELECT town, COUNT(DISTINCT customer) AS n, SUM(quantity) AS q FROM visits \
                   GROUP BY town";
    for format in ["text", "json"] {
        let text = shop.run(&["audit", "--runs", "1000", "--format", format, by_town]).success();
        for secret in ["Kirkwall", "Lerwick", "Ashford", "987654"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

#[test]
fn wrong_audits_read_as_expected() {
    let shop = Shop::with(20, "1");
    let count = COUNT_BY_PRODUCT;
    let rho = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1) COUNT(*) FROM visits";
    let command_lines: Vec<Vec<&str>> = vec![
        vec!["--runs", "0", count],
        vec!["--runs", "1e6", count],
        vec!["--runs", "100000001", count],
        vec!["--units", "0", count],
        vec!["--units", "-1", count],
        vec!["--confidence", "1", count],
        vec!["--confidence", "NaN", count],
        vec!["--delta", "2", rho],
        vec!["--delta", "0", rho],
        vec!["--delta", "1e-5", count],
        vec!["--contract", "missing.toml", count],
        vec!["SELECT nothing FROM visits"],
        vec!["--analyst", "ana", count],
        vec![],
    ];
    let rendered: Vec<String> = command_lines
        .into_iter()
        .map(|arguments| {
            let run = shop.run(&[&["audit"], arguments.as_slice()].concat());
            assert!(run.stdout.is_empty(), "{arguments:?}");
            format!("> {}\n-> {}: {}", arguments.join(" "), run.code.unwrap(), run.stderr)
        })
        .collect();
    insta::assert_snapshot!(rendered.join("\n"));
    shop.assert_untouched();
}
