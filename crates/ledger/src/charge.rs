//! Asking for a charge, the receipt for one, and its place in the record.

use hushtable_privacy::{Event, Loss};
use serde::Serialize;

use crate::chain::Link;
use crate::claim::Claim;
use crate::units::Units;
use crate::{Fingerprint, StoredRelease};

/// A question and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The analyst who asks.
    pub analyst: String,
    /// The population whose budget pays.
    pub population: String,
    /// The query's text, for the record.
    pub query: String,
    /// The question's identity.
    pub fingerprint: Fingerprint,
    /// The identity that it shares with questions whose releases may hold the answer to it.
    pub family: Fingerprint,
    /// The price of the release, in the currency of the question.
    pub loss: Loss,
    /// The mechanisms that will run, for the tightest total of all charges; together they cost no
    /// more than the loss.
    pub events: Vec<Event>,
    /// The account's whole budget, as the contract has it now.
    pub limit: Loss,
}

/// The outcome of [`crate::Ledger::begin`].
#[derive(Debug)]
#[must_use = "the charge is spent, whether it is used or not"]
pub enum Outcome {
    /// The charge, with which the data can be read.
    Charged(Charge),
    /// The release of a question that this account has paid for before, free.
    Stored(StoredRelease),
}

/// The ledger's receipt: a loss that has been taken from a budget and is on disk.
///
/// Only a [`crate::Ledger`] can make one, and it cannot be copied, so that each is a distinct
/// payment. While there is one, whoever asks the same question waits.
#[derive(Debug)]
#[must_use = "the charge is spent, whether it is used or not"]
pub struct Charge {
    pub(crate) receipt: Receipt,
    pub(crate) claim: Claim,
    pub(crate) new: bool,
}

/// A charge with which the exact data have been opened: the next step is [`crate::Ledger::draw`].
#[derive(Debug)]
#[must_use = "the release has to be drawn and recorded before it may be shown"]
pub struct OpenedCharge {
    pub(crate) receipt: Receipt,
    pub(crate) claim: Claim,
}

/// A charge whose state *drawn* is on disk: the one with which random numbers of a release may be
/// drawn. All that is left to do is to [`crate::Ledger::record`] the release.
#[derive(Debug)]
#[must_use = "the release has to be recorded before it may be shown"]
pub struct DrawnCharge {
    pub(crate) receipt: Receipt,
    /// The charges of further accounts for the same release.
    pub(crate) others: Vec<Receipt>,
    pub(crate) _claim: Claim,
}

#[derive(Clone, Debug)]
pub(crate) struct Receipt {
    pub(crate) id: i64,
    /// Tells it from charges of the same number in other ledgers.
    pub(crate) link: Link,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) loss: Loss,
    pub(crate) charged: Loss,
}

impl Charge {
    /// The charge's number in its ledger, from 1.
    pub fn id(&self) -> i64 {
        self.receipt.id
    }

    /// The question that was paid for.
    pub fn fingerprint(&self) -> Fingerprint {
        self.receipt.fingerprint
    }

    /// The loss that the release may have: [`Request::loss`].
    pub fn loss(&self) -> Loss {
        self.receipt.loss
    }

    /// The charge to the budget: the same loss in the budget's currency.
    pub fn charged(&self) -> Loss {
        self.receipt.charged
    }

    /// Whether it was charged now, and not by a program that was stopped.
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// Gives up the charge for what [`crate::Ledger::draw`] takes, so that one charge opens the
    /// exact data once.
    pub fn open(self) -> OpenedCharge {
        OpenedCharge { receipt: self.receipt, claim: self.claim }
    }
}

impl OpenedCharge {
    /// The charge's number in its ledger, from 1.
    pub fn id(&self) -> i64 {
        self.receipt.id
    }
}

/// One line of the record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChargeRecord {
    /// The charge's number, from 1; later charges have larger ones.
    pub id: i64,
    /// When it was charged: UTC, RFC 3339, to the millisecond, by this machine's clock.
    pub charged_at: String,
    /// The analyst who asked.
    pub analyst: String,
    /// The population whose budget paid, by its name then.
    pub table: String,
    /// The population whose account it is on, by its name now.
    #[serde(skip)]
    pub account: String,
    /// How the population's tables held its units.
    pub units: Units,
    /// The query's text.
    pub query: String,
    /// The loss in the currency in which it was asked.
    pub asked: Loss,
    /// The loss in the currency that the budget had then.
    pub charged: Loss,
    /// How far its release is. The loss is spent in every state.
    pub state: ChargeState,
    /// The mechanisms that ran.
    pub events: Vec<Event>,
}

/// The states of a charge, in their order. Each is on disk before the next step is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChargeState {
    /// Nothing was drawn for it. A program is at work, was stopped or failed: whoever asks the
    /// question again takes the charge up.
    Charged,
    /// The release was drawn, or was about to be. A program is about to record it, or the release
    /// is lost: then the question is charged anew.
    Drawn,
    /// The release is on record.
    Recorded,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails to compile when `$type` implements one of the traits: the call below is ambiguous
    /// then.
    macro_rules! assert_not_impl {
        ($type:ty: $($trait:path),+) => {$({
            trait Ambiguous<A> {
                fn here() {}
            }
            struct Implements;
            impl<T: ?Sized> Ambiguous<()> for T {}
            impl<T: ?Sized + $trait> Ambiguous<Implements> for T {}
            <$type as Ambiguous<_>>::here();
        })+};
    }

    #[test]
    fn a_charge_can_be_made_by_the_ledger_alone() {
        assert_not_impl!(Charge: Clone, Default, serde::de::DeserializeOwned, From<OpenedCharge>);
        assert_not_impl!(OpenedCharge: Clone, Default, serde::de::DeserializeOwned, From<Charge>);
        assert_not_impl!(DrawnCharge: Clone, Default, serde::de::DeserializeOwned);
        assert_not_impl!(DrawnCharge: From<Charge>, From<OpenedCharge>);
    }
}
