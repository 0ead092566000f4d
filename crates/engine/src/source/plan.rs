//! From files and declared columns to a table of DataFusion.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::PartitionStream;
use hushtable_query::{ColumnType, MAX_SCALE};

use super::convert::{Stored, arrow_type, common};
use super::csv::{CsvColumn, CsvFile};
use super::parquet::{ParquetFile, ParquetPick};
use super::sink::{Misfit, Sink};
use super::text::TextColumn;
use super::{DataFile, FileColumn, Format, ReadProgress, SourceError};

/// Rows of a batch, at most.
pub(super) const BATCH_ROWS: usize = 8192;

/// Batches that wait for their consumer.
const BATCHES_AHEAD: usize = 2;

/// The columns that all of a table's files have, in the order of the first file, from their
/// Parquet footers or CSV header lines alone: never from values, statistics or row counts.
///
/// Columns without a name (a comma at the end of a CSV header) are left out.
///
/// # Errors
///
/// If there is no file, one cannot be opened or is not of its format, has two columns of one
/// name, or has other columns than the first; their order may differ.
pub fn file_schema(files: &[DataFile]) -> Result<Vec<FileColumn>, SourceError> {
    let files = open_all(files)?;
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
    Ok(schema)
}

/// The table of [`scan`](super::scan).
pub(super) fn table(
    files: &[DataFile],
    columns: &[(String, ColumnType)],
    partitions: usize,
    progress: &Arc<ReadProgress>,
) -> Result<StreamingTable, SourceError> {
    let field = |(name, declared): &(String, ColumnType)| match declared {
        ColumnType::Decimal { scale } if *scale > MAX_SCALE => {
            Err(SourceError::Internal { what: "a decimal of too large a scale" })
        }
        _ => Ok(Field::new(name, arrow_type(*declared), true)),
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Schema::new(fields));
    let work = work(files, columns)?;
    progress.expect(work.iter().map(|(bytes, _)| bytes).sum());
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
/// As [`scan`](super::scan) and its stream.
pub(crate) fn observe(
    files: &[DataFile],
    columns: &[(String, ColumnType)],
    progress: &Arc<ReadProgress>,
    sink: &mut dyn Sink,
) -> Result<(), SourceError> {
    let work = work(files, columns)?;
    progress.expect(work.iter().map(|(bytes, _)| bytes).sum());
    let mut sink = Heeded { sink, wanted: true };
    for (bytes, piece) in &work {
        if sink.wanted {
            piece.read(*bytes, progress, &mut sink)?;
        }
    }
    Ok(())
}

/// The pieces of work to read some columns, with their sizes in bytes.
fn work(
    files: &[DataFile],
    columns: &[(String, ColumnType)],
) -> Result<Vec<(u64, Work)>, SourceError> {
    let mut work = Vec::new();
    for file in open_all(files)? {
        let picks = columns
            .iter()
            .map(|(name, declared)| file.pick(name, *declared))
            .collect::<Result<Vec<ParquetPick>, _>>()?;
        match file {
            Opened::Csv(csv, bytes) => {
                let columns = picks.iter().map(|(place, _, to)| (*place, *to)).collect();
                work.push((bytes, Work::Csv(Arc::new(csv), columns)));
            }
            Opened::Parquet(parquet) => {
                let (parquet, picks) = (Arc::new(parquet), Arc::new(picks));
                for (group, bytes) in parquet.row_groups().enumerate() {
                    let (parquet, picks) = (Arc::clone(&parquet), Arc::clone(&picks));
                    work.push((bytes, Work::Parquet(parquet, picks, group)));
                }
            }
        }
    }
    Ok(work)
}

/// Shares work out to at most `partitions` partitions of about the same size: the largest piece
/// first, always to the partition that has least.
fn share_out(mut work: Vec<(u64, Work)>, partitions: usize) -> Vec<Vec<(u64, Work)>> {
    // Never none: the other operators need a partition even if there is nothing to read.
    let mut shares: Vec<(u64, Vec<(u64, Work)>)> = Vec::new();
    shares.resize_with(work.len().min(partitions).max(1), Default::default);
    work.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    for (bytes, piece) in work {
        if let Some((sum, share)) = shares.iter_mut().min_by_key(|(sum, _)| *sum) {
            // Even an empty piece costs something.
            *sum = sum.saturating_add(bytes.max(1));
            share.push((bytes, piece));
        }
    }
    shares.into_iter().map(|(_, share)| share).collect()
}

/// What a decoder did not deliver although the types were checked.
pub(super) fn planned_otherwise() -> SourceError {
    SourceError::Internal { what: "a column was read as another type than planned" }
}

/// One collector of text per column.
pub(super) fn text_columns(
    types: impl Iterator<Item = ColumnType>,
) -> Result<Vec<TextColumn>, SourceError> {
    types.map(|to| TextColumn::new(to, BATCH_ROWS).map_err(|_| planned_otherwise())).collect()
}

/// A file of which the schema has been read.
enum Opened {
    Csv(CsvFile, u64),
    Parquet(ParquetFile),
}

/// Opens all files.
fn open_all(files: &[DataFile]) -> Result<Vec<Opened>, SourceError> {
    if files.is_empty() {
        return Err(SourceError::NoFiles);
    }
    let mut opened: Vec<Opened> = Vec::with_capacity(files.len());
    for file in files {
        opened.push(match file.format {
            Format::Csv { compression } => {
                Opened::Csv(CsvFile::open(&file.path, compression)?, file.bytes)
            }
            Format::Parquet => Opened::Parquet(ParquetFile::open(&file.path)?),
        });
    }
    Ok(opened)
}

/// Checks that every column has its own name, and that all files have the same.
///
/// For the owner, who drafts a contract: its errors name columns as the files do, and the first line
/// of a file that has no header is a row.
fn check_columns(files: &[Opened]) -> Result<(), SourceError> {
    for file in files {
        let mut names = HashSet::new();
        if let Some((_, twice, ..)) = file.columns().find(|(_, name, ..)| !names.insert(*name)) {
            return Err(SourceError::DuplicateColumn {
                path: file.path().clone(),
                column: twice.to_owned(),
            });
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
        match self {
            Self::Csv(file, _) => &file.path,
            Self::Parquet(file) => &file.path,
        }
    }

    /// Place, name, storage and type of each column that has a name.
    fn columns(&self) -> impl Iterator<Item = (usize, &str, Stored, &str)> {
        let (csv, parquet) = match self {
            Self::Csv(file, _) => (file.header.as_slice(), [].as_slice()),
            Self::Parquet(file) => ([].as_slice(), file.columns.as_slice()),
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
    fn pick(&self, column: &str, declared: ColumnType) -> Result<ParquetPick, SourceError> {
        let (path, column) = (self.path().clone(), column.to_owned());
        let Some((place, _, stored, file_type)) =
            self.columns().find(|(_, name, ..)| *name == column)
        else {
            let alike = |name: &str| name.trim().eq_ignore_ascii_case(column.trim());
            let similar = self.columns().find(|(_, name, ..)| alike(name));
            let similar = similar.map(|(_, name, ..)| name.to_owned());
            return Err(SourceError::MissingColumn { path, column, similar });
        };
        if self.columns().filter(|(_, name, ..)| *name == column).count() > 1 {
            return Err(SourceError::DuplicateColumn { path, column });
        }
        match stored.becomes(declared) {
            Ok(()) => Ok((place, stored, declared)),
            Err(hint) => {
                let file_type = file_type.to_owned();
                Err(SourceError::CannotBecome { path, column, file_type, declared, hint })
            }
        }
    }
}

/// Something to read.
#[derive(Debug)]
enum Work {
    Csv(Arc<CsvFile>, Vec<CsvColumn>),
    Parquet(Arc<ParquetFile>, Arc<Vec<ParquetPick>>, usize),
}

impl Work {
    /// Hands its rows to `sink`, and reports how much of its `bytes` has been read.
    fn read(
        &self,
        bytes: u64,
        progress: &Arc<ReadProgress>,
        sink: &mut dyn Sink,
    ) -> Result<(), SourceError> {
        match self {
            Self::Csv(file, columns) => file.read(columns, progress, sink),
            Self::Parquet(file, picks, group) => {
                let all = file.rows(*group).max(1);
                file.read(&[*group], picks, &mut Watched { sink, progress, bytes, all })
            }
        }
    }
}

/// A sink that reports progress by the share of a row group's rows.
struct Watched<'a> {
    sink: &'a mut dyn Sink,
    progress: &'a ReadProgress,
    bytes: u64,
    all: u64,
}

impl Sink for Watched<'_> {
    fn batch(&mut self, columns: Vec<ArrayRef>, rows: usize) -> bool {
        let share = u128::from(self.bytes) * rows as u128 / u128::from(self.all);
        self.progress.advance(u64::try_from(share).unwrap_or(0));
        self.sink.batch(columns, rows)
    }

    fn misfit(&mut self, column: usize, what: Misfit<'_>) {
        self.sink.misfit(column, what);
    }
}

/// A sink that remembers whether more is wanted.
struct Heeded<'a> {
    sink: &'a mut dyn Sink,
    wanted: bool,
}

impl Sink for Heeded<'_> {
    fn batch(&mut self, columns: Vec<ArrayRef>, rows: usize) -> bool {
        self.wanted = self.sink.batch(columns, rows);
        self.wanted
    }

    fn misfit(&mut self, column: usize, what: Misfit<'_>) {
        self.sink.misfit(column, what);
    }
}

/// Some of the work, one piece after the other on a thread of its own: decompressing and parsing
/// would hold up the threads of the runtime.
#[derive(Debug)]
struct Partition {
    schema: SchemaRef,
    work: Arc<Vec<(u64, Work)>>,
    progress: Arc<ReadProgress>,
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let (work, progress) = (Arc::clone(&self.work), Arc::clone(&self.progress));
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&schema), BATCHES_AHEAD);
        let sender = stream.tx();
        stream.spawn_blocking(move || {
            let (mut wanted, mut mismatch) = (true, false);
            let mut emit = |arrays: Vec<ArrayRef>, rows: usize| {
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                match RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options) {
                    // Sending fails once nobody listens, for example after a LIMIT.
                    Ok(batch) => wanted = sender.blocking_send(Ok(batch)).is_ok(),
                    Err(_) => mismatch = true,
                }
                wanted && !mismatch
            };
            for (bytes, piece) in work.iter() {
                if sender.is_closed() {
                    break;
                }
                piece.read(*bytes, &progress, &mut emit)?;
            }
            if mismatch { Err(planned_otherwise().into()) } else { Ok(()) }
        });
        stream.build()
    }
}
