//! The command line of `hushtable policy` and `hushtable fit`.

use std::path::PathBuf;

use clap::Args;

use super::{ContractArgument, MemoryArgument, SqlArguments, TextOrJson};

const POLICY_EXAMPLES: &str = "\
Examples:
  hushtable policy \"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1, delta = 1e-6)
      county, SUM(pay) FROM firms GROUP BY county\"
  hushtable policy --by-group --plot losses.svg - < pay.sql

For the owner of the data, where columns have `split` in the contract. Charges nothing; what it \
finds is about the exact data and must not be published. Losses are shown in three ways: by whole \
pieces (as in the paper), by the policy function, and as realised (less, where clamped values are \
smaller than their bounds). Where the contract names an `owner`, owners' losses by all of their \
records are shown, too: the square of the sum of the roots.";

/// Show the privacy loss of the table's records by a query, for the owner of the data
#[derive(Debug, Args)]
#[command(after_long_help = POLICY_EXAMPLES)]
pub(crate) struct PolicyArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    #[command(flatten)]
    pub(crate) memory: MemoryArgument,

    /// Also show the losses by group
    #[arg(long)]
    pub(crate) by_group: bool,

    /// Also compare the losses under each mechanism for sums of columns with `split`: at an equal
    /// loss for a record at the thresholds, at equal loss quantiles, and at equal noise
    #[arg(long)]
    pub(crate) by_mechanism: bool,

    #[command(flatten)]
    pub(crate) output: LossDisplay,

    #[command(flatten)]
    pub(crate) sql: SqlArguments,
}

const FIT_EXAMPLES: &str = "\
Examples:
  hushtable fit --target 5% --at 95% \"SELECT WITH DIFFERENTIAL_PRIVACY
      OPTIONS (rho = 1, delta = 1e-6) county, SUM(pay) FROM firms GROUP BY county\"
  hushtable fit --target 10% --at 90% --groups-with-at-least 5 \\
      --plot losses.png - < pay.sql

A group meets the target if its noise is within that share of its exact value, with the \
probability --with-probability. For each measurement, the command finds the largest noise at which \
enough groups meet the target. It shows this noise as a rho for the thresholds of the contract, \
and as thresholds for the rho of the query. Both give records the same losses, which are shown as \
by `hushtable policy`.

For the owner of the data. Charges nothing; what it finds is about the exact data and must not be \
published.";

/// Find the smallest loss at which a query is precise enough, for the owner of the data
#[derive(Debug, Args)]
#[command(after_long_help = FIT_EXAMPLES)]
pub(crate) struct FitArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    #[command(flatten)]
    pub(crate) memory: MemoryArgument,

    /// The relative error to aim at, from 0.01% to 1000%
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) target: String,

    /// The share of the groups that must meet the target, from 1% to 100%
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) at: String,

    /// The probability with which each of them must meet it, from 50% to 99.9999%
    #[arg(long, value_name = "SHARE", default_value = "95%", allow_negative_numbers = true)]
    pub(crate) with_probability: String,

    /// Leave out groups with fewer records
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true)]
    pub(crate) groups_with_at_least: String,

    #[command(flatten)]
    pub(crate) output: LossDisplay,

    #[command(flatten)]
    pub(crate) sql: SqlArguments,
}

/// How losses are shown.
#[derive(Debug, Args)]
pub(crate) struct LossDisplay {
    /// Also draw the distribution of the losses, to an .svg or .png file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}
