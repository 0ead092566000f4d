//! A last batch for whatever comes after a condition or a join.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};

use crate::plan_operators::{only_child, passes_rows, shown_by_name};

/// Passes rows on, and one empty batch where a partition has none.
///
/// An expression takes about 0.3 microseconds for each operation and batch, whatever is in the
/// batch. So the first row that a condition keeps would cost hundreds of times as much as a further
/// one, and the time of a query would show that it is there. Of an empty batch, expressions are
/// computed for a row of NULLs ([`TotalExpr`](super::total::TotalExpr)).
pub(crate) struct NeverEmptyExec {
    input: Arc<dyn ExecutionPlan>,
}

impl NeverEmptyExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        Self { input }
    }
}

shown_by_name!(NeverEmptyExec);

impl ExecutionPlan for NeverEmptyExec {
    fn name(&self) -> &'static str {
        "NeverEmptyExec"
    }

    passes_rows!();

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::new(only_child(children)?)))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.input.schema();
        let input = self.input.execute(partition, context)?;
        let empty = RecordBatch::new_empty(Arc::clone(&schema));
        let batches = stream::unfold((input, Some(empty)), |(mut input, empty)| async move {
            loop {
                return match input.next().await {
                    // One is enough, however many come.
                    Some(Ok(batch)) if batch.num_rows() == 0 => continue,
                    Some(batch) => Some((batch, (input, None))),
                    None => empty.map(|empty| (Ok(empty), (input, None))),
                };
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
