//! How a query's budget is used.

use hushtable_contract::NoiseKind;
use hushtable_mechanisms::Strategy;
use hushtable_privacy::Loss;
use serde::{Deserialize, Serialize};

use crate::objective::Usefulness;

/// Selection has a number of such shares of the budget, where the split is chosen.
pub(crate) const SHARES_OF_BUDGET: u32 = 64;

/// How a query's budget is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BudgetUse {
    /// The query's loss in the currency of its noise.
    pub(crate) currency: Loss,
    /// How groups are chosen, where they are chosen privately.
    pub(crate) strategy: Option<Strategy>,
    /// The shares of the budget, of [`SHARES_OF_BUDGET`], that selection has; `None` to go by
    /// weights.
    pub(crate) selection_shares: Option<u32>,
}

/// Mechanisms that were second best.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunnerUp {
    /// The noise.
    pub noise: NoiseKind,
    /// The strategy, where groups are chosen privately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The sizes from which on its groups are of use.
    pub usefulness: Usefulness,
}
