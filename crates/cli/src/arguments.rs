//! The command line.

mod assess;
mod assess_table;
mod audit;
mod calc;
mod check;
mod generate;
mod learn;
mod ledger;
mod local;
mod losses;
mod release;
mod shell;
mod summary;
mod tables;
mod tune;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hushtable::query::{IntervalRequest, Level};

pub(crate) use assess::{
    AssessArguments, AssessCommand, AssessComposeArguments, AssessCountArguments,
    AssessHistogramArguments, AssessKAnonymityArguments, AssessModelArguments,
    AssessThresholdArguments, CurveArguments, OthersArguments, ShownArguments,
};
pub(crate) use assess_table::{
    AssessDifferencingArguments, AssessMicrodataArguments, AssessTableArguments,
};
pub(crate) use audit::AuditArguments;
pub(crate) use calc::{
    CalcArguments, CalcCommand, ComposeArguments, ConvertArguments, NoiseArguments, NoiseMechanism,
    QuantileArguments, SampleArguments, SampleMechanism, SelectionArguments, SelectionStrategy,
};
pub(crate) use check::CheckArguments;
pub(crate) use generate::{GenerateArguments, GenerateCommand};
pub(crate) use learn::LearnArguments;
pub(crate) use ledger::{
    LedgerArguments, LedgerBackupArguments, LedgerCheckArguments, LedgerCommand,
};
pub(crate) use local::{EstimateArguments, RandomizeArguments, ResponseArguments};
pub(crate) use losses::{FitArguments, PolicyArguments};
pub(crate) use release::ReleaseArguments;
pub(crate) use shell::ShellArguments;
pub(crate) use summary::{SummaryArguments, SummaryFormat};
pub(crate) use tables::{DescribeArguments, TablesArguments};
pub(crate) use tune::TuneArguments;

use crate::colour::ColourChoice;
use crate::failure::Failure;
use crate::surroundings;
use crate::table_format::TableFormat;

const EXAMPLES: &str = "\
Examples:
  hushtable init visits.csv                  write a first contract, hushtable.toml
  hushtable describe visits                  a table's columns, bounds and budgets
  hushtable explain \"SELECT …\"               what a query would promise and cost
  hushtable query \"SELECT …\"                 the answer, with noise
  hushtable shell                            query after query, with prices and completion
  hushtable release --out 2022 workload.toml many queries under one budget
  hushtable summary visits                   every column of a table under one budget
  hushtable budget                           what was spent, and what is left
  hushtable calc convert --rho 1 --delta 1e-6
                                             what a budget means, without any data
  hushtable check visits                     for the owner: does visits fit its contract?
  hushtable audit \"SELECT …\"                 for the owner: try to break a query's promise
  hushtable assess count --unknown 500@0.1 --epsilon 0.5
                                             what an exact count reveals

Results go to standard output, everything else to standard error. Every command takes
--color auto, always or never; NO_COLOR=1 turns colours off.
Exit codes: 0 fine, 1 refused or failed, 2 wrong usage, 3 an audit found a violation.";

/// Answers SQL GROUP BY questions about a table with differential privacy.
///
/// The owner of the data writes a contract, hushtable.toml, which says who is protected and how
/// much may be learned. Analysts then ask in SQL. Every answer carries the noise that the
/// contract's promise needs, and is charged to the analyst's budget. The same question gets the
/// same answer again, for free.
#[derive(Debug, Parser)]
#[command(name = "hushtable", version, max_term_width = 100, after_long_help = EXAMPLES)]
pub(crate) struct Cli {
    /// When to colour errors and hints
    #[arg(long, global = true, hide = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColourChoice,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Query(QueryArguments),
    Explain(ExplainArguments),
    Shell(ShellArguments),
    Release(ReleaseArguments),
    Summary(SummaryArguments),
    Learn(LearnArguments),
    Budget(BudgetArguments),
    Ledger(LedgerArguments),
    Init(InitArguments),
    Tables(TablesArguments),
    Describe(DescribeArguments),
    Calc(CalcArguments),
    Check(CheckArguments),
    Tune(TuneArguments),
    Audit(AuditArguments),
    Policy(PolicyArguments),
    Fit(FitArguments),
    Assess(AssessArguments),
    Randomize(RandomizeArguments),
    Estimate(EstimateArguments),
    Generate(GenerateArguments),
}

/// The contract, for every command that needs one.
#[derive(Debug, Args)]
pub(crate) struct ContractArgument {
    /// The contract; paths in it are relative to its folder [default: HUSHTABLE_CONTRACT, or the
    /// nearest hushtable.toml in this folder or above it]
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
}

impl ContractArgument {
    /// The contract that holds.
    pub(crate) fn path(&self) -> PathBuf {
        surroundings::contract(self.contract.as_deref())
    }
}

/// The memory, for the commands that read data.
#[derive(Debug, Args)]
pub(crate) struct MemoryArgument {
    /// Memory limit of a query's operators, such as 4GiB; a query that needs more fails, and stays
    /// charged
    ///
    /// The environment variable HUSHTABLE_MEMORY sets it, too; the option takes precedence. Queries
    /// never spill to disk.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
}

/// The delay, for the commands that analysts run on data.
#[derive(Debug, Args)]
pub(crate) struct PaceArguments {
    /// Show nothing, and do not exit, until this many seconds after the start
    ///
    /// The time that an answer takes reveals something about the data. In a service, choose more
    /// than the slowest answer takes. A command that takes longer ends after twice this time, four
    /// times and so on, never in between. Refusals and faults wait as long. The environment
    /// variable HUSHTABLE_AT_LEAST_SECONDS sets a delay, too; the longer one holds.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) at_least_seconds: Option<String>,
}

/// The intervals, for the commands that give results.
#[derive(Debug, Args)]
pub(crate) struct IntervalsArguments {
    /// Put an interval beside each released value: columns x_low and x_high beside x
    ///
    /// The level is a percentage from 50 to 99.9 [default: 95]: the probability that the interval
    /// holds the value without noise. Intervals do not account for what bounds cut off. They cost
    /// nothing at any level, even for an answer on record. JSON always has intervals, and Parquet
    /// has them in its metadata.
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "95")]
    pub(crate) intervals: Option<String>,

    /// Make all intervals of a result hold together at this level, instead of each by itself
    #[arg(long, requires = "intervals")]
    pub(crate) simultaneous: bool,
}

impl IntervalsArguments {
    /// The intervals that are asked for.
    pub(crate) fn requested(&self) -> Result<Option<IntervalRequest>, Failure> {
        let level = self.intervals.as_ref().map(|level| level.parse::<Level>());
        let level = level.transpose()?;
        Ok(level.map(|level| IntervalRequest { level, simultaneous: self.simultaneous }))
    }
}

/// The text of a query, and what is put in it.
#[derive(Debug, Args)]
pub(crate) struct SqlArguments {
    /// The query; `-` reads it from standard input
    #[arg(value_name = "SQL", required_unless_present = "file", conflicts_with = "file")]
    pub(crate) sql: Option<String>,

    #[command(flatten)]
    pub(crate) more: SqlMoreArguments,
}

/// Where else a query comes from, and what is put in it.
#[derive(Debug, Args)]
pub(crate) struct SqlMoreArguments {
    /// Read the query from a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// A value for @NAME in the query; may be given several times
    ///
    /// Numbers, dates, timestamps, TRUE, FALSE and NULL have their own types. Anything else is
    /// text, and so is a value in quotes: --param "code='007'".
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
}

/// The question, for the commands that take one.
#[derive(Debug, Args)]
pub(crate) struct QuestionArguments {
    /// The analyst who asks and pays [default: HUSHTABLE_ANALYST, or the only one with a budget]
    #[arg(long, value_name = "NAME")]
    pub(crate) analyst: Option<String>,

    #[command(flatten)]
    pub(crate) sql: SqlArguments,
}

impl QuestionArguments {
    /// The analyst who asks, where one is named.
    pub(crate) fn analyst(&self) -> Option<String> {
        surroundings::analyst(self.analyst.as_deref())
    }
}

const QUERY_EXAMPLES: &str = "\
Examples:
  hushtable query \"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6,
      max_groups_contributed = 3) town, COUNT(DISTINCT customer_id) AS customers
      FROM visits GROUP BY town\"
  hushtable query --analyst ana --output towns.parquet --statement towns.json \\
      --file towns.sql
  hushtable query --intervals 90 \"SELECT COUNT(*) AS n FROM visits\"
  hushtable query --param since=2024-01-01 \\
      \"SELECT COUNT(*) FROM visits WHERE day >= @since\"

The charge is taken before the data is read, and is not given back. An answer is recorded before \
it is shown: asking the same again costs nothing and gives the same numbers.";

/// Answer a query, and charge it to the analyst's budget
#[derive(Debug, Args)]
#[command(after_long_help = QUERY_EXAMPLES)]
pub(crate) struct QueryArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    #[command(flatten)]
    pub(crate) memory: MemoryArgument,

    #[command(flatten)]
    pub(crate) question: QuestionArguments,

    /// Format of the result [default: by the extension of --output, else a table on a terminal and
    /// CSV in a pipe]
    ///
    /// Tables, Markdown and HTML are for reading: they shorten fractions. The other formats are
    /// exact. In CSV, NULL is an empty field, and empty text is "". In JSON, a number that a 64-bit
    /// float would alter is text.
    #[arg(long, value_enum)]
    pub(crate) format: Option<TableFormat>,

    /// Write the result to this file, replacing it if it exists
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write the answer's statement to this JSON file: its mechanisms, noise, intervals and loss
    #[arg(long, value_name = "FILE")]
    pub(crate) statement: Option<PathBuf>,

    /// In CSV, put ' before text that a spreadsheet would read as a formula
    ///
    /// For files that people open in a spreadsheet. Keys come from the data, and a key that begins
    /// with =, +, - or @ would be a formula there. Do not use it for programs: they read the ' as
    /// part of the key.
    #[arg(long)]
    pub(crate) csv_safe: bool,

    #[command(flatten)]
    pub(crate) intervals: IntervalsArguments,

    /// Draw the first column of noisy numbers, with its intervals as bars, to an .svg or .png file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,

    /// The title of the plot, in place of the names of columns
    #[arg(long, value_name = "TEXT", requires = "plot")]
    pub(crate) plot_title: Option<String>,

    /// The unit of the plot's numbers, such as EUR
    #[arg(long, value_name = "TEXT", requires = "plot")]
    pub(crate) plot_unit: Option<String>,

    #[command(flatten)]
    pub(crate) pace: PaceArguments,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  hushtable explain \"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1)
      COUNT(*) FROM visits\"
  hushtable explain --format json - < towns.sql

Costs nothing, reads no protected data and changes no file.";

/// Show what a query would promise and cost, without running it
#[derive(Debug, Args)]
#[command(after_long_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    /// Show the physical plan instead, for the owner of the data: its joins depend on the sizes of
    /// files
    #[arg(long, conflicts_with_all = ["analyst", "format"])]
    pub(crate) plan: bool,

    #[command(flatten)]
    pub(crate) question: QuestionArguments,

    /// Show all mechanisms, losses and probabilities, in tables
    #[arg(long)]
    pub(crate) verbose: bool,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,

    #[command(flatten)]
    pub(crate) pace: PaceArguments,
}

const BUDGET_EXAMPLES: &str = "\
Examples:
  hushtable budget
  hushtable budget --delta 1e-6
  hushtable budget --contract examples/shop/hushtable.toml --format json";

/// Show each analyst's budget, and what was charged to it
#[derive(Debug, Args)]
#[command(after_long_help = BUDGET_EXAMPLES)]
pub(crate) struct BudgetArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    /// Delta at which to show the total of all charges [default: the budget's delta, or 1e-6]
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(crate) delta: Option<String>,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

const INIT_EXAMPLES: &str = "\
Examples:
  hushtable init visits.parquet
  hushtable init --output shop/hushtable.toml shop/visits.csv 'shop/claims/*.parquet'
  hushtable init --output - visits.csv

The contract declares every column by its name and type. On a terminal, the owner of the data is \
asked for each decision; elsewhere, or with --yes, open decisions are marked with TODO. All files \
share one kind of privacy unit. How their tables refer to each other is a suggestion: check it. \
Without --look-at-data, only the names and types of columns are read, never a value; those of JSON \
lines are the keys of their first rows.";

/// Write a first contract for some files
#[derive(Debug, Args)]
#[command(after_long_help = INIT_EXAMPLES)]
pub(crate) struct InitArguments {
    /// Where to write the contract; `-` is standard output
    #[arg(long, value_name = "FILE", default_value = "hushtable.toml")]
    pub(crate) output: PathBuf,

    /// Ask nothing, and mark each open decision with TODO
    ///
    /// Without it, six questions are asked on a terminal: who is protected, how many they are, how
    /// much may be learned, who asks, in how many groups each of them counts, and with how many
    /// rows.
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,

    /// Also read the first rows of CSV files and JSON lines, to propose types and formats of values
    #[arg(long)]
    pub(crate) look_at_data: bool,

    /// Parquet, Arrow, CSV or JSON lines (.csv, .jsonl, .ndjson, also with .gz or .zst): a file, a
    /// folder or a quoted pattern for each table
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
}

/// Formats of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextOrJson {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_reads_as_expected() {
        let mut command = Cli::command().term_width(100);
        insta::assert_snapshot!("help", command.render_long_help());
        command.build();
        for name in [
            "query",
            "explain",
            "shell",
            "release",
            "learn",
            "budget",
            "ledger",
            "init",
            "tables",
            "describe",
            "generate",
            "calc",
            "check",
            "tune",
            "audit",
            "policy",
            "fit",
            "assess",
            "randomize",
            "estimate",
        ] {
            let sub = command.find_subcommand_mut(name).unwrap();
            let help = std::mem::take(sub).term_width(100).render_long_help();
            insta::assert_snapshot!(format!("help_{name}"), help);
        }
        let mut command = Cli::command();
        command.build();
        let calc = command.find_subcommand_mut("calc").unwrap();
        for name in ["selection", "convert", "noise", "quantile", "compose", "sample"] {
            let sub = calc.find_subcommand_mut(name).unwrap();
            let help = std::mem::take(sub).term_width(100).render_long_help();
            insta::assert_snapshot!(format!("help_calc_{name}"), help);
        }
        let ledger = command.find_subcommand_mut("ledger").unwrap();
        for name in ["check", "backup"] {
            let sub = ledger.find_subcommand_mut(name).unwrap();
            let help = std::mem::take(sub).term_width(100).render_long_help();
            insta::assert_snapshot!(format!("help_ledger_{name}"), help);
        }
        let assess = command.find_subcommand_mut("assess").unwrap();
        for name in [
            "table",
            "differencing",
            "microdata",
            "count",
            "histogram",
            "threshold",
            "k-anonymity",
            "compose",
            "model",
        ] {
            let sub = assess.find_subcommand_mut(name).unwrap();
            let help = std::mem::take(sub).term_width(100).render_long_help();
            insta::assert_snapshot!(format!("help_assess_{name}"), help);
        }
    }

    #[test]
    fn a_dash_is_a_query() {
        let cli = Cli::try_parse_from(["hushtable", "query", "-"]).unwrap();
        assert!(
            matches!(cli.command, Command::Query(q) if q.question.sql.sql.as_deref() == Some("-"))
        );
    }
}
