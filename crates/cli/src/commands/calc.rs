//! `hushtable calc`: what a budget buys, from numbers alone.

mod compose;
mod convert;
mod noise;
mod sample;
mod selection;

use clap::CommandFactory;
use clap::error::ErrorKind;

use crate::arguments::{CalcArguments, CalcCommand, Cli, ReportFormat};
use crate::failure::Failure;
use crate::stdio;

pub(crate) fn run(asked: &CalcArguments) -> Result<(), Failure> {
    let (report, format) = match &asked.command {
        CalcCommand::Selection(asked) => (selection::report(asked)?, asked.format),
        CalcCommand::Convert(asked) => (convert::report(asked)?, asked.format),
        CalcCommand::Noise(asked) => (noise::report(asked)?, asked.format),
        CalcCommand::Compose(asked) => (compose::report(asked)?, asked.format),
        CalcCommand::Sample(asked) => return sample::run(asked),
    };
    let text = match format {
        ReportFormat::Text => report.text(),
        ReportFormat::Json => report.json(),
    };
    stdio::print(text.as_bytes())
}

/// Ends with clap's words and exit code where flags do not go together in a way that its
/// definitions cannot say.
fn wrong_usage(subcommand: &str, kind: ErrorKind, what: &str) -> ! {
    let mut command = Cli::command();
    command.build();
    let calc = command.find_subcommand_mut("calc");
    match calc.and_then(|calc| calc.find_subcommand_mut(subcommand)) {
        Some(command) => command.error(kind, what).exit(),
        None => command.error(kind, what).exit(),
    }
}
