//! The limits of a query that are chosen privately, and those that were chosen.

use hushtable_lang::Expr;
use hushtable_numbers::Number;
use serde::{Deserialize, Serialize};

/// The limit on groups with which a query is quoted before its own is chosen.
pub(super) const EXAMPLE_GROUPS: u32 = 8;
/// The bound with which a query is quoted before its own is chosen.
pub const EXAMPLE_BOUND: i64 = 1_000;

/// The limits of a query that are chosen privately.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Automatic {
    /// Whether the limit on groups is.
    pub groups: bool,
    /// The bounds of sums that are.
    pub bounds: Vec<AutomaticBounds>,
}

impl Automatic {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        !self.groups && self.bounds.is_empty()
    }
}

/// A sum whose bounds are chosen privately.
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
    /// Bounds of sums, in the order of [`Automatic::bounds`].
    pub bounds: Vec<(Number, Number)>,
}

impl ChosenLimits {
    /// Smaller limits, for a query that is refused with these; `None` below one group and bounds of
    /// one.
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
        let groups = self.groups.filter(|groups| *groups > 1)?;
        Some(Self { groups: Some(groups / 2), ..self })
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
