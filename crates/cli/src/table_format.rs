//! Formats of results.

use clap::ValueEnum;

/// Formats of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Aligned columns, for people
    Table,
    /// Comma-separated values
    Csv,
    /// An array with an object for each row
    Json,
    /// A table in Markdown, with the same numbers as `table`
    Markdown,
    /// A page in HTML, with the same numbers as `table`
    Html,
    /// Apache Parquet
    Parquet,
}
