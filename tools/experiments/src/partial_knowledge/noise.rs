//! Counts with noise on top (PK 5.2).

use hushtable_knowledge::{CountNoise, CountWithin, KnowledgeError, least_epsilon};

use super::counting::{LAMBDA, between};
use super::printed::Theorem3;
use crate::curves::{Curve, Grid, figure, linear};
use crate::figure::{ExperimentError, Figure, logarithmic};

/// The delta of PK Figure 5.
const DELTA: f64 = 1e-10;

/// The scale of the Laplace noise in PK Figure 5, whose epsilon alone is 1/2.
const SCALE: f64 = 2.0;

/// PK Figure 5: epsilon at delta = 1e-10 against the number of records that are known, without
/// noise and with Laplace noise of scale 2; here its discrete form, as counts are whole.
pub(super) fn figure_5(records: u64) -> Result<Figure, ExperimentError> {
    let shares = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98];
    let near = [0.985, 0.99, 0.993, 0.995, 0.997, 0.998, 0.9985, 0.999, 0.9995];
    let known = shares.iter().chain(&near).map(|share| (share * records as f64).round());
    let grid =
        Grid { axis: linear("records that are known"), column: "known", values: known.collect() };
    let noise = CountNoise::discrete_laplace(SCALE)?;
    let alone = least_epsilon(DELTA, |e| noise.delta(e));
    let others = |known: f64| records - 1 - known as u64;
    let exact = |noise: Option<CountNoise>| {
        let of = grid.values.iter().map(|known| {
            Ok(CountWithin::new(others(*known), between(LAMBDA)?, noise)?.epsilon(DELTA))
        });
        of.collect::<Result<Vec<Option<f64>>, KnowledgeError>>()
    };
    let closed = |known: f64| {
        Theorem3 { others: others(known), lambda: LAMBDA }.printed_closed_epsilon(DELTA)
    };
    let repaired =
        |known: f64| Theorem3 { others: others(known), lambda: LAMBDA }.closed_epsilon(DELTA);
    let smaller = |a: Option<f64>| match (a, alone) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let curves = [
        Curve::ours("worst case", "worst_case", exact(None)?),
        Curve::ours("worst case with noise", "worst_case_with_noise", exact(Some(noise))?),
        Curve::other(
            "Theorem 3, closed form as printed",
            "closed_form_as_printed",
            grid.some(closed),
        ),
        Curve::other("closed form, repaired", "closed_form_repaired", grid.some(repaired)),
        Curve::other(
            "the same or noise alone",
            "closed_form_repaired_or_noise",
            grid.some(|known| smaller(repaired(known))),
        ),
    ];
    let title =
        format!("A count of {records} records at delta = 1e-10, with noise of scale 2 or without");
    Ok(figure("partial-knowledge-figure-5", &title, &grid, logarithmic("epsilon"), &curves))
}

/// PK Figure 6: delta against epsilon without noise, and with two-sided geometric noise.
pub(super) fn figure_6(records: u64) -> Result<Figure, ExperimentError> {
    let others = records - 1;
    let theorem = Theorem3 { others, lambda: LAMBDA };
    let grid = Grid::epsilons(0.6, 30);
    let exact = |p: Option<f64>| {
        let noise = p.map(CountNoise::geometric).transpose()?;
        let within = CountWithin::new(others, between(LAMBDA)?, noise)?;
        Ok::<_, KnowledgeError>(grid.map(|e| within.worst(e).delta))
    };
    let alone = |p: f64| {
        let noise = CountNoise::geometric(p)?;
        Ok::<_, KnowledgeError>(grid.map(|e| noise.delta(e)))
    };
    let curves = [
        Curve::ours("worst case", "worst_case", exact(None)?),
        Curve::ours("with noise, p = 0.5", "worst_case_geometric_0.5", exact(Some(0.5))?),
        Curve::ours("with noise, p = 0.75", "worst_case_geometric_0.75", exact(Some(0.75))?),
        Curve::other(
            "Theorem 3 with e^epsilon (unsound)",
            "theorem_3_with_exponential",
            grid.map(|e| theorem.with_exponential(e)),
        ),
        Curve::other("Theorem 3 repaired", "theorem_3_repaired", grid.map(|e| theorem.joint(e))),
        Curve::other("noise alone, p = 0.5", "geometric_0.5_alone", alone(0.5)?),
        Curve::other("noise alone, p = 0.75", "geometric_0.75_alone", alone(0.75)?),
    ];
    let title = format!("A count of {records} records with two-sided geometric noise or without");
    Ok(figure("partial-knowledge-figure-6", &title, &grid, logarithmic("delta"), &curves))
}
