//! What can go wrong between a question and its release.

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
    #[error(
        "the contract {} cannot be read: {error}\n  hint: `hushtable init FILE` writes a first \
         one; --contract says where it is",
        path.display()
    )]
    ContractFile {
        /// Where it should be.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The contract is wrong or not finished, or a workload is wrong.
    #[error(transparent)]
    Contract(#[from] ContractError),
    /// The workload's file cannot be read.
    #[error(
        "the workload {} cannot be read: {error}\n  hint: a file of TOML in UTF-8, as in \
         docs/workloads.md",
        path.display()
    )]
    WorkloadFile {
        /// Where it should be.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// One query of a workload.
    #[error("{file}:{line}: query `{query}`: {error}")]
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
    #[error(
        "files of the table `{table}` were written, added or taken away while its questions were being \
         answered\n  hint: what was answered is about the files as they were; the same on other files is \
         another question, and is charged anew"
    )]
    DataChanged {
        /// The table.
        table: String,
    },
    /// Two tables of different populations read one file.
    #[error(
        "the tables `{table}` and `{other}` both read {}, and do not hold the same units by the same \
         column\n  hint: declare one table for the file, or both with the same unit = {{ of = \"…\", \
         column = \"…\" }}",
        shown(path)
    )]
    SharedFile {
        /// The table that is asked.
        table: String,
        /// The other one.
        other: String,
        /// The file.
        path: PathBuf,
    },
    /// The query is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Nobody is named who could pay.
    #[error("no analyst given: `{table}` has budgets of {analysts}\n  hint: --analyst NAME")]
    NoAnalyst {
        /// The table.
        table: String,
        /// Who has a budget.
        analysts: String,
    },
    /// The one named has no budget.
    #[error(
        "the analyst `{analyst}` has no budget on `{table}`\n  hint: the contract has \
         budgets of {analysts}; its owner can add another"
    )]
    UnknownAnalyst {
        /// Who asks.
        analyst: String,
        /// The table.
        table: String,
        /// Who has a budget.
        analysts: String,
    },
    /// The data's files.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// No randomness, no release.
    #[error(
        "{0}; nothing was released\n  hint: what was charged stays charged; ask again when it works"
    )]
    Entropy(#[from] EntropyError),
    /// Too little memory.
    #[error(
        "{}; nothing was released\n  hint: --memory or HUSHTABLE_MEMORY may allow more, and fewer \
         groups per unit and fewer aggregates need less; what was charged stays charged, and a \
         workload goes on under its charge when it is run again",
        match limit {
            Some(limit) => format!("the query needs more memory than the limit of {limit}"),
            None => "there is too little memory for this query".to_owned(),
        }
    )]
    Memory {
        /// The limit, where there is one.
        limit: Option<MemoryLimit>,
    },
    /// Bytes are no plan that this build has made.
    #[error(
        "the plan cannot be read\n  hint: a worker takes plans of the same version of hushtable, \
         unchanged"
    )]
    ForeignPlan,
    /// A task of the engine was stopped.
    #[error(
        "the query was interrupted; nothing was released\n  hint: what was charged stays charged"
    )]
    Interrupted,
    /// A release on record cannot be read back.
    #[error(
        "the release on record cannot be read\n  hint: the ledger may be damaged; restore it from \
         a backup"
    )]
    Record,
    /// A fault of the engine.
    #[error(
        "the engine failed; nothing was released\n  hint: this is a fault in Hushtable, please \
         report the query (not the data)"
    )]
    Inconsistent,
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
                        Some(source) => Self::Source(SourceError::Shared(source.to_string())),
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
