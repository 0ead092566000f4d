//! The ledger itself: one connection to its file.

use std::fmt;
use std::path::{Path, PathBuf};

use hushtable_privacy::{Event, Loss};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::charge::Receipt;
use crate::file::{self, Opened};
use crate::records::Records;
use crate::schema::Format;
use crate::{
    Account, Charge, ChargeRecord, Fingerprint, LedgerError, OpenedCharge, Outcome, Refusal,
    Release, Request, StoredRelease,
};

/// One connection to a ledger's file. Any number of processes and threads may each have one of
/// their own to the same file.
pub struct Ledger {
    conn: Connection,
    path: PathBuf,
    created: bool,
    format: Format,
}

impl Ledger {
    /// Opens the ledger at `path`, and makes it where there is no file, or an empty one:
    /// [`Self::created`] tells. Its folder must exist.
    ///
    /// # Errors
    /// When the file cannot be opened for writing, is not a ledger (it is left as it is then), is
    /// of a later version or damaged, or cannot be written durably; or when another process keeps
    /// it locked for ten seconds.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        file::open(path).map(Self::from)
    }

    /// Opens the ledger at `path` for looking only; `None` where there is no file, or an empty
    /// one. Never makes a file; writes to one only to undo what a crash left half-written.
    ///
    /// # Errors
    /// As [`Self::open`], but the file may be read-only.
    pub fn open_read_only(path: &Path) -> Result<Option<Self>, LedgerError> {
        Ok(file::open_read_only(path)?.map(Self::from))
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

    /// Pays for a question, or finds that the account has paid for it before.
    ///
    /// A release stored under the same fingerprint for the same analyst and table is returned,
    /// free. Otherwise the loss is added to what the account has spent, and refused if that is
    /// above the limit in any component; exactly at the limit is allowed. A loss in epsilon
    /// against a limit in rho is charged as [`Loss::in_rho`]. When this returns a charge, it is
    /// on disk.
    ///
    /// # Errors
    /// When the budget does not allow it ([`LedgerError::Exhausted`]), when the currencies do not
    /// fit, and when the file cannot be read or written. Nothing is charged then.
    pub fn charge(&mut self, request: &Request) -> Result<Outcome, LedgerError> {
        let Request { analyst, table, fingerprint, loss, limit, .. } = request;
        let tx = begin(&mut self.conn, &self.path)?;
        let records = Records { conn: &tx, path: &self.path, format: self.format };
        if let Some(stored) = records.stored(analyst, table, fingerprint)? {
            return Ok(Outcome::Stored(stored));
        }
        let charged = in_budget_currency(request)?;
        let account = records.account(analyst, table, *limit)?;
        if !account.admits(charged) {
            return Err(LedgerError::Exhausted(Box::new(Refusal {
                analyst: analyst.clone(),
                table: table.clone(),
                questions: 1,
                asked: *loss,
                charged,
                account,
            })));
        }
        let receipt: Receipt = records.add_charge(request, charged)?;
        tx.commit().map_err(|error| LedgerError::sqlite(&self.path, error))?;
        Ok(Outcome::Charged(Charge { receipt }))
    }

    /// Stores the release that `charge` paid for. When this returns, it is on disk and may be
    /// shown.
    ///
    /// If the same question was paid for twice at once, both releases are stored, and the one
    /// that was stored first is the answer from then on. But a charge has one release: where another
    /// process has taken up the same charge ([`Self::begin`]) and was first, its release is returned, and
    /// only that may be shown.
    ///
    /// # Errors
    /// When the charge is of another ledger, and when the file cannot be written
    /// ([`LedgerError::Unrecorded`]). The release must not be shown then; the loss stays spent.
    pub fn record(
        &mut self,
        charge: OpenedCharge,
        release: &Release,
    ) -> Result<Option<StoredRelease>, LedgerError> {
        self.store(&charge, release).map_err(|error| match error {
            LedgerError::ForeignCharge { .. } => error,
            _ => LedgerError::Unrecorded { charge: charge.id(), reason: Box::new(error) },
        })
    }

    /// The release that [`Self::charge`] would return for free, without charging if there is
    /// none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn stored(
        &self,
        analyst: &str,
        table: &str,
        fingerprint: &Fingerprint,
    ) -> Result<Option<StoredRelease>, LedgerError> {
        self.records().stored(analyst, table, fingerprint)
    }

    /// What is spent and left of an account whose limit is `limit`.
    ///
    /// # Errors
    /// When the limit is in epsilon but charges were made in rho, when the sum is too large to be
    /// kept, and when the file cannot be read.
    pub fn account(&self, analyst: &str, table: &str, limit: Loss) -> Result<Account, LedgerError> {
        self.records().account(analyst, table, limit)
    }

    /// All charges, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn charges(&self) -> Result<Vec<ChargeRecord>, LedgerError> {
        self.records().charges()
    }

    fn store(
        &mut self,
        charge: &OpenedCharge,
        release: &Release,
    ) -> Result<Option<StoredRelease>, LedgerError> {
        let tx = begin(&mut self.conn, &self.path)?;
        let records = Records { conn: &tx, path: &self.path, format: self.format };
        let earlier = records.release_of(&charge.receipt)?;
        if earlier.is_none() {
            records.add_release(charge, release)?;
        }
        tx.commit().map_err(|error| LedgerError::sqlite(&self.path, error))?;
        Ok(earlier)
    }

    fn records(&self) -> Records<'_> {
        Records { conn: &self.conn, path: &self.path, format: self.format }
    }
}

impl From<Opened> for Ledger {
    fn from(Opened { conn, path, created, format }: Opened) -> Self {
        Self { conn, path, created, format }
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Takes the write lock first, so that nothing read in the transaction can change before it is
/// committed. Dropped without a commit, the transaction is undone.
fn begin<'a>(conn: &'a mut Connection, path: &Path) -> Result<Transaction<'a>, LedgerError> {
    conn.transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| LedgerError::sqlite(path, error))
}

/// What a request costs in the currency of its budget. In rho a loss in epsilon costs what its events do,
/// which is never more than it does as a whole but for their rounding; if they are all of it.
fn in_budget_currency(request: &Request) -> Result<Loss, LedgerError> {
    let Request { analyst, table, loss, limit, events, .. } = request;
    let whole = loss.in_currency_of(*limit).map_err(|_| LedgerError::RhoFromEpsilon {
        analyst: analyst.clone(),
        table: table.clone(),
        loss: *loss,
        limit: *limit,
    })?;
    let sum = |nothing: Loss, part: fn(&Event) -> Option<Loss>| {
        events.iter().try_fold(nothing, |sum, event| sum.plus(part(event)?).ok())
    };
    if whole == *loss || sum(loss.nothing(), Event::in_epsilon) != Some(*loss) {
        return Ok(whole);
    }
    Ok(match sum(whole.nothing(), Event::in_rho) {
        Some(parts) if parts.is_within(whole) => parts,
        _ => whole,
    })
}

mod parts;

#[cfg(test)]
mod faults;
