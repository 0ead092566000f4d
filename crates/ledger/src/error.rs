//! Errors, in words for the person who can mend them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use hushtable_errors::{ErrorText, Hint};
use hushtable_privacy::Loss;

use crate::chain::ChainFault;
use crate::{BudgetExceeded, MOST_ATTEMPTS, PopulationsDiffer};

/// Why a charge cannot be answered any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lapse {
    /// Its release was drawn, and is not on record.
    Drawn,
    /// The data were read for it as often as allowed.
    Attempts,
}

/// Why the ledger did not do what was asked.
///
/// With any error there is no [`crate::Charge`], and nothing is half-written. The budget is as
/// it was, except where the disk failed at the very last step of a commit: then the charge may
/// stand, which errs on the side of privacy. Paths are absolute.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The query costs more than is left of the budget.
    Exhausted(Box<BudgetExceeded>),

    /// The contract's populations do not fit the charges on record.
    PopulationsDiffer(Box<PopulationsDiffer>),

    /// A charge to a population that the contract does not name.
    UnknownPopulation {
        /// Its name.
        population: String,
    },

    /// A loss in rho against a limit in epsilon.
    RhoFromEpsilon {
        /// The analyst who asked.
        analyst: String,
        /// The population whose budget was to pay.
        population: String,
        /// The price of the query.
        loss: Loss,
        /// The budget.
        limit: Loss,
    },

    /// The limit is in epsilon, but the account has charges that were asked in rho.
    SpentInRho {
        /// Whose account.
        analyst: String,
        /// On which population.
        population: String,
        /// The first such charge.
        charge: i64,
        /// Its loss.
        loss: Loss,
        /// The budget.
        limit: Loss,
    },

    /// Questions that are to be paid for at once, for more than the largest loss.
    LossesTooLarge,

    /// The account's charges, in the currency of the limit, add up to more than can be kept.
    SpentTooLarge {
        /// Whose account.
        analyst: String,
        /// On which population.
        population: String,
    },

    /// A release for a charge that this ledger did not make.
    ForeignCharge {
        /// The ledger.
        path: PathBuf,
        /// The charge.
        charge: i64,
    },

    /// A release is to be recorded for a charge that has no draw.
    NotDrawn {
        /// The charge.
        charge: i64,
    },

    /// The caller gave up before anything was charged.
    GivenUp,

    /// Another program took up a charge, and ended so that the charge cannot be answered any more.
    Lapsed {
        /// The charge.
        charge: i64,
        /// Why.
        lapse: Lapse,
    },

    /// The state *drawn* could not be written, so that nothing was drawn.
    Undrawn {
        /// The charge.
        charge: i64,
        /// Why.
        reason: Box<LedgerError>,
    },

    /// The process has a limit on the size of files.
    FileSizeLimited {
        /// The ledger.
        path: PathBuf,
        /// The limit.
        bytes: u64,
    },

    /// The system failed to lock a file beside the ledger.
    Claim {
        /// The ledger.
        path: PathBuf,
        /// The system's own words.
        detail: String,
    },

    /// A release was not stored, and so must not be shown, though it was paid for.
    Unrecorded {
        /// The charge.
        charge: i64,
        /// Why.
        reason: Box<LedgerError>,
    },

    /// The file or its folder cannot be opened or made.
    Open {
        /// The ledger.
        path: PathBuf,
        /// The system's own words.
        detail: String,
    },

    /// The file is something else.
    NotALedger {
        /// The file.
        path: PathBuf,
    },

    /// The file is empty.
    Empty {
        /// The file.
        path: PathBuf,
    },

    /// A missing file.
    Missing {
        /// Where it should be.
        path: PathBuf,
    },

    /// The file was made by a later version.
    Newer {
        /// The ledger.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// Ours.
        known: i64,
    },

    /// The file was made by an earlier version.
    Older {
        /// The ledger.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// Ours.
        known: i64,
    },

    /// Locks do nothing where the ledger is.
    NoLocks {
        /// The ledger.
        path: PathBuf,
        /// The finding of a test of the locks.
        detail: String,
    },

    /// A backup would replace a file.
    Exists {
        /// The file.
        path: PathBuf,
    },

    /// A backup cannot be written.
    Copy {
        /// The file.
        path: PathBuf,
        /// The system's message.
        detail: String,
    },

    /// Tables or triggers in the file are not as they were made.
    Altered {
        /// The ledger.
        path: PathBuf,
    },

    /// SQLite did not take a setting on which durability rests.
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
    Busy {
        /// The ledger.
        path: PathBuf,
        /// How long this program waited.
        seconds: u64,
    },

    /// The file or folder cannot be written.
    ReadOnly {
        /// The ledger.
        path: PathBuf,
        /// SQLite's own words.
        detail: String,
    },

    /// A charge was interrupted, and undoing its half needs write access.
    Interrupted {
        /// The ledger.
        path: PathBuf,
    },

    /// The file at the path is no longer the one that was opened.
    Moved {
        /// The ledger.
        path: PathBuf,
    },

    /// The disk is full.
    Full {
        /// The ledger.
        path: PathBuf,
    },

    /// The disk failed.
    Disk {
        /// The ledger.
        path: PathBuf,
        /// The system's own words.
        detail: String,
    },

    /// The file is a ledger, but broken.
    Damaged {
        /// The ledger.
        path: PathBuf,
        /// The fault.
        detail: String,
    },

    /// Anything else that SQLite can say.
    Unexpected {
        /// The ledger.
        path: PathBuf,
        /// SQLite's own words.
        detail: String,
    },
}

impl Hint for LedgerError {
    fn error_text(&self) -> ErrorText {
        let text = match self {
            Self::Exhausted(inner) => return inner.error_text(),
            Self::PopulationsDiffer(inner) => return inner.error_text(),
            Self::UnknownPopulation { population } => (
                format!("the contract does not name the population `{population}`"),
                Some("this is a fault in Hushtable: please report it, without data".to_owned()),
            ),
            Self::RhoFromEpsilon { analyst, population, loss, limit } => (
                format!(
                    "this query costs {loss}, but the budget of analyst `{analyst}` on \
                     `{population}` is in epsilon ({limit}), and a loss in rho cannot be paid \
                     from it"
                ),
                Some(
                    "ask with epsilon in place of rho, or ask the owner of the data for a \
                     budget in rho"
                        .to_owned(),
                ),
            ),
            Self::SpentInRho { analyst, population, charge, loss, limit } => (
                format!(
                    "the budget of analyst `{analyst}` on `{population}` is in epsilon ({limit}), \
                     but charge {charge} on it was made in rho ({loss}), and rho cannot be \
                     counted in epsilon"
                ),
                Some(
                    "ask the owner of the data to give this budget in rho; what was spent in \
                     epsilon counts there as rho = epsilon tanh(epsilon / 2)"
                        .to_owned(),
                ),
            ),
            Self::LossesTooLarge => (
                "these queries together cost more than the largest loss allowed (epsilon or rho \
                 of 1000000, delta below 1)"
                    .to_owned(),
                Some("ask for less, or for fewer queries at once".to_owned()),
            ),
            Self::SpentTooLarge { analyst, population } => (
                format!(
                    "the charges of analyst `{analyst}` on `{population}` add up to more than the \
                     largest loss allowed (epsilon or rho of 1000000, delta below 1)"
                ),
                Some(
                    "ask the owner of the data to change the currency of the budget back, if it \
                     was changed; otherwise this account cannot be charged any more"
                        .to_owned(),
                ),
            ),
            Self::ForeignCharge { path, charge } => (
                format!(
                    "cannot record the release of charge {charge} in the ledger `{}`: the \
                     charge was made in another ledger",
                    path.display()
                ),
                Some("record a release in the ledger that it was paid from".to_owned()),
            ),
            Self::NotDrawn { charge } => (
                format!("charge {charge} has no draw, or has a release on record already"),
                Some("this is a fault in Hushtable: please report it, without data".to_owned()),
            ),
            Self::GivenUp => {
                ("given up before anything was charged".to_owned(), Some("ask again".to_owned()))
            }
            Self::Lapsed { charge, lapse } => {
                let why = match lapse {
                    Lapse::Drawn => "its release was drawn and not recorded".to_owned(),
                    Lapse::Attempts => format!("the data were read {MOST_ATTEMPTS} times for it"),
                };
                (
                    format!(
                        "charge {charge} was taken up by another program and cannot be answered \
                         any more: {why}; its loss stays spent"
                    ),
                    Some("ask again: the question is charged anew".to_owned()),
                )
            }
            Self::Undrawn { charge, reason } => {
                let ErrorText { what: why, hint, .. } = reason.error_text();
                let what = "was not drawn; asking again takes up the charge";
                (format!("the release of charge {charge} {what}: {why}"), hint)
            }
            Self::FileSizeLimited { path, bytes } => (
                format!(
                    "cannot charge with the ledger `{}`: this process may write files of at most \
                     {bytes} bytes, so that an answer could be paid for and not be recorded",
                    path.display()
                ),
                Some("run it without a limit on the size of files: `ulimit -f unlimited`".into()),
            ),
            Self::Claim { path, detail } => (
                format!("cannot lock a file beside the ledger `{}`: {detail}", path.display()),
                Some(
                    "give this program write access to the ledger's folder, on a local disk"
                        .to_owned(),
                ),
            ),
            Self::Unrecorded { charge, reason } => {
                let ErrorText { what: why, hint, .. } = reason.error_text();
                let what = "is lost, and its loss stays spent";
                (format!("the release of charge {charge} {what}: {why}"), hint)
            }
            Self::Open { path, detail } => (
                format!("cannot open the ledger `{}`: {detail}", path.display()),
                Some(
                    "check that the ledger's folder exists, and that this program has read and \
                     write access to the folder and to the file"
                        .to_owned(),
                ),
            ),
            Self::NotALedger { path } => (
                format!(
                    "`{}` is not a ledger: it was made by another program; it was left unchanged",
                    path.display()
                ),
                Some("give the path of a ledger, or of a file that does not exist yet".to_owned()),
            ),
            Self::Empty { path } => (
                format!(
                    "the ledger `{}` is an empty file: what was spent in it is not known",
                    path.display()
                ),
                Some(
                    "restore it from a backup; if nothing was ever charged, delete \
                 the file, and the next query makes a new ledger"
                        .to_owned(),
                ),
            ),
            Self::Missing { path } => (
                format!("there is no ledger `{}`", path.display()),
                Some(
                    "ask a query, whose charge creates the ledger; if there were charges \
                     before, restore it from a backup"
                        .to_owned(),
                ),
            ),
            Self::Newer { path, found, known } => (
                format!(
                    "the ledger `{}` has format {found}, but this version of Hushtable reads \
                     format {known} only",
                    path.display()
                ),
                Some("use the newer version of Hushtable that made it".to_owned()),
            ),
            Self::Older { path, found, known } => (
                format!(
                    "the ledger `{}` has format {found}, but this version of Hushtable reads \
                     format {known} only",
                    path.display()
                ),
                Some(
                    "use the version that made it, or move the file away for a new ledger and \
                     lower the budgets in the contract by what is spent in the old one"
                        .to_owned(),
                ),
            ),
            Self::NoLocks { path, detail } => (
                format!(
                    "cannot use the ledger `{}`: locks do not hold in its folder ({detail}), so \
                     two queries could spend the same budget",
                    path.display()
                ),
                Some(
                    "keep the ledger on a local disk: in the contract, ledger = \
                 \"/var/lib/hushtable/NAME.ledger\""
                        .to_owned(),
                ),
            ),
            Self::Exists { path } => (
                format!("`{}` exists already, and a backup replaces nothing", path.display()),
                Some("give another name, such as one with today's date".to_owned()),
            ),
            Self::Copy { path, detail } => (
                format!("cannot write the backup `{}`: {detail}", path.display()),
                Some(
                    "check that the folder exists and is writable, and that its disk has room"
                        .to_owned(),
                ),
            ),
            Self::Altered { path } => (
                format!(
                    "the ledger `{}` was altered: its tables, indexes or \
                     triggers are not the ones that Hushtable makes",
                    path.display()
                ),
                Some("restore it from a backup, and count what was charged since then".to_owned()),
            ),
            Self::Setting { path, setting, wanted, found } => (
                format!(
                    "cannot write the ledger `{}` safely: SQLite's {setting} is `{found}` and \
                     must be `{wanted}`",
                    path.display()
                ),
                Some(
                    "close other programs that have the file open, and keep the file on a local \
                     disk"
                        .to_owned(),
                ),
            ),
            Self::Busy { path, seconds } => (
                format!(
                    "the ledger `{}` is in use: another program has kept it \
                     locked for {seconds} seconds",
                    path.display()
                ),
                Some("try again when the other query has finished".to_owned()),
            ),
            Self::ReadOnly { path, detail } => (
                format!("cannot write the ledger `{}`: {detail}", path.display()),
                Some(
                    "give this program write access to the ledger and to its folder, on a disk \
                     that is not read-only"
                        .to_owned(),
                ),
            ),
            Self::Interrupted { path } => (
                format!(
                    "cannot read the ledger `{}`: a program was stopped while writing to it, \
                     and this one may not write to it to repair it",
                    path.display()
                ),
                Some(
                    "ask someone with write access to the ledger and its folder to run \
                     `hushtable budget` once"
                        .to_owned(),
                ),
            ),
            Self::Moved { path } => (
                format!(
                    "the ledger `{}` was moved, replaced or deleted while it was \
                     in use",
                    path.display()
                ),
                Some("put the file back, then start this program again".to_owned()),
            ),
            Self::Full { path } => (
                format!("cannot write the ledger `{}`: the disk is full", path.display()),
                Some("free some space on it, then ask again".to_owned()),
            ),
            Self::Disk { path, detail } => (
                format!("cannot read or write the ledger `{}`: {detail}", path.display()),
                Some("check the disk, its free space, and limits on the size of files".to_owned()),
            ),
            Self::Damaged { path, detail } => (
                format!("the ledger `{}` is damaged: {detail}", path.display()),
                Some(
                    "restore it from a backup, and count what was charged since \
                 then; queries are refused until then, as the budget is not known"
                        .to_owned(),
                ),
            ),
            Self::Unexpected { path, detail } => (
                format!("the ledger `{}` failed: {detail}", path.display()),
                Some("this is a fault in Hushtable: please report it, without data".to_owned()),
            ),
        };
        ErrorText::from(text)
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error_text().fmt(f)
    }
}

impl LedgerError {
    pub(crate) fn open(path: &Path, error: &io::Error) -> Self {
        Self::Open { path: path.to_owned(), detail: error.to_string() }
    }

    /// The error for a fault of the chains of the store of this name.
    pub(crate) fn broken(name: &Path, broken: ChainFault) -> Self {
        Self::Damaged { path: name.to_owned(), detail: broken.to_string() }
    }

    /// The refusal of a loss in rho that is to be paid from a budget in epsilon.
    pub(crate) fn rho_from_epsilon(
        (analyst, population): (&str, &str),
        loss: Loss,
        limit: Loss,
    ) -> Self {
        let (analyst, population) = (analyst.to_owned(), population.to_owned());
        Self::RhoFromEpsilon { analyst, population, loss, limit }
    }
}
