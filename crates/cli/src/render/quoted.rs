//! A quote with the budget it would be paid from, for `explain`.

use hushtable::ledger::Account;
use hushtable::privacy::Loss;
use hushtable::query::{Explanation, LimitExplained, MechanismsExplained};
use hushtable::{Quoted, Standing};
use serde::Serialize;

use super::pretty_json;
use crate::failure::Failure;

/// Output of `explain`: the explanation, with the keys that a release's statement has, and how it
/// stands with the budget.
#[derive(Debug, Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    explanation: &'a Explanation,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    mechanisms: &'a [MechanismsExplained],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    limits: &'a [LimitExplained],
    budget: BudgetReport<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_before: Option<&'a str>,
}

/// How a quote stands with the budget.
#[derive(Debug, Serialize)]
pub(super) struct BudgetReport<'a> {
    analyst: &'a str,
    /// Absent for a workload, whose parts have a standing each.
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<Standing>,
    charge: Loss,
    total: Loss,
    spent: Loss,
    left: Loss,
    /// Absent where the budget does not suffice.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_after: Option<Loss>,
    suffices: bool,
}

impl<'a> BudgetReport<'a> {
    pub(super) fn new(
        analyst: &'a str,
        standing: Option<Standing>,
        charge: Loss,
        account: &Account,
        left_after: Option<Loss>,
    ) -> Self {
        let &Account { total, spent, left } = account;
        let suffices = left_after.is_some();
        Self { analyst, standing, charge, total, spent, left, left_after, suffices }
    }
}

/// Budget that the analyst would have left; `None` where the budget does not suffice.
pub(crate) fn left_after(quoted: &Quoted) -> Option<Loss> {
    quoted.account.left.minus(quoted.charge)
}

/// Says that the same text has an answer on record, which is not the one that would be given.
pub(crate) fn answered_before(charged_at: &str) -> String {
    let day = charged_at.get(..10).unwrap_or(charged_at);
    format!(
        "The same text was charged on {day} and answered; that answer is not for the present \
         data, contract or version"
    )
}

/// A quote as JSON.
pub(crate) fn json(quoted: &Quoted) -> Result<String, Failure> {
    let left_after = left_after(quoted);
    pretty_json(&Report {
        explanation: &quoted.explanation,
        mechanisms: &quoted.mechanisms,
        limits: &quoted.limits,
        budget: BudgetReport::new(
            &quoted.analyst,
            Some(quoted.standing),
            quoted.charge,
            &quoted.account,
            left_after,
        ),
        answered_before: quoted.answered_before.as_deref(),
    })
}
