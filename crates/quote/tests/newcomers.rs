//! Mistakes of people who are new to the engine: each has a hint with something that is accepted.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::fmt::Write as _;

use hushtable_contract::Contract;
use hushtable_plan::SqlStatement;

const CONTRACT: &str = r#"
[tables.loans]
path = "loans.csv"
privacy_unit = "row"
budgets.ana = { rho = 1 }
defaults = { rho = 0.1, delta = 1e-6 }

[tables.loans.columns]
county = { type = "string" }
postcode = { type = "string" }
amount = { type = "int", bounds = [0, 1000000] }
year = { type = "int" }
paid = { type = "date" }
seen = { type = "timestamp" }
"#;

/// Mistakes, and for each the queries that its hint proposes.
const MISTAKES: &[(&str, &[&str])] = &[
    // Dates and numbers.
    (
        "SELECT COUNT(*) FROM loans WHERE paid >= 2024",
        &[
            "SELECT COUNT(*) FROM loans WHERE EXTRACT(YEAR FROM paid) >= 2024",
            "SELECT COUNT(*) FROM loans WHERE paid >= '2024-01-01'",
        ],
    ),
    (
        "SELECT COUNT(*) FROM loans WHERE 20240131 < seen",
        &[
            "SELECT COUNT(*) FROM loans WHERE 2024 < EXTRACT(YEAR FROM seen)",
            "SELECT COUNT(*) FROM loans WHERE '2024-01-31' < seen",
        ],
    ),
    (
        "SELECT COUNT(*) FROM loans WHERE paid = 7",
        &["SELECT COUNT(*) FROM loans WHERE paid = '2026-01-31'"],
    ),
    (
        "SELECT COUNT(*) FROM loans WHERE paid BETWEEN 2020 AND 2024",
        &[
            "SELECT COUNT(*) FROM loans WHERE EXTRACT(YEAR FROM paid) BETWEEN 2020 AND 2024",
            "SELECT COUNT(*) FROM loans WHERE paid BETWEEN '2020-01-01' AND '2024-01-01'",
        ],
    ),
    (
        "SELECT COUNT(*) FROM loans WHERE paid = year",
        &["SELECT COUNT(*) FROM loans WHERE EXTRACT(YEAR FROM paid) = year"],
    ),
    // Texts and numbers.
    (
        "SELECT COUNT(*) FROM loans WHERE postcode = 1234",
        &[
            "SELECT COUNT(*) FROM loans WHERE postcode = '1234'",
            "SELECT COUNT(*) FROM loans WHERE CAST(postcode AS INT64) = 1234",
        ],
    ),
    (
        "SELECT COUNT(*) FROM loans WHERE postcode IN (1234, 5678)",
        &[
            "SELECT COUNT(*) FROM loans WHERE postcode IN ('1234', '5678')",
            "SELECT COUNT(*) FROM loans WHERE CAST(postcode AS INT64) IN (1234, 5678)",
        ],
    ),
    (
        "SELECT COUNT(*) FROM loans WHERE postcode < 1.5",
        &[
            "SELECT COUNT(*) FROM loans WHERE postcode < '1.5'",
            "SELECT COUNT(*) FROM loans WHERE CAST(postcode AS FLOAT64) < 1.5",
        ],
    ),
    // Functions.
    (
        "SELECT county, CUONT(*) FROM loans GROUP BY county",
        &["SELECT county, COUNT(*) FROM loans GROUP BY county"],
    ),
    (
        "SELECT county, 1 + CUONT(*) FROM loans",
        &["SELECT county, 1 + COUNT(*) FROM loans GROUP BY county"],
    ),
    ("SELECT STDEV(amount) FROM loans", &["SELECT STDDEV(amount) FROM loans"]),
    (
        "SELECT LOWR(county), COUNT(*) FROM loans GROUP BY 1",
        &["SELECT LOWER(county), COUNT(*) FROM loans GROUP BY 1"],
    ),
    // Single rows.
    (
        "SELECT County, Amount FROM loans WHERE amount > 500 ORDER BY amount DESC LIMIT 10",
        &["SELECT County, COUNT(*) AS n FROM loans WHERE amount > 500 GROUP BY County"],
    ),
    ("SELECT amount * 2 FROM loans", &["SELECT COUNT(*) AS n FROM loans"]),
    (
        "SELECT * FROM loans WHERE county = 'Essex'",
        &["SELECT COUNT(*) AS n FROM loans WHERE county = 'Essex'"],
    ),
];

#[test]
fn mistakes_have_hints_that_work() {
    let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
    let mut report = String::new();
    for (sql, proposals) in MISTAKES {
        let refusal = SqlStatement::bind(sql, &contract).unwrap_err();
        writeln!(report, "{sql}\n-> {refusal}\n").unwrap();
        for proposal in *proposals {
            let bound = SqlStatement::bind(proposal, &contract);
            bound.unwrap_or_else(|refusal| panic!("{proposal}\n{refusal}"));
        }
        // Conditions and questions of a hint are those that are tried.
        let proposed = |text: &str| proposals.iter().any(|proposal| proposal.contains(text));
        for piece in refusal.hint.split("; ") {
            if let Some((condition, _)) = piece.split_once(" compares") {
                assert!(sql.contains("paid = 7") || proposed(condition), "{condition}");
            }
            if let Some((_, question)) = piece.split_once("of them: ") {
                assert!(proposed(question), "{question}");
            }
            if let Some((_, name)) = piece.split_once("did you mean ") {
                assert!(proposed(name.trim_matches(|c: char| "`?".contains(c))), "{name}");
            }
        }
    }
    insta::assert_snapshot!(report);
}
