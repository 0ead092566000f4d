//! The store in memory, for tests: its budgets begin afresh with every process.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::chain::{CHAINS, Chain, ChainHead, ChainValue, Link};
use crate::claim::Claim;
use crate::store::{Store, StoreRows};
use crate::{LedgerError, Notice, Release};

/// A ledger's name in errors.
pub(crate) const NAME: &str = "in memory";

/// The rows and claims that all connections share; none before the first is opened for charging.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory {
    tables: Mutex<Option<MemoryTables>>,
    claims: Mutex<HashSet<i64>>,
}

#[derive(Clone, Debug)]
struct MemoryTables {
    chains: BTreeMap<Chain, (ChainHead, Vec<Vec<ChainValue<'static>>>)>,
    contents: HashMap<i64, Release>,
}

/// One connection.
pub(crate) struct MemoryStore {
    memory: Arc<SharedMemory>,
    created: bool,
    read_only: bool,
}

/// The rows as one transaction sees and changes them.
pub(crate) struct MemoryRows<'a> {
    memory: &'a Arc<SharedMemory>,
    tables: RefCell<MemoryTables>,
}

impl MemoryStore {
    /// Opens a store for charging; makes it if there is none.
    pub(crate) fn open(memory: Arc<SharedMemory>) -> Self {
        let mut tables = lock(&memory.tables);
        let created = tables.is_none();
        tables.get_or_insert_with(MemoryTables::new);
        drop(tables);
        Self { memory, created, read_only: false }
    }

    /// Opens a store for looking; nothing where there is none.
    pub(crate) fn open_read_only(memory: Arc<SharedMemory>) -> Option<Self> {
        let made = lock(&memory.tables).is_some();
        made.then_some(Self { memory, created: false, read_only: true })
    }
}

impl MemoryTables {
    fn new() -> Self {
        // Another seed in each ledger of this process: there are no others.
        static LEDGERS: AtomicU64 = AtomicU64::new(1);
        let ledger = LEDGERS.fetch_add(1, Ordering::Relaxed);
        let head = |chain: Chain| {
            let seed = Link([0; 32]).next(&[
                ChainValue::text(ledger.to_string()),
                ChainValue::text(chain.table().to_owned()),
            ]);
            (chain, (ChainHead { seed, rows: 0, link: seed }, Vec::new()))
        };
        Self { chains: CHAINS.map(head).into(), contents: HashMap::new() }
    }
}

impl Store for MemoryStore {
    type Rows<'a> = MemoryRows<'a>;

    fn name(&self) -> &Path {
        Path::new(NAME)
    }

    fn created(&self) -> bool {
        self.created
    }

    fn notice(&self) -> Option<Notice> {
        None
    }

    fn look<T>(
        &self,
        read: impl FnOnce(&MemoryRows<'_>) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        read(&self.rows(&lock(&self.memory.tables)))
    }

    fn change<T>(
        &mut self,
        change: impl FnOnce(&MemoryRows<'_>) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        if self.read_only {
            let detail = "it was opened for looking".to_owned();
            return Err(LedgerError::ReadOnly { path: NAME.into(), detail });
        }
        let mut tables = lock(&self.memory.tables);
        let rows = self.rows(&tables);
        let changed = change(&rows)?;
        *tables = Some(rows.tables.into_inner());
        Ok(changed)
    }
}

impl MemoryStore {
    /// A copy of the rows, which takes their place when all of a change is made.
    fn rows(&self, tables: &Option<MemoryTables>) -> MemoryRows<'_> {
        let tables = tables.clone().unwrap_or_else(MemoryTables::new);
        MemoryRows { memory: &self.memory, tables: RefCell::new(tables) }
    }
}

impl StoreRows for MemoryRows<'_> {
    fn name(&self) -> &Path {
        Path::new(NAME)
    }

    fn head(&self, chain: Chain) -> Result<Option<ChainHead>, LedgerError> {
        Ok(self.tables.borrow().chains.get(&chain).map(|(head, _)| *head))
    }

    fn after(
        &self,
        chain: Chain,
        last: i64,
        each: &mut dyn FnMut(&[ChainValue<'_>]) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let tables = self.tables.borrow();
        let rows = tables.chains.get(&chain).map_or(&[][..], |(_, rows)| rows);
        // Rows are numbered from 1.
        let seen = usize::try_from(last).unwrap_or(0);
        rows.iter().skip(seen).try_for_each(|row| each(row))
    }

    fn append(
        &self,
        chain: Chain,
        row: &[ChainValue<'_>],
        head: ChainHead,
    ) -> Result<(), LedgerError> {
        let mut tables = self.tables.borrow_mut();
        if let Some((end, rows)) = tables.chains.get_mut(&chain) {
            *end = head;
            rows.push(row.iter().cloned().map(ChainValue::into_owned).collect());
        }
        Ok(())
    }

    fn content(&self, release: i64) -> Result<Option<Release>, LedgerError> {
        Ok(self.tables.borrow().contents.get(&release).cloned())
    }

    fn add_content(&self, release: i64, content: &Release) -> Result<(), LedgerError> {
        self.tables.borrow_mut().contents.insert(release, content.clone());
        Ok(())
    }

    fn make_room(&self, _bytes: u64) -> Result<(), LedgerError> {
        Ok(())
    }

    fn free_room(&self) -> Result<(), LedgerError> {
        Ok(())
    }

    fn claim(&self, charge: i64) -> Result<Option<Claim>, LedgerError> {
        let new = lock(&self.memory.claims).insert(charge);
        let held = || Claim::new(ClaimGuard { memory: Arc::clone(self.memory), charge });
        Ok(new.then(held))
    }
}

/// A claim on a charge.
struct ClaimGuard {
    memory: Arc<SharedMemory>,
    charge: i64,
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        lock(&self.memory.claims).remove(&self.charge);
    }
}

/// Takes a lock whose content is whole even if its last holder panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
