//! Draws the figures of an experiment, and writes the numbers in them as CSV.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::{Parser, ValueEnum};
use hushtable_experiments::{
    Figure, establishments, exit_code, herds, partial_knowledge, partition_selection, sim,
};
use hushtable_plot::ImageFormat;

/// Repeat an experiment of the papers on made-up data: figures, and their numbers as CSV
///
/// All data are made up from the seed, so that everybody gets the same files.
#[derive(Debug, Parser)]
#[command(name = "experiments", max_term_width = 100)]
struct Arguments {
    /// The experiment
    #[arg(value_enum)]
    experiment: Experiment,

    /// The folder to write to; it is made if it is missing, and files of the same names are
    /// replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// The seed from which records and noise are drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Experiment {
    /// Sums of heavy-tailed values: clamped, and with per-record privacy
    Sim,
    /// Cows and rents of farms by state and district, with per-record privacy for herds
    Herds,
    /// Counts that are published without noise, to attackers who know a part; the seed makes no
    /// difference
    PartialKnowledge,
    /// Which groups appear, by their number of units and their strategy; the seed makes no
    /// difference
    PartitionSelection,
    /// Payrolls of businesses by county and industry: top-coding, splitting, and agencies' practice
    Establishments,
}

fn main() -> ExitCode {
    exit_code(run(&Arguments::parse()))
}

fn run(asked: &Arguments) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(&asked.out)
        .map_err(|e| format!("cannot create the folder `{}`: {e}", asked.out.display()))?;
    let figures = match asked.experiment {
        Experiment::Sim => sim::figures(asked.seed),
        Experiment::Herds => herds::figures(asked.seed),
        Experiment::PartialKnowledge => partial_knowledge::figures(),
        Experiment::PartitionSelection => partition_selection::figures(),
        Experiment::Establishments => establishments::figures(asked.seed),
    }?;
    figures.iter().try_for_each(|figure| save(figure, &asked.out))
}

/// Writes the files of a figure and prints their names.
fn save(figure: &Figure, folder: &Path) -> Result<(), Box<dyn Error>> {
    for (extension, format) in [("svg", ImageFormat::Svg), ("png", ImageFormat::Png)] {
        write(&folder.join(format!("{}.{extension}", figure.name)), &figure.chart.draw(format)?)?;
    }
    let mut numbers = csv::Writer::from_writer(Vec::new());
    numbers.write_record(&figure.columns)?;
    for row in &figure.rows {
        numbers.write_record(row)?;
    }
    write(&folder.join(format!("{}.csv", figure.name)), &numbers.into_inner()?)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    fs::write(path, bytes).map_err(|e| format!("cannot write `{}`: {e}", path.display()))?;
    writeln!(io::stdout(), "{}", path.display())?;
    Ok(())
}
