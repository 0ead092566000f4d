//! The loss of one mechanism, or of a whole release.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Delta, Epsilon, Rho, pure_rho};

/// A privacy loss in one of the two currencies in which budgets are counted.
///
/// Losses of the same currency compose by addition: epsilons and deltas add up (basic
/// composition), and so do the rhos and deltas of delta-approximate zCDP (Bun & Steinke 2016,
/// Lemma 8.2; theory section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Loss {
    /// (epsilon, delta)-differential privacy; pure where delta is zero.
    Approximate {
        /// The epsilon.
        epsilon: Epsilon,
        /// The delta.
        delta: Delta,
    },
    /// delta-approximate rho-zCDP; plain zCDP where delta is zero.
    Concentrated {
        /// The rho.
        rho: Rho,
        /// The delta.
        delta: Delta,
    },
}

/// Two losses that cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LossError {
    /// One in epsilon, one in rho.
    #[error("a loss in epsilon and a loss in rho cannot be added up")]
    Currency,
    /// The sum is above the largest amount.
    #[error("the losses add up to more than the largest amount")]
    TooLarge,
}

impl Loss {
    /// Pure epsilon.
    pub fn pure(epsilon: Epsilon) -> Self {
        Self::Approximate { epsilon, delta: Delta::ZERO }
    }

    /// Plain zCDP.
    pub fn concentrated(rho: Rho) -> Self {
        Self::Concentrated { rho, delta: Delta::ZERO }
    }

    /// No loss, in the same currency.
    pub fn nothing(self) -> Self {
        match self {
            Self::Approximate { .. } => Self::pure(Epsilon::ZERO),
            Self::Concentrated { .. } => Self::concentrated(Rho::ZERO),
        }
    }

    /// This loss with another delta.
    pub fn with_delta(self, delta: Delta) -> Self {
        match self {
            Self::Approximate { epsilon, .. } => Self::Approximate { epsilon, delta },
            Self::Concentrated { rho, .. } => Self::Concentrated { rho, delta },
        }
    }

    /// This loss without its delta.
    pub fn without_delta(self) -> Self {
        self.with_delta(Delta::ZERO)
    }

    /// The name of the parameter that it is in: `epsilon` or `rho`.
    pub fn parameter(self) -> &'static str {
        match self {
            Self::Approximate { .. } => "epsilon",
            Self::Concentrated { .. } => "rho",
        }
    }

    /// The epsilon or rho in smallest units, `10^-12`.
    pub fn units(self) -> u64 {
        match self {
            Self::Approximate { epsilon, .. } => epsilon.units(),
            Self::Concentrated { rho, .. } => rho.units(),
        }
    }

    /// The epsilon or rho, as the nearest float.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Approximate { epsilon, .. } => epsilon.to_f64(),
            Self::Concentrated { rho, .. } => rho.to_f64(),
        }
    }

    /// The loss in the currency of `limit`, rounded up.
    ///
    /// # Errors
    /// [`LossError::Currency`] where the loss is in rho and the limit in epsilon.
    pub fn in_currency_of(self, limit: Self) -> Result<Self, LossError> {
        match (limit, self) {
            (Self::Approximate { .. }, Self::Approximate { .. }) => Ok(self),
            (Self::Approximate { .. }, Self::Concentrated { .. }) => Err(LossError::Currency),
            (Self::Concentrated { .. }, _) => Ok(self.in_rho()),
        }
    }

    /// The delta.
    pub fn delta(self) -> Delta {
        match self {
            Self::Approximate { delta, .. } | Self::Concentrated { delta, .. } => delta,
        }
    }

    /// The rho; `None` of a loss in epsilon.
    pub fn rho(self) -> Option<Rho> {
        match self {
            Self::Concentrated { rho, .. } => Some(rho),
            Self::Approximate { .. } => None,
        }
    }

    /// The loss of two releases together.
    ///
    /// # Errors
    /// When the currencies differ or the sum is too large to be kept.
    pub fn plus(self, other: Self) -> Result<Self, LossError> {
        match (self, other) {
            (
                Self::Approximate { epsilon: e1, delta: d1 },
                Self::Approximate { epsilon: e2, delta: d2 },
            ) => Ok(Self::Approximate {
                epsilon: e1.checked_add(e2).ok_or(LossError::TooLarge)?,
                delta: d1.checked_add(d2).ok_or(LossError::TooLarge)?,
            }),
            (
                Self::Concentrated { rho: r1, delta: d1 },
                Self::Concentrated { rho: r2, delta: d2 },
            ) => Ok(Self::Concentrated {
                rho: r1.checked_add(r2).ok_or(LossError::TooLarge)?,
                delta: d1.checked_add(d2).ok_or(LossError::TooLarge)?,
            }),
            _ => Err(LossError::Currency),
        }
    }

    /// The loss of this release and all others together.
    ///
    /// # Errors
    /// When the currencies differ or the sum is too large to be kept.
    pub fn plus_all(self, others: impl IntoIterator<Item = Self>) -> Result<Self, LossError> {
        others.into_iter().try_fold(self, Self::plus)
    }

    /// The rest of this loss without `less` of it. `None` where that is more in epsilon, rho or
    /// delta, or in another currency.
    pub fn minus(self, less: Self) -> Option<Self> {
        let delta = self.delta().checked_sub(less.delta())?;
        match (self, less) {
            (Self::Approximate { epsilon, .. }, Self::Approximate { epsilon: less, .. }) => {
                Some(Self::Approximate { epsilon: epsilon.checked_sub(less)?, delta })
            }
            (Self::Concentrated { rho, .. }, Self::Concentrated { rho: less, .. }) => {
                Some(Self::Concentrated { rho: rho.checked_sub(less)?, delta })
            }
            _ => None,
        }
    }

    /// The rest of this budget after `spent`: nothing of a parameter of which more is spent, and
    /// nothing at all after a loss in another currency.
    pub fn left_after(self, spent: Self) -> Self {
        let delta = self.delta().checked_sub(spent.delta()).unwrap_or(Delta::ZERO);
        match (self, spent) {
            (Self::Approximate { epsilon, .. }, Self::Approximate { epsilon: spent, .. }) => {
                let epsilon = epsilon.checked_sub(spent).unwrap_or(Epsilon::ZERO);
                Self::Approximate { epsilon, delta }
            }
            (Self::Concentrated { rho, .. }, Self::Concentrated { rho: spent, .. }) => {
                Self::Concentrated { rho: rho.checked_sub(spent).unwrap_or(Rho::ZERO), delta }
            }
            _ => self.nothing(),
        }
    }

    /// Shares of the epsilon or rho in proportion to `weights`, which add up to the whole exactly.
    /// They have no delta, as not every share needs one.
    pub fn split(self, weights: &[u32]) -> Vec<Self> {
        match self {
            Self::Approximate { epsilon, .. } => {
                epsilon.split(weights).into_iter().map(Self::pure).collect()
            }
            Self::Concentrated { rho, .. } => {
                rho.split(weights).into_iter().map(Self::concentrated).collect()
            }
        }
    }

    /// The loss of `times` such releases together.
    ///
    /// # Errors
    /// When the product is too large to be kept.
    pub fn times(self, times: u64) -> Result<Self, LossError> {
        let delta = self.delta().checked_mul(times).ok_or(LossError::TooLarge)?;
        Ok(match self {
            Self::Approximate { epsilon, .. } => {
                let epsilon = epsilon.checked_mul(times).ok_or(LossError::TooLarge)?;
                Self::Approximate { epsilon, delta }
            }
            Self::Concentrated { rho, .. } => {
                let rho = rho.checked_mul(times).ok_or(LossError::TooLarge)?;
                Self::Concentrated { rho, delta }
            }
        })
    }

    /// Whether both numbers are at most those of `limit`; never, if that is in another currency.
    pub fn is_within(self, limit: Self) -> bool {
        let within = match (self, limit) {
            (Self::Approximate { epsilon: e1, .. }, Self::Approximate { epsilon: e2, .. }) => {
                e1 <= e2
            }
            (Self::Concentrated { rho: r1, .. }, Self::Concentrated { rho: r2, .. }) => r1 <= r2,
            _ => false,
        };
        within && self.delta() <= limit.delta()
    }

    /// Whether this is at most `other` and at least half of it, whatever their deltas are; never,
    /// if they are in two currencies.
    pub fn is_half_or_all_of(self, other: Self) -> bool {
        let (this, other) = (self.without_delta(), other.without_delta());
        // Where twice this is too large to be kept, no loss is above it.
        this.is_within(other) && this.times(2).map_or(true, |twice| other.is_within(twice))
    }

    /// Converts the promise to rho, rounded up: (epsilon, delta)-DP is delta-approximate (epsilon
    /// tanh(epsilon/2))-zCDP, as it is at worst a randomised response of that epsilon except with
    /// probability delta (Kairouz, Oh & Viswanath 2015). There is no way back by addition, so a
    /// loss in rho cannot be paid from a budget in epsilon.
    pub fn in_rho(self) -> Self {
        match self {
            Self::Concentrated { .. } => self,
            Self::Approximate { epsilon, delta } => {
                Self::Concentrated { rho: pure_rho(epsilon), delta }
            }
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Approximate { epsilon, .. } => write!(f, "epsilon = {epsilon}")?,
            Self::Concentrated { rho, .. } => write!(f, "rho = {rho}")?,
        }
        if !self.delta().is_zero() {
            write!(f, ", delta = {}", self.delta())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epsilon_in_rho_rounds_up() {
        let loss = Loss::pure("0.000003".parse().unwrap());
        // 4.5e-12 is kept as 5e-12.
        assert_eq!(loss.in_rho(), Loss::concentrated("5e-12".parse().unwrap()));
        // tanh(1/2) = 0.46211715726000975...
        let one = Loss::pure("1".parse().unwrap());
        let want = Loss::concentrated("0.462117157261".parse().unwrap());
        assert_eq!(one.in_rho(), want);
        // No epsilon is too large to be kept.
        let most = Loss::pure("1000000".parse().unwrap());
        assert_eq!(most.in_rho(), Loss::concentrated("1000000".parse().unwrap()));
    }

    #[test]
    fn currencies_do_not_mix() {
        let (e, r) = (Loss::pure("1".parse().unwrap()), Loss::concentrated("1".parse().unwrap()));
        assert_eq!(e.plus(r), Err(LossError::Currency));
        assert_eq!(e.plus(e).unwrap(), Loss::pure("2".parse().unwrap()));
        assert_eq!(e.plus_all([e, e]), e.times(3));
        assert_eq!((e.plus_all([e, r]), e.minus(r)), (Err(LossError::Currency), None));
        assert_eq!((e.left_after(r), r.left_after(e)), (e.nothing(), r.nothing()));
        assert_eq!(
            (e.parameter(), r.parameter(), e.units()),
            ("epsilon", "rho", 1_000_000_000_000)
        );
    }

    #[test]
    fn no_share_is_more_than_the_whole() {
        let loss = |epsilon: &str, delta: &str| Loss::Approximate {
            epsilon: epsilon.parse().unwrap(),
            delta: delta.parse().unwrap(),
        };
        let whole = loss("1", "1e-6");
        assert_eq!(whole.minus(loss("0.3", "1e-7")), Some(loss("0.7", "9e-7")));
        assert_eq!(whole.minus(whole).unwrap().to_string(), "epsilon = 0");
        for more in [loss("1.1", "0"), loss("0.1", "2e-6")] {
            assert_eq!(whole.minus(more), None);
        }
        assert_eq!(whole.left_after(loss("1.1", "0")), loss("0", "1e-6"));
        assert_eq!(whole.left_after(loss("0.25", "0.1")), loss("0.75", "0"));
    }

    #[test]
    fn about_as_much_is_from_half_to_all() {
        let loss =
            |text: &str| Loss::pure(text.parse().unwrap()).with_delta("1e-6".parse().unwrap());
        let whole = Loss::pure("0.3".parse().unwrap());
        for (share, about) in
            [("0.149999999999", false), ("0.15", true), ("0.3", true), ("0.300000000001", false)]
        {
            assert_eq!(loss(share).is_half_or_all_of(whole), about, "{share}");
        }
        assert!(loss("600000").is_half_or_all_of(loss("1000000")));
        assert!(!loss("0.3").in_rho().is_half_or_all_of(whole));
    }

    #[test]
    fn shares_add_up_to_the_whole_without_delta() {
        let losses = ["0.1", "1", "0.000000000007"].map(|text| Loss::Approximate {
            epsilon: text.parse().unwrap(),
            delta: "1e-6".parse().unwrap(),
        });
        for loss in losses.into_iter().flat_map(|loss| [loss, loss.in_rho()]) {
            let shares = loss.split(&[1, 3, 0, 3]);
            let sum = loss.nothing().plus_all(shares.iter().copied());
            assert_eq!((sum, shares[2]), (Ok(loss.without_delta()), loss.nothing()));
        }
    }
}
