//! The one statement of a workload.

use hushtable_query::WorkloadExplanation;
use serde::{Deserialize, Serialize};

use crate::record::{ACCOUNTANT, ENGINE, RANDOMNESS, Statement};

/// The machine-readable record of what all releases of a workload promise together, with the
/// statement of each. It follows from the workload and those alone, so that it is the same however
/// often the workload was stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadStatement {
    /// Format of the statement.
    #[serde(rename = "workload_statement")]
    pub format: u32,
    /// The version of the engine that made it.
    pub engine: String,
    /// The analyst who asked.
    pub analyst: String,
    /// The method that accounts for the total.
    pub accountant: String,
    /// Where the noise comes from.
    pub randomness: String,
    /// Of which records the total, and the policy, hold.
    pub holds_for: String,
    /// The promise.
    #[serde(flatten)]
    pub explanation: WorkloadExplanation,
    /// How the tables were adjusted to each other after they were released: `true` by least
    /// squares, `non_negative` so that no number is below zero that cannot be. Absent where they
    /// were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistent: Option<String>,
    /// The queries, in the workload's order.
    pub parts: Vec<PartStatement>,
}

/// One query with its statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartStatement {
    /// The query's name.
    pub name: String,
    /// Where its result was written.
    pub file: String,
    /// Its share of the budget, relative to the others'.
    pub weight: u32,
    /// Its promise by itself.
    pub statement: Statement,
}

pub(super) fn statement(
    analyst: String,
    explanation: WorkloadExplanation,
    consistent: Option<bool>,
    parts: Vec<PartStatement>,
) -> WorkloadStatement {
    let how = |non_negative| if non_negative { "non_negative" } else { "true" }.to_owned();
    WorkloadStatement {
        format: 1,
        engine: ENGINE.to_owned(),
        analyst,
        accountant: ACCOUNTANT.to_owned(),
        randomness: RANDOMNESS.to_owned(),
        holds_for: "every privacy unit; one that the WHERE of some queries leaves out loses less"
            .to_owned(),
        explanation,
        consistent: consistent.map(how),
        parts,
    }
}
