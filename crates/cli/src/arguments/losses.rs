//! The command line of `hushtable policy` and `hushtable fit`.

use std::path::PathBuf;

use clap::Args;

use super::{ContractArgument, MemoryArgument, ReportFormat, SqlArguments};

const POLICY_EXAMPLES: &str = "\
Examples:
  hushtable policy \"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1, delta = 1e-6)
      county, SUM(pay) FROM firms GROUP BY county\"
  hushtable policy --by-group --plot losses.svg - < pay.sql

For the owner of the data, where columns have `split` in the contract. Charges nothing; what it
finds is about the exact data and must not be published. Losses are told in three ways: by whole
pieces (as in the paper), by the policy function, and as realised (less, where clamped values are
smaller than their bounds). Where the contract names an `owner`, also what owners lose by all of
their records: the square of the sum of the roots.";

/// Show what the records of the table lose by a query, for the owner of the data
#[derive(Debug, Args)]
#[command(after_long_help = POLICY_EXAMPLES)]
pub(crate) struct PolicyArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    #[command(flatten)]
    pub(crate) memory: MemoryArgument,

    /// Also tell it of each group
    #[arg(long)]
    pub(crate) by_group: bool,

    /// Also tell what records would lose by each mechanism for sums of columns with `split`: where a record
    /// at the thresholds loses the same, at equal loss quantiles, and at equal noise
    #[arg(long)]
    pub(crate) by_mechanism: bool,

    #[command(flatten)]
    pub(crate) shown: LossesShown,

    #[command(flatten)]
    pub(crate) sql: SqlArguments,
}

const FIT_EXAMPLES: &str = "\
Examples:
  hushtable fit --target 5% --at 95% \"SELECT WITH DIFFERENTIAL_PRIVACY
      OPTIONS (rho = 1, delta = 1e-6) county, SUM(pay) FROM firms GROUP BY county\"
  hushtable fit --target 10% --at 90% --groups-with-at-least 5 --plot losses.png - < pay.sql

A group meets the target where its noise is within that part of its exact value with the
probability --with-probability. What is found, for each measurement, is the largest noise with which
so large a share of the groups meets it: as rho for the thresholds of the contract, and as
thresholds for the rho of the query. Both give records the same losses, which are told as by
`hushtable policy`. For the owner of the data: it reads the data, charges nothing, and what it finds
must not be published.";

/// Find the smallest loss with which a query is precise enough, for the owner of the data
#[derive(Debug, Args)]
#[command(after_long_help = FIT_EXAMPLES)]
pub(crate) struct FitArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    #[command(flatten)]
    pub(crate) memory: MemoryArgument,

    /// The relative error that is aimed at, from 0.01% to 1000%
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) target: String,

    /// The share of the groups that are to meet it, from 1% to 100%
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) at: String,

    /// The probability with which a group is to meet it, from 50% to 99.9999%
    #[arg(long, value_name = "SHARE", default_value = "95%", allow_negative_numbers = true)]
    pub(crate) with_probability: String,

    /// Leave out groups of fewer records
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true)]
    pub(crate) groups_with_at_least: String,

    #[command(flatten)]
    pub(crate) shown: LossesShown,

    #[command(flatten)]
    pub(crate) sql: SqlArguments,
}

/// How losses are shown.
#[derive(Debug, Args)]
pub(crate) struct LossesShown {
    /// Also draw the distribution of the losses: a file whose name ends in .svg or .png
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,

    /// How to write it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ReportFormat,
}
