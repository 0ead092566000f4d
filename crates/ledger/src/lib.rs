//! Budgets, charges and releases on record.
//!
//! A [`Ledger`] is a trait: the steps of a protocol, which this crate writes once, over a store
//! that keeps rows. One store ships: an embedded SQLite file ([`Location::file`]).
//!
//! The way of a query through the ledger, which the types allow in this order only:
//!
//! 1. [`Ledger::charge_all`] answers each question with the release stored for it (free), or takes
//!    the loss from the account's budget and answers with a [`Payment`]; or it refuses all. When a
//!    `Payment` is returned the loss is on disk, so neither a crash nor a power cut gives it back.
//!    [`Ledger::begin`] turns a payment into a [`Charge`], before each time that data are read.
//! 2. [`Charge::open`] turns it into the one [`OpenedCharge`], with which the exact data may be
//!    read.
//! 3. [`Ledger::draw`] takes the `OpenedCharge`, puts the state *drawn* on disk and answers with a
//!    [`DrawnCharge`]. Only with that may random numbers of a release be drawn.
//! 4. [`Ledger::record`] takes the `DrawnCharge` and stores the [`Release`]. Only after that may
//!    the release be shown.
//!
//! A charge stays paid whatever fails after step 1: whether it fails could depend on the data. Up
//! to step 3, whoever asks the same question again takes up the charge, at most [`MOST_ATTEMPTS`]
//! times. From step 3 on nobody does: the release goes on record, or it is lost and its loss stays
//! spent. So a charge has one draw at most, whatever stops a program, and whoever does.
//!
//! While a program is at work on a charge, others that ask its question wait for the answer.
//!
//! An account is an analyst and a population, both compared byte for byte. The contract may name
//! the former names of a population, whose charges are then on its account; where it does not name
//! a population that was charged, or its units have changed, nothing is charged ([`Populations`]).
//! Its limit is not kept
//! here but given with each request, as it belongs to the contract, which the owner may change; the
//! currency of the limit (epsilon or rho) is the one in which the account is kept. Sums are exact
//! integers throughout.
//!
//! Every row holds a hash of itself and of the row before it, and the store says how far these
//! chains go. They are followed to their ends when the ledger is opened, and on from there before
//! each decision: a row that is missing, changed or out of order is an error, never a larger
//! budget. The chains are no defence against someone who can write the whole store anew.
//!
//! A file must be on a local disk: on most network file systems, locks between machines do not
//! hold, and neither would the budget. Opening tests locks, and refuses where they do nothing.

mod book;
mod chain;
mod charge;
mod claim;
mod error;
mod fingerprint;
#[cfg(feature = "memory")]
mod in_memory;
mod ledger;
mod location;
mod notice;
mod payment;
mod populations;
mod populations_differ;
mod protocol;
mod records;
mod refusal;
mod release;
mod sqlite;
mod store;
mod units;

pub use charge::{Charge, ChargeRecord, ChargeState, DrawnCharge, OpenedCharge, Outcome, Request};
pub use error::{Lapse, LedgerError};
pub use fingerprint::Fingerprint;
pub use hushtable_privacy::Account;
pub use ledger::{Ledger, check_budget};
pub use location::Location;
pub use notice::Notice;
pub use payment::{MOST_ATTEMPTS, Payment, PaymentOutcome};
pub use populations::Populations;
pub use populations_differ::{MovedTable, OtherUnits, PopulationsDiffer, UnnamedAccount};
pub use refusal::BudgetExceeded;
pub use release::{Release, StoredRelease};
pub use sqlite::{Inspection, backup, check, is_ledger};
pub use units::{NamedPopulation, Units};
