//! Reads tables totally, from Parquet, Arrow and CSV files, JSON lines and programs: no value in
//! the data can make an error.
//!
//! Noise protects what a query releases, but not whether it fails. So everything that may fail is
//! decided from the contract and the files' schemas before a value is read, and from then on a
//! value that does not fit its column's type is NULL. Each value is converted on its own: what it
//! becomes does not depend on its neighbours, its batch, its row group or its file.
//!
//! Parquet is decoded with the `parquet` crate here rather than through DataFusion's own Parquet
//! source, for three reasons: that source fails on text that is not UTF-8; it prunes row groups
//! by statistics, which the file may have wrong; and it answers aggregates from statistics.
//!
//! Each kind of file is a source (`open`), and so is a table that a program provides
//! (`provided`); a table is some columns of some sources (`table`); and an operator reads the
//! chunks of a table that a list names (`exec`).

mod arrow_rows;
pub(crate) mod convert;
mod csv;
mod csv_rows;
mod decode;
mod decoders;
mod decompress;
mod error;
mod exec;
mod files;
mod folders;
mod from_text;
mod guess;
mod ipc;
mod json_fields;
mod json_lines;
mod logs;
mod look;
mod memory_table;
pub(crate) mod normalise;
mod open;
mod parquet;
pub(crate) mod parse;
mod progress;
mod provided;
mod reach;
mod sink;
mod stored;
mod table;
mod table_data;
pub(crate) mod text_form;
mod text_rows;
mod utf8_texts;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use hushtable_contract::CsvSettings;
use hushtable_lang::ColumnType;
use serde::{Deserialize, Serialize};

pub(crate) use error::shown;
pub use error::{LogKind, SourceError};
pub(crate) use exec::SourceExec;
pub use files::list_files;
pub(crate) use files::{FileId, file_id};
pub use folders::FolderValue;
pub use guess::guess_csv;
pub use look::{ProposedType, SuggestedTypes, look_at};
pub use memory_table::MemoryTable;
pub use open::file_schema;
pub use progress::ReadProgress;
pub(crate) use provided::ProviderSource;
pub use provided::{Provider, RowsIdentity};
pub use reach::{resolved, same, would_read};
pub(crate) use sink::{Misfit, OddRow, Sink};
pub(crate) use table::{SourceTable, observe};
pub(crate) use table_data::{Data, TableData};

/// Rows of a batch, at most.
const BATCH_ROWS: usize = 8192;

/// A file of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// Where it is, as it was found: the contract's folder followed by the rest.
    pub path: PathBuf,
    /// How to read it, from its name alone.
    pub format: FileFormat,
    /// Its size.
    pub bytes: u64,
    /// When it was last written, in nanoseconds since 1970-01-01 UTC; 0 where the file system does
    /// not say.
    pub modified_ns: i128,
    /// Values in the names of its folders, such as `year=2024`: a column for each.
    pub folders: Vec<FolderValue>,
}

impl DataFile {
    /// The identity of this state of the file, unlike earlier and later ones.
    pub fn identity(&self) -> SourceIdentity {
        let (bytes, modified_ns) = (self.bytes, self.modified_ns);
        SourceIdentity::File { path: self.path.clone(), bytes, modified_ns }
    }
}

/// The identity of a source's state. Whoever has two of them that are equal may take
/// the rows to be the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceIdentity {
    /// A file: written again, it counts as other rows, whatever is in it.
    File {
        /// Where it is.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// When it was last written, in nanoseconds since 1970-01-01 UTC.
        modified_ns: i128,
    },
    /// Rows that a program provides.
    Rows(RowsIdentity),
}

/// An identity that is the same from every folder.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResolvedIdentity {
    /// With a path without links, as bytes: it may not be UTF-8.
    File {
        path: Vec<u8>,
        bytes: u64,
        modified_ns: i128,
    },
    Content([u8; 32]),
    Version(String),
}

impl SourceIdentity {
    /// Resolves links in paths.
    ///
    /// # Errors
    /// When a file is gone.
    pub(crate) fn resolved(&self) -> Result<ResolvedIdentity, SourceError> {
        Ok(match self {
            Self::File { path, bytes, modified_ns } => {
                let unreadable = |error: std::io::Error| SourceError::Unreadable {
                    path: path.clone(),
                    reason: error.to_string(),
                };
                let real = std::fs::canonicalize(path).map_err(unreadable)?;
                let path = real.into_os_string().into_encoded_bytes();
                ResolvedIdentity::File { path, bytes: *bytes, modified_ns: *modified_ns }
            }
            Self::Rows(RowsIdentity::Content(hash)) => ResolvedIdentity::Content(*hash),
            Self::Rows(RowsIdentity::Version(name)) => ResolvedIdentity::Version(name.clone()),
        })
    }
}

/// Format of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileFormat {
    /// `.parquet` or `.pq`.
    Parquet,
    /// `.arrow`, `.arrows` or `.feather`: Arrow's IPC format, as a file or as a stream.
    Arrow,
    /// `.csv`, `.csv.gz` or `.csv.zst`: text with one header line, written as the table's
    /// [`CsvSettings`] say.
    Csv {
        /// How the text is compressed.
        compression: Compression,
    },
    /// `.jsonl` or `.ndjson`, with `.gz` or `.zst` behind it or not: an object on each line.
    JsonLines {
        /// How the text is compressed.
        compression: Compression,
    },
}

impl FileFormat {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
            Self::Csv { .. } => "CSV",
            Self::JsonLines { .. } => "JSON lines",
        }
    }
}

/// Compression of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// between the types of files that differ; `text` for CSV, `JSON` for JSON lines, `folder` for
    /// a column in the names of folders.
    pub file_type: String,
}

/// The part of a table that is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadRequest {
    /// Columns and their declared types.
    pub columns: Vec<(String, ColumnType)>,
    /// The column that names the privacy units, and its declared type.
    pub unit: Option<(String, ColumnType)>,
    /// How its CSV files are written, where the contract says.
    pub csv: Option<CsvSettings>,
    /// Whether a column behind the others tells rows apart, by their places in the files alone.
    pub rows: bool,
    /// Columns besides `unit` that tell units apart, or rows that other tables refer to.
    pub identifying: BTreeSet<String>,
    /// Most bytes of the texts of all columns that are declared as text, wanted or not: fields in
    /// quotes of a CSV file end by them.
    pub text_bytes: Vec<(String, usize)>,
}

impl ReadRequest {
    /// Some columns of files that are written in the usual way.
    pub fn columns(columns: &[(String, ColumnType)]) -> Self {
        Self { columns: columns.to_vec(), ..Self::default() }
    }

    /// Whether the values of a column must not lose what tells them apart.
    fn identifies(&self, column: &str) -> bool {
        self.identifying.contains(column)
            || self.unit.as_ref().is_some_and(|(unit, _)| unit == column)
    }
}

/// A plan of the columns wanted, in that order, and of the units after them, from all rows of
/// `files`.
///
/// | declared    | Arrow type               | NULL besides what does not convert                |
/// |-------------|--------------------------|---------------------------------------------------|
/// | `bool`      | `Boolean`                |                                                   |
/// | `int`       | `Int64`                  | integers outside 64 bits                          |
/// | `decimal(s)`| `Decimal128(38, s)`      | more than 38 digits                               |
/// | `float`     | `Float64`                | NaN, out of range; −0 is 0, infinities stay       |
/// | `string`    | `Utf8View`               | invalid UTF-8, more than `MAX_STRING_BYTES` bytes |
/// | `date`      | `Date32`                 | outside the years 1 to 9999                       |
/// | `timestamp` | `Timestamp(Microsecond)` | outside the years 1 to 9999                       |
///
/// Timestamps are rounded down to microseconds, and a zone is turned into UTC. Text becomes a
/// number, date or timestamp as [Arrow's casts](datafusion::arrow::compute::cast) have it, with
/// blanks around it ignored; a decimal with more digits than its scale is rounded, half away from
/// zero. In CSV the settings may say otherwise. There, an empty field is NULL (a string, too), a
/// row that is too short has NULLs at its end, fields beyond the header are ignored, and an empty
/// line is no row. A field in quotes that is longer than it may be ends with its line, as NULL. A
/// column in the names of folders has the value of a file's folder in all rows of the file.
///
/// In JSON lines, a column is a key of the objects, and NULL where an object lacks it; of several
/// members with one key, the first counts. Texts are read as those of CSV, but an empty one is a
/// string. Numbers are read however they are written: `7.0` is an integer. Under `string`, all
/// other values are as they are written. A line that is no object, or has more than 1 MiB, is a
/// row of NULLs, and a blank line is none.
///
/// Units are the values of their column, but those of an `int` column are whole numbers of up to 38
/// digits: a unit that does not fit 64 bits must not be left out.
///
/// In columns that tell units apart, no two values of the files become one value: types that lose
/// digits are errors, and text that is not what `CAST` to text makes of its value is NULL.
///
/// The plan reads in `partitions` partitions, however many files there are. The order of its rows
/// means nothing.
///
/// # Errors
///
/// All from the files' schemas, before any value is read: a file cannot be opened or is not of its
/// format, a column is missing, twice in a file, or in a file and in the names of its folders, or a
/// column's type in a file cannot become the declared one. While reading, only the file system, a
/// damaged file or memory can fail the stream, with a [`SourceError`] as
/// `DataFusionError::External`.
pub async fn scan(
    files: &[DataFile],
    wanted: &ReadRequest,
    partitions: usize,
    progress: &Arc<ReadProgress>,
) -> Result<Arc<dyn ExecutionPlan>, SourceError> {
    scan_data(&TableData::Files(files.to_vec()), wanted, partitions, progress).await
}

/// A plan of the columns wanted of a table, wherever it is, as [`scan`] gives it.
///
/// # Errors
/// Those of [`scan`].
pub(crate) async fn scan_data(
    data: &TableData,
    wanted: &ReadRequest,
    partitions: usize,
    progress: &Arc<ReadProgress>,
) -> Result<Arc<dyn ExecutionPlan>, SourceError> {
    let (data, wanted, progress) = (data.clone(), wanted.clone(), Arc::clone(progress));
    let plan = move || {
        let table = SourceTable::open(&data, &wanted)?;
        SourceExec::of_all(table, partitions, &progress)
    };
    let plan = tokio::task::spawn_blocking(plan)
        .await
        .map_err(|_| SourceError::Internal { what: "planning a scan was interrupted" })??;
    Ok(Arc::new(plan))
}

#[cfg(test)]
mod tests;
