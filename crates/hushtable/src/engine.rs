//! A contract with its data and its ledger, open for many questions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hushtable_contract::Contract;
use hushtable_engine::{MemoryLimit, Session};
use hushtable_ledger::Notice;
use hushtable_plan::Workload;

use crate::analyst::Analyst;
use crate::answering_delay::AnsweringDelay;
use crate::output::ProtectedFiles;
use crate::owner::Owner;
use crate::workers::Workers;
use crate::{Error, open_workload};

/// A contract with its data and its ledger. It is opened once and lives long; clones are the same
/// engine, for any number of threads and tasks.
#[derive(Clone)]
pub struct Engine {
    pub(crate) session: Arc<Session>,
    /// Its contract's file, where it is one.
    pub(crate) contract: Option<PathBuf>,
    pub(crate) workers: Workers,
    pub(crate) delay: AnsweringDelay,
}

impl Engine {
    /// Opens a contract on threads of its own.
    ///
    /// # Errors
    /// When the file cannot be read, or the contract is wrong or not finished.
    pub fn open(contract: impl AsRef<Path>) -> Result<Self, Error> {
        Self::builder().contract(contract).open()
    }

    /// Opens a contract, and tells `listener` what the ledger says that is no error, on any thread.
    ///
    /// # Errors
    /// Fails where [`open`](Self::open) does.
    pub fn telling(
        contract: impl AsRef<Path>,
        listener: impl Fn(&Notice) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Self::builder().contract(contract).telling(listener).open()
    }

    /// With a limit on the memory of all that is asked of the engine at once. A query that needs
    /// more fails, and its charge stays.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub fn within(self, limit: Option<MemoryLimit>) -> Result<Self, Error> {
        let session = Arc::unwrap_or_clone(self.session).with_memory(limit)?;
        Ok(Self { session: Arc::new(session), ..self })
    }

    /// The handle of an analyst. Without a name, each question is asked by the one analyst who has
    /// a budget for it.
    pub fn analyst(&self, name: Option<&str>) -> Analyst {
        Analyst::new(Arc::clone(&self.session), self.workers.clone(), self.delay, name)
    }

    /// The handle of the owner of the data. None of its results are for analysts.
    pub fn owner(&self) -> Owner {
        Owner::new(Arc::clone(&self.session), self.workers.clone())
    }

    /// The contract.
    pub fn contract(&self) -> &Contract {
        self.session.contract()
    }

    /// The ledger's file.
    pub fn ledger_path(&self) -> PathBuf {
        self.session.ledger_path()
    }

    /// The files and places that no result may replace or be written to.
    pub fn protected(&self) -> ProtectedFiles {
        ProtectedFiles::of(&self.session, self.contract.as_deref())
    }

    /// Opens a workload with the contract that it names, or with another.
    ///
    /// # Errors
    /// When one of the files cannot be read or is wrong.
    pub fn with_workload(
        workload: &Path,
        contract: Option<&Path>,
        listener: impl Fn(&Notice) + Send + Sync + 'static,
    ) -> Result<(Self, Workload), Error> {
        let read = open_workload(workload)?;
        let named = workload.parent().unwrap_or(Path::new("")).join(&read.contract);
        Ok((Self::telling(contract.unwrap_or(&named), listener)?, read))
    }
}
