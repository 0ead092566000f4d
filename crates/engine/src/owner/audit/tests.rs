//! The audit, handed what is broken and what is not.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod broken;
mod kept;
mod nearby;

use std::fmt::Write as _;

use hushtable_noise::{Generator, TestSeed};

use super::*;
use crate::tests::{Fixture, Wait};

const CONTRACT: &str = r#"
[tables.visits]
path = "visits.csv"
privacy_unit = "person"
[tables.visits.columns]
person = { type = "int" }
town = { type = "string" }
shop = { type = "string", public_keys = ["north", "south"] }
days = { type = "int", bounds = [-4, 4], sum_bounds = [-4, 4] }
[tables.visits.budgets]
ana = { epsilon = 10, delta = 0.9 }

[tables.exchanged]
path = "exchanged.csv"
privacy_unit = "person"
neighbouring = "replace"
[tables.exchanged.columns]
person = { type = "int" }
town = { type = "string" }
days = { type = "int", bounds = [-4, 4], sum_bounds = [-4, 4] }
[tables.exchanged.budgets]
ana = { epsilon = 10, delta = 0.9 }

[tables.rows]
path = "rows.csv"
privacy_unit = "row"
[tables.rows.columns]
person = { type = "int" }
town = { type = "string" }
days = { type = "int", bounds = [-4, 4], sum_bounds = [-4, 4] }
[tables.rows.budgets]
ana = { epsilon = 10, delta = 0.9 }

[tables.exchanged_rows]
path = "exchanged_rows.csv"
privacy_unit = "row"
neighbouring = "replace"
[tables.exchanged_rows.columns]
person = { type = "int" }
town = { type = "string" }
days = { type = "int", bounds = [-4, 4], sum_bounds = [-4, 4] }
[tables.exchanged_rows.budgets]
ana = { epsilon = 10, delta = 0.9 }
"#;

/// 60 people in two of three towns each, with small numbers of days; person 100, in all of them
/// with as many days as may be and in a town of its own; and person 200, alone in two others.
const HEAVY: u32 = 100;

/// Numbers of people are spread, so that one value more or less moves their median.
const SPREAD: &str = "person, contribution_bounds_per_row => (0, 200)";

fn data(without: Option<u32>) -> String {
    let mut rows: Vec<(u32, String, i32)> = Vec::new();
    for person in 0..60u32 {
        for turn in 0..2 {
            rows.push((person, format!("t{}", (person + turn) % 3), (person % 3) as i32 - 1));
        }
    }
    for town in ["t0", "t1", "t2", "own"] {
        rows.push((HEAVY, town.to_owned(), 9));
    }
    rows.extend([(200, "far".to_owned(), 0), (200, "away".to_owned(), 0)]);
    let mut csv = "person,town,shop,days\n".to_owned();
    for (row, (person, town, days)) in rows.into_iter().enumerate() {
        if Some(person) != without {
            let shop = if row % 2 == 0 { "north" } else { "south" };
            writeln!(csv, "{person},{town},{shop},{days}").unwrap();
        }
    }
    csv
}

fn folder() -> Fixture {
    let data = data(None);
    let names = ["visits.csv", "exchanged.csv", "rows.csv", "exchanged_rows.csv"];
    Fixture::new(CONTRACT, &names.map(|name| (name, data.as_str())))
}

fn sql(options: &str, select: &str) -> String {
    format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {select}")
}

fn generators(seed: u64) -> Vec<Generator> {
    vec![TestSeed(seed).generator(), TestSeed(seed + 1_000_000).generator()]
}

/// Options for `runs` runs, and bounds that are wrong with a probability of 1e-6 for each audit.
fn options(runs: u64) -> AuditOptions {
    AuditOptions { runs, units: 2, confidence: 0.999_999, delta: None }
}

fn audit(folder: &Fixture, sql: &str, runs: u64, seed: u64) -> AuditReport {
    let mut generators = generators(seed);
    folder
        .session()
        .audit_with(sql, &options(runs), &Progress::default(), &mut generators)
        .wait()
        .unwrap()
}

fn tables(folder: &Fixture, sql: &str) -> ComparedTables {
    let session = folder.session();
    ComparedTables::read(&session.check(sql).unwrap(), 2, SamplingKey([5; 16])).wait().unwrap()
}

fn quote(folder: &Fixture, sql: &str) -> Quote {
    folder.session().check(sql).unwrap().quote
}
