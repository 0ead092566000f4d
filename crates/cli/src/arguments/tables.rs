//! The command lines of `hushtable tables` and `hushtable describe`.

use clap::Args;

use super::{ContractArgument, TextOrJson};

const TABLES_EXAMPLES: &str = "\
Examples:
  hushtable tables
  hushtable tables --format json

Reads the contract alone: no data, no ledger.";

/// List the tables of the contract, and whom they protect
#[derive(Debug, Args)]
#[command(after_long_help = TABLES_EXAMPLES)]
pub(crate) struct TablesArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

const DESCRIBE_EXAMPLES: &str = "\
Examples:
  hushtable describe visits

Reads the contract alone: no data, no ledger.";

/// Show a table's columns, bounds, defaults and budgets, as the contract declares them
#[derive(Debug, Args)]
#[command(after_long_help = DESCRIBE_EXAMPLES)]
pub(crate) struct DescribeArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,

    /// The table
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
}
