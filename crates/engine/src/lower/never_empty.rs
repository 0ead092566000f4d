//! A last batch for whatever comes after a condition or a join.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties,
};
use futures::{StreamExt, stream};

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

impl fmt::Debug for NeverEmptyExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NeverEmptyExec")
    }
}

impl DisplayAs for NeverEmptyExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NeverEmptyExec")
    }
}

impl ExecutionPlan for NeverEmptyExec {
    fn name(&self) -> &'static str {
        "NeverEmptyExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let one: Result<[_; 1], _> = children.try_into();
        let [input] = one.map_err(|_| {
            DataFusionError::Internal("an operator of one input was given others".to_owned())
        })?;
        Ok(Arc::new(Self::new(input)))
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
