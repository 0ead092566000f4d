//! The steps of the protocol, as everybody sees them.

use std::fmt;
use std::sync::Arc;

use hushtable_privacy::Loss;

use crate::{
    Account, BudgetExceeded, ChargeRecord, DrawnCharge, Fingerprint, LedgerError, Notice,
    OpenedCharge, Outcome, Payment, PaymentOutcome, Release, Request, StoredRelease,
};

/// One connection to a ledger. Any number of processes and threads may each have one of their own
/// to the same ledger.
///
/// Only this crate implements it: a [`Charge`](crate::Charge) has to be worth what it says.
pub trait Ledger: fmt::Debug + Send + closed::SealedLedger {
    /// Pays for questions, for all that are not paid for yet or for none: what they cost each
    /// account, and all accounts together. Their fingerprints must differ.
    ///
    /// A release stored under the same fingerprint for the same analyst and population is given,
    /// free. So is one that another program is about to record for them, as soon as it is on
    /// record. A question that is paid for and not drawn costs nothing, either: whoever paid was
    /// stopped, or is at work. Otherwise the loss is added to what the account has spent, and
    /// refused if that is above the limit in any component; exactly at the limit is allowed. A loss
    /// in epsilon against a limit in rho is charged as [`cost`](hushtable_privacy::cost) says. When
    /// this returns, the losses of all others together are on disk.
    ///
    /// # Errors
    /// When nobody wants the answers any more while this waits ([`LedgerError::GivenUp`]).
    /// When the budget does not allow them all ([`LedgerError::Exhausted`]), when the currencies do
    /// not fit, when the contract's populations do not fit the charges on record
    /// ([`LedgerError::PopulationsDiffer`]), and when the ledger cannot be read or written. Nothing
    /// is charged then.
    fn charge_all(&mut self, requests: &[Request]) -> Result<Vec<PaymentOutcome>, LedgerError>;

    /// The charge of a payment, with which the data can be read; or the release, if the question
    /// has got one since. `others` are the payments of further accounts for the same release.
    /// Waits while another program is at work on it. Each time is counted as an attempt
    /// for every account: when this returns a charge, that is on disk.
    ///
    /// # Errors
    /// When nobody wants the answer any more while this waits ([`LedgerError::GivenUp`]).
    /// When another program has taken a charge up and it can be answered no more
    /// ([`LedgerError::Lapsed`]), when a payment is of another ledger, and when the ledger cannot
    /// be read or written.
    fn begin(&mut self, payment: &Payment, others: &[Payment]) -> Result<Outcome, LedgerError>;

    /// Puts the state *drawn* of a charge on disk: from here on nobody takes it up again. Only then
    /// may the first random number of its release be drawn, which are to take some `room` bytes on
    /// record. That room is made in the ledger first, so that lack of it shows before the
    /// draw. `others` are the payments of further accounts for the same release, begun with it.
    ///
    /// Where another program keeps the ledger locked, this waits for as long as that takes, and
    /// says so once ([`Self::tell`]).
    ///
    /// # Errors
    /// When a charge is of another ledger or was drawn before, and when the ledger cannot be
    /// written ([`LedgerError::Undrawn`]). Nothing may be drawn then, and the charge can be taken
    /// up again.
    fn draw(
        &mut self,
        charge: OpenedCharge,
        others: Vec<Payment>,
        room: u64,
    ) -> Result<DrawnCharge, LedgerError>;

    /// Stores the release that `charge` paid for. When this returns, it is on disk and may be
    /// shown.
    ///
    /// Where another program keeps the ledger locked, this waits for as long as that takes, and
    /// says so once ([`Self::tell`]): the release is paid for.
    ///
    /// # Errors
    /// When the charge is of another ledger, and when the ledger cannot be written
    /// ([`LedgerError::Unrecorded`]). The release must not be shown then; the loss stays spent.
    fn record(&mut self, charge: DrawnCharge, release: &Release) -> Result<(), LedgerError>;

    /// Puts a release that one account has on record there for others that have paid for it, too.
    /// Nothing is read or drawn for it; all of it is written, or nothing.
    ///
    /// # Errors
    /// Those of [`Self::begin`].
    fn copy(&mut self, payments: &[Payment], release: &Release) -> Result<(), LedgerError>;

    /// The release that [`Self::charge_all`] would give for free, without charging if there is
    /// none.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn stored(
        &self,
        analyst: &str,
        population: &str,
        fingerprint: &Fingerprint,
    ) -> Result<Option<StoredRelease>, LedgerError>;

    /// The releases that an account has on record for questions of a family, in the order in which
    /// they were recorded.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn related(
        &self,
        analyst: &str,
        population: &str,
        family: &Fingerprint,
    ) -> Result<Vec<StoredRelease>, LedgerError>;

    /// Whether [`Self::charge_all`] would find the question paid for, though without a release.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn is_paid(
        &self,
        analyst: &str,
        population: &str,
        fingerprint: &Fingerprint,
    ) -> Result<bool, LedgerError>;

    /// When the same text was charged last, as an RFC 3339 time, where its release is on record.
    /// The release may be of other data, or of another contract: for a message, and no decision.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn answered_before(
        &self,
        analyst: &str,
        population: &str,
        query: &str,
    ) -> Result<Option<String>, LedgerError>;

    /// The account of a limit: how much of it is spent, and how much is left.
    ///
    /// # Errors
    /// When the limit is in epsilon but charges were made in rho, when the sum is too large to be
    /// kept, and when the ledger cannot be read.
    fn account(&self, analyst: &str, population: &str, limit: Loss)
    -> Result<Account, LedgerError>;

    /// Refuses a contract under which somebody who was charged for would have a fresh budget, as
    /// every charge does.
    ///
    /// # Errors
    /// When the contract's populations do not fit the charges on record
    /// ([`LedgerError::PopulationsDiffer`]), and when the ledger cannot be read.
    fn check_populations(&self) -> Result<(), LedgerError>;

    /// All charges, oldest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn charges(&self) -> Result<Vec<ChargeRecord>, LedgerError>;

    /// Whether opening it has made it. A caller should say so: with a mistyped path, every budget
    /// would start afresh.
    fn created(&self) -> bool;

    /// Tells `listener` of everything that is no error: now, if others can open the ledger, and
    /// later.
    fn tell(&mut self, listener: Box<dyn Fn(&Notice) + Send>);

    /// Pays for nothing more when `given_up` says so, and ends waiting for other programs. It is
    /// asked many times a second while this waits.
    fn give_up_when(&mut self, given_up: Arc<dyn Fn() -> bool + Send + Sync>);
}

/// Ledgers are made in this crate alone.
pub(crate) mod closed {
    pub trait SealedLedger {}
}

impl dyn Ledger {
    /// This ledger, which [tells](Ledger::tell) `listener`.
    pub fn telling(mut self: Box<Self>, listener: impl Fn(&Notice) + Send + 'static) -> Box<Self> {
        self.tell(Box::new(listener));
        self
    }

    /// This ledger, which [gives up](Ledger::give_up_when) when `given_up` says so.
    pub fn giving_up_when(
        mut self: Box<Self>,
        given_up: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Box<Self> {
        self.give_up_when(Arc::new(given_up));
        self
    }
}

/// Refuses questions that cannot be answered whatever they are about, as [`Ledger::charge_all`]
/// would, before their mechanisms are made. `asked` has the loss of each, and `least` is a loss
/// that they do not fall below, in the currency of `asked` or of the budget. Without a ledger,
/// nothing is spent. Charges nothing. Where the account has paid for a question of about such a
/// loss, it may be the same, which is free; nothing is refused then.
///
/// # Errors
/// Fails as [`Ledger::charge_all`] does.
pub fn check_budget(
    ledger: Option<&dyn Ledger>,
    (analyst, population): (&str, &str),
    asked: &[Loss],
    least: Loss,
    limit: Loss,
) -> Result<(), LedgerError> {
    let Some((first, others)) = asked.split_first() else { return Ok(()) };
    ledger.map_or(Ok(()), |ledger| ledger.check_populations())?;
    let all = first.plus_all(others.iter().copied());
    let all = all.map_err(|_| LedgerError::LossesTooLarge)?;
    let account = match ledger {
        Some(ledger) => ledger.account(analyst, population, limit)?,
        None => Account::untouched(limit),
    };
    let refusal = match (all.in_currency_of(limit), least.in_currency_of(limit)) {
        (Ok(_), Ok(least)) if account.admits(least) => return Ok(()),
        (Ok(charged), Ok(_)) => {
            let (analyst, population) = (analyst.to_owned(), population.to_owned());
            let questions = asked.len();
            let refusal =
                BudgetExceeded { analyst, population, questions, asked: all, charged, account };
            LedgerError::Exhausted(Box::new(refusal))
        }
        _ => LedgerError::rho_from_epsilon((analyst, population), all, limit),
    };
    let charges = ledger.map(|ledger| ledger.charges()).transpose()?.unwrap_or_default();
    let mut of_analyst = charges.iter().filter(|c| c.analyst == analyst && c.account == population);
    let found =
        of_analyst.any(|charge| asked.iter().any(|&loss| charge.asked.is_half_or_all_of(loss)));
    if found { Ok(()) } else { Err(refusal) }
}
