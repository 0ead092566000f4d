//! The command line of `hushtable audit`.

use clap::Args;

use super::{ContractArgument, MemoryArgument, SqlArguments, TextOrJson};

const AUDIT_EXAMPLES: &str = "\
Examples:
  hushtable audit \"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1)
      COUNT(*) FROM visits\"
  hushtable audit --runs 1000000 --units 10 --format json - < towns.sql > findings.json

For the owner of the data. Charges nothing and writes nothing; what it finds is about the exact \
data and must not be published. It can find that a promise is broken, but never prove that it is \
kept. The exit code is 3 if the bound on epsilon is above the promise.";

/// Try to break a query's promise, by running it many times on the table and its neighbours
#[derive(Debug, Args)]
#[command(after_long_help = AUDIT_EXAMPLES)]
pub(crate) struct AuditArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    #[command(flatten)]
    pub(crate) memory: MemoryArgument,

    /// Runs on each table, from 1000 to 100000000; fewer are made if these would be too much work
    #[arg(long, value_name = "N", default_value = "200000", allow_negative_numbers = true)]
    pub(crate) runs: String,

    /// Number of the heaviest units to leave out in turn, from 1 to 100
    #[arg(long, value_name = "N", default_value = "3", allow_negative_numbers = true)]
    pub(crate) units: String,

    /// The probability that the bound on epsilon is right, from 0.5 to 0.999999999
    #[arg(long, value_name = "P", default_value = "0.999", allow_negative_numbers = true)]
    pub(crate) confidence: String,

    /// For queries in rho: delta at which to compare epsilon, in addition to the query's own
    /// [default: 1e-5]
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(crate) delta: Option<String>,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,

    #[command(flatten)]
    pub(crate) sql: SqlArguments,
}
