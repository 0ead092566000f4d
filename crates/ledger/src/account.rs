//! A budget, with what is spent and left of it. Pure: knows of no file.

use hushtable_privacy::Loss;
use serde::Serialize;

/// The state of one analyst's budget on one population, in the currency of its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Account {
    /// The limit, as the contract has it now.
    pub total: Loss,
    /// The exact sum of the charges. Above `total` if the owner lowered the limit since.
    pub spent: Loss,
    /// `total` less `spent`, and nothing where that would be negative.
    pub left: Loss,
}

impl Account {
    /// A budget with nothing spent.
    pub fn untouched(total: Loss) -> Self {
        Self::new(total, total.nothing())
    }

    pub(crate) fn new(total: Loss, spent: Loss) -> Self {
        Self { total, spent, left: total.left_after(spent) }
    }

    /// Whether one more charge of `loss`, in the same currency, stays within the limit.
    pub(crate) fn admits(&self, loss: Loss) -> bool {
        // A sum too large to be kept is above every limit.
        self.spent.plus(loss).is_ok_and(|sum| sum.is_within(self.total))
    }
}
