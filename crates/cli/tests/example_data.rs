//! The example's data are what its generator makes.

#[path = "../../../examples/shop/generate.rs"]
#[allow(missing_docs, unreachable_pub, reason = "an example's source, not an interface")]
mod generate;

#[path = "../../../examples/clinics/generate.rs"]
#[allow(missing_docs, unreachable_pub, reason = "an example's source, not an interface")]
mod clinics;

use hushtable::query::Contract;

#[test]
fn the_generator_makes_the_shipped_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shop/visits.csv");
    let shipped = std::fs::read_to_string(path).unwrap();
    assert_eq!(generate::csv(generate::SEED), shipped);
    assert!(shipped.len() < 300_000 && shipped.lines().count() > 3_000);
}

#[test]
fn the_clinics_file_is_as_messy_as_its_generator_makes_it() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/clinics/visits.csv");
    let shipped = std::fs::read(path).unwrap();
    assert_eq!(clinics::csv(clinics::SEED), shipped);
    assert!(String::from_utf8(shipped).is_err(), "it is in windows-1252");
}

#[test]
fn the_contract_of_the_example_is_valid() {
    let text = include_str!("../../../examples/shop/hushtable.toml");
    let contract = Contract::parse(text, "hushtable.toml").unwrap();
    assert_eq!(contract.populations["visits"].budgets.len(), 1);
}
