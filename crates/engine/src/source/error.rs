//! Errors of data files. The texts name files and columns, never a value; nor the value
//! in the name of a folder such as `sex=f`, which is a value of its rows.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use datafusion::error::DataFusionError;
use hushtable_errors::{ErrorText, Hint};
use hushtable_lang::ColumnType;

use super::folders::folder_column;

/// Why a table cannot be read.
///
/// All but [`Unreadable`](Self::Unreadable), [`Damaged`](Self::Damaged) and
/// [`Internal`](Self::Internal) are found before a value is read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// An error that several readers met, in its own words.
    Shared {
        /// The fault.
        what: String,
        /// A way that works.
        hint: Option<String>,
    },

    /// A location leads to no data file.
    NothingFound {
        /// The location as the contract has it.
        location: String,
        /// The path that was looked at.
        looked: PathBuf,
    },

    /// A file's name does not say how to read it.
    UnknownExtension {
        /// The file.
        path: PathBuf,
    },

    /// A location leads to files of several formats.
    MixedFormats {
        /// The location as the contract has it.
        location: String,
        /// A format, and a file of it.
        one: (&'static str, PathBuf),
        /// Another one.
        other: (&'static str, PathBuf),
    },

    /// A location is not a valid pattern.
    BadPattern {
        /// The location as the contract has it.
        location: String,
        /// Its fault.
        reason: String,
    },

    /// The operating system does not let a file or folder be read.
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's message.
        reason: String,
    },

    /// A file is not of its format.
    Damaged {
        /// The file.
        path: PathBuf,
        /// The format that it should have.
        format: &'static str,
    },

    /// A file was written after its table's files were listed.
    Changed {
        /// The file.
        path: PathBuf,
    },

    /// A scan was asked for without files.
    NoFiles,

    /// A program's provider does not keep its rules.
    BrokenProvider {
        /// The table.
        table: String,
        /// The rule.
        what: &'static str,
    },

    /// A batch in memory has other columns than its table.
    OtherColumns {
        /// Its number, from 1.
        batch: usize,
    },

    /// A CSV file is empty.
    NoHeader {
        /// The file.
        path: PathBuf,
    },

    /// The first lines of a file of JSON lines have no objects with keys in common.
    NoObjects {
        /// The file.
        path: PathBuf,
    },

    /// A CSV file's header is not text of its encoding.
    HeaderNotText {
        /// The file.
        path: PathBuf,
        /// The encoding's name.
        encoding: &'static str,
    },

    /// The contract has settings for CSV, and a file is of another format.
    CsvSettingsForOther {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: &'static str,
    },

    /// A location leads into a table whose log says which of its rows count.
    TableLog {
        /// The location as the contract has it.
        location: String,
        /// Whose log it is.
        kind: LogKind,
        /// The folder of the log.
        log: PathBuf,
    },

    /// Some files are in folders such as `year=2024`, others in folders with other names before the
    /// equals sign.
    DifferentFolders {
        /// The location as the contract has it.
        location: String,
        /// A file.
        one: PathBuf,
        /// The columns that its folders give.
        one_columns: Vec<String>,
        /// Another file.
        other: PathBuf,
        /// The columns that its folders give.
        other_columns: Vec<String>,
    },

    /// One file is in folders that give its rows different values.
    OneFileInTwoFolders {
        /// The location as the contract has it.
        location: String,
        /// A path of the file.
        one: PathBuf,
        /// Another path of it.
        other: PathBuf,
    },

    /// A column is both in a file and in the names of its folders.
    FolderColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },

    /// A file has two columns of one name.
    DuplicateColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
    },

    /// A table's files have different columns.
    DifferentColumns {
        /// The file that lacks the column.
        without: PathBuf,
        /// A file that has it.
        with: PathBuf,
        /// The column.
        column: String,
    },

    /// A declared column is in no file.
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The file's column that differs from it only in case or in blanks around it.
        similar: Option<String>,
    },

    /// A column's type in a file cannot become the declared one.
    CannotBecome {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Its type in the file.
        file_type: String,
        /// Its type in the contract.
        declared: ColumnType,
        /// A way that works.
        hint: String,
    },

    /// Values of a column that tells units apart could be one in the declared type.
    CannotIdentify {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Its type in the file.
        file_type: String,
        /// Its type in the contract.
        declared: ColumnType,
        /// A way that works.
        hint: String,
    },

    /// A fault of this program.
    Internal {
        /// The step that failed; never from the data.
        what: &'static str,
    },
}

impl Hint for SourceError {
    fn error_text(&self) -> ErrorText {
        let text = match self {
            Self::Shared { what, hint } => (what.clone(), hint.clone()),
            Self::NothingFound { location, looked } => (
                format!(
                    "the location `{location}` has no data file: looked at `{}`",
                    shown(looked)
                ),
                Some(
                    "name a file, a folder of files or a pattern such as \
                 `claims/*.parquet`, relative to the contract's folder; files \
                 end in .parquet, .pq, .arrow, .arrows, .feather, .csv, .jsonl or \
                 .ndjson, the last three also with .gz or .zst behind"
                        .to_owned(),
                ),
            ),
            Self::UnknownExtension { path } => (
                format!(
                    "the contract names `{}`, which does not end in a known format",
                    shown(path)
                ),
                Some(
                    "rename it to .parquet, .pq, .arrow, .arrows, .feather, .csv, .jsonl or \
                     .ndjson, the last three also with .gz or .zst behind, or narrow the pattern"
                        .to_owned(),
                ),
            ),
            Self::MixedFormats { location, one, other } => (
                format!(
                    "the contract's location `{location}` mixes {} (`{}`) and {} (`{}`)",
                    one.0,
                    shown(&one.1),
                    other.0,
                    shown(&other.1)
                ),
                Some(
                    "narrow the location to files of one format, for example `folder/*.parquet`"
                        .to_owned(),
                ),
            ),
            Self::BadPattern { location, reason } => (
                format!(
                    "the contract's location `{location}` is not a valid \
                     pattern: {reason}"
                ),
                Some(
                    "write `*` for anything within one name, `**` for any folders, `?` for one \
                     character"
                        .to_owned(),
                ),
            ),
            Self::Unreadable { path, reason } => (
                format!("cannot read `{}`: {reason}", shown(path)),
                Some(
                    "check that the file exists and that this user may read it; the contract \
                     and the query are not at fault"
                        .to_owned(),
                ),
            ),
            Self::Damaged { path, format } => (
                format!("`{}` is damaged: it is not valid {format}", shown(path)),
                Some("compare the file with its original, or write it again".to_owned()),
            ),
            Self::Changed { path } => (
                format!("`{}` changed while the query was at work", shown(path)),
                Some("ask again when nothing writes to the table".to_owned()),
            ),
            Self::NoFiles => (
                "a table needs at least one data file".to_owned(),
                Some("this is a fault in Hushtable: please report it, without data".to_owned()),
            ),
            Self::BrokenProvider { table, what } => (
                format!("the program's provider of the table `{table}` breaks its rules: {what}"),
                Some("see the documentation of `Provider`".to_owned()),
            ),
            Self::OtherColumns { batch } => (
                format!("batch {batch} has other columns than its table"),
                Some("give all batches the names and types of the table's schema".to_owned()),
            ),
            Self::NoHeader { path } => (
                format!("`{}` has no header line", shown(path)),
                Some("name the columns in the first line of the file".to_owned()),
            ),
            Self::NoObjects { path } => (
                format!("no key is on two of the first lines of `{}`", shown(path)),
                Some(
                    "write one object on each line: {\"id\": 1, \"town\": \"Ashford\"}".to_owned(),
                ),
            ),
            Self::HeaderNotText { path, encoding } => (
                format!("the header line of `{}` is not {encoding} text", shown(path)),
                Some(
                    "say in the contract how the file is written, for example `csv = \
                 { encoding = \"windows-1252\" }`; a compressed file must also \
                 say so in its name (.csv.gz, .csv.zst)"
                        .to_owned(),
                ),
            ),
            Self::CsvSettingsForOther { path, format } => (
                format!(
                    "the contract has `csv` settings for a table whose file `{}` is {format}",
                    shown(path)
                ),
                Some(format!(
                    "leave `csv` out; {format} says itself how its values are \
                     written"
                )),
            ),
            Self::TableLog { location, kind, log } => (
                format!(
                    "the contract's location `{location}` leads into {} table, whose log is in \
                     `{}`",
                    kind.name(),
                    shown(log)
                ),
                Some(format!(
                    "write the table's current rows to a folder of their own, for example with \
                     {}, and name that folder; otherwise deleted and replaced rows would count",
                    kind.way_out()
                )),
            ),
            Self::DifferentFolders { location, one, one_columns, other, other_columns } => (
                format!(
                    "the files of `{location}` are in different kinds of folders: `{}` in {}, \
                     `{}` in {}",
                    shown(one),
                    named(one_columns),
                    shown(other),
                    named(other_columns)
                ),
                Some(
                    "move the files or narrow the location: folders such as `year=2024` are \
                     columns, and all files of a table must have the same ones"
                        .to_owned(),
                ),
            ),
            Self::OneFileInTwoFolders { location, one, other } => (
                format!(
                    "the files `{}` and `{}` of `{location}` are one file (a link), in folders \
                     that give its rows different values",
                    shown(one),
                    shown(other)
                ),
                Some("remove the link, or copy the file if its rows are there twice".to_owned()),
            ),
            Self::FolderColumn { path, column } => (
                format!(
                    "column `{column}` is both in `{}` and in the names of its folders",
                    shown(path)
                ),
                Some(format!(
                    "drop the column from the files, or give the folders another name than \
                     `{column}=…`"
                )),
            ),
            Self::DuplicateColumn { path, column } => (
                format!("`{}` has more than one column `{column}`", shown(path)),
                Some("rename or drop all but one of them in the file".to_owned()),
            ),
            Self::DifferentColumns { without, with, column } => (
                format!(
                    "the files of a table differ: `{}` has no column `{column}`, but `{}` has",
                    shown(without),
                    shown(with)
                ),
                Some(
                    "write the file again with the column names of the others, or narrow the \
                     location in the contract"
                        .to_owned(),
                ),
            ),
            Self::MissingColumn { path, column, similar } => (
                format!(
                    "the contract declares column `{column}`, which `{}` does not have{}",
                    shown(path),
                    match similar {
                        Some(name) => format!(" (it has `{name}`)"),
                        None => String::new(),
                    }
                ),
                Some("correct the contract; names are case-sensitive".to_owned()),
            ),
            Self::CannotBecome { path, column, file_type, declared, hint } => (
                format!(
                    "the contract declares column `{column}` as `{declared}`, but it is \
                     {file_type} in `{}`",
                    shown(path)
                ),
                Some(hint.clone()),
            ),
            Self::CannotIdentify { path, column, file_type, declared, hint } => (
                format!(
                    "column `{column}` tells units apart, or rows that others refer to, but as \
                     `{declared}` two values of its {file_type} in `{}` can become one",
                    shown(path)
                ),
                Some(hint.clone()),
            ),
            Self::Internal { what } => (
                format!("internal error: {what}"),
                Some("this is a fault in Hushtable: please report it, without data".to_owned()),
            ),
        };
        ErrorText::from(text)
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error_text().fmt(f)
    }
}

/// A path without the values that the names of its folders have.
pub(crate) fn shown(path: &Path) -> String {
    let hidden =
        |component: Component<'_>| match folder_column(&component.as_os_str().to_string_lossy()) {
            Some(column) => PathBuf::from(format!("{column}=…")),
            None => PathBuf::from(&component),
        };
    path.components().map(hidden).collect::<PathBuf>().display().to_string()
}

/// Columns of folders in a few words.
fn named(columns: &[String]) -> String {
    if columns.is_empty() {
        return "folders without columns".to_owned();
    }
    let folders: Vec<String> = columns.iter().map(|column| format!("{column}=…")).collect();
    format!("`{}`", folders.join("/"))
}

/// Formats of tables whose folder has files that are no longer a part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// Delta Lake.
    Delta,
    /// Apache Iceberg.
    Iceberg,
    /// Apache Hudi.
    Hudi,
}

impl LogKind {
    fn name(self) -> &'static str {
        match self {
            Self::Delta => "a Delta Lake",
            Self::Iceberg => "an Iceberg",
            Self::Hudi => "a Hudi",
        }
    }

    fn way_out(self) -> &'static str {
        match self {
            Self::Delta => "DuckDB's `COPY (FROM delta_scan('table')) TO 'rows.parquet'`",
            Self::Iceberg => "DuckDB's `COPY (FROM iceberg_scan('table')) TO 'rows.parquet'`",
            Self::Hudi => "Spark's `spark.read.format(\"hudi\").load(table).write.parquet(folder)`",
        }
    }
}

impl SourceError {
    /// Tells damaged files from unreadable ones. Decompressors report broken streams as I/O errors
    /// that, unlike the operating system's, have no code.
    pub(super) fn from_io(path: &Path, error: &std::io::Error, format: &'static str) -> Self {
        match error.raw_os_error() {
            // Not the error's own text: a library may have wrapped it in something longer.
            Some(code) => Self::Unreadable {
                path: path.to_owned(),
                reason: std::io::Error::from_raw_os_error(code).to_string(),
            },
            None => Self::Damaged { path: path.to_owned(), format },
        }
    }
}

impl From<SourceError> for DataFusionError {
    fn from(error: SourceError) -> Self {
        Self::External(Box::new(error))
    }
}
