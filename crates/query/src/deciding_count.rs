//! The count that chooses the groups where a measured one does: with MEASURED_COUNT.

use hushtable_mechanisms::{MeasuredNoise, MechanismError, Reach, Selection, SumMechanism};
use hushtable_privacy::Loss;

use crate::bind::{Measure, PrivateQuery};
use crate::error::Refusal;
use crate::expr::ExprKind;
use crate::measurement_noise::Noise;

/// The place of the count: of units, or else of rows, or else of the values of a column. A count of
/// some rows alone, by a condition, would hide groups that have many others.
pub(crate) fn deciding_count(query: &PrivateQuery) -> Option<usize> {
    let first = |wanted: fn(&Measure) -> bool| {
        query.measurements().iter().position(|own| wanted(&own.measure))
    };
    let values = |own: &Measure| match own {
        Measure::Values(of) => matches!(of.kind, ExprKind::Column(_)),
        _ => false,
    };
    first(|own| *own == Measure::Units)
        .or_else(|| first(|own| *own == Measure::Rows))
        .or_else(|| first(values))
}

/// The selection by that count, whose noise is among these.
///
/// # Errors
/// When the query has no such count, or it cannot decide.
pub(crate) fn by_deciding_count(
    query: &PrivateQuery,
    noise: &[Noise],
    loss: Loss,
    reach: Reach,
) -> Result<Selection, MechanismError> {
    let place = deciding_count(query).ok_or(MechanismError::NoCount)?;
    let count = query.measurements().get(place).ok_or(MechanismError::NoCount)?;
    let noise = match noise.get(place) {
        Some(Noise::Tied(tied)) => MeasuredNoise::Tied(&tied.noise),
        Some(Noise::Own(SumMechanism::Additive(own))) => MeasuredNoise::Own(own),
        _ => return Err(MechanismError::NoCount),
    };
    let most = match count.measure {
        Measure::Units => 1,
        _ => u64::try_from(count.high).map_err(|_| MechanismError::NoCount)?,
    };
    Selection::by_measured_count(noise, most, loss, reach)
}

/// The refusal of MEASURED_COUNT where no count can decide.
pub(crate) fn no_deciding_count() -> Refusal {
    Refusal::new(
        "MEASURED_COUNT chooses groups by a count of units, of rows or of a column, and the query \
         measures none",
        "add COUNT(*), or leave group_selection_strategy out",
    )
}
