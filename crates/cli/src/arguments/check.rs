//! The command line of `hushtable check`.

use clap::Args;

use super::{ContractArgument, MemoryArgument, SqlMoreArguments, TextOrJson};

const CHECK_EXAMPLES: &str = "\
Examples:
  hushtable check                            all tables of the contract
  hushtable check visits
  hushtable check visits \"SELECT town, COUNT(*) FROM visits GROUP BY town\"
  hushtable check --format json - < towns.sql > findings.json

For the owner of the data. Charges nothing and writes nothing; what it finds is about the exact \
data and must not be published. The exit code is 0 whatever it finds.";

/// Check a table against its contract, and show what a query's limits cut off, for the data's owner
#[derive(Debug, Args)]
#[command(after_long_help = CHECK_EXAMPLES)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    #[command(flatten)]
    pub(crate) memory: MemoryArgument,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,

    /// The table [default: the query's table, or all tables]; a query may take its place
    #[arg(value_name = "TABLE")]
    pub(crate) table: Option<String>,

    /// A query about the table; `-` reads it from standard input
    #[arg(value_name = "SQL")]
    pub(crate) sql: Option<String>,

    #[command(flatten)]
    pub(crate) more: SqlMoreArguments,
}
