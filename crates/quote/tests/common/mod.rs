//! A contract for tests.

use hushtable_contract::Contract;

pub(crate) const CONTRACT: &str = r#"
ledger = "test.ledger"

[tables.posts]
path = "posts.parquet"
privacy_unit = "author"

[tables.posts.columns]
author = { type = "int" }
forum = { type = "string" }
lang = { type = "string", public_keys = ["de", "en", "fr"] }
posted = { type = "date" }
seen = { type = "timestamp" }
score = { type = "int", bounds = [-10, 100], sum_bounds = [ -10, 100 ] }
price = { type = "decimal(2)", bounds = [0, 99.99], sum_bounds = [0, 99.99] }
weight = { type = "float", granularity = 0.0625 }
pinned = { type = "bool", public_keys = [false, true] }
year = { type = "int", expression = "EXTRACT(YEAR FROM posted)", public_keys = [2024, 2025] }

[tables.posts.budgets]
ana = { epsilon = 3, delta = 1e-5 }
bo = { rho = 0.5, delta = 1e-5 }

[tables.loans]
path = "loans/*.csv.gz"
privacy_unit = "row"
neighbouring = "replace"

[tables.loans.columns.amount]
type = "float"
bounds = [0, 1_000_000]

[tables.loans.columns.county]
type = "string"

[tables.loans.defaults]
rho = 0.1
delta = 1e-6

[tables.loans.budgets]
ana = { rho = 1.5 }
"#;

#[allow(dead_code, reason = "not every test that shares this module parses the contract")]
pub(crate) fn contract() -> Contract {
    Contract::parse(CONTRACT, "hushtable.toml").unwrap()
}

/// The contract's text with a hundred languages: no unit is in more groups than are public.
#[allow(dead_code, reason = "not every test that shares this module needs many groups")]
pub(crate) fn with_many_groups() -> String {
    let all: Vec<String> = (0..100).map(|number| format!("\"l{number}\"")).collect();
    CONTRACT.replace("[\"de\", \"en\", \"fr\"]", &format!("[{}]", all.join(", ")))
}
