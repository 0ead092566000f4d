//! People who were charged for have no fresh budget under another name, or as other units.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::support::{COUNT_BY_PRODUCT, Run, Shop};

const WORKLOAD: &str = "epsilon = 0.5\n[[queries]]\nname = \"products\"\n\
                        sql = \"SELECT product, COUNT(*) AS n FROM visits GROUP BY product\"\n";
/// Three private parts, and SQL around them.
const PARTS: &str = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) product, \
                     COUNT(*) AS n FROM visits GROUP BY ROLLUP (product)";
const AUTO: &str = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, \
                    max_groups_contributed = AUTO) product, COUNT(*) AS n FROM visits \
                    GROUP BY product";
const ONE: &str =
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) AS n FROM visits";

/// A shop with one charge.
fn charged() -> Shop {
    let shop = Shop::with(50, "3");
    fs::write(shop.path("workload.toml"), WORKLOAD).unwrap();
    shop.run(&["query", COUNT_BY_PRODUCT]).success();
    shop
}

/// Exchanges texts of the contract.
fn change(shop: &Shop, changes: &[(&str, &str)]) {
    let mut contract = fs::read_to_string(shop.path("hushtable.toml")).unwrap();
    for (old, new) in changes {
        assert!(contract.contains(old), "{old}: {contract}");
        contract = contract.replace(old, new);
    }
    fs::write(shop.path("hushtable.toml"), contract).unwrap();
}

fn shell(shop: &Shop, lines: &str) -> Run {
    let mut command = shop.command(&["shell", "--auto"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    Run::of(child.wait_with_output().unwrap())
}

/// Asserts that every way to ask is refused with one text, which is given; nothing is charged, and
/// the owner's commands work.
fn refused(shop: &Shop) -> String {
    let ledger = fs::read(shop.path("hushtable.ledger")).unwrap();
    let text = shop.run(&["query", ONE]).refusal();
    let core = text.strip_prefix("error: ").unwrap();
    let ways: [&[&str]; 10] = [
        // On record before.
        &["query", COUNT_BY_PRODUCT],
        &["query", PARTS],
        &["query", AUTO],
        &["explain", ONE],
        &["explain", COUNT_BY_PRODUCT],
        &["explain", PARTS],
        &["explain", AUTO],
        &["release", "--out", "out", "workload.toml"],
        &["release", "--explain", "workload.toml"],
        &["query", "--output", "out.csv", ONE],
    ];
    for way in ways {
        assert_eq!(shop.run(way).refusal(), text, "{way:?}");
    }
    for statement in [ONE, PARTS, AUTO, COUNT_BY_PRODUCT] {
        let run = shell(shop, &format!("{statement};\n\\explain {statement};\n"));
        assert_eq!(run.code, Some(1), "{run:?}");
        assert_eq!(run.stderr.matches(core).count(), 2, "{run:?}");
        assert!(run.stdout.is_empty(), "{run:?}");
    }
    let owners: [&[&str]; 7] = [
        &["check"],
        &["tune", ONE],
        &["audit", "--runs", "2000", "--units", "1", ONE],
        &["tables"],
        &["describe", "visits"],
        &["ledger", "check"],
        &["budget", "--format", "json"],
    ];
    for command in owners {
        shop.run(command).success();
    }
    let budget = shop.run(&["budget"]);
    assert!(budget.stderr.contains(&format!("warning: {core}")), "{}", budget.stderr);
    assert_eq!(fs::read(shop.path("hushtable.ledger")).unwrap(), ledger);
    assert!(!shop.path("out").exists() && !shop.path("out.csv").exists());
    // A copy of the ledger in another place refuses as it does.
    shop.run(&["ledger", "backup", "copy.ledger"]).success();
    fs::rename(shop.path("copy.ledger"), shop.path("hushtable.ledger")).unwrap();
    assert_eq!(shop.run(&["query", ONE]).refusal(), text);
    text
}

fn spent(shop: &Shop) -> (String, f64) {
    let account = shop.account();
    let table = account["table"].as_str().unwrap().to_owned();
    (table, account["spent"]["epsilon"].as_f64().unwrap())
}

#[test]
fn another_letter_case_is_no_fresh_budget() {
    let shop = charged();
    change(&shop, &[("[tables.visits", "[tables.VISITS")]);
    insta::assert_snapshot!(refused(&shop));
    insta::assert_snapshot!("budget_of_names", settled(&shop.run(&["budget"]).success()));
    let unit = "privacy_unit = \"customer\"\n";
    change(&shop, &[(unit, &format!("{unit}formerly = [\"visits\"]\n"))]);
    shop.run(&["query", ONE]).success();
    assert_eq!(spent(&shop), ("VISITS".to_owned(), 1.5));
    insta::assert_snapshot!("budget_goes_on", settled(&shop.run(&["budget"]).success()));
    // The last of it is spent, and no more.
    for epsilon in ["1", "0.5"] {
        shop.run(&["query", &ONE.replace("0.5", epsilon).replace("(*)", "(town)")]).success();
    }
    let refusal = shop.run(&["query", &ONE.replace("(*)", "(product)")]).refusal();
    assert!(refusal.contains("3 of 3 is spent"), "{refusal}");
}

/// Without the moments of charges.
fn settled(text: &str) -> String {
    fn word(word: &str) -> &str {
        let digits = word.starts_with(|c: char| c.is_ascii_digit());
        let is_time = digits && word.matches(':').count() == 2;
        let is_date = digits && word.matches('-').count() == 2;
        if is_time || is_date { "…" } else { word }
    }
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The table becomes one of the tables of a population with a name of its own.
const PERSON: [(&str, &str); 4] = [
    ("\n[tables.visits]\n", "\n[units.person]\n\n[tables.visits]\n"),
    ("privacy_unit = \"customer\"", "unit = { of = \"person\", column = \"customer\" }"),
    ("[tables.visits.defaults]", "[units.person.defaults]"),
    ("[tables.visits.budgets]", "[units.person.budgets]"),
];

#[test]
fn a_population_of_several_tables_goes_on_with_the_account() {
    let shop = charged();
    change(&shop, &PERSON);
    insta::assert_snapshot!(refused(&shop));
    change(&shop, &[("[units.person]\n", "[units.person]\nformerly = [\"visits\"]\n")]);
    // The question is the same, and so is its answer.
    let run = shop.run(&["query", COUNT_BY_PRODUCT]);
    assert!(run.stderr.contains("on record"), "{}", run.stderr);
    assert_eq!(spent(&shop), ("person".to_owned(), 1.0));
    shop.run(&["query", PARTS]).success();
    shop.run(&["release", "--out", "out", "workload.toml"]).success();
    assert_eq!(spent(&shop), ("person".to_owned(), 2.0));
}

#[test]
fn a_retired_account_is_charged_no_more() {
    let shop = charged();
    let row = ("privacy_unit = \"customer\"", "privacy_unit = \"row\"");
    change(&shop, &[("[tables.visits", "[tables.sales"), row]);
    let sql = "SELECT COUNT(*) AS n FROM sales";
    let refusal = shop.run(&["query", sql]).refusal();
    insta::assert_snapshot!(refusal);
    change(&shop, &[("\n[tables.sales]\n", "\nretired = [\"visits\"]\n[tables.sales]\n")]);
    shop.run(&["query", sql]).success();
    let budgets = shop.run(&["budget", "--format", "json"]).success();
    let budgets: serde_json::Value = serde_json::from_str(&budgets).unwrap();
    assert_eq!(budgets[0]["table"], "sales");
    assert_eq!(budgets[0]["spent"]["epsilon"], 1.0);
    assert_eq!((&budgets[1]["table"], &budgets[1]["state"]), (&"visits".into(), &"retired".into()));
    assert_eq!(budgets[1]["spent"][0]["epsilon"], 1.0);
}

#[test]
fn another_unit_column_needs_the_word() {
    let shop = charged();
    change(&shop, &[("privacy_unit = \"customer\"", "privacy_unit = \"town\"")]);
    insta::assert_snapshot!(refused(&shop));
    change(&shop, &[("\"town\"\n", "\"town\"\nformerly = [\"visits.customer\"]\n")]);
    shop.run(&["query", ONE]).success();
    assert_eq!(spent(&shop), ("visits".to_owned(), 1.5));
    // Rows as units are other units, too.
    change(&shop, &[("privacy_unit = \"town\"", "privacy_unit = \"row\"")]);
    let refusal = shop.run(&["query", ONE]).refusal();
    assert!(refusal.contains("formerly = [\"visits.customer\", \"visits.town\"]"), "{refusal}");
}

#[test]
fn a_further_table_of_a_population_needs_no_word() {
    let shop = Shop::with(500, "3");
    change(&shop, &PERSON);
    shop.run(&["query", ONE]).success();
    fs::write(shop.path("orders.csv"), "customer,cost\n1,2\n2,3\n").unwrap();
    let orders = "\n[tables.orders]\npath = \"orders.csv\"\n\
                  unit = { of = \"person\", column = \"customer\" }\n\
                  columns = { customer = { type = \"int\" }, cost = { type = \"int\" } }\n\
                  [units.person.defaults]";
    change(&shop, &[("\n[units.person.defaults]", orders)]);
    shop.run(&["query", &ONE.replace("visits", "orders")]).success();
    assert_eq!(spent(&shop), ("person".to_owned(), 1.0));
    // From now on that is how this table holds them.
    change(&shop, &[("column = \"customer\" }\ncolumns", "column = \"cost\" }\ncolumns")]);
    let refusal = shop.run(&["query", ONE]).refusal();
    assert!(refusal.contains("`orders.customer`"), "{refusal}");
}
