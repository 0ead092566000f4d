//! Quotes, for `explain`, the shell and `release --explain`.

use hushtable::privacy::Loss;
use hushtable::query::{
    AutomaticLimit, ConsistentPrecision, EpsilonAt, Explanation, JointExplanation,
    LimitExplanation, MechanismsExplanation,
};
use hushtable::{AccountQuote, PartQuote, QuestionQuote, Standing};
use serde::Serialize;

use super::grid::{TextGrid, visible};
use super::number::at_least;
use super::plain_quote::{Plain, answered_before};
use super::{explanation, page, parts, pretty_json, workload};
use crate::arguments::TextOrJson;
use crate::failure::Failure;

/// A quote as JSON: the same form for every question.
#[derive(Debug, Serialize)]
struct QuoteReport<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    together: Option<&'a JointExplanation>,
    parts: Vec<PartReport<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    around: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    consistent: &'a [ConsistentPrecision],
    accounts: Vec<AccountReport<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_before: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct PartReport<'a> {
    name: &'a str,
    sql: &'a str,
    weight: Option<u32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reads: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    report_of: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    limits_from: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_histogram: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    same_as: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    automatic: &'a [AutomaticLimit],
    standing: Standing,
    /// With the keys that a release's statement has.
    explanation: &'a Explanation,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    mechanisms: &'a [MechanismsExplanation],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    limits: &'a [LimitExplanation],
}

/// How a quote stands with a budget.
#[derive(Debug, Serialize)]
struct AccountReport<'a> {
    analyst: &'a str,
    population: &'a str,
    /// The loss of the population's units by all parts.
    loss: Loss,
    charge: Loss,
    budget: Loss,
    spent: Loss,
    left: Loss,
    /// Absent where the budget does not suffice.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_after: Option<Loss>,
    suffices: bool,
}

/// A quote as JSON.
pub(crate) fn json(quoted: &QuestionQuote) -> Result<String, Failure> {
    let parts = quoted.parts.iter().map(|part| PartReport {
        name: &part.name,
        sql: &part.sql,
        weight: part.weight,
        reads: &part.reads,
        report_of: &part.report_of,
        limits_from: &part.limits_from,
        is_histogram: part.is_histogram,
        same_as: part.same_as.as_deref(),
        automatic: &part.automatic,
        standing: part.standing,
        explanation: &part.explanation,
        mechanisms: &part.mechanisms,
        limits: &part.limits,
    });
    let accounts = quoted.accounts.iter().map(|account| AccountReport {
        analyst: &quoted.analyst,
        population: &account.population,
        loss: account.total,
        charge: account.charge,
        budget: account.account.total,
        spent: account.account.spent,
        left: account.account.left,
        left_after: account.left_after(),
        suffices: account.left_after().is_some(),
    });
    pretty_json(&QuoteReport {
        together: quoted.together.as_ref(),
        parts: parts.collect(),
        around: quoted.around.as_deref(),
        consistent: &quoted.consistent,
        accounts: accounts.collect(),
        answered_before: quoted.answered_before.as_deref(),
    })
}

/// How the command shows all of a quote.
const MORE: &str = "--verbose shows all mechanisms, losses and probabilities";

/// A quote in a format; `verbose` is for text alone.
pub(crate) fn in_format(
    quoted: &QuestionQuote,
    format: TextOrJson,
    verbose: bool,
) -> Result<String, Failure> {
    match format {
        TextOrJson::Text => Ok(text(quoted, verbose)),
        TextOrJson::Json => json(quoted),
    }
}

/// A quote as text: one page for a plain query, and otherwise an overview of its parts first.
pub(crate) fn text(quoted: &QuestionQuote, verbose: bool) -> String {
    text_with(quoted, verbose, MORE)
}

/// A quote as text; `more` says how all of a plain query's is shown.
pub(crate) fn text_with(quoted: &QuestionQuote, verbose: bool, more: &str) -> String {
    let budget = || costs(quoted);
    match (Plain::of(quoted), &quoted.together) {
        (Some(plain), _) if !verbose => page::text(&plain, more),
        (Some(Plain { part, .. }), _) => {
            let promise =
                explanation::of_one_query(&part.explanation, &part.mechanisms, &part.limits);
            format!("{promise}\n{}", budget())
        }
        (None, Some(together)) => format!("{}\n{}", workload::text(quoted, together), budget()),
        (None, None) => format!("{}\n{}", parts::text(quoted, verbose), budget()),
    }
}

/// The price in one line for a plain query, and otherwise a block for each budget.
pub(crate) fn price(quoted: &QuestionQuote) -> String {
    match Plain::of(quoted) {
        Some(plain) => page::cost(&plain),
        None => costs(quoted),
    }
}

/// The loss, the charge and the rest of each budget.
fn costs(quoted: &QuestionQuote) -> String {
    let blocks: Vec<String> = quoted.accounts.iter().map(|account| cost(quoted, account)).collect();
    let before = quoted.answered_before.as_deref();
    blocks.join("\n") + &before.map_or_else(String::new, |at| answered_before(at) + ".\n")
}

fn cost(quoted: &QuestionQuote, account: &AccountQuote) -> String {
    let pays = |part: &&PartQuote| {
        let beside = part.explanation.beside.as_ref().map(|beside| &beside.population);
        part.explanation.population == account.population || beside == Some(&account.population)
    };
    let paying: Vec<&PartQuote> =
        quoted.parts.iter().filter(|part| part.same_as.is_none()).filter(pays).collect();
    let words = BudgetWords::of(quoted);
    let per_record = paying.iter().any(|part| part.explanation.policy.is_some());
    let of_whom = if per_record { ", for a record at the thresholds" } else { "" };
    let mut grid = TextGrid::pairs();
    grid.push([words.loss, &format!("{}{of_whom}", account.total)]);
    for implied in implied(quoted) {
        let (epsilon, delta) = (at_least(implied.epsilon), at_least(implied.delta));
        grid.push(["  that implies", &format!("epsilon = {epsilon}, delta = {delta}")]);
    }
    // The charge in the budget's currency, where that is another one, or for a part of it.
    if account.charge != account.total {
        grid.push(["charged", &account.charge.to_string()]);
    }
    grid.push(["budget", &account.account.total.to_string()]);
    grid.push(["spent", &account.account.spent.to_string()]);
    grid.push(["left before", &account.account.left.to_string()]);
    let is_new = |part: &&PartQuote| part.standing == Standing::New;
    let (after, verdict) = match account.left_after() {
        Some(left) if !paying.iter().any(is_new) => (left.to_string(), words.free),
        Some(left) => (left.to_string(), "The budget suffices."),
        None => ("-".to_owned(), words.refused),
    };
    grid.push(["left after", &after]);
    let (analyst, population) = (visible(&quoted.analyst), visible(&account.population));
    format!("Budget of {analyst} on {population}\n{}\n{verdict}\n", grid.text(2))
}

/// The losses in epsilon that a quote's loss implies.
fn implied(quoted: &QuestionQuote) -> &[EpsilonAt] {
    match (&quoted.together, Plain::of(quoted)) {
        (Some(together), _) => &together.total_as_epsilon,
        (None, Some(plain)) => &plain.part.explanation.total_as_epsilon,
        (None, None) => &[],
    }
}

/// The words for a question's budget.
struct BudgetWords {
    loss: &'static str,
    free: &'static str,
    refused: &'static str,
}

impl BudgetWords {
    fn of(quoted: &QuestionQuote) -> Self {
        if let Some(Plain { part, .. }) = Plain::of(quoted) {
            return Self {
                loss: "the query's loss",
                free: match part.standing {
                    Standing::Paid => {
                        "This question is paid for and has no answer yet: asking again is free."
                    }
                    _ => "This question has an answer on record: asking again is free.",
                },
                refused: "The budget does not suffice: the query would be refused.",
            };
        }
        if quoted.together.is_some() {
            return Self {
                loss: "the workload's loss",
                free: "All queries are paid for: the release is free.",
                refused: "The budget does not suffice: the workload would be refused.",
            };
        }
        Self {
            loss: "the parts' loss",
            free: "All parts are paid for: asking is free.",
            refused: "The budget does not suffice: the whole statement would be refused.",
        }
    }
}
