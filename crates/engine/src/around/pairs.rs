//! Bounds the pairs of rows that SQL around private parts makes of releases.
//!
//! How many rows a release has is not known before it is charged, so this is counted when the SQL
//! runs: at each join the pairs of rows with equal keys, whatever else its condition asks, and for
//! a median over a moving window those of the rows with each other. The rows of a join beyond those
//! that come into it count; everything else in SQL takes time in proportion to the rows of its
//! tables. The counts depend on released values alone, and so does the error.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::NullEquality;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{
    ExecutionPlan, PhysicalExpr, WindowExpr, replace_children_if_necessary,
};
use futures::StreamExt;
use hushtable_lang::Refusal;

use crate::plan_operators::{only_child, passes_rows, shown_by_name};

/// Most pairs of rows beyond the rows of their tables.
pub(crate) const MAX_PAIRS: u64 = 20_000_000;

/// The number of pairs that all joins of a plan have formed, and its limit.
#[derive(Debug)]
struct PairCount {
    pairs: Mutex<i128>,
    most: u64,
}

impl PairCount {
    fn add(&self, more: i128) -> Result<()> {
        let mut pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        *pairs += more;
        if *pairs <= i128::from(self.most) {
            return Ok(());
        }
        Err(DataFusionError::External(Box::new(too_many(self.most))))
    }
}

fn too_many(most: u64) -> Refusal {
    Refusal::new(
        format!("the SQL around the private parts pairs more than {most} rows of their releases"),
        "join on keys that tell rows apart, aggregate before the join, or take the rows that \
         matter in a sub-query with ORDER BY … LIMIT 1000",
    )
}

/// Rows of one join by their keys: a number for all rows with the same, and how many each side has.
#[derive(Debug, Default)]
struct JoinPairs {
    rows: HashMap<u64, [u64; 2]>,
    inputs: i128,
    pairs: i128,
}

/// A join's pairs, which both of its sides count.
#[derive(Debug)]
struct Pairs {
    join: Mutex<JoinPairs>,
    all: Arc<PairCount>,
    /// Whether rows without a key meet each other.
    null_is_equal: bool,
    /// Whether the rows of one side meet each other: there is only that side.
    with_each_other: bool,
}

impl Pairs {
    fn count(&self, side: usize, keys: &[ArrayRef], rows: usize) -> Result<()> {
        let mut join = self.join.lock().unwrap_or_else(PoisonError::into_inner);
        let before = (join.pairs - join.inputs).max(0);
        join.inputs += rows as i128;
        if keys.is_empty() {
            join.add(0, side, rows as u64, self.with_each_other);
        } else {
            let fields = keys.iter().map(|key| SortField::new(key.data_type().clone()));
            let converter = RowConverter::new(fields.collect())?;
            let all = converter.convert_columns(keys)?;
            for (index, row) in all.iter().enumerate() {
                if self.null_is_equal || keys.iter().all(|key| key.is_valid(index)) {
                    let mut hasher = DefaultHasher::new();
                    row.hash(&mut hasher);
                    join.add(hasher.finish(), side, 1, self.with_each_other);
                }
            }
        }
        let more = (join.pairs - join.inputs).max(0) - before;
        drop(join);
        self.all.add(more)
    }
}

impl JoinPairs {
    fn add(&mut self, key: u64, side: usize, rows: u64, with_each_other: bool) {
        let counts = self.rows.entry(key).or_default();
        let [this, other] = match side {
            0 => [counts[0], counts[1]],
            _ => [counts[1], counts[0]],
        };
        let met = if with_each_other { this + rows } else { other };
        counts[side.min(1)] = this.saturating_add(rows);
        self.pairs = self.pairs.saturating_add(i128::from(rows) * i128::from(met));
    }
}

/// Hands on the rows of a join's side, and counts the pairs that they make.
struct PairedExec {
    input: Arc<dyn ExecutionPlan>,
    side: usize,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    pairs: Arc<Pairs>,
}

shown_by_name!(PairedExec);

impl ExecutionPlan for PairedExec {
    fn name(&self) -> &str {
        "PairedExec"
    }

    passes_rows!();

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = only_child(children)?;
        let (keys, pairs) = (self.keys.clone(), Arc::clone(&self.pairs));
        Ok(Arc::new(Self { input, side: self.side, keys, pairs }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let (side, keys, pairs) = (self.side, self.keys.clone(), Arc::clone(&self.pairs));
        let batches = input.map(move |batch| {
            let batch: RecordBatch = batch?;
            let values = keys.iter().map(|key| key.evaluate(&batch)?.into_array(batch.num_rows()));
            let values = values.collect::<Result<Vec<_>>>()?;
            pairs.count(side, &values, batch.num_rows())?;
            Ok(batch)
        });
        let schema = self.input.schema();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

/// Puts the counts into a plan.
#[derive(Debug)]
pub(super) struct BoundedPairs {
    most: u64,
}

impl BoundedPairs {
    pub(super) fn new(most: u64) -> Self {
        Self { most }
    }
}

impl PhysicalOptimizerRule for BoundedPairs {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all = Arc::new(PairCount { pairs: Mutex::new(0), most: self.most });
        let count_pairs = |node: Arc<dyn ExecutionPlan>| {
            let Some(meeting) = Meeting::of(&node) else { return Ok(Transformed::no(node)) };
            let pairs = Arc::new(Pairs {
                join: Mutex::default(),
                all: Arc::clone(&all),
                null_is_equal: meeting.null_is_equal,
                with_each_other: meeting.keys.len() == 1,
            });
            let children = node.children().into_iter().cloned().collect::<Vec<_>>();
            let sides = children.into_iter().zip(meeting.keys).enumerate();
            let sides = sides.map(|(side, (input, keys))| {
                let pairs = Arc::clone(&pairs);
                Arc::new(PairedExec { input, side, keys, pairs }) as Arc<dyn ExecutionPlan>
            });
            Ok(Transformed::yes(replace_children_if_necessary(node, sides.collect())?))
        };
        Ok(plan.transform_up(count_pairs)?.data)
    }

    fn name(&self) -> &str {
        "bounded_pairs"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// An operator in which rows meet.
struct Meeting {
    /// For each of its inputs, the keys of rows that meet.
    keys: Vec<Vec<Arc<dyn PhysicalExpr>>>,
    null_is_equal: bool,
}

impl Meeting {
    fn of(node: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        type On = [(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)];
        let joined = |on: &On, nulls: NullEquality| {
            let keys = on.iter().cloned().unzip::<_, _, Vec<_>, Vec<_>>();
            let null_is_equal = nulls == NullEquality::NullEqualsNull;
            Self { keys: vec![keys.0, keys.1], null_is_equal }
        };
        if let Some(join) = node.downcast_ref::<HashJoinExec>() {
            return Some(joined(join.on(), join.null_equality()));
        }
        if let Some(join) = node.downcast_ref::<SortMergeJoinExec>() {
            return Some(joined(join.on(), join.null_equality()));
        }
        if node.is::<NestedLoopJoinExec>() || node.is::<CrossJoinExec>() {
            return Some(joined(&[], NullEquality::NullEqualsNothing));
        }
        // A median of each row's window is found anew, by looking at all of the window.
        let (windows, keys) = if let Some(window) = node.downcast_ref::<WindowAggExec>() {
            (window.window_expr(), window.partition_keys())
        } else if let Some(window) = node.downcast_ref::<BoundedWindowAggExec>() {
            (window.window_expr(), window.partition_keys())
        } else {
            return None;
        };
        let median = |window: &Arc<dyn WindowExpr>| {
            window.name().to_ascii_lowercase().contains("median") && !window.order_by().is_empty()
        };
        windows.iter().any(median).then(|| Self { keys: vec![keys], null_is_equal: true })
    }
}
