//! A budget, with what is spent and left of it.

use serde::Serialize;

use crate::{Loss, LossError};

/// The state of one budget, in the currency of its limit: a privacy filter whose total is a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Account {
    /// The limit.
    pub total: Loss,
    /// The exact sum of the charges. Above `total` if the limit was lowered since.
    pub spent: Loss,
    /// `total` less `spent`, and nothing where that would be negative.
    pub left: Loss,
}

impl Account {
    /// A budget with nothing spent.
    pub fn untouched(total: Loss) -> Self {
        Self::new(total, total.nothing())
    }

    /// A budget with the loss that is spent of it, in its currency.
    pub fn new(total: Loss, spent: Loss) -> Self {
        Self { total, spent, left: total.left_after(spent) }
    }

    /// The account after a charge that was made, whether or not it is within the limit as it is
    /// now.
    ///
    /// `asked` is its loss in the currency of the question, `charged` in that of the budget then.
    /// Both are true of the release: a loss that was asked in epsilon is counted as that under a
    /// limit in epsilon, even if the limit was in rho when it was charged.
    ///
    /// # Errors
    /// [`LossError::Currency`] where it was asked in rho and the limit is in epsilon, and
    /// [`LossError::TooLarge`] where the sum is above the largest amount.
    pub fn after(self, asked: Loss, charged: Loss) -> Result<Self, LossError> {
        let loss = match self.total {
            Loss::Approximate { .. } => asked,
            Loss::Concentrated { .. } => charged,
        };
        Ok(Self::new(self.total, self.spent.plus(loss.in_currency_of(self.total)?)?))
    }

    /// Whether one more charge of `loss`, in the same currency, stays within the limit.
    pub fn admits(&self, loss: Loss) -> bool {
        // A sum too large to be kept is above every limit.
        self.spent.plus(loss).is_ok_and(|sum| sum.is_within(self.total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_follows_its_limit_to_another_currency_and_back() {
        let epsilon = |text: &str| Loss::pure(text.parse().unwrap());
        let rho = |text: &str| Loss::concentrated(text.parse().unwrap());
        // Asked in epsilon, and charged to a budget in rho for less than it costs as a whole.
        let (asked, charged) = (epsilon("1"), rho("0.244918662404"));
        let after = |limit| Account::untouched(limit).after(asked, charged);
        assert_eq!(after(epsilon("2")), Ok(Account::new(epsilon("2"), epsilon("1"))));
        assert_eq!(after(rho("1")), Ok(Account::new(rho("1"), rho("0.244918662404"))));
        let in_rho = Account::untouched(epsilon("2")).after(rho("0.1"), rho("0.1"));
        assert_eq!(in_rho, Err(LossError::Currency));
        let most = Account::untouched(rho("1000000")).after(rho("1000000"), rho("1000000"));
        assert_eq!(most.and_then(|all| all.after(rho("1"), rho("1"))), Err(LossError::TooLarge));
    }

    #[test]
    fn a_budget_admits_all_of_itself_and_no_more() {
        let loss = |epsilon: &str, delta: &str| Loss::Approximate {
            epsilon: epsilon.parse().unwrap(),
            delta: delta.parse().unwrap(),
        };
        let account = Account::new(loss("1", "1e-6"), loss("0.7", "1e-6"));
        assert!(account.admits(loss("0.3", "0")) && !account.admits(loss("0.300000000001", "0")));
        assert!(!account.admits(loss("0.1", "1e-18")));
        assert!(!account.admits(loss("1000000", "0")));
        // The owner lowered the limit: nothing is left, and not even nothing is admitted.
        let lowered = Account::new(loss("0.5", "0"), loss("0.7", "0"));
        assert_eq!(lowered.left, loss("0", "0"));
        assert!(!lowered.admits(loss("0", "0")));
    }
}
