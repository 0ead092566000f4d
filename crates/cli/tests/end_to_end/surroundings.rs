//! Settings from the folder and the environment, and files that commands make for them.

use std::fs;

use crate::support::{COUNT_BY_PRODUCT, Run, Shop, command_in};

#[test]
fn the_contract_is_found_from_folders_below_it() {
    let shop = Shop::new();
    fs::create_dir_all(shop.path("reports/2025")).unwrap();
    let below = shop.path("reports/2025");
    let run = Run::of(command_in(&below, &["query", COUNT_BY_PRODUCT]).output().unwrap());
    // Whose budget is charged is said.
    assert!(run.stderr.starts_with("contract: ../../hushtable.toml\n"), "{}", run.stderr);
    run.success();
    assert!(shop.path("hushtable.ledger").exists());
    // In the contract's own folder there is nothing to say, and the nearest one holds.
    assert!(!shop.run(&["budget"]).stderr.contains("contract:"));
    fs::write(shop.path("reports/hushtable.toml"), "nonsense = 1\n").unwrap();
    let error = Run::of(command_in(&below, &["budget"]).output().unwrap()).stderr;
    assert!(error.contains("../hushtable.toml"), "{error}");
    let nowhere = tempfile::tempdir().unwrap();
    let error = Run::of(command_in(nowhere.path(), &["budget"]).output().unwrap()).refusal();
    assert!(error.contains("hushtable.toml"), "{error}");
}

#[test]
fn the_environment_names_the_contract_and_the_analyst() {
    let shop = Shop::new();
    let contract = fs::read_to_string(shop.path("hushtable.toml")).unwrap();
    fs::write(shop.path("hushtable.toml"), contract + "bo = { epsilon = 2 }\n").unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let run = |analyst: &str, arguments: &[&str]| {
        let mut command = command_in(elsewhere.path(), arguments);
        command.env("HUSHTABLE_CONTRACT", shop.path("hushtable.toml"));
        Run::of(command.env("HUSHTABLE_ANALYST", analyst).output().unwrap())
    };
    let result = run("bo", &["query", COUNT_BY_PRODUCT]);
    assert!(result.stderr.contains("to bo on visits"), "{}", result.stderr);
    // Options come first, and a variable that is empty is none.
    let result = run("bo", &["query", "--analyst", "ana", COUNT_BY_PRODUCT]);
    assert!(result.stderr.contains("to ana on visits"), "{}", result.stderr);
    assert!(run("", &["query", COUNT_BY_PRODUCT]).refusal().contains("analyst"));
    let error = run("bo", &["query", "--contract", "none.toml", COUNT_BY_PRODUCT]).refusal();
    assert!(error.contains("none.toml"), "{error}");
}

#[test]
fn colours_follow_the_choice() {
    let shop = Shop::new();
    let error = |arguments: &[&str]| shop.run(arguments).stderr;
    assert!(!error(&["query", "SELECT nothing FROM visits"]).contains('\u{1b}'));
    let stderr = error(&["query", "--color", "always", "SELECT nothing FROM visits"]);
    assert!(stderr.starts_with("\u{1b}[1;31merror:\u{1b}[0m "), "{stderr:?}");
    assert!(stderr.contains("  \u{1b}[1;36mhint:\u{1b}[0m "), "{stderr:?}");
    let mut command = shop.command(&["--color", "auto", "query", "SELECT nothing FROM visits"]);
    let run = Run::of(command.env("NO_COLOR", "1").output().unwrap());
    assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
}

#[test]
fn tables_are_listed_and_described_without_a_ledger() {
    let shop = Shop::new();
    fs::remove_file(shop.path("visits.csv")).unwrap();
    insta::assert_snapshot!("tables", shop.run(&["tables"]).success());
    insta::assert_snapshot!("describe", shop.run(&["describe", "VISITS"]).success());
    let json = shop.run(&["describe", "--format", "json", "visits"]).success();
    insta::assert_snapshot!("describe_json", json);
    let json: serde_json::Value =
        serde_json::from_str(&shop.run(&["tables", "--format", "json"]).success()).unwrap();
    assert_eq!(json[0]["table"], "visits");
    let error = shop.run(&["describe", "orders"]).refusal();
    assert!(error.contains("no table `orders`") && error.contains("visits"), "{error}");
    shop.assert_untouched();
}

#[test]
fn results_are_pages_and_reports() {
    let shop = Shop::new();
    shop.run(&["query", "--output", "a.md", COUNT_BY_PRODUCT]).success();
    let markdown = fs::read_to_string(shop.path("a.md")).unwrap();
    assert!(markdown.starts_with("| product | visits |\n| :--- | ---: |\n| "), "{markdown}");
    shop.run(&["query", "--output", "a.html", COUNT_BY_PRODUCT]).success();
    let page = fs::read_to_string(shop.path("a.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>\n") && page.ends_with("</html>\n"), "{page}");
    assert!(page.contains("<tr><td>bread</td><td class=\"number\">"), "{page}");
    let printed = shop.run(&["query", "--format", "markdown", COUNT_BY_PRODUCT]).success();
    assert_eq!(printed, markdown);
}

#[test]
fn completions_pages_and_the_schema_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let arguments = [&["generate"], arguments].concat();
        Run::of(command_in(folder.path(), &arguments).output().unwrap())
    };
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(&["completions", shell]).success();
        assert!(script.contains("hushtable") && script.contains("randomize"), "{shell}");
    }
    let names = run(&["man", "--out", "man/man1"]).success();
    assert!(names.lines().any(|name| name == "man/man1/hushtable-calc-noise.1"), "{names}");
    for name in names.lines() {
        let page = fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(page.contains(".TH ") && page.contains(".SH NAME"), "{name}");
    }
    let page = fs::read_to_string(folder.path().join("man/man1/hushtable-query.1")).unwrap();
    assert!(page.contains("hushtable\\-query") || page.contains("hushtable-query"), "{page}");
    let schema = run(&["schema"]).success();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert!(schema["$defs"]["table"].is_object());
    fs::write(folder.path().join("file"), "mine").unwrap();
    let error = run(&["man", "--out", "file"]).refusal();
    assert!(error.contains("cannot create the folder `file"), "{error}");
}
