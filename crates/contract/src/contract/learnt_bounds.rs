//! Bounds that an analyst has on record.

use hushtable_numbers::Number;
use hushtable_privacy::Loss;
use serde::{Deserialize, Serialize};

/// Bounds of a column's values that follow from a release on record. They are public to the analyst
/// who paid for it, and no claim about the data: other values are clamped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearntBounds {
    /// The table.
    pub table: String,
    /// Its column.
    pub column: String,
    /// The least value of a row.
    pub low: Number,
    /// The greatest value of a row.
    pub high: Number,
    /// The price of the release. Whoever sees the bounds has learnt as much, beside what a question
    /// with them costs.
    pub paid: Loss,
    /// When the release was made: seconds since 1970-01-01 UTC.
    pub released_at: u64,
    /// Whether it was made from other files than those of now.
    pub of_earlier_data: bool,
    /// Whether the release clearly shows units near the bounds. Otherwise noise may have decided.
    pub is_sure: bool,
}
