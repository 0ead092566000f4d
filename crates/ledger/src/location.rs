//! Where a ledger is.

use std::path::{Path, PathBuf};
#[cfg(feature = "memory")]
use std::sync::Arc;

#[cfg(feature = "memory")]
use crate::in_memory::{self, MemoryStore, SharedMemory};
use crate::populations::Populations;
use crate::protocol::Protocol;
use crate::sqlite::SqliteStore;
use crate::store::Store;
use crate::{Ledger, LedgerError};

/// Where a ledger is, so that any number of connections to it can be opened.
#[derive(Clone, Debug)]
pub struct Location(LocationKind);

#[derive(Clone, Debug)]
enum LocationKind {
    File(PathBuf),
    #[cfg(feature = "memory")]
    Memory(Arc<SharedMemory>),
}

impl Location {
    /// An SQLite file. See [the crate](crate) for where it may be.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(LocationKind::File(path.into()))
    }

    /// A new ledger in this process's memory, with which every budget begins afresh: for tests
    /// alone. Clones are the same ledger.
    #[cfg(feature = "memory")]
    pub fn in_memory() -> Self {
        Self(LocationKind::Memory(Arc::default()))
    }

    /// The file; of a ledger in memory, its name in errors.
    pub fn path(&self) -> &Path {
        match &self.0 {
            LocationKind::File(path) => path,
            #[cfg(feature = "memory")]
            LocationKind::Memory(_) => Path::new(in_memory::NAME),
        }
    }

    /// Opens the ledger, checks all of its charges, and makes it where there is none:
    /// [`Ledger::created`] tells. Its folder must exist. `populations` are those of the contract:
    /// charges under their former names are on their accounts.
    ///
    /// # Errors
    /// When the file cannot be opened for writing, is not a ledger (it is left as it is then), is
    /// empty, of another version or damaged, or cannot be written durably; when locks do nothing in
    /// its folder; or when another process keeps it locked for ten seconds.
    pub fn open(&self, populations: Populations) -> Result<Box<dyn Ledger>, LedgerError> {
        Ok(match &self.0 {
            LocationKind::File(path) => {
                Box::new(Protocol::open(SqliteStore::open(path)?, populations)?)
            }
            #[cfg(feature = "memory")]
            LocationKind::Memory(memory) => {
                Box::new(Protocol::open(MemoryStore::open(Arc::clone(memory)), populations)?)
            }
        })
    }

    /// Opens the ledger for looking only, and checks all of its charges; `None` where there is
    /// none. Never makes a ledger; writes to one only to undo what a crash left half-written.
    ///
    /// # Errors
    /// Opens the ledger as [`Self::open`] does; the file may be read-only.
    pub fn open_read_only(
        &self,
        populations: Populations,
    ) -> Result<Option<Box<dyn Ledger>>, LedgerError> {
        match &self.0 {
            LocationKind::File(path) => boxed(SqliteStore::open_read_only(path)?, populations),
            #[cfg(feature = "memory")]
            LocationKind::Memory(memory) => {
                boxed(MemoryStore::open_read_only(Arc::clone(memory)), populations)
            }
        }
    }
}

fn boxed<S: Store + 'static>(
    store: Option<S>,
    populations: Populations,
) -> Result<Option<Box<dyn Ledger>>, LedgerError> {
    let opened = store.map(|store| Protocol::open(store, populations)).transpose()?;
    Ok(opened.map(|ledger| Box::new(ledger) as Box<dyn Ledger>))
}

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Self {
        Self::file(path)
    }
}
