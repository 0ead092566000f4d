//! Tables whose folders have files that no longer count: a log beside the files says which ones do.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::LogKind;

/// Looks for logs, in each folder once.
#[derive(Default)]
pub(super) struct LogSearch {
    without: HashSet<PathBuf>,
}

impl LogSearch {
    /// The log of the table that a file is in: in its folder or in any above, as an Iceberg table
    /// keeps its files in one folder and its log in another.
    pub(super) fn above(&mut self, file: &Path) -> Option<(LogKind, PathBuf)> {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        for folder in file.ancestors().skip(1) {
            if self.without.contains(folder) {
                // Those above it were looked at, too.
                return None;
            }
            if let Some(found) = log_in(folder) {
                return Some(found);
            }
            self.without.insert(folder.to_owned());
        }
        None
    }
}

/// The log that a folder has.
fn log_in(folder: &Path) -> Option<(LogKind, PathBuf)> {
    for (name, kind) in [("_delta_log", LogKind::Delta), (".hoodie", LogKind::Hudi)] {
        let log = folder.join(name);
        if log.is_dir() {
            return Some((kind, log));
        }
    }
    let log = folder.join("metadata");
    // A folder of that name that cannot be read, or has other files, is no log.
    let found = fs::read_dir(&log).ok()?.filter_map(Result::ok).any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name == "version-hint.text"
            || name.ends_with(".metadata.json")
            || name.ends_with(".metadata.json.gz")
    });
    found.then_some((LogKind::Iceberg, log))
}
