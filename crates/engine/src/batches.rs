//! The batches of some files one after the other, in their order, without a contract.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlanProperties;
use futures::StreamExt;
use hushtable_lang::ColumnType;

use crate::error::EngineError;
use crate::progress::Progress;
use crate::runtime::heavy;
use crate::source::{DataFile, ReadRequest, SourceError, file_schema, list_files, scan};

/// Files, and the columns that they have.
pub(crate) type FilesAt = (Vec<DataFile>, Vec<(String, ColumnType)>);

/// The files at a location, and those of their columns that can be read.
///
/// # Errors
/// When there are none, or one cannot be opened.
pub(crate) fn files_at(location: &str) -> Result<FilesAt, SourceError> {
    let files = list_files(location, Path::new(""))?;
    let columns = file_schema(&files, None)?.into_iter();
    let columns = columns.filter_map(|column| Some((column.name, column.column_type?))).collect();
    Ok((files, columns))
}

/// Hands over the batches with these columns.
///
/// # Errors
/// When the files cannot be read, or what is done with a batch fails.
pub(crate) async fn each_batch(
    files: &[DataFile],
    columns: &[(String, ColumnType)],
    progress: &Progress,
    mut work: impl FnMut(&RecordBatch) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let plan = scan(files, &ReadRequest::columns(columns), 1, &progress.reading()).await?;
    let tasks = Arc::new(TaskContext::default());
    for partition in 0..plan.output_partitioning().partition_count() {
        let mut stream = plan.execute(partition, Arc::clone(&tasks))?;
        while let Some(batch) = stream.next().await {
            let batch = batch?;
            heavy(|| work(&batch))?;
        }
    }
    Ok(())
}
