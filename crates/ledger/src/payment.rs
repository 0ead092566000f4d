//! Charges that are paid, and not begun or not finished.

use hushtable_privacy::Loss;

use crate::StoredRelease;
use crate::charge::Receipt;

/// Most times that the data are read for one charge.
///
/// A program that was stopped while it read leaves a charge for which nothing was drawn, so it is
/// taken up again. How long reading took, and whether it failed, follow from the exact data, and no
/// budget pays for that: so there is an end to attempts.
pub const MOST_ATTEMPTS: u32 = 20;

/// The outcome of [`crate::Ledger::charge_all`] for one question.
#[derive(Debug)]
#[must_use = "the charge is spent, whether it is used or not"]
pub enum PaymentOutcome {
    /// The loss is taken from the budget, durably: now, or before a crash.
    Charged(Payment),
    /// The release of a question that this account has paid for before, free.
    Stored(StoredRelease),
}

/// A loss that is taken from a budget and on disk. [`crate::Ledger::begin`] makes it a
/// [`crate::Charge`], with which the data can be read.
#[derive(Debug)]
#[must_use = "the charge is spent, whether it is used or not"]
pub struct Payment {
    pub(crate) receipt: Receipt,
    pub(crate) analyst: String,
    pub(crate) population: String,
    pub(crate) new: bool,
}

impl Payment {
    /// The charge's number in its ledger, from 1.
    pub fn id(&self) -> i64 {
        self.receipt.id
    }

    /// The charge to the budget, in the budget's currency.
    pub fn charged(&self) -> Loss {
        self.receipt.charged
    }

    /// Whether it was taken now, and not by a program that was stopped.
    pub fn is_new(&self) -> bool {
        self.new
    }
}
