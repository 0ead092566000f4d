//! Compares strategies of choosing groups on pairs of units and groups.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use hushtable_experiments::exit_code;
use hushtable_experiments::group_choice::{KeyBudget, Pairs, compare};

/// How many groups each strategy shows of a table, and the share of its pairs that it hides
///
/// The table is public: nothing here is private.
#[derive(Debug, Parser)]
#[command(name = "group-choice", max_term_width = 100)]
struct Arguments {
    /// CSV with a header and two columns, a unit's whole number and a group's name
    pairs: PathBuf,

    /// Epsilon
    #[arg(long, default_value = "1")]
    epsilon: String,

    /// Delta
    #[arg(long, default_value = "1e-5")]
    delta: String,

    /// The most groups of a unit; others are dropped at random
    #[arg(long, value_name = "N", default_value_t = 100)]
    most_groups: u32,

    /// How many numbers in a row are one unit
    #[arg(long, value_name = "N", default_value_t = 1)]
    numbers_per_unit: u64,

    /// The seed of random orders and of the papers' noise
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    exit_code(run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let file = BufReader::new(File::open(&arguments.pairs)?);
    let most = arguments.most_groups as usize;
    let pairs = Pairs::read(file, arguments.numbers_per_unit, most, arguments.seed)?;
    let budget = KeyBudget { epsilon: arguments.epsilon.parse()?, delta: arguments.delta.parse()? };
    let mut out = io::stdout();
    writeln!(out, "| strategy | groups | pairs hidden |\n| --- | --- | --- |")?;
    for (name, shown) in compare(&pairs, budget, arguments.most_groups.into(), arguments.seed)? {
        writeln!(out, "| {name} | {:.0} | {:.2} % |", shown.groups, 100.0 * shown.missing)?;
    }
    Ok(())
}
