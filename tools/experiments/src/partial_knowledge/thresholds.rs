//! Counts that are released above a threshold (PK 4.2).

use std::ops::RangeInclusive;

use hushtable_knowledge::{
    CountAbove, CountAboveWithin, KnowledgeError, Probability, ProbabilityRange, Profile,
};

use super::printed::theorem_4;
use crate::curves::{Curve, Grid, figure, linear};
use crate::figure::{ExperimentError, Figure, logarithmic};

/// The largest probability of a record in PK Figure 4.
const MOST_PROBABLE: f64 = 0.005;

/// Approximate number of thresholds that are shown.
const SHOWN: usize = 35;

/// PK Figure 4: epsilon and delta of Theorem 4 against the threshold, and the delta that there
/// really is at that epsilon: where all records have the largest probability, and in the worst case
/// up to it.
pub(super) fn figure_4(
    records: u64,
    thresholds: RangeInclusive<u64>,
) -> Result<Figure, ExperimentError> {
    let p = Probability::new(MOST_PROBABLE)?;
    let all = Profile::new([(records - 1, p)])?;
    let between = ProbabilityRange::new(Probability::ZERO, p)?;
    let step = ((thresholds.end() - thresholds.start()) as usize).div_ceil(SHOWN);
    let thresholds: Vec<u64> = thresholds.step_by(step).collect();
    let closed = |threshold: &u64| theorem_4(records, MOST_PROBABLE, *threshold);
    let printed: Vec<Option<(f64, f64)>> = thresholds.iter().map(closed).collect();
    let exact = |within: bool| {
        // Within bounds of many records each takes half a second.
        let every = if within && records > 10_000 { 4 } else { 1 };
        let of =
            thresholds.iter().zip(&printed).enumerate().map(|(index, (threshold, printed))| {
                let Some((epsilon, _)) = printed.filter(|_| index % every == 0) else {
                    return Ok(None);
                };
                let found = if within {
                    CountAboveWithin::new(*threshold, records - 1, 0, between)?.delta(epsilon)
                } else {
                    CountAbove::new(*threshold, &all, &Profile::none())?.delta(epsilon)
                };
                Ok(Some(found.active))
            });
        of.collect::<Result<Vec<Option<f64>>, KnowledgeError>>()
    };
    let grid = Grid {
        axis: linear("threshold"),
        column: "threshold",
        values: thresholds.iter().map(|threshold| *threshold as f64).collect(),
    };
    let column = |of: fn((f64, f64)) -> f64| printed.iter().map(move |found| found.map(of));
    let curves = [
        Curve::ours("worst case up to 0.5 %", "worst_case", exact(true)?),
        Curve::other("all of 0.5 %", "all_at_most_probable", exact(false)?),
        Curve::other("delta of Theorem 4", "theorem_4_delta", column(|found| found.1)),
        Curve::other("epsilon of Theorem 4", "theorem_4_epsilon", column(|found| found.0)),
    ];
    let title = format!(
        "A count of {records} records of up to 0.5 %, released above a threshold: \
         delta at epsilon of Theorem 4"
    );
    Ok(figure(
        &format!("partial-knowledge-figure-4-n{records}"),
        &title,
        &grid,
        logarithmic("delta (or epsilon)"),
        &curves,
    ))
}
