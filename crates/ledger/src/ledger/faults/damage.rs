//! Files that were tampered with, overwritten, or left half-written.

use std::fs;

use super::*;
use crate::Paid;

#[test]
fn rows_cannot_be_changed_replaced_or_wrong() {
    let (_folder, _path, mut ledger) = new_ledger();
    for question in [1, 2] {
        let charge = pay(&mut ledger, question, "0.25").open();
        ledger.record(charge, &release(10)).unwrap();
    }
    let _unreleased = pay(&mut ledger, 3, "0.25");
    let charge = |id: &str, blob: &str, asked: &str, charged: &str, delta: &str| {
        format!(
            "INSERT INTO charges VALUES ({id},'t','a','b','q',{blob},{asked},{charged},{delta})"
        )
    };
    let (blob, one) = ("zeroblob(32)", "'epsilon', 1");
    let release = |values: &str| format!("INSERT INTO releases VALUES ({values},'t','s',x'00')");
    for (statement, reason) in [
        ("UPDATE charges SET asked_amount = 0".to_owned(), "never changed"),
        ("DELETE FROM charges WHERE id = 3".to_owned(), "never deleted"),
        (charge("1", blob, one, one, "0").replace("INSERT", "REPLACE"), "never replaced"),
        ("UPDATE releases SET table_bytes = x'00'".to_owned(), "never changed"),
        ("DELETE FROM releases".to_owned(), "never deleted"),
        (release("9, 1").replace("INSERT", "REPLACE"), "never replaced"),
        (release("1, 3").replace("INSERT", "REPLACE"), "never replaced"),
        (release("NULL, 99"), "FOREIGN KEY"),
        (charge("NULL", "zeroblob(31)", one, one, "0"), "CHECK"),
        (charge("NULL", blob, "'epsilon', -1", "'epsilon', -1", "0"), "CHECK"),
        (charge("NULL", blob, "'euro', 1", "'euro', 1", "0"), "CHECK"),
        (charge("NULL", blob, one, one, "-1"), "CHECK"),
        (charge("NULL", blob, one, one, "1000000000000000000"), "CHECK"),
        (charge("NULL", blob, one, "'epsilon', 0", "0"), "CHECK"),
        (charge("NULL", blob, "'rho', 1", one, "0"), "CHECK"),
        (charge("NULL", blob, "'epsilon', 1000000000000000001", "'rho', 1", "0"), "CHECK"),
        (charge("NULL", blob, "'epsilon', 0.5", "'rho', 1", "0"), "cannot store REAL"),
    ] {
        let error = ledger.conn.execute_batch(&statement).unwrap_err().to_string();
        assert!(error.contains(reason), "{statement}: {error}");
    }
    // The statements are of the right form: with nothing wrong in them they work.
    ledger.conn.execute_batch(&charge("NULL", blob, one, "'rho', 1", "0")).unwrap();
    ledger.conn.execute_batch(&release("NULL, 3")).unwrap();
    assert_eq!(ledger.charges().unwrap().len(), 4);
}

#[test]
fn an_altered_schema_is_refused() {
    for change in [
        "DROP TRIGGER charges_no_delete",
        "CREATE TRIGGER swallow BEFORE INSERT ON charges BEGIN SELECT RAISE(IGNORE); END",
        "DROP INDEX charges_by_account",
        "PRAGMA user_version = 0",
    ] {
        let (_folder, path, ledger) = new_ledger();
        ledger.conn.execute_batch(change).unwrap();
        assert!(matches!(Ledger::open(&path), Err(LedgerError::Altered { .. })), "{change}");
        let read_only = Ledger::open_read_only(&path);
        assert!(matches!(read_only, Err(LedgerError::Altered { .. })), "{change}");
    }
    // Statistics are SQLite's own and do no harm.
    let (_folder, path, mut ledger) = new_ledger();
    let _charge = pay(&mut ledger, 1, "0.25");
    ledger.conn.execute_batch("ANALYZE").unwrap();
    Ledger::open(&path).unwrap();
}

#[test]
fn events_are_never_changed() {
    let (_folder, _path, mut ledger) = new_ledger();
    let _charge = pay(&mut ledger, 1, "0.25");
    for change in [
        "UPDATE events SET events = '[]'",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events VALUES (1, '[]')",
    ] {
        let error = ledger.conn.execute_batch(change).unwrap_err().to_string();
        assert!(error.contains("events are never"), "{error}");
    }
    // A charge of which there is none cannot have events.
    assert!(ledger.conn.execute_batch("INSERT INTO events VALUES (7, '[]')").is_err());
    assert_eq!(ledger.charges().unwrap()[0].events, request(1, "0.25").events);
}

#[test]
fn a_ledger_without_events_keeps_its_charges_and_gets_them() {
    let (_folder, path, mut ledger) = new_ledger();
    let _charge = pay(&mut ledger, 1, "0.25");
    let older = "DROP TABLE attempts; DROP TABLE events; PRAGMA user_version = 1";
    ledger.conn.execute_batch(older).unwrap();
    drop(ledger);
    // Looking changes nothing.
    let before = fs::read(&path).unwrap();
    let read_only = Ledger::open_read_only(&path).unwrap().unwrap();
    let events = request(1, "0.25").loss.into();
    assert_eq!(read_only.charges().unwrap()[0].events, [events]);
    drop(read_only);
    assert_eq!(fs::read(&path).unwrap(), before);

    let mut ledger = Ledger::open(&path).unwrap();
    assert!(!ledger.created());
    let _charge = pay(&mut ledger, 2, "0.75");
    assert!(matches!(ledger.charge(&request(3, "0.25")), Err(LedgerError::Exhausted(_))));
    let charges = ledger.charges().unwrap();
    assert_eq!(charges.len(), 2);
    assert_eq!(charges[0].events, [events]);
    // Half of a change is not taken for a ledger.
    ledger.conn.execute_batch("PRAGMA user_version = 1").unwrap();
    assert!(matches!(Ledger::open(&path), Err(LedgerError::Altered { .. })));
}

#[test]
fn a_ledger_without_attempts_gets_them() {
    let (_folder, path, mut ledger) = new_ledger();
    let _charge = pay(&mut ledger, 1, "0.25");
    ledger.conn.execute_batch("DROP TABLE attempts; PRAGMA user_version = 2").unwrap();
    drop(ledger);
    let before = fs::read(&path).unwrap();
    let read_only = Ledger::open_read_only(&path).unwrap().unwrap();
    assert_eq!(read_only.charges().unwrap().len(), 1);
    let fingerprint = request(1, "0.25").fingerprint;
    assert!(!read_only.is_paid("alice", "visits", &fingerprint).unwrap());
    drop(read_only);
    assert_eq!(fs::read(&path).unwrap(), before);
    let mut ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.charge_all(&[request(2, "0.25")]).unwrap().len(), 1);
    assert_eq!(ledger.charges().unwrap().len(), 2);
}

#[test]
fn attempts_are_never_changed() {
    let (_folder, _path, mut ledger) = new_ledger();
    let Paid::Charged(paid) = ledger.charge_all(&[request(1, "0.25")]).unwrap().remove(0) else {
        panic!()
    };
    let _charge = ledger.begin(&paid).unwrap();
    for change in [
        "UPDATE attempts SET attempt = 0",
        "DELETE FROM attempts",
        "INSERT OR REPLACE INTO attempts VALUES (1, 1, '')",
    ] {
        let error = ledger.conn.execute_batch(change).unwrap_err().to_string();
        assert!(error.contains("an attempt is never"), "{error}");
    }
    for wrong in ["(7, 0, '')", "(1, 21, '')", "(1, -1, '')", "(1, 2, NULL)"] {
        let insert = format!("INSERT INTO attempts VALUES {wrong}");
        assert!(ledger.conn.execute_batch(&insert).is_err(), "{wrong}");
    }
}

#[test]
fn a_later_format_is_refused() {
    let (_folder, path, ledger) = new_ledger();
    ledger.conn.pragma_update(None, "user_version", 4).unwrap();
    let error = Ledger::open(&path).unwrap_err().to_string();
    insta::assert_snapshot!(error.replace(path.to_str().unwrap(), "ledger.sqlite"), @r#"
    the ledger `ledger.sqlite` has format 4, and this version of Hushtable knows formats up to 3
      hint: use the newer version of Hushtable that made it
    "#);
}

/// A budget that is used up, then every page in turn overwritten with rubbish of several kinds:
/// an error or a refusal, never a charge.
#[test]
fn no_damaged_page_gives_a_charge() {
    let (_folder, path, mut ledger) = new_ledger();
    for question in 1..=40 {
        let mut request = request(question, "0.025");
        request.query = "x".repeat(500);
        let Outcome::Charged(charge) = ledger.charge(&request).unwrap() else { panic!() };
        ledger.record(charge.open(), &release(500)).unwrap();
    }
    let page: i64 = ledger.conn.pragma_query_value(None, "page_size", |row| row.get(0)).unwrap();
    drop(ledger);
    let (good, page) = (fs::read(&path).unwrap(), usize::try_from(page).unwrap());
    assert!(good.len() / page > 10, "too few pages to tell");
    let (mut errors, mut damaged) = (0, 0);
    for start in (0..good.len()).step_by(page) {
        for fill in [0x00, 0x0a, 0x0d, 0xff] {
            let mut bad = good.clone();
            bad[start..start + page].fill(fill);
            fs::write(&path, &bad).unwrap();
            match Ledger::open(&path).and_then(|mut ledger| ledger.charge(&request(99, "0.001"))) {
                Err(LedgerError::Damaged { .. }) => (errors, damaged) = (errors + 1, damaged + 1),
                Err(_) => errors += 1,
                Ok(outcome) => panic!("page {}, {fill:#x}: {outcome:?}", start / page),
            }
        }
        // Cut off here.
        if start > 0 {
            fs::write(&path, &good[..start]).unwrap();
            let outcome =
                Ledger::open(&path).and_then(|mut ledger| ledger.charge(&request(99, "0.001")));
            assert!(outcome.is_err(), "cut at page {}: {outcome:?}", start / page);
        }
    }
    assert!(damaged > 10, "{damaged} of {errors} errors are of damage");
    fs::write(&path, &good).unwrap();
    assert_eq!(spent(&Ledger::open(&path).unwrap()), epsilon("1"));
}

/// The file and journal as a crash in the middle of a commit leaves them, when half of the pages
/// are in the file already.
#[test]
fn what_a_crash_left_half_written_is_undone_even_by_a_look() {
    let (folder, path, mut ledger) = new_ledger();
    let _charge = pay(&mut ledger, 1, "0.25");
    // One page of cache, so that SQLite writes pages before the commit.
    ledger.conn.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN").unwrap();
    for question in 2..=3 {
        let mut request = request(question, "0.25");
        request.query = "x".repeat(100_000);
        ledger.records().add_charge(&request, request.loss).unwrap();
    }
    let crashed = folder.path().join("crashed.sqlite");
    let with_journal = |path: &Path| PathBuf::from(format!("{}-journal", path.display()));
    let crash = || {
        fs::copy(&path, &crashed).unwrap();
        fs::copy(with_journal(&path), with_journal(&crashed)).unwrap();
    };
    crash();
    assert!(fs::metadata(&crashed).unwrap().len() > 100_000, "no page was written early");

    // A connection that may not write cannot look, and says why.
    let read_only = Connection::open_with_flags(&crashed, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let read_only = Ledger {
        conn: read_only.unwrap(),
        path: crashed.clone(),
        created: false,
        format: Format::LATEST,
    };
    let error = read_only.charges().unwrap_err();
    assert!(matches!(error, LedgerError::Interrupted { .. }), "{error}");
    drop(read_only);

    let look = Ledger::open_read_only(&crashed).unwrap().unwrap();
    assert_eq!(look.charges().unwrap().len(), 1);
    assert!(!with_journal(&crashed).exists());
    drop(look);

    crash();
    let mut ledger = Ledger::open(&crashed).unwrap();
    assert_eq!(pay(&mut ledger, 2, "0.75").id(), 2);
}
