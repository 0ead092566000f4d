//! The `hushtable` command.

mod arguments;
mod commands;
mod draft;
mod failure;
mod files;
mod guard;
mod progress;
mod protected;
mod published;
mod render;
mod stdio;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Cli, Command};

fn main() -> ExitCode {
    guard::silence_panics();
    let cli = Cli::parse();
    guard::guarded(|| match &cli.command {
        Command::Query(asked) => commands::query::run(asked),
        Command::Explain(asked) => commands::explain::run(asked),
        Command::Release(asked) => commands::release::run(asked),
        Command::Budget(asked) => commands::budget::run(asked),
        Command::Init(asked) => commands::init::run(asked),
        Command::Calc(asked) => commands::calc::run(asked),
        Command::Assess(asked) => commands::assess::run(asked),
        Command::Randomize(asked) => commands::local::randomize(asked),
        Command::Estimate(asked) => commands::local::estimate(asked),
        Command::Audit(asked) => commands::audit::run(asked),
        Command::Policy(asked) => commands::losses::policy(asked),
        Command::Fit(asked) => commands::losses::fit(asked),
        Command::Figures(asked) => commands::figures::run(asked),
    })
}
