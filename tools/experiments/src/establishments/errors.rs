//! Relative errors of the workload's answers (PR Figure 3).

use std::collections::HashMap;

use hushtable_noise::{Dyadic, Law, Rehearsal, RoundedGaussian};
use hushtable_plot::{Chart, Series, Style};
use hushtable_privacy::Rho;

use super::cells::{Cell, LEVELS, MEASURES, Measure, judged};
use super::chart::{NO_GUARANTEE, curve, distribution, distributions, linear, upright};
use super::made_up::Establishment;
use super::multiplicative::factors;
use super::schemes::{Budget, SCHEMES};
use super::suppression::{Node, State};
use crate::distribution::Distribution;
use crate::figure::{columns, digits, logarithmic, series};
use crate::{ExperimentError, Figure};

/// Least number of establishments from which queries are judged, as in the paper.
pub(super) const LEAST: usize = 100;

/// The goals of the paper's green and red lines.
pub(super) const GOALS: [f64; 2] = [0.05, 0.2];

/// Budgets in rho, shared by all queries of an establishment.
pub(super) const BUDGETS: [&str; 3] = ["0.1", "1", "10"];

/// The errors that charts of distributions show.
const RANGE: [f64; 2] = [1e-4, 10.0];

/// The budget of the charts.
const SHOWN: &str = "1";

/// Relative errors of all answers of one kind.
#[derive(Clone, Debug)]
pub(super) struct Errors {
    pub(super) method: String,
    /// None for what agencies do.
    pub(super) rho: Option<&'static str>,
    pub(super) level: u32,
    pub(super) measure: Measure,
    /// |answer - truth| / truth; infinite where there is no answer.
    pub(super) errors: Distribution,
}

impl Errors {
    /// The share of answers that are off by no more than a goal.
    pub(super) fn share_within(&self, goal: f64) -> f64 {
        1.0 - self.errors.share_above(goal)
    }
}

/// The errors of every scheme at every budget, and of what agencies do.
pub(super) fn errors(
    rows: &[Establishment],
    nodes: &[Node],
    seed: u64,
) -> Result<Vec<Errors>, ExperimentError> {
    let cells = judged(rows, LEAST);
    let mut all = of_schemes(rows, &cells, seed)?;
    all.extend(of_agencies(rows, &cells, nodes, seed));
    Ok(all)
}

/// Of one draw of the noise for each answer.
fn of_schemes(
    rows: &[Establishment],
    cells: &[Cell],
    seed: u64,
) -> Result<Vec<Errors>, ExperimentError> {
    let mut rehearsal = Rehearsal::new(seed);
    let mut all = Vec::new();
    for measure in MEASURES {
        let truth = totals(cells, rows, |row| measure.of(row));
        for scheme in SCHEMES {
            let counted = totals(cells, rows, |row| scheme.counted(measure, measure.of(row)));
            for rho in BUDGETS {
                let total: Rho = rho.parse()?;
                let sigma = scheme.sigma(measure, Budget::evenly(total).each());
                let law = RoundedGaussian::new(Dyadic::at_least(sigma)?);
                let mut noise = vec![0; cells.len()];
                law.rehearse(&mut rehearsal, &mut noise)?;
                let error = |cell: usize| {
                    let answer = i128::from(counted[cell]) + noise[cell];
                    relative(answer as f64, truth[cell] as f64)
                };
                all.extend(by_level(cells, &scheme.label(), Some(rho), measure, error));
            }
        }
    }
    Ok(all)
}

/// Of multiplicative noise and of suppression. Both publish counts as they are.
fn of_agencies(rows: &[Establishment], cells: &[Cell], nodes: &[Node], seed: u64) -> Vec<Errors> {
    let factors = factors(rows, seed);
    let states: HashMap<(u32, usize), State> =
        nodes.iter().map(|node| ((node.level, node.rows.start), node.state)).collect();
    let mut all = Vec::new();
    for measure in MEASURES {
        let counts = measure == Measure::Establishments;
        let multiplied = |cell: usize| {
            let truth = cells[cell].total(rows, |row| measure.of(row)) as f64;
            let cell_rows = cells[cell].rows.clone();
            let noisy: f64 =
                cell_rows.map(|row| measure.of(&rows[row]) as f64 * factors[row]).sum();
            if counts { 0.0 } else { relative(noisy.round(), truth) }
        };
        all.extend(by_level(cells, &multiplicative(), None, measure, multiplied));
        let suppressed = |cell: usize| {
            let state = states.get(&(cells[cell].level, cells[cell].rows.start));
            let hidden = state.is_some_and(|state| *state != State::Published);
            if hidden && !counts { f64::INFINITY } else { 0.0 }
        };
        all.extend(by_level(cells, &suppression(), None, measure, suppressed));
    }
    all
}

/// Its name in legends and files.
pub(super) fn multiplicative() -> String {
    format!("EZS noise ({NO_GUARANTEE})")
}

/// Its name in legends and files.
pub(super) fn suppression() -> String {
    format!("p % rule ({NO_GUARANTEE})")
}

fn totals(
    cells: &[Cell],
    rows: &[Establishment],
    value: impl Fn(&Establishment) -> i64,
) -> Vec<i64> {
    cells.iter().map(|cell| cell.total(rows, &value)).collect()
}

/// PR (13); infinite if something is reported where there is nothing.
fn relative(answer: f64, truth: f64) -> f64 {
    let off = (answer - truth).abs();
    if off == 0.0 { 0.0 } else { off / truth.abs() }
}

fn by_level(
    cells: &[Cell],
    method: &str,
    rho: Option<&'static str>,
    measure: Measure,
    error: impl Fn(usize) -> f64,
) -> Vec<Errors> {
    let at = |level: u32| {
        let of_level = (0..cells.len()).filter(|cell| cells[*cell].level == level);
        let errors = Distribution::new(of_level.map(&error).collect());
        Errors { method: method.to_owned(), rho, level, measure, errors }
    };
    LEVELS.into_iter().map(at).collect()
}

/// PR Figure 3: for each measure the median errors by level, and for annual pay their
/// distributions.
pub(super) fn figures(errors: &[Errors]) -> Vec<Figure> {
    let mut all: Vec<Figure> =
        MEASURES.into_iter().map(|measure| medians(errors, measure)).collect();
    all.extend(LEVELS.into_iter().map(|level| spread(errors, level)));
    all
}

/// The errors that a chart shows.
fn shown(errors: &[Errors]) -> impl Iterator<Item = &Errors> {
    errors.iter().filter(|e| e.rho.is_none_or(|rho| rho == SHOWN))
}

fn style(method: &str) -> Style {
    if method.starts_with("splitting") { Style::Line } else { Style::Dashed }
}

fn medians(errors: &[Errors], measure: Measure) -> Figure {
    let of: Vec<&Errors> = errors.iter().filter(|e| e.measure == measure).collect();
    let rows = of.iter().map(|e| {
        let mut row = vec![
            e.method.clone(),
            e.rho.unwrap_or("").to_owned(),
            e.level.to_string(),
            measure.name().to_owned(),
        ];
        row.extend([0.05, 0.25, 0.5, 0.75, 0.95].map(|share| digits(e.errors.quantile(share))));
        row.extend(GOALS.map(|goal| digits(e.share_within(goal))));
        row
    });
    let mut drawn: Vec<Series> = Vec::new();
    for e in shown(errors).filter(|e| e.measure == measure) {
        let point = (f64::from(e.level), e.errors.quantile(0.5));
        match drawn.iter_mut().find(|s| s.name == e.method) {
            Some(series) => series.points.push(point),
            None => drawn.push(series(&e.method, style(&e.method), vec![point])),
        }
    }
    // No suppressed cell has an error, and published ones have none.
    drawn.retain(|s| s.points.iter().any(|(_, error)| *error > 0.0 && error.is_finite()));
    let goals = GOALS.map(|goal| {
        series(&format!("a goal of {} %", 100.0 * goal), Style::Level, vec![(2.0, goal)])
    });
    drawn.extend(goals);
    let title = format!(
        "{}: median relative error of cells of {LEAST} or more (synthetic), rho = {SHOWN}",
        measure.name()
    );
    Figure {
        name: format!("establishments-errors-{}", measure.name().to_lowercase()),
        chart: Chart {
            title,
            x: linear("digits of NAICS"),
            y: logarithmic("median relative error"),
            series: drawn,
        },
        columns: columns(&[
            "method",
            "rho",
            "naics_digits",
            "measure",
            "p05",
            "p25",
            "median",
            "p75",
            "p95",
            "within_5_percent",
            "within_20_percent",
        ]),
        rows: rows.collect(),
    }
}

fn spread(errors: &[Errors], level: u32) -> Figure {
    let of: Vec<&Errors> =
        shown(errors).filter(|e| e.measure == Measure::Pay && e.level == level).collect();
    let draw = |e: &&Errors| distribution(&e.method, style(&e.method), &curve(&e.errors), RANGE);
    let mut drawn: Vec<Series> = of.iter().map(draw).collect();
    for s in &mut drawn {
        // Exact publication has a single error: dots as far as the chart goes.
        if s.points.iter().all(|(error, _)| *error == RANGE[0])
            && let Some((_, share)) = s.points.last().copied()
        {
            s.style = Style::Points;
            s.points = (-8..=2).map(|half| (10f64.powf(f64::from(half) / 2.0), share)).collect();
        }
    }
    drawn.extend(GOALS.map(upright));
    let rows = of.iter().flat_map(|e| {
        let row = |(error, share): (f64, f64)| vec![e.method.clone(), digits(share), digits(error)];
        curve(&e.errors).into_iter().map(row)
    });
    Figure {
        name: format!("establishments-errors-payann-naics-{level}"),
        chart: distributions(
            format!(
                "PAYANN, NAICS at {level} digits: relative errors of cells of {LEAST} or more \
                 (synthetic), rho = {SHOWN}"
            ),
            "relative error (grey: 5 %, 20 %)",
            "share of cells",
            drawn,
        ),
        columns: columns(&["method", "share_of_cells", "relative_error"]),
        rows: rows.collect(),
    }
}
