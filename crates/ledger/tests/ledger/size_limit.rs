//! Writes that really fail, or kill the process, at a given size of file: the nearest thing to a
//! full disk that needs no disk of its own, and works as root.

use std::path::Path;

use hushtable_ledger::{ChargeState, LedgerError, Outcome, Release};
use nix::sys::resource::{Resource, setrlimit};

use crate::support::{
    ChargeOne, answer, as_child, assert_sound, child, loss, new_ledger, open, open_read_only, pay,
    release, request, said, say, spent, visits,
};

const LIMIT: &str = "epsilon 1000";
const LIMIT_IN_BYTES: &str = "HUSHTABLE_LEDGER_TEST_LIMIT_IN_BYTES";
const COST: &str = "epsilon 0.001";

/// Charges and records, with queries long enough to need new pages, until that fails.
fn work_until_failure(path: &Path) {
    let mut ledger = open(&path, visits()).unwrap();
    // From here on, as a ledger is not opened under a limit.
    let bytes = std::env::var(LIMIT_IN_BYTES).unwrap().parse().unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, bytes, bytes).unwrap();
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
        let drawn = match ledger.draw(charge.open(), Vec::new(), 20_000) {
            Ok(drawn) => drawn,
            Err(error) => return fail(&error),
        };
        if let Err(error) = ledger.record(drawn, &long(id)) {
            say("lost", id);
            return fail(&error);
        }
        say("recorded", id);
    }
}

/// A release that takes most of its room.
fn long(charge: i64) -> Release {
    Release { table: vec![charge as u8; 12_000], ..release(charge) }
}

fn fail(error: &LedgerError) {
    // SQLite turns EFBIG into an I/O error; of ENOSPC it would be "full".
    let reason = match error {
        LedgerError::Unrecorded { reason, .. } | LedgerError::Undrawn { reason, .. } => reason,
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
    for blocks in (150..=420).step_by(5) {
        let (_folder, path, mut ledger) = new_ledger();
        let first = pay(&mut *ledger, &request(1000, COST, LIMIT));
        answer(&mut *ledger, first, &release(1));
        drop(ledger);
        let shell = format!("{shell} ulimit -c 0;");
        let bytes = (blocks * 512).to_string();
        let output = child(test, &path, &shell).env(LIMIT_IN_BYTES, bytes).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(said(&text, "surprised").is_empty(), "{errors}");
        let lost = said(&text, "lost");
        assert!(lost.is_empty(), "there was room for release {lost:?} at {blocks}: {errors}");
        reached += usize::from(!said(&text, "failed").is_empty() || !output.status.success());

        let mut ledger = open(&path, visits()).unwrap();
        let record = ledger.charges().unwrap();
        for id in said(&text, "charged") {
            assert!(record.iter().any(|charge| charge.id == id), "charge {id} lost at {blocks}");
        }
        for id in said(&text, "recorded") {
            let mut all = record.iter();
            let kept = all.any(|c| c.id == id && c.state == ChargeState::Recorded);
            assert!(kept, "release {id} lost at {blocks}");
        }
        // A failure may cost one charge that no message named, and never more.
        let announced = said(&text, "charged").len() + 1;
        assert!(
            (announced..=announced + 1).contains(&record.len()),
            "{announced} announced, {} kept",
            record.len()
        );
        charges += record.len();
        let mut sum = loss("epsilon 0");
        for charge in &record {
            sum = sum.plus(charge.charged).unwrap();
        }
        assert_eq!(spent(&*ledger, LIMIT), sum);
        assert_sound(&path);
        // And the rest of the budget is usable.
        let charge = pay(&mut *ledger, &request(2000, COST, LIMIT));
        let id = charge.id();
        answer(&mut *ledger, charge, &release(id));
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

#[test]
fn a_ledger_is_not_opened_for_charging_under_a_limit_on_files() {
    if let Some(path) = as_child() {
        setrlimit(Resource::RLIMIT_FSIZE, 1 << 30, 1 << 30).unwrap();
        let error = open(&path, visits()).unwrap_err().to_string();
        insta::assert_snapshot!(error.replace(path.to_str().unwrap(), "ledger.sqlite"), @"
        cannot charge with the ledger `ledger.sqlite`: this process may write files of at most \
            1073741824 bytes, so that an answer could be paid for and not be recorded
          hint: run it without a limit on the size of files: `ulimit -f unlimited`
        ");
        assert!(open_read_only(&path, visits()).unwrap().is_some());
        return say("refused", 0);
    }
    let (_folder, path, _ledger) = new_ledger();
    let test = "size_limit::a_ledger_is_not_opened_for_charging_under_a_limit_on_files";
    let output = child(test, &path, "").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said(&text, "refused"), [0], "{text}");
}
