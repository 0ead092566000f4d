//! Rows of the file, read and written.

use std::path::Path;

use hushtable_privacy::{AmountError, Delta, Epsilon, Loss, Rho};
use rusqlite::types::{Type, Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use crate::chain::{Broken, Chain, Head, Link};
use crate::charge::Receipt;
use crate::units::Units;
use crate::{LedgerError, Release, Request, StoredRelease};

/// The file's rows as one transaction sees them.
pub(crate) struct Records<'a> {
    pub(crate) conn: &'a Connection,
    pub(crate) path: &'a Path,
}

/// A release on record, but for its content.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) id: i64,
    pub(crate) charge_id: i64,
    pub(crate) recorded_at: String,
    /// The hash of its content.
    pub(crate) content: [u8; 32],
}

impl Records<'_> {
    fn error(&self, error: rusqlite::Error) -> LedgerError {
        LedgerError::sqlite(self.path, error)
    }

    pub(crate) fn broken(&self, broken: Broken) -> LedgerError {
        LedgerError::Damaged { path: self.path.to_owned(), detail: broken.to_string() }
    }

    /// The error for a charge that this ledger did not make.
    pub(crate) fn foreign(&self, receipt: &Receipt) -> LedgerError {
        LedgerError::ForeignCharge { path: self.path.to_owned(), charge: receipt.id }
    }

    /// How far the chain goes.
    fn head(&self, chain: Chain) -> Result<Head, LedgerError> {
        let query = "SELECT seed, rows, link FROM chains WHERE name = ?1";
        self.conn
            .query_row(query, [chain.table()], |row| {
                Ok(Head { seed: Link(row.get(0)?), rows: row.get(1)?, link: Link(row.get(2)?) })
            })
            .optional()
            .map_err(|error| self.error(error))?
            .ok_or_else(|| self.broken(Broken::NoHead(chain)))
    }

    /// Reads a chain from `from` to its end, in order, and checks every link. `each` gets a row's
    /// number, its link and the row.
    ///
    /// # Errors
    /// When a row is missing, changed, out of order or one too many; when `each` fails.
    pub(crate) fn follow(
        &self,
        chain: Chain,
        from: Option<Head>,
        mut each: impl FnMut(i64, Link, &Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<Head, LedgerError> {
        let sql = |error| self.error(error);
        let end = self.head(chain)?;
        let mut here = from.unwrap_or(end.start());
        if here.seed != end.seed || here.rows > end.rows {
            return Err(self.broken(Broken::Older(chain)));
        }
        // In the order of the table itself.
        let query = format!("SELECT * FROM {} WHERE id > ?1 ORDER BY id", chain.table());
        let mut statement = self.conn.prepare(&query).map_err(sql)?;
        let last = statement.column_count().saturating_sub(1);
        let mut rows = statement.query([here.rows]).map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            let (id, next): (i64, i64) = (row.get(0).map_err(sql)?, here.rows + 1);
            if id > end.rows {
                return Err(self.broken(Broken::Added(chain, id)));
            }
            if id != next {
                return Err(self.broken(Broken::Missing(chain, next)));
            }
            let values = (0..last).map(|at| row.get_ref(at)).collect::<Result<Vec<_>, _>>();
            let link = here.link.next(values.map_err(sql)?);
            if link != Link(row.get(last).map_err(sql)?) {
                return Err(self.broken(Broken::Changed(chain, id)));
            }
            each(id, link, row).map_err(sql)?;
            here = Head { rows: id, link, ..here };
        }
        match here {
            here if here == end => Ok(here),
            Head { rows, .. } if rows < end.rows => {
                Err(self.broken(Broken::Missing(chain, rows + 1)))
            }
            Head { rows, .. } => Err(self.broken(Broken::Changed(chain, rows))),
        }
    }

    /// Adds a row to a chain: its number, `values`, and its link. Gives the number and the link.
    fn append(&self, chain: Chain, values: Vec<Value>) -> Result<(i64, Link), LedgerError> {
        let sql = |error| self.error(error);
        let head = self.head(chain)?;
        let id = head.rows + 1;
        let mut row = vec![Value::Integer(id)];
        row.extend(values);
        let link = head.link.next(row.iter().map(ValueRef::from));
        row.push(Value::Blob(link.0.to_vec()));
        let places = vec!["?"; row.len()].join(", ");
        let insert = format!("INSERT INTO {} VALUES ({places})", chain.table());
        self.conn.execute(&insert, params_from_iter(row)).map_err(sql)?;
        let advance = "UPDATE chains SET rows = ?2, link = ?3 WHERE name = ?1";
        match self.conn.execute(advance, params![chain.table(), id, link.0]).map_err(sql)? {
            1 => Ok((id, link)),
            _ => Err(self.broken(Broken::NoHead(chain))),
        }
    }

    /// This machine's clock: UTC, RFC 3339.
    fn now(&self) -> Result<Value, LedgerError> {
        self.conn
            .query_row("SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')", [], |row| row.get(0))
            .map_err(|error| self.error(error))
    }

    /// Adds a charge to the transaction. `units` are those of its population.
    pub(crate) fn add_charge(
        &self,
        request: &Request,
        units: &Units,
        charged: Loss,
    ) -> Result<Receipt, LedgerError> {
        let json = |error: serde_json::Error| {
            self.error(rusqlite::Error::ToSqlConversionFailure(error.into()))
        };
        let events = serde_json::to_string(&request.events).map_err(json)?;
        let units = serde_json::to_string(units).map_err(json)?;
        let (asked_currency, asked_amount) = (request.loss.parameter(), request.loss.units());
        let (charged_currency, charged_amount) = (charged.parameter(), charged.units());
        let values = vec![
            self.now()?,
            request.analyst.clone().into(),
            request.population.clone().into(),
            request.query.clone().into(),
            request.fingerprint.as_bytes().to_vec().into(),
            asked_currency.to_owned().into(),
            signed(asked_amount).into(),
            charged_currency.to_owned().into(),
            signed(charged_amount).into(),
            signed(charged.delta().units()).into(),
            events.into(),
            units.into(),
        ];
        let (id, link) = self.append(Chain::Charges, values)?;
        let (fingerprint, loss) = (request.fingerprint, request.loss);
        Ok(Receipt { id, link, fingerprint, loss, charged })
    }

    /// Adds an attempt to the transaction.
    pub(crate) fn add_attempt(&self, charge: i64, attempt: u32) -> Result<(), LedgerError> {
        let values = vec![charge.into(), attempt.into(), self.now()?];
        self.append(Chain::Attempts, values).map(drop)
    }

    /// Adds the state *drawn* of a charge to the transaction.
    pub(crate) fn add_draw(&self, charge: i64) -> Result<(), LedgerError> {
        let values = vec![charge.into(), self.now()?];
        self.append(Chain::Draws, values).map(drop)
    }

    /// How many bytes of the file are free for a release.
    pub(crate) fn free_bytes(&self) -> Result<u64, LedgerError> {
        let pragma = |name| self.conn.pragma_query_value(None, name, |row| row.get::<_, u32>(0));
        let pages = pragma("freelist_count").map_err(|error| self.error(error))?;
        let size = pragma("page_size").map_err(|error| self.error(error))?;
        Ok(u64::from(pages) * u64::from(size))
    }

    /// Fills pages that are to be free later. Bytes on disk, as a file can be longer than its disk
    /// has room for where nothing was written.
    pub(crate) fn fill_room(&self, bytes: u64) -> Result<(), LedgerError> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let fill = "INSERT INTO room (filler) VALUES (zeroblob(?1))";
        self.conn.execute(fill, [bytes]).map(drop).map_err(|error| self.error(error))
    }

    /// Frees all that was filled.
    pub(crate) fn free_room(&self) -> Result<(), LedgerError> {
        self.conn.execute("DELETE FROM room", []).map(drop).map_err(|error| self.error(error))
    }

    /// Adds a release to the transaction.
    pub(crate) fn add_release(&self, charge: i64, release: &Release) -> Result<(), LedgerError> {
        let values = vec![charge.into(), self.now()?, content_hash(release).to_vec().into()];
        let (id, _) = self.append(Chain::Releases, values)?;
        self.conn
            .execute(
                "INSERT INTO contents VALUES (?1, ?2, ?3)",
                params![id, release.statement, release.table],
            )
            .map_err(|error| self.error(error))?;
        Ok(())
    }

    /// A release with its content, which must be what was recorded.
    pub(crate) fn release(&self, recorded: &Recorded) -> Result<StoredRelease, LedgerError> {
        let query = "SELECT statement, table_bytes FROM contents WHERE release_id = ?1";
        let release = self
            .conn
            .query_row(query, [recorded.id], |row| {
                Ok(Release { statement: row.get(0)?, table: row.get(1)? })
            })
            .optional()
            .map_err(|error| self.error(error))?
            .ok_or_else(|| self.broken(Broken::Missing(Chain::Releases, recorded.id)))?;
        if content_hash(&release) != recorded.content {
            return Err(self.broken(Broken::Changed(Chain::Releases, recorded.id)));
        }
        let Recorded { charge_id, recorded_at, .. } = recorded.clone();
        Ok(StoredRelease { charge_id, recorded_at, release })
    }
}

/// The hash under which a release's content is on record.
fn content_hash(release: &Release) -> [u8; 32] {
    let values = [ValueRef::Text(release.statement.as_bytes()), ValueRef::Blob(&release.table)];
    Link([0; 32]).next(values).0
}

/// Every amount is at most 10^18; anything above would break a CHECK.
fn signed(units: u64) -> i64 {
    i64::try_from(units).unwrap_or(i64::MAX)
}

/// The loss as asked and as charged, from five columns in the order of the table.
pub(crate) fn losses(row: &Row<'_>, first: usize) -> rusqlite::Result<(Loss, Loss)> {
    let delta =
        Delta::from_units(units(row, first + 4)?).map_err(|e| out_of_range(first + 4, e))?;
    let loss = |at: usize| {
        let currency: String = row.get(at)?;
        let units = units(row, at + 1)?;
        match currency.as_str() {
            "epsilon" => Epsilon::from_units(units)
                .map(|epsilon| Loss::Approximate { epsilon, delta })
                .map_err(|error| out_of_range(at + 1, error)),
            "rho" => Rho::from_units(units)
                .map(|rho| Loss::Concentrated { rho, delta })
                .map_err(|error| out_of_range(at + 1, error)),
            _ => {
                let error = format!("unknown currency {currency:?}").into();
                Err(rusqlite::Error::FromSqlConversionFailure(at, Type::Text, error))
            }
        }
    };
    Ok((loss(first)?, loss(first + 2)?))
}

fn units(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(at)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, number))
}

fn out_of_range(at: usize, error: AmountError) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(at, Type::Integer, Box::new(error))
}
