//! Bounds of a column's values, from a histogram of them on record.
//!
//! Nobody knows yet what will be asked, and the same bounds are for all questions: those that are
//! best for the sum of all rows in ten groups at epsilon = 1 ([`ErrorTerms::of_values`]). They
//! follow from the released numbers alone, so that a question has one identity whoever binds it and
//! when.

use hushtable_contract::Column;
use hushtable_lang::{ColumnType, Expr, Refusal};
use hushtable_numbers::{Number, Step};
use hushtable_plan::ReleasedSizes;

use super::chosen_bounds::best_bounds;
use super::tail::ErrorTerms;

/// The bounds of a column's values that follow from the released numbers of units by their largest
/// value and the standard deviation of their noise; and whether they are clear.
///
/// # Errors
/// When they have no buckets.
pub fn learnt_bounds(
    column: &Column,
    released: &ReleasedSizes,
    deviation: f64,
) -> Result<(Number, Number, bool), Refusal> {
    let column_type = column.column_type;
    let of = Expr::column(0, column_type);
    let whole = column_type == ColumnType::Int;
    let finest = match column_type {
        ColumnType::Int => 1.0,
        ColumnType::Decimal { scale } => Step::Decimal(scale).to_f64(),
        _ => 0.0,
    };
    // Bounds hold a step of the lattice.
    let least = column.granularity.map_or(finest, Step::to_f64);
    let terms = ErrorTerms::of_values(whole);
    let bounds = best_bounds(&of, least, &terms, (released, deviation))?;
    Ok((bounds.low, bounds.high, bounds.is_sure))
}
