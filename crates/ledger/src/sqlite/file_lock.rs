//! Claims in a folder: locks on files beside the ledger, which the system takes away from a process
//! that ends, however it ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A lock that is a claim on a charge.
#[derive(Debug)]
pub(crate) struct FileLock {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl FileLock {
    /// Claims a charge of the ledger at `real`, its path without links; `None` where another
    /// process, or another handle of this one, is at work on it.
    pub(crate) fn take(real: &Path, charge: i64) -> io::Result<Option<Self>> {
        let path = file_of(real, charge);
        loop {
            let file = open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Whoever had the lock removes the file: then this lock is on nothing.
            if is_at(&file, &path)? {
                return Ok(Some(Self { path, _file: file }));
            }
        }
    }
}

impl Drop for FileLock {
    /// Removes the file while it is still locked, so that nobody else's is removed.
    fn drop(&mut self) {
        if cfg!(unix) {
            // A file that cannot be removed is locked again by the next one.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The file whose lock is the claim on a charge.
fn file_of(real: &Path, charge: i64) -> PathBuf {
    let mut name = real.file_name().unwrap_or_default().to_owned();
    name.push(format!("-charge-{charge}"));
    real.with_file_name(name)
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Whether the file is the one that has the path now.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let opened = file.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Files are not removed here.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_charge_has_one_claim_at_a_time_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("a.ledger");
        let first = FileLock::take(&ledger, 1).unwrap().unwrap();
        assert!(FileLock::take(&ledger, 1).unwrap().is_none());
        let other = FileLock::take(&ledger, 2).unwrap().unwrap();
        drop((first, other));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(FileLock::take(&ledger, 1).unwrap().is_some());
    }

    #[test]
    fn a_file_that_a_stopped_process_left_is_claimed() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("a.ledger");
        fs::write(file_of(&ledger, 1), "").unwrap();
        assert!(FileLock::take(&ledger, 1).unwrap().is_some());
    }

    /// Files come and go under the claims of others.
    #[test]
    fn of_many_that_claim_and_give_back_one_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("a.ledger");
        let (holders, claims) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    // However busy the machine is, somebody gets on.
                    while claims.load(Ordering::SeqCst) < 500 {
                        let Some(claim) = FileLock::take(&ledger, 1).unwrap() else { continue };
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        claims.fetch_add(1, Ordering::SeqCst);
                        thread::yield_now();
                        assert_eq!(holders.fetch_sub(1, Ordering::SeqCst), 1);
                        drop(claim);
                    }
                });
            }
        });
        assert!(claims.into_inner() >= 500);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
