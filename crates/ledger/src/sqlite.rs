//! The store in an SQLite file.

mod error;
mod file;
mod file_lock;
mod file_size;
mod inspection;
mod locks;
mod recognise;
mod schema;
mod temporary;

use std::path::{Path, PathBuf};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, ToSql, TransactionBehavior, params};

use self::file_lock::FileLock;
pub use self::inspection::{Inspection, backup, check};
pub use self::recognise::is_ledger;
use crate::chain::{Chain, ChainFault, ChainHead, ChainValue, Link};
use crate::claim::Claim;
use crate::store::{Store, StoreRows};
use crate::{LedgerError, Notice, Release};

/// One connection to the file. Its path is absolute; `real` is the path without links, beside which
/// claims are.
pub(crate) struct SqliteStore {
    pub(crate) conn: Connection,
    pub(crate) path: PathBuf,
    pub(crate) real: PathBuf,
    pub(crate) created: bool,
}

/// The file's rows as one transaction sees them.
pub(crate) struct SqliteRows<'a> {
    conn: &'a Connection,
    path: &'a Path,
    real: &'a Path,
}

impl SqliteStore {
    /// Opens the file at `path` for charging; makes it if there is none. See [`file::open`].
    pub(crate) fn open(path: &Path) -> Result<Self, LedgerError> {
        file::open(path)
    }

    /// Opens the file at `path` for looking; nothing where there is none.
    pub(crate) fn open_read_only(path: &Path) -> Result<Option<Self>, LedgerError> {
        file::open_read_only(path)
    }
}

impl Store for SqliteStore {
    type Rows<'a> = SqliteRows<'a>;

    fn name(&self) -> &Path {
        &self.path
    }

    fn created(&self) -> bool {
        self.created
    }

    fn notice(&self) -> Option<Notice> {
        Notice::of_mode(&self.path)
    }

    fn look<T>(
        &self,
        read: impl FnOnce(&SqliteRows<'_>) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let Self { conn, path, real, .. } = self;
        let tx = conn.unchecked_transaction().map_err(|error| LedgerError::sqlite(path, error))?;
        read(&SqliteRows { conn: &tx, path, real })
    }

    fn change<T>(
        &mut self,
        change: impl FnOnce(&SqliteRows<'_>) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let Self { conn, path, real, .. } = self;
        let sql = |error| LedgerError::sqlite(path, error);
        // Immediate: a deferred transaction takes the write lock at its first write, and what it
        // read before could have changed.
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let changed = change(&SqliteRows { conn: &tx, path, real })?;
        tx.commit().map_err(sql)?;
        Ok(changed)
    }
}

impl SqliteRows<'_> {
    fn error(&self, error: rusqlite::Error) -> LedgerError {
        LedgerError::sqlite(self.path, error)
    }

    /// How many bytes of the file are free for a release.
    fn free_bytes(&self) -> Result<u64, LedgerError> {
        let pragma = |name| self.conn.pragma_query_value(None, name, |row| row.get::<_, u32>(0));
        let pages = pragma("freelist_count").map_err(|error| self.error(error))?;
        let size = pragma("page_size").map_err(|error| self.error(error))?;
        Ok(u64::from(pages) * u64::from(size))
    }
}

impl StoreRows for SqliteRows<'_> {
    fn name(&self) -> &Path {
        self.path
    }

    fn head(&self, chain: Chain) -> Result<Option<ChainHead>, LedgerError> {
        let query = "SELECT seed, rows, link FROM chains WHERE name = ?1";
        self.conn
            .query_row(query, [chain.table()], |row| {
                Ok(ChainHead {
                    seed: Link(row.get(0)?),
                    rows: row.get(1)?,
                    link: Link(row.get(2)?),
                })
            })
            .optional()
            .map_err(|error| self.error(error))
    }

    fn after(
        &self,
        chain: Chain,
        last: i64,
        each: &mut dyn FnMut(&[ChainValue<'_>]) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let sql = |error| self.error(error);
        // In the order of the table itself.
        let query = format!("SELECT * FROM {} WHERE id > ?1 ORDER BY id", chain.table());
        let mut statement = self.conn.prepare(&query).map_err(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([last]).map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            let values = (0..columns).map(|at| row.get_ref(at).map(value));
            each(&values.collect::<Result<Vec<_>, _>>().map_err(sql)?)?;
        }
        Ok(())
    }

    fn append(
        &self,
        chain: Chain,
        row: &[ChainValue<'_>],
        head: ChainHead,
    ) -> Result<(), LedgerError> {
        let sql = |error| self.error(error);
        let placeholders = vec!["?"; row.len()].join(", ");
        let insert = format!("INSERT INTO {} VALUES ({placeholders})", chain.table());
        self.conn.execute(&insert, rusqlite::params_from_iter(row)).map_err(sql)?;
        let advance = "UPDATE chains SET rows = ?2, link = ?3 WHERE name = ?1";
        let advanced = params![chain.table(), head.rows, head.link.0];
        match self.conn.execute(advance, advanced).map_err(sql)? {
            1 => Ok(()),
            _ => Err(LedgerError::broken(self.path, ChainFault::NoHead(chain))),
        }
    }

    fn content(&self, release: i64) -> Result<Option<Release>, LedgerError> {
        let query = "SELECT statement, table_bytes FROM contents WHERE release_id = ?1";
        self.conn
            .query_row(query, [release], |row| {
                Ok(Release { statement: row.get(0)?, table: row.get(1)? })
            })
            .optional()
            .map_err(|error| self.error(error))
    }

    fn add_content(&self, release: i64, content: &Release) -> Result<(), LedgerError> {
        let insert = "INSERT INTO contents VALUES (?1, ?2, ?3)";
        let values = params![release, content.statement, content.table];
        self.conn.execute(insert, values).map(drop).map_err(|error| self.error(error))
    }

    /// Fills pages that are to be free later. Bytes on disk, as a file can be longer than its disk
    /// has room for where nothing was written.
    fn make_room(&self, bytes: u64) -> Result<(), LedgerError> {
        let missing = bytes.saturating_sub(self.free_bytes()?);
        if missing == 0 {
            return Ok(());
        }
        let missing = i64::try_from(missing).unwrap_or(i64::MAX);
        let fill = "INSERT INTO room (filler) VALUES (zeroblob(?1))";
        self.conn.execute(fill, [missing]).map(drop).map_err(|error| self.error(error))
    }

    fn free_room(&self) -> Result<(), LedgerError> {
        self.conn.execute("DELETE FROM room", []).map(drop).map_err(|error| self.error(error))
    }

    fn claim(&self, charge: i64) -> Result<Option<Claim>, LedgerError> {
        let taken = FileLock::take(self.real, charge).map_err(|error| LedgerError::Claim {
            path: self.path.to_owned(),
            detail: error.to_string(),
        });
        Ok(taken?.map(Claim::new))
    }
}

fn value(value: ValueRef<'_>) -> ChainValue<'_> {
    match value {
        ValueRef::Integer(number) => ChainValue::Integer(number),
        ValueRef::Text(text) => ChainValue::Text(text.into()),
        ValueRef::Blob(bytes) => ChainValue::Blob(bytes.into()),
        ValueRef::Null | ValueRef::Real(_) => ChainValue::Other,
    }
}

impl ToSql for ChainValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            ChainValue::Integer(number) => ValueRef::Integer(*number),
            ChainValue::Text(text) => ValueRef::Text(text),
            ChainValue::Blob(bytes) => ValueRef::Blob(bytes),
            ChainValue::Other => ValueRef::Null,
        }))
    }
}

#[cfg(test)]
mod faults;
