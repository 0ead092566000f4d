//! From the batches of a stream to bounders.

use std::hash::{BuildHasher, RandomState};

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::StreamExt;

use crate::bound::{Bounder, Partial};
use crate::bounding::Bounding;
use crate::contributions::ContributionBatch;
use crate::rows::{RowProgram, spread};
use crate::survey::Without;

/// From batches to the rows that count.
pub(crate) struct RowsOf {
    program: RowProgram,
    read: Vec<usize>,
    all: usize,
    /// Whether the units come after the columns read.
    has_unit: bool,
    /// Nodes of all expressions together.
    nodes: usize,
}

impl RowsOf {
    /// # Errors
    /// Only for expressions that binding cannot have made.
    pub(crate) fn new(bounding: &Bounding) -> Result<Self, DataFusionError> {
        Ok(Self {
            program: RowProgram::new(bounding)?,
            read: bounding.read.iter().map(|&(index, _)| index).collect(),
            all: bounding.column_bytes.len(),
            has_unit: bounding.unit_bytes.is_some(),
            nodes: bounding.nodes(),
        })
    }

    /// Hands over the rows of a batch that count; computes with a batch without rows, too.
    pub(crate) fn each(
        &self,
        batch: &RecordBatch,
        work: &mut impl FnMut(ContributionBatch) -> Result<(), DataFusionError>,
    ) -> Result<(), DataFusionError> {
        let step = rows_at_once(batch.columns(), batch.num_rows(), self.nodes);
        // The first time fewer rows, so that nobody can choose a query for which one row more
        // begins another slice: to begin one takes half a millisecond in the largest queries.
        let fewer = RandomState::new().hash_one(()) % step as u64;
        let (mut from, mut most) = (0, step - usize::try_from(fewer).unwrap_or(0));
        loop {
            let slice = batch.slice(from, most.min(batch.num_rows() - from));
            let columns = spread(&slice, &self.read, self.all)?;
            let unit = if self.has_unit { slice.columns().last() } else { None };
            work(self.program.apply(&columns, unit, slice.num_rows())?)?;
            from += most;
            most = step;
            if from >= batch.num_rows() {
                return Ok(());
            }
        }
    }
}

/// The exact groups of the rows of one stream, as each of the bounders has them. The pool's memory
/// accounts for the rows that they keep.
pub(crate) async fn bounded(
    mut stream: SendableRecordBatchStream,
    rows: &RowsOf,
    mut bounders: Vec<Bounder>,
    mut without: Option<Without>,
    held: &MemoryReservation,
) -> Result<Vec<Partial>, DataFusionError> {
    let mut add = |mut rows: ContributionBatch| {
        if let Some(without) = &mut without {
            rows = without.apply(rows)?;
        }
        if rows.rows == 0 {
            return Ok(());
        }
        for index in 0..bounders.len() {
            let others = size_but(&bounders, index);
            bounders[index].add(&rows, &mut |bytes| held.try_resize(others + bytes))?;
        }
        held.try_resize(bounders.iter().map(Bounder::size).sum())
    };
    let mut none = true;
    while let Some(batch) = stream.next().await {
        none = false;
        rows.each(&batch?, &mut add)?;
    }
    if none {
        // The first row of a partition must not cost more than a further one.
        rows.each(&RecordBatch::new_empty(stream.schema()), &mut add)?;
    }
    for index in 0..bounders.len() {
        let others = size_but(&bounders, index);
        bounders[index].end(&mut |bytes| held.try_resize(others + bytes))?;
    }
    let partials = bounders.into_iter().map(Bounder::finish).collect::<Result<Vec<_>, _>>()?;
    held.try_resize(partials.iter().map(Partial::size).sum())?;
    Ok(partials)
}

/// Bytes of memory of all bounders but one.
fn size_but(bounders: &[Bounder], index: usize) -> usize {
    let others = bounders.iter().enumerate().filter(|(other, _)| *other != index);
    others.map(|(_, bounder)| bounder.size()).sum()
}

/// How many rows of a batch to compute with at once: all, unless their text is long, or there is
/// much to compute. A dictionary can make a long text stand in every row, and a function of it
/// would be written out for each. And every node of an expression takes a little longer for all
/// rows that are computed at once where one of them is NULL, so that fewer are where there are many
/// nodes.
pub(crate) fn rows_at_once(columns: &[ArrayRef], rows: usize, nodes: usize) -> usize {
    const BYTES: usize = 16 << 20;
    /// Nodes of expressions times rows.
    const RESULTS: usize = 1 << 17;
    const LEAST: usize = 64;
    let length = |view: &u128| (*view as u32) as usize;
    let texts = columns.iter().filter_map(|c| c.as_string_view_opt());
    let bytes: usize = texts.map(|t| t.views().iter().map(length).sum::<usize>()).sum();
    let rows = if bytes <= BYTES { rows } else { rows * BYTES / bytes };
    rows.min((RESULTS / nodes.max(1)).max(LEAST)).max(1)
}
