//! The command line of `hushtable figures`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  hushtable figures --experiment sim --out figures
  hushtable figures --experiment herds --out figures --seed 7

All data are made up from the seed, so that everybody gets the same files. No contract is needed,
and no budget is spent.";

/// Repeat an experiment of the papers on made-up data: figures, and their numbers as CSV
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct FiguresArguments {
    /// Which experiment
    #[arg(long, value_enum)]
    pub(crate) experiment: Experiment,

    /// The folder to write to, made if it is not there; files of the same names are replaced
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// What records and noise are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// The experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Experiment {
    /// Sums of heavy-tailed values: clamped, and with per-record privacy
    Sim,
    /// Cows and rents of farms by state and district, with per-record privacy for herds
    Herds,
    /// Counts that are published without noise, to attackers who know a part; the seed makes no
    /// difference
    PartialKnowledge,
    /// Which groups appear, by their number of units and the strategy that chooses them; the seed makes
    /// no difference
    PartitionSelection,
    /// Payrolls of businesses by county and industry: top-coding, splitting, and what agencies do
    Establishments,
}
