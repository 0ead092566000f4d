//! A table: the columns that are wanted of its sources, each at its place.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, Int64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use hushtable_lang::{ColumnType, MAX_SCALE};

use super::convert::{ReadType, arrow_type};
use super::open::{ColumnOrigin, OpenedSource, open_data};
use super::sink::{Misfit, OddRow, Sink};
use super::stored::{ColumnPick, Source, planned_otherwise};
use super::{BATCH_ROWS, ReadProgress, ReadRequest, SourceError, TableData};

/// The name of the units' column, which no column of a CSV file has.
const UNIT: &str = "\0unit";
/// The name of the column that tells rows apart.
const ROW: &str = "\0row";
/// Most rows of a chunk that are numbered.
const CHUNK_ROWS: i64 = 1 << 40;

/// Files whose schemas have been read, and the columns wanted of them.
#[derive(Debug)]
pub(crate) struct SourceTable {
    schema: SchemaRef,
    files: Vec<PlannedFile>,
    /// Whether rows are told apart.
    rows: bool,
    /// Where the rows are, and the columns wanted of them.
    of: (TableData, ReadRequest),
}

/// A file, its columns to read, and where they go.
#[derive(Debug)]
struct PlannedFile {
    source: Arc<dyn Source>,
    picks: Vec<ColumnPick>,
    layout: ColumnLayout,
    /// Chunks of the files before it.
    chunks_before: usize,
}

/// Where columns come to stand.
#[derive(Debug)]
struct ColumnLayout {
    /// The places of those that are in the file.
    indices: Vec<usize>,
    /// The others, in the order of their places.
    constants: Vec<Constant>,
}

/// A column that has one value in all rows of a file.
#[derive(Debug)]
struct Constant {
    index: usize,
    /// A batch of it.
    values: ArrayRef,
    /// The text, where it does not fit the column's type.
    misfit: Option<Vec<u8>>,
}

/// A chunk of a file that is read on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileChunk {
    /// The file's place among the table's.
    pub(super) file: u32,
    /// The chunk's place among the file's.
    pub(super) index: u32,
    pub(super) bytes: u64,
}

impl SourceTable {
    /// Opens a table's sources.
    ///
    /// # Errors
    /// All from their schemas, before any value is read.
    pub(crate) fn open(data: &TableData, wanted: &ReadRequest) -> Result<Self, SourceError> {
        let opened = open_data(data, wanted)?;
        let mut fields = Vec::new();
        let mut columns: Vec<(&str, ColumnType, ReadType)> = Vec::new();
        for (name, declared) in &wanted.columns {
            if matches!(declared, ColumnType::Decimal { scale } if *scale > MAX_SCALE) {
                return Err(SourceError::Internal { what: "a decimal of too large a scale" });
            }
            let target = match wanted.identifies(name) {
                true => ReadType::Identifier(*declared),
                false => ReadType::Value(*declared),
            };
            columns.push((name, *declared, target));
            fields.push(Field::new(name, arrow_type(*declared), true));
        }
        if let Some((name, declared)) = &wanted.unit {
            let target = unit_target(&opened, name, *declared)?;
            columns.push((name, *declared, target));
            fields.push(Field::new(UNIT, target.arrow_type(), true));
        }
        let mut files: Vec<PlannedFile> = Vec::with_capacity(opened.len());
        for file in opened {
            let before = files.last().map_or(0, |f| f.chunks_before + f.source.chunks().len());
            files.push(PlannedFile::new(file, &columns, before)?);
        }
        if wanted.rows {
            fields.push(Field::new(ROW, DataType::Int64, true));
        }
        let of = (data.clone(), wanted.clone());
        Ok(Self { schema: Arc::new(Schema::new(fields)), files, rows: wanted.rows, of })
    }

    /// The columns wanted, the units after them, and what tells rows apart.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Where its rows are, and the columns wanted of them.
    pub(crate) fn of(&self) -> &(TableData, ReadRequest) {
        &self.of
    }

    /// All chunks of the table.
    ///
    /// # Errors
    /// When there is more than can be numbered.
    pub(super) fn chunks(&self) -> Result<Vec<FileChunk>, SourceError> {
        let many = |_| SourceError::Internal { what: "a table has too many parts" };
        let mut chunks = Vec::new();
        for (file, planned) in self.files.iter().enumerate() {
            let file = u32::try_from(file).map_err(many)?;
            for (index, bytes) in planned.source.chunks().into_iter().enumerate() {
                chunks.push(FileChunk { file, index: u32::try_from(index).map_err(many)?, bytes });
            }
        }
        Ok(chunks)
    }

    /// Hands the rows of a chunk to `sink`.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged, or there is no such chunk.
    pub(super) fn read(
        &self,
        file: u32,
        chunk: u32,
        progress: &Arc<ReadProgress>,
        sink: &mut dyn Sink,
    ) -> Result<(), SourceError> {
        let none = || SourceError::Internal { what: "a part of a file that is not there" };
        let planned = self.files.get(file as usize).ok_or_else(none)?;
        let rows = if self.rows { Some(planned.numbers(chunk)?) } else { None };
        let PlannedFile { source, picks, layout, .. } = planned;
        let mut sink = ColumnSink { sink, layout, rows, short: false };
        // The rows must be those that the charge is for, to the end of the chunk. A file that was
        // replaced may look damaged.
        let changed = || SourceError::Changed { path: source.path().to_owned() };
        let unchanged = || if source.is_unchanged() { Ok(()) } else { Err(changed()) };
        unchanged()?;
        let read = source.read(chunk as usize, picks, progress, &mut sink);
        unchanged()?;
        read?;
        match sink.short {
            true => Err(SourceError::Internal { what: "a part has too many rows" }),
            false => Ok(()),
        }
    }
}

/// Hands all rows to `sink`, one file after the other, with what did not fit its column.
///
/// # Errors
/// Fails as [`scan`](super::scan) and its stream do.
pub(crate) fn observe(
    data: &TableData,
    wanted: &ReadRequest,
    progress: &Arc<ReadProgress>,
    sink: &mut dyn Sink,
) -> Result<(), SourceError> {
    let table = SourceTable::open(data, wanted)?;
    let chunks = table.chunks()?;
    progress.expect(chunks.iter().map(|chunk| chunk.bytes).sum());
    let mut sink = RememberingSink { sink, wanted: true };
    for FileChunk { file, index, .. } in chunks {
        if sink.wanted {
            table.read(file, index, progress, &mut sink)?;
        }
    }
    Ok(())
}

/// The type that the units' column is read as: wide where a unit of some file may be too large for
/// an `int`. All files have the same, as a unit may be in several.
fn unit_target(
    files: &[OpenedSource],
    name: &str,
    declared: ColumnType,
) -> Result<ReadType, SourceError> {
    let mut wide = false;
    for file in files {
        wide |= match file.find(name, declared, true)? {
            ColumnOrigin::Column(_, stored) => stored.may_exceed_int(),
            ColumnOrigin::Folder(_) => true,
        };
    }
    let wide = wide && declared == ColumnType::Int;
    Ok(if wide { ReadType::Wide } else { ReadType::Identifier(declared) })
}

impl PlannedFile {
    fn new(
        file: OpenedSource,
        columns: &[(&str, ColumnType, ReadType)],
        chunks_before: usize,
    ) -> Result<Self, SourceError> {
        let (mut picks, mut indices, mut constants) = (Vec::new(), Vec::new(), Vec::new());
        for (at, &(name, declared, to)) in columns.iter().enumerate() {
            match file.find(name, declared, !matches!(to, ReadType::Value(_)))? {
                ColumnOrigin::Column(index, stored) => {
                    indices.push(at);
                    picks.push(ColumnPick { index, stored, to });
                }
                ColumnOrigin::Folder(value) => {
                    let (values, misfit) =
                        value.array(to, BATCH_ROWS).map_err(|_| planned_otherwise())?;
                    constants.push(Constant { index: at, values, misfit });
                }
            }
        }
        let layout = ColumnLayout { indices, constants };
        Ok(Self { source: file.source, picks, layout, chunks_before })
    }

    /// The numbers of a chunk's rows: they follow from the chunk's place among all, whoever reads
    /// it.
    fn numbers(&self, chunk: u32) -> Result<Range<i64>, SourceError> {
        let before = i64::try_from(self.chunks_before).ok();
        let first = before.and_then(|n| n.checked_add(chunk.into())?.checked_mul(CHUNK_ROWS));
        let range = first.and_then(|first| Some(first..first.checked_add(CHUNK_ROWS)?));
        range.ok_or(SourceError::Internal { what: "a table has too many parts" })
    }
}

/// A sink that gets the columns of a file and those that are constant, each at its place, and the
/// numbers of the rows after them.
struct ColumnSink<'a> {
    sink: &'a mut dyn Sink,
    layout: &'a ColumnLayout,
    /// The numbers that are left, where rows are told apart.
    rows: Option<Range<i64>>,
    /// Whether they were too few.
    short: bool,
}

impl Sink for ColumnSink<'_> {
    fn batch(&mut self, mut columns: Vec<ArrayRef>, rows: usize) -> bool {
        for Constant { index, values, misfit } in &self.layout.constants {
            if let Some(text) = misfit {
                (0..rows).for_each(|_| self.sink.misfit(*index, Misfit::Text(text)));
            }
            // In the order of their places, so that those before are there.
            columns.insert((*index).min(columns.len()), values.slice(0, rows.min(values.len())));
        }
        if let Some(left) = &mut self.rows {
            let numbers: Int64Array = left.by_ref().take(rows).map(Some).collect();
            if numbers.len() < rows {
                self.short = true;
                return false;
            }
            columns.push(Arc::new(numbers));
        }
        self.sink.batch(columns, rows)
    }

    fn misfit(&mut self, column: usize, what: Misfit<'_>) {
        if let Some(index) = self.layout.indices.get(column) {
            self.sink.misfit(*index, what);
        }
    }

    fn odd_row(&mut self, what: OddRow) {
        self.sink.odd_row(what);
    }
}

/// A sink that remembers whether more is wanted.
struct RememberingSink<'a> {
    sink: &'a mut dyn Sink,
    wanted: bool,
}

impl Sink for RememberingSink<'_> {
    fn batch(&mut self, columns: Vec<ArrayRef>, rows: usize) -> bool {
        self.wanted = self.sink.batch(columns, rows);
        self.wanted
    }

    fn misfit(&mut self, column: usize, what: Misfit<'_>) {
        self.sink.misfit(column, what);
    }

    fn odd_row(&mut self, what: OddRow) {
        self.sink.odd_row(what);
    }
}
