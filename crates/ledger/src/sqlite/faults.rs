//! Failing files make an error, and never a charge. These tests reach inside, for
//! faults that cannot be had from outside as root.

use std::time::Duration;

use hushtable_privacy::Loss;
use rusqlite::OpenFlags;
use tempfile::TempDir;

use super::*;
use crate::protocol::Protocol;
use crate::records::LedgerRecords;
use crate::{
    Charge, DrawnCharge, Fingerprint, Ledger, NamedPopulation, Outcome, PaymentOutcome,
    Populations, Request, Units,
};

type FileLedger = Protocol<SqliteStore>;

fn open(path: &Path, populations: Populations) -> Result<FileLedger, LedgerError> {
    Protocol::open(SqliteStore::open(path)?, populations)
}

fn open_read_only(
    path: &Path,
    populations: Populations,
) -> Result<Option<FileLedger>, LedgerError> {
    let store = SqliteStore::open_read_only(path)?;
    store.map(|store| Protocol::open(store, populations)).transpose()
}

fn epsilon(text: &str) -> Loss {
    Loss::pure(text.parse().unwrap())
}

fn request(question: u32, cost: &str) -> Request {
    let mut fingerprint = [0; 32];
    fingerprint[..4].copy_from_slice(&question.to_le_bytes());
    Request {
        analyst: "alice".to_owned(),
        population: "visits".to_owned(),
        query: format!("SELECT {question}"),
        fingerprint: Fingerprint::new(fingerprint),
        family: Fingerprint::new([0; 32]),
        loss: epsilon(cost),
        events: vec![epsilon(cost).into()],
        limit: epsilon("1"),
    }
}

/// The populations of a contract that has visits by their customers, and staff.
fn visits() -> Populations {
    let population = |(name, unit): (&str, &str)| {
        let units = Units([(name.to_owned(), unit.to_owned())].into());
        let section = format!("[tables.{name}]");
        (name.to_owned(), NamedPopulation { units, formerly: Vec::new(), section })
    };
    let all = [("visits", "visits.customer"), ("staff", "staff.id"), ("Staff", "Staff.id")];
    Populations::new(all.map(population).into(), [])
}

/// Pays for one question and begins it, or gives its release.
trait ChargeOne {
    fn charge(&mut self, request: &Request) -> Result<Outcome, LedgerError>;
}

impl<L: Ledger + ?Sized> ChargeOne for L {
    fn charge(&mut self, request: &Request) -> Result<Outcome, LedgerError> {
        match self.charge_all(std::slice::from_ref(request))?.remove(0) {
            PaymentOutcome::Stored(stored) => Ok(Outcome::Stored(stored)),
            PaymentOutcome::Charged(payment) => self.begin(&payment, &[]),
        }
    }
}

fn pay(ledger: &mut FileLedger, question: u32, cost: &str) -> Charge {
    match ledger.charge(&request(question, cost)).unwrap() {
        Outcome::Charged(charge) => charge,
        Outcome::Stored(stored) => panic!("{stored:?}"),
    }
}

fn draw(ledger: &mut FileLedger, charge: Charge) -> DrawnCharge {
    ledger.draw(charge.open(), Vec::new(), 0).unwrap()
}

fn release(size: usize) -> Release {
    Release { table: vec![7; size], statement: "promise".to_owned() }
}

fn spent(ledger: &FileLedger) -> Loss {
    ledger.account("alice", "visits", epsilon("1")).unwrap().spent
}

fn new_ledger() -> (TempDir, PathBuf, FileLedger) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let ledger = open(&path, visits()).unwrap();
    (folder, path, ledger)
}

/// A ledger on a connection of the test's own.
fn on(conn: Connection, path: &Path) -> FileLedger {
    let (path, real) = (path.to_owned(), path.to_owned());
    Protocol::unread(SqliteStore { conn, path, real, created: false }, visits())
}

#[test]
fn settings_on_which_durability_rests_are_in_force() {
    let (_folder, _path, ledger) = new_ledger();
    let get = |name| ledger.store.conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    assert_eq!(get("synchronous").unwrap(), 3);
    assert_eq!(get("foreign_keys").unwrap(), 1);
    assert_eq!(get("fullfsync").unwrap(), 1);
    let mode: String =
        ledger.store.conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete");
}

#[test]
fn a_setting_that_sqlite_cannot_make_is_an_error() {
    // In memory there is no rollback journal on disk, and SQLite says so only when asked.
    let conn = Connection::open_in_memory().unwrap();
    let error = file::make_durable(&conn, Path::new("ledger.sqlite")).unwrap_err();
    insta::assert_snapshot!(error, @"
    cannot write the ledger `ledger.sqlite` safely: SQLite's journal_mode is `memory` and \
                                     must be `delete`
      hint: close other programs that have the file open, and keep the file on a local disk
    ");
}

#[test]
fn a_read_only_connection_charges_nothing() {
    let (_folder, path, mut ledger) = new_ledger();
    let _charge = pay(&mut ledger, 1, "0.25");
    let conn = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut read_only = on(conn, Path::new("ledger.sqlite"));
    let error = read_only.charge(&request(2, "0.25")).unwrap_err();
    insta::assert_snapshot!(error, @"
    cannot write the ledger `ledger.sqlite`: attempt to write a readonly database
      hint: give this program write access to the ledger and to its folder, \
                                     on a disk that is not read-only
    ");
    assert_eq!(spent(&read_only), epsilon("0.25"));
}

#[test]
fn a_full_disk_charges_nothing_and_the_rest_of_the_budget_stays_usable() {
    let (_folder, path, mut ledger) = new_ledger();
    let charge = pay(&mut ledger, 1, "0.25");
    let charge = draw(&mut ledger, charge);
    let pages: i64 =
        ledger.store.conn.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    ledger.store.conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();

    let mut long = request(2, "0.25");
    long.query = "x".repeat(100_000);
    assert!(matches!(ledger.charge(&long), Err(LedgerError::Full { .. })));
    let error = ledger.record(charge, &release(100_000)).unwrap_err().to_string();
    insta::assert_snapshot!(error.replace(path.to_str().unwrap(), "ledger.sqlite"), @"
    the release of charge 1 is lost, and its loss stays spent: \
        cannot write the ledger `ledger.sqlite`: the disk is full
      hint: free some space on it, then ask again
    ");
    assert_eq!(ledger.charges().unwrap().len(), 1);
    assert_eq!(spent(&ledger), epsilon("0.25"));
    assert!(ledger.stored("alice", "visits", &request(1, "1").fingerprint).unwrap().is_none());

    drop(ledger);
    let mut ledger = open(&path, visits()).unwrap();
    assert_eq!(pay(&mut ledger, 2, "0.75").id(), 2);
    assert_eq!(spent(&ledger), epsilon("1"));
}

#[test]
fn a_locked_file_is_an_error_after_the_wait() {
    let (_folder, path, mut ledger) = new_ledger();
    let other = open(&path, visits()).unwrap();
    other.store.conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    ledger.store.conn.busy_timeout(Duration::from_millis(50)).unwrap();
    ledger.store.path = PathBuf::from("ledger.sqlite");
    let error = ledger.charge(&request(1, "0.25")).unwrap_err();
    insta::assert_snapshot!(error, @r#"
    the ledger `ledger.sqlite` is in use: another program has kept it locked for 10 seconds
      hint: try again when the other query has finished
    "#);
    other.store.conn.execute_batch("ROLLBACK").unwrap();
    let _charge = pay(&mut ledger, 1, "0.25");
}

#[test]
fn a_reader_that_holds_up_the_commit_leaves_no_charge_behind() {
    let (_folder, path, mut ledger) = new_ledger();
    let other = open(&path, visits()).unwrap();
    other.store.conn.execute_batch("BEGIN; SELECT * FROM charges").unwrap();
    ledger.store.conn.busy_timeout(Duration::from_millis(50)).unwrap();
    // The lock is refused at COMMIT only, when the row is already inserted.
    assert!(matches!(ledger.charge(&request(1, "0.25")), Err(LedgerError::Busy { .. })));
    other.store.conn.execute_batch("ROLLBACK").unwrap();
    assert_eq!(spent(&ledger), epsilon("0"));
    assert_eq!(pay(&mut ledger, 1, "0.25").id(), 1);
}

/// Someone who can read the file holds a lock from before the charge's release is recorded until
/// the ledger says that it waits, which is after the first try has failed.
#[test]
fn a_reader_that_holds_up_a_release_does_not_lose_it() {
    let (_folder, path, mut ledger) = new_ledger();
    let charge = pay(&mut ledger, 1, "0.25");
    let charge = draw(&mut ledger, charge);
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM charges").unwrap();
    let (notify, notices) = std::sync::mpsc::channel();
    let mut ledger = ledger;
    ledger.tell(Box::new(move |notice| notify.send(notice.to_string()).unwrap()));
    ledger.store.conn.busy_timeout(Duration::from_millis(50)).unwrap();
    std::thread::scope(|scope| {
        let recording = scope.spawn(|| {
            ledger.record(charge, &release(10)).unwrap();
            ledger
        });
        let notice = notices.recv().unwrap();
        // One more round at least, and nothing is said again.
        std::thread::sleep(Duration::from_millis(120));
        reader.execute_batch("ROLLBACK").unwrap();
        let ledger = recording.join().unwrap();
        let stored = ledger.stored("alice", "visits", &request(1, "0.25").fingerprint).unwrap();
        assert_eq!(stored.unwrap().release, release(10));
        let notice = notice.replace(path.to_str().unwrap(), "ledger.sqlite");
        insta::assert_snapshot!(notice, @"
        waiting for the ledger `ledger.sqlite`, which another program keeps locked: \
            the answer that charge 1 has paid for is recorded and shown as soon as the lock is gone
          hint: end the program that has the ledger open; whoever ends this one loses the answer, \
                and its loss stays spent
        ");
    });
    assert!(notices.try_recv().is_err(), "told twice");
}

/// A release is copied to a further account when nobody is at work on that account's charge.
#[test]
fn a_copy_waits_for_whoever_is_at_work() {
    let (_folder, path, mut ledger) = new_ledger();
    let staff = Request { population: "staff".to_owned(), ..request(1, "0.25") };
    let PaymentOutcome::Charged(payment) = ledger.charge_all(&[staff]).unwrap().remove(0) else {
        panic!()
    };
    let mut other = open(&path, visits()).unwrap();
    let Outcome::Charged(begun) = other.begin(&payment, &[]).unwrap() else { panic!() };
    let (notify, notices) = std::sync::mpsc::channel();
    ledger.tell(Box::new(move |notice| notify.send(notice.to_string()).unwrap()));
    let release = release(10);
    std::thread::scope(|scope| {
        let copying = scope.spawn(|| ledger.copy(std::slice::from_ref(&payment), &release));
        let notice = notices.recv().unwrap();
        assert!(notice.contains("charge 1"), "{notice}");
        assert_eq!(other.charges().unwrap()[0].state, crate::ChargeState::Charged);
        drop(begun);
        copying.join().unwrap().unwrap();
    });
    let stored = other.stored("alice", "staff", &request(1, "0.25").fingerprint).unwrap();
    assert_eq!(stored.unwrap().release, release);
}

/// The journal holds what the ledger holds, and is there for the time of a commit.
#[cfg(unix)]
#[test]
fn journals_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path, ledger) = new_ledger();
    ledger.store.conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    let charge = request(1, "0.25");
    let rows = SqliteRows { conn: &ledger.store.conn, path: &path, real: &path };
    LedgerRecords(&rows).add_charge(&charge, &Units::default(), charge.loss).unwrap();
    let journal = PathBuf::from(format!("{}-journal", path.display()));
    for file in [&path, &journal] {
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}: {mode:o}", file.display());
    }
}

#[test]
fn a_write_ahead_log_left_by_another_program_is_turned_off() {
    let (_folder, path, ledger) = new_ledger();
    let wal =
        ledger.store.conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
    assert_eq!(wal, Ok("wal".to_owned()));
    assert_eq!(ledger.charges().unwrap(), []);
    // Not while that program has the file open.
    let kept = open(&path, visits());
    assert!(
        matches!(kept, Err(LedgerError::Busy { .. } | LedgerError::Setting { .. })),
        "{kept:?}"
    );
    drop(ledger);
    let mut ledger = open(&path, visits()).unwrap();
    let _charge = pay(&mut ledger, 1, "0.25");
    assert!(!path.with_extension("sqlite-wal").exists());
}

#[test]
fn a_ledger_opened_for_looking_refuses_to_charge() {
    let (_folder, path, ledger) = new_ledger();
    let mut look = open_read_only(&path, visits()).unwrap().unwrap();
    let charge = look.charge(&request(1, "0.25"));
    assert!(matches!(charge, Err(LedgerError::ReadOnly { .. })), "{charge:?}");
    assert_eq!(ledger.charges().unwrap(), []);
}

mod damage;
