//! A full check of a ledger's file, and copies of it.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use serde::Serialize;

use super::SqliteStore;
use super::file::{self, BUSY_SECONDS};
use super::temporary::temporary_beside;
use crate::book::Book;
use crate::records::LedgerRecords;
use crate::store::Store;
use crate::{LedgerError, Notice};

/// The findings of a full check of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// The ledger's absolute path.
    pub path: PathBuf,
    /// How many charges it has.
    pub charges: usize,
    /// How many of them have a release.
    pub releases: usize,
    /// Faults, in words; none where the ledger is in order.
    pub problems: Vec<String>,
    /// Conditions that are not wrong, and should be changed anyway.
    pub warnings: Vec<String>,
}

/// Checks all of a ledger: SQLite's pages, every link of the chains, and every release's content.
/// Changes nothing; writes to the file only to undo what a crash left half-written.
///
/// # Errors
/// When there is no file, it is not a ledger of this version, or it cannot be read. Damage is no
/// error: it is in [`Inspection::problems`].
pub fn check(path: &Path) -> Result<Inspection, LedgerError> {
    let Some(store) = file::open_read_only(path)? else {
        return Err(LedgerError::Missing { path: file::absolute(path)? });
    };
    store.look(|rows| {
        let mut problems = Vec::new();
        found(pages(rows.conn, rows.path), &mut problems)?;
        let (records, mut book) = (LedgerRecords(rows), Book::default());
        found(book.catch_up(&records), &mut problems)?;
        if problems.is_empty() {
            found(book.recorded(&records).map(drop), &mut problems)?;
        }
        let releases: Vec<_> = book.charges().iter().filter_map(|c| c.release.as_ref()).collect();
        for release in &releases {
            found(records.release(release).map(drop), &mut problems)?;
        }
        problems.dedup();
        let (charges, releases) = (book.charges().len(), releases.len());
        let path = rows.path.to_owned();
        let warnings = Notice::of_mode(&path).iter().map(ToString::to_string).collect();
        Ok(Inspection { path, charges, releases, problems, warnings })
    })
}

/// Takes damage for a finding, and other errors for errors.
fn found(result: Result<(), LedgerError>, problems: &mut Vec<String>) -> Result<(), LedgerError> {
    match result {
        Err(LedgerError::Damaged { detail, .. }) => {
            problems.push(detail);
            Ok(())
        }
        other => other,
    }
}

/// SQLite's own check of its pages, and of references between tables.
fn pages(conn: &Connection, path: &Path) -> Result<(), LedgerError> {
    let sql = |error| LedgerError::sqlite(path, error);
    let verdict: String =
        conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(sql)?;
    let damaged = |detail| Err(LedgerError::Damaged { path: path.to_owned(), detail });
    if verdict != "ok" {
        return damaged(verdict.replace('\n', ": "));
    }
    let mut orphans = conn.prepare("PRAGMA foreign_key_check").map_err(sql)?;
    match orphans.exists([]).map_err(sql)? {
        true => damaged("a row is there without the one that it belongs to".to_owned()),
        false => Ok(()),
    }
}

/// Copies the ledger at `path` to a new file, as it is at one moment, and checks the copy. Others
/// may charge meanwhile; they wait while pages are copied.
///
/// # Errors
/// When there is a file of that name already; when the ledger is not in order; when one of the two
/// cannot be read or written. There is no copy then.
pub fn backup(path: &Path, to: &Path) -> Result<Inspection, LedgerError> {
    let Some(SqliteStore { conn, path, .. }) = file::open_read_only(path)? else {
        return Err(LedgerError::Missing { path: file::absolute(path)? });
    };
    let to = file::absolute(to)?;
    if fs::symlink_metadata(&to).is_ok() {
        return Err(LedgerError::Exists { path: to });
    }
    let failed =
        |error: io::Error| LedgerError::Copy { path: to.clone(), detail: error.to_string() };
    let temporary = temporary_beside(&to).map_err(failed)?;
    let mut copy = file::connect(temporary.path())?;
    let sql = |error| LedgerError::sqlite(&path, error);
    // All pages in one step: under one lock, so of one moment.
    match Backup::new(&conn, &mut copy).and_then(|backup| backup.step(-1)).map_err(sql)? {
        StepResult::Done => {}
        _ => return Err(LedgerError::Busy { path, seconds: BUSY_SECONDS }),
    }
    copy.close().map_err(|(_, error)| LedgerError::sqlite(&to, error))?;
    // The copy is checked and not the ledger: it is the copy that somebody will rely on.
    let inspection = check(temporary.path())?;
    if let Some(problem) = inspection.problems.first() {
        return Err(LedgerError::Damaged { path, detail: problem.clone() });
    }
    // The content must be on disk before its name is.
    File::open(temporary.path()).and_then(|file| file.sync_all()).map_err(failed)?;
    temporary.persist_noclobber(&to).map_err(|error| match error.error.kind() {
        ErrorKind::AlreadyExists => LedgerError::Exists { path: to.clone() },
        kind => failed(kind.into()),
    })?;
    file::sync_folder(&to).map_err(failed)?;
    Ok(Inspection { path: to, ..inspection })
}
