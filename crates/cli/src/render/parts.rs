//! Quotes of statements of several private parts: their promises and costs.

use std::fmt::Write;

use hushtable::privacy::Loss;
use hushtable::query::{Explanation, MechanismsExplained};
use hushtable::{AccountQuoted, Standing, StatementPartQuoted, StatementQuoted};
use serde::Serialize;

use super::explanation::of_one_query;
use super::grid::{Grid, Side, visible};
use super::number::less;
use super::quoted::BudgetReport;
use super::workload::standing;
use super::{page, pretty_json};
use crate::failure::Failure;

#[derive(Debug, Serialize)]
struct Report<'a> {
    parts: Vec<PartReport<'a>>,
    around: Option<&'a str>,
    accounts: Vec<AccountReport<'a>>,
}

#[derive(Debug, Serialize)]
struct PartReport<'a> {
    name: &'a str,
    sql: &'a str,
    weight: Option<u32>,
    reads: &'a [String],
    standing: Standing,
    explanation: &'a Explanation,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    mechanisms: &'a [MechanismsExplained],
}

#[derive(Debug, Serialize)]
struct AccountReport<'a> {
    population: &'a str,
    total: Loss,
    budget: BudgetReport<'a>,
}

/// A quote of a statement as JSON.
pub(crate) fn json(quoted: &StatementQuoted) -> Result<String, Failure> {
    let parts = quoted.parts.iter().map(|part| PartReport {
        name: &part.name,
        sql: &part.sql,
        weight: part.weight,
        reads: &part.reads,
        standing: part.standing,
        explanation: &part.explanation,
        mechanisms: &part.mechanisms,
    });
    let parts = parts.collect();
    let accounts = quoted.accounts.iter().map(|own| {
        let left = less(own.account.left, own.charge);
        let budget = BudgetReport::new(&quoted.analyst, None, own.charge, &own.account, left);
        AccountReport { population: &own.population, total: own.total, budget }
    });
    let around = quoted.around.as_deref();
    pretty_json(&Report { parts, around, accounts: accounts.collect() })
}

/// A quote of a statement as text: a page for each part, or all of its tables.
pub(crate) fn text(quoted: &StatementQuoted, verbose: bool) -> String {
    let mut out = overview(&quoted.parts);
    for part in &quoted.parts {
        // Writing to a String cannot fail.
        let _ = write!(out, "\nPart {}: {}\n", part.name, visible(&part.sql));
        if !part.reads.is_empty() {
            let _ = writeln!(out, "It reads {}.", part.reads.join(", "));
        }
        let shown = match verbose {
            true => of_one_query(&part.explanation, &part.mechanisms),
            false => page::of_one_query(&part.explanation),
        };
        let _ = write!(out, "\n{shown}");
    }
    if let Some(around) = &quoted.around {
        let _ = write!(
            out,
            "\nSQL around the parts\n  {}\nIt runs on the released tables: free.\n",
            visible(around)
        );
    }
    for account in &quoted.accounts {
        let _ = write!(out, "\n{}", cost(&quoted.analyst, &quoted.parts, account));
    }
    out
}

fn overview(parts: &[StatementPartQuoted]) -> String {
    let mut grid = Grid::new([
        ("part", Side::Left),
        ("protects", Side::Left),
        ("weight", Side::Right),
        ("privacy loss", Side::Left),
        ("ledger", Side::Left),
    ]);
    for part in parts {
        grid.push([
            part.name.clone(),
            visible(&part.explanation.population),
            part.weight.map_or_else(|| "its own budget".to_owned(), |weight| weight.to_string()),
            part.explanation.total.to_string(),
            standing(part.standing).to_owned(),
        ]);
    }
    format!("Private parts\n{}", grid.text(2))
}

fn cost(analyst: &str, parts: &[StatementPartQuoted], own: &AccountQuoted) -> String {
    let mut grid = Grid::pairs();
    grid.push(["the parts' loss", &own.total.to_string()]);
    let mut own_parts = parts.iter().filter(|part| part.explanation.population == own.population);
    let all_paid = own_parts.all(|part| part.standing != Standing::New);
    if own.charge != own.total {
        grid.push(["charged", &own.charge.to_string()]);
    }
    grid.push(["budget", &own.account.total.to_string()]);
    grid.push(["spent", &own.account.spent.to_string()]);
    grid.push(["left before", &own.account.left.to_string()]);
    let (after, verdict) = match less(own.account.left, own.charge) {
        Some(left) if all_paid => (left.to_string(), "All parts are paid for: asking is free."),
        Some(left) => (left.to_string(), "The budget suffices."),
        None => {
            ("-".to_owned(), "The budget does not suffice: the whole statement would be refused.")
        }
    };
    grid.push(["left after", &after]);
    let (analyst, population) = (visible(analyst), visible(&own.population));
    format!("Budget of {analyst} on {population}\n{}\n{verdict}\n", grid.text(2))
}
