//! Pieces of files, each read on its own.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::PartitionStream;

use super::csv::{CsvColumn, CsvFile};
use super::parquet::{ParquetFile, ParquetPick};
use super::plan::planned_otherwise;
use super::sink::{Misfit, Sink};
use super::{ReadProgress, SourceError};

/// Batches that wait for their consumer.
const BATCHES_AHEAD: usize = 2;

/// Something to read.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) bytes: u64,
    pub(super) work: Work,
    pub(super) layout: Arc<Layout>,
}

/// A part of a file, and its columns to read.
#[derive(Debug)]
pub(super) enum Work {
    Csv(CsvFile, Vec<CsvColumn>),
    Parquet(Arc<ParquetFile>, Arc<Vec<ParquetPick>>, usize),
}

/// Where columns come to stand.
#[derive(Debug)]
pub(super) struct Layout {
    /// The places of those that are in the file.
    pub(super) places: Vec<usize>,
    /// The others, in the order of their places.
    pub(super) constants: Vec<Constant>,
}

/// A column that has one value in all rows of a file.
#[derive(Debug)]
pub(super) struct Constant {
    pub(super) place: usize,
    /// A batch of it.
    pub(super) values: ArrayRef,
    /// The text, where it does not fit the column's type.
    pub(super) misfit: Option<Vec<u8>>,
}

impl Piece {
    /// Hands its rows to `sink`, and reports how much of its bytes has been read.
    pub(super) fn read(
        &self,
        progress: &Arc<ReadProgress>,
        sink: &mut dyn Sink,
    ) -> Result<(), SourceError> {
        let mut sink = Placed { sink, layout: &self.layout };
        match &self.work {
            Work::Csv(file, columns) => file.read(columns, progress, &mut sink),
            Work::Parquet(file, picks, group) => {
                let (bytes, all) = (self.bytes, file.rows(*group).max(1));
                let mut sink = Watched { sink: &mut sink, progress, bytes, all };
                file.read(&[*group], picks, &mut sink)
            }
        }
    }
}

/// A sink that gets the columns of a file and those that are constant, each at its place.
struct Placed<'a> {
    sink: &'a mut dyn Sink,
    layout: &'a Layout,
}

impl Sink for Placed<'_> {
    fn batch(&mut self, mut columns: Vec<ArrayRef>, rows: usize) -> bool {
        for Constant { place, values, misfit } in &self.layout.constants {
            if let Some(text) = misfit {
                (0..rows).for_each(|_| self.sink.misfit(*place, Misfit::Text(text)));
            }
            // In the order of their places, so that those before are there.
            columns.insert((*place).min(columns.len()), values.slice(0, rows.min(values.len())));
        }
        self.sink.batch(columns, rows)
    }

    fn misfit(&mut self, column: usize, what: Misfit<'_>) {
        if let Some(place) = self.layout.places.get(column) {
            self.sink.misfit(*place, what);
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
pub(super) struct Heeded<'a> {
    pub(super) sink: &'a mut dyn Sink,
    pub(super) wanted: bool,
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
pub(super) struct Partition {
    pub(super) schema: SchemaRef,
    pub(super) work: Arc<Vec<Piece>>,
    pub(super) progress: Arc<ReadProgress>,
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
            for piece in work.iter() {
                if sender.is_closed() {
                    break;
                }
                piece.read(&progress, &mut emit)?;
            }
            if mismatch { Err(planned_otherwise().into()) } else { Ok(()) }
        });
        stream.build()
    }
}
