//! The losses at which answers are useful (PR Figure 4).
//!
//! A goal is a relative error that a query's answer exceeds in at most 5 % of all draws (PR (12)
//! with gamma = 0.95). The least policy that reaches it gives each measure at each level what 95 %
//! of its queries need, found from closed forms, without drawing anything. A policy's minimum is
//! what an establishment below the thresholds loses.

use hushtable_numbers::search::last;
use hushtable_plot::{Series, Style};
use hushtable_privacy::{Rho, normal_quantile, normal_tail};

use super::cells::{Cell, LEVELS, MEASURES, judged, sizes};
use super::chart::{curve, distribution, distributions, upright};
use super::errors::LEAST;
use super::made_up::Establishment;
use super::schemes::{Kind, QUERIES, SCHEMES, Scheme, splitting};
use crate::distribution::Distribution;
use crate::figure::{columns, digits, series};
use crate::{ExperimentError, Figure};

/// Relative errors.
pub(super) const GOALS: [f64; 3] = [0.05, 0.1, 0.2];

/// How often an answer may miss its goal, and what share of the queries may do so more often.
const MISSED: f64 = 0.05;

/// The needs of the workload's queries.
#[derive(Clone, Debug)]
pub(super) struct WorkloadNeeds {
    pub(super) scheme: Scheme,
    pub(super) goal: f64,
    /// For each query, the minimum of the policy under which it reaches the goal where the budget
    /// is shared evenly; infinite if none does.
    pub(super) evenly: Distribution,
    /// For each of [`MEASURES`], what 95 % of its queries need at all levels together.
    pub(super) least: [f64; 4],
}

impl WorkloadNeeds {
    /// The minimum of the policy under which 95 % of all queries reach the goal where the budget is
    /// shared evenly.
    pub(super) fn minimum_evenly(&self) -> f64 {
        self.evenly.quantile(1.0 - MISSED)
    }

    /// The minimum of the least policy.
    pub(super) fn minimum(&self) -> f64 {
        self.least.iter().sum()
    }

    /// The losses of establishments under the least policy, by whole pieces and exactly.
    ///
    /// # Errors
    /// If there is no such policy.
    pub(super) fn losses(
        &self,
        rows: &[Establishment],
    ) -> Result<[Distribution; 2], ExperimentError> {
        let mut rhos = [Rho::ZERO; 4];
        for (rho, least) in rhos.iter_mut().zip(self.least) {
            *rho = Rho::from_f64_up(least)?;
        }
        let policy = self.scheme.policy(rhos)?;
        let values = |row: &Establishment| sizes(row).map(|size| size as f64);
        Ok([
            Distribution::new(rows.iter().map(|row| policy.split(&values(row))).collect()),
            Distribution::new(rows.iter().map(|row| policy.exact(&values(row))).collect()),
        ])
    }
}

/// The rho that the cells of one measure at one level cost where an answer to one of them, `bias`
/// too low of a `truth`, is off by a share of `goal` in 5 % of all draws; infinite if that cannot
/// be.
fn needed(threshold: f64, truth: f64, bias: f64, goal: f64) -> f64 {
    let room = goal * truth;
    if bias >= room {
        return f64::INFINITY;
    }
    // More noise misses more often. Both tails are at most twice the nearer one, and at least it.
    let missed =
        |sigma: f64| normal_tail((room - bias) / sigma) + normal_tail((room + bias) / sigma);
    let [low, high] = [MISSED / 2.0, MISSED].map(|tail| (room - bias) / normal_quantile(tail));
    let times = if bias == 0.0 { 0 } else { 30 };
    let sigma = last(low, high, times, |sigma| missed(sigma) <= MISSED);
    threshold * threshold / (2.0 * sigma * sigma)
}

/// The needs of each scheme for each goal.
pub(super) fn needs(rows: &[Establishment]) -> Vec<WorkloadNeeds> {
    let cells = judged(rows, LEAST);
    let mut all = Vec::new();
    for scheme in SCHEMES {
        // The truth of every query, and how much of it clamping takes.
        let queries = MEASURES.map(|measure| {
            let query = |cell: &Cell| {
                let truth = cell.total(rows, |row| measure.of(row));
                let counted = cell.total(rows, |row| scheme.counted(measure, measure.of(row)));
                (truth as f64, (truth - counted) as f64)
            };
            cells.iter().map(query).collect::<Vec<(f64, f64)>>()
        });
        for goal in GOALS {
            let mut every = Vec::new();
            let mut least = [0.0; 4];
            for ((measure, queries), least) in MEASURES.iter().zip(&queries).zip(&mut least) {
                let threshold = scheme.threshold(*measure) as f64;
                for level in LEVELS {
                    let of_level =
                        cells.iter().zip(queries).filter(|(cell, _)| cell.level == level);
                    let rhos: Vec<f64> = of_level
                        .map(|(_, (truth, bias))| needed(threshold, *truth, *bias, goal))
                        .collect();
                    every.extend(rhos.iter().map(|rho| f64::from(QUERIES) * rho));
                    // A level without queries needs nothing.
                    if !rhos.is_empty() {
                        *least += Distribution::new(rhos).quantile(1.0 - MISSED);
                    }
                }
            }
            all.push(WorkloadNeeds { scheme, goal, evenly: Distribution::new(every), least });
        }
    }
    all
}

/// PR Figure 4: a chart for each way to split, and one of how many queries reach a goal.
pub(super) fn figures(
    rows: &[Establishment],
    needs: &[WorkloadNeeds],
) -> Result<Vec<Figure>, ExperimentError> {
    let mut all = Vec::new();
    for scheme in splitting() {
        all.push(policies(rows, needs, scheme)?);
    }
    all.extend(GOALS.map(|goal| queries(needs, goal)));
    Ok(all)
}

fn percent(goal: f64) -> String {
    format!("{} %", digits(100.0 * goal))
}

fn policies(
    rows: &[Establishment],
    needs: &[WorkloadNeeds],
    scheme: Scheme,
) -> Result<Figure, ExperimentError> {
    let (mut drawn, mut table): (Vec<Series>, Vec<Vec<String>>) = Default::default();
    for needed in needs.iter().filter(|n| n.scheme == scheme) {
        let [split, exact] = needed.losses(rows)?;
        for (policy, losses, style) in
            [("split", split, Style::Line), ("exact", exact, Style::Dashed)]
        {
            let curve = curve(&losses);
            let name = format!("{}, {policy}", percent(needed.goal));
            drawn.push(distribution(&name, style, &curve, [1e-6, 1e12]));
            table.extend(curve.into_iter().map(|(loss, share)| {
                let numbers = [needed.minimum(), share, loss].map(digits);
                let mut row = vec![scheme.name.to_owned(), digits(needed.goal), policy.to_owned()];
                row.extend(numbers);
                row
            }));
        }
    }
    drawn.push(upright(1.0));
    Ok(Figure {
        name: format!("establishments-goals-{}", scheme.name),
        chart: distributions(
            format!(
                "Splitting, {}: least policies for a goal at 95 % of the queries (synthetic)",
                scheme.name
            ),
            "privacy loss of an establishment by its policy, in rho",
            "share of establishments",
            drawn,
        ),
        columns: columns(&[
            "splitting",
            "goal",
            "policy",
            "policy_min",
            "share_of_establishments",
            "policy_loss",
        ]),
        rows: table,
    })
}

fn queries(needs: &[WorkloadNeeds], goal: f64) -> Figure {
    let of: Vec<&WorkloadNeeds> = needs.iter().filter(|n| n.goal == goal).collect();
    let mut drawn: Vec<Series> = of
        .iter()
        .map(|n| {
            let style = match n.scheme.kind {
                Kind::Splitting => Style::Line,
                Kind::TopCoding => Style::Dashed,
            };
            distribution(&n.scheme.label(), style, &curve(&n.evenly), [1e-6, 1e8])
        })
        .collect();
    drawn.push(series("95 % of the queries", Style::Level, vec![(1e-6, 0.95)]));
    drawn.push(upright(1.0));
    let rows = of.iter().flat_map(|n| {
        let row = |(minimum, share): (f64, f64)| {
            let mut row = vec![n.scheme.label(), digits(goal)];
            row.extend([n.minimum(), n.minimum_evenly(), share, minimum].map(digits));
            row
        };
        curve(&n.evenly).into_iter().map(row)
    });
    Figure {
        name: format!("establishments-goals-queries-{}", digits(100.0 * goal)),
        chart: distributions(
            format!("Queries within {} in 95 of 100 draws (synthetic)", percent(goal)),
            "minimum of the policy, shared evenly over the queries, in rho",
            "share of queries",
            drawn,
        ),
        columns: columns(&[
            "method",
            "goal",
            "least_policy_min",
            "policy_min_evenly",
            "share_of_queries",
            "policy_min",
        ]),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the error's law, with and without bias.
    #[test]
    fn what_is_needed_is_enough_and_no_more() {
        for (truth, bias) in [(1e6, 0.0), (1e6, 1e3), (1e6, 4.9e4), (3e4, 1.0)] {
            let rho = needed(500.0, truth, bias, 0.05);
            let sigma = 500.0 / (2.0 * rho).sqrt();
            let room = 0.05 * truth;
            let missed = normal_tail((room - bias) / sigma) + normal_tail((room + bias) / sigma);
            assert!((missed - 0.05).abs() < 1e-6, "{truth}, {bias}: {missed}");
        }
        assert_eq!(needed(500.0, 1e6, 5e4, 0.05), f64::INFINITY);
        assert_eq!(needed(500.0, 0.0, 0.0, 0.05), f64::INFINITY);
    }
}
