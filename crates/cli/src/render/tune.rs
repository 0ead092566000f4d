//! The findings of a tuning, as text, JSON and chart. About the exact data: every form says so.

use std::fmt::Write;

use hushtable::{Trial, TrialError, TuneReport, TunedSetting};
use hushtable_plot::{Axis, Chart, Scale, Series, Style};
use serde::Serialize;

use super::assess::wrapped_at;
use super::audit::CONFIDENTIAL;
use super::grid::{Alignment, TextGrid, visible};
use super::number::number;
use super::pretty_json;
use crate::failure::Failure;

/// Columns of the page.
const WIDTH: usize = 80;

/// Definition of the errors.
const ERRORS: &str = "Errors are root mean squares over all groups of the data, \
                      in the column's units, against the values without any limit, bound or noise. \
                      A group that is not shown counts as zero. One setting is changed at a time; \
                      `*` is the query's own.";

/// The warning below what to set.
const PUBLIC: &str = "Analysts see the contract, and a setting that is taken from the data \
                      reveals something about it. Take a round number that you could have named \
                      without the data.";

#[derive(Serialize)]
struct TuneFindings<'a> {
    confidential: bool,
    #[serde(flatten)]
    report: &'a TuneReport,
    /// The lines to set.
    set: Vec<String>,
}

/// The findings as JSON.
pub(crate) fn json(report: &TuneReport) -> Result<String, Failure> {
    pretty_json(&TuneFindings { confidential: true, report, set: lines(report) })
}

/// The findings as text.
pub(crate) fn text(report: &TuneReport) -> String {
    let mut out = format!("{CONFIDENTIAL}\n\n{}", wrapped_at(ERRORS, WIDTH));
    // Writing to a String cannot fail.
    let _ = writeln!(out, "\nGroups in the data: {}", number(report.groups_in_data as f64));
    for setting in &report.settings {
        let _ = write!(out, "\n{}\n{}", setting.setting, table(report, setting));
    }
    out += "\nWhat to set\n";
    let lines = lines(report);
    if lines.is_empty() {
        out += "  Nothing: no other value of a setting has a smaller error.\n";
    }
    for line in &lines {
        let _ = writeln!(out, "  {line}");
    }
    if !lines.is_empty() {
        let _ = write!(out, "\n{}", wrapped_at(PUBLIC, WIDTH));
    }
    out
}

fn table(report: &TuneReport, setting: &TunedSetting) -> String {
    let headings = [
        "value",
        "mechanisms",
        "groups shown",
        "pairs hidden",
        "of",
        "noise",
        "bounding",
        "not shown",
        "total",
        "of values",
    ];
    let side =
        |column: usize| if matches!(column, 1 | 4) { Alignment::Left } else { Alignment::Right };
    let mut grid = TextGrid::new(headings.into_iter().enumerate().map(|(i, name)| (name, side(i))));
    for trial in &setting.trials {
        for (index, (name, error)) in report.measurements.iter().zip(&trial.errors).enumerate() {
            let mut row = match index {
                0 => first(trial),
                _ => vec![String::new(); 4],
            };
            row.push(visible(name));
            row.extend(error.as_ref().map_or_else(|| vec!["-".to_owned(); 5], errors));
            grid.push(row);
        }
        if report.measurements.is_empty() {
            grid.push(first(trial));
        }
    }
    grid.text(2)
}

fn first(trial: &Trial) -> Vec<String> {
    let mark = if trial.is_current { " *" } else { "" };
    let noise = trial.noise.to_string();
    let mechanisms = match trial.strategy {
        Some(strategy) => format!("{strategy}, {noise}"),
        None => noise,
    };
    let more = if trial.at_least { "at least " } else { "" };
    let groups = format!("{more}{}", number((10.0 * trial.groups_shown).round() / 10.0));
    let hidden = format!("{} %", number(three(100.0 * trial.pairs_hidden)));
    vec![format!("{}{mark}", trial.value), mechanisms, groups, hidden]
}

fn errors(error: &TrialError) -> Vec<String> {
    let share = match error.values > 0.0 {
        true => format!("{} %", number(three(100.0 * error.total / error.values))),
        false => "-".to_owned(),
    };
    let TrialError { noise, bounding, not_shown, total, .. } = *error;
    let numbers = [noise, bounding, not_shown, total].map(|value| number(three(value)));
    numbers.into_iter().chain([share]).collect()
}

/// Three significant digits.
fn three(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// The lines that make the error smaller, each for its setting alone. The price is the owner's to
/// choose.
fn lines(report: &TuneReport) -> Vec<String> {
    let better = report.settings.iter().filter_map(|setting| {
        let best = setting.best().filter(|best| !best.is_current)?;
        let value = visible(&best.value);
        match setting.setting.as_str() {
            "epsilon" | "rho" => None,
            "bounds" => Some(format!("bounds {value} as large, in the columns of the contract")),
            name @ ("noise" | "group_selection_strategy") => Some(format!("{name} = \"{value}\"")),
            name => Some(format!("{name} = {value}")),
        }
    });
    better.collect()
}

/// A component of an error.
type ErrorComponent = fn(&TrialError) -> f64;

/// The relative error over the values of the first setting.
pub(crate) fn chart(report: &TuneReport) -> Chart {
    let trials = report.settings.first().map_or(&[][..], |setting| setting.trials.as_slice());
    let values: Option<Vec<f64>> = trials.iter().map(|trial| trial.value.parse().ok()).collect();
    // Words have no distances: they stand beside each other.
    let values = values.filter(|all| all.iter().all(|value| *value > 0.0));
    let scale = if values.is_some() { Scale::Logarithmic } else { Scale::Linear };
    let x = |index: usize| {
        values.as_ref().and_then(|all| all.get(index).copied()).unwrap_or(index as f64)
    };
    let mark = |(index, trial): (usize, &Trial)| {
        let now = if trial.is_current { " (now)" } else { "" };
        (x(index), format!("{}{now}", visible(&trial.value)))
    };
    let marks = trials.iter().enumerate().map(mark).collect();
    let of = |component: ErrorComponent| {
        let points = trials.iter().enumerate().filter_map(|(index, trial)| {
            let error = trial.errors.iter().flatten().find(|error| error.values > 0.0)?;
            Some((x(index), component(error) / error.values))
        });
        points.collect::<Vec<_>>()
    };
    let components: [(&str, ErrorComponent, Style); 4] = [
        ("noise", |error| error.noise, Style::Dashed),
        ("bounding", |error| error.bounding, Style::Dashed),
        ("not shown", |error| error.not_shown, Style::Dashed),
        ("total", |error| error.total, Style::Line),
    ];
    let series = components.into_iter().map(|(name, component, style)| Series {
        name: name.to_owned(),
        style,
        points: of(component),
    });
    let label = report.settings.first().map_or_else(String::new, |s| visible(&s.setting));
    Chart {
        title: "CONFIDENTIAL: errors of the first measurement".to_owned(),
        x: Axis { label, scale, marks },
        y: Axis {
            label: "root mean squared error, as a share of the values".to_owned(),
            scale: Scale::Linear,
            marks: Vec::new(),
        },
        series: series.collect(),
    }
}
