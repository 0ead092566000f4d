//! Counts without noise (PK 4.1).

use hushtable_knowledge::{
    Count, CountWithin, Histogram, KnowledgeError, Probability, ProbabilityRange, Profile,
    least_epsilon,
};

use super::printed::{Theorem3, proposition_7};
use crate::curves::{Curve, Grid, figure};
use crate::figure::{ExperimentError, Figure, logarithmic};

/// The lambda of PK Figures 2, 5 and 6.
pub(super) const LAMBDA: f64 = 0.05;

/// Probabilities from lambda to 1 - lambda.
pub(super) fn between(lambda: f64) -> Result<ProbabilityRange, KnowledgeError> {
    ProbabilityRange::new(Probability::new(lambda)?, Probability::new(1.0 - lambda)?)
}

/// Numbers of records with their probabilities: PK's second case, where they are spread evenly over
/// 0.05 to 0.95. Of more than a hundred records, those near each other have one probability.
fn even(records: u64) -> Vec<(u64, f64)> {
    let groups = records.min(100);
    let width = (1.0 - 2.0 * LAMBDA) / groups as f64;
    let size = |i: u64| records * (i + 1) / groups - records * i / groups;
    (0..groups).map(|i| (size(i), LAMBDA + width * (i as f64 + 0.5))).collect()
}

fn exact(groups: &[(u64, f64)]) -> Result<Count, KnowledgeError> {
    let groups = groups.iter().map(|(count, p)| Ok((*count, Probability::new(*p)?)));
    let groups: Vec<(u64, Probability)> = groups.collect::<Result<_, KnowledgeError>>()?;
    Count::new(&Profile::new(groups)?, None)
}

/// PK Figure 2: delta against epsilon of a count of `records`, by Theorem 3 and Proposition 7. Case
/// 1: one record of 0.05 and all others of 0.5. Case 2: spread over 0.05 to 0.95.
pub(super) fn figure_2(records: u64, most: f64) -> Result<Figure, ExperimentError> {
    let others = records - 1;
    let theorem = Theorem3 { others, lambda: LAMBDA };
    let lambda = Probability::new(LAMBDA)?;
    let worst = CountWithin::new(others, between(LAMBDA)?, None)?;
    let blanket = Histogram::new(others, lambda, lambda)?;
    let one = |records: u64| [(1, LAMBDA), (records - 1, 0.5)];
    let (case_1, case_2) = (exact(&one(others))?, exact(&even(others))?);
    let grid = Grid::epsilons(most, 40);
    let curves = [
        Curve::ours("worst case", "worst_case", grid.map(|e| worst.worst(e).delta)),
        Curve::ours("case 1", "case_1", grid.map(|e| case_1.delta(e))),
        Curve::ours("case 2", "case_2", grid.map(|e| case_2.delta(e))),
        Curve::other(
            "Theorem 3 as printed (unsound)",
            "theorem_3_as_printed",
            grid.map(|e| theorem.printed(e)),
        ),
        Curve::other(
            "with e^epsilon (unsound)",
            "theorem_3_with_exponential",
            grid.map(|e| theorem.with_exponential(e)),
        ),
        Curve::other("repaired", "theorem_3_repaired", grid.map(|e| theorem.joint(e))),
        Curve::other("by the blanket's size", "blanket", grid.map(|e| blanket.delta(e))),
        Curve::other(
            "closed form, repaired",
            "closed_form_repaired",
            grid.some(|e| theorem.closed(e)),
        ),
        Curve::other(
            "Proposition 7, case 1",
            "proposition_7_case_1",
            grid.some(|e| proposition_7(&one(records), e)),
        ),
        Curve::other(
            "Proposition 7, case 2",
            "proposition_7_case_2",
            grid.some(|e| proposition_7(&even(records), e)),
        ),
    ];
    let title = format!("A count of {records} records of probabilities from 0.05 to 0.95");
    Ok(figure(
        &format!("partial-knowledge-figure-2-n{records}"),
        &title,
        &grid,
        logarithmic("delta"),
        &curves,
    ))
}

/// PK Figure 3: epsilon at delta = 0.01/n against lambda.
pub(super) fn figure_3(records: &[u64]) -> Result<Figure, ExperimentError> {
    // At 1/2, where X and Y are both n - 1, the printed theorem has epsilon = 0.
    let values = (0..=10).map(|i| 0.45 * 10f64.powf(f64::from(i - 10) / 5.0)).collect();
    let grid = Grid { axis: logarithmic("lambda"), column: "lambda", values };
    let mut curves = Vec::new();
    for n in records {
        let (others, delta) = (n - 1, 0.01 / *n as f64);
        let worst = grid
            .values
            .iter()
            .map(|lambda| Ok(CountWithin::new(others, between(*lambda)?, None)?.epsilon(delta)));
        let worst: Vec<Option<f64>> = worst.collect::<Result<_, KnowledgeError>>()?;
        let printed = grid.some(|lambda| {
            let theorem = Theorem3 { others, lambda };
            least_epsilon(delta, |e| theorem.with_exponential(e))
        });
        let name = format!("n = {n}");
        curves.push(Curve::ours(&name, &format!("worst_case_n{n}"), worst));
        let column = format!("theorem_3_with_exponential_n{n}");
        curves.push(Curve::other(&name, &column, printed));
    }
    let title = "Counts at delta = 0.01/n: worst case; dashed: Theorem 3 with e^epsilon (unsound)";
    Ok(figure("partial-knowledge-figure-3", title, &grid, logarithmic("epsilon"), &curves))
}
