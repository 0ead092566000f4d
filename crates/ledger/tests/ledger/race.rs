//! Many at once for the last of a budget.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::sync::Barrier;
use std::thread;

use hushtable_ledger::{Ledger, LedgerError, Outcome};

use crate::support::{as_child, assert_sound, child, loss, new_ledger, request, said, say, spent};

/// Seven tenths are spent already, so that three more fit.
const LIMIT: &str = "epsilon 1";
const RACERS: u64 = 8;

fn race(ledger: &mut Ledger, question: u64) -> bool {
    match ledger.charge(&request(question, "epsilon 0.1", LIMIT)) {
        Ok(Outcome::Charged(_)) => true,
        Err(LedgerError::Exhausted(_)) => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn of_eight_threads_three_win() {
    for _ in 0..5 {
        let (_folder, path, mut ledger) = new_ledger();
        let _charge = ledger.charge(&request(100, "epsilon 0.7", LIMIT)).unwrap();
        let start = Barrier::new(RACERS as usize);
        let wins = thread::scope(|scope| {
            let racers: Vec<_> = (0..RACERS)
                .map(|question| {
                    let mut ledger = Ledger::open(&path).unwrap();
                    let start = &start;
                    scope.spawn(move || {
                        start.wait();
                        race(&mut ledger, question)
                    })
                })
                .collect();
            racers.into_iter().filter_map(|racer| racer.join().unwrap().then_some(())).count()
        });
        assert_eq!(wins, 3);
        assert_eq!(spent(&ledger, LIMIT), loss(LIMIT));
        assert_sound(&path);
    }
}

#[test]
fn of_eight_processes_three_win() {
    if let Some(path) = as_child() {
        let mut ledger = Ledger::open(&path).unwrap();
        say("ready", 0);
        // The parent closes this when all are ready.
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        let number = i64::from(std::process::id());
        say(if race(&mut ledger, u64::from(std::process::id())) { "won" } else { "lost" }, number);
        return;
    }
    let (_folder, path, mut ledger) = new_ledger();
    let _charge = ledger.charge(&request(0, "epsilon 0.7", LIMIT)).unwrap();
    let mut racers: Vec<_> = (0..RACERS)
        .map(|_| {
            let mut command = child("race::of_eight_processes_three_win", &path, "");
            let mut racer = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut out = BufReader::new(racer.stdout.take().unwrap());
            let mut line = String::new();
            while line.trim() != "says ready 0" {
                line.clear();
                assert_ne!(out.read_line(&mut line).unwrap(), 0, "the child ended early");
            }
            (racer, out)
        })
        .collect();
    for (racer, _) in &mut racers {
        racer.stdin.take().unwrap().flush().unwrap();
    }
    let (mut won, mut lost) = (0, 0);
    for (mut racer, mut out) in racers {
        let mut output = String::new();
        out.read_to_string(&mut output).unwrap();
        assert!(racer.wait().unwrap().success(), "{output}");
        (won, lost) = (won + said(&output, "won").len(), lost + said(&output, "lost").len());
    }
    assert_eq!((won, lost), (3, 5));
    assert_eq!(spent(&ledger, LIMIT), loss(LIMIT));
    assert_sound(&path);
}

#[test]
fn many_may_make_the_file_at_once() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let start = Barrier::new(RACERS as usize);
        let made = thread::scope(|scope| {
            let openers: Vec<_> = (0..RACERS)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        Ledger::open(&path).unwrap().created()
                    })
                })
                .collect();
            openers.into_iter().filter_map(|opener| opener.join().unwrap().then_some(())).count()
        });
        assert_eq!(made, 1);
        assert_sound(&path);
    }
}
