//! The limit of the process on the size of files.
//!
//! Under such a limit a write to the ledger fails, or ends the process, once the ledger is as long
//! as whoever started the process has chosen: so not for lack of space, and at a moment of that
//! person's choice. A ledger is not opened for charging under one.

use std::path::Path;

use crate::LedgerError;

/// Refuses to charge under a limit on the size of files.
pub(crate) fn check(path: &Path) -> Result<(), LedgerError> {
    match limit() {
        None => Ok(()),
        Some(bytes) => Err(LedgerError::FileSizeLimited { path: path.to_owned(), bytes }),
    }
}

#[cfg(unix)]
fn limit() -> Option<u64> {
    use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
    // A limit that the system does not report is no limit.
    let (limit, _) = getrlimit(Resource::RLIMIT_FSIZE).ok()?;
    (limit != RLIM_INFINITY).then_some(limit)
}

#[cfg(not(unix))]
fn limit() -> Option<u64> {
    None
}
