//! From a question to its release, in the one order that keeps it private.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use datafusion::arrow::array::RecordBatch;
use hushtable_ledger::{Account, Ledger, Notice, Outcome, StoredRelease, cost};
use hushtable_noise::Generator;
use hushtable_privacy::Loss;
use hushtable_query::{
    Contract, Explanation, IntervalsWanted, LimitExplained, MechanismsExplained, Population,
    PrivateQuery, Quote, Table, Warning, bind, least_loss,
};

use crate::answer::{Answering, Question};
use crate::error::EngineError;
use crate::exact::Scan;
use crate::intervals::{TableIntervals, Uncertainty};
use crate::lower::Files;
use crate::memory::{Memory, MemoryLimit};
use crate::parts::{AccountCharge, StatementOfParts};
use crate::record::{Statement, decode, fingerprint};
use crate::runtime::heavy;
use crate::source::{DataFile, FileId, ReadProgress, file_id, list_files};
use crate::traced::TracedResult;

/// A contract with the ledger and the data that it names.
#[derive(Clone)]
pub struct Session {
    contract: Contract,
    folder: PathBuf,
    listener: Arc<dyn Fn(&Notice) + Send + Sync>,
    memory: Memory,
}

/// Price of a query, and the account that would pay it.
#[derive(Clone, Debug)]
pub struct Quoted {
    /// Everything that the query promises.
    pub explanation: Explanation,
    /// The mechanisms that there are for sums that are not clamped, side by side.
    pub mechanisms: Vec<MechanismsExplained>,
    /// The price of other limits on the groups of a unit.
    pub limits: Vec<LimitExplained>,
    /// The analyst who would pay.
    pub analyst: String,
    /// The analyst's budget on the table, as it stands.
    pub account: Account,
    /// Amount that this query would take from the account, in the account's currency; zero where
    /// the same question has been answered before.
    pub charge: Loss,
    /// Whether the same question has a release on record, which is given again for free.
    pub on_record: bool,
}

/// A release.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The noisy table.
    pub table: RecordBatch,
    /// The uncertainty of its values.
    pub(crate) uncertainty: Behind,
    /// The intervals that the query or the contract asks for.
    pub(crate) wanted: Option<IntervalsWanted>,
    /// The machine-readable statement of what was promised; of the last part, where there are
    /// several.
    pub statement: Statement,
    /// The machine-readable statement of all parts, where there are several or SQL around one.
    pub parts: Option<StatementOfParts>,
    /// The analyst who paid.
    pub analyst: String,
    /// The population whose account paid.
    pub population: String,
    /// Amount that was taken from the account; `None` where the release was on record already.
    pub charged: Option<Loss>,
    /// The account after that.
    pub account: Account,
    /// Charges to the accounts of further populations, where a statement has parts of
    /// several.
    pub others: Vec<AccountCharge>,
    /// Whether the ledger's file was made by this query.
    pub ledger_created: bool,
}

impl Answer {
    /// The intervals that the query's OPTIONS or the contract's defaults ask for.
    pub fn intervals_wanted(&self) -> Option<IntervalsWanted> {
        self.wanted
    }

    /// The intervals around the values of the table, from what is on record: at no cost, at any
    /// level.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub fn intervals(&self, wanted: IntervalsWanted) -> Result<TableIntervals, EngineError> {
        match &self.uncertainty {
            Behind::Release(uncertainty) => uncertainty.intervals(wanted),
            Behind::Around(traced) => traced.intervals(wanted),
        }
    }
}

/// The released values behind an answer.
#[derive(Clone, Debug)]
pub(crate) enum Behind {
    /// The answer is a release.
    Release(Box<Uncertainty>),
    /// SQL around private parts computed it.
    Around(Box<TracedResult>),
}

/// Time spent in the parts of a query; zero for what an answer on record did not need. It depends
/// on the data: for measurements by its owner, not for analysts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timings {
    /// Reading, bounding contributions and exact aggregation.
    pub exact: Duration,
    /// Selection and noise.
    pub noise: Duration,
    /// Computing and ordering what is shown. Together with `exact`, the time of the same query
    /// without noise.
    pub showing: Duration,
    /// The ledger: charging and recording, with their syncs to disk.
    pub ledger: Duration,
}

impl Timings {
    /// The time of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            exact: self.exact + other.exact,
            noise: self.noise + other.noise,
            showing: self.showing + other.showing,
            ledger: self.ledger + other.ledger,
        }
    }
}

/// How much of the data has been read, or of an audit's runs made, in thousandths; for another
/// thread to look at. It tells how many bytes of the files are done with, and nothing of what is in
/// them.
#[derive(Clone, Debug, Default)]
pub struct Progress(pub(crate) Arc<ReadProgress>, Arc<AtomicBool>);

impl Progress {
    /// Gives up what is not charged yet: it ends there, and costs nothing. What is charged goes on.
    pub fn give_up(&self) {
        self.1.store(true, Ordering::Relaxed);
    }

    /// Whether it is given up.
    pub(crate) fn is_given_up(&self) -> bool {
        self.1.load(Ordering::Relaxed)
    }

    /// From 0 to 1000.
    pub fn permille(&self) -> u32 {
        self.0.permille()
    }
}

/// A query that is checked, priced and ready to be charged.
struct Prepared<'a> {
    asked: Question,
    limit: Loss,
    files: Files,
    population: &'a Population,
}

/// A query that is checked and priced, and the files that it is about.
pub(crate) struct Checked<'a> {
    pub(crate) quote: Quote,
    pub(crate) files: Files,
    pub(crate) population: &'a Population,
    /// The memory to read them with.
    pub(crate) memory: &'a Memory,
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
        let unreadable = |error| EngineError::ContractFile { path: contract.to_owned(), error };
        let real = match std::fs::symlink_metadata(contract).map_err(unreadable)?.is_symlink() {
            true => std::fs::canonicalize(contract).map_err(unreadable)?,
            false => contract.to_owned(),
        };
        let text = std::fs::read_to_string(&real).map_err(unreadable)?;
        let parsed = Contract::parse(&text, &contract.display().to_string())?;
        let folder = match real.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        Ok(Self {
            contract: parsed,
            folder,
            listener: Arc::new(|_| {}),
            memory: Memory::new(None)?,
        })
    }

    /// Limits the memory of all that is asked of this session at once. A query that needs more
    /// fails, and its charge stays.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub fn with_memory(self, limit: Option<MemoryLimit>) -> Result<Self, EngineError> {
        Ok(Self { memory: Memory::new(limit)?, ..self })
    }

    /// The physical plan of a query, for the owner of the data: how it is computed, which sides
    /// joins are built from, and which expressions are where.
    ///
    /// # Errors
    /// When the query is refused, or the files do not have what it reads.
    pub async fn plan(&self, sql: &str) -> Result<String, EngineError> {
        let checked = heavy(|| self.check(sql))?;
        let progress = Progress::default();
        let scan = Scan::plan(&checked.quote, &checked.files, &progress.0, &self.memory).await?;
        Ok(scan.shown())
    }

    /// Tells `listener` what the ledger says that is no error.
    pub fn telling(self, listener: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self { listener: Arc::new(listener), ..self }
    }

    /// The memory that its queries share.
    pub(crate) fn memory(&self) -> &Memory {
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
        self.folder.join(&self.contract.ledger)
    }

    /// Quotes a query; costs nothing, reads nothing of the data but its files' schemas, and changes
    /// no file.
    ///
    /// # Errors
    /// When the query is refused, the analyst has no budget on its table, or the files do not have
    /// what the query reads.
    pub async fn explain(&self, sql: &str, analyst: Option<&str>) -> Result<Quoted, EngineError> {
        let prepared = heavy(|| {
            let (query, population) = self.bound(sql)?;
            self.prepare(sql, query, population, analyst)
        })?;
        let progress = Progress::default();
        Scan::plan(&prepared.asked.quote, &prepared.files, &progress.0, &self.memory).await?;
        heavy(|| self.quoted(prepared))
    }

    /// A quote, with what the ledger says of it.
    fn quoted(&self, prepared: Prepared<'_>) -> Result<Quoted, EngineError> {
        let Prepared { asked, limit, files, population } = prepared;
        let Question { quote, explanation, question, analyst, .. } = asked;
        let identity = fingerprint(&analyst, &question, &files)?;
        let (account, on_record) = match self.ledger_for_looking()? {
            Some(ledger) => (
                ledger.account(&analyst, &population.name, limit)?,
                ledger.stored(&analyst, &population.name, &identity)?.is_some(),
            ),
            None => (Account::untouched(limit), false),
        };
        // A loss that the budget's currency cannot hold is shown as it is; the ledger would refuse
        // it.
        let charge = match on_record {
            true => limit.nothing(),
            false => cost(quote.total(), &quote.events(), limit).unwrap_or_else(|_| quote.total()),
        };
        let mechanisms = MechanismsExplained::of(&quote);
        let limits = LimitExplained::around(&quote);
        Ok(Quoted { explanation, mechanisms, limits, analyst, account, charge, on_record })
    }

    /// The warnings about a query, for people to see before they ask it. Costs nothing and reads no
    /// file.
    ///
    /// # Errors
    /// When the query is refused.
    pub fn warnings(&self, sql: &str) -> Result<Vec<Warning>, EngineError> {
        let parts = hushtable_query::SqlStatement::bind(sql, &self.contract)?.parts;
        Ok(parts.iter().flat_map(|part| part.query.warnings()).cloned().collect())
    }

    /// Answers a query: charges it, reads the data, adds noise, puts the release on record.
    ///
    /// # Errors
    /// As [`explain`](Self::explain); when the budget does not suffice or the ledger cannot be
    /// written; when the data cannot be read, which leaves the charge in place.
    pub async fn query(
        &self,
        sql: &str,
        analyst: Option<&str>,
        progress: &Progress,
    ) -> Result<Answer, EngineError> {
        Ok(self.timed(sql, analyst, progress).await?.0)
    }

    /// Answers a query as [`query`](Self::query) does, and tells the owner where the time went.
    ///
    /// # Errors
    /// As there.
    pub async fn timed(
        &self,
        sql: &str,
        analyst: Option<&str>,
        progress: &Progress,
    ) -> Result<(Answer, Timings), EngineError> {
        // A generator that does not work is found out before anything is charged.
        let mut generator = Generator::from_os()?;
        self.query_with(sql, analyst, progress, &mut generator).await
    }

    /// Answers a query with a given generator; see [`timed`](Self::timed).
    pub(crate) async fn query_with(
        &self,
        sql: &str,
        analyst: Option<&str>,
        progress: &Progress,
        generator: &mut Generator,
    ) -> Result<(Answer, Timings), EngineError> {
        let statement = heavy(|| hushtable_query::SqlStatement::bind(sql, &self.contract))?;
        if !statement.is_plain() {
            heavy(|| self.check_budgets(&statement, analyst))?;
            let plan = self.plan_statement(sql, statement, analyst).await?;
            return self.answer_statement(plan, progress, generator).await;
        }
        let Prepared { asked, limit, files, population } = heavy(|| {
            let query = statement.plain()?;
            let population = self.population(&query)?;
            let (payer, limit) = payer(population, analyst)?;
            self.check_budget(std::slice::from_ref(&query), population, &payer, limit)?;
            self.prepare(sql, query, population, analyst)
        })?;
        // Whatever may fail by schema alone fails here, before the charge.
        let scan = Scan::plan(&asked.quote, &files, &progress.0, &self.memory).await?;
        if progress.is_given_up() {
            return Err(EngineError::Interrupted);
        }
        let mut timings = Timings::default();
        let started = Instant::now();
        let (mut ledger, identity, outcome) = heavy(|| {
            let identity = fingerprint(&asked.analyst, &asked.question, &files)?;
            let mut ledger = self.ledger()?;
            let outcome = ledger.charge(&asked.request(&population.name, identity, limit))?;
            Ok::<_, EngineError>((ledger, identity, outcome))
        })?;
        let ledger_created = ledger.created();
        timings.ledger = started.elapsed();
        let (charged, (released, statement)) = match outcome {
            Outcome::Stored(StoredRelease { release, .. }) => (None, decode(&release)?),
            Outcome::Charged(charge) => {
                let charged = charge.charged();
                let mut answering = Answering { ledger: &mut ledger, generator };
                let answer = answering.answer(&asked, identity, charge, scan, &mut timings);
                (Some(charged), answer.await?)
            }
        };
        let account = heavy(|| ledger.account(&asked.analyst, &population.name, limit))?;
        let answer = Answer {
            table: released.table.clone(),
            wanted: asked.quote.query().intervals(),
            uncertainty: Behind::Release(Box::new(Uncertainty::new(&asked.quote, released))),
            statement,
            parts: None,
            analyst: asked.analyst,
            population: population.name.clone(),
            charged,
            account,
            others: Vec::new(),
            ledger_created,
        };
        Ok((answer, timings))
    }

    /// Checks and prices a query, independently of who asks.
    ///
    /// # Errors
    /// When the query is refused, or its table has no files.
    pub(crate) fn check(&self, sql: &str) -> Result<Checked<'_>, EngineError> {
        let (query, population) = self.bound(sql)?;
        self.priced(query, population)
    }

    fn bound(&self, sql: &str) -> Result<(PrivateQuery, &Population), EngineError> {
        let query = bind(sql, &self.contract)?;
        let population =
            self.contract.populations.get(query.population()).ok_or(EngineError::Inconsistent)?;
        Ok((query, population))
    }

    fn priced<'a>(
        &'a self,
        query: PrivateQuery,
        population: &'a Population,
    ) -> Result<Checked<'a>, EngineError> {
        let quote = Quote::new(query)?;
        let files = self.own_files(quote.query())?;
        let table = self.contract.tables.get(&population.name);
        Ok(Checked { quote, files, population, memory: &self.memory, table })
    }

    /// The populations whose budgets pay for a query, the one that it bounds first.
    pub(crate) fn populations(
        &self,
        query: &PrivateQuery,
    ) -> Result<Vec<&Population>, EngineError> {
        let find = |name| self.contract.populations.get(name).ok_or(EngineError::Inconsistent);
        query.populations().map(find).collect()
    }

    /// Whose budget pays for a query of one population.
    pub(crate) fn population(&self, query: &PrivateQuery) -> Result<&Population, EngineError> {
        self.contract.populations.get(query.population()).ok_or(EngineError::Inconsistent)
    }

    /// The files of the tables that a query reads, as they are now.
    pub(crate) fn files(&self, query: &PrivateQuery) -> Result<Files, EngineError> {
        let mut files = Files::new();
        for name in query.relation().tables() {
            let table = self.contract.tables.get(name).ok_or(EngineError::Inconsistent)?;
            files.insert(name.to_owned(), self.files_of(table)?);
        }
        Ok(files)
    }

    /// The ledger, for charging; made where there is none.
    pub(crate) fn ledger(&self) -> Result<Ledger, EngineError> {
        let listener = Arc::clone(&self.listener);
        Ok(Ledger::open(&self.ledger_path())?.telling(move |notice| listener(notice)))
    }

    /// The ledger, for looking; `None` where there is none.
    pub(crate) fn ledger_for_looking(&self) -> Result<Option<Ledger>, EngineError> {
        let listener = Arc::clone(&self.listener);
        let ledger = Ledger::open_read_only(&self.ledger_path())?;
        Ok(ledger.map(|ledger| ledger.telling(move |notice| listener(notice))))
    }

    /// The files of the tables that a query reads, as [`own_files_of`](Self::own_files_of) gives
    /// them.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn own_files(&self, query: &PrivateQuery) -> Result<Files, EngineError> {
        let mut files = Files::new();
        for name in query.relation().tables() {
            let table = self.contract.tables.get(name).ok_or(EngineError::Inconsistent)?;
            files.insert(name.to_owned(), self.own_files_of(table)?);
        }
        Ok(files)
    }

    /// The files of a table. None of them is read by a table that holds other units, or holds them
    /// otherwise: its budgets would pay for the same people once more, or its rows would go with
    /// other units than here.
    ///
    /// # Errors
    /// When there is such a file, or the table has no files.
    pub(crate) fn own_files_of(&self, table: &Table) -> Result<Vec<DataFile>, EngineError> {
        let files = self.files_of(table)?;
        let own: HashSet<FileId> = files.iter().filter_map(|file| file_id(&file.path)).collect();
        let alike =
            |other: &&Table| other.population == table.population && other.unit == table.unit;
        for other in self.contract.tables.values().filter(|other| !alike(other)) {
            // A table whose files cannot be listed cannot be asked either.
            let Ok(theirs) = self.files_of(other) else { continue };
            let shared = |file: &&DataFile| file_id(&file.path).is_some_and(|id| own.contains(&id));
            if let Some(file) = theirs.iter().find(shared) {
                return Err(EngineError::SharedFile {
                    table: table.name.clone(),
                    other: other.name.clone(),
                    path: file.path.clone(),
                });
            }
        }
        Ok(files)
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
        let ledger = Ledger::open_read_only(&self.ledger_path())?;
        let account = (analyst, population.name.as_str());
        Ok(Ledger::check_budget(ledger.as_ref(), account, &asked, least, limit)?)
    }

    /// Checks the budgets for the parts of a statement; see [`check_budget`](Self::check_budget).
    fn check_budgets(
        &self,
        statement: &hushtable_query::SqlStatement,
        analyst: Option<&str>,
    ) -> Result<(), EngineError> {
        for (name, population) in &self.contract.populations {
            let pays = |query: &PrivateQuery| query.populations().any(|own| own == name);
            let own = statement.parts.iter().filter(|part| pays(&part.query));
            let queries: Vec<PrivateQuery> = own.map(|part| part.query.clone()).collect();
            if !queries.is_empty() {
                let (payer, limit) = payer(population, analyst)?;
                self.check_budget(&queries, population, &payer, limit)?;
            }
        }
        Ok(())
    }

    /// The files of a table, as they are now.
    pub(crate) fn files_of(&self, table: &Table) -> Result<Vec<DataFile>, EngineError> {
        Ok(list_files(&table.path, &self.folder)?)
    }

    fn prepare<'a>(
        &'a self,
        sql: &str,
        query: PrivateQuery,
        population: &'a Population,
        analyst: Option<&str>,
    ) -> Result<Prepared<'a>, EngineError> {
        let Checked { quote, files, population, .. } = self.priced(query, population)?;
        let (analyst, limit) = payer(population, analyst)?;
        let asked = Question::new(sql, analyst, quote)?;
        Ok(Prepared { asked, limit, files, population })
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
