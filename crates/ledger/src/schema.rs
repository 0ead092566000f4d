//! The tables of the file, and how to tell that a file has them.

use rusqlite::{Connection, Result};

/// Marks the file as ours: `HUSH` in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x4855_5348;
/// Raised with every change of [`OBJECTS`].
pub(crate) const VERSION: i64 = 3;
/// The version from which charges come with their events.
const WITH_EVENTS: i64 = 2;
/// The version from which parts of workloads can be taken up again.
const WITH_ATTEMPTS: i64 = 3;

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

/// Charges that may be taken up again after a crash: the parts of workloads. Attempt 0 comes with the
/// charge; one more comes before each time that the data are read for it, up to
/// [`MOST_ATTEMPTS`](crate::MOST_ATTEMPTS). Without rows of their own numbers, as an `INSERT OR
/// REPLACE` could take one of those.
const ATTEMPTS: &str = "\
CREATE TABLE attempts (
  charge_id INTEGER NOT NULL REFERENCES charges (id),
  attempt INTEGER NOT NULL CHECK (attempt BETWEEN 0 AND 20),
  begun_at TEXT NOT NULL,
  PRIMARY KEY (charge_id, attempt)
) STRICT, WITHOUT ROWID";

/// The record is append-only: for every program, not just for this one. An `INSERT OR REPLACE`
/// deletes without a delete trigger, hence the insert triggers. Versions only add at the end.
const OBJECTS: [&str; 18] = [
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
    ATTEMPTS,
    "CREATE TRIGGER attempts_no_update BEFORE UPDATE ON attempts
  BEGIN SELECT RAISE(ABORT, 'an attempt is never changed'); END",
    "CREATE TRIGGER attempts_no_delete BEFORE DELETE ON attempts
  BEGIN SELECT RAISE(ABORT, 'an attempt is never deleted'); END",
    "CREATE TRIGGER attempts_no_replace BEFORE INSERT ON attempts
  WHEN EXISTS (SELECT 1 FROM attempts
    WHERE charge_id = NEW.charge_id AND attempt = NEW.attempt)
  BEGIN SELECT RAISE(ABORT, 'an attempt is never replaced'); END",
];

/// A version of the file that this program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format(i64);

impl Format {
    /// The one that is written.
    pub(crate) const LATEST: Self = Self(VERSION);

    /// Whether charges come with their events.
    pub(crate) fn has_events(self) -> bool {
        self.0 >= WITH_EVENTS
    }

    /// Whether parts of workloads can be taken up again.
    pub(crate) fn has_attempts(self) -> bool {
        self.0 >= WITH_ATTEMPTS
    }

    /// What a file of this version has.
    fn objects(self) -> &'static [&'static str] {
        let count = match self {
            Self(..WITH_EVENTS) => 10,
            Self(..WITH_ATTEMPTS) => 14,
            _ => OBJECTS.len(),
        };
        &OBJECTS[..count]
    }
}

/// What a SQLite file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Nothing: a new file.
    Nothing,
    /// A ledger: of this version, or of an older one, which is read as it is.
    Ledger(Format),
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
        (APPLICATION_ID, 1..) if found == sorted(Format(version).objects()) => {
            Contents::Ledger(Format(version))
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

/// Makes what an older version does not have. Run it in a transaction.
pub(crate) fn upgrade(conn: &Connection, from: Format) -> Result<()> {
    conn.pragma_update(None, "user_version", VERSION)?;
    OBJECTS.iter().skip(from.objects().len()).try_for_each(|object| conn.execute_batch(object))
}
