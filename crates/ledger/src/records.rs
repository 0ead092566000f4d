//! Rows of the file, read and written.

use std::path::Path;

use hushtable_privacy::{AmountError, Delta, Epsilon, Event, Loss, LossError, Rho};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::account::Account;
use crate::charge::Receipt;
use crate::schema::Format;
use crate::{
    ChargeRecord, Fingerprint, LedgerError, OpenedCharge, Release, Request, StoredRelease,
};

/// This machine's clock: UTC, RFC 3339.
const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

/// The file's rows as one transaction sees them.
pub(crate) struct Records<'a> {
    pub(crate) conn: &'a Connection,
    pub(crate) path: &'a Path,
    pub(crate) format: Format,
}

impl Records<'_> {
    fn error(&self, error: rusqlite::Error) -> LedgerError {
        LedgerError::sqlite(self.path, error)
    }

    pub(crate) fn stored(
        &self,
        analyst: &str,
        table: &str,
        fingerprint: &Fingerprint,
    ) -> Result<Option<StoredRelease>, LedgerError> {
        let query = "
            SELECT r.charge_id, r.recorded_at, r.table_bytes, r.statement
            FROM charges c JOIN releases r ON r.charge_id = c.id
            WHERE c.fingerprint = ?1 AND c.analyst = ?2 AND c.table_name = ?3
            ORDER BY r.id LIMIT 1";
        self.conn
            .query_row(query, params![fingerprint.as_bytes(), analyst, table], stored_release)
            .optional()
            .map_err(|error| self.error(error))
    }

    /// The release of one charge, where it has one.
    pub(crate) fn release_of(
        &self,
        receipt: &Receipt,
    ) -> Result<Option<StoredRelease>, LedgerError> {
        let query = "
            SELECT r.charge_id, r.recorded_at, r.table_bytes, r.statement
            FROM charges c JOIN releases r ON r.charge_id = c.id
            WHERE c.id = ?1 AND c.charged_at = ?2 AND c.fingerprint = ?3";
        let Receipt { id, charged_at, fingerprint, .. } = receipt;
        self.conn
            .query_row(query, params![id, charged_at, fingerprint.as_bytes()], stored_release)
            .optional()
            .map_err(|error| self.error(error))
    }

    /// The first charge for the question that was made as a part of a workload and has no release.
    pub(crate) fn unreleased(
        &self,
        analyst: &str,
        table: &str,
        fingerprint: &Fingerprint,
    ) -> Result<Option<Receipt>, LedgerError> {
        if !self.format.has_attempts() {
            return Ok(None);
        }
        let query = "
            SELECT c.id, c.charged_at, asked_currency, asked_amount, charged_currency,
              charged_amount, delta
            FROM charges c JOIN attempts a ON a.charge_id = c.id AND a.attempt = 0
            WHERE c.fingerprint = ?1 AND c.analyst = ?2 AND c.table_name = ?3
              AND NOT EXISTS (SELECT 1 FROM releases WHERE charge_id = c.id)
            ORDER BY c.id LIMIT 1";
        self.conn
            .query_row(query, params![fingerprint.as_bytes(), analyst, table], |row| {
                let (loss, charged) = losses(row, 2)?;
                Ok(Receipt {
                    id: row.get(0)?,
                    charged_at: row.get(1)?,
                    fingerprint: *fingerprint,
                    loss,
                    charged,
                })
            })
            .optional()
            .map_err(|error| self.error(error))
    }

    /// The number of the charge's last attempt; `None` where it cannot be taken up.
    pub(crate) fn attempts(&self, receipt: &Receipt) -> Result<Option<u32>, LedgerError> {
        let query = "SELECT max(attempt) FROM attempts WHERE charge_id = ?1";
        self.conn
            .query_row(query, [receipt.id], |row| row.get(0))
            .map_err(|error| self.error(error))
    }

    /// Adds an attempt to the transaction.
    pub(crate) fn add_attempt(&self, receipt: &Receipt, attempt: u32) -> Result<(), LedgerError> {
        let Receipt { id, charged_at, fingerprint, .. } = receipt;
        let statement = format!(
            "INSERT INTO attempts (charge_id, attempt, begun_at)
             SELECT id, ?4, {NOW} FROM charges
             WHERE id = ?1 AND charged_at = ?2 AND fingerprint = ?3"
        );
        let values = params![id, charged_at, fingerprint.as_bytes(), attempt];
        match self.conn.execute(&statement, values).map_err(|error| self.error(error))? {
            1 => Ok(()),
            _ => Err(LedgerError::ForeignCharge { path: self.path.to_owned(), charge: *id }),
        }
    }

    /// The account in the currency of `limit`, summed up row by row.
    pub(crate) fn account(
        &self,
        analyst: &str,
        table: &str,
        limit: Loss,
    ) -> Result<Account, LedgerError> {
        let sql = |error| self.error(error);
        let mut rows = self
            .conn
            .prepare(
                "SELECT id, asked_currency, asked_amount, charged_currency, charged_amount, delta
                 FROM charges WHERE analyst = ?1 AND table_name = ?2 ORDER BY id",
            )
            .map_err(sql)?;
        let rows = rows.query_map([analyst, table], |row| Ok((row.get(0)?, losses(row, 1)?)));
        let mut spent = limit.nothing();
        for row in rows.map_err(sql)? {
            let (charge, (asked, charged)) = row.map_err(sql)?;
            // Both are true of the release. A loss asked in epsilon is counted as that under a
            // limit in epsilon, even if the limit was in rho when it was charged.
            let loss = match limit {
                Loss::Approximate { .. } => asked,
                Loss::Concentrated { .. } => charged,
            };
            let (analyst, table) = (analyst.to_owned(), table.to_owned());
            spent =
                loss.in_currency_of(limit).and_then(|loss| spent.plus(loss)).map_err(|error| {
                    match error {
                        LossError::Currency => {
                            LedgerError::SpentInRho { analyst, table, charge, loss, limit }
                        }
                        LossError::TooLarge => LedgerError::SpentTooLarge { analyst, table },
                    }
                })?;
        }
        Ok(Account::new(limit, spent))
    }

    pub(crate) fn charges(&self) -> Result<Vec<ChargeRecord>, LedgerError> {
        let sql = |error| self.error(error);
        let (events, joined) = match self.format.has_events() {
            true => ("e.events", "LEFT JOIN events e ON e.charge_id = c.id"),
            false => ("NULL", ""),
        };
        let query = format!(
            "SELECT c.id, c.charged_at, c.analyst, c.table_name, c.query, r.id IS NOT NULL,
               asked_currency, asked_amount, charged_currency, charged_amount, delta, {events}
             FROM charges c LEFT JOIN releases r ON r.charge_id = c.id {joined} ORDER BY c.id"
        );
        let mut rows = self.conn.prepare(&query).map_err(sql)?;
        rows.query_map([], |row| {
            let (asked, charged) = losses(row, 6)?;
            Ok(ChargeRecord {
                id: row.get(0)?,
                charged_at: row.get(1)?,
                analyst: row.get(2)?,
                table: row.get(3)?,
                query: row.get(4)?,
                asked,
                charged,
                released: row.get(5)?,
                events: match row.get::<_, Option<String>>(11)? {
                    Some(text) => serde_json::from_str(&text).map_err(|error| {
                        rusqlite::Error::FromSqlConversionFailure(11, Type::Text, error.into())
                    })?,
                    None => vec![Event::from(asked)],
                },
            })
        })
        .and_then(Iterator::collect)
        .map_err(sql)
    }

    /// Adds a charge to the transaction.
    pub(crate) fn add_charge(
        &self,
        request: &Request,
        charged: Loss,
    ) -> Result<Receipt, LedgerError> {
        let (asked_currency, asked_amount) = main_part(request.loss);
        let (charged_currency, charged_amount) = main_part(charged);
        let statement = format!(
            "INSERT INTO charges (charged_at, analyst, table_name, query, fingerprint,
               asked_currency, asked_amount, charged_currency, charged_amount, delta)
             VALUES ({NOW}, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING id, charged_at"
        );
        let values = params![
            request.analyst,
            request.table,
            request.query,
            request.fingerprint.as_bytes(),
            asked_currency,
            signed(asked_amount),
            charged_currency,
            signed(charged_amount),
            signed(charged.delta().units()),
        ];
        let receipt = self
            .conn
            .query_row(&statement, values, |row| {
                Ok(Receipt {
                    id: row.get(0)?,
                    charged_at: row.get(1)?,
                    fingerprint: request.fingerprint,
                    loss: request.loss,
                    charged,
                })
            })
            .map_err(|error| self.error(error))?;
        let events = serde_json::to_string(&request.events)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
            .map_err(|error| self.error(error))?;
        self.conn
            .execute(
                "INSERT INTO events (charge_id, events) VALUES (?1, ?2)",
                params![receipt.id, events],
            )
            .map_err(|error| self.error(error))?;
        Ok(receipt)
    }

    /// Adds a release to the transaction.
    pub(crate) fn add_release(
        &self,
        charge: &OpenedCharge,
        release: &Release,
    ) -> Result<(), LedgerError> {
        let Receipt { id, charged_at, fingerprint, .. } = &charge.receipt;
        // Only where the charge is one of this file's: another ledger has the same numbers.
        let statement = format!(
            "INSERT INTO releases (charge_id, recorded_at, statement, table_bytes)
             SELECT id, {NOW}, ?4, ?5 FROM charges
             WHERE id = ?1 AND charged_at = ?2 AND fingerprint = ?3"
        );
        let values =
            params![id, charged_at, fingerprint.as_bytes(), release.statement, release.table];
        match self.conn.execute(&statement, values).map_err(|error| self.error(error))? {
            1 => Ok(()),
            _ => Err(LedgerError::ForeignCharge { path: self.path.to_owned(), charge: *id }),
        }
    }
}

fn stored_release(row: &Row<'_>) -> rusqlite::Result<StoredRelease> {
    Ok(StoredRelease {
        charge_id: row.get(0)?,
        recorded_at: row.get(1)?,
        release: Release { table: row.get(2)?, statement: row.get(3)? },
    })
}

fn main_part(loss: Loss) -> (&'static str, u64) {
    match loss {
        Loss::Approximate { epsilon, .. } => ("epsilon", epsilon.units()),
        Loss::Concentrated { rho, .. } => ("rho", rho.units()),
    }
}

/// Every amount is at most 10^18; anything above would break a CHECK.
fn signed(units: u64) -> i64 {
    i64::try_from(units).unwrap_or(i64::MAX)
}

/// The loss as asked and as charged, from five columns in the order of the table.
fn losses(row: &Row<'_>, first: usize) -> rusqlite::Result<(Loss, Loss)> {
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
