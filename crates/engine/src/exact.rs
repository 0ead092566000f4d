//! The exact groups: secret integers, which only a charge opens and only noise lets out.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, displayable};
use futures::StreamExt;
use hushtable_ledger::{DrawnCharge, Ledger, OpenedCharge, Payment};
use hushtable_mechanisms::Memberships;
use hushtable_plan::{OwnerQuery, PrivateQuery};
use hushtable_quote::Quote;

use crate::backend::{Backend, Embedded, OpenedPlan, UnopenedPlan};
use crate::bound::Tallies;
use crate::bound_exec::BoundExec;
use crate::bounding::{Bounding, accumulator_indices};
use crate::contributions::{Accumulation, ContributionBatch, SamplingKey};
use crate::error::EngineError;
use crate::feed::RowsOf;
use crate::lower::Lowering;
use crate::measurements::ExactMeasurement;
use crate::memory::QueryMemory;
use crate::merged::{MergedGroups, MergedPartitions};
use crate::runtime::heavy;
use crate::source::{Data, ReadProgress};
use crate::survey::{PartitionSurvey, ScanOptions};

/// Exact sums by group, with the charge that opened them.
pub(crate) struct ExactGroups {
    charge: OpenedCharge,
    exact: ExactSums,
    /// Their share of the memory, as long as they are there.
    held: MemoryReservation,
}

/// Exact sums by group whose one draw is on disk: only this can be released.
pub(crate) struct DrawnGroups {
    pub(crate) charge: DrawnCharge,
    pub(crate) exact: ExactSums,
    pub(crate) held: MemoryReservation,
}

impl ExactGroups {
    /// Uses up the one draw of the charge, durably, before any random number of the release;
    /// `others` are the payments of further accounts, and `room` the bytes that the release may
    /// take on record.
    ///
    /// # Errors
    /// When the ledger cannot be written: nothing may be drawn then.
    pub(crate) fn draw(
        self,
        ledger: &mut dyn Ledger,
        others: Vec<Payment>,
        room: u64,
    ) -> Result<DrawnGroups, EngineError> {
        let Self { charge, exact, held } = self;
        Ok(DrawnGroups { charge: ledger.draw(charge, others, room)?, exact, held })
    }
}

/// Exact sums by group. No Debug, Display or Serialize, and no way out but with noise.
#[derive(Clone)]
pub(crate) struct ExactSums {
    pub(crate) keys: Vec<ArrayRef>,
    /// Number of privacy units of each group.
    pub(crate) units: Vec<i64>,
    /// Number of pieces of each group's records, where groups are chosen by them.
    pub(crate) pieces: Option<Vec<i128>>,
    /// For each measurement.
    pub(crate) measured: Vec<ExactMeasurement>,
    /// Which groups each unit is in, where the selection looks at it and units are not rows.
    pub(crate) members: Option<Memberships>,
}

/// The rows of a table that count for a query, for the owner of the data to read one by one, in
/// this process: its schemas fit, no value has been read.
pub(crate) struct RowReading {
    plan: Arc<dyn ExecutionPlan>,
    memory: QueryMemory,
    rows: RowsOf,
}

/// The plan of the rows that a query reads.
async fn rows_of(
    query: &PrivateQuery,
    bounding: &Bounding,
    lowering: &Lowering<'_>,
) -> Result<Arc<dyn ExecutionPlan>, EngineError> {
    let read: Vec<usize> = bounding.read.iter().map(|&(index, _)| index).collect();
    lowering.rows(query.relation(), &read).await
}

impl RowReading {
    /// Checks that the tables have what the query reads.
    ///
    /// # Errors
    /// When a column is missing or of a type that cannot become the declared one.
    pub(crate) async fn plan(
        query: &OwnerQuery,
        data: &Data,
        progress: &Arc<ReadProgress>,
        memory: &QueryMemory,
    ) -> Result<Self, EngineError> {
        let query = query.as_read();
        let bounding = Bounding::new(query, false)?;
        // It is read here, wherever plans run.
        let partitions = Embedded.partitions();
        let lowering = Lowering::of(query.relation(), data, partitions, progress);
        let plan = rows_of(query, &bounding, &lowering).await?;
        let rows = RowsOf::new(&bounding)?;
        Ok(Self { plan, memory: memory.clone(), rows })
    }

    /// Hands over the rows part by part, one partition after the other.
    ///
    /// # Errors
    /// When the files cannot be read, or what is done with the rows fails.
    pub(crate) async fn each(
        self,
        mut work: impl FnMut(ContributionBatch) -> Result<(), DataFusionError>,
    ) -> Result<(), EngineError> {
        let explained = |error| self.memory.explained(error);
        for partition in 0..self.plan.output_partitioning().partition_count() {
            let stream = self.plan.execute(partition, self.memory.tasks());
            let mut stream = stream.map_err(explained)?;
            while let Some(batch) = stream.next().await {
                let batch = batch.map_err(explained)?;
                heavy(|| self.rows.each(&batch, &mut work)).map_err(explained)?;
            }
        }
        Ok(())
    }
}

/// Exact groups, with what a [`ScanOptions`] has asked for.
pub(crate) struct ScanOutcome {
    pub(crate) exact: ExactSums,
    pub(crate) surveys: Vec<PartitionSurvey>,
    pub(crate) tallies: Option<Tallies>,
}

/// A table that is ready to be read for a query: its schemas fit, no value has been read.
pub(crate) struct Scan {
    plan: UnopenedPlan,
    memory: QueryMemory,
    /// The accumulator of each measurement; none for counts of units.
    indices: Vec<Option<usize>>,
}

impl Scan {
    /// Checks that the tables have what the query reads, and that the backend accepts its plan.
    ///
    /// # Errors
    /// When a column is missing or of a type that cannot become the declared one, and when the
    /// backend cannot run the plan.
    pub(crate) async fn plan(
        quote: &Quote,
        data: &Data,
        progress: &Arc<ReadProgress>,
        memory: &QueryMemory,
    ) -> Result<Self, EngineError> {
        let by_membership = quote.selection().is_some_and(|s| s.strategy().by_membership());
        Self::of(quote.query(), by_membership, data, progress, memory).await
    }

    /// The plan of a query; `with_members` records each unit's groups.
    async fn of(
        query: &PrivateQuery,
        with_members: bool,
        data: &Data,
        progress: &Arc<ReadProgress>,
        memory: &QueryMemory,
    ) -> Result<Self, EngineError> {
        let bounding = Bounding::new(query, with_members)?;
        let partitions = memory.backend().partitions();
        let lowering = Lowering::of(query.relation(), data, partitions, progress);
        let mut plan = rows_of(query, &bounding, &lowering).await?;
        if query.unit().is_some() {
            // All rows of a unit must meet in one partition, or it would be bounded once in each.
            plan = lowering.repartitioned(plan, &[bounding.read.len()])?;
        }
        let bound = BoundExec::new(plan, Arc::new(bounding))?;
        let progress = Arc::clone(progress);
        let plan = UnopenedPlan { bound, progress, tasks: memory.tasks() };
        memory.backend().accept(&plan).await?;
        Ok(Self { plan, memory: memory.clone(), indices: accumulator_indices(query) })
    }

    /// Reads the table: bounds every unit's contributions and adds them up by group.
    ///
    /// # Errors
    /// When the files cannot be read, there is too little memory, or the backend fails.
    pub(crate) async fn run(
        self,
        charge: OpenedCharge,
        key: SamplingKey,
    ) -> Result<ExactGroups, EngineError> {
        let Self { plan, memory, indices } = self;
        // Only an opened charge gives the plan its key, and without the key the operator refuses to
        // run.
        let plan = plan.opened(&charge, key)?;
        let (ScanOutcome { exact, .. }, held) = collected(plan, &memory, &indices).await?;
        Ok(ExactGroups { charge, exact, held })
    }

    /// The plan, for the owner of the data. It names no file, and no number in it follows from what
    /// is in the files.
    pub(crate) fn shown(&self) -> String {
        let plan: &dyn ExecutionPlan = &self.plan.bound;
        displayable(plan).indent(false).to_string()
    }
}

/// A table that the owner of the data reads, by the operators that a release runs. Its groups
/// cannot be released: there is no charge.
pub(crate) struct OwnerScan(Scan);

impl OwnerScan {
    /// Plans as [`Scan::plan`] does.
    ///
    /// # Errors
    /// Those of [`Scan::plan`].
    pub(crate) async fn plan(
        quote: &Quote,
        data: &Data,
        progress: &Arc<ReadProgress>,
        memory: &QueryMemory,
    ) -> Result<Self, EngineError> {
        Ok(Self(Scan::plan(quote, data, progress, memory).await?))
    }

    /// Plans a query without its mechanisms; `with_members` records each unit's groups.
    ///
    /// # Errors
    /// Those of [`Scan::plan`].
    pub(crate) async fn of(
        query: &OwnerQuery,
        with_members: bool,
        data: &Data,
        progress: &Arc<ReadProgress>,
        memory: &QueryMemory,
    ) -> Result<Self, EngineError> {
        Ok(Self(Scan::of(query.as_read(), with_members, data, progress, memory).await?))
    }

    /// Reads the table, with what `look` asks for.
    ///
    /// # Errors
    /// Those of [`Scan::run`].
    pub(crate) async fn look(
        self,
        key: SamplingKey,
        look: ScanOptions,
    ) -> Result<ScanOutcome, EngineError> {
        let Scan { plan, memory, indices } = self.0;
        let plan = plan.opened_by_owner(key, look)?;
        Ok(collected(plan, &memory, &indices).await?.0)
    }
}

/// The exact groups of a plan, from all of its partitions, wherever these run.
async fn collected(
    plan: OpenedPlan,
    memory: &QueryMemory,
    indices: &[Option<usize>],
) -> Result<(ScanOutcome, MemoryReservation), EngineError> {
    let explained = |error: DataFusionError| memory.explained(error);
    let held = MemoryConsumer::new("exact groups").register(memory.tasks().memory_pool());
    let mut returns = plan.returns()?;
    let mut groups = MergedPartitions::new(&returns.bound()?.bounding().accumulations());
    let mut partials = memory.backend().run(plan);
    while let Some(partial) = partials.next().await {
        if let Some(partial) = returns.take(partial.map_err(|error| memory.explained(error))?)? {
            groups.add(partial).map_err(explained)?;
            // Bounding limits the groups of a unit, not their number in all: merging accounts for
            // what it holds.
            held.try_resize(groups.size()).map_err(explained)?;
        }
    }
    // A partition that is missing would take its units out of the answer in silence.
    returns.check_complete()?;
    let mut all = heavy(|| groups.finish())?;
    let (surveys, tallies) = (std::mem::take(&mut all.surveys), all.tallies.take());
    let exact = ExactSums::of(all, returns.bound()?.bounding(), indices)?;
    Ok((ScanOutcome { exact, surveys, tallies }, held))
}

impl ExactSums {
    /// Takes the measurements of merged groups.
    fn of(
        all: MergedGroups,
        bounding: &Bounding,
        indices: &[Option<usize>],
    ) -> Result<Self, EngineError> {
        let MergedGroups { keys, units, totals, members, .. } = all;
        // Without their groups, units would count as being in one each, with too little noise.
        let unknown = bounding.with_members
            && bounding.unit_bytes.is_some()
            && members.is_none()
            && !units.is_empty();
        if unknown {
            return Err(EngineError::inconsistent("the groups of each unit were not recorded"));
        }
        // Zipping lists of different lengths would drop groups without an error.
        if totals.iter().any(|total| total.groups() != units.len()) {
            return Err(EngineError::inconsistent(
                "a measurement has another number of groups than were found",
            ));
        }
        let mut totals: Vec<Option<ExactMeasurement>> = totals.into_iter().map(Some).collect();
        let mut take = |index: usize| {
            let found = totals.get_mut(index).and_then(Option::take);
            found.ok_or(EngineError::inconsistent("a measurement has no totals of its own"))
        };
        let measured = indices.iter().map(|index| match index {
            None => Ok::<_, EngineError>(ExactMeasurement::Sums(
                units.iter().map(|&n| i128::from(n)).collect(),
            )),
            Some(index) => {
                let kept = bounding.accumulators.get(*index).map(|accumulator| accumulator.kept);
                Ok(match (take(*index)?, kept) {
                    (ExactMeasurement::Values(values), Some(Accumulation::Values(listing)))
                        if listing.distinct =>
                    {
                        ExactMeasurement::Distinct(values)
                    }
                    (any, _) => any,
                })
            }
        });
        let measured = measured.collect::<Result<_, _>>()?;
        let pieces = match bounding.pieces().map(take).transpose()? {
            Some(ExactMeasurement::Sums(pieces)) => Some(pieces),
            Some(ExactMeasurement::Values(_) | ExactMeasurement::Distinct(_)) => {
                return Err(EngineError::inconsistent(
                    "the pieces that groups are chosen by are not sums",
                ));
            }
            None => None,
        };
        Ok(Self { keys, units, pieces, measured, members })
    }
}

#[cfg(test)]
impl Scan {
    /// The plan as it is run under a key.
    pub(crate) fn keyed(self, key: SamplingKey) -> (OpenedPlan, QueryMemory) {
        (self.plan.opened_by_owner(key, ScanOptions::default()).unwrap(), self.memory)
    }
}

/// The exact groups of a plan, by the backend that goes with the memory.
#[cfg(test)]
pub(crate) async fn exact_of(
    plan: OpenedPlan,
    memory: &QueryMemory,
    query: &PrivateQuery,
) -> Result<ExactSums, EngineError> {
    Ok(collected(plan, memory, &accumulator_indices(query)).await?.0.exact)
}
