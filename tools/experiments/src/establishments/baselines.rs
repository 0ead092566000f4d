//! Agencies' methods, on the same cells. None of them has a formal guarantee.

use hushtable_plot::{Chart, Series, Style};

use super::cells::{Cell, LEVELS, SIZES, cells};
use super::chart::{NO_GUARANTEE, linear};
use super::errors::{multiplicative, suppression};
use super::made_up::Establishment;
use super::multiplicative::factors;
use super::suppression::{Node, State};
use crate::Figure;
use crate::distribution::Distribution;
use crate::figure::{columns, digits, logarithmic, series};

/// The suppressed cells of a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct SuppressedCells {
    pub(super) level: u32,
    pub(super) cells: usize,
    /// Shares of all cells.
    pub(super) primary: f64,
    pub(super) complementary: f64,
    /// The share of all pay, and of all establishments, in suppressed cells.
    pub(super) pay: f64,
    pub(super) establishments: f64,
}

/// The suppressed cells of each level.
pub(super) fn suppressed(rows: &[Establishment], nodes: &[Node]) -> Vec<SuppressedCells> {
    let whole: i64 = rows.iter().map(|row| row.pay).sum();
    let at = |level: u32| {
        let of_level: Vec<&Node> = nodes.iter().filter(|node| node.level == level).collect();
        let share = |state: State| {
            of_level.iter().filter(|n| n.state == state).count() as f64
                / of_level.len().max(1) as f64
        };
        let (mut pay, mut count) = (0, 0);
        for node in of_level.iter().filter(|node| node.state != State::Published) {
            pay += rows[node.rows.clone()].iter().map(|row| row.pay).sum::<i64>();
            count += node.rows.len();
        }
        SuppressedCells {
            level,
            cells: of_level.len(),
            primary: share(State::Primary),
            complementary: share(State::Complementary),
            pay: pay as f64 / whole as f64,
            establishments: count as f64 / rows.len() as f64,
        }
    };
    LEVELS.into_iter().map(at).collect()
}

/// Shares of cells and of pay that suppression hides, and errors of multiplicative noise in all
/// cells.
pub(super) fn figures(rows: &[Establishment], nodes: &[Node], seed: u64) -> Vec<Figure> {
    vec![hidden(rows, nodes), noisy(rows, seed)]
}

fn hidden(rows: &[Establishment], nodes: &[Node]) -> Figure {
    let all = suppressed(rows, nodes);
    let curve = |name: &str, of: fn(&SuppressedCells) -> f64| {
        let points = all.iter().map(|s| (f64::from(s.level), of(s))).collect();
        series(name, Style::Line, points)
    };
    let drawn = vec![
        curve("cells, sensitive", |s| s.primary),
        curve("cells, for the sake of others", |s| s.complementary),
        curve("annual pay in suppressed cells", |s| s.pay),
        curve("establishments in suppressed cells", |s| s.establishments),
    ];
    let rows = all.iter().map(|s| {
        let shares = [s.primary, s.complementary, s.pay, s.establishments].map(digits);
        let mut row = vec![suppression(), s.level.to_string(), s.cells.to_string()];
        row.extend(shares);
        row
    });
    Figure {
        name: "establishments-suppression".to_owned(),
        chart: Chart {
            title: format!("Suppression by the p % rule, p = 10 ({NO_GUARANTEE}; synthetic)"),
            x: linear("digits of NAICS"),
            y: linear("share"),
            series: drawn,
        },
        columns: columns(&[
            "method",
            "naics_digits",
            "cells",
            "primary_share_of_cells",
            "complementary_share_of_cells",
            "suppressed_share_of_pay",
            "suppressed_share_of_establishments",
        ]),
        rows: rows.collect(),
    }
}

/// Errors by how many establishments a cell of six digits has.
fn noisy(rows: &[Establishment], seed: u64) -> Figure {
    let factors = factors(rows, seed);
    let finest = cells(rows, 6);
    let mut drawn: Vec<Series> = Vec::new();
    let mut table = Vec::new();
    for measure in SIZES {
        let mut points = Vec::new();
        for (low, high) in [(1, 1), (2, 3), (4, 9), (10, 29), (30, 99), (100, usize::MAX)] {
            let of = finest.iter().filter(|cell| (low..=high).contains(&cell.rows.len()));
            let error = |cell: &Cell| {
                let truth = cell.total(rows, |row| measure.of(row)) as f64;
                let noisy: f64 =
                    cell.rows.clone().map(|row| measure.of(&rows[row]) as f64 * factors[row]).sum();
                (truth > 0.0).then(|| (noisy - truth).abs() / truth)
            };
            let errors = Distribution::new(of.filter_map(error).collect());
            let median = errors.quantile(0.5);
            points.push((low as f64, median));
            let numbers = [0.05, 0.5, 0.95].map(|share| digits(errors.quantile(share)));
            let mut row = vec![multiplicative(), measure.name().to_owned(), low.to_string()];
            row.extend(numbers);
            table.push(row);
        }
        drawn.push(series(measure.name(), Style::Line, points));
    }
    Figure {
        name: "establishments-multiplicative-noise".to_owned(),
        chart: Chart {
            title: format!("EZS noise: median error of cells ({NO_GUARANTEE}; synthetic)"),
            x: logarithmic("establishments in the cell, from"),
            y: logarithmic("relative error"),
            series: drawn,
        },
        columns: columns(&["method", "measure", "establishments_from", "p05", "median", "p95"]),
        rows: table,
    }
}
