//! Errors between a question and its release.

use std::fmt;
use std::path::PathBuf;

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use hushtable_contract::ContractError;
use hushtable_errors::{ErrorText, Hint};
use hushtable_lang::Refusal;
use hushtable_ledger::LedgerError;
use hushtable_noise::EntropyError;

use crate::invariant::Invariant;
use crate::memory_limit::MemoryLimit;
use crate::source::{SourceError, shown};

/// Why there is no release. The texts hold nothing of the data: errors of the libraries that read
/// and compute are not passed on, as they may quote values.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The contract's file cannot be read.
    ContractFile {
        /// Where it should be.
        path: PathBuf,
        /// The system's message.
        error: std::io::Error,
    },
    /// The contract is wrong or not finished, or a workload is wrong.
    Contract(#[from] ContractError),
    /// The workload's file cannot be read.
    WorkloadFile {
        /// Where it should be.
        path: PathBuf,
        /// The system's message.
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
        /// Its error.
        error: Box<EngineError>,
    },
    /// The rows are not those that a question was planned for.
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
    /// Two tables have the same rows in memory, and are not about the same units.
    SharedRows {
        /// The table that is asked.
        table: String,
        /// The other one.
        other: String,
    },
    /// A program provides the rows of a table that the contract does not have.
    NoSuchTable {
        /// The name.
        table: String,
        /// The contract's tables.
        tables: Vec<String>,
    },
    /// The query is refused.
    Refused(#[from] Refusal),
    /// No analyst is given who could pay.
    NoAnalyst {
        /// The table.
        table: String,
        /// The analysts who have a budget.
        analysts: String,
    },
    /// The analyst has no budget.
    UnknownAnalyst {
        /// The analyst who asks.
        analyst: String,
        /// The table.
        table: String,
        /// The analysts who have a budget.
        analysts: String,
    },
    /// The data's files.
    Source(#[from] SourceError),
    /// The ledger.
    Ledger(LedgerError),
    /// No randomness, no release.
    Entropy(#[from] EntropyError),
    /// Too little memory.
    Memory {
        /// The limit, where there is one.
        limit: Option<MemoryLimit>,
    },
    /// Bytes are no plan that this build has made.
    ForeignPlan,
    /// Bytes are no exact groups that this build has made.
    ForeignPartial,
    /// A table's rows are in this process, and the backend runs plans in others.
    RowsInProcess {
        /// The table.
        table: String,
    },
    /// A plan is nested deeper than another process reads.
    DeepPlan,
    /// The backend failed.
    Backend {
        /// The kind of failure; another text could quote values.
        kind: std::io::ErrorKind,
    },
    /// The backend does not keep the rules of its trait.
    BrokenBackend {
        /// The rule.
        what: &'static str,
    },
    /// A task of the engine was stopped.
    Interrupted,
    /// A release on record cannot be read back.
    Record,
    /// A fault of the engine.
    Inconsistent(Invariant),
}

impl From<LedgerError> for EngineError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::GivenUp => Self::Interrupted,
            error => Self::Ledger(error),
        }
    }
}

impl EngineError {
    /// The error of a rule of the engine that does not hold, noticed where this is called.
    #[track_caller]
    pub fn inconsistent(broken: &'static str) -> Self {
        Self::Inconsistent(Invariant::new(broken))
    }

    /// The error of a backend, such as that of a connection to another process. Of the failure, its
    /// kind alone is shown.
    pub fn of_backend(error: &std::io::Error) -> Self {
        Self::Backend { kind: error.kind() }
    }

    /// The rule that an operator of ours reported through a library, or else the library's own.
    #[track_caller]
    fn broken(reported: &(dyn std::error::Error + 'static), of_library: &'static str) -> Self {
        let mut causes = std::iter::successors(Some(reported), |cause| cause.source());
        match causes.find_map(|cause| cause.downcast_ref::<Invariant>()) {
            Some(cause) => Self::Inconsistent(*cause),
            None => Self::inconsistent(of_library),
        }
    }
}

impl EngineError {
    /// The hint for callers from code, where the other one names options of the command.
    fn hint_in_code(&self) -> Option<String> {
        Some(match self {
            Self::ContractFile { .. } => {
                "give the path of a contract, or write one with the command `hushtable init FILE`"
                    .to_owned()
            }
            Self::NoAnalyst { .. } => "name one, as in engine.analyst(\"NAME\")".to_owned(),
            Self::Memory { .. } => {
                "allow more when the engine is opened, as with memory=\"4GiB\", or use fewer \
                 groups per unit and fewer aggregates; what was charged stays charged, and a \
                 workload continues under its charge when it is released again"
                    .to_owned()
            }
            _ => return None,
        })
    }
}

impl Hint for EngineError {
    fn error_text(&self) -> ErrorText {
        let text = match self {
            Self::ContractFile { path, error } => (
                format!("cannot read the contract `{}`: {error}", path.display()),
                Some(
                    "write one with `hushtable init FILE`, or say where it is with --contract"
                        .to_owned(),
                ),
            ),
            Self::Contract(inner) => return inner.error_text(),
            Self::WorkloadFile { path, error } => (
                format!("cannot read the workload `{}`: {error}", path.display()),
                Some("give a TOML file in UTF-8, as in docs/workloads.md".to_owned()),
            ),
            Self::InWorkload { file, line, query, error } => {
                let text = error.error_text();
                let what = format!("{file}:{line}: query `{query}`: {}", text.what);
                return ErrorText { what, ..text };
            }
            Self::DataChanged { table } => (
                format!(
                    "rows of the table `{table}` or its files were written, added or removed \
                     while its questions were being answered"
                ),
                Some(
                    "ask again when nothing writes to the table; answers so far are about the \
                     rows as they were, and asking about changed rows is charged anew"
                        .to_owned(),
                ),
            ),
            Self::SharedFile { table, other, path } => (
                format!(
                    "the tables `{table}` and `{other}` both read `{}`, but do not hold the \
                     same units by the same column",
                    shown(path)
                ),
                Some(
                    "declare one table for the file, or both with the same unit = { \
                 of = \"…\", column = \"…\" }"
                        .to_owned(),
                ),
            ),
            Self::SharedRows { table, other } => (
                format!(
                    "the tables `{table}` and `{other}` have the same rows, but do not hold the \
                     same units by the same column"
                ),
                Some("provide one table, or declare both with the same unit".to_owned()),
            ),
            Self::NoSuchTable { table, tables } => (
                format!("the program provides a table `{table}`, which the contract does not have"),
                Some(format!("the contract's tables: {}", tables.join(", "))),
            ),
            Self::Refused(inner) => return inner.error_text(),
            Self::NoAnalyst { table, analysts } => (
                format!("no analyst given: `{table}` has budgets of {analysts}"),
                Some("give --analyst NAME".to_owned()),
            ),
            Self::UnknownAnalyst { analyst, table, analysts } => (
                format!("the analyst `{analyst}` has no budget on `{table}`"),
                Some(format!(
                    "use a budget of {analysts}, or ask the owner of the data to add another"
                )),
            ),
            Self::Source(inner) => return inner.error_text(),
            Self::Ledger(inner) => return inner.error_text(),
            Self::Entropy(inner) => (
                format!("{inner}; nothing was released"),
                Some("ask again when it works; what was charged stays charged".to_owned()),
            ),
            Self::Memory { limit } => (
                format!("{}; nothing was released", needed(*limit)),
                Some(
                    "allow more with --memory or HUSHTABLE_MEMORY, or use fewer groups per unit \
                     and fewer aggregates; what was charged stays charged, and a workload \
                     continues under its charge when it is run again"
                        .to_owned(),
                ),
            ),
            Self::ForeignPlan => (
                "cannot read the plan".to_owned(),
                Some(
                    "send the plan unchanged to a worker of the same version of Hushtable"
                        .to_owned(),
                ),
            ),
            Self::ForeignPartial => (
                "cannot read the exact groups of a backend; nothing was released".to_owned(),
                Some(
                    "run the same version of Hushtable in all processes of the backend; what was \
                     charged stays charged"
                        .to_owned(),
                ),
            ),
            Self::RowsInProcess { table } => (
                format!(
                    "the rows of the table `{table}` are in this program, and its backend runs \
                     queries in other processes"
                ),
                Some(
                    "give the table a `path` that those processes can read, or open the engine \
                     without this backend"
                        .to_owned(),
                ),
            ),
            Self::DeepPlan => (
                "the plan of the query is nested deeper than the processes of its backend read"
                    .to_owned(),
                Some(
                    "use fewer joins and NOT IN, or open the engine without this backend"
                        .to_owned(),
                ),
            ),
            Self::Backend { kind } => (
                format!("the backend that runs queries failed: {kind}; nothing was released"),
                Some(
                    "ask again when it works; what was charged stays charged, and the same \
                     question takes it up"
                        .to_owned(),
                ),
            ),
            Self::BrokenBackend { what } => (
                format!("the program's backend breaks its rules: {what}; nothing was released"),
                Some(
                    "see the documentation of `Backend`; what was charged stays charged".to_owned(),
                ),
            ),
            Self::Interrupted => (
                "the query was interrupted; nothing was released".to_owned(),
                Some("ask again; what was charged stays charged".to_owned()),
            ),
            Self::Record => (
                "cannot read the release on record".to_owned(),
                Some("restore the ledger from a backup; it may be damaged".to_owned()),
            ),
            Self::Inconsistent(invariant) => (
                format!("the engine broke its own rule: {invariant}"),
                Some(
                    "this is a fault in Hushtable: please report this message and the query, \
                     without data"
                        .to_owned(),
                ),
            ),
        };
        ErrorText { hint_in_code: self.hint_in_code(), ..ErrorText::from(text) }
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
        self.error_text().fmt(f)
    }
}

/// The rule that is broken when DataFusion returns an error that it need not.
const DATAFUSION: &str = "DataFusion returned an error from a plan that cannot fail";

/// The rule that is broken when Arrow returns an error that it need not.
const ARROW: &str = "Arrow returned an error from an operation that cannot fail";

impl From<DataFusionError> for EngineError {
    // `?` in the engine is the place then.
    #[track_caller]
    fn from(error: DataFusionError) -> Self {
        // Texts of other errors may quote values, so they end here.
        match error {
            DataFusionError::External(inner) => match inner.downcast::<SourceError>() {
                Ok(source) => Self::Source(*source),
                Err(inner) => Self::broken(&*inner, DATAFUSION),
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
                            let ErrorText { what, hint, .. } = source.error_text();
                            Self::Source(SourceError::Shared { what, hint })
                        }
                        None => Self::broken(&**inner, DATAFUSION),
                    },
                    DataFusionError::ResourcesExhausted(_) => Self::Memory { limit: None },
                    root => Self::broken(root, DATAFUSION),
                },
            },
            _ => Self::inconsistent(DATAFUSION),
        }
    }
}

impl From<ArrowError> for EngineError {
    #[track_caller]
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(inner) => match inner.downcast::<DataFusionError>() {
                Ok(inner) => Self::from(*inner),
                Err(inner) => Self::broken(&*inner, ARROW),
            },
            ArrowError::MemoryError(_) => Self::Memory { limit: None },
            _ => Self::inconsistent(ARROW),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_for_programs_name_no_options() {
        let of_system = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let (table, analysts) = ("t".to_owned(), "ana, ben".to_owned());
        let errors = [
            EngineError::ContractFile { path: "c.toml".into(), error: of_system() },
            EngineError::NoAnalyst { table, analysts },
            EngineError::Memory { limit: None },
        ];
        for error in errors {
            assert!(error.hint().is_some_and(|hint| hint.contains("--")), "{error}");
            let hint = error.error_text().for_code().hint;
            assert!(hint.is_some_and(|hint| !hint.contains("--")), "{error}");
            let query = EngineError::InWorkload {
                file: "w.toml".to_owned(),
                line: 3,
                query: "q".to_owned(),
                error: Box::new(error),
            };
            assert!(!query.error_text().for_code().to_string().contains("--"), "{query}");
        }
    }
}
