//! The options of an audit, and its findings.

use std::ops::RangeInclusive;

use hushtable_lang::Refusal;
use hushtable_privacy::{Delta, Loss, Neighbouring};
use hushtable_quote::EpsilonAt;
use serde::Serialize;

use crate::error::EngineError;

/// How to audit.
#[derive(Clone, Copy, Debug)]
pub struct AuditOptions {
    /// Runs on each of two tables that are compared, in [`AuditOptions::RUNS`]. There are
    /// fewer where they are too much work.
    pub runs: u64,
    /// How many of the heaviest units are left out in turn, in [`AuditOptions::UNITS`].
    pub units: u64,
    /// The probability that the bound on epsilon is right, in [`AuditOptions::CONFIDENCE`].
    pub confidence: f64,
    /// For queries in rho, the delta at which epsilon is compared, beside the query's own; 1e-5 by
    /// default. Refused for queries in epsilon, which have a delta.
    pub delta: Option<Delta>,
}

impl AuditOptions {
    /// Runs: fewer show nothing, more take too long.
    pub const RUNS: RangeInclusive<u64> = 1_000..=100_000_000;
    /// Units left out.
    pub const UNITS: RangeInclusive<u64> = 1..=100;
    /// Confidence.
    pub const CONFIDENCE: RangeInclusive<f64> = 0.5..=0.999_999_999;

    /// Whether they are in their ranges.
    ///
    /// # Errors
    /// A refusal that names the one that is not.
    pub(super) fn checked(&self) -> Result<(), EngineError> {
        let wrong = |what: &str, range: &str, example: &str| {
            Err(EngineError::Refused(Refusal::new(
                format!("the {what} of the audit is not valid: it must be {range}"),
                format!("for example {example}"),
            )))
        };
        if !Self::RUNS.contains(&self.runs) {
            return wrong("number of runs", "from 1000 to 100000000", "200000");
        }
        if !Self::UNITS.contains(&self.units) {
            return wrong("number of units", "from 1 to 100", "3");
        }
        if !Self::CONFIDENCE.contains(&self.confidence) {
            return wrong("confidence", "from 0.5 to 0.999999999", "0.999");
        }
        Ok(())
    }
}

/// Findings of an audit. They are about the exact data: for its owner, not to be published.
#[derive(Clone, Debug, Serialize)]
pub struct AuditReport {
    /// The table.
    pub table: String,
    /// Which tables are neighbours.
    pub neighbouring: Neighbouring,
    /// Cost of the query.
    pub loss: Loss,
    /// Its promise: an epsilon, at the delta at which the audit compares.
    pub promised: EpsilonAt,
    /// Lower bound of the epsilon that the outputs show at that delta.
    pub epsilon_at_least: f64,
    /// The probability that the bound, with those of all comparisons, is right.
    pub confidence: f64,
    /// Whether the bound is above what is promised, in any comparison.
    pub violation: bool,
    /// The requested number of runs.
    pub requested_runs: u64,
    /// The comparisons; none where no unit counts for the query.
    pub comparisons: Vec<PairComparison>,
}

/// Two tables, and how they can be distinguished.
#[derive(Clone, Debug, Serialize)]
pub struct PairComparison {
    /// The two tables.
    pub tables: [String; 2],
    /// Runs on each.
    pub runs: u64,
    /// Lower bound of epsilon.
    pub epsilon_at_least: f64,
    /// The epsilon that is promised: that of the query, or, where sums are not clamped, that of a
    /// record of the size of the one left out. That is rounded up to 1, 2 or 5 times a power of
    /// ten, as the record's size follows from it.
    pub promised: f64,
    /// Whether the bound is above what is promised, before that is rounded.
    pub violation: bool,
    /// The event that distinguishes them, and its probability; `None` where the two are alike for
    /// the query.
    pub event: Option<EventInWords>,
}

/// An event, in words without any value of the data.
#[derive(Clone, Debug, Serialize)]
pub struct EventInWords {
    /// A description of the event.
    pub what: String,
    /// The table on which it is more likely.
    pub likely_on: String,
    /// Lower bound of its probability there.
    pub at_least: f64,
    /// Upper bound of its probability on the other table.
    pub at_most: f64,
}
