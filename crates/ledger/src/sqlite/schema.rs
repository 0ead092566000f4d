//! The tables of the file, and how to tell that a file has them.

use rusqlite::{Connection, Result, params};

use crate::chain::CHAINS;

/// Marks the file as ours: `HUSH` in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x4855_5348;
/// Raised with every change of [`OBJECTS`]. Files of other versions are refused.
pub(crate) const VERSION: i64 = 6;

/// How far each chain goes: see [`Head`](crate::chain::ChainHead).
const CHAIN_ENDS: &str = "\
CREATE TABLE chains (
  name TEXT PRIMARY KEY CHECK (name IN ('charges', 'attempts', 'draws', 'releases')),
  seed BLOB NOT NULL CHECK (length(seed) = 32),
  rows INTEGER NOT NULL CHECK (rows >= 0),
  link BLOB NOT NULL CHECK (length(link) = 32)
) STRICT, WITHOUT ROWID";

/// The bounds are those of the amounts' types. A charge is kept as asked and as charged, which
/// differ only where an epsilon was charged to a budget in rho. Its events are JSON, from which the
/// tightest total is computed. Its units are JSON, too: who the population was made up of.
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
  events TEXT NOT NULL,
  units TEXT NOT NULL,
  family BLOB NOT NULL CHECK (length(family) = 32),
  link BLOB NOT NULL CHECK (length(link) = 32),
  CHECK (asked_currency = 'epsilon' OR charged_currency = 'rho'),
  CHECK (asked_currency <> charged_currency OR asked_amount = charged_amount)
) STRICT";

/// One comes before each time that the data are read for a charge, up to
/// [`MOST_ATTEMPTS`](crate::MOST_ATTEMPTS).
const ATTEMPTS: &str = "\
CREATE TABLE attempts (
  id INTEGER PRIMARY KEY,
  charge_id INTEGER NOT NULL REFERENCES charges (id),
  attempt INTEGER NOT NULL CHECK (attempt BETWEEN 1 AND 20),
  begun_at TEXT NOT NULL,
  link BLOB NOT NULL CHECK (length(link) = 32)
) STRICT";

/// One comes before the first random number of a release. A charge has one at most, and is not
/// taken up again from there on.
const DRAWS: &str = "\
CREATE TABLE draws (
  id INTEGER PRIMARY KEY,
  charge_id INTEGER NOT NULL REFERENCES charges (id),
  drawn_at TEXT NOT NULL,
  link BLOB NOT NULL CHECK (length(link) = 32)
) STRICT";

/// Numbered in the order of recording, so that the earliest release stays the answer even if an
/// older charge gets its release later. Without an index on the charge, as no decision rests on
/// one.
const RELEASES: &str = "\
CREATE TABLE releases (
  id INTEGER PRIMARY KEY,
  charge_id INTEGER NOT NULL REFERENCES charges (id),
  recorded_at TEXT NOT NULL,
  content BLOB NOT NULL CHECK (length(content) = 32),
  link BLOB NOT NULL CHECK (length(link) = 32)
) STRICT";

/// The released contents; the release has their hash. A table of its own, so that large contents
/// need not be read to follow the chain.
const CONTENTS: &str = "\
CREATE TABLE contents (
  release_id INTEGER PRIMARY KEY REFERENCES releases (id),
  statement TEXT NOT NULL,
  table_bytes BLOB NOT NULL
) STRICT";

/// Filled before a draw and emptied with it, so that the file has free pages for the release. Empty
/// except for what a crash left; no decision rests on it.
const ROOM: &str = "\
CREATE TABLE room (
  id INTEGER PRIMARY KEY,
  filler BLOB NOT NULL
) STRICT";

/// The record is append-only: for every program, not just for this one. An `INSERT OR REPLACE`
/// deletes without a delete trigger, hence the insert triggers. No index: see [`crate::book`].
const OBJECTS: [&str; 25] = [
    CHAIN_ENDS,
    CHARGES,
    ATTEMPTS,
    DRAWS,
    RELEASES,
    CONTENTS,
    ROOM,
    "CREATE TRIGGER chains_only_grow BEFORE UPDATE ON chains
  WHEN NEW.name <> OLD.name OR NEW.seed <> OLD.seed OR NEW.rows <> OLD.rows + 1
  BEGIN SELECT RAISE(ABORT, 'a chain only grows'); END",
    "CREATE TRIGGER chains_no_delete BEFORE DELETE ON chains
  BEGIN SELECT RAISE(ABORT, 'a chain is never deleted'); END",
    "CREATE TRIGGER chains_no_replace BEFORE INSERT ON chains
  WHEN EXISTS (SELECT 1 FROM chains WHERE name = NEW.name)
  BEGIN SELECT RAISE(ABORT, 'a chain is never replaced'); END",
    "CREATE TRIGGER charges_no_update BEFORE UPDATE ON charges
  BEGIN SELECT RAISE(ABORT, 'a charge is never changed'); END",
    "CREATE TRIGGER charges_no_delete BEFORE DELETE ON charges
  BEGIN SELECT RAISE(ABORT, 'a charge is never deleted'); END",
    "CREATE TRIGGER charges_no_replace BEFORE INSERT ON charges
  WHEN EXISTS (SELECT 1 FROM charges WHERE id = NEW.id)
  BEGIN SELECT RAISE(ABORT, 'a charge is never replaced'); END",
    "CREATE TRIGGER attempts_no_update BEFORE UPDATE ON attempts
  BEGIN SELECT RAISE(ABORT, 'an attempt is never changed'); END",
    "CREATE TRIGGER attempts_no_delete BEFORE DELETE ON attempts
  BEGIN SELECT RAISE(ABORT, 'an attempt is never deleted'); END",
    "CREATE TRIGGER attempts_no_replace BEFORE INSERT ON attempts
  WHEN EXISTS (SELECT 1 FROM attempts WHERE id = NEW.id)
  BEGIN SELECT RAISE(ABORT, 'an attempt is never replaced'); END",
    "CREATE TRIGGER draws_no_update BEFORE UPDATE ON draws
  BEGIN SELECT RAISE(ABORT, 'a draw is never changed'); END",
    "CREATE TRIGGER draws_no_delete BEFORE DELETE ON draws
  BEGIN SELECT RAISE(ABORT, 'a draw is never deleted'); END",
    "CREATE TRIGGER draws_no_replace BEFORE INSERT ON draws
  WHEN EXISTS (SELECT 1 FROM draws WHERE id = NEW.id)
  BEGIN SELECT RAISE(ABORT, 'a draw is never replaced'); END",
    "CREATE TRIGGER releases_no_update BEFORE UPDATE ON releases
  BEGIN SELECT RAISE(ABORT, 'a release is never changed'); END",
    "CREATE TRIGGER releases_no_delete BEFORE DELETE ON releases
  BEGIN SELECT RAISE(ABORT, 'a release is never deleted'); END",
    "CREATE TRIGGER releases_no_replace BEFORE INSERT ON releases
  WHEN EXISTS (SELECT 1 FROM releases WHERE id = NEW.id)
  BEGIN SELECT RAISE(ABORT, 'a release is never replaced'); END",
    "CREATE TRIGGER contents_no_update BEFORE UPDATE ON contents
  BEGIN SELECT RAISE(ABORT, 'a release is never changed'); END",
    "CREATE TRIGGER contents_no_delete BEFORE DELETE ON contents
  BEGIN SELECT RAISE(ABORT, 'a release is never deleted'); END",
    "CREATE TRIGGER contents_no_replace BEFORE INSERT ON contents
  WHEN EXISTS (SELECT 1 FROM contents WHERE release_id = NEW.release_id)
  BEGIN SELECT RAISE(ABORT, 'a release is never replaced'); END",
];

/// The contents of a SQLite file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Nothing: an empty file.
    Nothing,
    /// A ledger of this version.
    Ledger,
    /// A ledger of another version, the one given.
    Other(i64),
    /// A ledger whose tables or triggers are not as they were made.
    Altered,
    /// Some other program's tables.
    Foreign,
}

/// Looks, and changes nothing. Run it in a transaction, so that it sees one state.
pub(crate) fn inspect(conn: &Connection) -> Result<Contents> {
    let application: i64 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    // SQLite's own objects (statistics) come and go.
    let mut objects = conn.prepare(
        "SELECT coalesce(sql, '') FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*' ORDER BY sql",
    )?;
    let found: Vec<String> = objects.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    let mut ours = OBJECTS;
    ours.sort_unstable();
    Ok(match (application, version) {
        (0, 0) if found.is_empty() => Contents::Nothing,
        // Exactly: a trigger more, for example, could swallow charges.
        (APPLICATION_ID, VERSION) if found == ours => Contents::Ledger,
        (APPLICATION_ID, version) if version >= 1 && version != VERSION => Contents::Other(version),
        (APPLICATION_ID, _) => Contents::Altered,
        _ => Contents::Foreign,
    })
}

/// Makes the tables, and the chains' beginnings. Run it in a transaction, in an empty file.
pub(crate) fn create(conn: &Connection) -> Result<()> {
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    conn.pragma_update(None, "user_version", VERSION)?;
    OBJECTS.iter().try_for_each(|object| conn.execute_batch(object))?;
    for chain in CHAINS {
        // A seed of its own for each ledger, so that rows of one fit into no other.
        let seed: Vec<u8> = conn.query_row("SELECT randomblob(32)", [], |row| row.get(0))?;
        conn.execute("INSERT INTO chains VALUES (?1, ?2, 0, ?2)", params![chain.table(), seed])?;
    }
    Ok(())
}
