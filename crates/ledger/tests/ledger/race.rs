//! Many at once for the last of a budget.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use hushtable_ledger::{Ledger, LedgerError, Outcome};

use crate::support::{
    ChargeOne, Kind, answer, as_child, assert_sound, child, loss, new_ledger, open, release,
    request, said, say, spent, visits, with_each_kind,
};

/// Seven tenths are spent already, so that three more fit.
const LIMIT: &str = "epsilon 1";
const RACERS: u64 = 8;

fn race(ledger: &mut dyn Ledger, question: u64) -> bool {
    match ledger.charge(&request(question, "epsilon 0.1", LIMIT)) {
        Ok(Outcome::Charged(_)) => true,
        Err(LedgerError::Exhausted(_)) => false,
        other => panic!("{other:?}"),
    }
}

/// Runs a test as that many children at the same time, and gives the output of each.
fn start_together(test: &str, path: &Path, children: usize) -> Vec<String> {
    let mut racers: Vec<_> = (0..children)
        .map(|_| {
            let mut command = child(test, path, "");
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
    let finished = racers.into_iter().map(|(mut racer, mut out)| {
        let mut output = String::new();
        out.read_to_string(&mut output).unwrap();
        assert!(racer.wait().unwrap().success(), "{output}");
        output
    });
    finished.collect()
}

fn of_eight_threads_three_win(kind: Kind) {
    for _ in 0..5 {
        let (_folder, location, mut ledger) = kind.new_ledger();
        let _charge = ledger.charge(&request(100, "epsilon 0.7", LIMIT)).unwrap();
        let start = Barrier::new(RACERS as usize);
        let wins = thread::scope(|scope| {
            let racers: Vec<_> = (0..RACERS)
                .map(|question| {
                    let mut ledger = location.open(visits()).unwrap();
                    let start = &start;
                    scope.spawn(move || {
                        start.wait();
                        race(&mut *ledger, question)
                    })
                })
                .collect();
            racers.into_iter().filter_map(|racer| racer.join().unwrap().then_some(())).count()
        });
        assert_eq!(wins, 3);
        assert_eq!(spent(&*ledger, LIMIT), loss(LIMIT));
        assert_sound(location.path());
    }
}

#[test]
fn of_eight_processes_three_win() {
    if let Some(path) = as_child() {
        let mut ledger = open(&path, visits()).unwrap();
        say("ready", 0);
        // The parent closes this when all are ready.
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        let number = i64::from(std::process::id());
        say(if race(&mut *ledger, u64::from(std::process::id())) { "won" } else { "lost" }, number);
        return;
    }
    let (_folder, path, mut ledger) = new_ledger();
    let _charge = ledger.charge(&request(0, "epsilon 0.7", LIMIT)).unwrap();
    let outputs = start_together("race::of_eight_processes_three_win", &path, RACERS as usize);
    let count = |word| outputs.iter().map(|output| said(output, word).len()).sum::<usize>();
    assert_eq!((count("won"), count("lost")), (3, 5));
    assert_eq!(spent(&*ledger, LIMIT), loss(LIMIT));
    assert_sound(&path);
}

/// Processes with one question: the first pays, and the others wait for its answer.
#[test]
fn of_many_processes_with_one_question_one_pays() {
    let asked = request(1, "epsilon 0.1", LIMIT);
    if let Some(path) = as_child() {
        let mut ledger = open(&path, visits()).unwrap();
        say("ready", 0);
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        let release = match ledger.charge(&asked).unwrap() {
            Outcome::Charged(charge) => {
                say("paid", charge.id());
                let paid = release(i64::from(std::process::id()));
                // Long enough for all others to ask.
                thread::sleep(Duration::from_millis(200));
                answer(&mut *ledger, charge, &paid);
                paid
            }
            Outcome::Stored(stored) => stored.release,
        };
        say("has", i64::from_le_bytes(release.table.try_into().unwrap()));
        return;
    }
    let (_folder, path, ledger) = new_ledger();
    let outputs = start_together("race::of_many_processes_with_one_question_one_pays", &path, 32);
    let all = |word| outputs.iter().flat_map(|o| said(o, word)).collect::<Vec<_>>();
    assert_eq!(all("paid"), [1]);
    let answers = all("has");
    assert_eq!(answers.len(), 32);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(spent(&*ledger, LIMIT), loss("epsilon 0.1"));
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
                        open(&path, visits()).unwrap().created()
                    })
                })
                .collect();
            openers.into_iter().filter_map(|opener| opener.join().unwrap().then_some(())).count()
        });
        assert_eq!(made, 1);
        assert_sound(&path);
    }
}

with_each_kind! {
    of_eight_threads_three_win,
}
