//! From files and declared columns to a table of DataFusion.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::physical_plan::streaming::PartitionStream;
use hushtable_query::{ColumnType, CsvSettings, MAX_SCALE};

use super::convert::{Stored, Target, arrow_type, common};
use super::csv::CsvFile;
use super::folders::FolderValue;
use super::parquet::ParquetFile;
use super::sink::Sink;
use super::work::{Constant, Heeded, Layout, Partition, Piece, Work};
use super::{DataFile, FileColumn, Format, ReadProgress, SourceError, Wanted};

/// Rows of a batch, at most.
pub(super) const BATCH_ROWS: usize = 8192;

/// The columns that all of a table's files have, in the order of the first file, from their Parquet
/// footers or CSV header lines alone: never from values, statistics or row counts. After them those
/// in the names of folders.
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
    let files = open_all(files, csv)?;
    check_columns(&files)?;
    let first = files.first().ok_or(SourceError::NoFiles)?;
    let mut schema = Vec::new();
    for (_, name, _, _) in first.columns() {
        let same: Vec<_> =
            files.iter().filter_map(|file| file.columns().find(|(_, n, ..)| *n == name)).collect();
        let stored: Vec<Stored> = same.iter().map(|(_, _, stored, _)| *stored).collect();
        let mut types: Vec<&str> = Vec::new();
        for (_, _, _, file_type) in same {
            if !types.contains(&file_type) {
                types.push(file_type);
            }
        }
        schema.push(FileColumn {
            name: name.to_owned(),
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

/// The name of the units' column, which no column of a CSV file has.
const UNIT: &str = "\0unit";

/// The table of [`scan`](super::scan).
pub(super) fn table(
    files: &[DataFile],
    wanted: &Wanted,
    partitions: usize,
    progress: &Arc<ReadProgress>,
) -> Result<StreamingTable, SourceError> {
    let (schema, work) = work(files, wanted)?;
    progress.expect(work.iter().map(|piece| piece.bytes).sum());
    let streams = share_out(work, partitions)
        .into_iter()
        .map(|work| {
            let (schema, progress) = (Arc::clone(&schema), Arc::clone(progress));
            let partition = Partition { schema, work: Arc::new(work), progress };
            Arc::new(partition) as Arc<dyn PartitionStream>
        })
        .collect();
    StreamingTable::try_new(schema, streams)
        .map_err(|_| SourceError::Internal { what: "the streams of a scan were refused" })
}

/// Hands all rows to `sink`, one file after the other, with what did not fit its column.
///
/// # Errors
/// Fails as [`scan`](super::scan) and its stream do.
pub(crate) fn observe(
    files: &[DataFile],
    wanted: &Wanted,
    progress: &Arc<ReadProgress>,
    sink: &mut dyn Sink,
) -> Result<(), SourceError> {
    let (_, work) = work(files, wanted)?;
    progress.expect(work.iter().map(|piece| piece.bytes).sum());
    let mut sink = Heeded { sink, wanted: true };
    for piece in &work {
        if sink.wanted {
            piece.read(progress, &mut sink)?;
        }
    }
    Ok(())
}

/// The pieces of work to read what is wanted, and the schema of what comes out.
fn work(files: &[DataFile], wanted: &Wanted) -> Result<(SchemaRef, Vec<Piece>), SourceError> {
    let files = open_all(files, wanted.csv.as_ref())?;
    let mut fields = Vec::new();
    let mut columns: Vec<(&str, ColumnType, Target)> = Vec::new();
    for (name, declared) in &wanted.columns {
        if matches!(declared, ColumnType::Decimal { scale } if *scale > MAX_SCALE) {
            return Err(SourceError::Internal { what: "a decimal of too large a scale" });
        }
        columns.push((name, *declared, Target::Value(*declared)));
        fields.push(Field::new(name, arrow_type(*declared), true));
    }
    if let Some((name, declared)) = &wanted.unit {
        let target = unit_target(&files, name, *declared)?;
        columns.push((name, *declared, target));
        fields.push(Field::new(UNIT, target.arrow_type(), true));
    }
    let mut work = Vec::new();
    for file in files {
        let (mut picks, mut places, mut constants) = (Vec::new(), Vec::new(), Vec::new());
        for (place, (name, declared, target)) in columns.iter().enumerate() {
            match file.pick(name, *declared)? {
                Pick::Column(root, stored) => {
                    places.push(place);
                    picks.push((root, stored, *target));
                }
                Pick::Folder(value) => {
                    let (values, misfit) =
                        value.array(*target, BATCH_ROWS).map_err(|_| planned_otherwise())?;
                    constants.push(Constant { place, values, misfit });
                }
            }
        }
        let (picks, layout) = (Arc::new(picks), Arc::new(Layout { places, constants }));
        let piece = |bytes, work| Piece { bytes, work, layout: Arc::clone(&layout) };
        match file.kind {
            Kind::Csv(csv, bytes) => {
                let columns = picks.iter().map(|(place, _, to)| (*place, *to)).collect();
                work.push(piece(bytes, Work::Csv(csv, columns)));
            }
            Kind::Parquet(parquet) => {
                let parquet = Arc::new(parquet);
                for (group, bytes) in parquet.row_groups().enumerate() {
                    let (parquet, picks) = (Arc::clone(&parquet), Arc::clone(&picks));
                    work.push(piece(bytes, Work::Parquet(parquet, picks, group)));
                }
            }
        }
    }
    Ok((Arc::new(Schema::new(fields)), work))
}

/// The type that the units' column is read as: wide where a unit of some file may be too large for
/// an `int`. All files have the same, as a unit may be in several.
fn unit_target(files: &[Opened], name: &str, declared: ColumnType) -> Result<Target, SourceError> {
    let mut wide = false;
    for file in files {
        wide |= match file.pick(name, declared)? {
            Pick::Column(_, stored) => stored.may_exceed_int(),
            Pick::Folder(_) => true,
        };
    }
    let wide = wide && declared == ColumnType::Int;
    Ok(if wide { Target::Wide } else { Target::Value(declared) })
}

/// Shares work out to at most `partitions` partitions of about the same size: the largest piece
/// first, always to the partition that has least.
fn share_out(mut work: Vec<Piece>, partitions: usize) -> Vec<Vec<Piece>> {
    // Never none: the other operators need a partition even if there is nothing to read.
    let mut shares: Vec<(u64, Vec<Piece>)> = Vec::new();
    shares.resize_with(work.len().min(partitions).max(1), Default::default);
    work.sort_by_key(|piece| std::cmp::Reverse(piece.bytes));
    for piece in work {
        if let Some((sum, share)) = shares.iter_mut().min_by_key(|(sum, _)| *sum) {
            // Even an empty piece costs something.
            *sum = sum.saturating_add(piece.bytes.max(1));
            share.push(piece);
        }
    }
    shares.into_iter().map(|(_, share)| share).collect()
}

/// What a decoder did not deliver although the types were checked.
pub(super) fn planned_otherwise() -> SourceError {
    SourceError::Internal { what: "a column was read as another type than planned" }
}

/// A file of which the schema has been read.
struct Opened {
    kind: Kind,
    folders: Vec<FolderValue>,
}

enum Kind {
    Csv(CsvFile, u64),
    Parquet(ParquetFile),
}

/// Where a file has a column.
enum Pick<'a> {
    /// At that place, stored in that way.
    Column(usize, Stored),
    /// In the name of one of its folders.
    Folder(&'a FolderValue),
}

/// Opens all files.
fn open_all(files: &[DataFile], csv: Option<&CsvSettings>) -> Result<Vec<Opened>, SourceError> {
    if files.is_empty() {
        return Err(SourceError::NoFiles);
    }
    let settings = Arc::new(csv.cloned().unwrap_or_default());
    let mut opened: Vec<Opened> = Vec::with_capacity(files.len());
    for file in files {
        let kind = match file.format {
            Format::Csv { compression } => {
                Kind::Csv(CsvFile::open(&file.path, compression, &settings)?, file.bytes)
            }
            Format::Parquet if csv.is_some() => {
                return Err(SourceError::CsvSettingsForParquet { path: file.path.clone() });
            }
            Format::Parquet => Kind::Parquet(ParquetFile::open(&file.path)?),
        };
        opened.push(Opened { kind, folders: file.folders.clone() });
    }
    Ok(opened)
}

/// Checks that every column has its own name, and that all files have the same.
///
/// For the owner, who drafts a contract: its errors name columns as the files do, and the first
/// line of a file that has no header is a row.
fn check_columns(files: &[Opened]) -> Result<(), SourceError> {
    for file in files {
        let mut names = HashSet::new();
        if let Some((_, twice, ..)) = file.columns().find(|(_, name, ..)| !names.insert(*name)) {
            return Err(SourceError::DuplicateColumn {
                path: file.path().clone(),
                column: twice.to_owned(),
            });
        }
        for value in &file.folders {
            file.pick(&value.column, ColumnType::String)?;
        }
        if let Some(first) = files.first() {
            first.check_same(file)?;
            file.check_same(first)?;
        }
    }
    Ok(())
}

impl Opened {
    fn path(&self) -> &PathBuf {
        match &self.kind {
            Kind::Csv(file, _) => &file.path,
            Kind::Parquet(file) => &file.path,
        }
    }

    /// Place, name, storage and type of each column that has a name.
    fn columns(&self) -> impl Iterator<Item = (usize, &str, Stored, &str)> {
        let (csv, parquet) = match &self.kind {
            Kind::Csv(file, _) => (file.header.as_slice(), [].as_slice()),
            Kind::Parquet(file) => ([].as_slice(), file.columns.as_slice()),
        };
        let csv = csv.iter().map(|name| (name.as_str(), Stored::Text, "text"));
        let parquet = parquet.iter().map(|c| (c.name.as_str(), c.stored, c.file_type.as_str()));
        csv.chain(parquet)
            .enumerate()
            .map(|(place, (name, stored, file_type))| (place, name, stored, file_type))
            .filter(|(_, name, ..)| !name.is_empty())
    }

    /// Every column of this file must be in the other.
    fn check_same(&self, other: &Self) -> Result<(), SourceError> {
        let others: HashSet<&str> = other.columns().map(|(_, name, ..)| name).collect();
        match self.columns().find(|(_, name, ..)| !others.contains(name)) {
            None => Ok(()),
            Some((_, name, ..)) => Err(SourceError::DifferentColumns {
                without: other.path().clone(),
                with: self.path().clone(),
                column: name.to_owned(),
            }),
        }
    }

    /// Where a declared column is, if its type can become the declared one.
    fn pick(&self, column: &str, declared: ColumnType) -> Result<Pick<'_>, SourceError> {
        let (path, column) = (self.path().clone(), column.to_owned());
        let mut found = self.columns().filter(|(_, name, ..)| *name == column);
        let mut folders = self.folders.iter().filter(|value| value.column == column);
        let (place, stored, file_type) = match (found.next(), folders.next()) {
            (Some(_), Some(_)) => return Err(SourceError::FolderColumn { path, column }),
            (Some((place, _, stored, file_type)), None) => (place, stored, file_type),
            (None, Some(value)) => {
                return match folders.next() {
                    None => Ok(Pick::Folder(value)),
                    Some(_) => Err(SourceError::DuplicateColumn { path, column }),
                };
            }
            (None, None) => {
                let alike = |name: &&str| name.trim().eq_ignore_ascii_case(column.trim());
                let folders = self.folders.iter().map(|value| value.column.as_str());
                let mut names = self.columns().map(|(_, name, ..)| name).chain(folders);
                let similar = names.find(alike).map(str::to_owned);
                return Err(SourceError::MissingColumn { path, column, similar });
            }
        };
        if found.next().is_some() {
            return Err(SourceError::DuplicateColumn { path, column });
        }
        match stored.becomes(declared) {
            Ok(()) => Ok(Pick::Column(place, stored)),
            Err(hint) => {
                let file_type = file_type.to_owned();
                Err(SourceError::CannotBecome { path, column, file_type, declared, hint })
            }
        }
    }
}
