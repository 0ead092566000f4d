//! `hushtable calc`: what a budget buys, from numbers alone.

mod compose;
mod convert;
mod noise;
mod quantile;
mod sample;
mod selection;

use clap::error::ErrorKind;

use crate::arguments::{CalcArguments, CalcCommand, TextOrJson};
use crate::failure::Failure;
use crate::stdio;

pub(crate) fn run(arguments: &CalcArguments) -> Result<(), Failure> {
    if let CalcCommand::Sample(arguments) = &arguments.command {
        return sample::run(arguments);
    }
    stdio::print(printed(arguments)?.as_bytes())
}

/// The output of a calculation. Draws are printed one by one, and not here.
pub(crate) fn printed(arguments: &CalcArguments) -> Result<String, Failure> {
    let (report, format) = match &arguments.command {
        CalcCommand::Selection(arguments) => (selection::report(arguments)?, arguments.format),
        CalcCommand::Convert(arguments) => (convert::report(arguments)?, arguments.format),
        CalcCommand::Noise(arguments) => (noise::report(arguments)?, arguments.format),
        CalcCommand::Quantile(arguments) => (quantile::report(arguments)?, arguments.format),
        CalcCommand::Compose(arguments) => (compose::report(arguments)?, arguments.format),
        CalcCommand::Sample(_) => return Ok(String::new()),
    };
    Ok(match format {
        TextOrJson::Text => report.text(),
        TextOrJson::Json => report.json(),
    })
}

fn wrong_usage(subcommand: &str, kind: ErrorKind, what: &str) -> Failure {
    super::usage::wrong_usage("calc", subcommand, kind, what)
}
