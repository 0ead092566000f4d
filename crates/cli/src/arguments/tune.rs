//! The command line of `hushtable tune`.

use std::path::PathBuf;

use clap::Args;

use super::{ContractArgument, MemoryArgument, SqlArguments, TextOrJson};

const TUNE_EXAMPLES: &str = "\
Examples:
  hushtable tune \"SELECT town, COUNT(*) AS n FROM visits GROUP BY town\"
  hushtable tune --plot tune.svg --format json - < towns.sql > findings.json

For the owner of the data. Charges nothing; what it finds is about the exact data and must not be \
published. A setting that is taken from it reveals something about the data.";

/// Compare a query's errors at other limits, bounds, noise and prices, for the owner of the data
#[derive(Debug, Args)]
#[command(after_long_help = TUNE_EXAMPLES)]
pub(crate) struct TuneArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    #[command(flatten)]
    pub(crate) memory: MemoryArgument,

    /// Also draw the errors over the first setting, to an .svg or .png file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,

    #[command(flatten)]
    pub(crate) sql: SqlArguments,
}
