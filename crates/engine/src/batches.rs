//! The batches of some files one after the other, in their order, without a contract.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use hushtable_query::ColumnType;

use crate::error::EngineError;
use crate::session::{Progress, runtime};
use crate::source::{DataFile, Wanted, scan};

/// Hands over the batches with these columns.
///
/// # Errors
/// When the files cannot be read, or what is done with a batch fails.
pub(crate) fn each_batch(
    files: &[DataFile],
    columns: &[(String, ColumnType)],
    progress: &Progress,
    mut work: impl FnMut(&RecordBatch) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    runtime()?.block_on(async {
        let config = SessionConfig::new().with_target_partitions(1);
        let context = SessionContext::new_with_config(config);
        let table = scan(&context, files, &Wanted::columns(columns), &progress.0).await?;
        let tasks = Arc::new(table.task_ctx());
        let plan = table.create_physical_plan().await?;
        for partition in 0..plan.output_partitioning().partition_count() {
            let mut stream = plan.execute(partition, Arc::clone(&tasks))?;
            while let Some(batch) = stream.next().await {
                work(&batch?)?;
            }
        }
        Ok(())
    })
}
