//! Several curves over the same numbers.

use hushtable_plot::{Axis, Chart, Scale, Series, Style};

use crate::figure::{Figure, digits};

/// Values below it are in the numbers, and not on the chart.
pub(crate) const LEAST_SHOWN: f64 = 1e-30;

/// A curve, with a value at each number or none.
pub(crate) struct Curve {
    /// In the legend.
    name: String,
    /// The name of its column.
    column: String,
    style: Style,
    values: Vec<Option<f64>>,
}

impl Curve {
    /// A curve that is computed exactly, or is exact within bounds.
    pub(crate) fn ours(
        name: &str,
        column: &str,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Self {
        let (name, column) = (name.to_owned(), column.to_owned());
        Self { name, column, style: Style::Line, values: values.into_iter().collect() }
    }

    /// A curve for comparison.
    pub(crate) fn other(
        name: &str,
        column: &str,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Self {
        Self { style: Style::Dashed, ..Self::ours(name, column, values) }
    }
}

/// Numbers along the horizontal axis.
pub(crate) struct Grid {
    pub(crate) axis: Axis,
    pub(crate) column: &'static str,
    pub(crate) values: Vec<f64>,
}

impl Grid {
    /// Epsilons from 0 to `most`.
    pub(crate) fn epsilons(most: f64, steps: u32) -> Self {
        let values = (0..=steps).map(|i| most * f64::from(i) / f64::from(steps)).collect();
        Self { axis: linear("epsilon"), column: "epsilon", values }
    }

    /// A function of each number.
    pub(crate) fn map(&self, of: impl Fn(f64) -> f64) -> Vec<Option<f64>> {
        self.values.iter().map(|x| Some(of(*x))).collect()
    }

    /// A function of each number that may have no value.
    pub(crate) fn some(&self, of: impl Fn(f64) -> Option<f64>) -> Vec<Option<f64>> {
        self.values.iter().map(|x| of(*x)).collect()
    }
}

/// An axis of any numbers.
pub(crate) fn linear(label: &str) -> Axis {
    Axis { label: label.to_owned(), scale: Scale::Linear, marks: Vec::new() }
}

/// A figure of curves, with a row for each number of the grid.
pub(crate) fn figure(name: &str, title: &str, grid: &Grid, y: Axis, curves: &[Curve]) -> Figure {
    let shown = |curve: &Curve| {
        let points = grid.values.iter().zip(&curve.values);
        let points = points.filter_map(|(x, value)| Some((*x, (*value)?)));
        Series {
            name: curve.name.clone(),
            style: curve.style,
            points: points.filter(|point| point.1 >= LEAST_SHOWN).collect(),
        }
    };
    let row = |index: usize| {
        let cell = |curve: &Curve| curve.values[index].map_or(String::new(), digits);
        let mut row = vec![digits(grid.values[index])];
        row.extend(curves.iter().map(cell));
        row
    };
    let mut columns = vec![grid.column.to_owned()];
    columns.extend(curves.iter().map(|curve| curve.column.clone()));
    Figure {
        name: name.to_owned(),
        chart: Chart {
            title: title.to_owned(),
            x: grid.axis.clone(),
            y,
            series: curves.iter().map(shown).collect(),
        },
        columns,
        rows: (0..grid.values.len()).map(row).collect(),
    }
}
