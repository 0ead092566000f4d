//! Reads tables from Parquet and CSV files totally: no value in the data can make an error.
//!
//! What a query releases is protected by noise; whether it fails is not. So everything that may
//! fail is decided from the contract and the files' schemas before a value is read, and from then
//! on a value that does not fit its column's type is NULL. Each value is converted on its own:
//! what it becomes does not depend on its neighbours, its batch, its row group or its file.
//!
//! Parquet is decoded with the `parquet` crate here rather than through DataFusion's own Parquet
//! source, for three reasons: that source fails on text that is not UTF-8; it prunes row groups
//! by statistics, which the file may have wrong; and it answers aggregates from statistics.

pub(crate) mod convert;
mod csv;
mod error;
mod files;
pub(crate) mod normalise;
mod parquet;
mod plan;
mod progress;
mod reach;
mod sink;
mod text;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use datafusion::prelude::{DataFrame, SessionContext};
use hushtable_query::ColumnType;

pub use error::SourceError;
pub use files::list_files;
pub(crate) use files::{FileId, file_id};
pub use plan::file_schema;
pub(crate) use plan::observe;
pub use progress::ReadProgress;
pub use reach::{resolved, same, would_read};
pub(crate) use sink::{Misfit, Sink};

/// A file of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Where it is, as it was found: the contract's folder followed by the rest.
    pub path: PathBuf,
    /// How to read it, from its name alone.
    pub format: Format,
    /// Its size.
    pub bytes: u64,
    /// When it was last written, in nanoseconds since 1970-01-01 UTC; 0 where the file system does
    /// not say.
    pub modified_ns: i128,
}

/// Format of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// `.parquet` or `.pq`.
    Parquet,
    /// `.csv`, `.csv.gz` or `.csv.zst`: comma-separated UTF-8 text with one header line.
    Csv {
        /// How the text is compressed.
        compression: Compression,
    },
}

/// Compression of a CSV file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Plain text.
    None,
    /// One or more gzip members.
    Gzip,
    /// One or more Zstandard frames.
    Zstd,
}

/// A column of a table's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileColumn {
    /// Its name, exactly as the files write it.
    pub name: String,
    /// The type to declare, under which no value becomes NULL but NaN and what is out of range;
    /// `string` for text, whatever it looks like. `None` if there is none: lists, structs, binary,
    /// times of day and durations are not read, nor files that differ too much in the column.
    pub column_type: Option<ColumnType>,
    /// The type as the files say it (`int32`, `decimal(12, 2)`, `timestamp(ms, UTC)`), with ` / `
    /// between the types of files that differ; `text` for CSV.
    pub file_type: String,
}

/// A table of exactly `columns`, in that order, from all rows of `files`.
///
/// | declared    | Arrow type               | NULL besides what does not convert                |
/// |-------------|--------------------------|---------------------------------------------------|
/// | `bool`      | `Boolean`                |                                                   |
/// | `int`       | `Int64`                  | integers outside 64 bits                          |
/// | `decimal(s)`| `Decimal128(38, s)`      | more than 38 digits                               |
/// | `float`     | `Float64`                | NaN; −0 becomes 0, infinities stay                |
/// | `string`    | `Utf8View`               | invalid UTF-8, more than `MAX_STRING_BYTES` bytes |
/// | `date`      | `Date32`                 | days outside 32 bits                              |
/// | `timestamp` | `Timestamp(Microsecond)` | microseconds outside 64 bits; finer is rounded down, a zone is turned into UTC |
///
/// Text becomes a number, date or timestamp as [Arrow's casts](datafusion::arrow::compute::cast)
/// have it, with blanks around it ignored; a decimal with more digits than its scale is rounded,
/// half away from zero. In CSV an empty field is NULL (a string, too), a row that is too short has
/// NULLs at its end, fields beyond the header are ignored, and an empty line is no row.
///
/// The table may be scanned several times. It has no statistics, and filters are never pushed
/// into it. The order of its rows means nothing.
///
/// # Errors
///
/// All from the files' schemas, before any value is read: a file cannot be opened or is not of its
/// format, its columns differ from the first file's, a column of `columns` is missing, or a
/// column's type in a file cannot become the declared one. While reading, only the file system, a
/// damaged file or memory can fail the stream, with a [`SourceError`] as
/// `DataFusionError::External`.
pub async fn scan(
    context: &SessionContext,
    files: &[DataFile],
    columns: &[(String, ColumnType)],
    progress: &Arc<ReadProgress>,
) -> Result<DataFrame, SourceError> {
    let partitions = context.copied_config().target_partitions().max(1);
    let (files, columns, progress) = (files.to_vec(), columns.to_vec(), Arc::clone(progress));
    let plan = move || plan::table(&files, &columns, partitions, &progress);
    let table = tokio::task::spawn_blocking(plan)
        .await
        .map_err(|_| SourceError::Internal { what: "planning a scan was interrupted" })??;
    context
        .read_table(Arc::new(table))
        .map_err(|_| SourceError::Internal { what: "the table of a scan was refused" })
}
