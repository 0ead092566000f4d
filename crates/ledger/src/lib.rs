//! Budgets, charges and releases on record, in one embedded SQLite file.
//!
//! The way of a query through the ledger, which the types allow in this order only:
//!
//! 1. [`Ledger::charge`] answers with the release stored for the same question (free), or takes
//!    the loss from the account's budget and answers with a [`Charge`], or refuses. When a
//!    `Charge` is returned the loss is on disk, so neither a crash nor a power cut gives it back.
//! 2. [`Charge::open`] turns it into the one [`OpenedCharge`], with which the exact data may be
//!    read.
//! 3. [`Ledger::record`] takes the `OpenedCharge` and stores the [`Release`]. Only after that may
//!    the release be shown.
//!
//! A query that fails after step 1 stays paid for: whether it fails could depend on the data.
//!
//! A workload pays for all of its questions at once with [`Ledger::charge_all`], and gets the
//! charge of each from [`Ledger::begin`], before each time that it reads the data. After a crash
//! such a charge is taken up again: it is not paid twice, and still has one release.
//!
//! An account is an analyst and a population, both compared byte for byte. Its limit is not kept
//! here but given with each request, as it belongs to the contract, which the owner may change; the
//! currency of the limit (epsilon or rho) is the one in which the account is kept. Sums are exact
//! integers throughout.
//!
//! Every row holds a hash of itself and of the row before it, and the file says how far these
//! chains go. They are followed to their ends when the file is opened, and on from there before
//! each decision: a row that is missing, changed or out of order is an error, never a larger
//! budget. The chains are no defence against someone who can write the whole file anew.
//!
//! The file must be on a local disk: on most network file systems, locks between machines do not
//! hold, and neither would the budget. Opening tests locks, and refuses where they do nothing.

mod account;
mod book;
mod chain;
mod charge;
mod error;
mod file;
mod fingerprint;
mod inspection;
mod ledger;
mod locks;
mod notice;
mod payment;
mod recognise;
mod records;
mod refusal;
mod release;
mod schema;
mod sqlite;
mod temporary;

pub use account::Account;
pub use charge::{Charge, ChargeRecord, OpenedCharge, Outcome, Request};
pub use error::LedgerError;
pub use fingerprint::Fingerprint;
pub use inspection::{Inspection, backup, check};
pub use ledger::{Ledger, cost};
pub use notice::Notice;
pub use payment::{MOST_ATTEMPTS, Paid, Payment};
pub use recognise::is_ledger;
pub use refusal::BudgetExceeded;
pub use release::{Release, StoredRelease};
