//! A test of the locks on which the budget rests.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use super::temporary::temporary_beside;
use crate::LedgerError;

/// Takes a lock on the whole file, or says that another handle has it.
type TakeLock = fn(&File) -> Result<(), TryLockError>;

/// Refuses a ledger in a folder where two handles of one file can have the same lock: there, two
/// queries could spend the same budget.
///
/// The test is made on a file beside the ledger (`real` is the ledger's path without links), as
/// closing a second handle of the ledger itself would drop the locks that this process has on it.
/// Where a network file system has no locks, it has neither these nor those that SQLite takes.
/// Locks that hold on each machine, and not between machines, cannot be found out from one of them.
pub(crate) fn check(path: &Path, real: &Path) -> Result<(), LedgerError> {
    check_with(path, real, File::try_lock)
}

fn check_with(path: &Path, real: &Path, take: TakeLock) -> Result<(), LedgerError> {
    let first = temporary_beside(real).map_err(|error| no_file(path, &error))?;
    let second = first.reopen().map_err(|error| LedgerError::open(path, &error))?;
    let refused = |detail: String| Err(LedgerError::NoLocks { path: path.to_owned(), detail });
    if let Err(error) = take(first.as_file()) {
        return refused(error.to_string());
    }
    match take(&second) {
        Err(TryLockError::WouldBlock) => Ok(()),
        Err(TryLockError::Error(error)) => refused(error.to_string()),
        Ok(()) => refused("two handles of one file got the same lock".to_owned()),
    }
}

/// A folder in which no file can be made has no place for SQLite's journal either.
fn no_file(path: &Path, error: &io::Error) -> LedgerError {
    let detail = format!("no file can be made in its folder: {error}");
    LedgerError::ReadOnly { path: path.to_owned(), detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(take: TakeLock) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let error = check_with(&path, &path, take).unwrap_err().to_string();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        error.replace(path.to_str().unwrap(), "ledger.sqlite")
    }

    #[test]
    fn locks_that_do_nothing_are_refused() {
        insta::assert_snapshot!(refusal(|_| Ok(())), @"
        cannot use the ledger `ledger.sqlite`: locks do not hold in its folder (two handles of one \
            file got the same lock), so two queries could spend the same budget
          hint: keep the ledger on a local disk: in the contract, \
            ledger = \"/var/lib/hushtable/NAME.ledger\"
        ");
        let failing: TakeLock = |_| Err(TryLockError::Error(io::ErrorKind::Unsupported.into()));
        insta::assert_snapshot!(refusal(failing), @"
        cannot use the ledger `ledger.sqlite`: locks do not hold in its folder (lock acquisition \
            failed due to I/O error), so two queries could spend the same budget
          hint: keep the ledger on a local disk: in the contract, \
            ledger = \"/var/lib/hushtable/NAME.ledger\"
        ");
    }

    #[test]
    fn locks_that_hold_are_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        check(&path, &path).unwrap();
    }
}
