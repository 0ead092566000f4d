//! Reports of a workload.

use datafusion::arrow::array::RecordBatch;
use hushtable_ledger::Account;
use hushtable_privacy::Loss;
use hushtable_query::{ConsistentPrecision, Explanation, WorkloadExplanation};

use super::statement::WorkloadStatement;
use crate::answer::Standing;
use crate::intervals::Uncertainty;
use crate::record::Statement;

/// Price of a workload, and the account that would pay it.
#[derive(Clone, Debug)]
pub struct WorkloadQuoted {
    /// Promise of all queries together.
    pub explanation: WorkloadExplanation,
    /// The queries, in the workload's order.
    pub parts: Vec<PartQuoted>,
    /// The precision of tables that are adjusted to each other, by query.
    pub consistent: Vec<ConsistentPrecision>,
    /// The analyst who would pay.
    pub analyst: String,
    /// The analyst's budget on the table, as it stands.
    pub account: Account,
    /// Amount that would be taken from the account, in its currency, for the queries that are not
    /// paid for.
    pub charge: Loss,
}

/// One query of a workload that is not asked yet.
#[derive(Clone, Debug)]
pub struct PartQuoted {
    /// Its name.
    pub name: String,
    /// Its share of the budget, relative to the others'.
    pub weight: u32,
    /// Its promise by itself.
    pub explanation: Explanation,
    /// Whether it is paid for.
    pub standing: Standing,
}

/// Charge for a workload, reported as soon as it stands.
#[derive(Clone, Debug)]
pub struct WorkloadCharge {
    /// The analyst who paid.
    pub analyst: String,
    /// On which table.
    pub table: String,
    /// Amount that was taken from the account; `None` where all was paid for before.
    pub charged: Option<Loss>,
    /// How many queries were charged.
    pub new: usize,
    /// How many were paid for before, and had no answer.
    pub paid: usize,
    /// How many had an answer on record.
    pub on_record: usize,
    /// The account after that.
    pub account: Account,
    /// Whether the ledger's file was made by this workload.
    pub ledger_created: bool,
}

/// The answer to one query of a workload, which is on record.
#[derive(Clone, Debug)]
pub struct PartAnswer {
    /// The query's name.
    pub name: String,
    /// The noisy table.
    pub table: RecordBatch,
    /// The uncertainty of its values.
    pub uncertainty: Uncertainty,
    /// The statement of what was promised.
    pub statement: Statement,
    /// Whether it was on record before.
    pub on_record: bool,
}

/// A workload that is answered.
#[derive(Clone, Debug)]
pub struct WorkloadAnswer {
    /// The machine-readable statement of all that was promised, with those of the queries.
    pub statement: WorkloadStatement,
}
