//! The tables of the file, and how to tell that a file has them.

use rusqlite::{Connection, Result};

/// Marks the file as ours: `HUSH` in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x4855_5348;
/// Raised with every change of [`OBJECTS`].
pub(crate) const VERSION: i64 = 2;
/// The version before charges came with their events.
const WITHOUT_EVENTS: i64 = 1;

/// The bounds are those of the amounts' types. A charge is kept as asked and as charged, which
/// differ only where an epsilon was charged to a budget in rho.
const CHARGES: &str = "\
CREATE TABLE charges (
  id INTEGER PRIMARY KEY,
  charged_at TEXT NOT NULL,
  analyst TEXT NOT NULL,
  table_name TEXT NOT NULL,
  query TEXT NOT NULL,
  fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
  asked_currency TEXT NOT NULL CHECK (asked_currency IN ('epsilon', 'rho')),
  asked_amount INTEGER NOT NULL CHECK (asked_amount BETWEEN 0 AND 1000000000000000000),
  charged_currency TEXT NOT NULL CHECK (charged_currency IN ('epsilon', 'rho')),
  charged_amount INTEGER NOT NULL CHECK (charged_amount BETWEEN 0 AND 1000000000000000000),
  delta INTEGER NOT NULL CHECK (delta BETWEEN 0 AND 999999999999999999),
  CHECK (asked_currency = 'epsilon' OR charged_currency = 'rho'),
  CHECK (asked_currency <> charged_currency OR asked_amount = charged_amount)
) STRICT";

/// Numbered in the order of recording, so that the earliest release stays the answer even if an
/// older charge gets its release later.
const RELEASES: &str = "\
CREATE TABLE releases (
  id INTEGER PRIMARY KEY,
  charge_id INTEGER NOT NULL UNIQUE REFERENCES charges (id),
  recorded_at TEXT NOT NULL,
  statement TEXT NOT NULL,
  table_bytes BLOB NOT NULL
) STRICT";

/// What ran for a charge, as far as losses go: JSON of a list of events, from which the tightest total is
/// computed. Charges of version 1 have none, and count as what was asked.
const EVENTS: &str = "\
CREATE TABLE events (
  charge_id INTEGER PRIMARY KEY REFERENCES charges (id),
  events TEXT NOT NULL
) STRICT";

/// The record is append-only: for every program, not just for this one. An `INSERT OR REPLACE`
/// deletes without a delete trigger, hence the insert triggers. The first ten are version 1.
const OBJECTS: [&str; 14] = [
    CHARGES,
    RELEASES,
    "CREATE INDEX charges_by_account ON charges (analyst, table_name)",
    "CREATE INDEX charges_by_fingerprint ON charges (fingerprint)",
    "CREATE TRIGGER charges_no_update BEFORE UPDATE ON charges
  BEGIN SELECT RAISE(ABORT, 'a charge is never changed'); END",
    "CREATE TRIGGER charges_no_delete BEFORE DELETE ON charges
  BEGIN SELECT RAISE(ABORT, 'a charge is never deleted'); END",
    "CREATE TRIGGER charges_no_replace BEFORE INSERT ON charges
  WHEN EXISTS (SELECT 1 FROM charges WHERE id = NEW.id)
  BEGIN SELECT RAISE(ABORT, 'a charge is never replaced'); END",
    "CREATE TRIGGER releases_no_update BEFORE UPDATE ON releases
  BEGIN SELECT RAISE(ABORT, 'a release is never changed'); END",
    "CREATE TRIGGER releases_no_delete BEFORE DELETE ON releases
  BEGIN SELECT RAISE(ABORT, 'a release is never deleted'); END",
    "CREATE TRIGGER releases_no_replace BEFORE INSERT ON releases
  WHEN EXISTS (SELECT 1 FROM releases WHERE id = NEW.id OR charge_id = NEW.charge_id)
  BEGIN SELECT RAISE(ABORT, 'a release is never replaced'); END",
    EVENTS,
    "CREATE TRIGGER events_no_update BEFORE UPDATE ON events
  BEGIN SELECT RAISE(ABORT, 'events are never changed'); END",
    "CREATE TRIGGER events_no_delete BEFORE DELETE ON events
  BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END",
    "CREATE TRIGGER events_no_replace BEFORE INSERT ON events
  WHEN EXISTS (SELECT 1 FROM events WHERE charge_id = NEW.charge_id)
  BEGIN SELECT RAISE(ABORT, 'events are never replaced'); END",
];
/// How many of them version 1 had.
const FIRST: usize = 10;

/// What a SQLite file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Nothing: a new file.
    Nothing,
    /// A ledger that this version reads and writes.
    Ledger,
    /// A ledger of version 1, which has all but the events.
    WithoutEvents,
    /// A ledger of a later version, the one given.
    Newer(i64),
    /// A ledger whose tables or triggers are not as they were made.
    Altered,
    /// Some other program's tables.
    Foreign,
}

/// Looks, and changes nothing. Run it in a transaction, so that it sees one state.
pub(crate) fn inspect(conn: &Connection) -> Result<Contents> {
    let application: i64 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    // SQLite's own objects (an index behind UNIQUE, statistics) come and go.
    let mut objects = conn.prepare(
        "SELECT coalesce(sql, '') FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*' ORDER BY sql",
    )?;
    let found: Vec<String> = objects.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    Ok(match (application, version) {
        (0, 0) if found.is_empty() => Contents::Nothing,
        (APPLICATION_ID, version) if version > VERSION => Contents::Newer(version),
        // Exactly: a trigger more, for example, could swallow charges.
        (APPLICATION_ID, VERSION) if found == sorted(&OBJECTS) => Contents::Ledger,
        (APPLICATION_ID, WITHOUT_EVENTS) if found == sorted(&OBJECTS[..FIRST]) => {
            Contents::WithoutEvents
        }
        (APPLICATION_ID, _) => Contents::Altered,
        _ => Contents::Foreign,
    })
}

fn sorted<'a>(objects: &[&'a str]) -> Vec<&'a str> {
    let mut sorted = objects.to_vec();
    sorted.sort_unstable();
    sorted
}

/// Makes the tables. Run it in a transaction, in a file with [`Contents::Nothing`].
pub(crate) fn create(conn: &Connection) -> Result<()> {
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    conn.pragma_update(None, "user_version", VERSION)?;
    OBJECTS.iter().try_for_each(|object| conn.execute_batch(object))
}

/// Makes what version 1 does not have. Run it in a transaction, in a file with
/// [`Contents::WithoutEvents`].
pub(crate) fn add_events(conn: &Connection) -> Result<()> {
    conn.pragma_update(None, "user_version", VERSION)?;
    OBJECTS[FIRST..].iter().try_for_each(|object| conn.execute_batch(object))
}
