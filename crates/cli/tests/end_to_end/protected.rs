//! Results replace no ledger and no contract, and add nothing to the data.

use std::fs;
use std::path::Path;

use crate::support::{COUNT_BY_PRODUCT, Shop};

/// Asserts that a result cannot go to this file, nor a statement, and that nothing changes.
fn assert_refused(shop: &Shop, name: &str, expected: &str) {
    let before = fs::read(shop.path(name)).ok();
    for option in ["--output", "--statement"] {
        let arguments = ["query", option, name, "--format", "csv", COUNT_BY_PRODUCT];
        let refusal = shop.run(&arguments).refusal();
        assert!(refusal.contains(expected), "{option} {name}: {refusal}");
    }
    assert_eq!(fs::read(shop.path(name)).ok(), before, "{name}");
    shop.assert_untouched();
}

fn move_data(shop: &Shop, file: &str, location: &str) {
    fs::create_dir_all(shop.path(file).parent().unwrap()).unwrap();
    fs::rename(shop.path("visits.csv"), shop.path(file)).unwrap();
    let contract = fs::read_to_string(shop.path("hushtable.toml")).unwrap();
    let moved = contract.replace("path = \"visits.csv\"", &format!("path = \"{location}\""));
    fs::write(shop.path("hushtable.toml"), moved).unwrap();
}

#[test]
fn ledgers_and_contracts_of_others_stay() {
    let shop = Shop::new();
    let other = Shop::new();
    other.run(&["query", COUNT_BY_PRODUCT]).success();
    fs::copy(other.path("hushtable.ledger"), shop.path("spent.csv")).unwrap();
    fs::copy(other.path("hushtable.toml"), shop.path("others.csv")).unwrap();
    assert_refused(&shop, "spent.csv", "is a ledger");
    assert_refused(&shop, "spent.csv-journal", "is a ledger");
    assert_refused(&shop, "others.csv", "is a contract");
    let other_ledger = other.path("hushtable.ledger").display().to_string();
    assert_refused(&shop, &other_ledger, "is a ledger");
    assert_refused(&shop, "hushtable.ledger", "belongs to the contract");
    assert_refused(&shop, "hushtable.ledger-journal", "belongs to the contract");
    assert_refused(&shop, "HUSHTABLE.toml", "belongs to the contract");
    // Commands without a contract leave ledgers alone, too.
    let randomized =
        ["randomize", "--epsilon", "1", "--column", "town", "--values", "Wick,Ashford"];
    let run = shop.run(&[&randomized[..], &["--output", "spent.csv", "visits.csv"]].concat());
    assert!(run.refusal().contains("is a ledger"));
}

#[test]
fn a_file_that_a_pattern_would_match_is_not_made() {
    let shop = Shop::new();
    move_data(&shop, "data/2021/visits.csv", "data/*/v*.csv");
    assert_refused(&shop, "data/2021/visits.csv", "where table `visits` reads its data");
    assert_refused(&shop, "data/2021/visits2.csv", "the result would become data");
    assert_refused(&shop, "data/2021/../2021/VISITS3.csv", "the result would become data");
    let result = "data/2021/result.csv";
    shop.run(&["query", "--output", result, COUNT_BY_PRODUCT]).success();
}

#[test]
fn a_file_in_the_folder_of_the_data_is_not_made() {
    let shop = Shop::new();
    move_data(&shop, "data/visits.csv", "data");
    fs::create_dir(shop.path("data/more")).unwrap();
    assert_refused(&shop, "data/new.csv", "the result would become data");
    assert_refused(&shop, "data/more/new.csv", "the result would become data");
    assert_refused(&shop, "data/more/../new.parquet", "the result would become data");
    // Nor the tables of a workload.
    let workload = format!(
        "epsilon = 1\ndelta = 1e-6\n[[queries]]\nname = \"products\"\n\
         sql = \"{COUNT_BY_PRODUCT}\"\n"
    );
    fs::write(shop.path("w.toml"), workload).unwrap();
    for out in ["data", "data/more", "data/new"] {
        let refusal = shop.run(&["release", "--out", out, "w.toml"]).refusal();
        assert!(refusal.contains("the result would become data"), "{refusal}");
    }
    assert!(!shop.path("data/new").exists());
    shop.assert_untouched();
}

#[cfg(unix)]
#[test]
fn links_are_followed() {
    let shop = Shop::new();
    move_data(&shop, "data/visits.csv", "linked/*.csv");
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(Path::new(to), shop.path(name)).unwrap();
    };
    link("data", "linked");
    link("data", "other");
    link("data/visits.csv", "result.csv");
    assert_refused(&shop, "data/new.csv", "the result would become data");
    assert_refused(&shop, "other/new.csv", "the result would become data");
    assert_refused(&shop, "result.csv", "the result would become data");
}

#[cfg(unix)]
#[test]
fn man_pages_replace_no_data_contract_or_ledger() {
    let shop = Shop::new();
    shop.run(&["query", COUNT_BY_PRODUCT]).success();
    fs::copy(shop.path("hushtable.ledger"), shop.path("other.ledger")).unwrap();
    for (target, expected) in [
        ("visits.csv", "is where table `visits` reads its data"),
        ("hushtable.toml", "belongs to the contract"),
        ("hushtable.ledger", "belongs to the contract"),
        ("other.ledger", "is a ledger"),
    ] {
        let before = fs::read(shop.path(target)).unwrap();
        let man = shop.path(&format!("man of {target}"));
        fs::create_dir(&man).unwrap();
        // Not the first of the pages.
        std::os::unix::fs::symlink(shop.path(target), man.join("hushtable-query.1")).unwrap();
        let out = man.to_str().unwrap();
        let refusal = shop.run(&["generate", "man", "--out", out]).refusal();
        assert!(refusal.contains(expected), "{target}: {refusal}");
        assert_eq!(fs::read(shop.path(target)).unwrap(), before, "{target}");
        assert_eq!(fs::read_dir(&man).unwrap().count(), 1, "a page was written");
    }
    shop.run(&["generate", "man", "--out", "man"]).success();
    assert!(shop.path("man/hushtable-query.1").exists());
}
