//! Bounds in steps of a lattice.

use hushtable_lang::{ColumnType, Refusal};
use hushtable_numbers::{MAX_LATTICE, Number, Step};

/// Bounds in steps of the lattice, rounded inwards.
pub(super) fn in_steps((low, high): (Number, Number), step: Step) -> Result<(i64, i64), Refusal> {
    step.ceil(low).zip(step.floor(high)).ok_or_else(|| {
        Refusal::new(
            format!(
                "the bounds ({low}, {high}) are more than {MAX_LATTICE} steps of {} wide",
                step.to_f64()
            ),
            "use narrower bounds, or a coarser granularity of the column in the contract",
        )
    })
}

/// The refusal of bounds within which a sum is always zero.
pub(super) fn no_step_within((low, high): (Number, Number), step: Step) -> Refusal {
    Refusal::new(
        format!(
            "the bounds ({low}, {high}) hold no multiple of the granularity {} but zero",
            step.to_f64()
        ),
        "use wider bounds, or a finer granularity of the column in the contract",
    )
}

/// The type of what is released in such steps.
pub(super) fn released_as(step: Step) -> ColumnType {
    match step {
        Step::Whole(_) => ColumnType::Int,
        Step::Decimal(scale) => ColumnType::Decimal { scale },
        Step::PowerOfTwo(_) => ColumnType::Float,
    }
}
