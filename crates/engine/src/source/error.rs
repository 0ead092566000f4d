//! What can go wrong with data files. The texts name files and columns, never a value.

use std::path::PathBuf;

use datafusion::error::DataFusionError;
use hushtable_query::ColumnType;

/// Why a table cannot be read.
///
/// All but [`Unreadable`](Self::Unreadable), [`Damaged`](Self::Damaged) and
/// [`Internal`](Self::Internal) are found before a value is read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// An error that several readers met, in its own words.
    #[error("{0}")]
    Shared(String),

    /// A location leads to no data file.
    #[error(
        "the contract's location `{location}` has no data file: looked at {}\n  \
         hint: name a file, a folder of files or a pattern such as `claims/*.parquet`, relative \
         to the contract's folder; files end in .parquet, .pq, .csv, .csv.gz or .csv.zst",
        looked.display()
    )]
    NothingFound {
        /// The location as the contract has it.
        location: String,
        /// The path that was looked at.
        looked: PathBuf,
    },

    /// A file's name does not say how to read it.
    #[error(
        "the contract asks for {}, whose name does not end in a known format\n  \
         hint: rename it to .parquet, .pq, .csv, .csv.gz or .csv.zst, or narrow the pattern",
        path.display()
    )]
    UnknownExtension {
        /// The file.
        path: PathBuf,
    },

    /// A location leads to both Parquet and CSV.
    #[error(
        "the contract's location `{location}` mixes Parquet ({}) and CSV ({})\n  \
         hint: a table is all of one format; narrow the location, for example `folder/*.parquet`",
        parquet.display(), csv.display()
    )]
    MixedFormats {
        /// The location as the contract has it.
        location: String,
        /// A Parquet file of it.
        parquet: PathBuf,
        /// A CSV file of it.
        csv: PathBuf,
    },

    /// A location is not a valid pattern.
    #[error(
        "the contract's location `{location}` is not a valid pattern: {reason}\n  \
         hint: `*` stands for anything within one name, `**` for any folders, `?` for one character"
    )]
    BadPattern {
        /// The location as the contract has it.
        location: String,
        /// What is wrong with it.
        reason: String,
    },

    /// The operating system does not let a file or folder be read.
    #[error(
        "cannot read {}: {reason}\n  \
         hint: this is the file system, not the contract or the query; check that the file is \
         there and that this user may read it",
        path.display()
    )]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        reason: String,
    },

    /// A file is not of its format.
    #[error(
        "{} is damaged: it is not valid {format}\n  \
         hint: the fault is in the file; compare it with its original or write it again",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What it should be.
        format: &'static str,
    },

    /// A scan was asked for without files.
    #[error("a table needs at least one data file\n  hint: this is a fault of the program")]
    NoFiles,

    /// A CSV file is empty.
    #[error(
        "{} has no header line\n  \
         hint: the first line of a CSV file names its columns",
        path.display()
    )]
    NoHeader {
        /// The file.
        path: PathBuf,
    },

    /// A CSV file's header is not UTF-8.
    #[error(
        "the header line of {} is not UTF-8 text\n  \
         hint: convert the file, for example `iconv -f latin1 -t utf-8`; a file with a known \
         compression must also say so in its name (.csv.gz, .csv.zst)",
        path.display()
    )]
    HeaderNotText {
        /// The file.
        path: PathBuf,
    },

    /// A file has two columns of one name.
    #[error(
        "{} has more than one column `{column}`\n  \
         hint: rename or drop the others in the file; which one is meant cannot be told",
        path.display()
    )]
    DuplicateColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
    },

    /// A table's files have different columns.
    #[error(
        "the files of a table differ: {} has no column `{column}`, {} has\n  \
         hint: all files of a table must have the same column names; write the file again or \
         narrow the location in the contract",
        without.display(), with.display()
    )]
    DifferentColumns {
        /// The file that lacks the column.
        without: PathBuf,
        /// A file that has it.
        with: PathBuf,
        /// The column.
        column: String,
    },

    /// A declared column is in no file.
    #[error(
        "the contract declares column `{column}`, which {} does not have{}\n  \
         hint: names are case-sensitive; correct the contract",
        path.display(), match similar { Some(name) => format!(" (it has `{name}`)"), None => String::new() }
    )]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The file's column that differs from it only in case or in blanks around it.
        similar: Option<String>,
    },

    /// A column's type in a file cannot become the declared one.
    #[error(
        "the contract declares column `{column}` as `{declared}`, but it is {file_type} in {}\n  \
         hint: {hint}",
        path.display()
    )]
    CannotBecome {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Its type in the file.
        file_type: String,
        /// Its type in the contract.
        declared: ColumnType,
        /// What to declare instead.
        hint: String,
    },

    /// A fault of this program.
    #[error("internal error: {what}\n  hint: please report this; the data is not at fault")]
    Internal {
        /// What failed; never from the data.
        what: &'static str,
    },
}

impl SourceError {
    /// What an I/O error means. Decompressors report broken streams as I/O errors that, unlike the
    /// operating system's, have no code.
    pub(super) fn from_io(
        path: &std::path::Path,
        error: &std::io::Error,
        format: &'static str,
    ) -> Self {
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
