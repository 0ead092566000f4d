//! The machine-readable statement of what an answer promises.

mod clipping_report;

use hushtable_privacy::Loss;
use hushtable_quote::JointExplanation;
use serde::{Deserialize, Serialize};

pub use self::clipping_report::{ClippedShare, ClippingReport};
use crate::record::{ACCOUNTANT, ENGINE, RANDOMNESS, ReleaseStatement};

/// The machine-readable record of what all releases behind an answer promise together, with the
/// statement of each. It follows from the question and those alone, so that it is the same however
/// often the question is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Format of the statement.
    #[serde(rename = "statement")]
    pub format: u32,
    /// The version of the engine that made it.
    pub engine: String,
    /// The analyst who asked.
    pub analyst: String,
    /// The SQL as it was asked; absent for a workload, each part of which has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// The accountant of the totals.
    pub accountant: String,
    /// Where the noise comes from.
    pub randomness: String,
    /// The loss of each population's units, by all parts together.
    pub totals: Vec<PopulationTotal>,
    /// The joint promise of all queries of a workload that one population pays for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<JointPromise>,
    /// The private parts, each after those that it reads.
    pub parts: Vec<PartStatement>,
    /// The SQL that is computed from their releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<String>,
    /// How the tables of a workload were adjusted to each other after they were released: `true` by
    /// least squares, `non_negative` so that no number is below zero that cannot be. Absent where
    /// they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistent: Option<String>,
    /// Whether levels or tables that were to be adjusted to each other stay as they were released,
    /// as they differ by more than noise: limits cut more off at one than at another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub levels_misfit: bool,
    /// The released shares that limits cut off, where the question asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clipping_reports: Vec<ClippingReport>,
}

/// The loss of a population by all parts together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PopulationTotal {
    /// The population.
    pub population: String,
    /// The most that its units lose.
    pub total: Loss,
}

/// The joint promise of a workload's queries, and the records that it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JointPromise {
    /// Of which records the total, and the policy, hold.
    pub holds_for: String,
    /// The promise.
    #[serde(flatten)]
    pub explanation: JointExplanation,
}

impl JointPromise {
    pub(crate) fn new(explanation: JointExplanation) -> Self {
        let holds_for =
            "every privacy unit; one that the WHERE of some queries leaves out loses less";
        Self { holds_for: holds_for.to_owned(), explanation }
    }
}

/// One private part with the statement of its release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartStatement {
    /// Its name: that of a workload's query, or of the released table in the SQL around.
    pub name: String,
    /// Where its result was written, of a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its share of the budget, relative to the others'; `None` where it has its own.
    pub weight: Option<u32>,
    /// The released values that it reads, each as `part.column`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// The parts whose clipping report it is; none where it asks what the question asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report_of: Vec<String>,
    /// The parts from which its limits were chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits_from: Vec<String>,
    /// Whether limits of another part were chosen from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_histogram: bool,
    /// The part whose release it shows in another way, at no cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// The statement of its release.
    pub release: ReleaseStatement,
}

impl PartStatement {
    /// Whether the question itself asks for it: it does not serve another part.
    pub fn is_requested(&self) -> bool {
        self.report_of.is_empty() && !self.is_histogram
    }
}

impl Statement {
    /// A statement of these totals and parts, of no SQL.
    pub(crate) fn new(
        analyst: String,
        totals: Vec<PopulationTotal>,
        parts: Vec<PartStatement>,
    ) -> Self {
        Self {
            format: 2,
            engine: ENGINE.to_owned(),
            analyst,
            sql: None,
            accountant: ACCOUNTANT.to_owned(),
            randomness: RANDOMNESS.to_owned(),
            totals,
            together: None,
            parts,
            around: None,
            consistent: None,
            levels_misfit: false,
            clipping_reports: Vec::new(),
        }
    }

    /// The statement of the last release that the question itself asks for.
    pub fn last_release(&self) -> Option<&ReleaseStatement> {
        self.parts.iter().rev().find(|part| part.is_requested()).map(|part| &part.release)
    }
}
