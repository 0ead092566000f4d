//! Opens an engine, setting by setting.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hushtable_engine::{Backend, MemoryLimit, ProvidedTables, Provider, Session};
use hushtable_lang::Refusal;
use hushtable_ledger::Notice;

use crate::Error;
use crate::answering_delay::AnsweringDelay;
use crate::engine::Engine;
use crate::workers::Workers;

/// The name, in errors, of a contract that is no file.
const CONTRACT: &str = "the contract";

type Listener = Arc<dyn Fn(&Notice) + Send + Sync>;

/// Opens an engine: a contract, tables that the program provides, a ledger, limits. See
/// [`Engine::builder`].
///
/// ```
/// use std::sync::Arc;
///
/// use hushtable::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
/// use futures::executor::block_on;
/// use hushtable::{Engine, MemoryTable};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let visits = RecordBatch::try_from_iter([
///     ("id", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef),
///     ("town", Arc::new(StringArray::from(vec!["Ashford", "Millbrook"]))),
/// ])?;
/// let contract = r#"
///     [tables.visits]
///     privacy_unit = "id"
///     columns = { id = { type = "int" }, town = { type = "string" } }
///     budgets.ana = { epsilon = 3, delta = 1e-6 }
/// "#;
/// let engine = Engine::builder()
///     .contract_text(contract, folder.path())
///     .table("visits", MemoryTable::new(visits.schema(), [visits])?)
///     .open()?;
/// let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(DISTINCT id) AS n \
///            FROM visits";
/// let answer = block_on(engine.analyst(Some("ana")).query(sql))?;
/// let left = answer.charges.accounts[0].account.left;
/// assert_eq!(left.to_string(), "epsilon = 2, delta = 1e-6");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
#[must_use = "an engine is opened by `open`"]
pub struct EngineBuilder {
    contract: ContractAt,
    tables: Vec<(String, Arc<dyn Provider>)>,
    ledger: Option<PathBuf>,
    memory: Option<MemoryLimit>,
    backend: Option<Arc<dyn Backend>>,
    at_least: Duration,
    listener: Option<Listener>,
}

/// Where the contract is.
#[derive(Clone)]
enum ContractAt {
    File(PathBuf),
    Text { text: String, folder: PathBuf },
}

impl Default for ContractAt {
    fn default() -> Self {
        Self::File(PathBuf::from("hushtable.toml"))
    }
}

impl Engine {
    /// Opens an engine with more settings than a contract's file: with tables that the program
    /// provides, another ledger, a limit on memory, a fixed delay.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }
}

impl EngineBuilder {
    /// The contract's file; `hushtable.toml` in the current folder by default. Paths in it are
    /// relative to its folder.
    pub fn contract(self, file: impl AsRef<Path>) -> Self {
        Self { contract: ContractAt::File(file.as_ref().to_owned()), ..self }
    }

    /// A contract that is a text. Paths in it, and that of its ledger, are relative to `folder`.
    pub fn contract_text(self, text: impl Into<String>, folder: impl AsRef<Path>) -> Self {
        let contract = ContractAt::Text { text: text.into(), folder: folder.as_ref().to_owned() };
        Self { contract, ..self }
    }

    /// Provides the rows of a table that has no `path` in the contract, such as a
    /// [`MemoryTable`](crate::MemoryTable).
    pub fn table(mut self, name: impl Into<String>, rows: impl Provider + 'static) -> Self {
        self.tables.push((name.into(), Arc::new(rows)));
        self
    }

    /// The ledger's file, in place of the contract's `ledger`; its path is relative to the current
    /// folder. Budgets are those of this file: another one begins with all of them unspent.
    pub fn ledger(self, file: impl AsRef<Path>) -> Self {
        Self { ledger: Some(file.as_ref().to_owned()), ..self }
    }

    /// A limit on the memory of all that is asked of the engine at once. A query that needs more
    /// fails, and its charge stays.
    pub fn memory(self, limit: MemoryLimit) -> Self {
        Self { memory: Some(limit), ..self }
    }

    /// Runs queries elsewhere than in this process, which stays the one that charges, draws noise
    /// and writes the ledger. A backend sees exact values and the sampling key: it is for the owner
    /// of the data to choose, as tables are.
    pub fn backend(self, backend: impl Backend + 'static) -> Self {
        Self { backend: Some(Arc::new(backend)), ..self }
    }

    /// Makes analysts wait: each answer, refusal and error of an [`Analyst`](crate::Analyst) comes
    /// that long after it was asked for, or after two, four, eight times as long where the work
    /// takes more, and their progress stays at its beginning. So time tells next to nothing of the
    /// data. Messages of [`telling`](Self::telling) come at once, and are for the owner.
    pub fn at_least(self, delay: Duration) -> Self {
        Self { at_least: delay, ..self }
    }

    /// Tells `listener` what the ledger says that is no error, on any thread.
    pub fn telling(self, listener: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Arc::new(listener)), ..self }
    }

    /// Opens the engine.
    ///
    /// # Errors
    /// When the contract cannot be read, is wrong or not finished; when it has no table of a name
    /// that is provided, or a path for it; when a table is provided twice; when the system gives no
    /// threads.
    pub fn open(self) -> Result<Engine, Error> {
        let mut tables = ProvidedTables::new();
        for (name, rows) in self.tables {
            if tables.insert(name.clone(), rows).is_some() {
                return Err(Error::Refused(Refusal::new(
                    format!("the program provides the table `{name}` twice"),
                    "provide each table once, with all of its rows",
                )));
            }
        }
        let (session, contract) = match self.contract {
            ContractAt::File(file) => (Session::open_with(&file, tables)?, Some(file)),
            ContractAt::Text { text, folder } => {
                (Session::of_text((&text, CONTRACT), folder, tables)?, None)
            }
        };
        let session = match self.ledger {
            Some(ledger) => session.with_ledger(ledger),
            None => session,
        };
        let session = match self.listener {
            Some(listener) => session.telling(move |notice| listener(notice)),
            None => session,
        };
        let session = match self.backend {
            Some(backend) => session.with_backend(backend),
            None => session,
        };
        let session = Arc::new(session.with_memory(self.memory)?);
        Ok(Engine {
            session,
            contract,
            workers: Workers::new()?,
            delay: AnsweringDelay::new(self.at_least),
        })
    }
}
