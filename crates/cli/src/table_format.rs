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
    /// Microsoft Excel
    #[value(alias = "excel")]
    Xlsx,
}

impl TableFormat {
    /// Whether notes are in the same file as a table: below it, or on a sheet of their own.
    pub(crate) fn has_notes(self) -> bool {
        matches!(self, Self::Table | Self::Markdown | Self::Html | Self::Xlsx)
    }

    /// The name of a format whose files are no text, which no terminal can show.
    pub(crate) fn binary(self) -> Option<&'static str> {
        match self {
            Self::Parquet => Some("Parquet"),
            Self::Xlsx => Some("Excel"),
            _ => None,
        }
    }

    /// Whether notes are in a file beside that of a table.
    pub(crate) fn has_note_file(self) -> bool {
        matches!(self, Self::Csv | Self::Json)
    }
}
