//! The command line of `hushtable release`.

use std::path::PathBuf;

use clap::Args;

use super::{IntervalsArguments, MemoryArgument, PaceArguments, TextOrJson};
use crate::table_format::TableFormat;

const RELEASE_EXAMPLES: &str = "\
Examples:
  hushtable release --explain workload.toml
  hushtable release --out 2022 workload.toml
  hushtable release --analyst ana --out 2022 --format parquet workload.toml

All queries are checked before anything is charged, and are charged together or not at all. If a \
release was interrupted, run the same command again: nothing is charged twice, and answers on \
record are written again unchanged. statement.json is written last: if it is there, the release is \
complete.";

/// Answer many queries under one budget, and write their tables and one statement to a folder
#[derive(Debug, Args)]
#[command(after_long_help = RELEASE_EXAMPLES)]
pub(crate) struct ReleaseArguments {
    /// The contract [default: the one that the workload names]
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) memory: MemoryArgument,

    /// The analyst who asks and pays [default: the one that the workload names, or
    /// HUSHTABLE_ANALYST]
    #[arg(long, value_name = "NAME")]
    pub(crate) analyst: Option<String>,

    /// The folder for tables, notes and statement.json; files of these names are replaced
    #[arg(long, value_name = "DIR", required_unless_present = "explain")]
    pub(crate) out: Option<PathBuf>,

    /// Format of the tables
    #[arg(long, value_enum, default_value = "csv")]
    pub(crate) format: TableFormat,

    /// In CSV, put ' before text that a spreadsheet would read as a formula
    #[arg(long)]
    pub(crate) csv_safe: bool,

    #[command(flatten)]
    pub(crate) intervals: IntervalsArguments,

    /// Show what the workload would promise and cost, and do nothing else
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text",
        conflicts_with = "out"
    )]
    pub(crate) explain: Option<TextOrJson>,

    #[command(flatten)]
    pub(crate) pace: PaceArguments,

    /// The workload; the paths in it are relative to its folder
    #[arg(value_name = "WORKLOAD")]
    pub(crate) workload: PathBuf,
}
