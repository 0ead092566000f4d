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
    let verbose = arguments.verbose;
    if let Some((output, assess)) = of_numbers(arguments) {
        return curves(output, verbose, assess);
    }
    match &arguments.command {
        AssessCommand::Count(_)
        | AssessCommand::Histogram(_)
        | AssessCommand::Threshold(_)
        | AssessCommand::KAnonymity(_)
        | AssessCommand::Compose(_) => Ok(()),
        AssessCommand::Table(arguments) => {
            let plot = arguments.plot.as_deref().map(ChartFile::to).transpose()?;
            let plot = plot.map(ChartFile::for_user_alone);
            let report = table::report(arguments)?;
            printed(arguments.format, || report.text(verbose), || report.json())?;
            plot.map_or(Ok(()), |file| file.write(&table::chart(&report)))
        }
        AssessCommand::Differencing(arguments) => {
            let report = differencing::report(arguments)?;
            printed(arguments.format, || Ok(report.text(verbose)), || Ok(report.json()))
        }
        AssessCommand::Microdata(arguments) => {
            let report = microdata::report(arguments)?;
            printed(arguments.format, || Ok(report.text(verbose)), || Ok(report.json()))
        }
        AssessCommand::Model(arguments) => {
            let plot = arguments.plot.as_deref().map(ChartFile::to).transpose()?;
            let modelled = model::assess(arguments)?;
            let report = &modelled.report;
            printed(arguments.format, || Ok(report.text(verbose)), || Ok(report.json()))?;
            plot.map_or(Ok(()), |file| file.write(&modelled.chart()))
        }
    }
}

/// How an assessment of numbers alone is shown, and the assessment itself.
type NumbersAssessment<'a> =
    (&'a ShownArguments, Box<dyn FnOnce() -> Result<Assessment, Failure> + 'a>);

/// The assessment, if it is of numbers alone: it reads no file.
fn of_numbers(arguments: &AssessArguments) -> Option<NumbersAssessment<'_>> {
    Some(match &arguments.command {
        AssessCommand::Count(given) => (&given.curve.output, Box::new(|| count::assess(given))),
        AssessCommand::Histogram(given) => {
            (&given.curve.output, Box::new(|| histogram::assess(given)))
        }
        AssessCommand::Threshold(given) => {
            (&given.curve.output, Box::new(|| threshold::assess(given)))
        }
        AssessCommand::KAnonymity(given) => {
            (&given.curve.output, Box::new(|| k_anonymity::assess(given)))
        }
        AssessCommand::Compose(given) => (&given.output, Box::new(|| compose::assess(given))),
        AssessCommand::Table(_)
        | AssessCommand::Differencing(_)
        | AssessCommand::Microdata(_)
        | AssessCommand::Model(_) => return None,
    })
}

/// The guarantees in JSON, if the assessment is of numbers alone.
pub(crate) fn json_of_numbers(arguments: &AssessArguments) -> Option<Result<String, Failure>> {
    let (_, assess) = of_numbers(arguments)?;
    Some(assess().map(|assessed| assessed.report.json()))
}

/// Guarantees as a table, and as curves where they are asked for.
fn curves(
    output: &ShownArguments,
    verbose: bool,
    assess: impl FnOnce() -> Result<Assessment, Failure>,
) -> Result<(), Failure> {
    let plot = output.plot.as_deref().map(ChartFile::to).transpose()?;
    let assessed = assess()?;
    printed(output.format, || Ok(assessed.report.text(verbose)), || Ok(assessed.report.json()))?;
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
