//! Files that a result must not replace.

use std::fs;
use std::path::{Path, PathBuf};

use hushtable_engine::{Session, list_files};

use crate::failure::Failure;
use crate::files::PendingFile;

/// The files that a result must not replace. A ledger that is replaced forgets what was spent.
#[derive(Debug)]
pub(crate) struct Protected(Vec<PathBuf>);

impl Protected {
    pub(crate) fn of(session: &Session, contract: &Path) -> Self {
        let ledger = session.ledger_path();
        let mut journal = ledger.clone().into_os_string();
        journal.push("-journal");
        let mut paths = vec![contract.to_owned(), ledger, journal.into()];
        let folder = contract.parent().unwrap_or(Path::new(""));
        for table in session.contract().tables.values() {
            // What is wrong with a location is for the query to say.
            if let Ok(files) = list_files(&table.path, folder) {
                paths.extend(files.into_iter().map(|file| file.path));
            }
        }
        Self(paths.iter().map(|path| resolved(path)).collect())
    }

    /// With one more file.
    pub(crate) fn and(mut self, path: &Path) -> Self {
        self.0.push(resolved(path));
        self
    }

    pub(crate) fn pending(&self, path: &Path) -> Result<PendingFile, Failure> {
        if self.0.contains(&resolved(path)) {
            return Err(Failure::new(
                format!("{} belongs to the contract or is data of it", path.display()),
                "give another name; nothing was asked, and nothing was charged",
            ));
        }
        PendingFile::replacing(path)
    }
}

/// The path as the file system has it, also for a file that is not there yet.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match (fs::canonicalize(folder), path.file_name()) {
        (Ok(real), Some(name)) => real.join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_resolved_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        let other = folder.path().join(".").join("x.csv");
        assert_eq!(resolved(&path), resolved(&other));
        fs::write(&path, "").unwrap();
        assert_eq!(resolved(&path), resolved(&other));
    }
}
