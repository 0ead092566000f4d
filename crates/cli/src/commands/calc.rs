//! `hushtable calc`: what a budget buys, from numbers alone.

mod compose;
mod convert;
mod noise;
mod quantile;
mod sample;
mod selection;

use clap::error::ErrorKind;

use crate::arguments::{CalcArguments, CalcCommand, ReportFormat};
use crate::failure::Failure;
use crate::stdio;

pub(crate) fn run(asked: &CalcArguments) -> Result<(), Failure> {
    let (report, format) = match &asked.command {
        CalcCommand::Selection(asked) => (selection::report(asked)?, asked.format),
        CalcCommand::Convert(asked) => (convert::report(asked)?, asked.format),
        CalcCommand::Noise(asked) => (noise::report(asked)?, asked.format),
        CalcCommand::Quantile(asked) => (quantile::report(asked)?, asked.format),
        CalcCommand::Compose(asked) => (compose::report(asked)?, asked.format),
        CalcCommand::Sample(asked) => return sample::run(asked),
    };
    let text = match format {
        ReportFormat::Text => report.text(),
        ReportFormat::Json => report.json(),
    };
    stdio::print(text.as_bytes())
}

fn wrong_usage(subcommand: &str, kind: ErrorKind, what: &str) -> ! {
    super::usage::wrong_usage("calc", subcommand, kind, what)
}
