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

use self::plot::DeltaCurve;
use super::chart::ChartFile;
use crate::arguments::{AssessArguments, AssessCommand, ShownArguments, TextOrJson};
use crate::failure::Failure;
use crate::render::assess::AssessReport;
use crate::stdio;

/// A report, and the functions behind its numbers.
struct Assessment {
    report: AssessReport,
    /// The publication that is assessed.
    what: &'static str,
    curves: Vec<DeltaCurve>,
}

pub(crate) fn run(arguments: &AssessArguments) -> Result<(), Failure> {
    match &arguments.command {
        AssessCommand::Count(arguments) => {
            curves(&arguments.curve.output, || count::assess(arguments))
        }
        AssessCommand::Histogram(arguments) => {
            curves(&arguments.curve.output, || histogram::assess(arguments))
        }
        AssessCommand::Threshold(arguments) => {
            curves(&arguments.curve.output, || threshold::assess(arguments))
        }
        AssessCommand::KAnonymity(arguments) => {
            curves(&arguments.curve.output, || k_anonymity::assess(arguments))
        }
        AssessCommand::Compose(arguments) => {
            curves(&arguments.output, || compose::assess(arguments))
        }
        AssessCommand::Table(arguments) => {
            let plot = arguments.plot.as_deref().map(ChartFile::to).transpose()?;
            let plot = plot.map(ChartFile::for_user_alone);
            let report = table::report(arguments)?;
            printed(arguments.format, || report.text(), || report.json())?;
            plot.map_or(Ok(()), |file| file.write(&table::chart(&report)))
        }
        AssessCommand::Differencing(arguments) => {
            let report = differencing::report(arguments)?;
            printed(arguments.format, || Ok(report.text()), || Ok(report.json()))
        }
        AssessCommand::Microdata(arguments) => {
            let report = microdata::report(arguments)?;
            printed(arguments.format, || Ok(report.text()), || Ok(report.json()))
        }
        AssessCommand::Model(arguments) => {
            let plot = arguments.plot.as_deref().map(ChartFile::to).transpose()?;
            let modelled = model::assess(arguments)?;
            let report = &modelled.report;
            printed(arguments.format, || Ok(report.text()), || Ok(report.json()))?;
            plot.map_or(Ok(()), |file| file.write(&modelled.chart()))
        }
    }
}

/// Guarantees as a table, and as curves where they are asked for.
fn curves(
    output: &ShownArguments,
    assess: impl FnOnce() -> Result<Assessment, Failure>,
) -> Result<(), Failure> {
    let plot = output.plot.as_deref().map(ChartFile::to).transpose()?;
    let assessed = assess()?;
    printed(output.format, || Ok(assessed.report.text()), || Ok(assessed.report.json()))?;
    plot.map_or(Ok(()), |file| file.write(&plot::chart(&assessed)))
}

fn printed(
    format: TextOrJson,
    text: impl FnOnce() -> Result<String, Failure>,
    json: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let printed = match format {
        TextOrJson::Text => text()?,
        TextOrJson::Json => json()?,
    };
    stdio::print(printed.as_bytes())
}
