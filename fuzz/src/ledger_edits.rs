//! Ledgers whose rows and bytes were changed, as their readers meet them.
//!
//! An input is a list of changes to one ledger whose budget is used up: each begins with a byte
//! that says of which kind it is. So that inputs are small, and most changes are of something.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use hushtable_ledger::{
    Fingerprint, Inspection, Ledger, LedgerError, Location, NamedPopulation, Outcome,
    PaymentOutcome, Populations, Release, Request, Units, check, is_ledger,
};
use hushtable_privacy::Loss;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};

use crate::reactions::Reaction;

/// The tables of a ledger, those with chains first.
const TABLES: [&str; 7] =
    ["charges", "attempts", "draws", "releases", "chains", "contents", "room"];
const CHAINS: usize = 4;

/// Questions of the ledger, by the number of the last: on record, drawn, begun, and paid for.
const RECORDED: u8 = 3;
const BEGUN: u8 = 5;
const PAID: u8 = 6;

/// The bytes of a ledger in which the whole budget is spent.
static LEDGER: LazyLock<Option<Vec<u8>>> = LazyLock::new(|| ledger().ok());

/// A value in a row.
#[derive(Clone, Debug)]
enum Cell {
    Null,
    Integer(i64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

/// A change.
#[derive(Clone, Debug)]
enum Edit {
    /// Sets a value: the table, the row and the column, each counted around.
    Set(u8, u8, u8, Cell),
    /// Deletes a row.
    Delete(u8, u8),
    /// Adds a copy of a row.
    Copy(u8, u8),
    /// Swaps the numbers of a row and the next.
    Swap(u8, u8),
    /// Makes all links anew, as somebody does who writes the whole ledger anew.
    Relink,
    /// Overwrites bytes of the file.
    Write(usize, Vec<u8>),
    /// Fills a page of the file.
    Fill(u8, u8),
    /// Cuts the file off.
    Cut(usize),
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// The bytes of an input that are not read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> usize {
        (0..3).fold(0, |number, at| number | usize::from(self.byte()) << (8 * at))
    }

    fn bytes(&mut self) -> Vec<u8> {
        let length = usize::from(self.byte()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        bytes.to_vec()
    }

    fn cell(&mut self) -> Cell {
        match self.byte() {
            b'I' => {
                let bytes: Vec<u8> = (0..8).map(|_| self.byte()).collect();
                Cell::Integer(bytes.try_into().map_or(0, i64::from_le_bytes))
            }
            b'T' => Cell::Text(self.bytes()),
            b'B' => Cell::Blob(self.bytes()),
            _ => Cell::Null,
        }
    }

    fn edits(mut self) -> Vec<Edit> {
        let mut edits = Vec::new();
        while !self.0.is_empty() && edits.len() < 64 {
            edits.push(match self.byte() {
                b's' => Edit::Set(self.byte(), self.byte(), self.byte(), self.cell()),
                b'd' => Edit::Delete(self.byte(), self.byte()),
                b'c' => Edit::Copy(self.byte(), self.byte()),
                b'x' => Edit::Swap(self.byte(), self.byte()),
                b'l' => Edit::Relink,
                b'w' => Edit::Write(self.number(), self.bytes()),
                b'f' => Edit::Fill(self.byte(), self.byte()),
                b'e' => Edit::Cut(self.number()),
                _ => continue,
            });
        }
        edits
    }
}

fn epsilon(text: &str) -> Loss {
    text.parse().map_or(Loss::pure(hushtable_privacy::Epsilon::ZERO), Loss::pure)
}

fn request(question: u8, cost: &str) -> Request {
    Request {
        analyst: "ana".to_owned(),
        population: "visits".to_owned(),
        query: format!("SELECT {question}"),
        fingerprint: Fingerprint::new([question; 32]),
        family: Fingerprint::new([0; 32]),
        loss: epsilon(cost),
        events: vec![epsilon(cost).into()],
        limit: epsilon("1"),
    }
}

fn release(question: u8) -> Release {
    Release { table: vec![question; 40], statement: format!("promise {question}") }
}

fn populations() -> Populations {
    let units = Units([("visits".to_owned(), "visits.id".to_owned())].into());
    let section = "[tables.visits]".to_owned();
    let visits = NamedPopulation { units, formerly: Vec::new(), section };
    Populations::new([("visits".to_owned(), visits)].into(), [])
}

/// A ledger in which six questions have used up the budget.
fn ledger() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.ledger");
    let mut ledger = Location::file(&path).open(populations())?;
    for question in 1..=PAID {
        let cost = if question <= RECORDED + 1 { "0.2" } else { "0.1" };
        let paid = ledger.charge_all(&[request(question, cost)])?.pop();
        let Some(PaymentOutcome::Charged(payment)) = paid else { continue };
        if question == PAID {
            continue;
        }
        let Outcome::Charged(charge) = ledger.begin(&payment, &[])? else { continue };
        if question == BEGUN {
            continue;
        }
        let drawn = ledger.draw(charge.open(), Vec::new(), 0)?;
        if question <= RECORDED {
            ledger.record(drawn, &release(question))?;
        }
    }
    drop(ledger);
    Ok(fs::read(&path)?)
}

/// A new folder, in memory where there is such a place: each charge waits for its disk.
fn folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

/// Whether links were made anew.
fn change(path: &Path, edits: &[Edit]) -> Result<bool, Box<dyn std::error::Error>> {
    let bytes = LEDGER.as_ref().ok_or("no ledger")?;
    fs::write(path, bytes)?;
    let of_rows = |edit: &&Edit| !matches!(edit, Edit::Write(..) | Edit::Fill(..) | Edit::Cut(_));
    let mut relinked = false;
    if edits.iter().any(|edit| of_rows(&edit)) {
        let mut conn = Connection::open(path)?;
        let tx = conn.transaction()?;
        let triggers = triggers(&tx)?;
        for (name, _) in &triggers {
            tx.execute_batch(&format!("DROP TRIGGER {name}"))?;
        }
        tx.execute_batch("PRAGMA ignore_check_constraints = ON")?;
        for edit in edits.iter().filter(of_rows) {
            // Some rows cannot be written at all.
            let _ = change_rows(&tx, edit);
            relinked |= matches!(edit, Edit::Relink);
        }
        for (_, sql) in &triggers {
            tx.execute_batch(sql)?;
        }
        tx.commit()?;
    }
    let mut bytes = fs::read(path)?;
    for edit in edits {
        let length = bytes.len().max(1);
        match edit {
            Edit::Write(from, with) => {
                let from = from % length;
                bytes.iter_mut().skip(from).zip(with).for_each(|(byte, new)| *byte = *new);
            }
            Edit::Fill(page, with) => {
                let from = usize::from(*page) * 4096 % length;
                bytes.iter_mut().skip(from).take(4096).for_each(|byte| *byte = *with);
            }
            Edit::Cut(end) => bytes.truncate(end % length),
            _ => {}
        }
    }
    fs::write(path, bytes)?;
    Ok(relinked)
}

fn triggers(conn: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let sql = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'";
    let mut statement = conn.prepare(sql)?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Changes rows, as far as SQLite allows.
fn change_rows(conn: &Connection, edit: &Edit) -> rusqlite::Result<()> {
    let table = |at: &u8| TABLES[usize::from(*at) % TABLES.len()];
    // Rows by their place, as numbers may be gone.
    let row = |at: &u8, row: &u8| {
        let table = table(at);
        let key = key_of(table);
        format!(
            "{key} = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET \
             {row} % max(1, (SELECT COUNT(*) FROM {table})))"
        )
    };
    match edit {
        Edit::Set(at, number, column, cell) => {
            let table = table(at);
            let columns = columns(conn, table)?;
            let column = &columns[usize::from(*column) % columns.len().max(1)];
            let sql = format!("UPDATE {table} SET {column} = ?1 WHERE {}", row(at, number));
            conn.execute(&sql, [cell]).map(drop)
        }
        Edit::Delete(at, number) => {
            let sql = format!("DELETE FROM {} WHERE {}", table(at), row(at, number));
            conn.execute(&sql, []).map(drop)
        }
        Edit::Copy(at, number) => {
            let (table, key) = (table(at), key_of(table(at)));
            let columns = columns(conn, table)?.into_iter().filter(|column| column != key);
            let columns = columns.collect::<Vec<_>>().join(", ");
            let sql = format!(
                "INSERT INTO {table} ({key}, {columns}) SELECT (SELECT max({key}) + 1 FROM \
                 {table}), {columns} FROM {table} WHERE {}",
                row(at, number)
            );
            conn.execute(&sql, []).map(drop)
        }
        Edit::Swap(at, number) => {
            let (table, key) = (table(at), key_of(table(at)));
            for sql in [
                format!("UPDATE {table} SET {key} = -1 WHERE {}", row(at, number)),
                format!("UPDATE {table} SET {key} = {key} - 1 WHERE {key} = {number} + 2"),
                format!("UPDATE {table} SET {key} = {number} + 2 WHERE {key} = -1"),
            ] {
                conn.execute(&sql, [])?;
            }
            Ok(())
        }
        Edit::Relink => TABLES[..CHAINS].iter().try_for_each(|table| relink(conn, table)),
        Edit::Write(..) | Edit::Fill(..) | Edit::Cut(_) => Ok(()),
    }
}

fn key_of(table: &str) -> &'static str {
    match table {
        "chains" => "name",
        "contents" => "release_id",
        _ => "id",
    }
}

fn columns(conn: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let statement = conn.prepare(&format!("SELECT * FROM {table}"))?;
    Ok(statement.column_names().map(str::to_owned).collect())
}

/// Makes the links of a chain anew, by the rule of the ledger's own.
fn relink(conn: &Connection, table: &str) -> rusqlite::Result<()> {
    let seed = "SELECT seed FROM chains WHERE name = ?1";
    let mut link: Vec<u8> = conn.query_row(seed, [table], |row| row.get(0))?;
    let mut links: Vec<(i64, Vec<u8>)> = Vec::new();
    let mut statement = conn.prepare(&format!("SELECT * FROM {table} ORDER BY id"))?;
    let values = statement.column_count() - 1;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&link);
        for at in 0..values {
            let number;
            let (kind, bytes) = match row.get_ref(at)? {
                ValueRef::Integer(value) => {
                    number = value.to_le_bytes();
                    (1, number.as_slice())
                }
                ValueRef::Text(text) => (3, text),
                ValueRef::Blob(bytes) => (4, bytes),
                ValueRef::Null | ValueRef::Real(_) => (0, [].as_slice()),
            };
            hasher.update(&[kind]);
            if kind != 1 {
                hasher.update(&(bytes.len() as u64).to_le_bytes());
            } else {
                hasher.update(&8u64.to_le_bytes());
            }
            hasher.update(bytes);
        }
        link = hasher.finalize().as_bytes().to_vec();
        links.push((row.get(0)?, link.clone()));
    }
    drop(rows);
    for (id, link) in &links {
        let sql = format!("UPDATE {table} SET link = ?2 WHERE id = ?1");
        conn.execute(&sql, rusqlite::params![id, link])?;
    }
    let end = "UPDATE chains SET rows = ?2, link = ?3 WHERE name = ?1";
    conn.execute(end, rusqlite::params![table, links.len() as i64, link]).map(drop)
}

/// Changes the ledger as an input says, and takes all steps with it that need no data.
///
/// # Panics
/// Where a changed ledger gives more than the whole one.
pub(crate) fn run(input: &[u8]) -> Reaction {
    let Ok(folder) = folder() else { return Reaction::default() };
    let path = folder.path().join("a.ledger");
    let Ok(relinked) = change(&path, &Rest(input).edits()) else { return Reaction::default() };
    let names = |text: String| Reaction::of(&text.replace(&path.display().to_string(), ""));
    let checked = match check(&path) {
        Ok(Inspection { problems, .. }) => problems.first().cloned().unwrap_or_default(),
        Err(error) => fault(&error, &path),
    };
    let reaction = names(checked).and(Reaction::of(&is_ledger(&path).to_string()));
    let looked = match Location::file(&path).open_read_only(populations()) {
        Ok(Some(ledger)) => state(ledger.as_ref(), relinked),
        Ok(None) => "no file".to_owned(),
        Err(error) => fault(&error, &path),
    };
    let asked = match Location::file(&path).open(populations()) {
        Ok(mut ledger) => charges(ledger.as_mut(), relinked),
        Err(error) => vec![fault(&error, &path)],
    };
    asked.into_iter().fold(reaction.and(names(looked)), |reaction, text| reaction.and(names(text)))
}

/// The words of an error, which name the file.
fn fault(error: &LedgerError, path: &Path) -> String {
    let text = error.to_string();
    let path: PathBuf = path.to_owned();
    assert!(text.contains(&path.display().to_string()), "an error without its file: {text}");
    text
}

/// The state of a ledger that could be opened. Nobody has less spent by changing it.
fn state(ledger: &dyn Ledger, relinked: bool) -> String {
    let account = match ledger.account("ana", "visits", epsilon("1")) {
        Ok(account) => account,
        Err(error) => return error.to_string(),
    };
    assert!(relinked || !account.admits(epsilon("1e-9")), "a larger budget: {account:?}");
    match ledger.charges() {
        Ok(charges) => {
            assert!(relinked || charges.len() >= usize::from(PAID), "{charges:?}");
            "charges".to_owned()
        }
        Err(error) => error.to_string(),
    }
}

/// The outcomes of a new question, of one with a release, and of those that are paid for.
fn charges(ledger: &mut dyn Ledger, relinked: bool) -> Vec<String> {
    let mut outcomes = vec![state(ledger, relinked)];
    for question in [99, RECORDED, BEGUN, PAID] {
        let cost = if question == 99 { "1e-9" } else { "0.1" };
        let paid = ledger.charge_all(&[request(question, cost)]);
        outcomes.push(match paid.map(|mut paid| paid.pop()) {
            Ok(Some(PaymentOutcome::Stored(stored))) => {
                assert!(relinked || stored.release == release(question), "{stored:?}");
                "stored".to_owned()
            }
            Ok(Some(PaymentOutcome::Charged(payment))) => {
                assert!(relinked || !payment.is_new(), "charged beyond the budget: {question}");
                match ledger.begin(&payment, &[]) {
                    Ok(Outcome::Charged(_)) => "begun".to_owned(),
                    Ok(Outcome::Stored(_)) => "stored since".to_owned(),
                    Err(error) => error.to_string(),
                }
            }
            Ok(None) => "nothing".to_owned(),
            Err(error) => error.to_string(),
        });
    }
    outcomes
}

/// Changes of every kind.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = vec![Vec::new()];
    for table in 0..TABLES.len() as u8 {
        for end in [b"".as_slice(), b"l"] {
            all.extend([b'd', b'c', b'x'].map(|kind| [&[kind, table, 1], end].concat()));
        }
    }
    let value = |column: u8, cell: &[u8]| [b"s\x00\x04", [column].as_slice(), cell, b"l"].concat();
    all.extend([
        value(6, b"T\x03rho"),
        value(7, b"I\0\0\0\0\0\0\0\x01"),
        value(10, b"I\xff\xff\xff\xff\xff\xff\xff\xff"),
        value(11, b"T\x02[]"),
        value(11, b"T\x16[{\"Rho\":\"999999999999\"}"),
        value(12, b"T\x02{}"),
        value(3, b"T\x05other"),
        value(5, b"B\x02ab"),
        b"s\x01\x00\x02I\x15\0\0\0\0\0\0\0l".to_vec(),
        b"s\x04\x01\x02I\x00\0\0\0\0\0\0\0".to_vec(),
        b"w\x00\x00\x00\x04SQL ".to_vec(),
        // The version of the write-ahead log, of the schema, and the application's id.
        b"w\x12\x00\x00\x02\x02\x02".to_vec(),
        b"w\x3c\x00\x00\x04\x00\x00\x00\x07".to_vec(),
        b"w\x44\x00\x00\x04\x00\x00\x00\x00".to_vec(),
        b"e\x00\x20\x00".to_vec(),
        b"e\x10\x00\x00".to_vec(),
        b"e\x00\x00\x00".to_vec(),
    ]);
    all.extend(
        (0..12).flat_map(|page| [0x00, 0x0a, 0x0d, 0xff].map(|with| vec![b'f', page, with])),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without changes all is in order; with its links made anew, too; and a changed row is found.
    #[test]
    fn edits_change_what_they_say() {
        let whole = run(b"");
        assert_eq!(run(b"l"), whole);
        assert_ne!(run(b"d\x00\x05"), whole);
        // The last charge is gone, which links that were made anew hide: the budget is larger.
        assert_ne!(run(b"d\x00\x05l"), run(b"d\x00\x05"));
        let text = format!("{whole:?}");
        assert!(text.contains("stored") && text.contains("begun"), "{text}");
    }
}
