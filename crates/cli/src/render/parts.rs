//! Quotes of statements of several private parts: their promises and costs.

use std::fmt::Write;

use hushtable::privacy::Loss;
use hushtable::query::{
    AutomaticLimit, ConsistentPrecision, Explanation, LimitExplained, MechanismsExplained,
};
use hushtable::{AccountQuoted, Standing, StatementPartQuoted, StatementQuoted};
use serde::Serialize;

use super::explanation::of_one_query;
use super::fitting_levels::fitting_levels;
use super::grid::{Grid, Side, visible};
use super::quoted::BudgetReport;
use super::workload::standing;
use super::{page, pretty_json};
use crate::failure::Failure;

#[derive(Debug, Serialize)]
struct Report<'a> {
    parts: Vec<PartReport<'a>>,
    around: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    consistent: &'a [ConsistentPrecision],
    accounts: Vec<AccountReport<'a>>,
}

#[derive(Debug, Serialize)]
struct PartReport<'a> {
    name: &'a str,
    sql: &'a str,
    weight: Option<u32>,
    reads: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    report_of: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    limits_from: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    same_as: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    automatic: &'a [AutomaticLimit],
    standing: Standing,
    explanation: &'a Explanation,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    mechanisms: &'a [MechanismsExplained],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    limits: &'a [LimitExplained],
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
        report_of: &part.report_of,
        limits_from: &part.limits_from,
        same_as: part.same_as.as_deref(),
        automatic: &part.automatic,
        standing: part.standing,
        explanation: &part.explanation,
        mechanisms: &part.mechanisms,
        limits: &part.limits,
    });
    let parts = parts.collect();
    let accounts = quoted.accounts.iter().map(|account| {
        let left = account.account.left.minus(account.charge);
        let budget =
            BudgetReport::new(&quoted.analyst, None, account.charge, &account.account, left);
        AccountReport { population: &account.population, total: account.total, budget }
    });
    let around = quoted.around.as_deref();
    let consistent = quoted.consistent.as_slice();
    pretty_json(&Report { parts, around, consistent, accounts: accounts.collect() })
}

/// A quote of a statement as text: a page for each part, or all of its tables.
pub(crate) fn text(quoted: &StatementQuoted, verbose: bool) -> String {
    let mut out = overview(&quoted.parts);
    for part in &quoted.parts {
        // Writing to a String cannot fail.
        let _ = write!(out, "\nPart {}: {}\n", part.name, visible(&part.sql));
        if let Some(other) = &part.same_as {
            let _ = writeln!(out, "It shows the release of {other} in another way: free.");
        }
        if !part.reads.is_empty() {
            let _ = writeln!(out, "It reads {}.", part.reads.join(", "));
        }
        out += &chosen(part);
        let rendered = match verbose {
            true => of_one_query(&part.explanation, &part.mechanisms, &part.limits),
            false if !part.report_of.is_empty() => {
                page::of_report(&part.explanation, &part.report_of)
            }
            false if part.is_histogram => page::of_histogram(&part.explanation),
            false => page::of_one_query(&part.explanation),
        };
        let _ = write!(out, "\n{rendered}");
    }
    if let Some(around) = &quoted.around {
        let _ = write!(
            out,
            "\nSQL around the parts\n  {}\nIt runs on the released tables: free.\n",
            visible(around)
        );
    }
    if !quoted.consistent.is_empty() {
        let _ = write!(out, "\n{}", fitting_levels(&quoted.consistent));
    }
    for account in &quoted.accounts {
        let _ = write!(out, "\n{}", cost(&quoted.analyst, &quoted.parts, account));
    }
    out
}

/// The price in each account.
pub(crate) fn costs(quoted: &StatementQuoted) -> String {
    let blocks =
        quoted.accounts.iter().map(|account| cost(&quoted.analyst, &quoted.parts, account));
    blocks.collect::<Vec<_>>().join("\n")
}

/// The limits of a part that are chosen when it is asked.
fn chosen(part: &StatementPartQuoted) -> String {
    if part.automatic.is_empty() {
        return String::new();
    }
    let from = part.limits_from.join(", ");
    let mut out = format!("These limits are chosen privately, from {from}:\n");
    for limit in &part.automatic {
        let _ = writeln!(
            out,
            "- {}; below it is {}, as an example",
            visible(&limit.limit),
            limit.example
        );
    }
    out
}

/// Whether every account has enough.
pub(crate) fn is_affordable(quoted: &StatementQuoted) -> bool {
    quoted.accounts.iter().all(|account| account.account.left.minus(account.charge).is_some())
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
            protected(&part.explanation),
            share(part),
            match &part.same_as {
                Some(other) => format!("that of {other}"),
                None => part.explanation.total.to_string(),
            },
            match &part.same_as {
                Some(other) => format!("with {other}"),
                None => standing(part.standing).to_owned(),
            },
        ]);
    }
    format!("Private parts\n{}", grid.text(2))
}

/// The populations that a part protects.
fn protected(explanation: &Explanation) -> String {
    let population = visible(&explanation.population);
    match &explanation.beside {
        Some(beside) => format!("{population} and {}", visible(&beside.population)),
        None => population,
    }
}

/// The share of a part in the statement's budget.
fn share(part: &StatementPartQuoted) -> String {
    match part.weight {
        _ if !part.report_of.is_empty() => format!("a tenth of {}", part.report_of.join(", ")),
        _ if part.same_as.is_some() => String::new(),
        _ if part.is_histogram => "for limits, of a tenth".to_owned(),
        Some(weight) => weight.to_string(),
        None => "its own budget".to_owned(),
    }
}

fn cost(analyst: &str, parts: &[StatementPartQuoted], account: &AccountQuoted) -> String {
    let mut grid = Grid::pairs();
    grid.push(["the parts' loss", &account.total.to_string()]);
    let pays = |part: &&StatementPartQuoted| {
        let beside = part.explanation.beside.as_ref().map(|beside| &beside.population);
        part.explanation.population == account.population || beside == Some(&account.population)
    };
    let mut paying = parts.iter().filter(|part| part.same_as.is_none()).filter(pays);
    let all_paid = paying.all(|part| part.standing != Standing::New);
    if account.charge != account.total {
        grid.push(["charged", &account.charge.to_string()]);
    }
    grid.push(["budget", &account.account.total.to_string()]);
    grid.push(["spent", &account.account.spent.to_string()]);
    grid.push(["left before", &account.account.left.to_string()]);
    let (after, verdict) = match account.account.left.minus(account.charge) {
        Some(left) if all_paid => (left.to_string(), "All parts are paid for: asking is free."),
        Some(left) => (left.to_string(), "The budget suffices."),
        None => {
            ("-".to_owned(), "The budget does not suffice: the whole statement would be refused.")
        }
    };
    grid.push(["left after", &after]);
    let (analyst, population) = (visible(analyst), visible(&account.population));
    format!("Budget of {analyst} on {population}\n{}\n{verdict}\n", grid.text(2))
}
