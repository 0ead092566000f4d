//! Budgets and the charges to them.

use hushtable::ledger::{ChargeRecord, ChargeState};
use hushtable::privacy::{Delta, Epsilon, Loss};
use hushtable::{BudgetLine, OtherAccount};
use serde::Serialize;

use super::grid::{Alignment, TextGrid, visible};
use super::number::at_least;
use super::pretty_json;
use crate::failure::Failure;

/// Characters of a query that text shows; JSON has all.
const MOST_CHARACTERS: usize = 80;

#[derive(Debug, Serialize)]
struct BudgetReport<'a> {
    analyst: &'a str,
    table: &'a str,
    total: Loss,
    spent: Loss,
    left: Loss,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    of_records_at_thresholds: bool,
    together: Option<TogetherReport>,
    charges: &'a [ChargeRecord],
}

/// An account that the contract does not name.
#[derive(Debug, Serialize)]
struct OtherReport<'a> {
    analyst: &'a str,
    table: &'a str,
    state: &'static str,
    spent: &'a [Loss],
    charges: &'a [ChargeRecord],
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum AnyReport<'a> {
    Budget(BudgetReport<'a>),
    Other(OtherReport<'a>),
}

/// All charges together, as one loss.
#[derive(Debug, Serialize)]
struct TogetherReport {
    delta: Delta,
    /// Null where no epsilon holds.
    epsilon_if_losses_were_fixed: Option<Epsilon>,
    delta_at_all_times: Delta,
    epsilon_at_all_times: Option<Epsilon>,
}

/// Budgets as JSON: an array in the order given, then the accounts that the contract does not name.
pub(crate) fn json(lines: &[BudgetLine], others: &[OtherAccount]) -> Result<String, Failure> {
    let reports = lines
        .iter()
        .map(|line| BudgetReport {
            analyst: &line.analyst,
            table: &line.table,
            total: line.account.total,
            spent: line.account.spent,
            left: line.account.left,
            of_records_at_thresholds: line.per_record,
            together: (!line.charges.is_empty()).then_some(TogetherReport {
                delta: line.together.delta,
                epsilon_if_losses_were_fixed: line.together.fixed,
                delta_at_all_times: line.together.delta_at_all_times,
                epsilon_at_all_times: line.together.adaptive,
            }),
            charges: &line.charges,
        })
        .map(AnyReport::Budget);
    let others = others.iter().map(|other| {
        AnyReport::Other(OtherReport {
            analyst: &other.analyst,
            table: &other.table,
            state: state(other),
            spent: &other.spent,
            charges: &other.charges,
        })
    });
    pretty_json(&reports.chain(others).collect::<Vec<_>>())
}

/// The state of an account that the contract does not name.
fn state(other: &OtherAccount) -> &'static str {
    if other.retired { "retired" } else { "not named by the contract" }
}

/// Budgets as text, then the accounts that the contract does not name.
pub(crate) fn text(lines: &[BudgetLine], others: &[OtherAccount]) -> String {
    let blocks: Vec<String> =
        lines.iter().map(block).chain(others.iter().map(other_block)).collect();
    blocks.join("\n")
}

fn other_block(other: &OtherAccount) -> String {
    let mut amounts = TextGrid::pairs();
    for spent in &other.spent {
        amounts.push(["spent", &spent.to_string()]);
    }
    let (analyst, table) = (visible(&other.analyst), visible(&other.table));
    let (amounts, charges) = (amounts.text(2), charges(&other.charges));
    format!("{analyst} on {table} ({})\n{amounts}\n{charges}", state(other))
}

fn block(line: &BudgetLine) -> String {
    let mut amounts = TextGrid::pairs();
    amounts.push(["budget", &line.account.total.to_string()]);
    amounts.push(["spent", &line.account.spent.to_string()]);
    amounts.push(["left", &line.account.left.to_string()]);
    if line.per_record {
        amounts.push(["of whom", "a record at the thresholds; larger ones may lose more"]);
    }
    if !line.charges.is_empty() {
        let together = &line.together;
        let epsilon = |epsilon: Option<Epsilon>, delta: Delta, when: &str| match epsilon {
            Some(epsilon) => {
                format!("epsilon = {}, delta = {delta}, {when}", at_least(epsilon.to_f64()))
            }
            None => format!("no epsilon at delta = {delta}, {when}"),
        };
        let always = "whatever was asked after which answer";
        let fixed = "only if the price of each question was fixed before the first answer";
        // Adding up holds at all times as well, and may come to less.
        let added_up = match (line.account.spent, together.adaptive) {
            (Loss::Approximate { epsilon, delta }, Some(adaptive)) => {
                epsilon <= adaptive && delta <= together.delta_at_all_times
            }
            (_, adaptive) => adaptive.is_none(),
        };
        let quoted = match added_up {
            true => format!("what is spent, {always}"),
            false => epsilon(together.adaptive, together.delta_at_all_times, always),
        };
        amounts.push(["to quote", &quoted]);
        amounts.push(["or else", &epsilon(together.fixed, together.delta, fixed)]);
    }
    let (analyst, table) = (visible(&line.analyst), visible(&line.table));
    let mut names: Vec<&str> = line.charges.iter().map(|charge| charge.table.as_str()).collect();
    names.retain(|name| *name != line.table);
    names.sort_unstable();
    names.dedup();
    let formerly = match names.as_slice() {
        [] => String::new(),
        names => format!(" (formerly {})", visible(&names.join(", "))),
    };
    format!("{analyst} on {table}{formerly}\n{}\n{}", amounts.text(2), charges(&line.charges))
}

fn charges(charges: &[ChargeRecord]) -> String {
    if charges.is_empty() {
        return "  no charges yet\n".to_owned();
    }
    let mut grid = TextGrid::new([
        ("charge", Alignment::Right),
        ("time (UTC)", Alignment::Left),
        ("loss", Alignment::Left),
        ("answer", Alignment::Left),
        ("query", Alignment::Left),
    ]);
    for charge in charges {
        let note = if charge.asked == charge.charged {
            String::new()
        } else {
            format!(" (asked: {})", charge.asked)
        };
        grid.push([
            charge.id.to_string(),
            moment(&charge.charged_at),
            format!("{}{note}", charge.charged),
            match charge.state {
                ChargeState::Charged => "none yet",
                ChargeState::Drawn => "not recorded",
                ChargeState::Recorded => "on record",
            }
            .to_owned(),
            shortened(&charge.query),
        ]);
    }
    grid.text(2)
}

/// To the second: the record has milliseconds.
pub(crate) fn moment(rfc3339: &str) -> String {
    let text = visible(rfc3339);
    let plain = text.split(['.', 'Z']).next().unwrap_or(&text);
    plain.replacen('T', " ", 1)
}

/// A query on one line, cut to [`MOST_CHARACTERS`].
fn shortened(query: &str) -> String {
    let words: Vec<&str> = query.split_whitespace().collect();
    let line = visible(&words.join(" "));
    if line.chars().count() <= MOST_CHARACTERS {
        return line;
    }
    let start: String = line.chars().take(MOST_CHARACTERS - 1).collect();
    format!("{}…", start.trim_end())
}
