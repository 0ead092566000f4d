//! Files that are opened, and the columns that a table's files have.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use hushtable_contract::CsvSettings;
use hushtable_lang::ColumnType;

use super::convert::{StoredType, common};
use super::csv::CsvFile;
use super::decoders::Bytes;
use super::folders::FolderValue;
use super::ipc::ArrowFile;
use super::json_lines::{JsonLinesFile, first_keys};
use super::parquet::ParquetFile;
use super::stored::{Source, StoredColumn};
use super::{DataFile, FileColumn, FileFormat, ReadRequest, SourceError, TableData};

/// Rows whose keys are taken for those of all rows, where the files do not name their columns.
pub(super) const ROWS_LOOKED_AT: usize = 10_000;

/// The columns that all of a table's files have, in the order of the first file, from their footers
/// or header lines alone: never from values, statistics or row counts. After them those in the
/// names of folders. JSON lines name columns in their rows alone: there, they are keys that two or
/// more of a file's first rows have.
///
/// Columns without a name (a comma at the end of a CSV header) are left out.
///
/// # Errors
///
/// If there is no file, one cannot be opened or is not of its format, has two columns of one
/// name, or has other columns than the first; their order may differ.
pub fn file_schema(
    files: &[DataFile],
    csv: Option<&CsvSettings>,
) -> Result<Vec<FileColumn>, SourceError> {
    let wanted = ReadRequest { csv: csv.cloned(), ..ReadRequest::default() };
    let files = open_all(files, &wanted, &keys_of(files)?)?;
    check_columns(&files)?;
    let first = files.first().ok_or(SourceError::NoFiles)?;
    let mut schema = Vec::new();
    for (_, column) in first.columns() {
        let same = files.iter().filter_map(|file| {
            file.columns().find(|(_, other)| other.name == column.name).map(|(_, other)| other)
        });
        let same: Vec<&StoredColumn> = same.collect();
        let stored: Vec<StoredType> = same.iter().map(|other| other.stored).collect();
        let mut types: Vec<&str> = Vec::new();
        for other in same {
            if !types.contains(&other.file_type.as_str()) {
                types.push(&other.file_type);
            }
        }
        schema.push(FileColumn {
            name: column.name.clone(),
            column_type: common(&stored),
            file_type: types.join(" / "),
        });
    }
    for value in &first.folders {
        schema.push(FileColumn {
            name: value.column.clone(),
            column_type: Some(ColumnType::String),
            file_type: "folder".to_owned(),
        });
    }
    Ok(schema)
}

/// The keys of the first rows of JSON lines; of other files none.
fn keys_of(files: &[DataFile]) -> Result<Vec<String>, SourceError> {
    let mut keys = Vec::new();
    let each = (ROWS_LOOKED_AT / files.len().max(1)).max(1);
    for file in files {
        if let FileFormat::JsonLines { .. } = file.format {
            keys.extend(first_keys(file, each)?);
        }
    }
    let is_json = |file: &&DataFile| matches!(file.format, FileFormat::JsonLines { .. });
    match files.iter().find(is_json) {
        Some(file) if keys.is_empty() => Err(SourceError::NoObjects { path: file.path.clone() }),
        _ => Ok(keys),
    }
}

/// A file whose schema has been read.
#[derive(Debug)]
pub(super) struct OpenedSource {
    pub(super) source: Arc<dyn Source>,
    folders: Vec<FolderValue>,
}

/// Where a file has a column.
pub(super) enum ColumnOrigin<'a> {
    /// At that place, stored in that way.
    Column(usize, StoredType),
    /// In the name of one of its folders.
    Folder(&'a FolderValue),
}

/// Opens all sources of a table.
pub(super) fn open_data(
    data: &TableData,
    wanted: &ReadRequest,
) -> Result<Vec<OpenedSource>, SourceError> {
    match data {
        TableData::Files(files) => {
            let names = wanted.columns.iter().chain(&wanted.unit).map(|(name, _)| name.clone());
            open_all(files, wanted, &names.collect::<Vec<String>>())
        }
        TableData::Provided(table) if wanted.csv.is_some() => {
            let path = table.path().to_owned();
            Err(SourceError::CsvSettingsForOther { path, format: "Arrow" })
        }
        TableData::Provided(table) => {
            Ok(vec![OpenedSource { source: Arc::new(table.clone()), folders: Vec::new() }])
        }
    }
}

/// Opens a file of any format. `names` are the columns of one that does not name them.
fn open(
    file: &DataFile,
    settings: &Arc<CsvSettings>,
    text_bytes: &[(String, usize)],
    names: &[String],
) -> Result<Arc<dyn Source>, SourceError> {
    let at = PathBuf::clone(&file.path);
    Ok(match file.format {
        FileFormat::Csv { .. } => Arc::new(CsvFile::open(file, settings, text_bytes)?),
        FileFormat::Parquet => Arc::new(ParquetFile::open(at)?),
        FileFormat::Arrow => Arc::new(ArrowFile::open(at)?),
        FileFormat::JsonLines { .. } => Arc::new(JsonLinesFile::open(file, names)?),
    })
}

/// Opens all files, as they were when they were listed.
fn open_all(
    files: &[DataFile],
    wanted: &ReadRequest,
    names: &[String],
) -> Result<Vec<OpenedSource>, SourceError> {
    if files.is_empty() {
        return Err(SourceError::NoFiles);
    }
    let settings = Arc::new(wanted.csv.clone().unwrap_or_default());
    let mut opened: Vec<OpenedSource> = Vec::with_capacity(files.len());
    for file in files {
        let is_csv = matches!(file.format, FileFormat::Csv { .. });
        if wanted.csv.is_some() && !is_csv {
            let (path, format) = (file.path.clone(), file.format.name());
            return Err(SourceError::CsvSettingsForOther { path, format });
        }
        // The file must be the one that was listed, as a release is about that. Another one may
        // look damaged.
        let source = open(file, &settings, &wanted.text_bytes, names);
        let changed = match &source {
            Ok(source) => source.identity() != file.identity(),
            Err(_) => file.path.identity().is_ok_and(|now| now != file.identity()),
        };
        if changed {
            return Err(SourceError::Changed { path: file.path.clone() });
        }
        let source = source?;
        opened.push(OpenedSource { source, folders: file.folders.clone() });
    }
    Ok(opened)
}

/// Checks that every column has its own name, and that all files have the same.
///
/// For the owner, who drafts a contract: its errors name columns as the files do, and the first
/// line of a file that has no header is a row.
fn check_columns(files: &[OpenedSource]) -> Result<(), SourceError> {
    for file in files {
        let mut names = HashSet::new();
        if let Some((_, twice)) = file.columns().find(|(_, column)| !names.insert(&column.name)) {
            return Err(SourceError::DuplicateColumn {
                path: file.path(),
                column: twice.name.clone(),
            });
        }
        for value in &file.folders {
            file.find(&value.column, ColumnType::String, false)?;
        }
        if let Some(first) = files.first() {
            first.check_same(file)?;
            file.check_same(first)?;
        }
    }
    Ok(())
}

impl OpenedSource {
    fn path(&self) -> PathBuf {
        self.source.path().to_owned()
    }

    /// The place of each column that has a name, and the column.
    fn columns(&self) -> impl Iterator<Item = (usize, &StoredColumn)> {
        self.source.columns().iter().enumerate().filter(|(_, column)| !column.name.is_empty())
    }

    /// Every column of this file must be in the other.
    fn check_same(&self, other: &Self) -> Result<(), SourceError> {
        let others: HashSet<&str> = other.columns().map(|(_, stored)| &*stored.name).collect();
        match self.columns().find(|(_, column)| !others.contains(&*column.name)) {
            None => Ok(()),
            Some((_, column)) => Err(SourceError::DifferentColumns {
                without: other.path(),
                with: self.path(),
                column: column.name.clone(),
            }),
        }
    }

    /// Where a declared column is, if its type can become the declared one; and can tell units
    /// apart there, where it is `identifying`.
    pub(super) fn find(
        &self,
        column: &str,
        declared: ColumnType,
        identifying: bool,
    ) -> Result<ColumnOrigin<'_>, SourceError> {
        let (path, column) = (self.path(), column.to_owned());
        let mut found = self.columns().filter(|(_, stored)| stored.name == column);
        let mut folders = self.folders.iter().filter(|value| value.column == column);
        let (index, stored_column) = match (found.next(), folders.next()) {
            (Some(_), Some(_)) => return Err(SourceError::FolderColumn { path, column }),
            (Some(only), None) => only,
            (None, Some(value)) => {
                return match folders.next() {
                    None => Ok(ColumnOrigin::Folder(value)),
                    Some(_) => Err(SourceError::DuplicateColumn { path, column }),
                };
            }
            (None, None) => {
                let alike = |name: &&str| name.trim().eq_ignore_ascii_case(column.trim());
                let folders = self.folders.iter().map(|value| value.column.as_str());
                let mut names = self.columns().map(|(_, stored)| &*stored.name).chain(folders);
                let similar = names.find(alike).map(str::to_owned);
                return Err(SourceError::MissingColumn { path, column, similar });
            }
        };
        if found.next().is_some() {
            return Err(SourceError::DuplicateColumn { path, column });
        }
        let becomes = stored_column.stored.becomes(declared);
        let identifies =
            if identifying { stored_column.stored.identifies(declared) } else { Ok(()) };
        let file_type = stored_column.file_type.clone();
        match (becomes, identifies) {
            (Ok(()), Ok(())) => Ok(ColumnOrigin::Column(index, stored_column.stored)),
            (Ok(()), Err(hint)) => {
                Err(SourceError::CannotIdentify { path, column, file_type, declared, hint })
            }
            // The type that would hold all values may be none that tells units apart.
            (Err(_), Err(hint)) | (Err(hint), Ok(())) => {
                Err(SourceError::CannotBecome { path, column, file_type, declared, hint })
            }
        }
    }
}
