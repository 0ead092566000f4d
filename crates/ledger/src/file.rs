//! Opening the file so that what is committed stays.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::LedgerError;
use crate::schema::{self, Contents, Format};

/// How long to wait for another process, in seconds.
pub(crate) const BUSY_SECONDS: u64 = 10;

/// An open file, its absolute path, and whether it was made just now.
pub(crate) struct Opened {
    pub(crate) conn: Connection,
    pub(crate) path: PathBuf,
    pub(crate) created: bool,
    /// Its version: an older one becomes the latest when it is opened for charging.
    pub(crate) format: Format,
}

/// Opens the ledger at `path` for charging; makes it if there is none.
pub(crate) fn open(path: &Path) -> Result<Opened, LedgerError> {
    let path = absolute(path)?;
    let sql = |error| LedgerError::sqlite(&path, error);
    if let Some(folder) = path.parent() {
        // SQLite would not say that it is the folder that is missing.
        fs::metadata(folder).map_err(|error| LedgerError::open(&path, &error))?;
    }
    let mut conn = connect(&path, OpenFlags::SQLITE_OPEN_CREATE)?;
    // SQLite falls back to reading alone where the file does not allow more.
    if conn.is_readonly(rusqlite::MAIN_DB).map_err(sql)? {
        let detail = "the file is read-only".to_owned();
        return Err(LedgerError::ReadOnly { path, detail });
    }
    // Before any setting is made: another program's file is left as it is.
    look(&mut conn, &path)?;
    make_durable(&conn, &path)?;

    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    // Again, under the lock: another process may have made the tables meanwhile.
    let contents = schema::inspect(&tx).map_err(sql)?;
    let created = contents == Contents::Nothing;
    match accept(contents, &path)? {
        None => schema::create(&tx).map_err(sql)?,
        Some(Format::LATEST) => {}
        Some(older) => schema::upgrade(&tx, older).map_err(sql)?,
    }
    tx.commit().map_err(sql)?;
    // Every time: the process that made the file may have been stopped before it came to this.
    sync_folder(&path)?;
    Ok(Opened { conn, path, created, format: Format::LATEST })
}

/// Opens the ledger at `path` for looking; nothing where there is none.
pub(crate) fn open_read_only(path: &Path) -> Result<Option<Opened>, LedgerError> {
    let path = absolute(path)?;
    if !path.try_exists().map_err(|error| LedgerError::open(&path, &error))? {
        return Ok(None);
    }
    // Not SQLITE_OPEN_READ_ONLY: after a crash in the middle of a commit, reading begins with
    // undoing the half that was written, and a read-only connection may not do that. From there
    // on `query_only` refuses writes.
    let mut conn = connect(&path, OpenFlags::empty())?;
    let sql = |error| LedgerError::sqlite(&path, error);
    conn.pragma_update(None, "query_only", true).map_err(sql)?;
    let format = look(&mut conn, &path)?;
    Ok(format.map(|format| Opened { conn, path, created: false, format }))
}

/// An absolute path is always a file's name to SQLite, and never `:memory:` or a URI, which
/// could ask for a budget that is forgotten on exit.
fn absolute(path: &Path) -> Result<PathBuf, LedgerError> {
    std::path::absolute(path).map_err(|error| LedgerError::open(path, &error))
}

fn connect(path: &Path, more: OpenFlags) -> Result<Connection, LedgerError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let sql = |error| LedgerError::sqlite(path, error);
    let conn = Connection::open_with_flags(path, flags).map_err(sql)?;
    conn.busy_timeout(Duration::from_secs(BUSY_SECONDS)).map_err(sql)?;
    // Finds more kinds of damage when a page is first read.
    conn.pragma_update(None, "cell_size_check", true).map_err(sql)?;
    Ok(conn)
}

fn look(conn: &mut Connection, path: &Path) -> Result<Option<Format>, LedgerError> {
    let sql = |error| LedgerError::sqlite(path, error);
    let tx = conn.transaction_with_behavior(TransactionBehavior::Deferred).map_err(sql)?;
    let contents = schema::inspect(&tx).map_err(sql)?;
    accept(contents, path)
}

/// The version of a ledger; none for an empty file, an error for anything else.
fn accept(contents: Contents, path: &Path) -> Result<Option<Format>, LedgerError> {
    let path = path.to_owned();
    match contents {
        Contents::Ledger(format) => Ok(Some(format)),
        Contents::Nothing => Ok(None),
        Contents::Newer(found) => Err(LedgerError::Newer { path, found, known: schema::VERSION }),
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

/// A new file is safe only when its folder's entry for it is on disk too.
fn sync_folder(path: &Path) -> Result<(), LedgerError> {
    // Elsewhere a folder cannot be opened as a file, and the file system's journal sees to it.
    if cfg!(unix) {
        let error = |error| LedgerError::open(path, &error);
        // SQLite follows symbolic links too.
        let real = fs::canonicalize(path).map_err(error)?;
        if let Some(folder) = real.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(error)?;
        }
    }
    Ok(())
}
