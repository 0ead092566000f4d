//! The shell's history: statements as they were typed, in a file that only its user can read.
//!
//! It holds SQL and no answers. It is in the user's own state folder and never beside the data,
//! whose folder others may read.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use hushtable::Hint;
use hushtable::output::{ProtectedFiles, refuse_precious};

use crate::failure::Failure;

/// Most entries that are kept; the file is cut down to them when it has twice as many.
pub(super) const MOST_ENTRIES: usize = 1000;

/// The setting that names another file, or is `off`.
const SETTING: &str = "HUSHTABLE_HISTORY";

/// A history, and whether it is written.
#[derive(Debug)]
pub(super) struct History {
    file: Option<PathBuf>,
    on: bool,
    entries: Vec<String>,
    fault: Option<String>,
}

impl History {
    /// The history of whoever runs the command; not in a place that is protected.
    pub(super) fn of_the_user(protected: &ProtectedFiles) -> Result<Self, Failure> {
        let file = file_in(|name| env::var_os(name).filter(|value| !value.is_empty()));
        Self::outside(protected, file)
    }

    fn outside(protected: &ProtectedFiles, file: Option<PathBuf>) -> Result<Self, Failure> {
        if let Some(file) = &file {
            protected.refuse(file).map_err(|refusal| {
                Failure::new(
                    format!("cannot keep the shell's history there: {}", refusal.what()),
                    format!("set {SETTING} to another file, or to `off`"),
                )
            })?;
        }
        Ok(Self::at(file))
    }

    /// The history in a file; none without one.
    fn at(file: Option<PathBuf>) -> Self {
        let on = file.is_some();
        let mut history = Self { file, on, entries: Vec::new(), fault: None };
        if let Err(error) = history.read() {
            history.give_up(&error);
        }
        history
    }

    /// The entries on file, the oldest first.
    pub(super) fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Sets whether entries are written.
    pub(super) fn switch(&mut self, on: bool) {
        self.on = on && self.file.is_some();
    }

    /// Whether entries are written, and where.
    pub(super) fn message(&self) -> String {
        match (&self.file, &self.fault) {
            (_, Some(fault)) => format!("history: not kept: {fault}\n"),
            (None, None) => format!("history: not kept ({SETTING} or HOME names no place)\n"),
            (Some(file), None) if self.on => format!(
                "history: {} (your SQL, no answers; only you can read it; \\history off)\n",
                file.display()
            ),
            (Some(file), None) => {
                format!("history: off; what {} holds stays there\n", file.display())
            }
        }
    }

    /// Writes an entry, if entries are written.
    pub(super) fn add(&mut self, entry: &str) {
        let Some(file) = self.file.as_ref().filter(|_| self.on) else { return };
        if let Err(error) = append(file, entry) {
            self.give_up(&error);
        }
    }

    /// An answer does not fail because its question cannot be kept.
    fn give_up(&mut self, error: &io::Error) {
        let file = self.file.as_deref().unwrap_or(Path::new(""));
        self.fault = Some(format!("{}: {error}", file.display()));
        self.on = false;
    }

    fn read(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if let Some(folder) = file.parent() {
            make_folder(folder)?;
        }
        let lines = BufReader::new(open(file)?).lines();
        // A line that is no entry was not written here.
        let entry = |line: io::Result<String>| -> Option<io::Result<String>> {
            line.map(|line| serde_json::from_str(&line).ok()).transpose()
        };
        self.entries = lines.filter_map(entry).collect::<io::Result<_>>()?;
        let surplus = self.entries.len().saturating_sub(MOST_ENTRIES);
        self.entries.drain(..surplus);
        if surplus >= MOST_ENTRIES {
            open(file)?.set_len(0)?;
            self.entries.iter().try_for_each(|entry| append(file, entry))?;
        }
        Ok(())
    }
}

/// The file: the one that is set, or one in the user's state folder; none where it is off.
fn file_in(setting: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    match setting(SETTING) {
        Some(text) if text == "off" => return None,
        Some(path) => return Some(path.into()),
        None => {}
    }
    let home = |name: &str, folder: &str| setting(name).map(|home| Path::new(&home).join(folder));
    let state = home("XDG_STATE_HOME", "")
        .or_else(|| home("HOME", ".local/state"))
        .or_else(|| home("LOCALAPPDATA", ""))?;
    Some(state.join("hushtable").join("history"))
}

/// Opens the file for adding to it, and for its user alone. It is looked at each time: a ledger may
/// have come to its place since.
fn open(file: &Path) -> io::Result<File> {
    refuse_precious(file).map_err(|refusal| io::Error::other(refusal.what()))?;
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        let opened = options.mode(0o600).open(file)?;
        if opened.metadata()?.permissions().mode() & 0o077 != 0 {
            opened.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
        Ok(opened)
    }
    #[cfg(not(unix))]
    options.open(file)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Adds a line: the entry as JSON, so that it may have lines of its own.
fn append(file: &Path, entry: &str) -> io::Result<()> {
    let line = serde_json::to_string(entry)? + "\n";
    open(file)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn entries_come_back_in_their_order_and_with_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/hushtable/history");
        let mut history = History::at(Some(file.clone()));
        history.add("SELECT COUNT(*)\nFROM visits;");
        history.switch(false);
        history.add("SELECT 'a secret of mine'");
        history.switch(true);
        history.add("\\d visits");
        let again = History::at(Some(file.clone()));
        assert_eq!(again.entries(), ["SELECT COUNT(*)\nFROM visits;", "\\d visits"]);
        assert!(!fs::read_to_string(&file).unwrap().contains("secret"));
    }

    #[test]
    fn a_long_history_is_cut_down() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history");
        let lines: String = (0..2 * MOST_ENTRIES).map(|n| format!("\"{n}\"\n")).collect();
        fs::write(&file, lines).unwrap();
        let history = History::at(Some(file.clone()));
        assert_eq!(history.entries().len(), MOST_ENTRIES);
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), MOST_ENTRIES);
        assert_eq!(history.entries()[0], MOST_ENTRIES.to_string());
    }

    #[cfg(unix)]
    #[test]
    fn only_its_user_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let mut history = History::at(Some(file.clone()));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_file(&file).unwrap();
        history.add("SELECT 1");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_history_that_cannot_be_written_is_told_and_no_fault() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let mut history = History::at(Some(file.join("history")));
        history.add("SELECT 1");
        assert!(history.message().starts_with("history: not kept: "), "{}", history.message());
    }

    /// A file that is no ledger when the shell starts may be one later.
    #[test]
    fn nothing_is_added_to_a_ledger_or_a_contract() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history");
        let mut history = History::at(Some(file.clone()));
        history.add("SELECT 1");
        let contract = "[tables.t]\npath = \"t.csv\"\nprivacy_unit = \"row\"\n";
        fs::write(&file, contract).unwrap();
        history.add("SELECT 2");
        assert!(history.message().contains("is a contract"), "{}", history.message());
        assert_eq!(fs::read_to_string(&file).unwrap(), contract);
    }

    #[test]
    fn it_is_in_the_users_own_folder() {
        let file_in = |set: &[(&str, &str)]| {
            let lookup = |name: &str| set.iter().find(|(variable, _)| *variable == name);
            file_in(|name| lookup(name).map(|(_, value)| OsString::from(value)))
        };
        let home = ("HOME", "/home/ana");
        let expected = Path::new("/home/ana/.local/state/hushtable/history");
        assert_eq!(file_in(&[home]).as_deref(), Some(expected));
        assert_eq!(file_in(&[]), None);
        assert_eq!(file_in(&[home, (SETTING, "off")]), None);
        assert_eq!(file_in(&[home, (SETTING, "/x/h")]).as_deref(), Some(Path::new("/x/h")));
        let state = file_in(&[home, ("XDG_STATE_HOME", "/s")]);
        assert_eq!(state.as_deref(), Some(Path::new("/s/hushtable/history")));
    }
}
