//! Where plans run: in this process, or in others that hand partial exact groups back.
//!
//! The way of a release is: a plan is checked and charged, it is opened with the charge and a
//! sampling key, a [`Backend`] runs it and hands back the exact groups of each partition, and the
//! process that holds the ledger merges these, selects and adds noise. So nothing but exact
//! integers comes from a backend, and nothing but the plan and its key goes there. The shuffle by
//! unit ends a stage: the partitions after it can be bounded in different places.

use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use hushtable_ledger::OpenedCharge;
use tokio::task::JoinSet;

use crate::bound::Partial;
use crate::bound_exec::BoundExec;
use crate::codec::{PlanCodec, Share};
use crate::contributions::SamplingKey;
use crate::error::EngineError;
use crate::limit_rows::keyed;
use crate::partial_groups::PartialGroups;
use crate::runtime::heavy;
use crate::source::{ReadProgress, SourceExec, TableData};
use crate::survey::ScanOptions;

/// Partial exact groups as they come. The first error ends them.
pub type PartialStream = Pin<Box<dyn Stream<Item = Result<PartialGroups, EngineError>> + Send>>;

/// An answer of a [`Backend`] that is waited for.
pub type Accepting<'a> = Pin<Box<dyn Future<Output = Result<(), EngineError>> + Send + 'a>>;

/// Runs plans, and hands back the exact groups of each of their partitions.
///
/// A backend belongs to the owner of the data, like a [`Provider`](crate::Provider): it holds the
/// sampling key and exact values, and whoever reads either breaks every promise. It keeps these
/// rules:
///
/// - It hands back the same as [`OpenedPlan::execute`]: all partitions of the plan, each once. A
///   partition that is missing, twice or of another plan is an error, and nothing is drawn.
/// - Plans and partial groups travel only over channels that nobody else reads or writes, between
///   processes that have proved to each other who they are. They are not stored or logged.
/// - Whether it fails, and with which kind of error, depends on no value of the rows.
///
/// Where it fails, nothing is drawn: the charge stays, and the same question takes it up.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::sync::Arc;
///
/// use hushtable_engine::{Accepting, Backend, OpenedPlan, PartialStream, UnopenedPlan};
///
/// /// Counts the plans that this process runs.
/// #[derive(Default)]
/// struct Counted(Arc<AtomicU64>);
///
/// impl Backend for Counted {
///     fn accept<'a>(&'a self, _: &'a UnopenedPlan) -> Accepting<'a> {
///         Box::pin(std::future::ready(Ok(())))
///     }
///
///     fn run(&self, plan: OpenedPlan) -> PartialStream {
///         self.0.fetch_add(1, Ordering::Relaxed);
///         plan.execute()
///     }
/// }
/// ```
pub trait Backend: Send + Sync {
    /// Whether it can run a plan now. Asked whenever a query is planned, before its charge.
    ///
    /// # Errors
    /// When it cannot: the query is then refused, and costs nothing. A backend of other processes
    /// asks [`UnopenedPlan::check_encodable`].
    fn accept<'a>(&'a self, plan: &'a UnopenedPlan) -> Accepting<'a>;

    /// Runs a plan.
    fn run(&self, plan: OpenedPlan) -> PartialStream;

    /// How many partitions it runs at once: plans have so many for the units, at most 16, and read
    /// files in so many, from 2 to 1,024. The threads of this machine, unless it says otherwise,
    /// which it does where it spreads a plan over others. Exact groups are the same for every
    /// number.
    fn partitions(&self) -> usize {
        std::thread::available_parallelism().map_or(2, usize::from)
    }
}

/// Runs plans in this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embedded;

impl Backend for Embedded {
    fn accept<'a>(&'a self, _: &'a UnopenedPlan) -> Accepting<'a> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn run(&self, plan: OpenedPlan) -> PartialStream {
        plan.execute()
    }
}

/// A plan that nothing has paid for yet. It cannot run.
pub struct UnopenedPlan {
    pub(crate) bound: BoundExec,
    pub(crate) progress: Arc<ReadProgress>,
    pub(crate) tasks: Arc<TaskContext>,
}

impl UnopenedPlan {
    /// Whether it can run in another process.
    ///
    /// # Errors
    /// When it reads rows that only this process has, or is nested deeper than plans are read. A
    /// file that was written since is an error here, too.
    pub fn check_encodable(&self) -> Result<(), EngineError> {
        let mut provided = None;
        self.bound.input().apply(|node| {
            if let Some(source) = node.downcast_ref::<SourceExec>()
                && let (TableData::Provided(table), _) = source.table().of()
            {
                provided = Some(table.table().to_owned());
                return Ok(TreeNodeRecursion::Stop);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        if let Some(table) = provided {
            // Refused before the charge: a worker in another process could never read these rows.
            return Err(EngineError::RowsInProcess { table });
        }
        // It has no key yet.
        let plan: Arc<dyn ExecutionPlan> = Arc::new(self.bound.clone());
        let bytes = PlanCodec::encode(&plan, &Share::whole(1))?;
        // Plans of any depth are written, but not read.
        let read = heavy(|| PlanCodec::decode(&bytes, &self.tasks, &Arc::default()));
        match read {
            Ok(_) => Ok(()),
            Err(EngineError::ForeignPlan) => Err(EngineError::DeepPlan),
            Err(error) => Err(error),
        }
    }

    /// Opens it for a release.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub(crate) fn opened(
        self,
        charge: &OpenedCharge,
        key: SamplingKey,
    ) -> Result<OpenedPlan, EngineError> {
        let Self { bound, progress, tasks } = self;
        OpenedPlan::of(bound.opened(charge, key), key, progress, tasks)
    }

    /// Opens it without a charge, for the owner of the data: nothing releases what comes out.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub(crate) fn opened_by_owner(
        self,
        key: SamplingKey,
        options: ScanOptions,
    ) -> Result<OpenedPlan, EngineError> {
        let Self { bound, progress, tasks } = self;
        OpenedPlan::of(bound.with_options(options).with_key(Some(key)), key, progress, tasks)
    }
}

/// A plan that may run: an opened charge has paid for what it reads, or the owner of the data reads
/// it. Only the engine makes one. It holds the sampling key: it has no Debug, Display or Serialize,
/// and [`encode`](Self::encode) is its one way out of the process.
pub struct OpenedPlan {
    plan: Arc<dyn ExecutionPlan>,
    share: Share,
    progress: Arc<ReadProgress>,
    tasks: Arc<TaskContext>,
}

impl OpenedPlan {
    fn of(
        bound: BoundExec,
        key: SamplingKey,
        progress: Arc<ReadProgress>,
        tasks: Arc<TaskContext>,
    ) -> Result<Self, EngineError> {
        // Two runs under one key would take each other's groups for their own.
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let plan = keyed(Arc::new(bound), key)?;
        // Of this run alone, and nobody can tell it without the key.
        let mut hasher = blake3::Hasher::new_derive_key("hushtable 1 run of a plan");
        hasher.update(&key.0);
        hasher.update(&RUNS.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        let mut run = [0; 16];
        hasher.finalize_xof().fill(&mut run);
        let share = Share { run, ..Share::whole(plan.output_partitioning().partition_count()) };
        Ok(Self { plan, share, progress, tasks })
    }

    /// The number of its partitions. It does not depend on the rows.
    pub fn partitions(&self) -> usize {
        self.share.partitions.end
    }

    /// Whether every share of its partitions reads all rows, as some go to the partition of their
    /// unit. Otherwise each partition reads rows of its own.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub fn shares_read_everything(&self) -> Result<bool, EngineError> {
        Ok(shuffles(&self.plan)?)
    }

    /// The progress of its reading, which a backend of other processes advances: each byte of the
    /// tables once, however many processes read it.
    pub fn progress(&self) -> Arc<ReadProgress> {
        Arc::clone(&self.progress)
    }

    /// The plan as bytes, for an [`Executor`](crate::Executor) of the same build that is to run
    /// these partitions. They hold the sampling key.
    ///
    /// # Errors
    /// When there are no such partitions, or it reads rows that only this process has.
    pub fn encode(&self, partitions: Range<usize>) -> Result<Vec<u8>, EngineError> {
        if partitions.is_empty() || partitions.end > self.partitions() {
            return Err(EngineError::BrokenBackend {
                what: "it asks for partitions that a plan does not have",
            });
        }
        PlanCodec::encode(&self.plan, &Share { run: self.share.run, partitions })
    }

    /// Runs it in this process, on the runtime that polls the stream.
    pub fn execute(self) -> PartialStream {
        partials(self.plan, self.share, self.tasks)
    }

    /// Checks what comes back from it.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub(crate) fn returns(&self) -> Result<Returns, EngineError> {
        let seen = vec![false; self.partitions()];
        Ok(Returns { plan: Arc::clone(&self.plan), run: self.share.run, seen })
    }
}

/// The exact groups of the partitions of a share. Exact: for who merges them alone.
pub(crate) fn partials(
    plan: Arc<dyn ExecutionPlan>,
    share: Share,
    tasks: Arc<TaskContext>,
) -> PartialStream {
    let started = async move {
        let bound = bound_exec(&plan)?;
        let Share { run, partitions } = share;
        let all = plan.output_partitioning().partition_count();
        // A shuffle hands rows to all of its partitions: those of others are taken and left out,
        // or it would keep them.
        let takes_others = partitions.len() < all && shuffles(&plan)?;
        let mut running = JoinSet::new();
        for partition in 0..all {
            if partitions.contains(&partition) {
                let stream = plan.execute(partition, Arc::clone(&tasks))?;
                running.spawn(async move {
                    let batches: Vec<RecordBatch> = stream.try_collect().await?;
                    Ok::<_, EngineError>(Some(PartialGroups { run, partition, batches }))
                });
            } else if takes_others {
                let mut stream = bound.input().execute(partition, Arc::clone(&tasks))?;
                running.spawn(async move {
                    while let Some(batch) = stream.next().await {
                        batch?;
                    }
                    Ok(None)
                });
            }
        }
        let ended = stream::unfold(running, |mut running| async {
            let ended = running.join_next().await?;
            Some((ended.unwrap_or(Err(EngineError::Interrupted)), running))
        });
        // Partitions of others have nothing.
        Ok::<_, EngineError>(ended.filter_map(|ended| std::future::ready(ended.transpose())))
    };
    Box::pin(stream::once(started).try_flatten())
}

/// Whether rows go from partition to partition somewhere in a plan.
fn shuffles(plan: &Arc<dyn ExecutionPlan>) -> Result<bool, DataFusionError> {
    plan.exists(|node| Ok(node.downcast_ref::<RepartitionExec>().is_some()))
}

fn bound_exec(plan: &Arc<dyn ExecutionPlan>) -> Result<&BoundExec, EngineError> {
    plan.downcast_ref()
        .ok_or(EngineError::inconsistent("the root of a plan does not bound contributions"))
}

/// The partitions of a run that have come back.
pub(crate) struct Returns {
    plan: Arc<dyn ExecutionPlan>,
    run: [u8; 16],
    seen: Vec<bool>,
}

impl Returns {
    /// The operator that the partitions are of.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub(crate) fn bound(&self) -> Result<&BoundExec, EngineError> {
        bound_exec(&self.plan)
    }

    /// The exact groups of a partition; `None` where it has none.
    ///
    /// # Errors
    /// When the partition is of another run, or has come before: its units would count twice.
    pub(crate) fn take(&mut self, groups: PartialGroups) -> Result<Option<Partial>, EngineError> {
        let PartialGroups { run, partition, batches } = groups;
        if run != self.run {
            return Err(EngineError::BrokenBackend {
                what: "it hands back exact groups of another run than the one it was given",
            });
        }
        match self.seen.get_mut(partition) {
            Some(seen) if !*seen => *seen = true,
            _ => {
                return Err(EngineError::BrokenBackend {
                    what: "it hands back a partition twice, or one that its plan does not have",
                });
            }
        }
        Ok(self.bound()?.partial(batches)?)
    }

    /// Checks that all partitions have come.
    ///
    /// # Errors
    /// When one is missing: its units would not count.
    pub(crate) fn check_complete(&self) -> Result<(), EngineError> {
        match self.seen.iter().all(|seen| *seen) {
            true => Ok(()),
            false => Err(EngineError::BrokenBackend {
                what: "it ends without the exact groups of all partitions",
            }),
        }
    }
}

#[cfg(test)]
impl OpenedPlan {
    /// The operators.
    pub(crate) fn operators(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }
}
