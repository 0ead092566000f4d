//! Reading as an operator over a list of work.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt32Array, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties,
};
use futures::StreamExt;

use super::stored::planned_otherwise;
use super::table::{FileChunk, SourceTable};
use super::{ReadProgress, SourceError};
use crate::invariant::Invariant;
use crate::plan_operators::has_no_expressions;

/// Most partitions that a table is read in: what comes after a source makes room for each.
const MOST_PARTITIONS: usize = 1024;

/// Batches that wait for their consumer.
const BATCHES_AHEAD: usize = 2;

/// Reads the chunks of files that its input lists.
///
/// The list is the input of this operator, and not a part of it, so that a backend of several
/// processes can divide the list among them: an operator that reads everything by itself would do
/// so in each process.
pub(crate) struct SourceExec {
    list: Arc<dyn ExecutionPlan>,
    table: Arc<SourceTable>,
    progress: Arc<ReadProgress>,
    properties: Arc<PlanProperties>,
}

impl SourceExec {
    /// Reads what the list says of the table.
    ///
    /// # Errors
    /// For an input that is no such list.
    pub(crate) fn new(
        list: Arc<dyn ExecutionPlan>,
        table: Arc<SourceTable>,
        progress: Arc<ReadProgress>,
    ) -> Result<Self> {
        if list.schema() != list_schema() {
            return Err(no_list());
        }
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(table.schema())),
            Partitioning::UnknownPartitioning(list.output_partitioning().partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self { list, table, progress, properties: Arc::new(properties) })
    }

    /// Reads all of a table in that many partitions, at most 1024, whatever its files are.
    ///
    /// # Errors
    /// When there is more to read than can be numbered.
    pub(crate) fn of_all(
        table: SourceTable,
        partitions: usize,
        progress: &Arc<ReadProgress>,
    ) -> Result<Self, SourceError> {
        let chunks = table.chunks()?;
        progress.expect(chunks.iter().map(|chunk| chunk.bytes).sum());
        let refused = |_| SourceError::Internal { what: "the list of a scan was refused" };
        let list = list(share_out(chunks, partitions)).map_err(refused)?;
        Self::new(list, Arc::new(table), Arc::clone(progress)).map_err(refused)
    }

    /// The table that is read.
    pub(crate) fn table(&self) -> &SourceTable {
        &self.table
    }
}

#[track_caller]
fn no_list() -> DataFusionError {
    Invariant::new("a source is to read what is no list of its parts").into()
}

/// The columns of a list of work: the place of a file, that of one of its chunks, and its bytes.
fn list_schema() -> SchemaRef {
    let field = |name, of| Field::new(name, of, false);
    Arc::new(Schema::new(vec![
        field("file", DataType::UInt32),
        field("part", DataType::UInt32),
        field("bytes", DataType::UInt64),
    ]))
}

/// A list of work, one batch for each partition that has any.
fn list(shares: Vec<Vec<FileChunk>>) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = list_schema();
    let batches = shares.into_iter().map(|share| {
        if share.is_empty() {
            return Ok(Vec::new());
        }
        let files: UInt32Array = share.iter().map(|chunk| Some(chunk.file)).collect();
        let indices: UInt32Array = share.iter().map(|chunk| Some(chunk.index)).collect();
        let bytes: UInt64Array = share.iter().map(|chunk| Some(chunk.bytes)).collect();
        let columns: Vec<ArrayRef> = vec![Arc::new(files), Arc::new(indices), Arc::new(bytes)];
        Ok(vec![RecordBatch::try_new(Arc::clone(&schema), columns)?])
    });
    let batches = batches.collect::<Result<Vec<_>>>()?;
    // Sizes of files are the owner's.
    let list = MemorySourceConfig::try_new(&batches, Arc::clone(&schema), None)?;
    Ok(DataSourceExec::from_data_source(list.with_show_sizes(false)))
}

/// Files and chunks of a batch of a list.
fn listed(batch: &RecordBatch) -> Result<Vec<(u32, u32)>> {
    let column = |index: usize| {
        let column = batch.columns().get(index);
        let column = column.and_then(|column| column.as_primitive_opt::<UInt32Type>());
        column.filter(|column| column.null_count() == 0).ok_or_else(|| no_list())
    };
    Ok(column(0)?.values().iter().copied().zip(column(1)?.values().iter().copied()).collect())
}

/// Shares work out to partitions of about the same size: the largest chunk first, always to the
/// partition that has least. How many partitions there are does not depend on the files.
fn share_out(mut work: Vec<FileChunk>, partitions: usize) -> Vec<Vec<FileChunk>> {
    // Never none: the other operators need a partition even if there is nothing to read.
    let mut shares: Vec<(u64, Vec<FileChunk>)> = Vec::new();
    shares.resize_with(partitions.clamp(1, MOST_PARTITIONS), Default::default);
    work.sort_by_key(|chunk| std::cmp::Reverse(chunk.bytes));
    for chunk in work {
        if let Some((sum, share)) = shares.iter_mut().min_by_key(|(sum, _)| *sum) {
            // Even an empty chunk costs something.
            *sum = sum.saturating_add(chunk.bytes.max(1));
            share.push(chunk);
        }
    }
    shares.into_iter().map(|(_, share)| share).collect()
}

impl DisplayAs for SourceExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.table.schema().fields().iter();
        let names: Vec<&str> = fields.map(|field| field.name().trim_matches('\0')).collect();
        write!(f, "SourceExec: columns=[{}]", names.join(", "))
    }
}

impl fmt::Debug for SourceExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl ExecutionPlan for SourceExec {
    fn name(&self) -> &str {
        "SourceExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.list]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    has_no_expressions!();

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [list] = <[_; 1]>::try_from(children).map_err(|_| no_list())?;
        Ok(Arc::new(Self::new(list, Arc::clone(&self.table), Arc::clone(&self.progress))?))
    }

    /// Reads one piece after the other on a thread of its own: decompressing and parsing would hold
    /// up the threads of the runtime.
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let consumer = MemoryConsumer::new(format!("SourceExec[{partition}]"));
        let held = consumer.register(context.memory_pool());
        let mut list = self.list.execute(partition, context)?;
        let (table, progress) = (Arc::clone(&self.table), Arc::clone(&self.progress));
        let schema = Arc::clone(table.schema());
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&schema), BATCHES_AHEAD);
        let sender = stream.tx();
        let read = move |chunks: Vec<(u32, u32)>| {
            let (mut wanted, mut failed) = (true, None);
            let mut emit = |arrays: Vec<ArrayRef>, rows: usize| {
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                let batch =
                    RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)
                        .map_err(|_| DataFusionError::from(planned_otherwise()))
                        .and_then(|batch| {
                            let bytes = batch.get_array_memory_size();
                            held.try_resize(bytes.saturating_mul(BATCHES_AHEAD + 1))?;
                            Ok(batch)
                        });
                match batch {
                    // Sending fails once nobody listens.
                    Ok(batch) => wanted = sender.blocking_send(Ok(batch)).is_ok(),
                    Err(error) => failed = Some(error),
                }
                wanted && failed.is_none()
            };
            for (file, chunk) in chunks {
                if sender.is_closed() {
                    break;
                }
                table.read(file, chunk, &progress, &mut emit)?;
            }
            failed.map_or(Ok(()), Err)
        };
        stream.spawn(async move {
            let mut chunks = Vec::new();
            while let Some(batch) = list.next().await {
                chunks.extend(listed(&batch?)?);
            }
            tokio::task::spawn_blocking(move || read(chunks))
                .await
                .map_err(|_| SourceError::Internal { what: "reading was interrupted" })?
        });
        Ok(stream.build())
    }
}
