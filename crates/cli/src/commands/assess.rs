//! `hushtable assess`: what releases without noise give away.

mod compose;
mod count;
mod differencing;
mod histogram;
mod k_anonymity;
mod microdata;
mod model;
mod parse;
mod plot;
mod table;
mod threshold;

use self::plot::Curve;
use super::chart::ChartFile;
use crate::arguments::{AssessArguments, AssessCommand, ReportFormat, ShownArguments};
use crate::failure::Failure;
use crate::render::assess::Report;
use crate::stdio;

/// A report, and the functions behind its numbers.
struct Assessed {
    report: Report,
    /// The publication that is assessed.
    what: &'static str,
    curves: Vec<Curve>,
}

pub(crate) fn run(asked: &AssessArguments) -> Result<(), Failure> {
    match &asked.command {
        AssessCommand::Count(asked) => curves(&asked.curve.shown, || count::assess(asked)),
        AssessCommand::Histogram(asked) => curves(&asked.curve.shown, || histogram::assess(asked)),
        AssessCommand::Threshold(asked) => curves(&asked.curve.shown, || threshold::assess(asked)),
        AssessCommand::KAnonymity(asked) => {
            curves(&asked.curve.shown, || k_anonymity::assess(asked))
        }
        AssessCommand::Compose(asked) => curves(&asked.shown, || compose::assess(asked)),
        AssessCommand::Table(asked) => {
            let plot = asked.plot.as_deref().map(ChartFile::to).transpose()?;
            let plot = plot.map(ChartFile::for_user_alone);
            let report = table::report(asked)?;
            printed(asked.format, || report.text(), || report.json())?;
            plot.map_or(Ok(()), |file| file.write(&table::chart(&report)))
        }
        AssessCommand::Differencing(asked) => {
            let report = differencing::report(asked)?;
            printed(asked.format, || Ok(report.text()), || Ok(report.json()))
        }
        AssessCommand::Microdata(asked) => {
            let report = microdata::report(asked)?;
            printed(asked.format, || Ok(report.text()), || Ok(report.json()))
        }
        AssessCommand::Model(asked) => {
            let plot = asked.plot.as_deref().map(ChartFile::to).transpose()?;
            let modelled = model::assess(asked)?;
            let report = &modelled.report;
            printed(asked.format, || Ok(report.text()), || Ok(report.json()))?;
            plot.map_or(Ok(()), |file| file.write(&modelled.chart()))
        }
    }
}

/// Guarantees as a table, and as curves where they are asked for.
fn curves(
    shown: &ShownArguments,
    assess: impl FnOnce() -> Result<Assessed, Failure>,
) -> Result<(), Failure> {
    let plot = shown.plot.as_deref().map(ChartFile::to).transpose()?;
    let assessed = assess()?;
    printed(shown.format, || Ok(assessed.report.text()), || Ok(assessed.report.json()))?;
    plot.map_or(Ok(()), |file| file.write(&plot::chart(&assessed)))
}

fn printed(
    format: ReportFormat,
    text: impl FnOnce() -> Result<String, Failure>,
    json: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let printed = match format {
        ReportFormat::Text => text()?,
        ReportFormat::Json => json()?,
    };
    stdio::print(printed.as_bytes())
}
