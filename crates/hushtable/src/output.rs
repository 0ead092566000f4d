//! Files that results are written to: whole or not at all, and never over a ledger, a contract or
//! data.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hushtable_contract::Contract;
use hushtable_engine::{Session, resolved, same, would_read};
use hushtable_lang::Refusal;
use hushtable_ledger::is_ledger;
use tempfile::NamedTempFile;

/// The files of a contract on the disk: its own, its ledger, its data.
///
/// A ledger that is replaced forgets what was spent, and a file among the data becomes data.
#[derive(Debug)]
pub struct ProtectedFiles {
    files: Vec<PathBuf>,
    /// The contract's folder, and the tables' names with their locations in it.
    folder: PathBuf,
    tables: Vec<(String, String)>,
}

impl ProtectedFiles {
    /// The files of a session's contract, whose own file is `contract`, where it is one.
    pub(crate) fn of(session: &Session, contract: Option<&Path>) -> Self {
        let mut files: Vec<PathBuf> = contract.map(resolved).into_iter().collect();
        let ledger = session.ledger_path();
        // SQLite reads these files as parts of the ledger: a result written over one would damage
        // it.
        for end in ["", "-journal", "-wal", "-shm"] {
            let mut path = ledger.clone().into_os_string();
            path.push(end);
            files.push(resolved(Path::new(&path)));
        }
        let tables = session.contract().tables.values();
        Self {
            files,
            folder: session.folder().to_owned(),
            tables: tables
                .filter_map(|table| Some((table.name.clone(), table.path.clone()?)))
                .collect(),
        }
    }

    /// Adds one more file.
    #[must_use]
    pub fn and(mut self, path: &Path) -> Self {
        self.files.push(resolved(path));
        self
    }

    /// Checks a place for a result, before anything is asked.
    ///
    /// # Errors
    /// When the file belongs to the contract, a table would read it, or it cannot be written.
    pub fn pending(&self, path: &Path) -> Result<PendingFile, Refusal> {
        self.refuse(path)?;
        PendingFile::replacing(path)
    }

    /// Refuses a place where nothing may be written, by whatever way.
    ///
    /// # Errors
    /// When the file belongs to the contract, a table would read it, or it is another ledger or
    /// contract.
    pub fn refuse(&self, path: &Path) -> Result<(), Refusal> {
        let target = resolved(path);
        if self.files.iter().any(|file| same(file, &target)) {
            return Err(Refusal::new(
                format!("`{}` belongs to the contract", path.display()),
                "give another name; nothing was asked, and nothing was charged",
            ));
        }
        // A pattern such as `*.csv` may name files that do not exist yet.
        let reads = |(_, location): &&(String, String)| would_read(location, &self.folder, path);
        if let Some((table, location)) = self.tables.iter().find(reads) {
            return Err(Refusal::new(
                format!(
                    "`{}` is where table `{table}` reads its data (path = \"{location}\"): the \
                     result would become data",
                    path.display()
                ),
                "give a name in another folder; nothing was asked, and nothing was charged",
            ));
        }
        refuse_precious(path)
    }
}

/// A file that can be written, and is not there yet (or still has its old content).
///
/// Made before a query is charged, so that a path that cannot be written costs nothing: a file is
/// made beside it and deleted again, so that nothing is left over by who stops a long query.
#[derive(Debug)]
pub struct PendingFile {
    shown: PathBuf,
    way: WriteWay,
}

#[derive(Debug)]
enum WriteWay {
    /// Written under another name beside its place, then renamed.
    Renamed { target: PathBuf, permissions: Option<Permissions>, replace: bool },
    /// A device or pipe, which a rename would replace by a file.
    Direct(File),
}

impl PendingFile {
    /// For a file that may be there already, and is replaced then.
    ///
    /// # Errors
    /// When it is a ledger, a contract or a folder, or cannot be written.
    pub fn replacing(path: &Path) -> Result<Self, Refusal> {
        // Through a link, the file it leads to is replaced and not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        refuse_precious_at(path, &target)?;
        let found = fs::metadata(&target).ok();
        if found.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(Refusal::new(
                format!("`{}` is a folder", path.display()),
                "give the name of a file",
            ));
        }
        // A device or a pipe cannot be replaced by a rename.
        let way = match found {
            Some(found) if !found.is_file() => {
                let file = OpenOptions::new().write(true).open(&target);
                WriteWay::Direct(file.map_err(|e| cannot_write(path, &e))?)
            }
            found => {
                let permissions = found.map(|f| f.permissions());
                if permissions.as_ref().is_some_and(Permissions::readonly) {
                    return Err(cannot_write(path, &io::ErrorKind::PermissionDenied.into()));
                }
                beside(&target, permissions.as_ref()).map_err(|e| cannot_write(path, &e))?;
                WriteWay::Renamed { target, permissions, replace: true }
            }
        };
        Ok(Self { shown: path.to_owned(), way })
    }

    /// For a file that must not be there.
    ///
    /// # Errors
    /// When it is there, or cannot be written.
    pub fn new(path: &Path) -> Result<Self, Refusal> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(exists(path));
        }
        beside(path, None).map_err(|e| cannot_write(path, &e))?;
        let way = WriteWay::Renamed { target: path.to_owned(), permissions: None, replace: false };
        Ok(Self { shown: path.to_owned(), way })
    }

    /// A file that only its user can read, for findings about exact data; a device or pipe is as it
    /// is.
    #[cfg(unix)]
    #[must_use]
    pub fn confidential(mut self) -> Self {
        use std::os::unix::fs::PermissionsExt;
        if let WriteWay::Renamed { permissions, .. } = &mut self.way {
            *permissions = Some(Permissions::from_mode(0o600));
        }
        self
    }

    /// A file that only its user can read, for findings about exact data: as the folder has it.
    #[cfg(not(unix))]
    #[must_use]
    pub fn confidential(self) -> Self {
        self
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When it cannot be written, or a ledger or contract has come to its place.
    pub fn write(self, bytes: &[u8]) -> Result<(), Refusal> {
        let shown = self.shown;
        match self.way {
            WriteWay::Direct(mut file) => {
                file.write_all(bytes).map_err(|e| cannot_write(&shown, &e))
            }
            WriteWay::Renamed { target, permissions, replace } => {
                // A query may have made a ledger there while this one ran.
                refuse_precious_at(&shown, &target)?;
                let filled = beside(&target, permissions.as_ref()).and_then(|mut temporary| {
                    temporary.write_all(bytes)?;
                    // A rename that outlives a power cut while the content does not would leave
                    // an empty file.
                    temporary.as_file().sync_all()?;
                    Ok(temporary)
                });
                let temporary = filled.map_err(|e| cannot_write(&shown, &e))?;
                let kept = if replace {
                    temporary.persist(&target)
                } else {
                    temporary.persist_noclobber(&target)
                };
                kept.map(drop).map_err(|e| match e.error.kind() {
                    io::ErrorKind::AlreadyExists if !replace => exists(&shown),
                    _ => cannot_write(&shown, &e.error),
                })
            }
        }
    }
}

/// Longest file that may be a contract: there may be a million keys in it.
const MAX_CONTRACT_BYTES: u64 = 1 << 26;

/// Refuses to write to a ledger or a contract, whosever it is.
///
/// # Errors
/// When there is one, or a file of SQLite's would be beside one.
pub fn refuse_precious(path: &Path) -> Result<(), Refusal> {
    // Through a link, the file it leads to is written.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    refuse_precious_at(path, &target)
}

fn refuse_precious_at(shown: &Path, target: &Path) -> Result<(), Refusal> {
    let is_contract = || {
        let small =
            fs::metadata(target).is_ok_and(|f| f.is_file() && f.len() <= MAX_CONTRACT_BYTES);
        small && fs::read_to_string(target).is_ok_and(|text| Contract::recognises(&text))
    };
    let what = if is_ledger(target) || is_ledger(&database_of(target)) {
        "a ledger, which records what was spent"
    } else if is_contract() {
        "a contract"
    } else {
        return Ok(());
    };
    Err(Refusal::new(
        format!("`{}` is {what}, and was left unchanged", shown.display()),
        "give another name; a file that is not needed any more can be deleted by hand",
    ))
}

/// The database that a file of SQLite's belongs to, by its name.
fn database_of(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let ends = ["-journal", "-wal", "-shm"];
    match ends.iter().find_map(|end| name.strip_suffix(end)) {
        Some(name) => target.with_file_name(name),
        None => target.to_owned(),
    }
}

/// A file for `place`'s content in the same folder, with the permissions that `place` has, or that
/// any new file gets.
fn beside(target: &Path, permissions: Option<&Permissions>) -> io::Result<NamedTempFile> {
    if target.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the name of a file"));
    }
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".hushtable-").suffix(".tmp");
    #[cfg(unix)]
    if permissions.is_none() {
        use std::os::unix::fs::PermissionsExt;
        // Less the umask; the default of temporary files is for their owner alone.
        builder.permissions(Permissions::from_mode(0o666));
    }
    let temporary = builder.tempfile_in(folder)?;
    if let Some(permissions) = permissions {
        temporary.as_file().set_permissions(permissions.clone())?;
    }
    Ok(temporary)
}

fn exists(path: &Path) -> Refusal {
    Refusal::new(
        format!("`{}` exists already, and was left unchanged", path.display()),
        "give another --output, or `--output -` to see the text",
    )
}

fn cannot_write(path: &Path, error: &io::Error) -> Refusal {
    // Without the temporary file's name, which tempfile adds: nobody has asked for that file.
    let reason = error.to_string();
    let reason = reason.split(" at path \"").next().unwrap_or_default();
    Refusal::new(
        format!("cannot write `{}`: {reason}", path.display()),
        "check that the folder exists and is writable, and that its disk has room",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_there_until_it_is_written_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        let pending = PendingFile::replacing(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        pending.write(b"a\n1\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"a\n1\n");

        drop(PendingFile::replacing(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"a\n1\n");
        PendingFile::replacing(&path).unwrap().write(b"b\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"b\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_found_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("no/such/out.csv"), folder.path().to_owned()] {
            let text = PendingFile::replacing(&path).unwrap_err().to_string();
            assert!(text.contains("hint: "), "{text}");
            assert!(!text.contains(".hushtable-"), "{text}");
        }
    }

    #[test]
    fn a_new_file_never_replaces_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hushtable.toml");
        let pending = PendingFile::new(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        assert!(pending.write(b"other").unwrap_err().to_string().contains("exists already"));
        assert!(PendingFile::new(&path).unwrap_err().to_string().contains("exists already"));
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }

    #[test]
    fn ledgers_and_contracts_are_left_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("result.csv");
        let populations = hushtable_ledger::Populations::default();
        hushtable_ledger::Location::file(&ledger).open(populations).unwrap();
        let journal = folder.path().join("result.csv-journal");
        let contract = folder.path().join("other.toml");
        let text = "[tables.t]\npath = \"t.csv\"\nprivacy_unit = \"TODO: row, or a column\"\n";
        fs::write(&contract, text).unwrap();
        for path in [&ledger, &journal, &contract] {
            let refusal = PendingFile::replacing(path).unwrap_err().to_string();
            assert!(refusal.contains("left unchanged"), "{refusal}");
        }
        // One that was made in the meantime.
        let late = folder.path().join("late.csv");
        let pending = PendingFile::replacing(&late).unwrap();
        fs::copy(&ledger, &late).unwrap();
        assert!(pending.write(b"a").unwrap_err().to_string().contains("a ledger"));
        assert!(hushtable_ledger::is_ledger(&late));
    }

    #[cfg(unix)]
    #[test]
    fn links_devices_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("out"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        PendingFile::replacing(&link).unwrap().write(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        PendingFile::replacing(Path::new("/dev/null")).unwrap().write(b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
