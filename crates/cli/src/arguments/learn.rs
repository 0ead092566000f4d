//! The command line of `hushtable learn`.

use clap::Args;

use super::{ContractArgument, MemoryArgument, PaceArguments, TextOrJson};
use crate::surroundings;

const LEARN_EXAMPLES: &str = "\
Examples:
  hushtable learn loans
  hushtable learn --epsilon 0.2 loans amount jobs
  hushtable learn --explain --all loans

Of each column it releases how many privacy units there are by their largest value, with noise. \
Bounds follow from that, and later queries of the same analyst have them free of charge, where \
neither the query nor the contract gives others. All columns share the price equally. Asked again \
about the same data at the same price, it is free.";

/// Learn bounds of a table's columns once, for later queries
#[derive(Debug, Args)]
#[command(after_long_help = LEARN_EXAMPLES)]
pub(crate) struct LearnArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    #[command(flatten)]
    pub(crate) memory: MemoryArgument,

    /// The analyst who asks and pays [default: HUSHTABLE_ANALYST, or the only one with a budget]
    #[arg(long, value_name = "NAME")]
    pub(crate) analyst: Option<String>,

    /// The price of all columns together [default: a tenth of the contract's default]
    #[arg(long, value_name = "E", allow_negative_numbers = true, conflicts_with = "rho")]
    pub(crate) epsilon: Option<String>,

    /// The price of all columns together, in rho
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub(crate) rho: Option<String>,

    /// Learn bounds of all columns of numbers that have none
    #[arg(long, conflicts_with = "columns")]
    pub(crate) all: bool,

    /// Show what it would promise and cost, and do nothing else
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text"
    )]
    pub(crate) explain: Option<TextOrJson>,

    /// Format of the bounds
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,

    #[command(flatten)]
    pub(crate) pace: PaceArguments,

    /// The table
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,

    /// Its columns [default: those with bounds = "auto" in the contract]
    #[arg(value_name = "COLUMN")]
    pub(crate) columns: Vec<String>,
}

impl LearnArguments {
    /// The analyst who asks, where one is named.
    pub(crate) fn analyst(&self) -> Option<String> {
        surroundings::analyst(self.analyst.as_deref())
    }
}
