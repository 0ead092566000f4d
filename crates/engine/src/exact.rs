//! The exact groups: secret integers, which only a charge opens and only noise lets out.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, Partitioning, execute_stream_partitioned,
};
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use hushtable_ledger::OpenedCharge;
use hushtable_mechanisms::Memberships;
use hushtable_query::{Measure, Measurement, PrivateQuery, Quote};
use tokio::task::JoinSet;

use crate::bound::{Bounder, Bounds, Listing, Partial, Rows, SamplingKey, Tally};
use crate::error::EngineError;
use crate::lower::{Files, Lowering, UNIT_PARTITIONS, repartitioned};
use crate::merged::{All, Merged};
use crate::rows::{LARGEST, RowProgram, columns_read, row_expressions, spread};
use crate::runtime::heavy;
use crate::source::ReadProgress;
use crate::survey::{Look, Surveyed, Without};
use crate::values::Values;

/// Exact sums by group, with the charge that opened them: only this can be released.
pub(crate) struct ExactGroups {
    pub(crate) charge: OpenedCharge,
    pub(crate) exact: Exact,
}

/// Exact sums by group. No Debug, Display or Serialize, and no way out but with noise.
#[derive(Clone)]
pub(crate) struct Exact {
    pub(crate) keys: Vec<ArrayRef>,
    /// Number of privacy units of each group.
    pub(crate) units: Vec<i64>,
    /// Number of pieces of each group's records, where groups are chosen by them.
    pub(crate) pieces: Option<Vec<i128>>,
    /// Exact sums for each measurement, in lattice units; none for quantiles.
    pub(crate) sums: Vec<Vec<i128>>,
    /// For each measurement that is a quantile, the values of each group.
    pub(crate) values: Vec<Option<Values>>,
    /// Which groups each unit is in, where the selection looks at it and units are not rows.
    pub(crate) members: Option<Memberships>,
}

/// The rows of a table that count for a query, ready to be read: its files' schemas fit, no value
/// has been read.
pub(crate) struct Reading {
    plan: Arc<dyn ExecutionPlan>,
    tasks: Arc<TaskContext>,
    rows: Arc<RowsOf>,
}

/// From the batches of a stream to the rows that count.
struct RowsOf {
    program: RowProgram,
    read: Vec<usize>,
    all: usize,
    /// Whether the units come after the columns read.
    has_unit: bool,
    /// Parts of all expressions together.
    parts: usize,
}

impl Reading {
    /// Checks that the files have what the query reads.
    ///
    /// # Errors
    /// When a column is missing or of a type that cannot become the declared one.
    pub(crate) async fn plan(
        query: &PrivateQuery,
        files: &Files,
        progress: &Arc<ReadProgress>,
    ) -> Result<Self, EngineError> {
        // At least two, so that a table is read in parts on every machine, as in the tests.
        let threads = std::thread::available_parallelism().map_or(2, usize::from).max(2);
        let context = SessionContext::new();
        let read = columns_read(query);
        let lowering = Lowering { files, partitions: threads, progress };
        let plan = lowering.rows(&query.relation, &read).await?;
        let tasks = context.task_ctx();
        let program = RowProgram::new(query).map_err(DataFusionError::from)?;
        let has_unit = query.unit.is_some();
        let all = query.columns.len();
        let parts = row_expressions(query).map(|e| e.size().1).sum();
        let rows = Arc::new(RowsOf { program, read, all, has_unit, parts });
        Ok(Self { plan, tasks, rows })
    }

    /// Hands over the rows part by part, one partition after the other.
    ///
    /// # Errors
    /// When the files cannot be read, or what is done with the rows fails.
    pub(crate) async fn each(
        self,
        mut work: impl FnMut(Rows) -> Result<(), DataFusionError>,
    ) -> Result<(), EngineError> {
        for partition in 0..self.plan.output_partitioning().partition_count() {
            let mut stream = self.plan.execute(partition, Arc::clone(&self.tasks))?;
            while let Some(batch) = stream.next().await {
                let batch = batch?;
                heavy(|| self.rows.each(&batch, &mut work))?;
            }
        }
        Ok(())
    }
}

impl RowsOf {
    /// Hands over the rows of a batch that count; computes with a batch without rows, too.
    fn each(
        &self,
        batch: &RecordBatch,
        work: &mut impl FnMut(Rows) -> Result<(), DataFusionError>,
    ) -> Result<(), DataFusionError> {
        let step = rows_at_once(batch.columns(), batch.num_rows(), self.parts);
        // The first time fewer rows, so that nobody can choose a query for which one row more
        // begins another part: to begin one takes half a millisecond in the largest queries.
        let fewer = RandomState::new().hash_one(()) % step as u64;
        let (mut from, mut most) = (0, step - usize::try_from(fewer).unwrap_or(0));
        loop {
            let part = batch.slice(from, most.min(batch.num_rows() - from));
            let columns = spread(&part, &self.read, self.all);
            let unit = if self.has_unit { part.columns().last() } else { None };
            work(self.program.apply(&columns, unit, part.num_rows())?)?;
            from += most;
            most = step;
            if from >= batch.num_rows() {
                return Ok(());
            }
        }
    }
}

/// Exact groups, with what a [`Look`] has asked for.
pub(crate) struct Looked {
    pub(crate) exact: Exact,
    pub(crate) surveys: Vec<Surveyed>,
    pub(crate) tallies: Option<Tallies>,
}

/// Contributions of units, with and without the limit on their groups.
#[derive(Default)]
pub(crate) struct Tallies {
    /// As in a release.
    pub(crate) limited: Tally,
    /// With all groups of every unit.
    pub(crate) all_groups: Tally,
}

/// How a measurement is read.
#[derive(Clone, Copy)]
enum Measured {
    Units,
    AddedUp,
    Listed,
    /// Listed, and added up in the end.
    Summed,
}

/// A table that is ready to be read for a query: its files' schemas fit, no value has been read.
pub(crate) struct Scan {
    reading: Reading,
    has_unit: bool,
    keyed: bool,
    /// How the measurements are read: those that add up have `bounds`, in their order, those that
    /// keep values one by one have `listings` in theirs.
    measured: Vec<Measured>,
    bounds: Bounds,
    listings: Vec<Listing>,
    /// What noise is made for: the bounds, or where sums are not clamped, the threshold.
    sizes: Bounds,
    most_groups: u32,
    with_members: bool,
    /// Whether the last of the sums is of pieces.
    counts_pieces: bool,
}

impl Scan {
    /// Checks that the files have what the query reads.
    ///
    /// # Errors
    /// When a column is missing or of a type that cannot become the declared one.
    pub(crate) async fn plan(
        quote: &Quote,
        files: &Files,
        progress: &Arc<ReadProgress>,
    ) -> Result<Self, EngineError> {
        let by_membership = quote.selection().is_some_and(|s| s.strategy().by_membership());
        Self::of(quote.query(), by_membership, files, progress).await
    }

    /// Does as [`plan`](Self::plan) for a query without its mechanisms; `with_members` records each
    /// unit's groups.
    ///
    /// # Errors
    /// Fails as [`plan`](Self::plan) does.
    pub(crate) async fn of(
        query: &PrivateQuery,
        with_members: bool,
        files: &Files,
        progress: &Arc<ReadProgress>,
    ) -> Result<Self, EngineError> {
        let mut reading = Reading::plan(query, files, progress).await?;
        if query.unit.is_some() {
            // All rows of a unit must meet in one partition, or it would be bounded once in each.
            reading.plan = repartitioned(reading.plan, &[reading.rows.read.len()])?;
        }
        let counts_pieces = query.chooses_by_pieces();
        let pieces = counts_pieces.then_some((1, LARGEST));
        let measured = || query.measurements.iter().filter(|m| m.measure.adds_up());
        let listing = |m: &Measurement| match m.measure {
            Measure::Quantile { rows, .. } => {
                Some(Listing { range: (m.low, m.high), rows, sum: None })
            }
            // The sum is bounded by what its noise is made for.
            Measure::SumOfRows { low, high, rows, .. } => {
                Some(Listing { range: (low, high), rows, sum: Some((m.low, m.high)) })
            }
            Measure::Units | Measure::Rows | Measure::Values(_) | Measure::Sum(_) => None,
        };
        let how = |m: &Measurement| match m.measure {
            Measure::Units => Measured::Units,
            Measure::Rows | Measure::Values(_) | Measure::Sum(_) => Measured::AddedUp,
            Measure::SumOfRows { .. } => Measured::Summed,
            Measure::Quantile { .. } => Measured::Listed,
        };
        Ok(Self {
            reading,
            has_unit: query.unit.is_some(),
            keyed: !query.keys.is_empty(),
            measured: query.measurements.iter().map(how).collect(),
            listings: query.measurements.iter().filter_map(listing).collect(),
            bounds: measured()
                .map(|m| if m.split.is_some() { (-LARGEST, LARGEST) } else { (m.low, m.high) })
                .chain(pieces)
                .collect(),
            sizes: measured().map(|m| (m.low, m.high)).chain(pieces).collect(),
            most_groups: query.max_groups_contributed,
            with_members: query.unit.is_some() && with_members,
            counts_pieces,
        })
    }

    /// Reads the table: bounds every unit's contributions and adds them up by group.
    ///
    /// # Errors
    /// When the files cannot be read, or there is too little memory.
    pub(crate) async fn run(
        self,
        charge: OpenedCharge,
        key: SamplingKey,
    ) -> Result<ExactGroups, EngineError> {
        let Looked { exact, .. } = self.look(key, Look::default()).await?;
        Ok(ExactGroups { charge, exact })
    }

    /// The same without a charge, for an audit by the owner of the data: its groups cannot be
    /// released. With what `look` asks for.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) async fn look(self, key: SamplingKey, look: Look) -> Result<Looked, EngineError> {
        let Self { reading, has_unit, keyed, measured, bounds, sizes, most_groups, .. } = self;
        let Self { with_members, counts_pieces, listings, .. } = self;
        let Reading { plan, tasks: context, rows } = reading;
        let adding = bounds.len();
        let summed = listings.iter().filter(|listing| listing.sum.is_some()).count();
        let mut groups = Merged::new(adding + summed, listings.len() - summed);
        let counts_rows = adding.saturating_sub(1 + usize::from(counts_pieces));
        let shared = Arc::new((rows, bounds, sizes, listings));
        let mut tasks = JoinSet::new();
        let by_unit = matches!(plan.output_partitioning(), Partitioning::Hash(_, UNIT_PARTITIONS));
        if has_unit && !by_unit {
            return Err(EngineError::Inconsistent);
        }
        for stream in execute_stream_partitioned(plan, context)? {
            let shared = Arc::clone(&shared);
            tasks.spawn(async move {
                let (rows, bounds, sizes, listings) = &*shared;
                let bounder = |most_groups| {
                    let bounder = if has_unit {
                        Bounder::of_units(bounds.clone(), keyed, key, most_groups)
                    } else {
                        Bounder::of_rows(bounds.clone(), keyed)
                    };
                    let bounder = bounder.listing(listings.clone());
                    if look.tally { bounder.tallied(counts_rows) } else { bounder }
                };
                let mut first = bounder(most_groups);
                if with_members {
                    first = first.with_members();
                }
                if look.survey {
                    first = first.surveyed(sizes.clone());
                }
                let mut bounders = vec![first];
                if look.tally && has_unit {
                    bounders.push(bounder(u32::MAX));
                }
                let without = look.without.map(|unit| Without::new(unit, key));
                partition(stream, rows, bounders, without).await
            });
        }
        let mut tallies = look.tally.then(Tallies::default);
        while let Some(partials) = tasks.join_next().await {
            let mut partials = partials.map_err(|_| EngineError::Interrupted)??.into_iter();
            let mut first = partials.next().ok_or(EngineError::Inconsistent)?;
            if let (Some(tallies), Some(limited)) = (&mut tallies, first.tally.take()) {
                // A row is in one group, so that no limit on groups takes any from it.
                let all = partials.next().and_then(|all| all.tally);
                tallies.all_groups.merge(all.unwrap_or_else(|| limited.clone()));
                tallies.limited.merge(limited);
            }
            groups.add(first)?;
        }
        let surveys = std::mem::take(&mut groups.surveys);
        let All { keys, units, sums: mut added, values: listed, members } =
            heavy(|| groups.finish())?;
        let mut summed = added.split_off(adding.min(added.len())).into_iter();
        let pieces = if counts_pieces { added.pop() } else { None };
        let (mut added, mut listed) = (added.into_iter(), listed.into_iter());
        let (mut sums, mut values) = (Vec::new(), Vec::new());
        for how in measured {
            sums.push(match how {
                Measured::Units => units.iter().map(|&n| i128::from(n)).collect(),
                Measured::AddedUp => added.next().unwrap_or_default(),
                Measured::Summed => summed.next().ok_or(EngineError::Inconsistent)?,
                Measured::Listed => Vec::new(),
            });
            values.push(match how {
                Measured::Units | Measured::AddedUp | Measured::Summed => None,
                Measured::Listed => Some(listed.next().unwrap_or_default()),
            });
        }
        let exact = Exact { keys, units, pieces, sums, values, members };
        Ok(Looked { exact, surveys, tallies })
    }
}

/// The exact groups of the rows of one stream, as each of the bounders has them.
async fn partition(
    mut stream: SendableRecordBatchStream,
    rows: &RowsOf,
    mut bounders: Vec<Bounder>,
    mut without: Option<Without>,
) -> Result<Vec<Partial>, DataFusionError> {
    let mut add = |mut rows: Rows| {
        if let Some(without) = &mut without {
            rows = without.apply(rows)?;
        }
        if rows.rows == 0 {
            return Ok(());
        }
        bounders.iter_mut().try_for_each(|bounder| bounder.add(&rows))
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
    bounders.into_iter().map(Bounder::finish).collect()
}

/// How many rows of a batch to compute with at once: all, unless their text is long, or there is
/// much to compute. A dictionary can make a long text stand in every row, and a function of it
/// would be written out for each. And every part of an expression takes a little longer for all
/// rows that are computed at once where one of them is NULL, so that fewer are where there are many
/// parts.
pub(crate) fn rows_at_once(columns: &[ArrayRef], rows: usize, parts: usize) -> usize {
    const BYTES: usize = 16 << 20;
    /// Parts of expressions times rows.
    const RESULTS: usize = 1 << 17;
    const LEAST: usize = 64;
    let length = |view: &u128| (*view as u32) as usize;
    let texts = columns.iter().filter_map(|c| c.as_string_view_opt());
    let bytes: usize = texts.map(|t| t.views().iter().map(length).sum::<usize>()).sum();
    let rows = if bytes <= BYTES { rows } else { rows * BYTES / bytes };
    rows.min((RESULTS / parts.max(1)).max(LEAST)).max(1)
}
