//! The command line of `hushtable calc`.
//!
//! Numbers are taken as text: the command reads them, so that the error of a wrong one states its
//! range and a hint, like everything else that is refused.

use clap::{Args, Subcommand, ValueEnum};

use super::TextOrJson;

const CALC_EXAMPLES: &str = "\
Examples:
  hushtable calc selection --epsilon 1 --delta 1e-6 --units 1,10,20
  hushtable calc convert --rho 0.5 --delta 1e-6
  hushtable calc noise --mechanism gaussian --sigma-squared 20 --epsilon 1
  hushtable calc quantile --rho 0.1 --percentile 0.9
  hushtable calc compose --event gaussian:0.5x10 --event approx:0.1,1e-8x3 --delta 1e-6

Costs nothing, needs no contract and reads no data.";

/// Calculate what a budget buys, before there is a contract
#[derive(Debug, Args)]
#[command(after_long_help = CALC_EXAMPLES)]
pub(crate) struct CalcArguments {
    #[command(subcommand)]
    pub(crate) command: CalcCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CalcCommand {
    Selection(SelectionArguments),
    Convert(ConvertArguments),
    Noise(NoiseArguments),
    Quantile(QuantileArguments),
    Compose(ComposeArguments),
    Sample(SampleArguments),
}

const SELECTION_EXAMPLES: &str = "\
Examples:
  hushtable calc selection --epsilon 1 --delta 1e-6 --units 1,10,20
  hushtable calc selection --epsilon 1 --delta 1e-6 --strategy laplace --max-groups 3 \\
      --units 50";

/// Calculate the probability that a group of a given size appears
#[derive(Debug, Args)]
#[command(after_long_help = SELECTION_EXAMPLES)]
pub(crate) struct SelectionArguments {
    /// Epsilon of the selection, for all groups of a unit together: above 0, at most 1000000
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(crate) epsilon: String,

    /// Delta of the selection: above 0, below 1
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(crate) delta: String,

    /// How groups are chosen [default: the one that shows smaller groups]
    #[arg(long, value_enum)]
    pub(crate) strategy: Option<SelectionStrategy>,

    /// The most groups that one unit is in
    #[arg(long, value_name = "K", default_value = "1", allow_negative_numbers = true)]
    pub(crate) max_groups: String,

    /// Sizes of groups in units, with commas between them
    #[arg(
        long,
        value_name = "N,…",
        required = true,
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub(crate) units: Vec<String>,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

/// Ways to choose groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelectionStrategy {
    /// The best mechanism for keys alone
    Optimal,
    /// A count with truncated geometric noise above a threshold
    TruncatedGeometric,
    /// A count with Laplace noise at or above a threshold
    Laplace,
    /// A count with Gaussian noise at or above a threshold
    Gaussian,
    /// A weight that each unit divides over its groups, with Gaussian noise
    WeightedGaussian,
    /// Weights in several rounds, each without the groups that have appeared
    Sips,
    /// One vote of each unit in turn, for the group that needs it most
    SingleVote,
}

const CONVERT_EXAMPLES: &str = "\
Examples:
  hushtable calc convert --rho 0.5 --delta 1e-6      which epsilon
  hushtable calc convert --rho 0.5 --epsilon 5       which delta
  hushtable calc convert --epsilon 1 --delta 1e-6    the largest rho within both
  hushtable calc convert --epsilon 1                 what a pure epsilon costs in rho
  hushtable calc convert --rho 0.5                   the largest pure epsilon it pays for";

/// Convert between rho (zCDP) and epsilon, with delta or without
#[derive(Debug, Args)]
#[command(after_long_help = CONVERT_EXAMPLES)]
pub(crate) struct ConvertArguments {
    /// Rho of zero-concentrated differential privacy, for any mechanism
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub(crate) rho: Option<String>,

    /// Epsilon
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(crate) epsilon: Option<String>,

    /// Delta
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(crate) delta: Option<String>,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

const NOISE_EXAMPLES: &str = "\
Examples:
  hushtable calc noise --mechanism gaussian --sigma-squared 20 --epsilon 1
  hushtable calc noise --mechanism discrete-gaussian --sigma-squared 20 --sensitivity 2 \\
      --epsilon 1
  hushtable calc noise --mechanism discrete-laplace --scale 3.5
  hushtable calc noise --mechanism discrete-laplace --scale 3.5 --values 60

Scales, sensitivities and variances are in steps of the granularity, the lattice's unit.";

/// Calculate what noise promises, and its variance
#[derive(Debug, Args)]
#[command(after_long_help = NOISE_EXAMPLES)]
pub(crate) struct NoiseArguments {
    /// Law of the noise
    #[arg(long, value_enum)]
    pub(crate) mechanism: NoiseMechanism,

    /// Sigma squared of a Gaussian
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) sigma_squared: Option<String>,

    /// Scale b of a discrete Laplace
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    pub(crate) scale: Option<String>,

    /// The most that one unit changes the values: l2 for a Gaussian, l1 for a discrete Laplace
    #[arg(long, value_name = "d", default_value = "1", allow_negative_numbers = true)]
    pub(crate) sensitivity: String,

    /// Epsilon at which to calculate a Gaussian's delta
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(crate) epsilon: Option<String>,

    /// Also show how far off the worst of N values is, 95 % of the time
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) values: Option<String>,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

/// Laws of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NoiseMechanism {
    /// A normal deviate, rounded: the Gaussian of `query`; takes --sigma-squared and --epsilon
    Gaussian,
    /// The discrete Gaussian law; takes --sigma-squared and --epsilon
    DiscreteGaussian,
    /// The discrete Laplace (two-sided geometric) law; takes --scale
    DiscreteLaplace,
}

const QUANTILE_EXAMPLES: &str = "\
Examples:
  hushtable calc quantile --rho 0.1                                    a median
  hushtable calc quantile --epsilon 1 --percentile 0.9 --max-groups 3 --max-rows 2 \\
      --points 100";

/// Calculate how many values lie between a released quantile and the exact one
#[derive(Debug, Args)]
#[command(after_long_help = QUANTILE_EXAMPLES)]
pub(crate) struct QuantileArguments {
    /// Epsilon of the quantile, for all groups of a unit together
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(crate) epsilon: Option<String>,

    /// Rho of the quantile, for all groups of a unit together
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub(crate) rho: Option<String>,

    /// Which quantile: above 0, below 1, at most four decimal places
    #[arg(long, value_name = "P", default_value = "0.5", allow_negative_numbers = true)]
    pub(crate) percentile: String,

    /// The most groups that one unit is in
    #[arg(long, value_name = "K", default_value = "1", allow_negative_numbers = true)]
    pub(crate) max_groups: String,

    /// The most rows of one unit that count in a group
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true)]
    pub(crate) max_rows: String,

    /// Number of lattice points in the range, which begins at zero
    #[arg(long, value_name = "N", default_value = "1000000", allow_negative_numbers = true)]
    pub(crate) points: String,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

const COMPOSE_EXAMPLES: &str = "\
Examples:
  hushtable calc compose --event discrete-laplace:0.1x100 --delta 1e-6
  hushtable calc compose --event gaussian:0.5x10 --event approx:0.1,1e-8x3 --epsilon 4

Events:
  discrete-laplace:EPSILON      noise of a discrete Laplace, or any pure event
  gaussian:MU                   Gaussian noise, mu = l2 sensitivity / sigma
  discrete-gaussian:S[,d]       discrete Gaussian noise with sigma squared S on one
                                number that a unit changes by up to d [default: 1]
  bounded-range:EPSILON[,DRAWS] draws by an exponential mechanism in one query, with
                                ranges that add up to EPSILON [default: 1]
  approx:EPSILON,DELTA          any (epsilon, delta)-differentially private event
  zcdp:RHO[,DELTA]              any rho-zCDP event

Each may end in xK, for K events of the kind, up to 1000000000.";

/// Calculate the joint promise of several events whose losses are fixed in advance
#[derive(Debug, Args)]
#[command(after_long_help = COMPOSE_EXAMPLES)]
pub(crate) struct ComposeArguments {
    /// An event, and how many times it happens; may be given several times
    #[arg(long = "event", value_name = "KIND:VALUESxK", required = true)]
    pub(crate) events: Vec<String>,

    /// Delta at which to calculate epsilon
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(crate) delta: Option<String>,

    /// Epsilon at which to calculate delta
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(crate) epsilon: Option<String>,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

const SAMPLE_EXAMPLES: &str = "\
Examples:
  hushtable calc sample --mechanism discrete-laplace --scale 3.5 --draws 1000000
  hushtable calc sample --mechanism gaussian --sigma-squared 20 --draws 10 --seed 7

With the same version, a seed gives the same draws on every machine. No release ever uses a seed.";

/// Draw noise, one number per line, to test the samplers
#[derive(Debug, Args)]
#[command(after_long_help = SAMPLE_EXAMPLES)]
pub(crate) struct SampleArguments {
    /// Law of the noise
    #[arg(long, value_enum)]
    pub(crate) mechanism: SampleMechanism,

    /// Scale b of a Laplace: from 0.01 to 2^40
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    pub(crate) scale: Option<String>,

    /// Sigma squared of a Gaussian; sigma is from 0.01 to 2^40
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) sigma_squared: Option<String>,

    /// Largest magnitude of a truncated Laplace
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) bound: Option<String>,

    /// Number of draws, from 1 to 1e12
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) draws: String,

    /// Seed to draw from, instead of the system's randomness: a whole number below 2^64
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) seed: Option<String>,
}

/// Laws that can be drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SampleMechanism {
    /// A normal deviate, rounded: the noise of queries in rho
    Gaussian,
    /// The discrete Gaussian
    DiscreteGaussian,
    /// The discrete Laplace: the noise of queries in epsilon
    DiscreteLaplace,
    /// The discrete Laplace within a bound, as in truncated geometric selection
    TruncatedLaplace,
}
