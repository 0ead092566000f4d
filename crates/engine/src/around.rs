//! SQL around private parts, run by DataFusion over the tables that the parts release.
//!
//! Its tree becomes a plan over those tables and nothing else. The plan is made before the charge,
//! with places for the released tables, and runs when these are filled. All that it does depends on
//! released values alone, so its errors may show them.

mod function;
mod lowered;
mod pairs;
mod planned_rows;
mod slot;
mod sub_queries;

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
#[cfg(test)]
use datafusion::execution::SessionState;
use datafusion::execution::{SessionStateBuilder, SessionStateDefaults};
use datafusion::physical_expr::expressions::lit;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use hushtable_lang::Refusal;
use hushtable_plan::Around;

use self::function::in_engine_types;
use self::lowered::NodeLowering;
pub(crate) use self::lowered::ResultColumns;
use self::pairs::BoundedPairs;
pub(crate) use self::pairs::MAX_PAIRS;
use self::slot::Slot;
use crate::error::EngineError;
use crate::invariant::Invariant;
use crate::memory::QueryMemory;
use crate::pinned;
use crate::rebuild::rebuilt;

/// A result, and the cells of its columns, which say where their values come from.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) table: RecordBatch,
    /// The columns as they were run, with hidden ones.
    pub(crate) columns: Vec<ArrayRef>,
    /// Where those of the table and of cells are among them.
    pub(crate) found: ResultColumns,
}

/// A released value: the indices of a part, of its column and of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReleasedCell {
    pub(crate) part: usize,
    pub(crate) column: usize,
    pub(crate) row: usize,
}

impl ReleasedCell {
    /// The cell as a whole number; `None` where there are too many parts, columns or rows.
    fn number(self) -> Option<i64> {
        let part = i64::from(u8::try_from(self.part).ok()?);
        let column = i64::from(u16::try_from(self.column).ok()?);
        let row = i64::from(u32::try_from(self.row).ok()?);
        Some((part << 48) | (column << 32) | row)
    }

    /// The cell of a number from [`Self::number`].
    pub(crate) fn of(number: i64) -> Option<Self> {
        let part = usize::from(u8::try_from(number >> 48).ok()?);
        let column = usize::try_from((number >> 32) & 0xffff).ok()?;
        Some(Self { part, column, row: usize::try_from(number & 0xffff_ffff).ok()? })
    }
}

/// SQL around private parts as it runs, with places for the released tables.
pub(crate) struct AroundPlan {
    context: SessionContext,
    plan: Arc<dyn ExecutionPlan>,
    /// The names of the columns that it shows.
    columns: Vec<String>,
    found: ResultColumns,
    tables: Vec<(String, Arc<Slot>)>,
}

impl AroundPlan {
    /// Plans SQL over tables of these columns.
    ///
    /// # Errors
    /// When it does not fit them.
    pub(crate) async fn new(
        around: &Around,
        tables: &[(String, SchemaRef)],
        memory: &QueryMemory,
    ) -> Result<Self, EngineError> {
        Self::within(MAX_PAIRS, around, tables, memory).await
    }

    /// Plans SQL whose joins may pair at most that many rows.
    pub(crate) async fn within(
        pairs: u64,
        around: &Around,
        tables: &[(String, SchemaRef)],
        memory: &QueryMemory,
    ) -> Result<Self, EngineError> {
        let mut slots = Vec::with_capacity(around.tables.len());
        for name in &around.tables {
            let table = tables.iter().find(|(table, _)| table == name);
            let (_, schema) = table.ok_or(EngineError::inconsistent(
                "SQL around private parts reads a table that no part releases",
            ))?;
            slots.push((name.clone(), Arc::new(Slot::new(schema))));
        }
        let planned = planned(pairs, around, &slots, memory).await;
        let (context, plan, found) = planned.map_err(|e| failed(e, memory))?;
        Ok(Self { context, plan, columns: around.columns.clone(), found, tables: slots })
    }

    /// The session that it was planned in, and the operators.
    #[cfg(test)]
    pub(crate) fn inside(&self) -> (SessionState, &Arc<dyn ExecutionPlan>) {
        (self.context.state(), &self.plan)
    }

    /// The names of the tables that it reads, by which cells number them.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|(name, _)| name.as_str())
    }

    /// Runs the plan, once, over the released tables in the order of their names.
    ///
    /// # Errors
    /// When the released values do not allow it.
    pub(crate) async fn run<'t>(
        &self,
        tables: impl IntoIterator<Item = &'t RecordBatch>,
        memory: &QueryMemory,
    ) -> Result<Ran, EngineError> {
        for ((index, (_, slot)), table) in self.tables.iter().enumerate().zip(tables) {
            slot.fill(index, table)?;
        }
        let schema = self.plan.schema();
        let batches = collect(Arc::clone(&self.plan), self.context.task_ctx()).await;
        let batches = batches.map_err(|e| failed(e, memory))?;
        let batch = concat_batches(&schema, &batches).map_err(|e| refused(e.into()))?;
        let table = named(&self.columns, &self.found, &batch).map_err(refused)?;
        Ok(Ran { table, columns: batch.columns().to_vec(), found: self.found.clone() })
    }
}

type PlannedAround = (SessionContext, Arc<dyn ExecutionPlan>, ResultColumns);

async fn planned(
    pairs: u64,
    around: &Around,
    slots: &[(String, Arc<Slot>)],
    memory: &QueryMemory,
) -> Result<PlannedAround, DataFusionError> {
    // One partition: nothing depends on which of several is first.
    let config = pinned::config().with_target_partitions(1).with_information_schema(false);
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(memory.tasks().runtime_env())
        .with_aggregate_functions(SessionStateDefaults::default_aggregate_functions())
        .with_window_functions(SessionStateDefaults::default_window_functions())
        .with_physical_optimizer_rule(Arc::new(InOrder))
        .with_physical_optimizer_rule(Arc::new(BoundedPairs::new(pairs)))
        .build();
    let mut tables: Vec<Arc<dyn TableProvider>> = Vec::with_capacity(slots.len());
    for (_, slot) in slots {
        let partition: Arc<dyn PartitionStream> = Arc::clone(slot) as _;
        let schema = Arc::clone(slot.schema());
        tables.push(Arc::new(StreamingTable::try_new(schema, vec![partition])?));
    }
    let (plan, found) = NodeLowering::new(&state, &tables).whole(&around.node)?;
    let context = SessionContext::new_with_state(state);
    let plan = context.state().create_physical_plan(&plan).await?;
    Ok((context, plan, found))
}

/// The result with the names and types of its release.
fn named(
    names: &[String],
    found: &ResultColumns,
    batch: &RecordBatch,
) -> Result<RecordBatch, DataFusionError> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (name, index) in names.iter().zip(&found.columns) {
        let column = rebuilt(&in_engine_types(batch.column(*index))?)?;
        fields.push(Field::new(name, column.data_type().clone(), true));
        columns.push(column);
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

/// The error of SQL that cannot be planned or run with this memory.
fn failed(error: DataFusionError, memory: &QueryMemory) -> EngineError {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => memory.explained(error),
        _ => refused(error),
    }
}

fn refused(error: DataFusionError) -> EngineError {
    let root = error.find_root();
    if let DataFusionError::External(source) = root
        && let Some(refusal) = source.downcast_ref::<Refusal>()
    {
        return EngineError::Refused(refusal.clone());
    }
    EngineError::Refused(Refusal::new(
        format!("cannot run the SQL around the private parts: {}", in_short(root)),
        "change that SQL: parts that are on record stay free",
    ))
}

/// The first sentence of a library's message, which is about the SQL, or about released values.
fn in_short(error: &DataFusionError) -> String {
    let text = error.strip_backtrace();
    let untyped = "No function matches the given name and argument types '";
    if let Some((_, of)) = text.split_once(untyped)
        && let Some((called, _)) = of.split_once('\'')
    {
        return format!("there is no {called}");
    }
    let text = text.lines().next().unwrap_or_default();
    let text = text.split(": While expanding").next().unwrap_or_default();
    let kind =
        ["Error during planning: ", "This feature is not implemented: ", "Execution error: "];
    kind.into_iter().fold(text, |text, kind| text.strip_prefix(kind).unwrap_or(text)).to_owned()
}

/// Reads the sides of unions one after the other: whichever is ready first decides nothing.
#[derive(Debug)]
struct InOrder;

impl PhysicalOptimizerRule for InOrder {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let in_order = |node: Arc<dyn ExecutionPlan>| {
            if let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>() {
                let merge = merge.clone().with_round_robin_repartition(false);
                return Ok(Transformed::yes(Arc::new(merge) as Arc<dyn ExecutionPlan>));
            }
            let Some(any) = node.downcast_ref::<CoalescePartitionsExec>() else {
                return Ok(Transformed::no(node));
            };
            // All rows are equal to the order, and the merge takes the first of equal inputs.
            let order = LexOrdering::new([PhysicalSortExpr::new_default(lit(true))])
                .ok_or_else(|| DataFusionError::from(Invariant::new("an order is empty")))?;
            let merge = SortPreservingMergeExec::new(order, Arc::clone(any.input()))
                .with_fetch(node.fetch())
                .with_round_robin_repartition(false);
            Ok(Transformed::yes(Arc::new(merge) as Arc<dyn ExecutionPlan>))
        };
        Ok(plan.transform_up(in_order)?.data)
    }

    fn name(&self) -> &str {
        "in_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
