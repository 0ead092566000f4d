//! The one payment of a plan: all parts that are not paid for, in one transaction.

use hushtable_ledger::{Ledger, Outcome, Payment, PaymentOutcome, Request};
use hushtable_privacy::Loss;

use super::{Payer, PlannedPart, StatementPlan};
use crate::answer_table::{AccountCharge, Charges};
use crate::error::EngineError;
use crate::session::Session;
use crate::source::{Data, TableData};

/// The payment of each population of a part.
#[derive(Debug)]
pub(super) struct PaidPart {
    /// The one that the part bounds: its account has the release.
    pub(super) first: PaymentOutcome,
    /// A further one, whose account has a copy.
    pub(super) beside: Vec<PaymentOutcome>,
}

impl StatementPlan {
    /// Charges what is not paid for: all parts, in one transaction. A part that shows the release
    /// of an earlier one pays nothing.
    pub(super) fn pay(
        &self,
        ledger: &mut dyn Ledger,
    ) -> Result<Vec<Option<PaidPart>>, EngineError> {
        self.check_all_unchanged()?;
        let mut requests: Vec<Request> = Vec::new();
        for part in self.parts.iter().filter(|part| part.same_as.is_none()) {
            let request = |Payer { population, limit }: &Payer| {
                part.question.request(population, (part.identity, part.family), *limit)
            };
            requests.extend(part.payers.iter().map(request));
        }
        // One transaction for all parts: a budget that holds only some of them pays for none.
        let mut paid = ledger.charge_all(&requests)?.into_iter();
        let fewer =
            || EngineError::inconsistent("the ledger gave fewer receipts than there were requests");
        let each = self.parts.iter().map(|part| {
            if part.same_as.is_some() {
                return Ok(None);
            }
            let first = paid.next().ok_or_else(fewer)?;
            let others = part.payers.len().checked_sub(1);
            let others = others
                .ok_or(EngineError::inconsistent("a part has no population that pays for it"))?;
            let beside: Vec<PaymentOutcome> = paid.by_ref().take(others).collect();
            // Receipts come in the order of the requests; one too few would give a part the payment
            // of the next.
            if beside.len() == others { Ok(Some(PaidPart { first, beside })) } else { Err(fewer()) }
        });
        let each = each.collect::<Result<Vec<_>, EngineError>>()?;
        if paid.next().is_some() {
            return Err(EngineError::inconsistent(
                "the ledger gave more receipts than there were requests",
            ));
        }
        Ok(each)
    }

    /// Checks that the rows of all tables are those that were planned for, each table once. Charged
    /// for rows that are gone, a question could not be answered.
    fn check_all_unchanged(&self) -> Result<(), EngineError> {
        let mut checked: Vec<(&str, &TableData)> = Vec::new();
        for part in &self.parts {
            let is_new = |(name, data): &(&String, &TableData)| {
                !checked.iter().any(|(other, same)| *other == name.as_str() && same.is_same(data))
            };
            let new: Vec<_> = part.data.iter().filter(is_new).collect();
            for (name, data) in new {
                self.session.check_table_unchanged(name, data)?;
                checked.push((name, data));
            }
        }
        Ok(())
    }

    /// The loss that the payments took from each account.
    pub(super) fn charges(
        &self,
        paid: &[Option<PaidPart>],
        ledger: &dyn Ledger,
        answered_before: Option<String>,
    ) -> Result<Charges, EngineError> {
        let each =
            || self.parts.iter().zip(paid).filter_map(|(part, paid)| Some((part, paid.as_ref()?)));
        let mut accounts = Vec::new();
        for Payer { population, limit } in self.payers_of_all() {
            let mut charged = None;
            for (part, paid) in each() {
                for loss in paid.new_charges(part, population) {
                    let sum = charged.map_or(Ok(loss), |sum: Loss| sum.plus(loss));
                    charged = Some(sum.map_err(|_| {
                        EngineError::inconsistent("the new charges to one population have no sum")
                    })?);
                }
            }
            let is_per_record = |part: &PlannedPart| {
                part.is_paid_by(population) && part.question.explanation.policy.is_some()
            };
            accounts.push(AccountCharge {
                population: population.clone(),
                charged,
                per_record: self.parts.iter().any(is_per_record),
                account: ledger.account(&self.analyst, population, *limit)?,
            });
        }
        let count =
            |of: fn(&PaymentOutcome) -> bool| each().filter(|(_, paid)| of(&paid.first)).count();
        Ok(Charges {
            analyst: self.analyst.clone(),
            answered_before: answered_before
                .filter(|_| accounts.iter().any(|a| a.charged.is_some())),
            accounts,
            new: count(|paid| matches!(paid, PaymentOutcome::Charged(payment) if payment.is_new())),
            resumed: count(
                |paid| matches!(paid, PaymentOutcome::Charged(payment) if !payment.is_new()),
            ),
            on_record: count(|paid| matches!(paid, PaymentOutcome::Stored(_))),
            ledger_created: ledger.created(),
        })
    }
}

impl PaidPart {
    /// The charges to a population that are new.
    fn new_charges<'a>(
        &'a self,
        part: &'a PlannedPart,
        population: &'a str,
    ) -> impl Iterator<Item = Loss> + 'a {
        let all = [&self.first].into_iter().chain(&self.beside);
        part.payers.iter().zip(all).filter_map(move |(payer, paid)| match paid {
            PaymentOutcome::Charged(payment)
                if payment.is_new() && payer.population == population =>
            {
                Some(payment.charged())
            }
            _ => None,
        })
    }
}

/// The charge with which the data can be read, if they are still those that were planned for.
pub(super) fn begin(
    session: &Session,
    data: &Data,
    ledger: &mut dyn Ledger,
    (payment, others): (&Payment, &[Payment]),
) -> Result<Outcome, EngineError> {
    // The release would be recorded as one of the old files, and be given for them again.
    session.check_unchanged(data)?;
    Ok(ledger.begin(payment, others)?)
}
