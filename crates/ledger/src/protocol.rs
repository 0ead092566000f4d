//! The steps of the protocol, over any store.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use hushtable_privacy::Loss;

use crate::book::Book;
use crate::ledger::closed::SealedLedger;
use crate::populations::Populations;
use crate::records::LedgerRecords;
use crate::store::Store;
use crate::{
    Account, ChargeRecord, DrawnCharge, Fingerprint, Ledger, LedgerError, Notice, OpenedCharge,
    Outcome, Payment, PaymentOutcome, Release, Request, StoredRelease,
};

/// A ledger on one connection to its store.
pub(crate) struct Protocol<S> {
    pub(crate) store: S,
    /// The rows, as far as they were read.
    book: RefCell<Book>,
    listener: Box<dyn Fn(&Notice) + Send>,
    given_up: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl<S: Store> Protocol<S> {
    /// The ledger on a store, all of whose rows are read and checked.
    pub(crate) fn open(store: S, populations: Populations) -> Result<Self, LedgerError> {
        let ledger = Self::unread(store, populations);
        ledger.look(|_, _| Ok(()))?;
        Ok(ledger)
    }

    pub(crate) fn unread(store: S, populations: Populations) -> Self {
        let book = RefCell::new(Book::new(populations));
        let (listener, given_up) = (Box::new(|_: &Notice| {}), Arc::new(|| false));
        Self { store, book, listener, given_up }
    }

    /// Reads in one state of the store, and checks the rows that are new since the last time.
    fn look<T>(
        &self,
        read: impl FnOnce(&LedgerRecords<'_>, &Book) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        self.store.look(|rows| {
            let records = LedgerRecords(rows);
            let mut book = self.book.borrow_mut();
            // Other programs write to the same store: decisions need the rows of this very state.
            book.catch_up(&records)?;
            read(&records, &book)
        })
    }

    /// Reads and writes in one transaction, as [`Store::change`] does.
    fn change<T>(
        &mut self,
        change: impl FnOnce(&LedgerRecords<'_>, &Book) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let book = self.book.get_mut();
        self.store.change(|rows| {
            let records = LedgerRecords(rows);
            // Inside the transaction: rows read before it could miss a charge of another program.
            book.catch_up(&records)?;
            change(&records, book)
        })
    }
}

impl<S> SealedLedger for Protocol<S> {}

impl<S: Store> Ledger for Protocol<S> {
    fn charge_all(&mut self, requests: &[Request]) -> Result<Vec<PaymentOutcome>, LedgerError> {
        self.pay_all(requests)
    }

    fn begin(&mut self, payment: &Payment, others: &[Payment]) -> Result<Outcome, LedgerError> {
        self.take_up(payment, others)
    }

    fn draw(
        &mut self,
        charge: OpenedCharge,
        others: Vec<Payment>,
        room: u64,
    ) -> Result<DrawnCharge, LedgerError> {
        self.put_drawn(charge, others, room)
    }

    fn record(&mut self, charge: DrawnCharge, release: &Release) -> Result<(), LedgerError> {
        self.put_release(&charge, release)
    }

    fn copy(&mut self, payments: &[Payment], release: &Release) -> Result<(), LedgerError> {
        self.put_copies(payments, release)
    }

    fn stored(
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

    fn related(
        &self,
        analyst: &str,
        population: &str,
        family: &Fingerprint,
    ) -> Result<Vec<StoredRelease>, LedgerError> {
        self.look(|records, book| {
            let related = book.related(analyst, population, family).into_iter();
            related.map(|recorded| records.release(recorded)).collect()
        })
    }

    fn is_paid(
        &self,
        analyst: &str,
        population: &str,
        fingerprint: &Fingerprint,
    ) -> Result<bool, LedgerError> {
        self.look(|_, book| Ok(book.resumable(analyst, population, fingerprint).is_some()))
    }

    fn answered_before(
        &self,
        analyst: &str,
        population: &str,
        query: &str,
    ) -> Result<Option<String>, LedgerError> {
        self.look(|records, book| book.answered_before(records, analyst, population, query))
    }

    fn account(
        &self,
        analyst: &str,
        population: &str,
        limit: Loss,
    ) -> Result<Account, LedgerError> {
        self.look(|_, book| book.account(analyst, population, limit))
    }

    fn check_populations(&self) -> Result<(), LedgerError> {
        self.look(|_, book| book.check_populations())
    }

    fn charges(&self) -> Result<Vec<ChargeRecord>, LedgerError> {
        self.look(|records, book| book.recorded(records))
    }

    fn created(&self) -> bool {
        self.store.created()
    }

    fn tell(&mut self, listener: Box<dyn Fn(&Notice) + Send>) {
        self.listener = listener;
        if let Some(notice) = self.store.notice() {
            (self.listener)(&notice);
        }
    }

    fn give_up_when(&mut self, given_up: Arc<dyn Fn() -> bool + Send + Sync>) {
        self.given_up = given_up;
    }
}

impl<S: Store> fmt::Debug for Protocol<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("name", &self.store.name()).finish_non_exhaustive()
    }
}

mod one_draw;
mod pay;
