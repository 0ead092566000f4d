//! Where the limits on the rows of a unit in joins come from.

use serde::{Deserialize, Serialize};

/// Where a limit on the rows of a unit in a join comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitSource {
    /// The query, which names none, has the largest that costs it nothing.
    #[default]
    Computed,
    /// The query's OPTIONS.
    Options,
    /// The defaults of the contract, or of a workload.
    Defaults,
}

impl LimitSource {
    /// Of a limit that is set among the defaults or not at all.
    pub(super) fn of_default(limit: Option<u32>) -> Self {
        if limit.is_some() { Self::Defaults } else { Self::Computed }
    }
}

/// The sources of both limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitSources {
    /// Of `max_rows_joined`.
    pub joined: LimitSource,
    /// Of `max_rows_contributed`.
    pub contributed: LimitSource,
}
