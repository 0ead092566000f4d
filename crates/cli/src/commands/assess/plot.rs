//! Guarantees as curves.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hushtable_plot::{Axis, Chart, Scale, Series, Style};

use super::Assessment;

/// Intervals that the shown range of epsilon is divided into. Where points are costly, only each
/// second, fourth or eighth of their ends is computed.
const INTERVALS: usize = 40;

/// No finer once it has taken so long.
const PATIENCE: Duration = Duration::from_millis(500);

/// Deltas are shown down to this one, or to a thousandth of the least that is marked.
const LEAST: f64 = 1e-12;

/// A column of guarantees as a function.
pub(super) struct DeltaCurve {
    /// How its column's name goes on after `epsilon` or `delta`; none if it has no column.
    column: Option<&'static str>,
    name: String,
    style: Style,
    /// delta at epsilon.
    delta: Box<dyn Fn(f64) -> f64>,
}

impl DeltaCurve {
    /// A curve of a column, with the column's guarantees marked on it.
    pub(super) fn new(
        column: &'static str,
        name: &str,
        delta: impl Fn(f64) -> f64 + 'static,
    ) -> Self {
        let (column, name, delta) = (Some(column), name.to_owned(), Box::new(delta));
        Self { column, name, style: Style::Line, delta }
    }

    /// A curve of no column.
    pub(super) fn plain(name: &str, delta: impl Fn(f64) -> f64 + 'static) -> Self {
        Self { column: None, ..Self::new("", name, delta) }
    }

    /// A dashed curve of no column, beside those that have one.
    pub(super) fn unmarked(name: &str, delta: impl Fn(f64) -> f64 + 'static) -> Self {
        Self::plain(name, delta).dashed()
    }

    /// With a dashed line, where it may lie on another.
    pub(super) fn dashed(self) -> Self {
        Self { style: Style::Dashed, ..self }
    }
}

/// The curves of what was assessed, and what is marked on them.
pub(super) fn chart(assessed: &Assessment) -> Chart {
    let marks = assessed.curves.iter().map(|curve| marks(assessed, curve)).collect();
    let what = assessed.what;
    let title = format!("What {what} may give away: a measured risk, no privacy budget");
    drawn(title, &assessed.curves, marks)
}

/// Curves, with the points that are marked on each.
pub(super) fn drawn(title: String, curves: &[DeltaCurve], marks: Vec<Vec<(f64, f64)>>) -> Chart {
    let (scale, range) = range(marks.iter().flatten().map(|mark| mark.0));
    let least = marks.iter().flatten().map(|mark| mark.1).filter(|delta| *delta > 0.0);
    let floor = least.map(|delta| 1e-3 * delta).fold(LEAST, f64::min);
    let started = Instant::now();
    let grid = sampled(curves, &range, || started.elapsed() > PATIENCE);
    // Where nothing is given away at all, there is no magnitude of it.
    let nothing = grid.iter().flat_map(|(_, deltas)| deltas).all(|delta| *delta < floor);
    let least_drawn = if nothing { 0.0 } else { floor };
    let mut series = Vec::new();
    for (index, curve) in curves.iter().enumerate() {
        let points = grid.iter().map(|(epsilon, deltas)| (*epsilon, deltas[index]));
        let points = points.filter(|point| point.1 >= least_drawn).collect();
        series.push(Series { name: curve.name.clone(), style: curve.style, points });
    }
    for (curve, points) in curves.iter().zip(marks) {
        series.push(Series { name: curve.name.clone(), style: Style::Points, points });
    }
    series.retain(|series| series.style != Style::Points || !series.points.is_empty());
    Chart {
        title,
        x: Axis {
            label: "epsilon: how much a release may reveal about one record".to_owned(),
            scale,
            marks: Vec::new(),
        },
        y: Axis {
            label: "delta: probability that it tells more".to_owned(),
            scale: if nothing { Scale::Linear } else { Scale::Logarithmic },
            marks: Vec::new(),
        },
        series,
    }
}

/// The points of a curve that the report names.
fn marks(assessed: &Assessment, curve: &DeltaCurve) -> Vec<(f64, f64)> {
    let Some(column) = curve.column else { return Vec::new() };
    assessed.report.rows.iter().filter_map(|row| row.point(column)).collect()
}

/// Epsilons from nothing to a little more than the largest, or of all their magnitudes where these
/// are many.
fn range(epsilons: impl Iterator<Item = f64> + Clone) -> (Scale, Vec<f64>) {
    let least = epsilons.clone().fold(f64::INFINITY, f64::min);
    let most = epsilons.fold(0.0, f64::max);
    let fraction = |i: usize| i as f64 / INTERVALS as f64;
    if least > 0.0 && most >= 50.0 * least {
        let (low, high) = (0.5 * least, 2.0 * most);
        let all = (0..=INTERVALS).map(|i| low * (high / low).powf(fraction(i)));
        return (Scale::Logarithmic, all.collect());
    }
    let high = if most > 0.0 { 1.25 * most } else { 1.0 };
    (Scale::Linear, (0..=INTERVALS).map(|i| high * fraction(i)).collect())
}

/// The deltas of all curves at epsilons of the range, first at few of them and then between these,
/// until it has taken too long.
fn sampled(
    curves: &[DeltaCurve],
    range: &[f64],
    too_long: impl Fn() -> bool,
) -> Vec<(f64, Vec<f64>)> {
    let mut samples: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for step in [8, 4, 2, 1] {
        for (index, epsilon) in range.iter().enumerate().step_by(step) {
            samples
                .entry(index)
                .or_insert_with(|| curves.iter().map(|curve| (curve.delta)(*epsilon)).collect());
        }
        if too_long() {
            break;
        }
    }
    samples.into_iter().map(|(index, deltas)| (range[index], deltas)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::assess::{AssessReport, EpsilonOrDelta, GuaranteeRow};

    #[test]
    fn the_range_holds_what_is_marked() {
        let (scale, all) = range([0.1, 0.5, 1.0].into_iter());
        assert_eq!((scale, all.len()), (Scale::Linear, INTERVALS + 1));
        assert_eq!((all[0], all[INTERVALS]), (0.0, 1.25));
        let (scale, all) = range([0.001, 0.1, 1.0].into_iter());
        assert_eq!(scale, Scale::Logarithmic);
        assert!(all[0] <= 0.001 && all[INTERVALS] >= 1.0 && all.is_sorted());
        assert_eq!(range([0.0].into_iter()).1[INTERVALS], 1.0);
        assert_eq!(range(std::iter::empty()).1[INTERVALS], 1.0);
    }

    #[test]
    fn what_was_asked_for_is_marked_on_its_curve() {
        let [one, two] = ["1", "2"].map(|e| EpsilonOrDelta::epsilon(e.parse().unwrap()));
        let mut at_epsilon = GuaranteeRow::new(one, EpsilonOrDelta::Delta(0.1));
        at_epsilon.push("delta_alone", EpsilonOrDelta::Delta(0.2));
        let mut at_delta =
            GuaranteeRow::new(EpsilonOrDelta::Epsilon(None), EpsilonOrDelta::Delta(1e-3));
        at_delta.push("epsilon_alone", two);
        let rows = vec![at_epsilon, at_delta];
        let report = AssessReport { rows, pairs: Vec::new(), exact: true, words: String::new() };
        let steep = |epsilon: f64| 0.1 * (-20.0 * epsilon).exp();
        let curves =
            vec![DeltaCurve::new("", "all", steep), DeltaCurve::new("_alone", "alone", |_| 0.2)];
        let chart = chart(&Assessment { report, what: "this count", curves });

        let points = |name: &str, style: Style| {
            let found = chart.series.iter().find(|s| s.name == name && s.style == style);
            found.unwrap().points.clone()
        };
        assert_eq!(points("all", Style::Points), [(1.0, 0.1)]);
        assert_eq!(points("alone", Style::Points), [(1.0, 0.2), (2.0, 1e-3)]);
        assert_eq!(points("alone", Style::Line).len(), INTERVALS + 1);
        // A thousandth of what is marked is the least that is shown, or 1e-12.
        let line = points("all", Style::Line);
        assert!(line.iter().all(|point| point.1 >= 1e-12) && line.len() < INTERVALS + 1);
    }

    #[test]
    fn costly_curves_have_fewer_points() {
        let all: Vec<f64> = (0..=INTERVALS).map(|i| i as f64).collect();
        let curves = [DeltaCurve::new("", "", |epsilon| -epsilon)];
        let points = sampled(&curves, &all, || false);
        let expected: Vec<(f64, Vec<f64>)> = all.iter().map(|e| (*e, vec![-e])).collect();
        assert_eq!(points, expected);
        let few: Vec<f64> = sampled(&curves, &all, || true).iter().map(|p| p.0).collect();
        assert_eq!(few, [0.0, 8.0, 16.0, 24.0, 32.0, 40.0]);
    }
}
