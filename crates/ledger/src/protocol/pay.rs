//! Paying for questions, and taking up what is paid for.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hushtable_privacy::{Loss, cost};

use super::Protocol;
use crate::book::{Book, ChargeEntry};
use crate::charge::Receipt;
use crate::records::LedgerRecords;
use crate::store::Store;
use crate::{
    BudgetExceeded, Charge, LedgerError, Notice, Outcome, Payment, PaymentOutcome, Release,
    Request, StoredRelease,
};

/// How often to look whether another program has finished.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The outcome of a transaction that another program may hold up.
enum Turn<T> {
    Done(T),
    /// Another program is at work on this charge, and nothing was written.
    UnderWay(i64),
}

/// How long to wait for another program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// As long as somebody wants the answer: nothing is paid yet.
    UntilCancelled,
    /// For other programs as long as somebody wants the answer; with no other at work, to the end.
    ForOthers,
    /// As long as it takes: what is paid for is to go on record.
    ToTheEnd,
}

impl<S: Store> Protocol<S> {
    /// [`Ledger::charge_all`](crate::Ledger::charge_all).
    pub(super) fn pay_all(
        &mut self,
        requests: &[Request],
    ) -> Result<Vec<PaymentOutcome>, LedgerError> {
        self.in_turn(Wait::UntilCancelled, |records, book| {
            let units = requests.iter().map(|request| book.units(&request.population));
            let units = units.collect::<Result<Vec<_>, LedgerError>>()?;
            let mut all = Vec::with_capacity(requests.len());
            // All requests are looked up before any is written, so that one that must wait leaves
            // nothing behind.
            for request in requests {
                match find(records, book, request)? {
                    Turn::Done(found) => all.push(found),
                    Turn::UnderWay(charge) => return Ok(Turn::UnderWay(charge)),
                }
            }
            let new: Vec<(&Request, Loss)> = requests
                .iter()
                .zip(&all)
                .filter_map(|(request, found)| match found {
                    QuestionState::New(charged) => Some((request, *charged)),
                    QuestionState::Stored(_) | QuestionState::Paid(_) => None,
                })
                .collect();
            // Stored and paid questions cost nothing more. The sum of the others is checked before
            // the first row is written.
            check(book, &new)?;
            let paid = requests.iter().zip(units).zip(all);
            let paid = paid.map(|((request, units), found)| {
                Ok(match found {
                    QuestionState::Stored(stored) => PaymentOutcome::Stored(stored),
                    QuestionState::Paid(entry) => {
                        PaymentOutcome::Charged(payment(request, entry.receipt.clone(), false))
                    }
                    QuestionState::New(charged) => {
                        let receipt = records.add_charge(request, units, charged)?;
                        PaymentOutcome::Charged(payment(request, receipt, true))
                    }
                })
            });
            paid.collect::<Result<_, LedgerError>>().map(Turn::Done)
        })
    }

    /// [`Ledger::begin`](crate::Ledger::begin).
    pub(super) fn take_up(
        &mut self,
        payment: &Payment,
        others: &[Payment],
    ) -> Result<Outcome, LedgerError> {
        let Payment { receipt, analyst, population, new } = payment;
        self.in_turn(Wait::ForOthers, |records, book| {
            // Another program may have recorded it since the payment: then nothing may be drawn.
            if let Some(stored) = book.stored(analyst, population, &receipt.fingerprint) {
                return records.release(stored).map(Outcome::Stored).map(Turn::Done);
            }
            // The receipt holds the row's link: one from another ledger, or from before a restored
            // backup, is refused.
            book.charge(receipt).ok_or_else(|| records.foreign(receipt))?;
            // The claim ends with its program. So a charge is never stuck, and two programs do not
            // answer it at once.
            let Some(claim) = records.0.claim(receipt.id)? else {
                return Ok(Turn::UnderWay(receipt.id));
            };
            for payment in [payment].into_iter().chain(others) {
                let receipt = &payment.receipt;
                let entry = book.charge(receipt).ok_or_else(|| records.foreign(receipt))?;
                entry.check_may_begin()?;
                // Each attempt reads the data, and whether it ends may depend on them: attempts are
                // counted before.
                records.add_attempt(receipt.id, entry.attempts + 1)?;
            }
            let (receipt, new) = (receipt.clone(), *new);
            Ok(Turn::Done(Outcome::Charged(Charge { receipt, claim, new })))
        })
    }

    /// [`Ledger::copy`](crate::Ledger::copy).
    pub(super) fn put_copies(
        &mut self,
        payments: &[Payment],
        release: &Release,
    ) -> Result<(), LedgerError> {
        let Some(first) = payments.first() else { return Ok(()) };
        self.patiently(first.receipt.id, |ledger| ledger.copied(payments, release))
    }

    fn copied(&mut self, payments: &[Payment], release: &Release) -> Result<(), LedgerError> {
        self.in_turn(Wait::ToTheEnd, |records, book| {
            let mut to_do = Vec::with_capacity(payments.len());
            for Payment { receipt, analyst, population, .. } in payments {
                if book.stored(analyst, population, &receipt.fingerprint).is_some() {
                    continue;
                }
                let entry = book.charge(receipt).ok_or_else(|| records.foreign(receipt))?;
                let Some(claim) = records.0.claim(receipt.id)? else {
                    return Ok(Turn::UnderWay(receipt.id));
                };
                entry.check_may_begin()?;
                to_do.push((entry, claim));
            }
            for (entry, _claim) in &to_do {
                let charge = entry.receipt.id;
                // A copy passes through all states, so that the chains read back as those of any
                // other charge.
                records.add_attempt(charge, entry.attempts + 1)?;
                records.add_draw(charge)?;
                records.add_release(charge, release)?;
            }
            Ok(Turn::Done(()))
        })
    }

    /// Changes the store when no other program is at work on the same question.
    fn in_turn<T>(
        &mut self,
        wait: Wait,
        mut turn: impl FnMut(&LedgerRecords<'_>, &Book) -> Result<Turn<T>, LedgerError>,
    ) -> Result<T, LedgerError> {
        let given_up = Arc::clone(&self.given_up);
        let mut noticed = false;
        loop {
            let turned = self.change(|records, book| {
                // Here the store is locked, so that nothing is paid for after this look.
                if wait == Wait::UntilCancelled && given_up() {
                    return Err(LedgerError::GivenUp);
                }
                turn(records, book)
            });
            match turned? {
                Turn::Done(done) => return Ok(done),
                Turn::UnderWay(_) if wait == Wait::ForOthers && given_up() => {
                    return Err(LedgerError::GivenUp);
                }
                Turn::UnderWay(charge) => {
                    if !std::mem::replace(&mut noticed, true) {
                        (self.listener)(&Notice::UnderWay { charge });
                    }
                    // Outside of the transaction: asleep in it, this program would keep the other
                    // one from recording.
                    thread::sleep(LOOK_AGAIN);
                }
            }
        }
    }
}

/// An account's release or charge for a question.
enum QuestionState<'a> {
    /// Its release.
    Stored(StoredRelease),
    /// A charge that can be answered.
    Paid(&'a ChargeEntry),
    /// Nothing; with its cost in the budget's currency.
    New(Loss),
}

/// Looks for what the account has for a question.
fn find<'a>(
    records: &LedgerRecords<'_>,
    book: &'a Book,
    request: &Request,
) -> Result<Turn<QuestionState<'a>>, LedgerError> {
    let Request { analyst, population, fingerprint, .. } = request;
    if let Some(stored) = book.stored(analyst, population, fingerprint) {
        return records.release(stored).map(QuestionState::Stored).map(Turn::Done);
    }
    if let Some(entry) = book.resumable(analyst, population, fingerprint) {
        return Ok(Turn::Done(QuestionState::Paid(entry)));
    }
    for charge in book.drawn(analyst, population, fingerprint) {
        // Whoever has drawn it records it soon. Where nobody has the claim, it is lost.
        if records.0.claim(charge)?.is_none() {
            return Ok(Turn::UnderWay(charge));
        }
    }
    let Request { loss, events, limit, .. } = request;
    let charged = cost(*loss, events, *limit);
    let account = (analyst.as_str(), population.as_str());
    let refused = |_| LedgerError::rho_from_epsilon(account, *loss, *limit);
    let charged = charged.map_err(refused)?;
    Ok(Turn::Done(QuestionState::New(charged)))
}

fn payment(request: &Request, receipt: Receipt, new: bool) -> Payment {
    Payment {
        receipt,
        analyst: request.analyst.clone(),
        population: request.population.clone(),
        new,
    }
}

/// Refuses new questions that do not fit into their accounts' budgets together.
fn check(book: &Book, new: &[(&Request, Loss)]) -> Result<(), LedgerError> {
    let mut rest = new.to_vec();
    while let Some((first, _)) = rest.first().copied() {
        let same = |(request, _): &(&Request, Loss)| {
            (&request.analyst, &request.population) == (&first.analyst, &first.population)
        };
        let (same_account, others) = rest.into_iter().partition::<Vec<_>, _>(same);
        check_account(book, &same_account)?;
        rest = others;
    }
    Ok(())
}

/// Refuses new questions that do not fit into the budget of their one account together.
fn check_account(book: &Book, new: &[(&Request, Loss)]) -> Result<(), LedgerError> {
    let [(first, cost), others @ ..] = new else { return Ok(()) };
    let charged = cost.plus_all(others.iter().map(|(_, loss)| *loss));
    let charged = charged.map_err(|_| LedgerError::LossesTooLarge)?;
    let Request { analyst, population, limit, .. } = first;
    // The sum is taken of the rows each time; a stored total could be out of step with them.
    let account = book.account(analyst, population, *limit)?;
    if account.admits(charged) {
        return Ok(());
    }
    let asked = first.loss.plus_all(others.iter().map(|(request, _)| request.loss));
    Err(LedgerError::Exhausted(Box::new(BudgetExceeded {
        analyst: analyst.clone(),
        population: population.clone(),
        questions: new.len(),
        asked: asked.unwrap_or(charged),
        charged,
        account,
    })))
}
