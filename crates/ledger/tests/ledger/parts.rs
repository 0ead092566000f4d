//! Several questions paid for at once: together or not at all, once, and with one release each.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use hushtable_ledger::{
    Charge, ChargeState, Ledger, LedgerError, MOST_ATTEMPTS, Outcome, Payment, PaymentOutcome,
    Request, StoredRelease,
};

use hushtable_testkit::Dice;

use crate::support::{
    ChargeOne, Kind, answer, as_child, assert_sound, child, loss, new_ledger, open, pay, release,
    request, said, say, spent, visits, with_each_kind,
};

const LIMIT: &str = "epsilon 1";

fn tenths(questions: std::ops::Range<u64>) -> Vec<Request> {
    questions.map(|question| request(question, "epsilon 0.1", LIMIT)).collect()
}

fn payments(paid: Vec<PaymentOutcome>) -> Vec<Payment> {
    let each = paid.into_iter().map(|paid| match paid {
        PaymentOutcome::Charged(payment) => payment,
        PaymentOutcome::Stored(stored) => panic!("free: {stored:?}"),
    });
    each.collect()
}

fn begin(ledger: &mut dyn Ledger, payment: &Payment) -> Charge {
    match ledger.begin(payment, &[]).unwrap() {
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

fn all_are_charged_or_none(kind: Kind) {
    let (_folder, location, mut ledger) = kind.new_ledger();
    let error = ledger.charge_all(&tenths(0..11)).unwrap_err();
    insta::assert_snapshot!(error, @"
    the budget of analyst `alice` on `visits` does not allow these 11 queries together: \
                                     they cost epsilon = 1.1, and 0 of 1 is spent
      hint: ask with epsilon at most 1, or ask the owner of the data for a larger budget
    ");
    assert_eq!(ledger.charges().unwrap(), []);
    let paid = payments(ledger.charge_all(&tenths(0..10)).unwrap());
    assert!(paid.iter().all(Payment::is_new));
    assert_eq!(spent(&*ledger, LIMIT), loss(LIMIT));
    let charges = ledger.charges().unwrap();
    let ids: Vec<i64> = paid.iter().map(Payment::id).collect();
    assert_eq!(ids, charges.iter().map(|charge| charge.id).collect::<Vec<_>>());
    assert!(paid.iter().all(|payment| payment.charged() == loss("epsilon 0.1")));
    assert_sound(location.path());
}

fn all_accounts_pay_or_none(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
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
    assert_eq!(spent(&*ledger, LIMIT), loss(LIMIT));
    let claims = ledger.account("alice", "claims", loss(LIMIT)).unwrap();
    assert_eq!(claims.spent, loss("epsilon 0.9"));
}

fn what_is_on_record_or_paid_costs_nothing(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let charge = pay(&mut *ledger, &request(0, "epsilon 0.1", LIMIT));
    answer(&mut *ledger, charge, &release(1));
    // A charge for which nothing was drawn is taken up, whoever paid.
    drop(pay(&mut *ledger, &request(1, "epsilon 0.1", LIMIT)).open());
    let paid = ledger.charge_all(&tenths(0..4)).unwrap();
    assert!(matches!(&paid[0], PaymentOutcome::Stored(stored) if stored.release == release(1)));
    let new = |paid: &[PaymentOutcome]| -> Vec<bool> {
        paid.iter()
            .map(|p| matches!(p, PaymentOutcome::Charged(payment) if payment.is_new()))
            .collect()
    };
    assert_eq!(new(&paid), [false, false, true, true]);
    assert_eq!(spent(&*ledger, LIMIT), loss("epsilon 0.4"));
    // One that was drawn and not recorded is lost, and charged anew.
    let charge = begin(&mut *ledger, &payments(paid.into_iter().skip(1).collect())[0]);
    drop(ledger.draw(charge.open(), Vec::new(), 0).unwrap());
    let again = ledger.charge_all(&tenths(0..6)).unwrap();
    assert_eq!(new(&again), [false, true, false, false, true, true]);
    assert_eq!(spent(&*ledger, LIMIT), loss("epsilon 0.7"));
    // Only what is new has to fit.
    assert!(ledger.charge_all(&tenths(0..10)).is_err());
    assert_eq!(ledger.charge_all(&tenths(0..9)).unwrap().len(), 9);
    let single = pay(&mut *ledger, &request(5, "epsilon 0.1", LIMIT));
    assert!(!single.is_new());
}

fn of_two_that_take_up_a_charge_one_draws(kind: Kind) {
    let (_folder, location, mut ledger) = kind.new_ledger();
    let mut other = location.open(visits()).unwrap();
    let ours = payments(ledger.charge_all(&tenths(0..1)).unwrap()).remove(0);
    let theirs = payments(other.charge_all(&tenths(0..1)).unwrap()).remove(0);
    assert_eq!((ours.id(), theirs.id()), (1, 1));
    assert!(ours.is_new() && !theirs.is_new());
    let charge = begin(&mut *other, &theirs);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| stored(ledger.begin(&ours, &[]).unwrap()));
        thread::sleep(Duration::from_millis(50));
        answer(&mut *other, charge, &release(2));
        assert_eq!(waiting.join().unwrap().release, release(2));
    });
    assert_eq!(spent(&*other, LIMIT), loss("epsilon 0.1"));
}

fn a_draw_that_is_lost_is_never_made_again(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let paid = payments(ledger.charge_all(&tenths(0..1)).unwrap()).remove(0);
    let charge = begin(&mut *ledger, &paid);
    drop(ledger.draw(charge.open(), Vec::new(), 100_000).unwrap());
    insta::assert_snapshot!(ledger.begin(&paid, &[]).unwrap_err(), @"
    charge 1 was taken up by another program and cannot be answered any more: \
        its release was drawn and not recorded; its loss stays spent
      hint: ask again: the question is charged anew
    ");
    let charges = ledger.charges().unwrap();
    assert_eq!(charges[0].state, ChargeState::Drawn);
    let again = pay(&mut *ledger, &request(0, "epsilon 0.1", LIMIT));
    assert_eq!((again.id(), again.is_new()), (2, true));
    assert_eq!(spent(&*ledger, LIMIT), loss("epsilon 0.2"));
}

fn attempts_have_an_end(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let paid = payments(ledger.charge_all(&tenths(0..2)).unwrap());
    for _ in 0..MOST_ATTEMPTS {
        let again = payments(ledger.charge_all(&tenths(0..2)).unwrap());
        drop(begin(&mut *ledger, &again[0]).open());
    }
    insta::assert_snapshot!(ledger.begin(&paid[0], &[]).unwrap_err(), @"
    charge 1 was taken up by another program and cannot be answered any more: \
        the data were read 20 times for it; its loss stays spent
      hint: ask again: the question is charged anew
    ");
    // Asked again, it is charged anew.
    let charge = pay(&mut *ledger, &request(0, "epsilon 0.1", LIMIT));
    assert!(charge.is_new());
    answer(&mut *ledger, charge, &release(3));
    assert_eq!(stored(ledger.begin(&paid[0], &[]).unwrap()).release, release(3));
    let _other = begin(&mut *ledger, &paid[1]);
    assert_eq!(spent(&*ledger, LIMIT), loss("epsilon 0.3"));
}

/// A part that two populations pay for has one release, drawn once for both.
fn accounts_that_pay_together_are_drawn_and_recorded_together(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let pair = |question| {
        let visits = request(question, "epsilon 0.1", LIMIT);
        [visits.clone(), Request { population: "claims".to_owned(), ..visits }]
    };
    for (question, lost) in [(0, true), (1, false)] {
        let [first, second] = payments(ledger.charge_all(&pair(question)).unwrap())
            .try_into()
            .unwrap_or_else(|_| panic!());
        let begun = ledger.begin(&first, std::slice::from_ref(&second)).unwrap();
        let Outcome::Charged(charge) = begun else { panic!("{begun:?}") };
        let drawn = ledger.draw(charge.open(), vec![second], 0).unwrap();
        if lost {
            drop(drawn);
            let again = payments(ledger.charge_all(&pair(question)).unwrap());
            assert!(again.iter().all(Payment::is_new), "one account pays for both draws");
        } else {
            ledger.record(drawn, &release(1)).unwrap();
            let again = ledger.charge_all(&pair(question)).unwrap();
            assert!(
                again
                    .iter()
                    .all(|p| matches!(p, PaymentOutcome::Stored(s) if s.release == release(1)))
            );
        }
    }
}

/// Reading for one account is an attempt of all that pay for the same release.
fn attempts_count_for_all_accounts(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let paid = payments(ledger.charge_all(&tenths(0..3)).unwrap());
    for _ in 0..MOST_ATTEMPTS {
        drop(ledger.begin(&paid[0], &paid[1..2]).unwrap());
    }
    for request in &paid[..2] {
        assert!(matches!(ledger.begin(request, &[]), Err(LedgerError::Lapsed { .. })));
    }
    // Nor beside another, which is no attempt of that one.
    assert!(matches!(ledger.begin(&paid[2], &paid[1..2]), Err(LedgerError::Lapsed { .. })));
    for _ in 0..MOST_ATTEMPTS {
        drop(begin(&mut *ledger, &paid[2]));
    }
}

fn a_copy_is_drawn_and_recorded_at_once(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let paid = payments(ledger.charge_all(&tenths(0..3)).unwrap());
    ledger.copy(&paid[..2], &release(7)).unwrap();
    // Again, with one that has it already: nothing is written twice.
    ledger.copy(&paid[1..], &release(8)).unwrap();
    let stored: Vec<_> =
        paid.iter().map(|request| stored(ledger.begin(request, &[]).unwrap()).release).collect();
    assert_eq!(stored, [release(7), release(7), release(8)]);
    // A charge whose draw was lost takes none, and neither do those beside it.
    let paid = payments(ledger.charge_all(&tenths(3..5)).unwrap());
    let charge = begin(&mut *ledger, &paid[1]).open();
    drop(ledger.draw(charge, Vec::new(), 0).unwrap());
    assert!(matches!(ledger.copy(&paid, &release(9)), Err(LedgerError::Lapsed { .. })));
    let states: Vec<_> = ledger.charges().unwrap().iter().map(|charge| charge.state).collect();
    assert_eq!(states[3..], [ChargeState::Charged, ChargeState::Drawn]);
}

fn who_waits_for_another_program_may_give_up(kind: Kind) {
    let (_folder, location, mut ledger) = kind.new_ledger();
    let question = &tenths(0..1);
    let paid = payments(ledger.charge_all(question).unwrap()).remove(0);
    let charge = begin(&mut *ledger, &paid).open();
    let drawn = ledger.draw(charge, Vec::new(), 0).unwrap();
    for all in [false, true] {
        let looks = Arc::new(AtomicUsize::new(0));
        let mut waiting = location.open(visits()).unwrap().giving_up_when({
            let looks = Arc::clone(&looks);
            move || looks.fetch_add(1, Ordering::SeqCst) == 2
        });
        let error = if all {
            waiting.charge_all(question).unwrap_err()
        } else {
            waiting.charge(&question[0]).unwrap_err()
        };
        assert!(matches!(error, LedgerError::GivenUp), "{error}");
        assert_eq!(looks.load(Ordering::SeqCst), 3);
    }
    assert_eq!(ledger.charges().unwrap().len(), 1);
    ledger.record(drawn, &release(1)).unwrap();
}

/// A payment is taken up whether anybody wants it or not, but others are not waited for then.
fn what_is_paid_for_is_begun_and_others_are_given_up(kind: Kind) {
    let (_folder, location, mut ledger) = kind.new_ledger();
    let paid = payments(ledger.charge_all(&tenths(0..1)).unwrap()).remove(0);
    let mut unwanted = location.open(visits()).unwrap().giving_up_when(|| true);
    let charge = begin(&mut *unwanted, &paid);
    let mut waiting = location.open(visits()).unwrap().giving_up_when(|| true);
    let error = waiting.begin(&paid, &[]).unwrap_err();
    assert!(matches!(error, LedgerError::GivenUp), "{error}");
    answer(&mut *unwanted, charge, &release(1));
    assert!(matches!(waiting.begin(&paid, &[]), Ok(Outcome::Stored(_))));
    assert_eq!(ledger.charges().unwrap().len(), 1);
}

fn a_payment_is_of_one_ledger(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let (_other_folder, _other_location, mut other) = kind.new_ledger();
    let paid = payments(ledger.charge_all(&tenths(0..1)).unwrap()).remove(0);
    assert!(matches!(other.begin(&paid, &[]), Err(LedgerError::ForeignCharge { .. })));
    let _same_number = other.charge_all(&tenths(0..1)).unwrap();
    assert!(matches!(other.begin(&paid, &[]), Err(LedgerError::ForeignCharge { .. })));
}

fn of_eight_at_once_one_pays(kind: Kind) {
    let (_folder, location, ledger) = kind.new_ledger();
    let start = Barrier::new(8);
    let new: usize = thread::scope(|scope| {
        let racers: Vec<_> = (0..8)
            .map(|_| {
                let mut ledger = location.open(visits()).unwrap();
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
    assert_eq!(spent(&*ledger, LIMIT), loss(LIMIT));
    assert_sound(location.path());
}

const PARTS: u64 = 10;
/// Room for draws that are lost.
const ROOMY: &str = "epsilon 100";

/// Pays for all parts and works through them until killed, telling each step.
fn work(path: &Path) {
    let mut ledger = open(&path, visits()).unwrap();
    let requests: Vec<Request> =
        (0..PARTS).map(|question| request(question, "epsilon 0.1", ROOMY)).collect();
    let paid = ledger.charge_all(&requests).unwrap();
    say("paid", 0);
    for (part, paid) in paid.iter().enumerate() {
        let PaymentOutcome::Charged(payment) = paid else { continue };
        let Outcome::Charged(charge) = ledger.begin(payment, &[]).unwrap() else { continue };
        say("begun", part as i64);
        let drawn = ledger.draw(charge.open(), Vec::new(), 10_000).unwrap();
        say("drawn", part as i64);
        ledger.record(drawn, &release(part as i64)).unwrap();
        say("recorded", part as i64);
    }
    say("finished", 0);
}

/// A payment beside another is drawn by one of those who begin it, and the other draws nothing.
fn of_two_that_begin_a_payment_one_draws(kind: Kind) {
    let (_folder, location, mut ledger) = kind.new_ledger();
    let mut other = location.open(visits()).unwrap();
    let mut ours = payments(ledger.charge_all(&tenths(0..2)).unwrap());
    let theirs = payments(other.charge_all(&tenths(1..2)).unwrap()).remove(0);
    let beside = ours.split_off(1);
    let begun = ledger.begin(&ours[0], &beside).unwrap();
    let Outcome::Charged(charge) = begun else { panic!("{begun:?}") };
    let their_charge = begin(&mut *other, &theirs);
    answer(&mut *other, their_charge, &release(2));
    let error = ledger.draw(charge.open(), beside, 0).unwrap_err();
    assert!(matches!(error, LedgerError::Lapsed { charge: 2, .. }), "{error}");
    let states: Vec<_> = ledger.charges().unwrap().iter().map(|charge| charge.state).collect();
    assert_eq!(states, [ChargeState::Charged, ChargeState::Recorded]);
}

#[test]
fn killed_at_any_moment_and_started_again_it_pays_once_a_draw() {
    if let Some(path) = as_child() {
        return work(&path);
    }
    let (_folder, path, ledger) = new_ledger();
    let mut dice = Dice::new(7);
    let mut kills = 0;
    for round in 0.. {
        let mut command =
            child("parts::killed_at_any_moment_and_started_again_it_pays_once_a_draw", &path, "");
        let mut worker = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(worker.stdout.take().unwrap());
        // Killed right after a step, each in its turn, or a little later.
        let step = ["paid", "begun", "drawn", "recorded"][round % 4];
        let mut output = String::new();
        while said(&output, step).is_empty() && said(&output, "finished").is_empty() {
            assert_ne!(out.read_line(&mut output).unwrap(), 0, "the child ended: {output}");
        }
        thread::sleep(Duration::from_micros(dice.below(3_000)));
        worker.kill().unwrap();
        worker.wait().unwrap();
        let charges = ledger.charges().unwrap();
        let lost = charges.iter().filter(|charge| charge.state == ChargeState::Drawn).count();
        assert!(charges.len() <= PARTS as usize + lost, "in round {round}: {charges:?}");
        assert!(lost <= round + 1, "{lost} draws were lost by {} kills", round + 1);
        if !said(&output, "finished").is_empty() {
            break;
        }
        kills += 1;
    }
    assert!(kills >= 3, "{kills}");
    let charges = ledger.charges().unwrap();
    let count = |state| charges.iter().filter(|charge| charge.state == state).count();
    let (recorded, lost) = (count(ChargeState::Recorded), count(ChargeState::Drawn));
    assert_eq!((recorded as u64, charges.len()), (PARTS, recorded + lost), "{charges:?}");
    assert!(lost > 0, "no kill came between a draw and its record");
    assert_sound(&path);
    eprintln!("{kills} kills, {lost} draws lost");
}

with_each_kind! {
    all_are_charged_or_none,
    all_accounts_pay_or_none,
    what_is_on_record_or_paid_costs_nothing,
    of_two_that_take_up_a_charge_one_draws,
    a_draw_that_is_lost_is_never_made_again,
    attempts_have_an_end,
    accounts_that_pay_together_are_drawn_and_recorded_together,
    attempts_count_for_all_accounts,
    a_copy_is_drawn_and_recorded_at_once,
    who_waits_for_another_program_may_give_up,
    what_is_paid_for_is_begun_and_others_are_given_up,
    a_payment_is_of_one_ledger,
    of_eight_at_once_one_pays,
    of_two_that_begin_a_payment_one_draws,
}
