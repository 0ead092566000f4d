//! Errors, in words for the person who can mend them.

use std::io;
use std::path::{Path, PathBuf};

use hushtable_privacy::Loss;

use crate::BudgetExceeded;

/// Why the ledger did not do what was asked.
///
/// With any error there is no [`crate::Charge`], and nothing is half-written. The budget is as
/// it was, except where the disk failed at the very last step of a commit: then the charge may
/// stand, which errs on the side of privacy. Paths are absolute.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The query costs more than is left of the budget.
    #[error("{0}")]
    Exhausted(Box<BudgetExceeded>),

    /// A loss in rho against a limit in epsilon.
    #[error(
        "this query costs {loss}, but the budget of analyst {analyst:?} on table {table:?} is in \
         epsilon ({limit}), and a loss in rho cannot be paid from it\n  \
         hint: ask with epsilon in place of rho, or have the table's owner give the budget in rho"
    )]
    RhoFromEpsilon {
        /// Who asked.
        analyst: String,
        /// The table whose budget was to pay.
        table: String,
        /// The price of the query.
        loss: Loss,
        /// The budget.
        limit: Loss,
    },

    /// The limit is in epsilon, but the account has charges that were asked in rho.
    #[error(
        "the budget of analyst {analyst:?} on table {table:?} is in epsilon ({limit}), but charge \
         {charge} on it was made in rho ({loss}), and rho cannot be counted in epsilon\n  \
         hint: the table's owner has to give this budget in rho; what was spent in epsilon counts \
         there as rho = epsilon tanh(epsilon / 2)"
    )]
    SpentInRho {
        /// Whose account.
        analyst: String,
        /// On which table.
        table: String,
        /// The first such charge.
        charge: i64,
        /// Its loss.
        loss: Loss,
        /// The budget.
        limit: Loss,
    },

    /// Questions that are to be paid for at once, for more than the largest loss.
    #[error(
        "these queries together cost more than the largest loss that is kept (epsilon or rho of \
         1000000, delta below 1)\n  \
         hint: ask for less, or for fewer queries at once"
    )]
    LossesTooLarge,

    /// The account's charges, in the currency of the limit, add up to more than can be kept.
    #[error(
        "the charges of analyst {analyst:?} on table {table:?} add up to more than the largest \
         amount that is kept (epsilon or rho of 1000000, delta below 1)\n  \
         hint: this account cannot be charged any more; if the currency of its budget was \
         changed, the table's owner can change it back"
    )]
    SpentTooLarge {
        /// Whose account.
        analyst: String,
        /// On which table.
        table: String,
    },

    /// A release for a charge that this ledger did not make.
    #[error(
        "the release of charge {charge} cannot be recorded in the ledger `{}`: the charge was \
         made in another ledger\n  \
         hint: record a release in the ledger that it was paid from", .path.display()
    )]
    ForeignCharge {
        /// The ledger.
        path: PathBuf,
        /// The charge.
        charge: i64,
    },

    /// The data were read for a charge as often as may be, and there is no release.
    #[error(
        "the data were read {attempts} times for charge {charge}, and the program was stopped each \
         time before there was an answer; they are not read again for it\n  \
         hint: find out what stops it (too little memory?); the same query by itself, with \
         `hushtable query` and {loss} in its OPTIONS, is charged anew, and then a workload has its \
         answer from the record"
    )]
    TooManyAttempts {
        /// The charge.
        charge: i64,
        /// How often.
        attempts: u32,
        /// The question that it has paid for.
        loss: Loss,
    },

    /// A release was not stored, and so must not be shown, though it was paid for.
    #[error("the release of charge {charge} is lost, and its loss stays spent: {reason}")]
    Unrecorded {
        /// The charge.
        charge: i64,
        /// Why.
        reason: Box<LedgerError>,
    },

    /// The file or its folder cannot be opened or made.
    #[error(
        "cannot open the ledger `{}`: {detail}\n  \
         hint: the ledger's folder must exist, and this program needs read and write access to \
         the folder and to the file", .path.display()
    )]
    Open {
        /// The ledger.
        path: PathBuf,
        /// The system's own words.
        detail: String,
    },

    /// The file is something else.
    #[error(
        "`{}` is not a ledger: it was made by another program; it was left as it is\n  \
         hint: give the path of a ledger, or of a file that does not exist yet", .path.display()
    )]
    NotALedger {
        /// The file.
        path: PathBuf,
    },

    /// The file is empty.
    #[error(
        "the ledger `{}` is empty, and no ledger is: what was spent in it is not known\n  \
         hint: restore it from a backup; if nothing was ever charged, delete the file, and the \
         next query makes a new ledger", .path.display()
    )]
    Empty {
        /// The file.
        path: PathBuf,
    },

    /// A missing file.
    #[error(
        "there is no ledger `{}`\n  \
         hint: the first charge makes it; if there were charges before, restore it from a \
         backup", .path.display()
    )]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },

    /// The file was made by a later version.
    #[error(
        "the ledger `{}` has format {found}, and this version of Hushtable knows format {known} \
         only\n  \
         hint: use the newer version of Hushtable that made it", .path.display()
    )]
    Newer {
        /// The ledger.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// Ours.
        known: i64,
    },

    /// The file was made by an earlier version.
    #[error(
        "the ledger `{}` has format {found}, and this version of Hushtable knows format {known} \
         only\n  \
         hint: use the version that made it; or move the file away for a new ledger, and lower \
         the budgets in the contract by what is spent in the old one", .path.display()
    )]
    Older {
        /// The ledger.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// Ours.
        known: i64,
    },

    /// Locks do nothing where the ledger is.
    #[error(
        "the ledger `{}` cannot be used: locks do not hold in its folder ({detail}), so two \
         queries could spend the same budget\n  \
         hint: keep the ledger on a local disk: in the contract, ledger = \
         \"/var/lib/hushtable/NAME.ledger\"", .path.display()
    )]
    NoLocks {
        /// The ledger.
        path: PathBuf,
        /// The finding of a test of the locks.
        detail: String,
    },

    /// A backup would replace a file.
    #[error(
        "`{}` is there already, and a backup replaces nothing\n  \
         hint: give a name that is free, such as one with today's date", .path.display()
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },

    /// A backup cannot be written.
    #[error(
        "the backup `{}` cannot be written: {detail}\n  \
         hint: its folder must exist and be writable, and its disk must have room", .path.display()
    )]
    Copy {
        /// The file.
        path: PathBuf,
        /// The system's message.
        detail: String,
    },

    /// Tables or triggers in the file are not as they were made.
    #[error(
        "the ledger `{}` was altered: its tables, indexes or triggers are not the ones that \
         Hushtable makes\n  \
         hint: restore it from a backup, and count what was charged since then", .path.display()
    )]
    Altered {
        /// The ledger.
        path: PathBuf,
    },

    /// SQLite did not take a setting on which durability rests.
    #[error(
        "the ledger `{}` cannot be written safely: SQLite's {setting} is `{found}` and must be \
         `{wanted}`\n  \
         hint: close other programs that have the file open; the file must be on a local \
         disk", .path.display()
    )]
    Setting {
        /// The ledger.
        path: PathBuf,
        /// The pragma.
        setting: &'static str,
        /// The value that it must have.
        wanted: String,
        /// The value that it has.
        found: String,
    },

    /// Another process has kept the file locked.
    #[error(
        "the ledger `{}` is in use: another program has kept it locked for {seconds} seconds\n  \
         hint: try again when the other query has finished", .path.display()
    )]
    Busy {
        /// The ledger.
        path: PathBuf,
        /// How long this program waited.
        seconds: u64,
    },

    /// The file or folder cannot be written.
    #[error(
        "the ledger `{}` cannot be written: {detail}\n  \
         hint: a charge needs write access to the ledger and to its folder, and a disk that is \
         not read-only", .path.display()
    )]
    ReadOnly {
        /// The ledger.
        path: PathBuf,
        /// SQLite's own words.
        detail: String,
    },

    /// A charge was interrupted, and undoing its half needs write access.
    #[error(
        "the ledger `{}` cannot be read: a program was stopped in the middle of writing to it, \
         and this one may not write to it to put it right\n  \
         hint: have someone with write access to the ledger and its folder run `hushtable \
         budget` once", .path.display()
    )]
    Interrupted {
        /// The ledger.
        path: PathBuf,
    },

    /// The file at the path is no longer the one that was opened.
    #[error(
        "the ledger `{}` was moved, replaced or deleted while it was in use\n  \
         hint: put the file back, then start this program again", .path.display()
    )]
    Moved {
        /// The ledger.
        path: PathBuf,
    },

    /// The disk is full.
    #[error(
        "the ledger `{}` cannot be written: the disk is full\n  \
         hint: free some space on it, then ask again", .path.display()
    )]
    Full {
        /// The ledger.
        path: PathBuf,
    },

    /// The disk failed.
    #[error(
        "the ledger `{}` cannot be read or written: {detail}\n  \
         hint: check the disk, its free space, and limits on the size of files", .path.display()
    )]
    Disk {
        /// The ledger.
        path: PathBuf,
        /// The system's own words.
        detail: String,
    },

    /// The file is a ledger, but broken.
    #[error(
        "the ledger `{}` is damaged: {detail}\n  \
         hint: restore it from a backup, and count what was charged since then; queries are \
         refused until then, as the budget is not known", .path.display()
    )]
    Damaged {
        /// The ledger.
        path: PathBuf,
        /// The fault.
        detail: String,
    },

    /// Anything else that SQLite can say.
    #[error(
        "the ledger `{}` failed: {detail}\n  \
         hint: this is a fault in Hushtable, please report it", .path.display()
    )]
    Unexpected {
        /// The ledger.
        path: PathBuf,
        /// SQLite's own words.
        detail: String,
    },
}

impl LedgerError {
    pub(crate) fn open(path: &Path, error: &io::Error) -> Self {
        Self::Open { path: path.to_owned(), detail: error.to_string() }
    }
}
