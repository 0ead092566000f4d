//! `hushtable assess`: what releases without noise give away.

mod compose;
mod count;
mod histogram;
mod k_anonymity;
mod parse;
mod threshold;

use crate::arguments::{AssessArguments, AssessCommand, ReportFormat};
use crate::failure::Failure;
use crate::stdio;

pub(crate) fn run(asked: &AssessArguments) -> Result<(), Failure> {
    let (report, format) = match &asked.command {
        AssessCommand::Count(asked) => (count::report(asked)?, asked.curve.format),
        AssessCommand::Histogram(asked) => (histogram::report(asked)?, asked.curve.format),
        AssessCommand::Threshold(asked) => (threshold::report(asked)?, asked.curve.format),
        AssessCommand::KAnonymity(asked) => (k_anonymity::report(asked)?, asked.curve.format),
        AssessCommand::Compose(asked) => (compose::report(asked)?, asked.format),
    };
    let text = match format {
        ReportFormat::Text => report.text(),
        ReportFormat::Json => report.json(),
    };
    stdio::print(text.as_bytes())
}
