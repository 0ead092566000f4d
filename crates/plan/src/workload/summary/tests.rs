use hushtable_contract::Contract;
use hushtable_numbers::Number;
use hushtable_privacy::Loss;

use super::bins::bins;
use super::{Missing, Summary};
use crate::Workload;

const CONTRACT: &str = r#"
ledger = "l"
[tables.people]
path = "people.csv"
privacy_unit = "id"
[tables.people.columns]
id = { type = "int" }
"home {town}" = { type = "string", not_null = true }
age = { type = "int", bounds = [0, 100], not_null = true }
children = { type = "int", bounds = [0, 12] }
income = { type = "decimal(2)", bounds = [0, 250_000] }
grade = { type = "string", public_keys = ["a", "b"] }
insured = { type = "bool" }
born = { type = "date" }
height = { type = "float" }
postcode = { type = "int" }
[tables.people.defaults]
epsilon = 1
delta = 1e-6
max_groups_contributed = 1
max_rows_per_group = 1
[tables.people.budgets]
me = { epsilon = 10, delta = 1e-5 }
"#;

fn summary() -> (Contract, Summary) {
    let contract = Contract::parse(CONTRACT, "c.toml").unwrap();
    let table = contract.table("people").unwrap();
    let loss = contract.population(table).unwrap().defaults.loss().unwrap();
    let summary = Summary::of(table, loss);
    (contract, summary)
}

#[test]
fn every_column_has_its_questions() {
    insta::assert_snapshot!(summary().1.workload);
}

#[test]
fn a_summary_is_a_workload_that_binds() {
    let (contract, summary) = summary();
    let workload = Workload::parse(&summary.workload, "summary", &|_| Err(String::new())).unwrap();
    let statement = workload.statement(&contract).unwrap();
    assert_eq!(statement.parts.len(), workload.queries.len());
}

#[test]
fn columns_that_say_whose_a_row_is_are_left_out() {
    assert!(summary().1.columns.iter().all(|column| column.name != "id"));
}

#[test]
fn without_a_delta_nothing_is_chosen_privately() {
    let contract = Contract::parse(CONTRACT, "c.toml").unwrap();
    let table = contract.table("people").unwrap();
    let epsilon = "1".parse().unwrap();
    let loss = Loss::Approximate { epsilon, delta: hushtable_privacy::Delta::ZERO };
    let summary = Summary::of(table, loss);
    let without: Vec<_> = summary.columns.iter().filter(|c| c.left_out.is_some()).collect();
    let names: Vec<_> = without.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["born", "height", "home {town}", "postcode"]);
    let born = without.iter().find(|c| c.name == "born").unwrap();
    assert!(matches!(born.missing, Missing::WithRows(_)));
}

#[test]
fn bins_follow_from_bounds() {
    let edges = |low: &str, high: &str, whole| {
        let number = |text| Number::parse(text).unwrap();
        let bins = bins(number(low), number(high), whole);
        let edges: Vec<String> = bins.iter().filter_map(|bin| bin.to.clone()).collect();
        edges.join(" ")
    };
    assert_eq!(edges("0", "3", true), "1 2 3");
    assert_eq!(edges("-2", "1", true), "-1 0 1");
    assert_eq!(edges("0", "100", true), "10 20 30 40 50 60 70 80 90");
    assert_eq!(edges("18", "65", true), "20 25 30 35 40 45 50 55 60");
    assert_eq!(edges("0", "1", false), "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9");
    assert_eq!(edges("-30", "50", false), "-20 -10 0 10 20 30 40");
    assert_eq!(
        edges("0", "250000", false),
        "10 20 50 100 200 500 1000 2000 5000 10000 20000 50000 100000 200000"
    );
    assert_eq!(edges("5", "5", false), "");
    assert_eq!(edges("0", "0.01", false), "0.001 0.002 0.003 0.004 0.005 0.006 0.007 0.008 0.009");
}
