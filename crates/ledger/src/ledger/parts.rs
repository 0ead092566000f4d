//! Several questions that are paid for at once, and taken up again after a crash.

use hushtable_privacy::Loss;

use super::{Ledger, in_budget_currency};
use crate::book::Book;
use crate::charge::Receipt;
use crate::records::Records;
use crate::{BudgetExceeded, Charge, Fingerprint, LedgerError, Outcome, Paid, Payment, Request};

impl Ledger {
    /// Pays for several questions, for all that are not paid for yet or for none: what they cost
    /// each account, and all accounts together. Their fingerprints must differ.
    ///
    /// A question that has a release on record costs nothing, and neither does one that was paid
    /// for in this way before and has none: whoever paid was stopped, or is at work. When this
    /// returns, the losses of all others together are on disk.
    ///
    /// # Errors
    /// When the budget does not allow them all ([`LedgerError::Exhausted`]), when the currencies do
    /// not fit, and when the file cannot be read or written. Nothing is charged then.
    pub fn charge_all(&mut self, requests: &[Request]) -> Result<Vec<Paid>, LedgerError> {
        self.change(|records, book| {
            let found = requests
                .iter()
                .map(|request| find(records, book, request))
                .collect::<Result<Vec<Found>, LedgerError>>()?;
            let new: Vec<(&Request, Loss)> = requests
                .iter()
                .zip(&found)
                .filter_map(|(request, found)| match found {
                    Found::New(charged) => Some((request, *charged)),
                    Found::Paid(_) => None,
                })
                .collect();
            check(book, &new)?;
            let paid = requests.iter().zip(found).map(|(request, found)| match found {
                Found::Paid(paid) => Ok(paid),
                Found::New(charged) => {
                    let receipt = records.add_charge(request, charged, true)?;
                    Ok(Paid::Charged(payment(request, receipt, true)))
                }
            });
            paid.collect()
        })
    }

    /// The charge of a payment, with which the data can be read; or the release, if the question
    /// has got one since. Each time counts as an attempt: when this returns a charge, that is on
    /// disk.
    ///
    /// # Errors
    /// When there were [`MOST_ATTEMPTS`](crate::MOST_ATTEMPTS) already, when the payment is of
    /// another ledger, and when the file cannot be read or written.
    pub fn begin(&mut self, payment: &Payment) -> Result<Outcome, LedgerError> {
        let Payment { receipt, analyst, population, .. } = payment;
        self.change(|records, book| {
            if let Some(stored) = book.stored(analyst, population, &receipt.fingerprint) {
                return records.release(stored).map(Outcome::Stored);
            }
            match book.charge(receipt) {
                None => Err(records.foreign(receipt)),
                Some(entry) if entry.may_begin() => {
                    records.add_attempt(receipt.id, entry.attempts + 1)?;
                    Ok(Outcome::Charged(Charge { receipt: receipt.clone() }))
                }
                Some(entry) => Err(LedgerError::TooManyAttempts {
                    charge: receipt.id,
                    attempts: entry.attempts,
                    loss: receipt.loss,
                }),
            }
        })
    }

    /// Whether [`Self::charge_all`] would find the question paid for, though without a release.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn is_paid(
        &self,
        analyst: &str,
        population: &str,
        fingerprint: &Fingerprint,
    ) -> Result<bool, LedgerError> {
        self.look(|_, book| Ok(book.unreleased(analyst, population, fingerprint).is_some()))
    }
}

/// How it stands with a question.
enum Found {
    Paid(Paid),
    /// With what it costs, in the budget's currency.
    New(Loss),
}

fn find(records: &Records<'_>, book: &Book, request: &Request) -> Result<Found, LedgerError> {
    let Request { analyst, population, fingerprint, .. } = request;
    if let Some(stored) = book.stored(analyst, population, fingerprint) {
        return Ok(Found::Paid(Paid::Stored(records.release(stored)?)));
    }
    Ok(match book.unreleased(analyst, population, fingerprint) {
        Some(receipt) => Found::Paid(Paid::Charged(payment(request, receipt.clone(), false))),
        None => Found::New(in_budget_currency(request)?),
    })
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
