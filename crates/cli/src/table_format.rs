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

impl TableFormat {
    /// Whether notes stand below a table, in the same file.
    pub(crate) fn has_notes(self) -> bool {
        matches!(self, Self::Table | Self::Markdown | Self::Html)
    }

    /// Whether notes are in a file beside that of a table.
    pub(crate) fn has_note_file(self) -> bool {
        matches!(self, Self::Csv | Self::Json)
    }
}
