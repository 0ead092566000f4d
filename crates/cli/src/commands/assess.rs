//! `hushtable assess`: what releases without noise give away.

mod compose;
mod count;
mod histogram;
mod k_anonymity;
mod parse;
mod plot;
mod threshold;

use self::plot::Curve;
use super::chart::ChartFile;
use crate::arguments::{AssessArguments, AssessCommand, ReportFormat};
use crate::failure::Failure;
use crate::render::assess::Report;
use crate::stdio;

/// What was asked for, and the same as functions.
struct Assessed {
    report: Report,
    /// What is published.
    what: &'static str,
    curves: Vec<Curve>,
}

pub(crate) fn run(asked: &AssessArguments) -> Result<(), Failure> {
    let shown = match &asked.command {
        AssessCommand::Count(asked) => &asked.curve.shown,
        AssessCommand::Histogram(asked) => &asked.curve.shown,
        AssessCommand::Threshold(asked) => &asked.curve.shown,
        AssessCommand::KAnonymity(asked) => &asked.curve.shown,
        AssessCommand::Compose(asked) => &asked.shown,
    };
    let plot = shown.plot.as_deref().map(ChartFile::to).transpose()?;
    let assessed = match &asked.command {
        AssessCommand::Count(asked) => count::assess(asked)?,
        AssessCommand::Histogram(asked) => histogram::assess(asked)?,
        AssessCommand::Threshold(asked) => threshold::assess(asked)?,
        AssessCommand::KAnonymity(asked) => k_anonymity::assess(asked)?,
        AssessCommand::Compose(asked) => compose::assess(asked)?,
    };
    let text = match shown.format {
        ReportFormat::Text => assessed.report.text(),
        ReportFormat::Json => assessed.report.json(),
    };
    stdio::print(text.as_bytes())?;
    plot.map_or(Ok(()), |file| file.write(&plot::chart(&assessed)))
}
