//! The command line of the assessments that read tables.

use std::path::PathBuf;

use clap::Args;

use super::TextOrJson;

const TABLE_EXAMPLES: &str = "\
Examples:
  hushtable assess table people.csv --unknown 0.8 --between 0.05..0.95 --epsilon 0.5 \\
      --delta 1e-6 --release \"SELECT region, age_band, COUNT(*) FROM t
      GROUP BY region, age_band HAVING COUNT(*) > 10\"
  hushtable assess table people.csv --known 5 --between 0.2..0.8 --epsilon 1 \\
      --delta 1e-3 --all --release \"SELECT town, COUNT(*) FROM t WHERE ill = 'yes'
      GROUP BY town\"

For the owner of the data: the output is about the exact counts, and confidential. Columns of CSV \
files are text: CAST(age AS INT64) >= 18. In the SQL, the table may have any name.";

/// Assess a table of exact counts, group by group, before it is published (for its owner)
#[derive(Debug, Args)]
#[command(after_long_help = TABLE_EXAMPLES)]
pub(crate) struct AssessTableArguments {
    /// Parquet or CSV (.csv, .csv.gz, .csv.zst): a file, a folder or a quoted pattern
    #[arg(value_name = "FILE")]
    pub(crate) file: String,

    /// The table to be published: SELECT keys, COUNT(*) FROM t [WHERE …] [GROUP BY keys]
    /// [HAVING COUNT(*) > T]; `-` reads it from standard input
    #[arg(long, value_name = "SQL")]
    pub(crate) release: String,

    /// The least that the attacker does not know of the records that count in a group: a share with
    /// a decimal point (0.8), or a number (50; of a smaller group, all)
    #[arg(
        long,
        value_name = "SHARE|COUNT",
        required_unless_present = "known",
        conflicts_with = "known",
        allow_negative_numbers = true
    )]
    pub(crate) unknown: Option<String>,

    /// Instead of --unknown: the most records that count in a group and are known to the attacker
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
    pub(crate) known: Option<String>,

    /// Bounds on the probability that each record unknown to the attacker counts in the group
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true)]
    pub(crate) between: String,

    /// The target: at this epsilon, delta is at most --delta
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(crate) epsilon: String,

    /// The target: at most this delta, at --epsilon
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(crate) delta: String,

    /// Show all groups instead of the first 20 (JSON always has all)
    #[arg(long)]
    pub(crate) all: bool,

    /// Also draw delta over epsilon for the smallest, the middle and the largest group, to an .svg
    /// or .png file. It is confidential, too
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

const DIFFERENCING_EXAMPLES: &str = "\
Examples:
  hushtable assess differencing by_region.csv by_region_and_age.csv --k 5
  hushtable assess differencing 2023/*.csv --k 10 --count persons --suppressed-below 10 \\
      --complete

Each table is a CSV file with a header: key columns, and a column of counts. A key that is * or \
empty stands for all values, and so does one whose column a table does not have; a|b stands for \
either of two values, and !a for all but one. A count that is empty, *, -, (D) or <N is \
suppressed.

Reads nothing but published tables: everybody can find what it finds.";

/// Find what several published tables of counts reveal together, by sums and differences
#[derive(Debug, Args)]
#[command(after_long_help = DIFFERENCING_EXAMPLES)]
pub(crate) struct AssessDifferencingArguments {
    /// Published tables, as CSV
    #[arg(value_name = "TABLE", required = true)]
    pub(crate) tables: Vec<PathBuf>,

    /// Find groups of fewer than K records that can be told apart from all others
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) k: String,

    /// The column of counts [default: count, or n]
    #[arg(long, value_name = "NAME")]
    pub(crate) count: Option<String>,

    /// Counts below this were suppressed: those of cells without a count, and those of cells that
    /// are missing from a table
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) suppressed_below: Option<String>,

    /// No value exists but those that some table has
    #[arg(long)]
    pub(crate) complete: bool,

    /// Show all findings instead of the first 20 (JSON always has all)
    #[arg(long)]
    pub(crate) all: bool,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

const MICRODATA_EXAMPLES: &str = "\
Examples:
  hushtable assess microdata hospital_1.csv --quasi zip,age --sensitive condition
  hushtable assess microdata hospital_1.csv hospital_2.csv --quasi zip,age \\
      --sensitive condition
  hushtable assess microdata hospital_1.csv hospital_2.csv --quasi zip,age \\
      --sensitive condition --person zip=13012,age=28

Values of quasi-identifiers may stand for several:
  *, or nothing         any value
  130**                 each star is one character; 3* is also any number from 30 to 39
  20-29, 20..29         a range with both ends, as is [20,29]
  [20,30), [20,30[      a range without 30
  <30, <=30, >40, 40+   the numbers on one side; also ≤ and ≥
  a|b, {a, b}           either of these
  anything else         one value, the same in both tables if it is spelled alike

Reads nothing but published tables: everybody can find what it finds.";

/// Find what published microdata reveal of each person: k, classes of one value, and two tables
/// together
#[derive(Debug, Args)]
#[command(after_long_help = MICRODATA_EXAMPLES)]
pub(crate) struct AssessMicrodataArguments {
    /// One or two published tables, a row for each person: Parquet or CSV (.csv, .csv.gz, .csv.zst)
    #[arg(value_name = "FILE", required = true, num_args = 1..=2)]
    pub(crate) files: Vec<String>,

    /// Columns that an attacker may know of a person, with commas between them
    #[arg(long, value_name = "NAME,…", required = true, value_delimiter = ',')]
    pub(crate) quasi: Vec<String>,

    /// Columns that an attacker wants to know of a person, with commas between them
    #[arg(long, value_name = "NAME,…", required = true, value_delimiter = ',')]
    pub(crate) sensitive: Vec<String>,

    /// A person who is known to be in the tables, by quasi-identifiers that are known; may be given
    /// several times. Two tables are then compared for these people only
    #[arg(long = "person", value_name = "NAME=VALUE,…")]
    pub(crate) people: Vec<String>,

    /// Show all findings instead of the first 20 (JSON always has all)
    #[arg(long)]
    pub(crate) all: bool,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}
