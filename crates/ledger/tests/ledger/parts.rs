//! Several questions paid for at once: together or not at all, once, and with one release each.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use hushtable_ledger::{
    Charge, Ledger, LedgerError, MOST_ATTEMPTS, Outcome, Paid, Payment, Request, StoredRelease,
};

use hushtable_testkit::Dice;

use crate::support::{
    as_child, assert_sound, child, loss, new_ledger, pay, release, request, said, say, spent,
};

const LIMIT: &str = "epsilon 1";

fn tenths(questions: std::ops::Range<u64>) -> Vec<Request> {
    questions.map(|question| request(question, "epsilon 0.1", LIMIT)).collect()
}

fn payments(paid: Vec<Paid>) -> Vec<Payment> {
    let each = paid.into_iter().map(|paid| match paid {
        Paid::Charged(payment) => payment,
        Paid::Stored(stored) => panic!("free: {stored:?}"),
    });
    each.collect()
}

fn begin(ledger: &mut Ledger, payment: &Payment) -> Charge {
    match ledger.begin(payment).unwrap() {
        Outcome::Charged(charge) => charge,
        Outcome::Stored(stored) => panic!("free: {stored:?}"),
    }
}

fn stored(outcome: Outcome) -> StoredRelease {
    match outcome {
        Outcome::Stored(stored) => stored,
        Outcome::Charged(charge) => panic!("not free: {charge:?}"),
    }
}

#[test]
fn all_are_charged_or_none() {
    let (_folder, path, mut ledger) = new_ledger();
    let error = ledger.charge_all(&tenths(0..11)).unwrap_err();
    insta::assert_snapshot!(error, @"
    the budget of analyst `alice` on `visits` does not allow these 11 queries together: \
                                     they cost epsilon = 1.1, and 0 of 1 is spent
      hint: ask with epsilon at most 1, or ask the owner of the data for a larger budget
    ");
    assert_eq!(ledger.charges().unwrap(), []);
    let paid = payments(ledger.charge_all(&tenths(0..10)).unwrap());
    assert!(paid.iter().all(Payment::is_new));
    assert_eq!(spent(&ledger, LIMIT), loss(LIMIT));
    let charges = ledger.charges().unwrap();
    let ids: Vec<i64> = paid.iter().map(Payment::id).collect();
    assert_eq!(ids, charges.iter().map(|charge| charge.id).collect::<Vec<_>>());
    assert!(paid.iter().all(|payment| payment.charged() == loss("epsilon 0.1")));
    assert_sound(&path);
}

#[test]
fn all_accounts_pay_or_none() {
    let (_folder, _path, mut ledger) = new_ledger();
    let of = |population: &str, mut request: Request| {
        population.clone_into(&mut request.population);
        request
    };
    // Each account by itself could pay for one of two, and for all but one of many.
    let visits = request(0, "epsilon 0.9", LIMIT);
    let too_dear = of("claims", request(1, "epsilon 1.1", LIMIT));
    for pair in [[visits.clone(), too_dear.clone()], [too_dear, visits.clone()]] {
        let error = ledger.charge_all(&pair).unwrap_err().to_string();
        assert!(error.contains("`claims`"), "{error}");
        assert_eq!(ledger.charges().unwrap(), []);
    }
    let claims = of("claims", request(1, "epsilon 0.9", LIMIT));
    let paid =
        payments(ledger.charge_all(&[visits, claims, request(2, "epsilon 0.1", LIMIT)]).unwrap());
    assert_eq!(paid.len(), 3);
    assert_eq!(spent(&ledger, LIMIT), loss(LIMIT));
    let claims = ledger.account("alice", "claims", loss(LIMIT)).unwrap();
    assert_eq!(claims.spent, loss("epsilon 0.9"));
}

#[test]
fn what_is_on_record_or_paid_costs_nothing() {
    let (_folder, _path, mut ledger) = new_ledger();
    let charge = pay(&mut ledger, &request(0, "epsilon 0.1", LIMIT)).open();
    ledger.record(charge, &release(1)).unwrap();
    // A charge of a single query is not taken up, though it has no release.
    let _lost = pay(&mut ledger, &request(1, "epsilon 0.1", LIMIT)).open();
    let paid = ledger.charge_all(&tenths(0..4)).unwrap();
    assert!(matches!(&paid[0], Paid::Stored(stored) if stored.release == release(1)));
    assert!(paid[1..].iter().all(|p| matches!(p, Paid::Charged(payment) if payment.is_new())));
    assert_eq!(spent(&ledger, LIMIT), loss("epsilon 0.5"));
    let again = ledger.charge_all(&tenths(0..6)).unwrap();
    let new: Vec<bool> =
        again.iter().map(|p| matches!(p, Paid::Charged(payment) if payment.is_new())).collect();
    assert_eq!(new, [false, false, false, false, true, true]);
    assert_eq!(spent(&ledger, LIMIT), loss("epsilon 0.7"));
    // Only what is new has to fit.
    assert!(ledger.charge_all(&tenths(0..10)).is_err());
    assert_eq!(ledger.charge_all(&tenths(0..9)).unwrap().len(), 9);
    // A single query does not take up what a workload has paid.
    let single = ledger.charge(&request(5, "epsilon 0.1", LIMIT));
    assert!(matches!(single, Err(LedgerError::Exhausted(_))), "{single:?}");
}

#[test]
fn of_two_at_work_the_first_to_record_is_the_answer_of_both() {
    let (_folder, path, mut ledger) = new_ledger();
    let mut other = Ledger::open(&path).unwrap();
    let ours = payments(ledger.charge_all(&tenths(0..1)).unwrap()).remove(0);
    let theirs = payments(other.charge_all(&tenths(0..1)).unwrap()).remove(0);
    assert_eq!((ours.id(), theirs.id()), (1, 1));
    assert!(ours.is_new() && !theirs.is_new());
    let (one, two) = (begin(&mut ledger, &ours).open(), begin(&mut other, &theirs).open());
    assert_eq!(other.record(two, &release(2)).unwrap(), None);
    let answer = ledger.record(one, &release(1)).unwrap().unwrap();
    assert_eq!(answer.release, release(2));
    for ledger in [&mut ledger, &mut other] {
        assert_eq!(stored(ledger.begin(&ours).unwrap()).release, release(2));
    }
    assert_eq!(spent(&ledger, LIMIT), loss("epsilon 0.1"));
}

#[test]
fn attempts_have_an_end() {
    let (_folder, _path, mut ledger) = new_ledger();
    let paid = payments(ledger.charge_all(&tenths(0..2)).unwrap());
    for _ in 0..MOST_ATTEMPTS {
        let again = payments(ledger.charge_all(&tenths(0..2)).unwrap());
        let _stopped = begin(&mut ledger, &again[0]).open();
    }
    insta::assert_snapshot!(ledger.begin(&paid[0]).unwrap_err(), @"
    the data were read 20 times for charge 1, but the program was stopped each time before it had \
        an answer; they are not read again for this charge
      hint: find out what stops it (too little memory?), then ask the same query by itself, \
            with `hushtable query` and epsilon = 0.1 in its OPTIONS: it is charged anew, \
            and a workload then has its answer from the record
    ");
    // The way out, as the hint has it.
    let charge = pay(&mut ledger, &request(0, "epsilon 0.1", LIMIT)).open();
    ledger.record(charge, &release(3)).unwrap();
    assert_eq!(stored(ledger.begin(&paid[0]).unwrap()).release, release(3));
    let _other = begin(&mut ledger, &paid[1]);
    assert_eq!(spent(&ledger, LIMIT), loss("epsilon 0.3"));
}

#[test]
fn a_payment_is_of_one_ledger() {
    let (_folder, _path, mut ledger) = new_ledger();
    let (_other_folder, _other_path, mut other) = new_ledger();
    let paid = payments(ledger.charge_all(&tenths(0..1)).unwrap()).remove(0);
    assert!(matches!(other.begin(&paid), Err(LedgerError::ForeignCharge { .. })));
    let _same_number = other.charge_all(&tenths(0..1)).unwrap();
    assert!(matches!(other.begin(&paid), Err(LedgerError::ForeignCharge { .. })));
}

#[test]
fn of_eight_at_once_one_pays() {
    let (_folder, path, ledger) = new_ledger();
    let start = Barrier::new(8);
    let new: usize = thread::scope(|scope| {
        let racers: Vec<_> = (0..8)
            .map(|_| {
                let mut ledger = Ledger::open(&path).unwrap();
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    let paid = payments(ledger.charge_all(&tenths(0..10)).unwrap());
                    paid.iter().filter(|payment| payment.is_new()).count()
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    });
    assert_eq!(new, 10);
    assert_eq!(spent(&ledger, LIMIT), loss(LIMIT));
    assert_sound(&path);
}

const PARTS: u64 = 10;

/// Pays for all parts and works through them until killed, telling each step.
fn work(path: &Path) {
    let mut ledger = Ledger::open(path).unwrap();
    let paid = ledger.charge_all(&tenths(0..PARTS)).unwrap();
    say("paid", 0);
    for (part, paid) in paid.iter().enumerate() {
        let Paid::Charged(payment) = paid else { continue };
        let Outcome::Charged(charge) = ledger.begin(payment).unwrap() else { continue };
        let charge = charge.open();
        say("begun", part as i64);
        assert_eq!(ledger.record(charge, &release(part as i64)).unwrap(), None);
        say("recorded", part as i64);
    }
    say("finished", 0);
}

#[test]
fn killed_at_any_moment_and_started_again_it_pays_once() {
    if let Some(path) = as_child() {
        return work(&path);
    }
    let (_folder, path, ledger) = new_ledger();
    let mut dice = Dice::new(7);
    let mut kills = 0;
    for round in 0.. {
        let mut command =
            child("parts::killed_at_any_moment_and_started_again_it_pays_once", &path, "");
        let mut worker = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(worker.stdout.take().unwrap());
        // Killed right after a step, each in its turn, or a little later.
        let step = ["paid", "begun", "recorded"][round % 3];
        let mut output = String::new();
        while said(&output, step).is_empty() && said(&output, "finished").is_empty() {
            assert_ne!(out.read_line(&mut output).unwrap(), 0, "the child ended: {output}");
        }
        thread::sleep(Duration::from_micros(dice.below(3_000)));
        worker.kill().unwrap();
        worker.wait().unwrap();
        assert_eq!(spent(&ledger, LIMIT), loss(LIMIT), "in round {round}");
        assert_eq!(ledger.charges().unwrap().len() as u64, PARTS);
        if !said(&output, "finished").is_empty() {
            break;
        }
        kills += 1;
    }
    assert!(kills >= 3, "{kills}");
    let charges = ledger.charges().unwrap();
    assert!(charges.iter().all(|charge| charge.released), "{charges:?}");
    assert_sound(&path);
    eprintln!("{kills} kills");
}
