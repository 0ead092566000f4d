//! The price of other limits on the groups of a unit, in noise and threshold.

use hushtable_contract::{MAX_GROUPS, NoiseKind};
use hushtable_plan::Groups;
use serde::{Deserialize, Serialize};

use super::explain_measurement;
use crate::group_size::GroupSize;
use crate::quote::Quote;
use hushtable_mechanisms::Strategy;

/// A limit on the groups of a unit, and what the same query costs with it. From the query alone:
/// how much a limit cuts off is for the owner of the data to see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitExplanation {
    /// Most groups that one unit enters.
    pub max_groups_contributed: u32,
    /// The noise that is then chosen.
    pub noise: NoiseKind,
    /// The strategy that is then chosen, where groups are chosen privately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The number of units, or of rows or values, with which a group appears half of the time,
    /// where groups are chosen privately and the units' other groups take of their weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units_for_half: Option<u64>,
    /// The unit of `units_for_half`.
    #[serde(default, skip_serializing_if = "GroupSize::is_units")]
    pub sizes_in: GroupSize,
    /// The half-width of the 95 % interval of each measurement, in the column's units; absent where
    /// it depends on the released value.
    pub half_widths_95: Vec<Option<f64>>,
}

impl LimitExplanation {
    /// The query's own limit among a quarter to four times as many, in rising order; none where
    /// units are in one group anyway.
    pub fn around(quote: &Quote) -> Vec<Self> {
        let query = quote.query();
        if query.unit().is_none() || query.groups() == Groups::Single {
            return Vec::new();
        }
        let current = query.max_groups_contributed();
        let mut limits: Vec<u32> = [
            current / 4,
            current / 2,
            current,
            current.saturating_mul(2),
            current.saturating_mul(4),
        ]
        .into_iter()
        .map(|limit| limit.clamp(1, MAX_GROUPS))
        .collect();
        limits.dedup();
        let other = |limit: u32| match limit == current {
            true => Some(Self::of(quote)),
            // A limit with which no noise can be drawn is left out.
            false => Some(Self::of(&Quote::new(query.clone().with_max_groups(limit)).ok()?)),
        };
        limits.into_iter().filter_map(other).collect()
    }

    fn of(quote: &Quote) -> Self {
        let query = quote.query();
        let measurements = query.measurements().iter().zip(quote.noise());
        let half_width = |(measurement, noise)| {
            explain_measurement(measurement, noise, quote.selection(), &[]).half_width_95
        };
        Self {
            max_groups_contributed: query.max_groups_contributed(),
            noise: quote.noise_kind(),
            strategy: quote.selection().map(hushtable_mechanisms::Selection::strategy),
            units_for_half: quote.selection().map(hushtable_mechanisms::Selection::half_size),
            sizes_in: quote.group_size(),
            half_widths_95: measurements.map(half_width).collect(),
        }
    }
}
