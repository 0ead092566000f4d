//! Files that were tampered with, overwritten, or left half-written.

use std::fs;

use super::*;

#[test]
fn rows_cannot_be_changed_replaced_or_wrong() {
    let (_folder, _path, mut ledger) = new_ledger();
    for question in [1, 2] {
        let charge = pay(&mut ledger, question, "0.25");
        let charge = draw(&mut ledger, charge);
        ledger.record(charge, &release(10)).unwrap();
    }
    let PaymentOutcome::Charged(paid) = ledger.charge_all(&[request(3, "0.25")]).unwrap().remove(0)
    else {
        panic!()
    };
    let _charge = ledger.begin(&paid, &[]).unwrap();
    let charge = |id: &str, blob: &str, asked: &str, charged: &str, delta: &str| {
        format!(
            "INSERT INTO charges VALUES
             ({id},'t','a','b','q',{blob},{asked},{charged},{delta},'[]','{{}}',zeroblob(32),
             zeroblob(32))"
        )
    };
    let (blob, one) = ("zeroblob(32)", "'epsilon', 1");
    let release = |values: &str| {
        format!("INSERT INTO releases VALUES ({values},'t',zeroblob(32),zeroblob(32))")
    };
    let attempt = |values: &str| format!("INSERT INTO attempts VALUES ({values},'t',zeroblob(32))");
    let draw_row = |values: &str| format!("INSERT INTO draws VALUES ({values},'t',zeroblob(32))");
    let replaced = |insert: String| insert.replace("INSERT", "REPLACE");
    for (statement, reason) in [
        ("UPDATE charges SET asked_amount = 0".to_owned(), "never changed"),
        ("DELETE FROM charges WHERE id = 3".to_owned(), "never deleted"),
        (replaced(charge("1", blob, one, one, "0")), "never replaced"),
        ("UPDATE releases SET charge_id = 3".to_owned(), "never changed"),
        ("DELETE FROM releases".to_owned(), "never deleted"),
        (replaced(release("1, 3")), "never replaced"),
        (release("NULL, 99"), "FOREIGN KEY"),
        ("UPDATE contents SET table_bytes = x'00'".to_owned(), "never changed"),
        ("DELETE FROM contents".to_owned(), "never deleted"),
        ("REPLACE INTO contents VALUES (1, 's', x'00')".to_owned(), "never replaced"),
        ("INSERT INTO contents VALUES (9, 's', x'00')".to_owned(), "FOREIGN KEY"),
        ("UPDATE attempts SET attempt = 2".to_owned(), "never changed"),
        ("DELETE FROM attempts".to_owned(), "never deleted"),
        (replaced(attempt("1, 3, 2")), "never replaced"),
        ("UPDATE draws SET charge_id = 3".to_owned(), "never changed"),
        ("DELETE FROM draws".to_owned(), "never deleted"),
        (replaced(draw_row("1, 3")), "never replaced"),
        (draw_row("NULL, 99"), "FOREIGN KEY"),
        (attempt("NULL, 99, 1"), "FOREIGN KEY"),
        (attempt("NULL, 3, 0"), "CHECK"),
        (attempt("NULL, 3, 21"), "CHECK"),
        ("UPDATE chains SET rows = rows - 1".to_owned(), "only grows"),
        ("UPDATE chains SET seed = zeroblob(32), rows = rows + 1".to_owned(), "only grows"),
        ("DELETE FROM chains".to_owned(), "never deleted"),
        ("REPLACE INTO chains SELECT * FROM chains".to_owned(), "never replaced"),
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
        let error = ledger.store.conn.execute_batch(&statement).unwrap_err().to_string();
        assert!(error.contains(reason), "{statement}: {error}");
    }
    assert_eq!(ledger.charges().unwrap().len(), 3);
    // The statements are of the right form: with nothing wrong in them they work.
    for statement in
        [charge("NULL", blob, one, "'rho', 1", "0"), release("NULL, 3"), attempt("NULL, 3, 2")]
            .into_iter()
            .chain([draw_row("NULL, 3")])
    {
        ledger.store.conn.execute_batch(&statement).unwrap();
    }
}

/// Changes rows behind the triggers' back, as a program that writes pages can.
fn tamper(path: &Path, change: &str) {
    let conn = Connection::open(path).unwrap();
    let mut triggers =
        conn.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").unwrap();
    let triggers: Vec<(String, String)> = triggers
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (name, _) in &triggers {
        conn.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    conn.execute_batch(&format!(
        "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; {change}"
    ))
    .unwrap();
    for (_, sql) in &triggers {
        conn.execute_batch(sql).unwrap();
    }
}

/// Five charges: two with a release, one that was begun twice.
fn worked_ledger() -> (TempDir, PathBuf) {
    let (folder, path, mut ledger) = new_ledger();
    for question in [1, 2] {
        let charge = pay(&mut ledger, question, "0.2");
        let charge = draw(&mut ledger, charge);
        ledger.record(charge, &release(10)).unwrap();
    }
    let _unreleased = pay(&mut ledger, 3, "0.2");
    let requests = [request(4, "0.2"), request(5, "0.2")];
    let PaymentOutcome::Charged(paid) = ledger.charge_all(&requests).unwrap().remove(0) else {
        panic!()
    };
    for _ in 0..2 {
        let _stopped = ledger.begin(&paid, &[]).unwrap();
    }
    (folder, path)
}

#[test]
fn rows_that_are_missing_changed_added_or_moved_are_found() {
    let swap = "UPDATE charges SET id = 99 WHERE id = 2; UPDATE charges SET id = 2 WHERE id = 3;
                UPDATE charges SET id = 3 WHERE id = 99";
    let copy = "INSERT INTO charges SELECT 6, charged_at, analyst, table_name, query, fingerprint,
                asked_currency, asked_amount, charged_currency, charged_amount, delta, events,
                units, family, link FROM charges WHERE id = 5";
    let mut findings = String::new();
    for change in [
        "DELETE FROM charges",
        "DELETE FROM charges WHERE id = 1",
        "DELETE FROM charges WHERE id = 3",
        "DELETE FROM charges WHERE id = 5",
        "UPDATE charges SET asked_amount = 0, charged_amount = 0 WHERE id = 4",
        "UPDATE charges SET delta = 1 WHERE id = 5",
        "UPDATE charges SET analyst = 'bob' WHERE id = 1",
        "UPDATE charges SET table_name = 'other' WHERE id = 1",
        "UPDATE charges SET fingerprint = zeroblob(32) WHERE id = 1",
        "UPDATE charges SET events = '[]' WHERE id = 1",
        "UPDATE charges SET units = '{}' WHERE id = 3",
        "UPDATE charges SET link = zeroblob(32) WHERE id = 5",
        swap,
        copy,
        "DELETE FROM attempts WHERE id = 2",
        "UPDATE attempts SET charge_id = 5 WHERE id = 2",
        "DELETE FROM draws",
        "DELETE FROM draws WHERE id = 2",
        "UPDATE draws SET charge_id = 3 WHERE id = 2",
        "DELETE FROM releases WHERE id = 2",
        "UPDATE releases SET charge_id = 3 WHERE id = 2",
        "UPDATE releases SET content = zeroblob(32) WHERE id = 1",
        "DELETE FROM chains WHERE name = 'charges'",
        "UPDATE chains SET rows = 4 WHERE name = 'charges'",
        "UPDATE chains SET rows = 0, link = seed WHERE name = 'attempts'",
        "UPDATE chains SET rows = 0, link = seed WHERE name = 'draws'",
        "UPDATE chains SET link = seed WHERE name = 'releases'",
        "UPDATE chains SET seed = zeroblob(32) WHERE name = 'charges'",
    ] {
        let (_folder, path) = worked_ledger();
        // A connection that has seen the rows, and one that has not.
        let mut seen = open(&path, visits()).unwrap();
        tamper(&path, change);
        for damaged in [open(&path, visits()).err(), open_read_only(&path, visits()).err()] {
            let damaged = damaged.expect(change);
            assert!(matches!(damaged, LedgerError::Damaged { .. }), "{change}: {damaged}");
        }
        let problems = check(&path).unwrap().problems;
        findings += &format!("{change}\n  {}\n", problems.join("\n  "));
        // Rows that were seen stay seen: the budget is used up.
        assert!(seen.charge(&request(9, "0.1")).is_err(), "{change}");
    }
    insta::assert_snapshot!(findings);
}

#[test]
fn a_release_that_was_changed_is_not_shown() {
    for change in [
        "UPDATE contents SET table_bytes = x'00' WHERE release_id = 1",
        "UPDATE contents SET statement = '' WHERE release_id = 1",
        "DELETE FROM contents WHERE release_id = 1",
    ] {
        let (_folder, path) = worked_ledger();
        tamper(&path, change);
        let mut ledger = open(&path, visits()).unwrap();
        let outcome = ledger.charge(&request(1, "0.2"));
        assert!(matches!(outcome, Err(LedgerError::Damaged { .. })), "{change}: {outcome:?}");
        assert!(matches!(ledger.charge(&request(2, "0.2")), Ok(Outcome::Stored(_))));
        assert_eq!(check(&path).unwrap().problems.len(), 1);
    }
}

/// Two draws or releases of one charge, and steps that leave one out, written as this program
/// writes.
#[test]
fn rows_that_do_not_fit_together_are_found() {
    type Write = fn(&LedgerRecords<'_>) -> Result<(), LedgerError>;
    let cases: [(&str, Write); 6] = [
        ("release 3 does not fit", |records| records.add_release(1, &release(3))),
        ("release 3 does not fit", |records| records.add_release(3, &release(3))),
        ("draw 3 does not fit", |records| records.add_draw(1)),
        ("draw 3 does not fit", |records| records.add_draw(5)),
        ("draw 4 does not fit", |records| records.add_draw(4).and_then(|()| records.add_draw(4))),
        ("attempt 6 does not fit", |records| records.add_attempt(4, 5)),
    ];
    for (fault, write) in cases {
        let (_folder, path) = worked_ledger();
        let ledger = open(&path, visits()).unwrap();
        let rows = SqliteRows { conn: &ledger.store.conn, path: &path, real: &path };
        write(&LedgerRecords(&rows)).unwrap();
        let error = open(&path, visits()).unwrap_err().to_string();
        assert!(error.contains(fault), "{fault}: {error}");
    }
}

/// A copy of the last charge with another value, and with links that are right: whoever wrote the
/// value wrote them, too.
#[test]
fn values_that_no_ledger_writes_are_found() {
    for (column, value) in [
        (5, ChainValue::blob([1; 31])),
        (6, ChainValue::text("euro".to_owned())),
        (7, ChainValue::Integer(-1)),
        (9, ChainValue::Integer(1_000_000_000_000_000_001)),
        (10, ChainValue::Integer(1_000_000_000_000_000_000)),
        (12, ChainValue::text("no JSON".to_owned())),
        (13, ChainValue::blob([])),
    ] {
        let (_folder, path) = worked_ledger();
        let ledger = open(&path, visits()).unwrap();
        ledger.store.conn.pragma_update(None, "ignore_check_constraints", true).unwrap();
        let rows = SqliteRows { conn: &ledger.store.conn, path: &path, real: &path };
        let head = rows.head(Chain::Charges).unwrap().unwrap();
        let mut row = Vec::new();
        let copied = rows.after(Chain::Charges, 4, &mut |values| {
            row = values.iter().cloned().map(ChainValue::into_owned).collect();
            Ok(())
        });
        copied.unwrap();
        row[0] = ChainValue::Integer(6);
        row[column] = value.clone();
        let last = row.len() - 1;
        let link = head.link.next(&row[..last]);
        row[last] = ChainValue::blob(link.0);
        rows.append(Chain::Charges, &row, ChainHead { rows: 6, link, ..head }).unwrap();
        let error = open(&path, visits()).unwrap_err().to_string();
        let fault = "charge 6 has a value that no ledger writes";
        assert!(error.contains(fault), "{column}, {value:?}: {error}");
        assert!(check(&path).unwrap().problems.iter().any(|p| p.contains(fault)), "{column}");
    }
}

#[test]
fn an_altered_schema_is_refused() {
    for change in [
        "DROP TRIGGER charges_no_delete",
        "CREATE TRIGGER swallow BEFORE INSERT ON charges BEGIN SELECT RAISE(IGNORE); END",
        "CREATE INDEX charges_by_account ON charges (analyst, table_name)",
        "PRAGMA user_version = 0",
    ] {
        let (_folder, path, ledger) = new_ledger();
        ledger.store.conn.execute_batch(change).unwrap();
        assert!(matches!(open(&path, visits()), Err(LedgerError::Altered { .. })), "{change}");
        let read_only = open_read_only(&path, visits());
        assert!(matches!(read_only, Err(LedgerError::Altered { .. })), "{change}");
    }
    // Statistics are SQLite's own and do no harm.
    let (_folder, path, mut ledger) = new_ledger();
    let _charge = pay(&mut ledger, 1, "0.25");
    ledger.store.conn.execute_batch("ANALYZE").unwrap();
    open(&path, visits()).unwrap();
}

#[test]
fn other_formats_are_refused() {
    let (_folder, path, ledger) = new_ledger();
    for version in [7, 5] {
        ledger.store.conn.pragma_update(None, "user_version", version).unwrap();
        let error = open(&path, visits()).unwrap_err().to_string();
        let error = error.replace(path.to_str().unwrap(), "ledger.sqlite");
        insta::assert_snapshot!(format!("format_{version}"), error);
    }
}

/// Asserts what a damaged file may answer: an error, a refusal, or the release that is on record.
fn assert_nothing_is_given(path: &Path, what: &str) -> Option<LedgerError> {
    let mut ledger = match open(path, visits()) {
        Ok(ledger) => ledger,
        Err(error) => return Some(error),
    };
    let stored = ledger.charge(&request(7, "0.001"));
    match &stored {
        Ok(Outcome::Stored(stored)) => assert_eq!(stored.release, release(500), "{what}"),
        Ok(Outcome::Charged(_)) => panic!("{what}: {stored:?}"),
        Err(_) => {}
    }
    match ledger.charge(&request(99, "0.001")) {
        Ok(outcome) => panic!("{what}: {outcome:?}"),
        Err(error) => Some(error),
    }
}

/// A ledger of many pages whose budget is used up.
fn used_up() -> (TempDir, PathBuf, Vec<u8>, usize) {
    let (folder, path, mut ledger) = new_ledger();
    for question in 1..=40 {
        let mut request = request(question, "0.025");
        request.query = "x".repeat(500);
        let Outcome::Charged(charge) = ledger.charge(&request).unwrap() else { panic!() };
        let charge = draw(&mut ledger, charge);
        ledger.record(charge, &release(500)).unwrap();
    }
    let page: i64 =
        ledger.store.conn.pragma_query_value(None, "page_size", |row| row.get(0)).unwrap();
    drop(ledger);
    let (good, page) = (fs::read(&path).unwrap(), usize::try_from(page).unwrap());
    assert!(good.len() / page > 10, "too few pages to tell");
    (folder, path, good, page)
}

/// Every page in turn overwritten with rubbish of several kinds: an error or a refusal, never a
/// charge.
#[test]
fn no_damaged_page_gives_a_charge() {
    let (_folder, path, good, page) = used_up();
    let (mut errors, mut damaged) = (0, 0);
    for start in (0..good.len()).step_by(page) {
        for fill in [0x00, 0x0a, 0x0d, 0xff] {
            let mut bad = good.clone();
            bad[start..start + page].fill(fill);
            fs::write(&path, &bad).unwrap();
            errors += 1;
            let error = assert_nothing_is_given(&path, &format!("page {start}, {fill:#x}"));
            damaged += usize::from(matches!(error, Some(LedgerError::Damaged { .. })));
        }
        // Cut off here.
        if start > 0 {
            fs::write(&path, &good[..start]).unwrap();
            assert_nothing_is_given(&path, &format!("cut at page {start}"));
        }
    }
    assert!(damaged > 10, "{damaged} of {errors} errors are of damage");
    fs::write(&path, &good).unwrap();
    assert_eq!(spent(&open(&path, visits()).unwrap()), epsilon("1"));
}

/// Pages that are valid, and say that there is nothing: SQLite itself finds nothing wrong with
/// them.
#[test]
fn no_emptied_page_gives_a_charge() {
    let (_folder, path, good, page) = used_up();
    for start in (0..good.len()).step_by(page) {
        // The first page begins with the header of the file.
        let header = start + if start == 0 { 100 } else { 0 };
        for kind in [0x0a, 0x0d] {
            let mut bad = good.clone();
            // No cells, and all of the page free for them.
            let end = u16::try_from(page).unwrap().to_be_bytes();
            bad[header..header + 8].copy_from_slice(&[kind, 0, 0, 0, 0, end[0], end[1], 0]);
            fs::write(&path, &bad).unwrap();
            assert_nothing_is_given(&path, &format!("page {start} emptied"));
        }
    }
}

/// Every tree of the file, with its root on every other page.
#[test]
fn no_moved_root_gives_a_charge() {
    let (_folder, path, good, page) = used_up();
    let conn = Connection::open(&path).unwrap();
    let query = "SELECT group_concat(name) FROM sqlite_schema WHERE rootpage > 0";
    let names: String = conn.query_row(query, [], |row| row.get(0)).unwrap();
    let names: Vec<&str> = names.split(',').collect();
    drop(conn);
    let tables = ["chains", "charges", "attempts", "draws", "releases", "contents", "room"];
    assert_eq!(names, tables, "an index");
    for name in names {
        for root in 2..=good.len() / page {
            fs::write(&path, &good).unwrap();
            let conn = Connection::open(&path).unwrap();
            conn.execute_batch("PRAGMA writable_schema = ON").unwrap();
            let move_root = "UPDATE sqlite_schema SET rootpage = ?1 WHERE name = ?2";
            conn.execute(move_root, (i64::try_from(root).unwrap(), name)).unwrap();
            drop(conn);
            assert_nothing_is_given(&path, &format!("{name} at page {root}"));
        }
    }
}

/// The file and journal as a crash in the middle of a commit leaves them, when half of the pages
/// are in the file already.
#[test]
fn what_a_crash_left_half_written_is_undone_even_by_a_look() {
    let (folder, path, mut ledger) = new_ledger();
    let _charge = pay(&mut ledger, 1, "0.25");
    // One page of cache, so that SQLite writes pages before the commit.
    ledger
        .store
        .conn
        .execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN")
        .unwrap();
    for question in 2..=3 {
        let mut request = request(question, "0.25");
        request.query = "x".repeat(100_000);
        let rows = SqliteRows { conn: &ledger.store.conn, path: &path, real: &path };
        LedgerRecords(&rows).add_charge(&request, &Units::default(), request.loss).unwrap();
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
    let read_only = on(read_only.unwrap(), &crashed);
    let error = read_only.charges().unwrap_err();
    assert!(matches!(error, LedgerError::Interrupted { .. }), "{error}");
    drop(read_only);

    let look = open_read_only(&crashed, visits()).unwrap().unwrap();
    assert_eq!(look.charges().unwrap().len(), 1);
    assert!(!with_journal(&crashed).exists());
    drop(look);

    crash();
    let mut ledger = open(&crashed, visits()).unwrap();
    assert_eq!(pay(&mut ledger, 2, "0.75").id(), 2);
}
