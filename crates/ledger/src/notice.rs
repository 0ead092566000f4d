//! Messages of the ledger to a person, apart from errors.

use std::fmt;
use std::path::{Path, PathBuf};

/// A message that is no error: for standard error, or a log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Others than its owner can open the ledger.
    OpenToOthers {
        /// The ledger.
        path: PathBuf,
        /// The permissions of its file, as of `chmod`.
        mode: u32,
    },
    /// Another program is answering the same question.
    UnderWay {
        /// The charge that pays for the answer.
        charge: i64,
    },
    /// A release waits for a lock that another program has.
    Waiting {
        /// The ledger.
        path: PathBuf,
        /// The charge that paid for the release.
        charge: i64,
    },
}

impl Notice {
    /// The notice about a file that others than its owner can open.
    #[cfg(unix)]
    pub(crate) fn of_mode(path: &Path) -> Option<Self> {
        use std::os::unix::fs::PermissionsExt;
        let mode = path.metadata().ok()?.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then(|| Self::OpenToOthers { path: path.to_owned(), mode })
    }

    #[cfg(not(unix))]
    pub(crate) fn of_mode(_path: &Path) -> Option<Self> {
        None
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenToOthers { path, mode } => write!(
                f,
                "warning: other users can open the ledger `{path}` (its mode is {mode:04o}): they \
                 can read queries and answers in it, or lock it and so hold up queries\n  \
                 hint: chmod 600 '{path}'",
                path = path.display()
            ),
            Self::UnderWay { charge } => write!(
                f,
                "waiting for another program, which is answering the same question (charge \
                 {charge}): its answer is shown as soon as it is on record, free"
            ),
            Self::Waiting { path, charge } => write!(
                f,
                "waiting for the ledger `{}`, which another program keeps locked: the answer that \
                 charge {charge} has paid for is recorded and shown as soon as the lock is \
                 gone\n  \
                 hint: end the program that has the ledger open; whoever ends this one loses the \
                 answer, and its loss stays spent",
                path.display()
            ),
        }
    }
}
