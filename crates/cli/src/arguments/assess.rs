//! The command line of `hushtable assess`. Numbers are taken as text, as in `calc`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{
    AssessDifferencingArguments, AssessMicrodataArguments, AssessTableArguments, TextOrJson,
};

const ASSESS_EXAMPLES: &str = "\
Examples:
  hushtable assess table people.csv --unknown 0.8 --between 0.05..0.95 --epsilon 0.5 \\
      --delta 1e-6 --release \"SELECT town, COUNT(*) FROM t GROUP BY town
      HAVING COUNT(*) > 10\"
  hushtable assess differencing by_region.csv by_region_and_age.csv --k 5
  hushtable assess microdata hospital_1.csv hospital_2.csv --quasi zip,age \\
      --sensitive condition
  hushtable assess count --unknown 500@0.1 --unknown 300@0.5 --epsilon 0.1,0.5
  hushtable assess count --others 10000 --between 0.05..0.95 --delta 1e-9
  hushtable assess histogram --others 10000 --options 4 --at-least 0.05 --delta 1e-9
  hushtable assess threshold --release-above 6 --unknown 199@0.01 --known 12@0.01 \\
      --epsilon 0.1
  hushtable assess k-anonymity --k 10 --others 1000 --value common=0.3..0.6 \\
      --value rare=0..0.001 --absent 0.2..0.5 --epsilon 1
  hushtable assess compose --release 0.1,1e-9 --release 0.2,1e-9 --independent
  hushtable assess count --unknown 99@0.5 --epsilon 0.5 --plot curve.svg
  hushtable assess model examples/partial-knowledge/example-7.toml --epsilon 0.1

Costs nothing and needs no contract. Only `table` reads data, and is for the owner of the data; \
`differencing` and `microdata` read published tables, and the others read nothing. An assessment \
is not differential privacy: it rests on what an attacker does not know, and is never charged to a \
budget or added to one.";

/// Measure what a release without noise reveals to attackers who know only part of the data
#[derive(Debug, Args)]
#[command(after_long_help = ASSESS_EXAMPLES)]
pub(crate) struct AssessArguments {
    /// Also say what the numbers mean and what they rest on (JSON always does)
    #[arg(long, global = true)]
    pub(crate) verbose: bool,

    #[command(subcommand)]
    pub(crate) command: AssessCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AssessCommand {
    Table(AssessTableArguments),
    Differencing(AssessDifferencingArguments),
    Microdata(AssessMicrodataArguments),
    Count(AssessCountArguments),
    Histogram(AssessHistogramArguments),
    Threshold(AssessThresholdArguments),
    KAnonymity(AssessKAnonymityArguments),
    Compose(AssessComposeArguments),
    Model(AssessModelArguments),
}

/// Where on the curve.
#[derive(Debug, Args)]
pub(crate) struct CurveArguments {
    /// Epsilons at which to calculate delta, with commas between them
    #[arg(long, value_name = "E,…", value_delimiter = ',', allow_negative_numbers = true)]
    pub(crate) epsilon: Vec<String>,

    /// Deltas at which to calculate epsilon, with commas between them
    #[arg(long, value_name = "D,…", value_delimiter = ',', allow_negative_numbers = true)]
    pub(crate) delta: Vec<String>,

    #[command(flatten)]
    pub(crate) output: ShownArguments,
}

/// How a guarantee is shown.
#[derive(Debug, Args)]
pub(crate) struct ShownArguments {
    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,

    /// Also draw delta over epsilon, to an .svg or .png file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
}

/// The other records, each with its probability or with bounds of it.
#[derive(Debug, Args)]
pub(crate) struct OthersArguments {
    /// COUNT unknown records, each counted with probability P; may be given several times
    #[arg(long, value_name = "COUNT@P", allow_hyphen_values = true)]
    pub(crate) unknown: Vec<String>,

    /// Number of other records, where their probabilities are known only within bounds
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) others: Option<String>,

    /// Bounds on the probability that each of the others is counted
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true)]
    pub(crate) between: Option<String>,
}

const COUNT_EXAMPLES: &str = "\
Examples:
  hushtable assess count --unknown 99@0.5 --epsilon 0.1,0.5,1
  hushtable assess count --others 10000 --between 0.05..0.95 --known 9000 --delta 1e-6
  hushtable assess count --unknown 99@0.05 --noise geometric:0.5 --epsilon 0.1

Noise, in counts:
  geometric:P            two-sided geometric, P[x] ~ P^|x|
  discrete-laplace:B     the same law, by its scale, P = e^(-1/B)
  discrete-gaussian:S2   discrete Gaussian with sigma squared S2";

/// Assess a count that is published exactly, or with noise
#[derive(Debug, Args)]
#[command(after_long_help = COUNT_EXAMPLES)]
pub(crate) struct AssessCountArguments {
    #[command(flatten)]
    pub(crate) others: OthersArguments,

    /// Number of records that the attacker knows: some of --others, or in addition to --unknown
    #[arg(long, value_name = "K", default_value = "0", allow_negative_numbers = true)]
    pub(crate) known: String,

    /// Noise that is added to the count
    #[arg(long, value_name = "LAW:VALUE")]
    pub(crate) noise: Option<String>,

    #[command(flatten)]
    pub(crate) curve: CurveArguments,
}

const HISTOGRAM_EXAMPLES: &str = "\
Examples:
  hushtable assess histogram --others 10000 --at-least 0.3,0.2,0.01 --epsilon 0.5
  hushtable assess histogram --others 10000 --options 4 --at-least 0.05 --known 5000 \\
      --delta 1e-9";

/// Assess the counts of several options, of which each record has one
#[derive(Debug, Args)]
#[command(after_long_help = HISTOGRAM_EXAMPLES)]
pub(crate) struct AssessHistogramArguments {
    /// Number of other records
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) others: String,

    /// The least probability that an unknown record has each option, with commas between them; with
    /// --options, one for all of them
    #[arg(
        long,
        value_name = "L,…",
        required = true,
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub(crate) at_least: Vec<String>,

    /// Number of options [default: one for each value of --at-least]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) options: Option<String>,

    /// Number of the others that the attacker knows
    #[arg(long, value_name = "K", default_value = "0", allow_negative_numbers = true)]
    pub(crate) known: String,

    #[command(flatten)]
    pub(crate) curve: CurveArguments,
}

const THRESHOLD_EXAMPLES: &str = "\
Examples:
  hushtable assess threshold --release-above 6 --unknown 199@0.01 --epsilon 0.1
  hushtable assess threshold --release-above 6 --unknown 199@0.01 --known 12@0.01 \\
      --epsilon 0.1
  hushtable assess threshold --release-above 9 --others 1000 --at-most 0.002 --known 20 \\
      --delta 1e-3";

/// Assess a count that is published only if it is above a threshold
#[derive(Debug, Args)]
#[command(after_long_help = THRESHOLD_EXAMPLES)]
pub(crate) struct AssessThresholdArguments {
    /// The threshold: counts above it are published
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) release_above: String,

    #[command(flatten)]
    pub(crate) others: OthersArguments,

    /// The largest probability that any of the others is counted, as --between 0..P
    #[arg(long, value_name = "P", allow_negative_numbers = true, conflicts_with = "between")]
    pub(crate) at_most: Option<String>,

    /// Records that the attacker knows: K of --others, or in addition to --unknown, K records that
    /// are each counted with probability P [default P: the one of --unknown]; may be given several
    /// times
    #[arg(long, value_name = "K[@P]", allow_hyphen_values = true)]
    pub(crate) known: Vec<String>,

    #[command(flatten)]
    pub(crate) curve: CurveArguments,
}

const K_ANONYMITY_EXAMPLES: &str = "\
Examples:
  hushtable assess k-anonymity --k 10 --others 1000 --value common=0.3..0.6 \\
      --value rare=0..0.001 --absent 0.2..0.5 --epsilon 1
  hushtable assess k-anonymity --k 5 --others 300 --value a=0.4..0.5 --value b=0.5..0.6 \\
      --delta 1e-3";

/// Assess the counts of several values, where counts below k are left out
#[derive(Debug, Args)]
#[command(after_long_help = K_ANONYMITY_EXAMPLES)]
pub(crate) struct AssessKAnonymityArguments {
    /// The least count that is published
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) k: String,

    /// Number of other records, none of which the attacker knows
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) others: String,

    /// A value, and bounds on the probability that each of the others has it; give all values
    #[arg(long = "value", value_name = "NAME=LO..HI", required = true)]
    pub(crate) values: Vec<String>,

    /// Bounds on the probability that each of the others is absent from the table, where the number
    /// of absent records is secret [default: none is absent, and the total is public]
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true)]
    pub(crate) absent: Option<String>,

    #[command(flatten)]
    pub(crate) curve: CurveArguments,
}

const COMPOSE_EXAMPLES: &str = "\
Examples:
  hushtable assess compose --release 0.1,1e-9 --release 0.2,1e-9 --independent
  hushtable assess compose --release 0.1,1e-9 --release 0.2,1e-9 --dependence 0.05,1e-10
  hushtable assess compose --release 0.1,1e-9 --release 0.1,1e-9 --temporal 0.01";

/// Assess several releases about the same people, where their dependence is bounded
#[derive(Debug, Args)]
#[command(after_long_help = COMPOSE_EXAMPLES)]
pub(crate) struct AssessComposeArguments {
    /// The guarantee of a release, as assessed; give one for each release
    #[arg(
        long = "release",
        value_name = "EPSILON,DELTA",
        required = true,
        allow_hyphen_values = true
    )]
    pub(crate) releases: Vec<String>,

    /// The releases are about records that are independent of each other
    #[arg(long, conflicts_with_all = ["dependence", "temporal"])]
    pub(crate) independent: bool,

    /// Earlier releases add at most MU to the loss of each, except with probability NU [default: 0]
    #[arg(long, value_name = "MU[,NU]", allow_hyphen_values = true, conflicts_with = "temporal")]
    pub(crate) dependence: Option<String>,

    /// The releases are counts of the same records at successive times; the value of a record
    /// changes the probabilities of its next value by a factor of at most e^C
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub(crate) temporal: Option<String>,

    #[command(flatten)]
    pub(crate) output: ShownArguments,
}

const MODEL_EXAMPLES: &str = "\
Examples:
  hushtable assess model examples/partial-knowledge/example-1.toml
  hushtable assess model referendum.toml --epsilon 0.1,1 --delta 1e-6

A model:
  [parameters]
  first = { values = [0, 1] }
  second = { values = [0, 1], probabilities = [\"2/3\", \"1/3\"] }
  [attacker]
  target = \"first\"
  knows = []
  [mechanism]
  publishes = \"first + second\"";

/// Compute every definition of privacy with partial knowledge in a small finite model
#[derive(Debug, Args)]
#[command(after_long_help = MODEL_EXAMPLES)]
pub(crate) struct AssessModelArguments {
    /// The model, in TOML: independent parameters, the records and the knowledge as SQL expressions
    /// over them, and what is published
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Epsilons at which to calculate delta, with commas between them; epsilon at a delta of zero
    /// is always shown
    #[arg(long, value_name = "E,…", value_delimiter = ',', allow_negative_numbers = true)]
    pub(crate) epsilon: Vec<String>,

    /// Deltas at which to calculate epsilon, with commas between them
    #[arg(long, value_name = "D,…", value_delimiter = ',', allow_negative_numbers = true)]
    pub(crate) delta: Vec<String>,

    /// Also draw delta over epsilon, to an .svg or .png file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}
