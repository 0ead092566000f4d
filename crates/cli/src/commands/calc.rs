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
    let (report, format) = match &arguments.command {
        CalcCommand::Selection(arguments) => (selection::report(arguments)?, arguments.format),
        CalcCommand::Convert(arguments) => (convert::report(arguments)?, arguments.format),
        CalcCommand::Noise(arguments) => (noise::report(arguments)?, arguments.format),
        CalcCommand::Quantile(arguments) => (quantile::report(arguments)?, arguments.format),
        CalcCommand::Compose(arguments) => (compose::report(arguments)?, arguments.format),
        CalcCommand::Sample(arguments) => return sample::run(arguments),
    };
    let text = match format {
        TextOrJson::Text => report.text(),
        TextOrJson::Json => report.json(),
    };
    stdio::print(text.as_bytes())
}

fn wrong_usage(subcommand: &str, kind: ErrorKind, what: &str) -> ! {
    super::usage::wrong_usage("calc", subcommand, kind, what)
}
