//! The hint of each refusal proposes something that is accepted, for the very query.
//!
//! The cases are in text files: a query that is refused, and below it the ways out that its hint
//! names, each a line of one of these forms:
//! - `write OLD ==> NEW`: the hint has NEW, and the query with NEW in the place of OLD binds.
//! - `read PIECE ==> QUERY`: the hint has PIECE, and QUERY, which is what it means, binds.
//! - `declare PIECE ==> OLD ==> NEW`: the hint has PIECE, and the query binds with NEW in the place
//!   of OLD in the contract, where `\n` is the end of a line.
//!
//! The texts of all refusals are a snapshot.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of a test")]

use std::fmt::Write as _;
use std::path::Path;

use hushtable_contract::Contract;
use hushtable_plan::SqlStatement;

const GROUPS: [&str; 9] = [
    "clauses",
    "values",
    "functions",
    "aggregates",
    "options",
    "joins",
    "subqueries",
    "around",
    "foreign",
];

fn bind(sql: &str, contract: &str) -> Result<(), String> {
    let contract = Contract::parse(contract, "hushtable.toml").map_err(|e| e.to_string())?;
    SqlStatement::bind(sql, &contract).map(|_| ()).map_err(|refusal| refusal.to_string())
}

/// Tries one way out of a query's refusal.
fn tried(sql: &str, hint: &str, way: &str, contract: &str) -> Result<(), String> {
    let (form, rest) = way.split_once(' ').unwrap();
    let parts: Vec<&str> = rest.split(" ==> ").collect();
    let (piece, sql, contract) = match (form, parts.as_slice()) {
        ("write", [old, new]) => {
            if !sql.contains(old) {
                return Err(format!("the query has no `{old}`"));
            }
            (new, sql.replacen(old, new, 1), contract.to_owned())
        }
        ("read", [piece, other]) => (piece, (*other).to_owned(), contract.to_owned()),
        ("declare", [piece, old, new]) => {
            let [old, new] = [old, new].map(|text| text.replace("\\n", "\n"));
            assert!(contract.contains(&old), "{old}");
            (piece, sql.to_owned(), contract.replacen(&old, &new, 1))
        }
        _ => panic!("{way}"),
    };
    if !hint.contains(piece) {
        return Err(format!("the hint has no `{piece}`"));
    }
    bind(&sql, &contract).map_err(|refusal| format!("{sql}\n  -> {refusal}"))
}

#[test]
fn hints_propose_what_is_accepted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hints");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let text = read("contract.toml");
    let contract = Contract::parse(&text, "hushtable.toml").unwrap();
    let (mut faults, mut cases) = (String::new(), 0);
    for name in GROUPS {
        let file = read(&format!("{name}.txt"));
        let mut report = String::new();
        for case in file.split("\n\n").map(str::trim).filter(|case| !case.starts_with('#')) {
            let mut lines = case.lines();
            let (sql, ways) = (lines.next().unwrap(), lines.map(str::trim).collect::<Vec<_>>());
            cases += 1;
            let Err(refusal) = SqlStatement::bind(sql, &contract) else {
                writeln!(faults, "{sql}\n  is accepted\n").unwrap();
                continue;
            };
            writeln!(report, "{sql}\n-> {refusal}\n").unwrap();
            if ways.is_empty() {
                writeln!(faults, "{sql}\n  has no way out\n  {refusal}\n").unwrap();
            }
            for way in ways {
                if let Err(fault) = tried(sql, &refusal.hint, way, &text) {
                    writeln!(faults, "{sql}\n  {fault}\n  refused: {refusal}\n").unwrap();
                }
            }
        }
        insta::assert_snapshot!(name, report);
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(cases >= 200, "{cases}");
}
