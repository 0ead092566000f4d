//! The command line of `hushtable summary`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ContractArgument, MemoryArgument, PaceArguments, TextOrJson};

const SUMMARY_EXAMPLES: &str = "\
Examples:
  hushtable summary --explain visits
  hushtable summary visits
  hushtable summary --rho 0.5 --delta 1e-6 --output visits.html visits
  hushtable summary --workload visits > workload.toml

A summary is a workload that follows from the contract alone. --workload writes it, to be changed \
and released with `hushtable release`. Asked again, it costs nothing.";

/// Describe every column of a table under one budget: rows, missing values, quantiles, frequent
/// values, histograms
#[derive(Debug, Args)]
#[command(after_long_help = SUMMARY_EXAMPLES)]
pub(crate) struct SummaryArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    #[command(flatten)]
    pub(crate) memory: MemoryArgument,

    /// The analyst who asks and pays [default: HUSHTABLE_ANALYST, or the only one with a budget]
    #[arg(long, value_name = "NAME")]
    pub(crate) analyst: Option<String>,

    /// Budget of the whole summary, in epsilon [default: one query's, by the contract]
    #[arg(long, value_name = "E", conflicts_with = "rho", allow_negative_numbers = true)]
    pub(crate) epsilon: Option<String>,

    /// Budget of the whole summary, in rho
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub(crate) rho: Option<String>,

    /// Delta, for the choice of values to show [default: one query's, by the contract]
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(crate) delta: Option<String>,

    /// Format of the summary [default: that of the output's name, or text]
    #[arg(long, value_enum)]
    pub(crate) format: Option<SummaryFormat>,

    /// Write the summary to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write the statement of what was promised to a file, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) statement: Option<PathBuf>,

    /// Show what the summary would promise and cost, and do nothing else
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text",
        conflicts_with_all = ["output", "statement", "format"]
    )]
    pub(crate) explain: Option<TextOrJson>,

    /// Write the workload that the summary is, and do nothing else
    #[arg(long, conflicts_with_all = ["output", "statement", "format", "explain"])]
    pub(crate) workload: bool,

    #[command(flatten)]
    pub(crate) pace: PaceArguments,

    /// The table
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
}

/// Formats of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SummaryFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// A page in HTML
    Html,
}
