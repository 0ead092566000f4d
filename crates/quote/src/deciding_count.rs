//! The count that chooses the groups where a measured one does: with MEASURED_COUNT.

use hushtable_lang::{ExprKind, Refusal};
use hushtable_mechanisms::{MeasuredNoise, MechanismError, Reach, Selection, SumMechanism};
use hushtable_plan::{Measure, PrivateQuery};
use hushtable_privacy::Loss;

use crate::measurement_noise::Noise;

/// The index of the deciding count: of units, else of rows, else of the values of a column. A count
/// with a condition is never taken, as it would hide groups that have many other rows. Of counts of
/// several columns it is the first in canonical order: the order of SELECT must not decide, or the
/// same aggregates in another order would be charged again.
pub(crate) fn deciding_count(query: &PrivateQuery) -> Option<usize> {
    let all = query.measurements();
    let is = |index: usize, test: fn(&Measure) -> bool| {
        all.get(index).is_some_and(|measurement| test(&measurement.measure))
    };
    let first = |test| (0..all.len()).find(|&index| is(index, test));
    let values = |measure: &Measure| match measure {
        Measure::Values(of) => matches!(of.kind, ExprKind::Column(_)),
        _ => false,
    };
    // A unit adds at most one to a count of units, so its threshold is the lowest.
    first(|measure| *measure == Measure::Units)
        .or_else(|| first(|measure| *measure == Measure::Rows))
        .or_else(|| {
            // Binding excludes that a query cannot be written; it would have no deciding count.
            let order = query.measurement_order().ok()?;
            order.into_iter().find(|&index| is(index, values))
        })
}

/// The selection by the deciding count, whose noise is among `noise`.
///
/// # Errors
/// When the query has no such count, or it cannot decide.
pub(crate) fn by_deciding_count(
    query: &PrivateQuery,
    noise: &[Noise],
    loss: Loss,
    reach: Reach,
) -> Result<Selection, MechanismError> {
    let index = deciding_count(query).ok_or(MechanismError::NoCount)?;
    let count = query.measurements().get(index).ok_or(MechanismError::NoCount)?;
    let noise = match noise.get(index) {
        Some(Noise::Tied(tied)) => MeasuredNoise::Tied(&tied.noise),
        Some(Noise::Single(SumMechanism::Additive(additive))) => MeasuredNoise::Single(additive),
        // Noise of another kind has no bound of its tail here that delta could be computed from.
        _ => return Err(MechanismError::NoCount),
    };
    // The threshold rests on what one unit adds to this very count.
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
