//! Writes that really fail, or kill the process, at a given size of file: the nearest thing to a
//! full disk that needs no disk of its own, and works as root.

use std::path::Path;

use hushtable_ledger::{Ledger, LedgerError, Outcome};

use crate::support::{
    as_child, assert_sound, child, loss, new_ledger, pay, release, request, said, say, spent,
};

const LIMIT: &str = "epsilon 1000";
const COST: &str = "epsilon 0.001";

/// Charges and records, with queries long enough to need new pages, until that fails.
fn work_until_failure(path: &Path) {
    let mut ledger = match Ledger::open(path) {
        Ok(ledger) => ledger,
        Err(error) => return fail(&error),
    };
    for question in 1..=100 {
        let mut request = request(question, COST, LIMIT);
        request.query = "x".repeat(2500);
        let charge = match ledger.charge(&request) {
            Ok(Outcome::Charged(charge)) => charge,
            Ok(Outcome::Stored(_)) => continue,
            Err(error) => return fail(&error),
        };
        let id = charge.id();
        say("charged", id);
        if let Err(error) = ledger.record(charge.open(), &release(id)) {
            return fail(&error);
        }
        say("recorded", id);
    }
}

fn fail(error: &LedgerError) {
    // SQLite turns EFBIG into an I/O error; of ENOSPC it would be "full".
    let reason = match error {
        LedgerError::Unrecorded { reason, .. } => reason,
        _ => error,
    };
    let known = matches!(reason, LedgerError::Disk { .. } | LedgerError::Full { .. });
    say(if known { "failed" } else { "surprised" }, 0);
    eprintln!("{error}");
}

/// At every size limit, in steps of 512 bytes: `shell` says what happens at the limit. Returns
/// how many times that was reached, and how many charges were made in all.
fn sweep(test: &str, shell: &str) -> (usize, usize) {
    let (mut reached, mut charges) = (0, 0);
    for blocks in (1..=160).step_by(3) {
        let (_folder, path, mut ledger) = new_ledger();
        let first = pay(&mut ledger, &request(1000, COST, LIMIT)).open();
        ledger.record(first, &release(1)).unwrap();
        drop(ledger);
        let shell = format!("{shell} ulimit -c 0; ulimit -f {blocks};");
        let output = child(test, &path, &shell).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(said(&text, "surprised").is_empty(), "{errors}");
        reached += usize::from(!said(&text, "failed").is_empty() || !output.status.success());

        let mut ledger = Ledger::open(&path).unwrap();
        let record = ledger.charges().unwrap();
        for id in said(&text, "charged") {
            assert!(record.iter().any(|charge| charge.id == id), "charge {id} lost at {blocks}");
        }
        for id in said(&text, "recorded") {
            let kept = record.iter().any(|charge| charge.id == id && charge.released);
            assert!(kept, "release {id} lost at {blocks}");
        }
        // A failure may cost one charge that was not told of, and never more.
        let told = said(&text, "charged").len() + 1;
        assert!((told..=told + 1).contains(&record.len()), "{told} told, {} kept", record.len());
        charges += record.len();
        let mut sum = loss("epsilon 0");
        for charge in &record {
            sum = sum.plus(charge.charged).unwrap();
        }
        assert_eq!(spent(&ledger, LIMIT), sum);
        assert_sound(&path);
        // And the rest of the budget is usable.
        let charge = pay(&mut ledger, &request(2000, COST, LIMIT)).open();
        let id = charge.id();
        ledger.record(charge, &release(id)).unwrap();
    }
    (reached, charges)
}

#[test]
fn a_write_that_fails_charges_nothing() {
    if let Some(path) = as_child() {
        return work_until_failure(&path);
    }
    let (reached, charges) =
        sweep("size_limit::a_write_that_fails_charges_nothing", r#"trap "" XFSZ;"#);
    assert!(reached > 20 && charges > 200, "limit reached {reached} times, {charges} charges");
}

#[test]
fn a_write_that_kills_the_process_charges_nothing_untold() {
    if let Some(path) = as_child() {
        return work_until_failure(&path);
    }
    let test = "size_limit::a_write_that_kills_the_process_charges_nothing_untold";
    let (reached, charges) = sweep(test, "");
    assert!(reached > 20 && charges > 200, "limit reached {reached} times, {charges} charges");
}
