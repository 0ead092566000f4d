//! What can go wrong between a question and its release.

use std::fmt;
use std::path::PathBuf;

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use hushtable_ledger::LedgerError;
use hushtable_noise::EntropyError;
use hushtable_query::{ContractError, Refusal};

use crate::memory::MemoryLimit;
use crate::source::{SourceError, shown};

/// Why there is no release. The texts hold nothing of the data: errors of the libraries that read
/// and compute are not passed on, as they may quote values.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The contract's file cannot be read.
    ContractFile {
        /// Where it should be.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The contract is wrong or not finished, or a workload is wrong.
    Contract(#[from] ContractError),
    /// The workload's file cannot be read.
    WorkloadFile {
        /// Where it should be.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// One query of a workload.
    InWorkload {
        /// The workload's file.
        file: String,
        /// The query's line.
        line: usize,
        /// Its name.
        query: String,
        /// What is wrong with it.
        error: Box<EngineError>,
    },
    /// The files are not those that a workload or a statement was planned for.
    DataChanged {
        /// The table.
        table: String,
    },
    /// Two tables of different populations read one file.
    SharedFile {
        /// The table that is asked.
        table: String,
        /// The other one.
        other: String,
        /// The file.
        path: PathBuf,
    },
    /// The query is refused.
    Refused(#[from] Refusal),
    /// Nobody is named who could pay.
    NoAnalyst {
        /// The table.
        table: String,
        /// Who has a budget.
        analysts: String,
    },
    /// The one named has no budget.
    UnknownAnalyst {
        /// Who asks.
        analyst: String,
        /// The table.
        table: String,
        /// Who has a budget.
        analysts: String,
    },
    /// The data's files.
    Source(#[from] SourceError),
    /// The ledger.
    Ledger(#[from] LedgerError),
    /// No randomness, no release.
    Entropy(#[from] EntropyError),
    /// Too little memory.
    Memory {
        /// The limit, where there is one.
        limit: Option<MemoryLimit>,
    },
    /// Bytes are no plan that this build has made.
    ForeignPlan,
    /// A task of the engine was stopped.
    Interrupted,
    /// A release on record cannot be read back.
    Record,
    /// A fault of the engine.
    Inconsistent,
}

impl EngineError {
    /// The fault, and what would work.
    pub fn what_and_hint(&self) -> (String, Option<String>) {
        match self {
            Self::ContractFile { path, error } => (
                format!("the contract {} cannot be read: {error}", path.display()),
                Some(
                    "`hushtable init FILE` writes a first one; --contract says where \
                 it is"
                        .to_owned(),
                ),
            ),
            Self::Contract(inner) => inner.what_and_hint(),
            Self::WorkloadFile { path, error } => (
                format!("the workload {} cannot be read: {error}", path.display()),
                Some("a file of TOML in UTF-8, as in docs/workloads.md".to_owned()),
            ),
            Self::InWorkload { file, line, query, error } => {
                let (what, hint) = error.what_and_hint();
                (format!("{file}:{line}: query `{query}`: {what}"), hint)
            }
            Self::DataChanged { table } => (
                format!(
                    "files of the table `{table}` were written, added or taken \
                     away while its questions were being answered"
                ),
                Some(
                    "what was answered is about the files as they were; the same on \
                 other files is another question, and is charged anew"
                        .to_owned(),
                ),
            ),
            Self::SharedFile { table, other, path } => (
                format!(
                    "the tables `{table}` and `{other}` both read {}, and do not \
                     hold the same units by the same column",
                    shown(path)
                ),
                Some(
                    "declare one table for the file, or both with the same unit = { \
                 of = \"…\", column = \"…\" }"
                        .to_owned(),
                ),
            ),
            Self::Refused(inner) => inner.what_and_hint(),
            Self::NoAnalyst { table, analysts } => (
                format!("no analyst given: `{table}` has budgets of {analysts}"),
                Some("--analyst NAME".to_owned()),
            ),
            Self::UnknownAnalyst { analyst, table, analysts } => (
                format!("the analyst `{analyst}` has no budget on `{table}`"),
                Some(format!(
                    "the contract has budgets of {analysts}; its owner can add \
                     another"
                )),
            ),
            Self::Source(inner) => inner.what_and_hint(),
            Self::Ledger(inner) => inner.what_and_hint(),
            Self::Entropy(inner) => (
                format!("{inner}; nothing was released"),
                Some("what was charged stays charged; ask again when it works".to_owned()),
            ),
            Self::Memory { limit } => (
                format!("{}; nothing was released", needed(*limit)),
                Some(
                    "--memory or HUSHTABLE_MEMORY may allow more, and fewer groups \
                 per unit and fewer aggregates need less; what was charged stays \
                 charged, and a workload goes on under its charge when it is run \
                 again"
                        .to_owned(),
                ),
            ),
            Self::ForeignPlan => (
                "the plan cannot be read".to_owned(),
                Some("a worker takes plans of the same version of hushtable, unchanged".to_owned()),
            ),
            Self::Interrupted => (
                "the query was interrupted; nothing was released".to_owned(),
                Some("what was charged stays charged".to_owned()),
            ),
            Self::Record => (
                "the release on record cannot be read".to_owned(),
                Some("the ledger may be damaged; restore it from a backup".to_owned()),
            ),
            Self::Inconsistent => (
                "the engine failed; nothing was released".to_owned(),
                Some(
                    "this is a fault in Hushtable, please report the query (not the \
                 data)"
                        .to_owned(),
                ),
            ),
        }
    }
}

/// Which memory was not enough.
fn needed(limit: Option<MemoryLimit>) -> String {
    match limit {
        Some(limit) => format!("the query needs more memory than the limit of {limit}"),
        None => "there is too little memory for this query".to_owned(),
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, hint) = self.what_and_hint();
        f.write_str(&what)?;
        hint.map_or(Ok(()), |hint| write!(f, "\n  hint: {hint}"))
    }
}

impl From<DataFusionError> for EngineError {
    fn from(error: DataFusionError) -> Self {
        // Texts of other errors may quote values, so they end here.
        match error {
            DataFusionError::External(inner) => match inner.downcast::<SourceError>() {
                Ok(source) => Self::Source(*source),
                Err(_) => Self::Inconsistent,
            },
            DataFusionError::ResourcesExhausted(_) => Self::Memory { limit: None },
            DataFusionError::Context(_, inner) => Self::from(*inner),
            DataFusionError::ArrowError(inner, _) => Self::from(*inner),
            DataFusionError::Shared(inner) => match std::sync::Arc::try_unwrap(inner) {
                Ok(inner) => Self::from(inner),
                // A source's error that several partitions share is rebuilt from its text, which
                // names files only.
                Err(shared) => match shared.find_root() {
                    DataFusionError::External(inner) => match inner.downcast_ref::<SourceError>() {
                        Some(source) => {
                            let (what, hint) = source.what_and_hint();
                            Self::Source(SourceError::Shared { what, hint })
                        }
                        None => Self::Inconsistent,
                    },
                    DataFusionError::ResourcesExhausted(_) => Self::Memory { limit: None },
                    _ => Self::Inconsistent,
                },
            },
            _ => Self::Inconsistent,
        }
    }
}

impl From<ArrowError> for EngineError {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(inner) => match inner.downcast::<DataFusionError>() {
                Ok(inner) => Self::from(*inner),
                Err(_) => Self::Inconsistent,
            },
            ArrowError::MemoryError(_) => Self::Memory { limit: None },
            _ => Self::Inconsistent,
        }
    }
}
