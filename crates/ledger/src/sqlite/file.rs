//! Opening the file so that what is committed stays.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::schema::{self, Contents};
use super::temporary::temporary_beside;
use super::{SqliteStore, file_size, locks};
use crate::LedgerError;

/// How long to wait for another process, in seconds.
pub(crate) const BUSY_SECONDS: u64 = 10;

/// Opens the ledger at `path` for charging; makes it if there is no file.
pub(crate) fn open(path: &Path) -> Result<SqliteStore, LedgerError> {
    let path = absolute(path)?;
    file_size::check(&path)?;
    let sql = |error| LedgerError::sqlite(&path, error);
    if let Some(folder) = path.parent() {
        // SQLite would not say that it is the folder that is missing.
        fs::metadata(folder).map_err(|error| LedgerError::open(&path, &error))?;
    }
    let created = match fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => make(&path)?,
        // SQLite reports whatever else may be wrong.
        _ => false,
    };
    let mut conn = connect(&path)?;
    // SQLite falls back to reading alone where the file does not allow more.
    if conn.is_readonly(rusqlite::MAIN_DB).map_err(sql)? {
        let detail = "the file is read-only".to_owned();
        return Err(LedgerError::ReadOnly { path, detail });
    }
    // Before any setting is made: another program's file is left as it is.
    look(&mut conn, &path)?;
    make_durable(&conn, &path)?;
    // SQLite follows symbolic links too.
    let real = fs::canonicalize(&path).map_err(|error| LedgerError::open(&path, &error))?;
    locks::check(&path, &real)?;
    // Every time: the process that made the file may have been stopped before it came to this.
    sync_folder(&real).map_err(|error| LedgerError::open(&path, &error))?;
    Ok(SqliteStore { conn, path, real, created })
}

/// Makes a new ledger, whole or not at all, for its owner alone to open; false where another
/// program was first.
///
/// SQLite gives the journal the mode of the file, whatever the umask.
fn make(path: &Path) -> Result<bool, LedgerError> {
    let sql = |error| LedgerError::sqlite(path, error);
    let temporary = temporary_beside(path).map_err(|error| LedgerError::open(path, &error))?;
    let mut conn = connect(temporary.path())?;
    make_durable(&conn, path)?;
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    schema::create(&tx).map_err(sql)?;
    tx.commit().map_err(sql)?;
    drop(conn);
    match temporary.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(LedgerError::open(path, &error.error.kind().into())),
    }
}

/// Opens the ledger at `path` for looking; nothing where there is none.
pub(crate) fn open_read_only(path: &Path) -> Result<Option<SqliteStore>, LedgerError> {
    let path = absolute(path)?;
    if !path.try_exists().map_err(|error| LedgerError::open(&path, &error))? {
        return Ok(None);
    }
    // Not SQLITE_OPEN_READ_ONLY: after a crash in the middle of a commit, reading begins with
    // undoing the half that was written, and a read-only connection may not do that. From there
    // on `query_only` refuses writes.
    let mut conn = connect(&path)?;
    let sql = |error| LedgerError::sqlite(&path, error);
    conn.pragma_update(None, "query_only", true).map_err(sql)?;
    look(&mut conn, &path)?;
    let real = fs::canonicalize(&path).map_err(|error| LedgerError::open(&path, &error))?;
    Ok(Some(SqliteStore { conn, path, real, created: false }))
}

/// An absolute path is always a file's name to SQLite, and never `:memory:` or a URI, which
/// could ask for a budget that is forgotten on exit.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, LedgerError> {
    std::path::absolute(path).map_err(|error| LedgerError::open(path, &error))
}

pub(crate) fn connect(path: &Path) -> Result<Connection, LedgerError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sql = |error| LedgerError::sqlite(path, error);
    let conn = Connection::open_with_flags(path, flags).map_err(sql)?;
    conn.busy_timeout(Duration::from_secs(BUSY_SECONDS)).map_err(sql)?;
    // Finds more kinds of damage when a page is first read.
    conn.pragma_update(None, "cell_size_check", true).map_err(sql)?;
    Ok(conn)
}

/// Refuses a file that is no ledger of this version.
fn look(conn: &mut Connection, path: &Path) -> Result<(), LedgerError> {
    let sql = |error| LedgerError::sqlite(path, error);
    let tx = conn.transaction_with_behavior(TransactionBehavior::Deferred).map_err(sql)?;
    let (path, known) = (path.to_owned(), schema::VERSION);
    match schema::inspect(&tx).map_err(sql)? {
        Contents::Ledger => Ok(()),
        Contents::Nothing => Err(LedgerError::Empty { path }),
        Contents::Other(found) if found > known => Err(LedgerError::Newer { path, found, known }),
        Contents::Other(found) => Err(LedgerError::Older { path, found, known }),
        Contents::Altered => Err(LedgerError::Altered { path }),
        Contents::Foreign => Err(LedgerError::NotALedger { path }),
    }
}

/// A charge must survive a power cut right after COMMIT.
///
/// A rollback journal, not a write-ahead log: a commit there is the removal of the journal, and
/// `synchronous = EXTRA` also syncs the folder after that, so that the journal cannot come back
/// after a power cut and undo the commit. A write-ahead log with `synchronous = FULL` would be as
/// durable and faster, but a charge is one small row per query: more to gain from one plain file,
/// which can be copied, and read from a read-only disk.
pub(crate) fn make_durable(conn: &Connection, path: &Path) -> Result<(), LedgerError> {
    let settings = [
        ("journal_mode", "DELETE", Value::Text("delete".to_owned())),
        ("synchronous", "EXTRA", Value::Integer(3)),
        // On macOS an fsync alone leaves the data in the drive's cache. No effect elsewhere.
        ("fullfsync", "ON", Value::Integer(1)),
        ("foreign_keys", "ON", Value::Integer(1)),
    ];
    let sql = |error| LedgerError::sqlite(path, error);
    for (setting, value, wanted) in settings {
        conn.pragma_update(None, setting, value).map_err(sql)?;
        // SQLite ignores a setting that it cannot make, so ask.
        let found: Value = conn.pragma_query_value(None, setting, |row| row.get(0)).map_err(sql)?;
        if found != wanted {
            let (path, found) = (path.to_owned(), text(&found));
            return Err(LedgerError::Setting { path, setting, wanted: text(&wanted), found });
        }
    }
    Ok(())
}

fn text(value: &Value) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        other => format!("{other:?}"),
    }
}

/// Syncs the folder of a file: a new one is safe only when its folder's entry for it is on disk
/// too.
pub(crate) fn sync_folder(real: &Path) -> io::Result<()> {
    match real.parent() {
        // Elsewhere a folder cannot be opened as a file, and the file system's journal takes care
        // of it.
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
