//! A process that is killed at any moment: what it was told stays true.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use hushtable_ledger::{ChargeState, LedgerError, Outcome};
use hushtable_privacy::Loss;
use hushtable_testkit::Dice;

use crate::support::{
    ChargeOne, answer, as_child, assert_sound, child, loss, new_ledger, open, open_read_only, pay,
    release, request, said, say, spent, visits,
};

const COST: &str = "epsilon 0.001";
/// Number of charges by which the owner raises the budget from one kill to the next, so that the
/// limit is near.
const CHARGES_PER_ROUND: u64 = 12;
const ROUNDS: u64 = 40;
const ROUND: &str = "HUSHTABLE_LEDGER_TEST_ROUND";

fn limit(round: u64) -> String {
    let thousandths = CHARGES_PER_ROUND * round;
    format!("epsilon {}.{:03}", thousandths / 1000, thousandths % 1000)
}

/// Charges and records until killed, or until the budget is used up.
fn work_until_killed(path: &Path) {
    let mut ledger = open(&path, visits()).unwrap();
    let limit = limit(std::env::var(ROUND).unwrap().parse().unwrap());
    let mut question = u64::from(std::process::id()) << 32;
    loop {
        question += 1;
        let charge = match ledger.charge(&request(question, COST, &limit)) {
            Ok(Outcome::Charged(charge)) => charge,
            Err(LedgerError::Exhausted(_)) => return say("exhausted", 0),
            other => panic!("{other:?}"),
        };
        let id = charge.id();
        say("charged", id);
        answer(&mut *ledger, charge, &release(id));
        say("recorded", id);
    }
}

fn epsilon_units(loss: Loss) -> u64 {
    match loss {
        Loss::Approximate { epsilon, .. } => epsilon.units(),
        Loss::Concentrated { .. } => panic!("{loss}"),
    }
}

#[test]
fn kill_9_at_any_moment_loses_nothing_that_was_told() {
    if let Some(path) = as_child() {
        return work_until_killed(&path);
    }
    let (_folder, path, ledger) = new_ledger();
    drop(ledger);
    let (mut charged, mut recorded) = (HashSet::new(), HashSet::new());
    let (mut before, mut interrupted, mut exhausted) = (0, 0, 0);
    // Numerical Recipes' generator: delays must differ, and be the same in each run.
    let mut dice = Dice::new(20_240_607);
    let worker = |round: u64| {
        let mut command =
            child("crash::kill_9_at_any_moment_loses_nothing_that_was_told", &path, "");
        command.env(ROUND, round.to_string());
        command
    };
    for round in 1..=ROUNDS {
        let mut worker = worker(round).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(worker.stdout.take().unwrap());
        // From its first charge or release on, so that the delay falls into the work.
        let first = if round % 2 == 0 { "recorded" } else { "charged" };
        let mut output = String::new();
        while said(&output, first).is_empty() {
            assert_ne!(out.read_line(&mut output).unwrap(), 0, "the child ended: {output}");
        }
        thread::sleep(Duration::from_micros(dice.below(20_000)));
        worker.kill().unwrap();
        worker.wait().unwrap();
        out.read_to_string(&mut output).unwrap();
        charged.extend(said(&output, "charged"));
        recorded.extend(said(&output, "recorded"));
        exhausted += said(&output, "exhausted").len();

        interrupted += usize::from(path.with_extension("sqlite-journal").exists());
        let ledger = open_read_only(&path, visits()).unwrap().unwrap();
        let now = epsilon_units(spent(&*ledger, &limit(round)));
        assert!(now >= before, "spent fell from {before} to {now}");
        assert!(now <= epsilon_units(loss(&limit(round))), "{now} in round {round}");
        before = now;
    }
    // The last one is left alone, and uses up what those before it have left.
    let output = String::from_utf8(worker(ROUNDS).output().unwrap().stdout).unwrap();
    assert_eq!(said(&output, "exhausted"), [0], "{output}");
    charged.extend(said(&output, "charged"));
    recorded.extend(said(&output, "recorded"));
    let ledger = open(&path, visits()).unwrap();
    assert_eq!(spent(&*ledger, &limit(ROUNDS)), loss(&limit(ROUNDS)));

    let charges = ledger.charges().unwrap();
    let kept: HashSet<i64> = charges.iter().map(|charge| charge.id).collect();
    let released: HashSet<i64> = charges
        .iter()
        .filter(|charge| charge.state == ChargeState::Recorded)
        .map(|charge| charge.id)
        .collect();
    assert!(charged.is_subset(&kept), "a charge was lost");
    assert!(recorded.is_subset(&released), "a release was lost");
    assert!(recorded.len() as u64 >= ROUNDS / 2, "hardly any work was done");
    assert_eq!(charges.len() as u64, CHARGES_PER_ROUND * ROUNDS);
    assert_sound(&path);
    let conn = rusqlite::Connection::open(&path).unwrap();
    let (releases, distinct): (i64, i64) = conn
        .query_row("SELECT count(*), count(DISTINCT charge_id) FROM releases", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let expected = released.len() as i64;
    assert_eq!((releases, distinct), (expected, expected));
    eprintln!(
        "{} charges, {} releases, {interrupted} of {ROUNDS} kills left a journal, {exhausted} \
         children came to the limit",
        kept.len(),
        releases
    );
}

const DRAWN: &str = "HUSHTABLE_LEDGER_TEST_DRAWN";

/// Up to the state *drawn* a charge is taken up again; from there on its question is charged anew.
#[test]
fn a_charge_is_taken_up_after_a_crash_unless_it_was_drawn() {
    let asked = request(1, "epsilon 1", "epsilon 2");
    if let Some(path) = as_child() {
        let mut ledger = open(&path, visits()).unwrap();
        let charge = pay(&mut *ledger, &asked);
        let id = charge.id();
        let opened = charge.open();
        let _drawn = match std::env::var_os(DRAWN) {
            Some(_) => (None, Some(ledger.draw(opened, Vec::new(), 0).unwrap())),
            None => (Some(opened), None),
        };
        say("waits", id);
        // Killed here, with the data open and the release not recorded.
        loop {
            thread::sleep(Duration::from_secs(60));
        }
    }
    let (folder, path, mut ledger) = new_ledger();
    for (drawn, id) in [(false, 1), (false, 1), (true, 1), (false, 2), (true, 2)] {
        let test = "crash::a_charge_is_taken_up_after_a_crash_unless_it_was_drawn";
        let mut command = child(test, &path, "");
        if drawn {
            command.env(DRAWN, "1");
        }
        let mut worker = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(worker.stdout.take().unwrap());
        let mut output = String::new();
        while said(&output, "waits").is_empty() {
            assert_ne!(out.read_line(&mut output).unwrap(), 0, "the child ended: {output}");
        }
        worker.kill().unwrap();
        worker.wait().unwrap();
        assert_eq!(said(&output, "waits"), [id]);
        assert!(ledger.stored("alice", "visits", &asked.fingerprint).unwrap().is_none());
        assert_eq!(ledger.charges().unwrap().len() as i64, id);
    }
    assert_eq!(spent(&*ledger, "epsilon 2"), loss("epsilon 2"));
    let states: Vec<ChargeState> = ledger.charges().unwrap().iter().map(|c| c.state).collect();
    assert_eq!(states, [ChargeState::Drawn, ChargeState::Drawn]);
    // Both draws are lost: there is nothing left to pay with, and no release for free.
    assert!(matches!(ledger.charge(&asked), Err(LedgerError::Exhausted(_))));
    // The files of claims that the kills left are few, and empty.
    let left = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap());
    assert!(left.filter(|file| file.file_name() != "ledger.sqlite").count() <= 2);
}
