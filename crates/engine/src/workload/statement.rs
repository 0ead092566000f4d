//! The one statement of a workload.

use hushtable_query::WorkloadExplanation;
use serde::Serialize;

use crate::error::EngineError;
use crate::record::{ACCOUNTANT, ENGINE, RANDOMNESS};

/// The machine-readable record of what all releases of a workload promise together, with the statement of
/// each. It follows from the workload and those alone, so that it is the same however often the
/// workload was stopped.
#[derive(Serialize)]
struct WorkloadStatement<'a> {
    /// Format of the statement.
    workload_statement: u32,
    /// Who made it.
    engine: &'static str,
    /// Who asked.
    analyst: &'a str,
    /// What accounts for the total.
    accountant: &'static str,
    /// Where the noise comes from.
    randomness: &'static str,
    /// Of which records the total, and the policy, hold.
    holds_for: &'static str,
    /// What is promised.
    #[serde(flatten)]
    explanation: &'a WorkloadExplanation,
    /// The queries, in the workload's order.
    parts: Vec<PartStatement>,
}

/// One query with its statement.
#[derive(Serialize)]
pub(super) struct PartStatement {
    pub(super) name: String,
    /// Where its result was written.
    pub(super) file: String,
    /// Its share of the budget, relative to the others'.
    pub(super) weight: u32,
    pub(super) statement: serde_json::Value,
}

pub(super) fn statement(
    analyst: &str,
    explanation: &WorkloadExplanation,
    parts: Vec<PartStatement>,
) -> Result<serde_json::Value, EngineError> {
    serde_json::to_value(WorkloadStatement {
        workload_statement: 1,
        engine: ENGINE,
        analyst,
        accountant: ACCOUNTANT,
        randomness: RANDOMNESS,
        holds_for: "every privacy unit; one that the WHERE of some queries leaves out loses less",
        explanation,
        parts,
    })
    .map_err(|_| EngineError::Inconsistent)
}
