//! The `hushtable` command.

mod arguments;
mod colour;
mod commands;
mod failure;
mod given_numbers;
mod guard;
mod interruption;
mod kept_effects;
mod pace;
mod process_limits;
mod progress;
mod render;
mod sql_input;
mod stdio;
mod surroundings;
mod table_format;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use crate::arguments::{Cli, Command};
use crate::pace::Pace;

fn main() -> ExitCode {
    let started = Instant::now();
    guard::silence_panics();
    process_limits::lift();
    let cli = Cli::parse_from(stdio::arguments());
    colour::choose(cli.color);
    let option = match &cli.command {
        Command::Query(asked) => Some(&asked.pace),
        Command::Explain(asked) => Some(&asked.pace),
        Command::Release(asked) => Some(&asked.pace),
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
        Command::Query(asked) => commands::query::run(asked),
        Command::Explain(asked) => commands::explain::run(asked),
        Command::Shell(asked) => commands::shell::run(asked),
        Command::Release(asked) => commands::release::run(asked),
        Command::Budget(asked) => commands::budget::run(asked),
        Command::Ledger(asked) => commands::ledger::run(asked),
        Command::Init(asked) => commands::init::run(asked),
        Command::Tables(asked) => commands::tables::list(asked),
        Command::Describe(asked) => commands::tables::describe(asked),
        Command::Calc(asked) => commands::calc::run(asked),
        Command::Assess(asked) => commands::assess::run(asked),
        Command::Randomize(asked) => commands::local::randomize(asked),
        Command::Estimate(asked) => commands::local::estimate(asked),
        Command::Check(asked) => commands::check::run(asked),
        Command::Tune(asked) => commands::tune::run(asked),
        Command::Audit(asked) => commands::audit::run(asked),
        Command::Policy(asked) => commands::losses::policy(asked),
        Command::Fit(asked) => commands::losses::fit(asked),
        Command::Generate(asked) => commands::generate::run(asked),
    })
}
