//! Answers: tables with their intervals, charges, and the statement.

use datafusion::arrow::array::RecordBatch;
use hushtable_contract::IntervalRequest;
use hushtable_ledger::Account;
use hushtable_privacy::Loss;

use crate::error::EngineError;
use crate::intervals::{TableIntervals, Uncertainty};
use crate::statement::{ClippingReport, Statement};
use crate::traced::TracedResult;

/// The answer to a question in SQL.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The noisy table.
    pub table: RecordBatch,
    /// The table with what is known of its noise.
    pub output: AnswerTable,
    /// The machine-readable statement of what was promised.
    pub statement: Statement,
    /// The charges for it.
    pub charges: Charges,
}

impl Answer {
    /// The charge to the account of the population that the first part bounds; `None` where
    /// nothing was charged to it.
    pub fn charged(&self) -> Option<Loss> {
        self.charges.accounts.first()?.charged
    }

    /// The intervals that the query's OPTIONS or the contract's defaults ask for.
    pub fn interval_request(&self) -> Option<IntervalRequest> {
        self.output.interval_request()
    }

    /// The intervals around the values of the table; see [`AnswerTable::intervals`].
    ///
    /// # Errors
    /// Those of [`AnswerTable::intervals`].
    pub fn intervals(&self, wanted: IntervalRequest) -> Result<TableIntervals, EngineError> {
        self.output.intervals(wanted)
    }
}

/// A table that is computed from releases on record.
#[derive(Clone, Debug)]
pub struct AnswerTable {
    /// The name of a workload's query; `None` for the answer to a question in SQL.
    pub name: Option<String>,
    /// The noisy table.
    pub table: RecordBatch,
    /// Whether it was on record before.
    pub on_record: bool,
    /// Everything that limits cut off: no interval holds it.
    pub cut_off: Vec<String>,
    /// The released shares of it, where the question asks for them.
    pub clipping_reports: Vec<ClippingReport>,
    /// The intervals that the query's OPTIONS or the contract's defaults ask for.
    pub(crate) wanted: Option<IntervalRequest>,
    /// The uncertainty of its values.
    pub(crate) behind: Behind,
}

impl AnswerTable {
    /// The intervals that the query's OPTIONS or the contract's defaults ask for.
    pub fn interval_request(&self) -> Option<IntervalRequest> {
        self.wanted
    }

    /// The intervals around the values of the table, from what is on record: at no cost, at any
    /// level.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub fn intervals(&self, wanted: IntervalRequest) -> Result<TableIntervals, EngineError> {
        match &self.behind {
            Behind::Release(uncertainty) => uncertainty.intervals(wanted),
            Behind::Around(traced) => traced.intervals(wanted),
        }
    }

    /// The columns of keys that each row is without, as it is of a level of ROLLUP and the like
    /// that has fewer keys: NULL means all there.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub fn without_keys(&self) -> Result<Vec<Vec<usize>>, EngineError> {
        match &self.behind {
            Behind::Release(_) => Ok(vec![Vec::new(); self.table.num_rows()]),
            Behind::Around(traced) => traced.without_keys(),
        }
    }
}

/// The released values behind a table.
#[derive(Clone, Debug)]
pub(crate) enum Behind {
    /// The table is a release.
    Release(Box<Uncertainty>),
    /// SQL around private parts computed it.
    Around(Box<TracedResult>),
}

/// The charges of a question to the analyst's accounts, reported as soon as they stand.
#[derive(Clone, Debug)]
pub struct Charges {
    /// The analyst who paid.
    pub analyst: String,
    /// The accounts of all populations that pay; the one that the first part bounds is first.
    pub accounts: Vec<AccountCharge>,
    /// How many parts were charged.
    pub new: usize,
    /// How many were paid for before, and had no release: a program was stopped.
    pub resumed: usize,
    /// How many had a release on record.
    pub on_record: usize,
    /// Whether the ledger's file was made by this question.
    pub ledger_created: bool,
    /// For a plain query that was charged, when its text was charged before and answered: about
    /// other data, or under another contract.
    pub answered_before: Option<String>,
}

/// A charge to an account.
#[derive(Clone, Debug)]
pub struct AccountCharge {
    /// The population.
    pub population: String,
    /// The charge; `None` where all was paid for before.
    pub charged: Option<Loss>,
    /// Whether a part of this population has sums that are not clamped: the charge is then that of
    /// a record at the thresholds, and larger ones may lose more.
    pub per_record: bool,
    /// The account after that.
    pub account: Account,
}
