//! Contribution bounding as an operator.

mod layout;

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    Partitioning, PhysicalExpr, PlanProperties,
};
use futures::{StreamExt, TryStreamExt, stream};
use hushtable_ledger::OpenedCharge;

use crate::bound::{Bounder, Partial};
use crate::bounding::{Bounding, RowValue};
use crate::contributions::{Accumulation, SamplingKey};
use crate::feed::{RowsOf, bounded};
use crate::intern::inconsistent;
use crate::plan_operators::has_no_expressions;
use crate::source::convert::arrow_type;
use crate::survey::{ScanOptions, Without};
use layout::BatchLayout;

/// Bounds what units contribute, and emits the exact groups of each partition.
///
/// A batch has the groups, with their keys, numbers of units and sums; and where values are kept
/// one by one or each unit's groups are recorded, a second one has these, in one row of lists that
/// number groups by their rows in the first. Readings for owners, by its options, are a list there,
/// too. Exact: running this without adding noise to what comes
/// out breaks every promise. It runs only with a sampling key, which an opened charge gives.
#[derive(Clone)]
pub(crate) struct BoundExec {
    input: Arc<dyn ExecutionPlan>,
    bounding: Arc<Bounding>,
    rows: Arc<RowsOf>,
    /// None in a plan that is to be released.
    options: ScanOptions,
    /// Secret.
    key: Option<SamplingKey>,
    layout: Arc<BatchLayout>,
    properties: Arc<PlanProperties>,
}

impl BoundExec {
    /// Bounds the rows of a plan, all rows of a unit in one partition.
    ///
    /// # Errors
    /// When the plan's columns are not those that are read, or rows of a unit may be in several
    /// partitions: it would be bounded once in each.
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, bounding: Arc<Bounding>) -> Result<Self> {
        let schema = input.schema();
        let (read, has_unit) = (&bounding.read, bounding.unit_bytes.is_some());
        let types = schema.fields().iter().zip(read);
        let same = types.clone().all(|(field, (_, of))| *field.data_type() == arrow_type(*of));
        if !bounding.holds_together()
            || schema.fields().len() != read.len() + usize::from(has_unit)
            || !same
            // A unit in two partitions would be bounded twice and move the sums by twice their
            // sensitivity.
            || (has_unit && !by_column(input.output_partitioning(), read.len()))
        {
            return Err(inconsistent(
                "contribution bounding does not get the columns or partitions that it needs",
            ));
        }
        let rows = Arc::new(RowsOf::new(&bounding)?);
        let options = ScanOptions::default();
        let layout = Arc::new(BatchLayout::new(&bounding, options));
        let properties = properties(&layout, &input);
        Ok(Self { input, bounding, rows, options, key: None, layout, properties })
    }

    /// With what owners read beside exact groups, or in place of them.
    pub(crate) fn with_options(self, options: ScanOptions) -> Self {
        let layout = Arc::new(BatchLayout::new(&self.bounding, options));
        let properties = properties(&layout, &self.input);
        Self { options, layout, properties, ..self }
    }

    /// Readings for owners beside exact groups.
    pub(crate) fn options(&self) -> ScanOptions {
        self.options
    }

    /// The rows that are bounded.
    pub(crate) fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// The way from rows to exact groups.
    pub(crate) fn bounding(&self) -> &Arc<Bounding> {
        &self.bounding
    }

    /// Makes it run: a release pays for what comes out.
    pub(crate) fn opened(self, _: &OpenedCharge, key: SamplingKey) -> Self {
        self.with_key(Some(key))
    }

    /// Sets the sampling key of the process that opened the charge.
    pub(crate) fn with_key(self, key: Option<SamplingKey>) -> Self {
        Self { key, ..self }
    }

    /// The sampling key, for workers alone.
    pub(crate) fn key(&self) -> Option<SamplingKey> {
        self.key
    }

    /// The bounder for a partition, and after it one without the limit on groups, where
    /// contributions are tallied.
    fn bounders(&self, key: SamplingKey) -> Vec<Bounder> {
        let bounding = &*self.bounding;
        // The accumulator that counts rows comes last among the sums.
        let sums =
            bounding.accumulators.iter().filter(|a| matches!(a.kept, Accumulation::Sum { .. }));
        let sums = sums.enumerate().filter(|(_, a)| a.value == RowValue::One);
        let counts_rows = sums.last().map_or(0, |(index, _)| index);
        let bounder = || match self.options.tally {
            true => bounder(bounding, key).tallied(counts_rows),
            false => bounder(bounding, key),
        };
        let first = if self.options.survey { bounder().surveyed() } else { bounder() };
        let of_all_groups = self.options.tally && bounding.unit_bytes.is_some();
        let of_all_groups = of_all_groups.then(|| bounder().within(u32::MAX));
        std::iter::once(first).chain(of_all_groups).collect()
    }

    /// The exact groups in the batches of one partition.
    ///
    /// # Errors
    /// For batches that are of no such operator.
    pub(crate) fn partial(&self, batches: Vec<RecordBatch>) -> Result<Option<Partial>> {
        self.layout.partial(batches)
    }
}

fn properties(layout: &BatchLayout, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        EquivalenceProperties::new(Arc::clone(&layout.schema)),
        // Groups are in several partitions, so nothing above may take one partition for all of a
        // group.
        Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
        EmissionType::Final,
        Boundedness::Bounded,
    ))
}

/// The exact groups of a partition, with both tallies where there are any.
fn whole(partials: Vec<Partial>) -> Result<Partial> {
    let mut partials = partials.into_iter();
    let mut first =
        partials.next().ok_or_else(|| inconsistent("a partition has no exact groups"))?;
    let of_all_groups = partials.next().and_then(|partial| partial.tallies);
    if let (Some(tallies), Some(of_all_groups)) = (&mut first.tallies, of_all_groups) {
        tallies.all_groups = of_all_groups.limited;
    }
    Ok(first)
}

fn bounder(bounding: &Bounding, key: SamplingKey) -> Bounder {
    let (kept, keyed) = (bounding.accumulations(), !bounding.keys.is_empty());
    let bounder = match bounding.unit_bytes {
        Some(_) => {
            let ones = bounding.accumulators.iter().map(|accumulator| accumulator.value.is_one());
            let bounder = Bounder::of_units(kept, keyed, key, bounding.most_groups);
            bounder.adding_ones(ones.collect())
        }
        None => Bounder::of_rows(kept, keyed),
    };
    if bounding.with_members { bounder.with_members() } else { bounder }
}

/// Whether rows that agree in a column are in one partition.
fn by_column(partitioning: &Partitioning, index: usize) -> bool {
    let Partitioning::Hash(by, _) = partitioning else { return false };
    let [by] = by.as_slice() else { return false };
    by.downcast_ref::<Column>().is_some_and(|column| column.index() == index)
}

impl DisplayAs for BoundExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bounding { keys, accumulators, most_groups, .. } = &*self.bounding;
        write!(f, "BoundExec: keys={}, accumulators={}", keys.len(), accumulators.len())?;
        match self.bounding.unit_bytes {
            Some(_) => write!(f, ", most_groups={most_groups}"),
            None => f.write_str(", rows are units"),
        }
    }
}

impl fmt::Debug for BoundExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl ExecutionPlan for BoundExec {
    fn name(&self) -> &str {
        "BoundExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        // The unit's column comes last, after the columns that are read.
        let index = self.bounding.read.len();
        let schema = self.input.schema();
        match (self.bounding.unit_bytes, schema.fields().get(index)) {
            (Some(_), Some(unit)) => {
                let unit: Arc<dyn PhysicalExpr> = Arc::new(Column::new(unit.name(), index));
                vec![Distribution::KeyPartitioned(vec![unit])]
            }
            _ => vec![Distribution::UnspecifiedDistribution],
        }
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    has_no_expressions!();

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [input] = <[_; 1]>::try_from(children)
            .map_err(|_| inconsistent("an operator of one input was given others"))?;
        // A new input passes the same checks as the first one.
        let new = Self::new(input, Arc::clone(&self.bounding))?;
        Ok(Arc::new(new.with_options(self.options).with_key(self.key)))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let key = self
            .key
            .ok_or_else(|| inconsistent("contributions are bounded without the key of a charge"))?;
        let consumer = MemoryConsumer::new(format!("BoundExec[{partition}]"));
        let held = consumer.register(context.memory_pool());
        let input = self.input.execute(partition, context)?;
        let (rows, layout) = (Arc::clone(&self.rows), Arc::clone(&self.layout));
        let bounders = self.bounders(key);
        let without = self.options.without.map(|unit| Without::new(unit, key));
        let schema = Arc::clone(&layout.schema);
        let batches = async move {
            let partials = bounded(input, &rows, bounders, without, &held).await?;
            let batches = layout.batches(whole(partials)?)?;
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
