//! Plans of another process, run in this one.

use std::ops::Range;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNode;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::StreamExt;

use crate::backend::{PartialStream, partials};
use crate::bound_exec::BoundExec;
use crate::codec::{PlanCodec, Share};
use crate::error::EngineError;
use crate::limit_rows::LimitRowsExec;
use crate::memory::QueryMemory;
use crate::memory_limit::MemoryLimit;
use crate::runtime::heavy;
use crate::source::ReadProgress;

/// Runs plans that another process has opened, for a [`Backend`](crate::Backend) there.
///
/// It reads whatever files a plan names, and what it hands back is exact. So who serves one decides
/// whose plans it decodes: those of the process that holds the ledger, and of nobody else.
pub struct Executor {
    memory: QueryMemory,
}

impl Executor {
    /// An executor, with a limit on the memory of all that it runs at once.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub fn new(limit: Option<MemoryLimit>) -> Result<Self, EngineError> {
        Ok(Self { memory: QueryMemory::new(limit)? })
    }

    /// The plan in bytes that [`OpenedPlan::encode`](crate::OpenedPlan::encode) has made in a
    /// process of the same build. Opens its files, which must be as they were when it was planned,
    /// and reads no value.
    ///
    /// # Errors
    /// For all other bytes, and when a file was written since.
    pub fn decode(&self, bytes: &[u8]) -> Result<ReceivedPlan, EngineError> {
        let progress = Arc::default();
        let (plan, share) = heavy(|| PlanCodec::decode(bytes, &self.memory.tasks(), &progress))?;
        let whole = plan.output_partitioning().partition_count();
        let bounds = bounds_once(&plan)?;
        if !bounds || share.partitions.is_empty() || share.partitions.end > whole {
            return Err(EngineError::ForeignPlan);
        }
        Ok(ReceivedPlan { plan, share, progress, memory: self.memory.clone() })
    }
}

/// Whether a plan bounds contributions at its root and nowhere else, and under one key.
fn bounds_once(plan: &Arc<dyn ExecutionPlan>) -> Result<bool, DataFusionError> {
    let Some(bound) = plan.downcast_ref::<BoundExec>() else { return Ok(false) };
    let key = bound.key().map(|key| key.0);
    let differs = |limit: &LimitRowsExec| limit.key().map(|key| key.0) != key;
    let otherwise = bound.input().exists(|node| {
        let limit = node.downcast_ref::<LimitRowsExec>();
        Ok(node.downcast_ref::<BoundExec>().is_some() || limit.is_some_and(differs))
    })?;
    Ok(key.is_some() && !otherwise)
}

/// A plan that another process has opened, with the partitions that are to run here. It holds the
/// sampling key: it has no Debug, Display or Serialize.
pub struct ReceivedPlan {
    plan: Arc<dyn ExecutionPlan>,
    share: Share,
    progress: Arc<ReadProgress>,
    memory: QueryMemory,
}

impl ReceivedPlan {
    /// The partitions that are to run here.
    pub fn partitions(&self) -> Range<usize> {
        self.share.partitions.clone()
    }

    /// The progress of its reading, for the process that opened it.
    pub fn progress(&self) -> Arc<ReadProgress> {
        Arc::clone(&self.progress)
    }

    /// Runs its partitions, on the tokio runtime that polls the stream. That has several threads,
    /// with stacks of 16 MiB, as expressions may be deep.
    pub fn run(self) -> PartialStream {
        let Self { plan, share, memory, .. } = self;
        let partials = partials(plan, share, memory.tasks());
        Box::pin(partials.map(move |partial| partial.map_err(|error| memory.explained(error))))
    }
}
