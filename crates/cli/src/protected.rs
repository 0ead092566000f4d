//! Files that a result must not replace, and places where it must not be.

use std::path::{Path, PathBuf};

use hushtable_engine::{Session, resolved, same, would_read};

use crate::failure::Failure;
use crate::files::PendingFile;

/// The files of a contract on the disk: its own, its ledger, its data.
///
/// A ledger that is replaced forgets what was spent, and a file among the data becomes data.
#[derive(Debug)]
pub(crate) struct Protected {
    files: Vec<PathBuf>,
    /// The contract's folder, and the tables' names with their locations in it.
    folder: PathBuf,
    tables: Vec<(String, String)>,
}

impl Protected {
    pub(crate) fn of(session: &Session, contract: &Path) -> Self {
        let mut files = vec![resolved(contract)];
        let ledger = session.ledger_path();
        for end in ["", "-journal", "-wal", "-shm"] {
            let mut path = ledger.clone().into_os_string();
            path.push(end);
            files.push(resolved(Path::new(&path)));
        }
        let tables = session.contract().tables.values();
        Self {
            files,
            folder: session.folder().to_owned(),
            tables: tables.map(|table| (table.name.clone(), table.path.clone())).collect(),
        }
    }

    /// With one more file.
    pub(crate) fn and(mut self, path: &Path) -> Self {
        self.files.push(resolved(path));
        self
    }

    pub(crate) fn pending(&self, path: &Path) -> Result<PendingFile, Failure> {
        let place = resolved(path);
        if self.files.iter().any(|file| same(file, &place)) {
            return Err(Failure::new(
                format!("{} belongs to the contract", path.display()),
                "give another name; nothing was asked, and nothing was charged",
            ));
        }
        let reads = |(_, location): &&(String, String)| would_read(location, &self.folder, path);
        if let Some((table, location)) = self.tables.iter().find(reads) {
            return Err(Failure::new(
                format!(
                    "{} is where table `{table}` reads its data (path = \"{location}\"): the result \
                     would become data",
                    path.display()
                ),
                "give a name in another folder; nothing was asked, and nothing was charged",
            ));
        }
        PendingFile::replacing(path)
    }
}
