//! Paying for questions, and taking up what is paid for.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hushtable_privacy::Loss;

use super::{Ledger, in_budget_currency};
use crate::book::{Book, Entry};
use crate::charge::Receipt;
use crate::claim::Claim;
use crate::records::Records;
use crate::{
    BudgetExceeded, Charge, Fingerprint, LedgerError, Notice, Outcome, Paid, Payment, Release,
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
    WhileWanted,
    /// As long as it takes: what is paid for is to go on record.
    ToTheEnd,
}

impl Ledger {
    /// Pays for a question, or finds that the account has paid for it before.
    ///
    /// A release stored under the same fingerprint for the same analyst and population is returned,
    /// free. So is one that another program is about to record for them, as soon as it is on
    /// record. A charge of theirs for which nothing was drawn is taken up: whoever paid was
    /// stopped. Otherwise the loss is added to what the account has spent, and refused if that is
    /// above the limit in any component; exactly at the limit is allowed. A loss in epsilon
    /// against a limit in rho is charged as [`Loss::in_rho`]. When this returns a charge, it is
    /// on disk, and so is the attempt to answer it.
    ///
    /// # Errors
    /// When nobody wants the answer any more while this waits ([`LedgerError::GivenUp`]).
    /// When the budget does not allow it ([`LedgerError::Exhausted`]), when the currencies do not
    /// fit, when the contract's populations do not fit the charges on record
    /// ([`LedgerError::PopulationsDiffer`]), and when the file cannot be read or written. Nothing
    /// is charged then.
    pub fn charge(&mut self, request: &Request) -> Result<Outcome, LedgerError> {
        self.in_turn(Wait::WhileWanted, |claims, records, book| {
            let units = book.units(&request.population)?;
            let (receipt, attempts, new) = match find(claims, records, book, request)? {
                Turn::UnderWay(charge) => return Ok(Turn::UnderWay(charge)),
                Turn::Done(Found::Stored(stored)) => {
                    return Ok(Turn::Done(Outcome::Stored(stored)));
                }
                Turn::Done(Found::Paid(entry)) => (entry.receipt.clone(), entry.attempts, false),
                Turn::Done(Found::New(charged)) => {
                    check(book, &[(request, charged)])?;
                    (records.add_charge(request, units, charged)?, 0, true)
                }
            };
            let Some(claim) = claims.take(receipt.id)? else {
                return match new {
                    false => Ok(Turn::UnderWay(receipt.id)),
                    true => Err(claims.error("a new charge is claimed already")),
                };
            };
            records.add_attempt(receipt.id, attempts + 1)?;
            Ok(Turn::Done(Outcome::Charged(Charge { receipt, claim, new })))
        })
    }

    /// Pays for several questions, for all that are not paid for yet or for none: what they cost
    /// each account, and all accounts together. Their fingerprints must differ.
    ///
    /// A question that has a release on record costs nothing, and neither does one that is paid for
    /// and not drawn: whoever paid was stopped, or is at work. When this returns, the losses of all
    /// others together are on disk.
    ///
    /// # Errors
    /// When nobody wants the answers any more while this waits ([`LedgerError::GivenUp`]).
    /// When the budget does not allow them all ([`LedgerError::Exhausted`]), when the currencies do
    /// not fit, when the contract's populations do not fit the charges on record
    /// ([`LedgerError::PopulationsDiffer`]), and when the file cannot be read or written. Nothing
    /// is charged then.
    pub fn charge_all(&mut self, requests: &[Request]) -> Result<Vec<Paid>, LedgerError> {
        self.in_turn(Wait::WhileWanted, |claims, records, book| {
            let units = requests.iter().map(|request| book.units(&request.population));
            let units = units.collect::<Result<Vec<_>, LedgerError>>()?;
            let mut all = Vec::with_capacity(requests.len());
            for request in requests {
                match find(claims, records, book, request)? {
                    Turn::Done(found) => all.push(found),
                    Turn::UnderWay(charge) => return Ok(Turn::UnderWay(charge)),
                }
            }
            let new: Vec<(&Request, Loss)> = requests
                .iter()
                .zip(&all)
                .filter_map(|(request, found)| match found {
                    Found::New(charged) => Some((request, *charged)),
                    Found::Stored(_) | Found::Paid(_) => None,
                })
                .collect();
            check(book, &new)?;
            let paid = requests.iter().zip(units).zip(all);
            let paid = paid.map(|((request, units), found)| {
                Ok(match found {
                    Found::Stored(stored) => Paid::Stored(stored),
                    Found::Paid(entry) => {
                        Paid::Charged(payment(request, entry.receipt.clone(), false))
                    }
                    Found::New(charged) => {
                        let receipt = records.add_charge(request, units, charged)?;
                        Paid::Charged(payment(request, receipt, true))
                    }
                })
            });
            paid.collect::<Result<_, LedgerError>>().map(Turn::Done)
        })
    }

    /// The charge of a payment, with which the data can be read; or the release, if the question
    /// has got one since. `others` are the payments of further accounts for the same release.
    /// Waits while another program is at work on it. Each time is counted as an attempt
    /// for every account: when this returns a charge, that is on disk.
    ///
    /// # Errors
    /// When another program has taken a charge up and it can be answered no more
    /// ([`LedgerError::Lapsed`]), when a payment is of another ledger, and when the file cannot
    /// be read or written.
    pub fn begin(&mut self, payment: &Payment, others: &[Payment]) -> Result<Outcome, LedgerError> {
        let Payment { receipt, analyst, population, new } = payment;
        self.in_turn(Wait::ToTheEnd, |claims, records, book| {
            if let Some(stored) = book.stored(analyst, population, &receipt.fingerprint) {
                return records.release(stored).map(Outcome::Stored).map(Turn::Done);
            }
            book.charge(receipt).ok_or_else(|| records.foreign(receipt))?;
            let Some(claim) = claims.take(receipt.id)? else {
                return Ok(Turn::UnderWay(receipt.id));
            };
            for payment in [payment].into_iter().chain(others) {
                let receipt = &payment.receipt;
                let entry = book.charge(receipt).ok_or_else(|| records.foreign(receipt))?;
                entry.check_may_begin()?;
                records.add_attempt(receipt.id, entry.attempts + 1)?;
            }
            let (receipt, new) = (receipt.clone(), *new);
            Ok(Turn::Done(Outcome::Charged(Charge { receipt, claim, new })))
        })
    }

    /// Puts a release that one account has on record there for others that have paid for it, too.
    /// Nothing is read or drawn for it; all of it is written, or nothing.
    ///
    /// # Errors
    /// Those of [`Self::begin`].
    pub fn copy(&mut self, payments: &[Payment], release: &Release) -> Result<(), LedgerError> {
        let Some(first) = payments.first() else { return Ok(()) };
        self.patiently(first.receipt.id, |ledger| ledger.copied(payments, release))
    }

    fn copied(&mut self, payments: &[Payment], release: &Release) -> Result<(), LedgerError> {
        self.in_turn(Wait::ToTheEnd, |claims, records, book| {
            let mut to_do = Vec::with_capacity(payments.len());
            for Payment { receipt, analyst, population, .. } in payments {
                if book.stored(analyst, population, &receipt.fingerprint).is_some() {
                    continue;
                }
                let entry = book.charge(receipt).ok_or_else(|| records.foreign(receipt))?;
                let Some(claim) = claims.take(receipt.id)? else {
                    return Ok(Turn::UnderWay(receipt.id));
                };
                entry.check_may_begin()?;
                to_do.push((entry, claim));
            }
            for (entry, _claim) in &to_do {
                let charge = entry.receipt.id;
                records.add_attempt(charge, entry.attempts + 1)?;
                records.add_draw(charge)?;
                records.add_release(charge, release)?;
            }
            Ok(Turn::Done(()))
        })
    }

    /// Whether [`Self::charge`] would find the question paid for, though without a release.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn is_paid(
        &self,
        analyst: &str,
        population: &str,
        fingerprint: &Fingerprint,
    ) -> Result<bool, LedgerError> {
        self.look(|_, book| Ok(book.resumable(analyst, population, fingerprint).is_some()))
    }

    /// Changes the file when no other program is at work on the same question.
    fn in_turn<T>(
        &mut self,
        wait: Wait,
        mut turn: impl FnMut(&Claims, &Records<'_>, &Book) -> Result<Turn<T>, LedgerError>,
    ) -> Result<T, LedgerError> {
        let claims = Claims { path: self.path.clone(), real: self.real.clone() };
        let given_up = Arc::clone(&self.given_up);
        let mut noticed = false;
        loop {
            let turned = self.change(|records, book| {
                // Here the file is locked, so that nothing is paid for after this look.
                if wait == Wait::WhileWanted && given_up() {
                    return Err(LedgerError::GivenUp);
                }
                turn(&claims, records, book)
            });
            match turned? {
                Turn::Done(done) => return Ok(done),
                Turn::UnderWay(charge) => {
                    if !std::mem::replace(&mut noticed, true) {
                        (self.listener)(&Notice::UnderWay { charge });
                    }
                    thread::sleep(LOOK_AGAIN);
                }
            }
        }
    }
}

/// Claims on the charges of a ledger.
struct Claims {
    path: PathBuf,
    real: PathBuf,
}

impl Claims {
    /// Claims a charge; `None` where another program is at work on it.
    fn take(&self, charge: i64) -> Result<Option<Claim>, LedgerError> {
        Claim::take(&self.real, charge).map_err(|error| self.error(error))
    }

    fn error(&self, detail: impl ToString) -> LedgerError {
        LedgerError::Claim { path: self.path.clone(), detail: detail.to_string() }
    }
}

/// An account's release or charge for a question.
enum Found<'a> {
    /// Its release.
    Stored(StoredRelease),
    /// A charge that can be answered.
    Paid(&'a Entry),
    /// Nothing; with its cost in the budget's currency.
    New(Loss),
}

/// Looks for what the account has for a question.
fn find<'a>(
    claims: &Claims,
    records: &Records<'_>,
    book: &'a Book,
    request: &Request,
) -> Result<Turn<Found<'a>>, LedgerError> {
    let Request { analyst, population, fingerprint, .. } = request;
    if let Some(stored) = book.stored(analyst, population, fingerprint) {
        return records.release(stored).map(Found::Stored).map(Turn::Done);
    }
    if let Some(entry) = book.resumable(analyst, population, fingerprint) {
        return Ok(Turn::Done(Found::Paid(entry)));
    }
    for charge in book.drawn(analyst, population, fingerprint) {
        // Whoever has drawn it records it soon. Where nobody has the claim, it is lost.
        if claims.take(charge)?.is_none() {
            return Ok(Turn::UnderWay(charge));
        }
    }
    in_budget_currency(request).map(Found::New).map(Turn::Done)
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
        let same = |(own, _): &(&Request, Loss)| {
            (&own.analyst, &own.population) == (&first.analyst, &first.population)
        };
        let (own, others) = rest.into_iter().partition::<Vec<_>, _>(same);
        check_account(book, &own)?;
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
