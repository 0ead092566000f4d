//! The command lines of `hushtable randomize` and `hushtable estimate`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::TextOrJson;

const RANDOMIZE_EXAMPLES: &str = "\
Examples:
  hushtable randomize me.csv --column vote --values yes,no,blank --epsilon 1
  hushtable randomize me.csv --predicate \"CAST(income AS INT64) > 50000\" --epsilon 0.5
  hushtable randomize forms.parquet --column town --values A,B,C --other elsewhere \\
      --epsilon 2 --output reports.csv

Run it where the data is, before anything is sent: each row's report is private by itself, at this \
epsilon, whoever collects it. A person with several rows, or who is asked again, loses epsilon \
each time. Columns of CSV files are text. `hushtable estimate` counts the reports.";

/// Randomise the answer of each row before it is collected (randomised response)
#[derive(Debug, Args)]
#[command(after_long_help = RANDOMIZE_EXAMPLES,
    group(ArgGroup::new("secret").required(true).args(["column", "predicate"])))]
pub(crate) struct RandomizeArguments {
    /// Parquet or CSV (.csv, .csv.gz, .csv.zst): a file, a folder or a quoted pattern
    #[arg(value_name = "FILE")]
    pub(crate) file: String,

    /// The column to report on, with --values
    #[arg(long, value_name = "NAME", requires = "values")]
    pub(crate) column: Option<String>,

    /// A condition in SQL to report on, true or false (NULL is false)
    #[arg(long, value_name = "SQL", conflicts_with_all = ["values", "other"])]
    pub(crate) predicate: Option<String>,

    #[command(flatten)]
    pub(crate) response: ResponseArguments,

    /// Write the reports to this file, replacing it if it exists [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Settings that both sides have to agree on.
#[derive(Debug, Args)]
pub(crate) struct ResponseArguments {
    /// The values that a report may have, with commas between them; without --other, a row with
    /// none of them reports any of them
    #[arg(long, value_name = "V,…", value_delimiter = ',')]
    pub(crate) values: Vec<String>,

    /// One more value, for rows with none of --values
    #[arg(long, value_name = "NAME", requires = "values")]
    pub(crate) other: Option<String>,

    /// Epsilon of each report: above 0, at most 1000000
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(crate) epsilon: String,
}

const ESTIMATE_EXAMPLES: &str = "\
Examples:
  hushtable estimate reports.csv --values yes,no,blank --epsilon 1
  hushtable estimate reports.csv --epsilon 0.5                       true and false
  hushtable estimate reports.csv --values A,B,C --other elsewhere --epsilon 2 \\
      --format json

Use the same --values, --other and --epsilon as `hushtable randomize`. Reports are not secret.";

/// Estimate how many rows have each value, from randomised reports
#[derive(Debug, Args)]
#[command(after_long_help = ESTIMATE_EXAMPLES)]
pub(crate) struct EstimateArguments {
    /// A CSV file with the reports, one per line, under a heading; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The column with the reports
    #[arg(long, value_name = "NAME", default_value = "report")]
    pub(crate) column: String,

    #[command(flatten)]
    pub(crate) response: ResponseArguments,

    /// How often the intervals cover the truth: above 0, below 1
    #[arg(long, value_name = "L", default_value = "0.95", allow_negative_numbers = true)]
    pub(crate) level: String,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}
