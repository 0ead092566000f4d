//! The store in memory, for tests: its budgets begin afresh with every process.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::chain::{CHAINS, Chain, Head, Link, Value};
use crate::claim::Claim;
use crate::store::{Rows, Store};
use crate::{LedgerError, Notice, Release};

/// A ledger's name in errors.
pub(crate) const NAME: &str = "in memory";

/// The rows and claims that all connections share; none before the first is opened for charging.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    tables: Mutex<Option<Tables>>,
    claims: Mutex<HashSet<i64>>,
}

#[derive(Clone, Debug)]
struct Tables {
    chains: BTreeMap<Chain, (Head, Vec<Vec<Value<'static>>>)>,
    contents: HashMap<i64, Release>,
}

/// One connection.
pub(crate) struct MemoryStore {
    memory: Arc<Memory>,
    created: bool,
    read_only: bool,
}

/// The rows as one transaction sees and changes them.
pub(crate) struct MemoryRows<'a> {
    memory: &'a Arc<Memory>,
    tables: RefCell<Tables>,
}

impl MemoryStore {
    /// Opens a store for charging; makes it if there is none.
    pub(crate) fn open(memory: Arc<Memory>) -> Self {
        let mut tables = lock(&memory.tables);
        let created = tables.is_none();
        tables.get_or_insert_with(Tables::new);
        drop(tables);
        Self { memory, created, read_only: false }
    }

    /// Opens a store for looking; nothing where there is none.
    pub(crate) fn open_read_only(memory: Arc<Memory>) -> Option<Self> {
        let made = lock(&memory.tables).is_some();
        made.then_some(Self { memory, created: false, read_only: true })
    }
}

impl Tables {
    fn new() -> Self {
        // Another seed in each ledger of this process: there are no others.
        static LEDGERS: AtomicU64 = AtomicU64::new(1);
        let ledger = LEDGERS.fetch_add(1, Ordering::Relaxed);
        let head = |chain: Chain| {
            let seed = Link([0; 32])
                .next(&[Value::text(ledger.to_string()), Value::text(chain.table().to_owned())]);
            (chain, (Head { seed, rows: 0, link: seed }, Vec::new()))
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
    fn rows(&self, tables: &Option<Tables>) -> MemoryRows<'_> {
        let tables = tables.clone().unwrap_or_else(Tables::new);
        MemoryRows { memory: &self.memory, tables: RefCell::new(tables) }
    }
}

impl Rows for MemoryRows<'_> {
    fn name(&self) -> &Path {
        Path::new(NAME)
    }

    fn head(&self, chain: Chain) -> Result<Option<Head>, LedgerError> {
        Ok(self.tables.borrow().chains.get(&chain).map(|(head, _)| *head))
    }

    fn after(
        &self,
        chain: Chain,
        last: i64,
        each: &mut dyn FnMut(&[Value<'_>]) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let tables = self.tables.borrow();
        let rows = tables.chains.get(&chain).map_or(&[][..], |(_, rows)| rows);
        // Rows are numbered from 1.
        let seen = usize::try_from(last).unwrap_or(0);
        rows.iter().skip(seen).try_for_each(|row| each(row))
    }

    fn append(&self, chain: Chain, row: &[Value<'_>], head: Head) -> Result<(), LedgerError> {
        let mut tables = self.tables.borrow_mut();
        if let Some((end, rows)) = tables.chains.get_mut(&chain) {
            *end = head;
            rows.push(row.iter().cloned().map(Value::into_owned).collect());
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
        let held = || Claim::new(Held { memory: Arc::clone(self.memory), charge });
        Ok(new.then(held))
    }
}

/// A claim on a charge.
struct Held {
    memory: Arc<Memory>,
    charge: i64,
}

impl Drop for Held {
    fn drop(&mut self) {
        lock(&self.memory.claims).remove(&self.charge);
    }
}

/// Takes a lock whose content is whole even if its last holder panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
