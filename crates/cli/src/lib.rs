//! The `hushtable` command, as a library: for the program of that name, and for other ways in.
//!
//! [`run`] is the whole command. [`rendered`] has its texts, JSON and charts, so that all ways in
//! show a result alike.

mod arguments;
mod colour;
mod commands;
mod delayed_effects;
mod failure;
mod given_numbers;
mod guard;
mod interruption;
mod pace;
mod process_limits;
mod progress;
mod render;
pub mod rendered;
mod sql_input;
mod stdio;
mod surroundings;
mod table_format;

use std::ffi::OsString;
use std::time::Instant;

use clap::Parser;

pub use commands::memory_of_environment;
pub use guard::silence_panics;
pub use pace::delay_of_environment;

use crate::arguments::{Cli, Command};
use crate::pace::Pace;

/// Runs the command in this process, whose panics say nothing from then on, and returns its exit
/// code. `arguments` begin with the program's name. Where the arguments are wrong or ask for help,
/// the process ends here.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    // The delay counts from here, as parsing a query takes time, too.
    let started = Instant::now();
    silence_panics();
    process_limits::lift();
    let cli = Cli::parse_from(stdio::arguments(arguments));
    colour::choose(cli.color);
    let option = match &cli.command {
        Command::Query(arguments) => Some(&arguments.pace),
        Command::Explain(arguments) => Some(&arguments.pace),
        Command::Release(arguments) => Some(&arguments.pace),
        Command::Summary(arguments) => Some(&arguments.pace),
        Command::Learn(arguments) => Some(&arguments.pace),
        _ => None,
    };
    let pace = option.map_or(Ok(Pace::none(started)), |option| {
        Pace::of(option.at_least_seconds.as_deref(), started)
    });
    let pace = match pace {
        Ok(pace) => pace,
        // Before anything was looked at.
        Err(failure) => return guard::guarded(Pace::none(started), || Err(failure)),
    };
    guard::guarded(pace, || match &cli.command {
        Command::Query(arguments) => commands::query::run(arguments),
        Command::Explain(arguments) => commands::explain::run(arguments),
        Command::Shell(arguments) => commands::shell::run(arguments),
        Command::Release(arguments) => commands::release::run(arguments),
        Command::Summary(arguments) => commands::summary::run(arguments),
        Command::Learn(arguments) => commands::learn::run(arguments),
        Command::Budget(arguments) => commands::budget::run(arguments),
        Command::Ledger(arguments) => commands::ledger::run(arguments),
        Command::Init(arguments) => commands::init::run(arguments),
        Command::Tables(arguments) => commands::tables::list(arguments),
        Command::Describe(arguments) => commands::tables::describe(arguments),
        Command::Calc(arguments) => commands::calc::run(arguments),
        Command::Assess(arguments) => commands::assess::run(arguments),
        Command::Randomize(arguments) => commands::local::randomize(arguments),
        Command::Estimate(arguments) => commands::local::estimate(arguments),
        Command::Check(arguments) => commands::check::run(arguments),
        Command::Tune(arguments) => commands::tune::run(arguments),
        Command::Audit(arguments) => commands::audit::run(arguments),
        Command::Policy(arguments) => commands::losses::policy(arguments),
        Command::Fit(arguments) => commands::losses::fit(arguments),
        Command::Generate(arguments) => commands::generate::run(arguments),
    })
}
