//! Charges that a budget admits, charges that it refuses, and its words for that.

use hushtable_ledger::{Account, ChargeState, Ledger, LedgerError, Outcome, Request};
use hushtable_privacy::Event;
use insta::assert_snapshot;

use crate::support::{
    ChargeOne, Kind, answer, loss, pay, release, request, spent, visits, with_each_kind,
};

fn refusal(ledger: &mut dyn Ledger, request: &Request) -> LedgerError {
    let before = ledger.charges().unwrap();
    let error = ledger.charge(request).unwrap_err();
    assert_eq!(ledger.charges().unwrap(), before, "a refusal changed the record");
    error
}

fn ten_tenths_of_epsilon_are_exactly_one(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    for question in 0..10 {
        let charge = pay(&mut *ledger, &request(question, "epsilon 0.1", "epsilon 1"));
        assert_eq!(charge.id(), question as i64 + 1);
    }
    let account = ledger.account("alice", "visits", loss("epsilon 1")).unwrap();
    let (one, zero) = (loss("epsilon 1"), loss("epsilon 0"));
    assert_eq!(account, Account { total: one, spent: one, left: zero });
    assert_snapshot!(refusal(&mut *ledger, &request(10, "epsilon 0.1", "epsilon 1")), @"
    the budget of analyst `alice` on `visits` does not allow this query: it costs epsilon = 0.1, \
        and 1 of 1 is spent
      hint: no epsilon is left; questions answered before are still answered for free; \
        for new ones, ask the owner of the data for a larger budget
    ");
    // Not the smallest amount more.
    refusal(&mut *ledger, &request(10, "epsilon 0.000000000001", "epsilon 1"));
    // A larger budget is the owner's to give.
    assert_eq!(pay(&mut *ledger, &request(10, "epsilon 0.1", "epsilon 1.1")).id(), 11);
}

fn ten_tenths_of_rho_are_exactly_one(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    for question in 0..10 {
        let _charge = pay(&mut *ledger, &request(question, "rho 0.1", "rho 1"));
    }
    assert_eq!(spent(&*ledger, "rho 1"), loss("rho 1"));
    assert_snapshot!(refusal(&mut *ledger, &request(10, "rho 0.1", "rho 1")), @"
    the budget of analyst `alice` on `visits` does not allow this query: it costs rho = 0.1, \
        and 1 of 1 is spent
      hint: no rho is left; questions answered before are still answered for free; for new ones, \
        ask the owner of the data for a larger budget
    ");
}

fn delta_is_summed_exactly_too(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let limit = "epsilon 100 1e-6";
    for question in 0..10 {
        let _charge = pay(&mut *ledger, &request(question, "epsilon 0.1 1e-7", limit));
    }
    assert_eq!(spent(&*ledger, limit), loss("epsilon 1 1e-6"));
    assert_snapshot!(refusal(&mut *ledger, &request(10, "epsilon 0.1 1e-18", limit)), @"
    the budget of analyst `alice` on `visits` does not allow this query: it costs delta = 1e-18, \
        and 1e-6 of 1e-6 is spent
      hint: ask with delta = 0, or ask the owner of the data for a larger budget
    ");
    // Without delta there is budget left.
    let _charge = pay(&mut *ledger, &request(10, "epsilon 0.1", limit));
}

fn a_refusal_says_what_would_fit(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let limit = "epsilon 1 1e-6";
    let _charge = pay(&mut *ledger, &request(0, "epsilon 0.75 4e-7", limit));
    assert_snapshot!(refusal(&mut *ledger, &request(1, "epsilon 0.3", limit)), @"
    the budget of analyst `alice` on `visits` does not allow this query: it costs epsilon = 0.3, \
        and 0.75 of 1 is spent
      hint: ask with epsilon at most 0.25, or ask the owner of the data for a larger budget
    ");
    assert_snapshot!(refusal(&mut *ledger, &request(1, "epsilon 0.3 1e-6", limit)), @"
    the budget of analyst `alice` on `visits` does not allow this query: it costs epsilon = 0.3, \
        and 0.75 of 1 is spent; it costs delta = 1e-6, and 4e-7 of 1e-6 is spent
      hint: ask with epsilon at most 0.25 and delta at most 6e-7, \
        or ask the owner of the data for a larger budget
    ");
    let _charge = pay(&mut *ledger, &request(1, "epsilon 0.25 6e-7", limit));
}

fn a_lowered_budget_leaves_nothing(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let _charge = pay(&mut *ledger, &request(0, "epsilon 1 1e-6", "epsilon 2 1e-5"));
    let limit = "epsilon 2 1e-7";
    let account = ledger.account("alice", "visits", loss(limit)).unwrap();
    assert_eq!(account.left, loss("epsilon 1 0"));
    assert_snapshot!(refusal(&mut *ledger, &request(1, "epsilon 0.5", limit)), @"
    the budget of analyst `alice` on `visits` does not allow this query: it costs delta = 0, \
        and 1e-6 of 1e-7 is spent
      hint: no delta is left; questions answered before are still answered for free; for new ones, \
        ask the owner of the data for a larger budget
    ");
}

fn accounts_are_apart(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let mut asked = request(0, "epsilon 1", "epsilon 1");
    let charge = pay(&mut *ledger, &asked);
    answer(&mut *ledger, charge, &release(1));
    // Another analyst has a budget, and pays for the answer, even to the same question.
    asked.analyst = "bob".to_owned();
    assert!(ledger.stored("bob", "visits", &asked.fingerprint).unwrap().is_none());
    let _charge = pay(&mut *ledger, &asked);
    refusal(&mut *ledger, &request(1, "epsilon 0.1", "epsilon 1"));
    let mut other = request(2, "epsilon 1", "epsilon 1");
    other.population = "staff".to_owned();
    let _charge = pay(&mut *ledger, &other);
    // Byte for byte.
    other.population = "Staff".to_owned();
    let _charge = pay(&mut *ledger, &other);
}

fn the_same_question_is_free(kind: Kind) {
    let (_folder, location, mut ledger) = kind.new_ledger();
    let asked = request(0, "epsilon 1", "epsilon 1");
    let charge = pay(&mut *ledger, &asked);
    assert_eq!((charge.loss(), charge.charged()), (asked.loss, asked.loss));
    assert_eq!(charge.fingerprint(), asked.fingerprint);
    let id = charge.id();
    answer(&mut *ledger, charge, &release(id));
    // By another process, with another text, with no budget left.
    let mut ledger = {
        drop(ledger);
        location.open(visits()).unwrap()
    };
    assert!(!ledger.created());
    let again = Request { query: "select   0".to_owned(), limit: loss("rho 0"), ..asked.clone() };
    let Outcome::Stored(stored) = ledger.charge(&again).unwrap() else { panic!("charged") };
    assert_eq!((stored.charge_id, &stored.release), (id, &release(id)));
    let looked = ledger.stored("alice", "visits", &asked.fingerprint).unwrap();
    assert_eq!(looked, Some(stored));
    assert_eq!(spent(&*ledger, "epsilon 1"), loss("epsilon 1"));
}

fn a_question_that_is_being_answered_is_waited_for(kind: Kind) {
    let (_folder, location, mut ledger) = kind.new_ledger();
    for drawn in [false, true] {
        let asked = request(u64::from(drawn), "epsilon 0.5", "epsilon 2");
        let charge = pay(&mut *ledger, &asked).open();
        let id = charge.id();
        let (tell, notices) = std::sync::mpsc::channel();
        let mut other = location
            .open(visits())
            .unwrap()
            .telling(move |notice| tell.send(notice.to_string()).unwrap());
        std::thread::scope(|scope| {
            // Drawn, or not yet: either is waited for.
            let mut opened = Some(charge);
            let mut begun = None;
            if drawn {
                begun = Some(ledger.draw(opened.take().unwrap(), Vec::new(), 0).unwrap());
            }
            let waiting = scope.spawn(|| other.charge(&asked).unwrap());
            assert_eq!(
                notices.recv().unwrap(),
                format!(
                    "waiting for another program, which is answering the same question \
                     (charge {id}): its answer is shown as soon as it is on record, free"
                )
            );
            let begun = begun
                .unwrap_or_else(|| ledger.draw(opened.take().unwrap(), Vec::new(), 0).unwrap());
            ledger.record(begun, &release(id)).unwrap();
            let Outcome::Stored(stored) = waiting.join().unwrap() else { panic!("charged") };
            assert_eq!(stored.release, release(id));
        });
        assert!(notices.try_recv().is_err(), "told twice");
    }
    assert_eq!(spent(&*ledger, "epsilon 2"), loss("epsilon 1"));
}

fn an_epsilon_is_charged_to_rho_rounded_up(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let charge = pay(&mut *ledger, &request(0, "epsilon 1 1e-7", "rho 0.75 1e-6"));
    assert_eq!(
        (charge.loss(), charge.charged()),
        (loss("epsilon 1 1e-7"), loss("rho 0.462117157261 1e-7"))
    );
    let charge = pay(&mut *ledger, &request(1, "epsilon 0.000003", "rho 0.75 1e-6"));
    assert_eq!(charge.charged(), loss("rho 5e-12"));
    let _charge = pay(&mut *ledger, &request(2, "rho 0.1", "rho 0.75 1e-6"));
    assert_eq!(spent(&*ledger, "rho 0.75 1e-6"), loss("rho 0.562117157266 1e-7"));
    assert_snapshot!(refusal(&mut *ledger, &request(3, "epsilon 1", "rho 0.75 1e-6")), @"
    the budget of analyst `alice` on `visits` does not allow this query: \
        it costs rho = 0.462117157261 (for epsilon = 1), and 0.562117157266 of 0.75 is spent
      hint: ask with epsilon at most 0.622761922541, or ask the owner of the data for a \
        larger budget
    ");
    // The amount in the hint works, and is the largest that does.
    refusal(&mut *ledger, &request(3, "epsilon 0.622761922542", "rho 0.75 1e-6"));
    let _charge = pay(&mut *ledger, &request(3, "epsilon 0.622761922541", "rho 0.75 1e-6"));
    // The largest epsilon has a rho.
    let mut large = request(4, "epsilon 1000000", "rho 1000000");
    large.analyst = "bob".to_owned();
    assert_eq!(pay(&mut *ledger, &large).charged(), loss("rho 1000000"));
}

fn a_charge_to_rho_is_of_the_mechanisms_that_will_run(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let half = Event::DiscreteLaplace { epsilon: "0.5".parse().unwrap() };
    let asked = |question, events| Request { events, ..request(question, "epsilon 1", "rho 10") };
    assert_eq!(pay(&mut *ledger, &asked(0, vec![half; 2])).charged(), loss("rho 0.244918662404"));
    assert_eq!(pay(&mut *ledger, &asked(1, vec![half])).charged(), loss("rho 0.462117157261"));
    assert_eq!(spent(&*ledger, "rho 10"), loss("rho 0.707035819665"));
}

fn a_rho_is_not_charged_to_epsilon(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    assert_snapshot!(refusal(&mut *ledger, &request(0, "rho 0.1", "epsilon 1 1e-6")), @"
    this query costs rho = 0.1, but the budget of analyst `alice` on `visits` is in epsilon \
        (epsilon = 1, delta = 1e-6), and a loss in rho cannot be paid from it
      hint: ask with epsilon in place of rho, or ask the owner of the data for a budget in rho
    ");
}

fn the_owner_may_change_to_rho_and_back(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let _charge = pay(&mut *ledger, &request(0, "epsilon 1", "epsilon 2"));
    assert_eq!(spent(&*ledger, "rho 1"), loss("rho 0.462117157261"));
    let _charge = pay(&mut *ledger, &request(1, "epsilon 0.5", "rho 1"));
    assert_eq!(spent(&*ledger, "rho 1"), loss("rho 0.584576488463"));
    // Back: both were asked in epsilon, so nothing was lost.
    assert_eq!(spent(&*ledger, "epsilon 2"), loss("epsilon 1.5"));
    let _charge = pay(&mut *ledger, &request(2, "epsilon 0.5", "epsilon 2"));

    let _charge = pay(&mut *ledger, &request(3, "rho 0.1", "rho 1"));
    assert_eq!(spent(&*ledger, "rho 1"), loss("rho 0.807035819665"));
    // One in rho, and there is no way back.
    assert_snapshot!(refusal(&mut *ledger, &request(4, "epsilon 0.1", "epsilon 2")), @"
    the budget of analyst `alice` on `visits` is in epsilon (epsilon = 2), \
        but charge 4 on it was made in rho (rho = 0.1), and rho cannot be counted in epsilon
      hint: ask the owner of the data to give this budget in rho; \
        what was spent in epsilon counts there as rho = epsilon tanh(epsilon / 2)
    ");
    let account = ledger.account("alice", "visits", loss("epsilon 2"));
    assert!(matches!(account, Err(LedgerError::SpentInRho { charge: 4, .. })), "{account:?}");
    // Others are not concerned.
    ledger.account("bob", "visits", loss("epsilon 2")).unwrap();
}

fn what_cannot_be_summed_is_refused(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    // Delta would come to one.
    let _charge = pay(&mut *ledger, &request(0, "rho 0 0.5", "rho 1 0.9"));
    refusal(&mut *ledger, &request(1, "rho 0 0.5", "rho 1 0.9"));
    // The largest epsilon of all, which is also the largest rho.
    let _charge = pay(&mut *ledger, &request(1, "epsilon 1000000", "epsilon 1000000").of("bob"));
    refusal(&mut *ledger, &request(2, "epsilon 1000000", "epsilon 1000000").of("bob"));
    refusal(&mut *ledger, &request(2, "epsilon 0.1", "rho 1000000").of("bob"));
}

trait Of {
    fn of(self, analyst: &str) -> Self;
}

impl Of for Request {
    fn of(self, analyst: &str) -> Self {
        Self { analyst: analyst.to_owned(), ..self }
    }
}

fn the_record_has_it_all(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let charge = pay(&mut *ledger, &request(7, "epsilon 1 1e-7", "rho 1 1e-6"));
    answer(&mut *ledger, charge, &release(1));
    let odd = "o'brien\n\0\u{1f404}";
    let _charge = pay(&mut *ledger, &request(8, "epsilon 0.1", "epsilon 1").of(odd));
    let charges = ledger.charges().unwrap();
    let [first, second] = &charges[..] else { panic!("{charges:?}") };
    assert_eq!((first.id, second.id), (1, 2));
    assert_eq!((first.analyst.as_str(), second.analyst.as_str()), ("alice", odd));
    assert_eq!((first.table.as_str(), first.query.as_str()), ("visits", "SELECT 7"));
    assert_eq!(
        (first.asked, first.charged),
        (loss("epsilon 1 1e-7"), loss("rho 0.462117157261 1e-7"))
    );
    assert_eq!((first.state, second.state), (ChargeState::Recorded, ChargeState::Charged));
    assert!(first.charged_at <= second.charged_at);
    let shape: String =
        (first.charged_at.chars()).map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    assert_eq!(shape, "9999-99-99T99:99:99.999Z");
}

fn a_release_goes_to_the_ledger_that_was_paid(kind: Kind) {
    let (_folder, _location, mut paid) = kind.new_ledger();
    let (_other_folder, location, mut other) = kind.new_ledger();
    let asked = request(0, "epsilon 1", "epsilon 1");
    let charge = pay(&mut *paid, &asked);
    let _same_number = pay(&mut *other, &request(1, "epsilon 1", "epsilon 1"));
    let error = other.draw(charge.open(), Vec::new(), 0).unwrap_err().to_string();
    assert_snapshot!(error.replace(location.path().to_str().unwrap(), "ledger.sqlite"), @"
    cannot record the release of charge 1 in the ledger `ledger.sqlite`: \
        the charge was made in another ledger
      hint: record a release in the ledger that it was paid from
    ");
    let charge = pay(&mut *paid, &asked);
    let drawn = paid.draw(charge.open(), Vec::new(), 0).unwrap();
    let error = other.record(drawn, &release(1)).unwrap_err();
    assert!(matches!(error, LedgerError::ForeignCharge { charge: 1, .. }), "{error}");
    assert!(other.stored("alice", "visits", &asked.fingerprint).unwrap().is_none());
}

with_each_kind! {
    ten_tenths_of_epsilon_are_exactly_one,
    ten_tenths_of_rho_are_exactly_one,
    delta_is_summed_exactly_too,
    a_refusal_says_what_would_fit,
    a_lowered_budget_leaves_nothing,
    accounts_are_apart,
    the_same_question_is_free,
    a_question_that_is_being_answered_is_waited_for,
    an_epsilon_is_charged_to_rho_rounded_up,
    a_charge_to_rho_is_of_the_mechanisms_that_will_run,
    a_rho_is_not_charged_to_epsilon,
    the_owner_may_change_to_rho_and_back,
    what_cannot_be_summed_is_refused,
    the_record_has_it_all,
    a_release_goes_to_the_ledger_that_was_paid,
}
