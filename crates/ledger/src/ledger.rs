//! The ledger itself: one connection to its file.

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hushtable_privacy::{Loss, cost};
use rusqlite::{Connection, TransactionBehavior};

use crate::book::Book;
use crate::file::{self, Opened};
use crate::populations::Populations;
use crate::records::Records;
use crate::{
    Account, BudgetExceeded, ChargeRecord, Fingerprint, LedgerError, Notice, Request, StoredRelease,
};

/// One connection to a ledger's file. Any number of processes and threads may each have one of
/// their own to the same file.
pub struct Ledger {
    conn: Connection,
    path: PathBuf,
    /// The path without links: claims are beside it.
    real: PathBuf,
    created: bool,
    /// The rows, as far as they were read.
    book: RefCell<Book>,
    listener: Box<dyn Fn(&Notice) + Send>,
    given_up: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Ledger {
    /// Opens the ledger at `path`, checks all of its charges, and makes it where there is no file:
    /// [`Self::created`] tells. Its folder must exist. `populations` are those of the contract:
    /// charges under their former names are on their accounts.
    ///
    /// # Errors
    /// When the file cannot be opened for writing, is not a ledger (it is left as it is then), is
    /// empty, of another version or damaged, or cannot be written durably; when locks do nothing in
    /// its folder; or when another process keeps it locked for ten seconds.
    pub fn open(path: &Path, populations: Populations) -> Result<Self, LedgerError> {
        Self::read(file::open(path)?, populations)
    }

    /// Opens the ledger at `path` for looking only, and checks all of its charges; `None` where
    /// there is no file. Never makes a file; writes to one only to undo what a crash left
    /// half-written.
    ///
    /// # Errors
    /// Opens the ledger as [`Self::open`] does; the file may be read-only.
    pub fn open_read_only(
        path: &Path,
        populations: Populations,
    ) -> Result<Option<Self>, LedgerError> {
        file::open_read_only(path)?.map(|opened| Self::read(opened, populations)).transpose()
    }

    fn read(opened: Opened, populations: Populations) -> Result<Self, LedgerError> {
        let ledger = Self::unread(opened, populations);
        ledger.look(|_, _| Ok(()))?;
        Ok(ledger)
    }

    fn unread(Opened { conn, path, real, created }: Opened, populations: Populations) -> Self {
        let book = RefCell::new(Book::new(populations));
        let (listener, given_up) = (Box::new(|_: &Notice| {}), Arc::new(|| false));
        Self { conn, path, real, created, book, listener, given_up }
    }

    /// Tells `listener` of everything that is no error: now, if others can open the file, and
    /// later.
    pub fn telling(mut self, listener: impl Fn(&Notice) + Send + 'static) -> Self {
        self.listener = Box::new(listener);
        if let Some(notice) = Notice::of_mode(&self.path) {
            (self.listener)(&notice);
        }
        self
    }

    /// Pays for nothing more when `given_up` says so, and ends waiting for other programs. It is
    /// asked many times a second while this waits.
    pub fn giving_up_when(mut self, given_up: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.given_up = Arc::new(given_up);
        self
    }

    /// Whether [`Self::open`] made the file. A caller should say so: with a mistyped path, every
    /// budget would start afresh.
    pub fn created(&self) -> bool {
        self.created
    }

    /// The file's absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses questions that cannot be answered whatever they are about, as [`Self::charge`]
    /// would, before their mechanisms are made. `asked` has the loss of each, and `least` is a loss
    /// that they do not fall below, in the currency of `asked` or of the budget. Without a ledger,
    /// nothing is spent. Charges nothing. Where the account has paid for a question of about such a
    /// loss, it may be the same, which is free; nothing is refused then.
    ///
    /// # Errors
    /// Fails as [`Self::charge`] does.
    pub fn check_budget(
        ledger: Option<&Self>,
        (analyst, population): (&str, &str),
        asked: &[Loss],
        least: Loss,
        limit: Loss,
    ) -> Result<(), LedgerError> {
        let Some((first, others)) = asked.split_first() else { return Ok(()) };
        ledger.map_or(Ok(()), Self::check_populations)?;
        let all = first.plus_all(others.iter().copied());
        let all = all.map_err(|_| LedgerError::LossesTooLarge)?;
        let account = match ledger {
            Some(ledger) => ledger.account(analyst, population, limit)?,
            None => Account::untouched(limit),
        };
        let refusal = match (all.in_currency_of(limit), least.in_currency_of(limit)) {
            (Ok(_), Ok(least)) if account.admits(least) => return Ok(()),
            (Ok(charged), Ok(_)) => {
                let (analyst, population) = (analyst.to_owned(), population.to_owned());
                let questions = asked.len();
                let refusal =
                    BudgetExceeded { analyst, population, questions, asked: all, charged, account };
                LedgerError::Exhausted(Box::new(refusal))
            }
            _ => rho_from_epsilon((analyst, population), all, limit),
        };
        let charges = ledger.map(Self::charges).transpose()?.unwrap_or_default();
        let mut own = charges.iter().filter(|c| c.analyst == analyst && c.account == population);
        let found =
            own.any(|charge| asked.iter().any(|&loss| charge.asked.is_half_or_all_of(loss)));
        if found { Ok(()) } else { Err(refusal) }
    }

    /// The release that [`Self::charge`] would return for free, without charging if there is
    /// none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn stored(
        &self,
        analyst: &str,
        population: &str,
        fingerprint: &Fingerprint,
    ) -> Result<Option<StoredRelease>, LedgerError> {
        self.look(|records, book| {
            book.stored(analyst, population, fingerprint)
                .map(|stored| records.release(stored))
                .transpose()
        })
    }

    /// When the same text was charged last, as an RFC 3339 time, where its release is on record.
    /// The release may be of other data, or of another contract: for a message, and no decision.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn answered_before(
        &self,
        analyst: &str,
        population: &str,
        query: &str,
    ) -> Result<Option<String>, LedgerError> {
        self.look(|records, book| book.answered_before(records, analyst, population, query))
    }

    /// The account of a limit: how much of it is spent, and how much is left.
    ///
    /// # Errors
    /// When the limit is in epsilon but charges were made in rho, when the sum is too large to be
    /// kept, and when the file cannot be read.
    pub fn account(
        &self,
        analyst: &str,
        population: &str,
        limit: Loss,
    ) -> Result<Account, LedgerError> {
        self.look(|_, book| book.account(analyst, population, limit))
    }

    /// Refuses a contract under which somebody who was charged for would have a fresh budget, as
    /// every charge does.
    ///
    /// # Errors
    /// When the contract's populations do not fit the charges on record
    /// ([`LedgerError::PopulationsDiffer`]), and when the file cannot be read.
    pub fn check_populations(&self) -> Result<(), LedgerError> {
        self.look(|_, book| book.check_populations())
    }

    /// All charges, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn charges(&self) -> Result<Vec<ChargeRecord>, LedgerError> {
        self.look(|records, book| book.recorded(records))
    }

    /// Reads in one state of the file, and checks the rows that are new since the last time.
    fn look<T>(
        &self,
        read: impl FnOnce(&Records<'_>, &Book) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let sql = |error| LedgerError::sqlite(&self.path, error);
        let tx = self.conn.unchecked_transaction().map_err(sql)?;
        let records = Records { conn: &tx, path: &self.path };
        let mut book = self.book.borrow_mut();
        book.catch_up(&records)?;
        read(&records, &book)
    }

    /// Takes the write lock first, so that nothing that `change` reads can change before all that
    /// it writes is on disk. Where it fails, nothing is written.
    fn change<T>(
        &mut self,
        change: impl FnOnce(&Records<'_>, &Book) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let sql = |error| LedgerError::sqlite(&self.path, error);
        let tx =
            self.conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let records = Records { conn: &tx, path: &self.path };
        let book = self.book.get_mut();
        book.catch_up(&records)?;
        let changed = change(&records, book)?;
        tx.commit().map_err(sql)?;
        Ok(changed)
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The cost of a request in the currency of its budget.
fn in_budget_currency(request: &Request) -> Result<Loss, LedgerError> {
    let Request { analyst, population, loss, limit, events, .. } = request;
    cost(*loss, events, *limit).map_err(|_| rho_from_epsilon((analyst, population), *loss, *limit))
}

fn rho_from_epsilon((analyst, population): (&str, &str), loss: Loss, limit: Loss) -> LedgerError {
    let (analyst, population) = (analyst.to_owned(), population.to_owned());
    LedgerError::RhoFromEpsilon { analyst, population, loss, limit }
}

mod pay;
mod protocol;

#[cfg(test)]
mod faults;
