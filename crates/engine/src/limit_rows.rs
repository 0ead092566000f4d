//! A limit on the rows of each unit, before they are joined.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, BooleanArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{filter_record_batch, take};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::{StreamExt, TryStreamExt, stream};

use crate::contributions::SamplingKey;
use crate::intern::{Hashes, Interner, inconsistent, too_many};
use crate::plan_operators::{only_child, passes_rows};
use crate::runtime::heavy;

/// The number of a row without a unit.
const NOBODY: u32 = u32::MAX;

/// Keeps at most some rows of each unit: those with the least keyed hash of all columns, so that
/// only equal rows can stand in for each other, and the order of rows does not matter. Rows without
/// a unit are passed on: they meet no other.
///
/// Which rows of a unit are kept follows from its rows alone. All of them are in one partition of
/// the input. It runs only with a sampling key.
pub(crate) struct LimitRowsExec {
    input: Arc<dyn ExecutionPlan>,
    limit: RowLimit,
    /// Secret.
    key: Option<SamplingKey>,
}

/// Which column names the unit, and how many of its rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct RowLimit {
    pub(crate) unit: usize,
    pub(crate) rows: u32,
}

impl LimitRowsExec {
    /// Limits the rows of a plan, in which rows of a unit are in one partition.
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, limit: RowLimit) -> Result<Self> {
        if limit.unit >= input.schema().fields().len() || limit.rows == 0 {
            return Err(inconsistent("a limit on rows has no column of units, or keeps no row"));
        }
        Ok(Self { input, limit, key: None })
    }

    /// Sets the sampling key of the process that opened the charge.
    pub(crate) fn with_key(self, key: Option<SamplingKey>) -> Self {
        Self { key, ..self }
    }

    /// The column of the unit and the limit.
    pub(crate) fn limit(&self) -> RowLimit {
        self.limit
    }

    /// The sampling key, for workers alone.
    pub(crate) fn key(&self) -> Option<SamplingKey> {
        self.key
    }
}

/// The plan in which every limit on rows has the sampling key.
///
/// # Errors
/// Only by a fault of this program.
pub(crate) fn keyed(
    plan: Arc<dyn ExecutionPlan>,
    key: SamplingKey,
) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let Some(exec) = node.downcast_ref::<LimitRowsExec>() else {
            return Ok(Transformed::no(node));
        };
        let exec = LimitRowsExec::new(Arc::clone(&exec.input), exec.limit)?.with_key(Some(key));
        Ok(Transformed::yes(Arc::new(exec) as Arc<dyn ExecutionPlan>))
    })
    .data()
}

/// The rows of one partition, with the numbers of their units.
struct UnitRows {
    limit: RowLimit,
    interner: Option<Interner>,
    /// How many rows each unit has.
    counts: Vec<u32>,
    batches: Vec<(RecordBatch, Vec<u32>)>,
    bytes: usize,
}

impl UnitRows {
    fn new(limit: RowLimit) -> Self {
        Self { limit, interner: None, counts: Vec::new(), batches: Vec::new(), bytes: 0 }
    }

    /// Bytes of memory.
    fn size(&self) -> usize {
        let units = self.interner.as_ref().map_or(0, Interner::size);
        self.bytes + units + self.counts.capacity() * size_of::<u32>()
    }

    fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let unit = batch
            .columns()
            .get(self.limit.unit)
            .ok_or_else(|| inconsistent("rows that are limited have no column of units"))?;
        let units = std::slice::from_ref(unit);
        let interner = match &mut self.interner {
            Some(interner) => interner,
            none => none.insert(Interner::new(units)?),
        };
        let mut numbers = Vec::with_capacity(batch.num_rows());
        for (row, &id) in interner.intern(units)?.iter().enumerate() {
            // Rows without a unit are nobody's, and meet nothing in the join.
            if unit.is_null(row) {
                numbers.push(NOBODY);
                continue;
            }
            let number = u32::try_from(id).ok().filter(|&number| number != NOBODY);
            let number = number.ok_or_else(too_many)?;
            if id >= self.counts.len() {
                self.counts.resize(id + 1, 0);
            }
            let count = self.counts.get_mut(id);
            let count = count.ok_or_else(|| inconsistent("the rows of a unit are not counted"))?;
            *count = count.saturating_add(1);
            numbers.push(number);
        }
        self.bytes += batch.get_array_memory_size() + numbers.capacity() * size_of::<u32>();
        self.batches.push((batch, numbers));
        Ok(())
    }

    /// Whether a unit has more rows than are kept.
    fn is_beyond(&self, unit: u32) -> bool {
        self.counts.get(unit as usize).is_some_and(|count| *count > self.limit.rows)
    }

    /// The rows that are kept, in their order.
    fn finish(self, key: SamplingKey) -> Result<Vec<RecordBatch>> {
        if self.counts.iter().all(|count| *count <= self.limit.rows) {
            return Ok(self.batches.into_iter().map(|(batch, _)| batch).collect());
        }
        // Of units with too many rows: the unit, the row's hash, and where it is.
        let mut rows: Vec<(u32, u128, usize, u32)> = Vec::new();
        for (batch_index, (batch, units)) in self.batches.iter().enumerate() {
            let many = units.iter().zip(0u32..).filter(|(unit, _)| self.is_beyond(**unit));
            let many: Vec<(u32, u32)> = many.map(|(unit, row)| (*unit, row)).collect();
            if many.is_empty() {
                continue;
            }
            let at: UInt32Array = many.iter().map(|(_, row)| *row).collect();
            let columns = batch.columns().iter().map(|column| take(column, &at, None));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let hashes = Hashes::new(&columns, key.of_joined_rows())?.of_rows(&columns)?;
            let hashed = many.into_iter().zip(hashes);
            rows.extend(hashed.map(|((unit, row), hash)| (unit, hash, batch_index, row)));
        }
        // By unit and hash: which rows stay does not depend on the order in which they came.
        rows.sort_unstable();
        let mut kept: Vec<Vec<bool>> =
            self.batches.iter().map(|(batch, _)| vec![true; batch.num_rows()]).collect();
        for unit_rows in rows.chunk_by(|(one, ..), (other, ..)| one == other) {
            for &(_, _, batch_index, row) in unit_rows.iter().skip(self.limit.rows as usize) {
                let row = kept.get_mut(batch_index).and_then(|rows| rows.get_mut(row as usize));
                *row.ok_or_else(|| {
                    inconsistent("a row beyond the limit is in none of the batches")
                })? = false;
            }
        }
        let filtered = self.batches.into_iter().zip(kept).map(|((batch, _), kept)| {
            filter_record_batch(&batch, &BooleanArray::from(kept)).map_err(DataFusionError::from)
        });
        filtered.collect()
    }
}

impl DisplayAs for LimitRowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LimitRowsExec: unit={}, rows={}", self.limit.unit, self.limit.rows)
    }
}

impl fmt::Debug for LimitRowsExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl ExecutionPlan for LimitRowsExec {
    fn name(&self) -> &'static str {
        "LimitRowsExec"
    }

    passes_rows!();

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::new(only_child(children)?, self.limit)?.with_key(self.key)))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let key =
            self.key.ok_or_else(|| inconsistent("rows are limited without the key of a charge"))?;
        let consumer = MemoryConsumer::new(format!("LimitRowsExec[{partition}]"));
        let held = consumer.register(context.memory_pool());
        let mut input = self.input.execute(partition, context)?;
        let (schema, mut rows) = (self.schema(), UnitRows::new(self.limit));
        let batches = async move {
            while let Some(batch) = input.next().await {
                rows.push(batch?)?;
                held.try_resize(rows.size())?;
            }
            let batches = heavy(|| rows.finish(key))?;
            // Held until all have been taken.
            Ok::<_, DataFusionError>(stream::iter(batches).map(move |batch| {
                let _held = &held;
                Ok(batch)
            }))
        };
        let batches = stream::once(batches).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
