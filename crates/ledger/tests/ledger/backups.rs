//! Copies of a ledger, and checks of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use hushtable_ledger::{LedgerError, backup, check};
use insta::assert_snapshot;

use crate::support::{
    answer, as_child, child, loss, new_ledger, open, open_read_only, pay, release, request, said,
    say, spent, visits,
};

const LIMIT: &str = "epsilon 1000";

/// Charges and records until killed.
fn work(path: &std::path::Path) {
    let mut ledger = open(&path, visits()).unwrap();
    for question in 1.. {
        let mut asked = request(question, "epsilon 0.001", LIMIT);
        asked.query = "x".repeat(3000);
        let charge = pay(&mut *ledger, &asked);
        let id = charge.id();
        answer(&mut *ledger, charge, &release(id));
        say("recorded", id);
        // As a query would: without a pause, SQLite's locks leave readers hardly a moment.
        thread::sleep(Duration::from_millis(5));
    }
}

/// Each copy is in order, and holds what was recorded before it and no half of what came after.
#[test]
fn copies_made_while_another_process_writes_are_whole() {
    if let Some(path) = as_child() {
        return work(&path);
    }
    let (folder, path, ledger) = new_ledger();
    let test = "backups::copies_made_while_another_process_writes_are_whole";
    let mut worker = child(test, &path, "").stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(worker.stdout.take().unwrap());
    let mut output = String::new();
    let mut copies = Vec::new();
    while copies.len() < 12 {
        assert_ne!(out.read_line(&mut output).unwrap(), 0, "the child ended: {output}");
        let recorded = said(&output, "recorded").len();
        if recorded > copies.len() * 3 {
            let copy = folder.path().join(format!("copy{}", copies.len()));
            let found = backup(&path, &copy).unwrap();
            assert!(found.problems.is_empty(), "{found:?}");
            assert!(found.releases >= recorded && found.charges <= found.releases + 1, "{found:?}");
            copies.push(copy);
        }
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    let all = ledger.charges().unwrap();
    let mut before = 0;
    for copy in copies {
        let ledger = open_read_only(&copy, visits()).unwrap().unwrap();
        let charges = ledger.charges().unwrap();
        assert!(charges.len() >= before, "{} charges after {before}", charges.len());
        before = charges.len();
        for (copied, charge) in charges.iter().zip(&all) {
            assert_eq!((copied.id, &copied.query), (charge.id, &charge.query));
            assert_eq!(copied.charged_at, charge.charged_at);
        }
        // A copy is a ledger like any other.
        assert_eq!(check(&copy).unwrap().charges, charges.len());
        let mut restored = open(&copy, visits()).unwrap();
        let next = pay(&mut *restored, &request(1_000_000, "epsilon 0.001", LIMIT));
        assert_eq!(next.id(), charges.len() as i64 + 1);
    }
}

#[test]
fn a_backup_replaces_nothing() {
    let (folder, path, mut ledger) = new_ledger();
    let charge = pay(&mut *ledger, &request(1, "epsilon 1", LIMIT));
    answer(&mut *ledger, charge, &release(1));
    let taken = folder.path().join("taken");
    fs::write(&taken, "mine").unwrap();
    let text =
        |error: LedgerError| error.to_string().replace(folder.path().to_str().unwrap(), "FOLDER");
    assert_snapshot!(text(backup(&path, &taken).unwrap_err()), @"
    `FOLDER/taken` exists already, and a backup replaces nothing
      hint: give another name, such as one with today's date
    ");
    assert_eq!(fs::read(&taken).unwrap(), b"mine");
    assert!(matches!(backup(&path, &path), Err(LedgerError::Exists { .. })));
    assert!(matches!(backup(&path, folder.path()), Err(LedgerError::Exists { .. })));
    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("nowhere"), &link).unwrap();
        assert!(matches!(backup(&path, &link), Err(LedgerError::Exists { .. })));
        fs::remove_file(link).unwrap();
    }
    assert_snapshot!(text(backup(&path, &folder.path().join("no/such")).unwrap_err()), @"
    cannot write the backup `FOLDER/no/such`: entity not found
      hint: check that the folder exists and is writable, and that its disk has room
    ");
    let missing = folder.path().join("missing");
    assert_snapshot!(text(backup(&missing, &folder.path().join("copy")).unwrap_err()), @"
    there is no ledger `FOLDER/missing`
      hint: ask a query, whose charge creates the ledger; if there were charges before, \
            restore it from a backup
    ");
    assert_snapshot!(text(check(&missing).unwrap_err()), @"
    there is no ledger `FOLDER/missing`
      hint: ask a query, whose charge creates the ledger; if there were charges before, \
            restore it from a backup
    ");
    // Nothing is left over.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    let copy = folder.path().join("copy");
    let found = backup(&path, &copy).unwrap();
    assert_eq!((found.path, found.charges, found.releases), (copy.clone(), 1, 1));
    let copied = open(&copy, visits()).unwrap();
    assert_eq!(spent(&*copied, LIMIT), loss("epsilon 1"));
    let fingerprint = request(1, "epsilon 1", LIMIT).fingerprint;
    let stored = copied.stored("alice", "visits", &fingerprint).unwrap().unwrap();
    assert_eq!(stored.release, release(1));
}

#[test]
fn a_damaged_ledger_is_not_copied() {
    let (folder, path, mut ledger) = new_ledger();
    for question in 0..20 {
        let mut asked = request(question, "epsilon 1", LIMIT);
        asked.query = "x".repeat(1000);
        let _charge = pay(&mut *ledger, &asked);
    }
    drop(ledger);
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 4096..].fill(0);
    fs::write(&path, bytes).unwrap();
    let copy = folder.path().join("copy");
    let error = backup(&path, &copy).unwrap_err();
    assert!(matches!(error, LedgerError::Damaged { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(!check(&path).unwrap().problems.is_empty());
}
