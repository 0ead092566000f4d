//! A contract with its ledger and files: what every question starts from.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hushtable_contract::{Contract, Population, Table};
use hushtable_ledger::{
    Fingerprint, Ledger, Location, NamedPopulation, Notice, Populations, Units, check_budget,
};
use hushtable_plan::{PrivateQuery, bind};
use hushtable_privacy::Loss;
use hushtable_quote::{Quote, least_loss};

use crate::backend::Backend;
use crate::error::EngineError;
use crate::memory::QueryMemory;
use crate::memory_limit::MemoryLimit;
use crate::progress::Progress;
use crate::source::{
    Data, DataFile, FileId, Provider, ProviderSource, SourceError, TableData, file_id, list_files,
};

/// A contract with the ledger and the data that it names.
#[derive(Clone)]
pub struct Session {
    contract: Contract,
    folder: PathBuf,
    listener: Arc<dyn Fn(&Notice) + Send + Sync>,
    memory: QueryMemory,
    /// Tables whose rows a program provides, by name.
    provided: BTreeMap<String, ProviderSource>,
    /// Where the ledger is, if it is not in the contract's file.
    ledger: Option<Location>,
    /// Most rows of public tables that agree in some values.
    counts: Arc<Mutex<HashMap<Fingerprint, u64>>>,
}

/// Tables whose rows a program provides, by their names in the contract.
pub type ProvidedTables = BTreeMap<String, Arc<dyn Provider>>;

/// A query that is checked and priced, and where its rows are.
pub(crate) struct CheckedQuery<'a> {
    pub(crate) quote: Quote,
    pub(crate) data: Data,
    pub(crate) population: &'a Population,
    /// The memory to read them with.
    pub(crate) memory: &'a QueryMemory,
    /// The table whose rows are the units, where they are.
    pub(crate) table: Option<&'a Table>,
}

impl Session {
    /// Reads and checks a contract. Paths in it are relative to its folder: that of the file, where
    /// `contract` is a link to it, as a link in another folder would find no ledger there and have
    /// every budget afresh.
    ///
    /// # Errors
    /// When the file cannot be read or the contract is wrong.
    pub fn open(contract: &Path) -> Result<Self, EngineError> {
        Self::open_with(contract, ProvidedTables::new())
    }

    /// Opens a contract as [`open`](Self::open) does, of which some tables have no path: a program
    /// provides their rows.
    ///
    /// # Errors
    /// Those of [`open`](Self::open); when the contract has no table of a name that is provided.
    pub fn open_with(contract: &Path, provided: ProvidedTables) -> Result<Self, EngineError> {
        let unreadable = |error| EngineError::ContractFile { path: contract.to_owned(), error };
        let real = match std::fs::symlink_metadata(contract).map_err(unreadable)?.is_symlink() {
            true => std::fs::canonicalize(contract).map_err(unreadable)?,
            false => contract.to_owned(),
        };
        let text = std::fs::read_to_string(&real).map_err(unreadable)?;
        let folder = match real.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        Self::of_text((&text, &contract.display().to_string()), folder, provided)
    }

    /// A contract that is a text, of that name in errors. Paths in it are relative to `folder`.
    ///
    /// # Errors
    /// Those of [`open_with`](Self::open_with).
    pub fn of_text(
        (text, name): (&str, &str),
        folder: PathBuf,
        provided: ProvidedTables,
    ) -> Result<Self, EngineError> {
        let names = provided.keys().map(String::as_str).collect();
        let contract = Contract::parse_with(text, name, &names)?;
        if let Some(unknown) = names.iter().find(|name| !contract.tables.contains_key(**name)) {
            return Err(EngineError::NoSuchTable {
                table: (*unknown).to_owned(),
                tables: contract.tables.keys().cloned().collect(),
            });
        }
        let provided = provided.into_iter().map(|(name, provider)| {
            let table = ProviderSource::new(&name, provider)?;
            Ok((name, table))
        });
        Ok(Self {
            provided: provided.collect::<Result<_, SourceError>>()?,
            contract,
            folder,
            ledger: None,
            listener: Arc::new(|_| {}),
            memory: QueryMemory::new(None)?,
            counts: Arc::default(),
        })
    }

    /// With a ledger in another file than the contract's.
    #[must_use]
    pub fn with_ledger(self, ledger: impl Into<Location>) -> Self {
        Self { ledger: Some(ledger.into()), ..self }
    }

    /// With a contract that says more of the same tables.
    pub(crate) fn with_contract(self, contract: Contract) -> Self {
        Self { contract, ..self }
    }

    /// Limits the memory of all that is asked of this session at once. A query that needs more
    /// fails, and its charge stays.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub fn with_memory(self, limit: Option<MemoryLimit>) -> Result<Self, EngineError> {
        let backend = Arc::clone(self.memory.backend());
        Ok(Self { memory: QueryMemory::new(limit)?.with_backend(backend), ..self })
    }

    /// With the backend that runs plans.
    #[must_use]
    pub fn with_backend(self, backend: Arc<dyn Backend>) -> Self {
        Self { memory: self.memory.with_backend(backend), ..self }
    }

    /// Tells `listener` what the ledger says that is no error.
    pub fn telling(self, listener: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self { listener: Arc::new(listener), ..self }
    }

    /// A number of public rows that was counted before.
    pub(crate) fn counted(&self, identity: &Fingerprint) -> Option<u64> {
        self.counts.lock().ok()?.get(identity).copied()
    }

    /// Remembers a number of public rows, among `most` others.
    pub(crate) fn remember(&self, identity: Fingerprint, rows: u64, most: usize) {
        if let Ok(mut counts) = self.counts.lock() {
            // Analysts choose what is counted: without a limit they could fill the memory.
            if counts.len() >= most {
                counts.clear();
            }
            counts.insert(identity, rows);
        }
    }

    /// The memory that its queries share.
    pub(crate) fn memory(&self) -> &QueryMemory {
        &self.memory
    }

    /// The contract.
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// The contract's folder, which its paths are relative to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The ledger's file.
    pub fn ledger_path(&self) -> PathBuf {
        self.ledger_location().path().to_owned()
    }

    fn ledger_location(&self) -> Location {
        let in_contract = || Location::file(self.folder.join(&self.contract.ledger));
        self.ledger.clone().unwrap_or_else(in_contract)
    }

    /// Checks and prices a query, independently of who asks.
    ///
    /// # Errors
    /// When the query is refused, or its table has no files.
    pub(crate) fn check(&self, sql: &str) -> Result<CheckedQuery<'_>, EngineError> {
        let (query, population) = self.bound(sql)?;
        self.priced(query, population)
    }

    pub(crate) fn bound(&self, sql: &str) -> Result<(PrivateQuery, &Population), EngineError> {
        let query = bind(sql, &self.contract)?;
        let population = self
            .contract
            .populations
            .get(query.population())
            .ok_or(EngineError::inconsistent("a query's population is not in the contract"))?;
        Ok((query, population))
    }

    pub(crate) fn priced<'a>(
        &'a self,
        query: PrivateQuery,
        population: &'a Population,
    ) -> Result<CheckedQuery<'a>, EngineError> {
        let quote = Quote::new(query)?;
        let data = self.data_of_query(quote.query())?;
        let table = self.contract.tables.get(&population.name);
        Ok(CheckedQuery { quote, data, population, memory: &self.memory, table })
    }

    /// The populations whose budgets pay for a query, the one that it bounds first.
    pub(crate) fn populations(
        &self,
        query: &PrivateQuery,
    ) -> Result<Vec<&Population>, EngineError> {
        let find = |name| {
            self.contract
                .populations
                .get(name)
                .ok_or(EngineError::inconsistent("a query's population is not in the contract"))
        };
        query.populations().map(find).collect()
    }

    /// Whose budget pays for a query of one population.
    pub(crate) fn population(&self, query: &PrivateQuery) -> Result<&Population, EngineError> {
        self.contract
            .populations
            .get(query.population())
            .ok_or(EngineError::inconsistent("a query's population is not in the contract"))
    }

    /// A table that a query reads.
    fn table(&self, name: &str) -> Result<&Table, EngineError> {
        self.contract
            .tables
            .get(name)
            .ok_or(EngineError::inconsistent("a table that a query reads is not in the contract"))
    }

    /// Checks that the rows of tables are still those.
    ///
    /// # Errors
    /// When they are not.
    pub(crate) fn check_unchanged(&self, data: &Data) -> Result<(), EngineError> {
        for (name, data) in data {
            self.check_table_unchanged(name, data)?;
        }
        Ok(())
    }

    /// Checks that the rows of a table are still those.
    ///
    /// # Errors
    /// When they are not.
    pub(crate) fn check_table_unchanged(
        &self,
        name: &str,
        data: &TableData,
    ) -> Result<(), EngineError> {
        if self.data_of(self.table(name)?)?.is_same(data) {
            Ok(())
        } else {
            Err(EngineError::DataChanged { table: name.to_owned() })
        }
    }

    /// The ledger, for charging; made where there is none.
    pub(crate) fn ledger(&self) -> Result<Box<dyn Ledger>, EngineError> {
        let listener = Arc::clone(&self.listener);
        let ledger = self.ledger_location().open(self.ledger_populations())?;
        Ok(ledger.telling(move |notice| listener(notice)))
    }

    /// The ledger, for an answer that somebody waits for.
    pub(crate) fn ledger_of(&self, progress: &Progress) -> Result<Box<dyn Ledger>, EngineError> {
        let progress = progress.clone();
        Ok(self.ledger()?.giving_up_when(move || progress.is_given_up()))
    }

    /// The ledger, for looking at what a question would cost; `None` where there is none.
    ///
    /// # Errors
    /// When it cannot be read, and when it refuses every question, as the contract does not name
    /// those who were charged for.
    pub(crate) fn ledger_for_looking(&self) -> Result<Option<Box<dyn Ledger>>, EngineError> {
        let ledger = self.ledger_as_it_is()?;
        ledger.as_ref().map_or(Ok(()), |ledger| ledger.check_populations())?;
        Ok(ledger)
    }

    /// The ledger, for looking at its accounts, whatever the contract says of them; `None` where
    /// there is none.
    pub(crate) fn ledger_as_it_is(&self) -> Result<Option<Box<dyn Ledger>>, EngineError> {
        let listener = Arc::clone(&self.listener);
        Ok(self.ledger_in_silence()?.map(|ledger| ledger.telling(move |notice| listener(notice))))
    }

    /// The ledger as [`ledger_as_it_is`](Self::ledger_as_it_is) gives it, for a look after one that
    /// has told its notices.
    pub(crate) fn ledger_in_silence(&self) -> Result<Option<Box<dyn Ledger>>, EngineError> {
        Ok(self.ledger_location().open_read_only(self.ledger_populations())?)
    }

    /// The contract's populations, by which the ledger knows whose accounts are whose.
    fn ledger_populations(&self) -> Populations {
        let named = self.contract.populations.values().map(|population| {
            let named = NamedPopulation {
                units: Units(self.contract.units_of(population)),
                formerly: population.formerly.clone(),
                section: population.section.clone(),
            };
            (population.name.clone(), named)
        });
        Populations::new(named.collect(), self.contract.retired.iter().cloned())
    }

    /// Where the rows of the tables are that a query reads, as [`data_of_one`](Self::data_of_one)
    /// says it.
    ///
    /// # Errors
    /// Those of [`data_of_one`](Self::data_of_one).
    pub(crate) fn data_of_query(&self, query: &PrivateQuery) -> Result<Data, EngineError> {
        let mut data = Data::new();
        for name in query.relation().tables() {
            data.insert(name.to_owned(), self.data_of_one(self.table(name)?)?);
        }
        Ok(data)
    }

    /// Where the rows of a table are. None of them are those of a table that holds other units, or
    /// holds them otherwise: its budgets would pay for the same people once more, or its rows would
    /// go with other units than here.
    ///
    /// # Errors
    /// When there is such a table, or the table has no files.
    pub(crate) fn data_of_one(&self, table: &Table) -> Result<TableData, EngineError> {
        let (data, unit) = (self.data_of(table)?, table.unit_in_files());
        let files = data.files().iter();
        let files: HashSet<FileId> = files.filter_map(|file| file_id(&file.path)).collect();
        let alike =
            |other: &&Table| other.population == table.population && other.unit_in_files() == unit;
        for other in self.contract.tables.values().filter(|other| !alike(other)) {
            // A table whose files cannot be listed cannot be asked either.
            let Ok(others) = self.data_of(other) else { continue };
            let shared =
                |file: &&DataFile| file_id(&file.path).is_some_and(|id| files.contains(&id));
            if let Some(file) = others.files().iter().find(shared) {
                return Err(EngineError::SharedFile {
                    table: table.name.clone(),
                    other: other.name.clone(),
                    path: file.path.clone(),
                });
            }
            if data.shares_rows_with(&others) {
                return Err(EngineError::SharedRows {
                    table: table.name.clone(),
                    other: other.name.clone(),
                });
            }
        }
        Ok(data)
    }

    /// Refuses what its account cannot pay, before mechanisms are made for it: with the error with
    /// which the ledger would refuse to charge it.
    pub(crate) fn check_budget(
        &self,
        queries: &[PrivateQuery],
        population: &Population,
        analyst: &str,
        limit: Loss,
    ) -> Result<(), EngineError> {
        let least = least_loss(queries, limit)?;
        let asked: Vec<Loss> = queries.iter().map(|query| query.loss()).collect();
        let ledger = self.ledger_in_silence()?;
        let account = (analyst, population.name.as_str());
        Ok(check_budget(ledger.as_deref(), account, &asked, least, limit)?)
    }

    /// Where the rows of a table are, as they are now.
    pub(crate) fn data_of(&self, table: &Table) -> Result<TableData, EngineError> {
        if let Some(provided) = self.provided.get(&table.name) {
            return Ok(TableData::Provided(provided.renewed()?));
        }
        // Without a path the contract is read only where a program provides the rows.
        let path = table
            .path
            .as_ref()
            .ok_or(EngineError::inconsistent("a table has neither a path nor a provider"))?;
        Ok(TableData::Files(list_files(path, &self.folder)?))
    }
}

/// The analyst who pays, and the budget: the analyst named, or the only one there is.
pub(crate) fn payer(
    population: &Population,
    analyst: Option<&str>,
) -> Result<(String, Loss), EngineError> {
    let names = || population.budgets.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    match analyst {
        Some(name) => match population.budgets.get(name) {
            Some(&limit) => Ok((name.to_owned(), limit)),
            None => Err(EngineError::UnknownAnalyst {
                analyst: name.to_owned(),
                table: population.name.clone(),
                analysts: names(),
            }),
        },
        None => {
            let mut all = population.budgets.iter();
            match (all.next(), all.next()) {
                (Some((name, &limit)), None) => Ok((name.clone(), limit)),
                _ => Err(EngineError::NoAnalyst {
                    table: population.name.clone(),
                    analysts: names(),
                }),
            }
        }
    }
}
