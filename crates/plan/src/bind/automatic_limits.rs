//! The limits of a query that are chosen privately, and those that were chosen.

use hushtable_lang::Expr;
use hushtable_numbers::Number;
use serde::{Deserialize, Serialize};

/// The limit on groups with which a query is quoted before its own is chosen.
pub(super) const EXAMPLE_GROUPS: u32 = 8;
/// The limit on rows of a unit in a group with which a query is quoted before its own is chosen.
pub const EXAMPLE_ROWS: u32 = 4;
/// The bound with which a query is quoted before its own is chosen.
pub const EXAMPLE_BOUND: i64 = 1_000;

/// The limits of a query that are chosen privately.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Automatic {
    /// Whether the limit on groups is.
    pub groups: bool,
    /// Whether the limit on rows in a group is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rows: bool,
    /// The bounds that are.
    pub bounds: Vec<AutomaticBounds>,
    /// Whether it is the clipping report of a query whose limits are: it follows from them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_reported: bool,
}

impl Automatic {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        !self.groups && !self.rows && self.bounds.is_empty() && !self.of_reported
    }
}

/// Values whose bounds are chosen privately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutomaticBounds {
    /// The value of a row.
    pub of: Expr,
    /// Whether the bounds are for each row's value; otherwise they are for the sum of a unit's rows
    /// in a group.
    pub per_row: bool,
}

/// Limits that were chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChosenLimits {
    /// The most groups of a unit.
    pub groups: Option<u32>,
    /// The usual number of groups of a unit ([`PrivateQuery::usual_groups`]).
    ///
    /// [`PrivateQuery::usual_groups`]: super::PrivateQuery::usual_groups
    pub usual_groups: Option<u32>,
    /// The most rows of a unit in a group.
    pub rows: Option<u32>,
    /// Bounds, in the order of [`Automatic::bounds`].
    pub bounds: Vec<(Number, Number)>,
}

impl ChosenLimits {
    /// Smaller limits, for a query that is refused with these; `None` below one group, one row and
    /// bounds of one.
    pub fn smaller(mut self) -> Option<Self> {
        let halved = |end: Number| Number::parse(&format!("{:.1e}", end.to_f64() / 2.0));
        let is_large =
            |(low, high): &(Number, Number)| low.to_f64().abs().max(high.to_f64().abs()) > 1.0;
        if self.bounds.iter().any(is_large) {
            for bounds in self.bounds.iter_mut().filter(|bounds| is_large(bounds)) {
                *bounds = (halved(bounds.0)?, halved(bounds.1)?);
            }
            return Some(self);
        }
        let half = |limit: Option<u32>| limit.filter(|most| *most > 1).map(|most| Some(most / 2));
        if let Some(groups) = half(self.groups) {
            return Some(Self { groups, ..self });
        }
        half(self.rows).map(|rows| Self { rows, ..self })
    }
}

/// A limit that is chosen privately, for readers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutomaticLimit {
    /// Its name.
    pub limit: String,
    /// The example in its place until it is chosen.
    pub example: String,
}

/// The number of units of each size, as released.
pub type ReleasedSizes = Vec<(i64, f64)>;
