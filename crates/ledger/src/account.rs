//! A budget, with what is spent and left of it. Pure: knows of no file.

use hushtable_privacy::{Delta, Epsilon, Loss, Rho};
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
        Self { total, spent, left: left(total, spent) }
    }

    /// Whether one more charge of `loss`, in the same currency, stays within the limit.
    pub(crate) fn admits(&self, loss: Loss) -> bool {
        // A sum too large to be kept is above every limit.
        self.spent.plus(loss).is_ok_and(|sum| within(sum, self.total))
    }
}

/// Whether `sum` is at most `limit` in every component; never across currencies.
fn within(sum: Loss, limit: Loss) -> bool {
    match (sum, limit) {
        (
            Loss::Approximate { epsilon, delta },
            Loss::Approximate { epsilon: max_epsilon, delta: max_delta },
        ) => epsilon <= max_epsilon && delta <= max_delta,
        (
            Loss::Concentrated { rho, delta },
            Loss::Concentrated { rho: max_rho, delta: max_delta },
        ) => rho <= max_rho && delta <= max_delta,
        _ => false,
    }
}

fn left(total: Loss, spent: Loss) -> Loss {
    let delta = total.delta().checked_sub(spent.delta()).unwrap_or(Delta::ZERO);
    match (total, spent) {
        (Loss::Approximate { epsilon: total, .. }, Loss::Approximate { epsilon: spent, .. }) => {
            let epsilon = total.checked_sub(spent).unwrap_or(Epsilon::ZERO);
            Loss::Approximate { epsilon, delta }
        }
        (Loss::Concentrated { rho: total, .. }, Loss::Concentrated { rho: spent, .. }) => {
            Loss::Concentrated { rho: total.checked_sub(spent).unwrap_or(Rho::ZERO), delta }
        }
        _ => total.nothing(),
    }
}
