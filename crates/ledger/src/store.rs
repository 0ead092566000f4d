//! The lower half of a ledger: rows, and who may write them.
//!
//! A store keeps rows in their order, in transactions, and claims. It decides nothing: the links
//! between rows, their meaning and every step of the protocol are written once above it, so that no
//! kind of store can charge too little, draw twice or forget a row unseen.

use std::path::Path;

use crate::chain::{Chain, ChainHead, ChainValue};
use crate::claim::Claim;
use crate::{LedgerError, Notice, Release};

/// One connection to a store.
pub(crate) trait Store: Send {
    /// The store's rows as one transaction sees them.
    type Rows<'a>: StoreRows
    where
        Self: 'a;

    /// Its name in errors: a file's absolute path.
    fn name(&self) -> &Path;

    /// Whether this connection made it.
    fn created(&self) -> bool;

    /// Whatever its owner should know of it, and is no error.
    fn notice(&self) -> Option<Notice>;

    /// Reads in one state of the rows.
    fn look<T>(
        &self,
        read: impl FnOnce(&Self::Rows<'_>) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError>;

    /// Takes the write lock first, so that nothing that `change` reads can change before all that
    /// it writes is durable. When this returns without an error, it is; where it fails, nothing is
    /// written.
    ///
    /// # Errors
    /// Those of `change`; [`LedgerError::Busy`] where another program keeps the lock, so that it
    /// can be tried again.
    fn change<T>(
        &mut self,
        change: impl FnOnce(&Self::Rows<'_>) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError>;
}

/// The rows of a store within one transaction. Writing fails in one that only looks.
pub(crate) trait StoreRows {
    /// The name of the store in errors.
    fn name(&self) -> &Path;

    /// How far a chain goes, where the store says so.
    fn head(&self, chain: Chain) -> Result<Option<ChainHead>, LedgerError>;

    /// Gives `each` all rows of a chain whose number is above `last`, in order: the number first,
    /// the link last. Whatever is there, right or wrong, and no check.
    fn after(
        &self,
        chain: Chain,
        last: i64,
        each: &mut dyn FnMut(&[ChainValue<'_>]) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError>;

    /// Adds a row to a chain, which goes up to `head` then.
    fn append(
        &self,
        chain: Chain,
        row: &[ChainValue<'_>],
        head: ChainHead,
    ) -> Result<(), LedgerError>;

    /// The content of a release.
    fn content(&self, release: i64) -> Result<Option<Release>, LedgerError>;

    /// Adds the content of a release.
    fn add_content(&self, release: i64, content: &Release) -> Result<(), LedgerError>;

    /// Makes room for that many bytes, which [`free_room`](Self::free_room) frees.
    fn make_room(&self, bytes: u64) -> Result<(), LedgerError>;

    /// Frees the room.
    fn free_room(&self) -> Result<(), LedgerError>;

    /// Claims a charge; `None` where another program, or another connection of this one, is at work
    /// on it.
    fn claim(&self, charge: i64) -> Result<Option<Claim>, LedgerError>;
}
