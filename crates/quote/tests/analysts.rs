//! Queries as analysts write them, over contracts as owners would write them: what runs, and what
//! is refused with a reason and a way out.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::fmt::Write as _;

use hushtable_contract::Contract;
use hushtable_plan::SqlStatement;
use hushtable_quote::Quote;

const CONTRACT: &str = include_str!("analysts/hushtable.toml");

/// The queries of a file: between blank lines, each under a comment or none.
fn queries(file: &str) -> impl Iterator<Item = &str> {
    file.split("\n\n").map(str::trim).filter(|query| !query.is_empty())
}

fn refusal(sql: &str, contract: &Contract) -> Option<String> {
    let statement = match SqlStatement::bind(sql, contract) {
        Ok(statement) => statement,
        Err(refusal) => return Some(format!("{}\n  hint: {}", refusal.what, refusal.hint)),
    };
    let quotes = statement.parts.into_iter().map(|part| Quote::new(part.query).map(drop));
    quotes.collect::<Result<(), _>>().err().map(|refusal| refusal.to_string())
}

/// Every query of these files runs.
#[test]
fn queries_of_analysts_run() {
    let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
    let files = [
        ("web", include_str!("analysts/web.sql")),
        ("product", include_str!("analysts/product.sql")),
        ("health", include_str!("analysts/health.sql")),
        ("trade", include_str!("analysts/trade.sql")),
        ("dashboards", include_str!("analysts/dashboards.sql")),
    ];
    let mut refused = String::new();
    let mut many = 0;
    for (file, text) in files {
        for sql in queries(text) {
            many += 1;
            if let Some(why) = refusal(sql, &contract) {
                writeln!(refused, "{file}: {sql}\n-> {why}\n").unwrap();
            }
        }
    }
    assert!(many >= 170, "{many}");
    assert!(refused.is_empty(), "{refused}");
}

/// Queries for single rows, or for units one by one, are refused with the reason and a way out.
#[test]
fn queries_for_single_rows_are_refused() {
    let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
    let mut refusals = String::new();
    for sql in queries(include_str!("analysts/single.sql")) {
        let why = refusal(sql, &contract).unwrap_or_else(|| "ACCEPTED".to_owned());
        writeln!(refusals, "{sql}\n-> {why}\n").unwrap();
    }
    insta::assert_snapshot!(refusals);
}
