//! Windows within units.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNano};
use datafusion::functions_window::cume_dist::cume_dist_udwf;
use datafusion::functions_window::lead_lag::{lag_udwf, lead_udwf};
use datafusion::functions_window::nth_value::{first_value_udwf, last_value_udwf, nth_value_udwf};
use datafusion::functions_window::ntile::ntile_udwf;
use datafusion::functions_window::rank::{dense_rank_udwf, percent_rank_udwf, rank_udwf};
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::{
    WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition, WindowUDF,
};
use datafusion::physical_expr::expressions::{CastExpr, lit};
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::PhysicalExpr;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::{WindowAggExec, create_window_expr};
use datafusion::scalar::ScalarValue;
use hushtable_lang::{ColumnType, Expr};
use hushtable_plan::{
    Distance, FrameEnd, Relation, RowFrame, UnitAggregate, WindowFunction, WindowOrder,
    WindowedColumn,
};

use super::{Lowering, NeededColumns, SharedPlan, TotalExpr, column, function, select_columns};
use crate::error::EngineError;

impl Lowering<'_> {
    /// Adds the requested windows, one after the other. The rows of each are sorted by its
    /// partition and its order. All other columns that the query reads break ties: rows that agree
    /// in all of them are interchangeable. Several windows have these columns sorted once, and a
    /// row's number in that order breaks their ties.
    pub(super) async fn window(
        &self,
        input: &Relation,
        windows: &[WindowedColumn],
        requested: &[usize],
    ) -> Result<SharedPlan, EngineError> {
        let width = input.fields().len();
        let computed: Vec<usize> =
            (0..windows.len()).filter(|at| requested.contains(&(width + at))).collect();
        let mut needed = NeededColumns::default();
        requested
            .iter()
            .filter(|&&index| index < width)
            .for_each(|&index| needed.add_column(index));
        for &at in &computed {
            let window = windows.get(at).ok_or(EngineError::inconsistent(
                "a computed window is not among the windows of its operator",
            ))?;
            let order = window.order_by.iter().map(|o| &o.expr);
            let read = window.partition_by.iter().chain(order).chain(window.function.operands());
            read.for_each(|expr| needed.add(expr));
        }
        if let Some(unit) = input.protection().unit() {
            needed.add_column(unit);
        }
        let mut width_before = needed.columns().len();
        let mut plan = self.plan(input, needed.columns()).await?;
        if let Some(unit) = input.protection().unit() {
            plan = self.repartitioned(plan, &[needed.index_of(unit)?])?;
        } else if !computed.is_empty() {
            // Public rows: no key is common to all windows.
            plan = Arc::new(CoalescePartitionsExec::new(plan));
        }
        let mut ties = 0..width_before;
        if computed.len() > 1 {
            let unit = input.protection().unit().map(|unit| needed.index_of(unit)).transpose()?;
            plan = numbered(plan, unit)?;
            ties = width_before..width_before + 1;
            width_before += 1;
        }
        for &at in &computed {
            let window = windows.get(at).ok_or(EngineError::inconsistent(
                "a computed window is not among the windows of its operator",
            ))?;
            plan = windowed(plan, window, (&needed, ties.clone()), self.padded)?;
        }
        let position = |&index: &usize| match index.checked_sub(width) {
            None => needed.index_of(index),
            Some(at) => {
                let at = computed.iter().position(|&c| c == at);
                at.map(|at| width_before + at)
                    .ok_or(EngineError::inconsistent("a window that is read is not computed"))
            }
        };
        let indices = requested.iter().map(position).collect::<Result<Vec<_>, _>>()?;
        select_columns(plan, &indices)
    }
}

/// Adds each row's number within its unit, in the order of all columns.
fn numbered(plan: SharedPlan, unit: Option<usize>) -> Result<SharedPlan, EngineError> {
    let width = plan.schema().fields().len();
    let others = (0..width).filter(|index| unit != Some(*index));
    let sort = unit.into_iter().chain(others).map(|index| plainly(column(&plan, index)));
    let sort = LexOrdering::new(sort)
        .ok_or(EngineError::inconsistent("a window has nothing to sort by"))?;
    let sorted: SharedPlan =
        Arc::new(SortExec::new(sort, Arc::clone(&plan)).with_preserve_partitioning(true));
    let partition: Vec<Arc<dyn PhysicalExpr>> =
        unit.into_iter().map(|index| column(&plan, index)).collect();
    let number = (udwf(row_number_udwf()), Vec::new());
    with_value(sorted, number, (&partition, &[]), WindowFrame::new(None), width)
}

/// Adds one window's value after the existing columns: the input's, and those of earlier windows.
/// `ties` are the columns that break ties.
fn windowed(
    plan: SharedPlan,
    window: &WindowedColumn,
    (needed, ties): (&NeededColumns, Range<usize>),
    padded: bool,
) -> Result<SharedPlan, EngineError> {
    let width = plan.schema().fields().len();
    // Expressions to sort by become columns, so that DataFusion knows the order.
    let order = window.order_by.iter().map(|o| &o.expr);
    let operands: Vec<&Expr> =
        window.partition_by.iter().chain(order).chain(window.function.operands()).collect();
    let mut exprs: Vec<(Arc<dyn PhysicalExpr>, String)> =
        (0..width).map(|index| (column(&plan, index), index.to_string())).collect();
    let by_distance = window.frame.is_some_and(|frame| frame.has_distances());
    let order = window.partition_by.len()..window.partition_by.len() + window.order_by.len();
    for (at, operand) in operands.iter().enumerate() {
        let expr: Arc<dyn PhysicalExpr> =
            TotalExpr::over(&needed.renumbered(operand), &plan.schema(), padded)?;
        let expr = match by_distance && order.contains(&at) {
            true => measured(expr, operand.column_type),
            false => expr,
        };
        exprs.push((expr, format!("w{at}")));
    }
    let plan: SharedPlan = Arc::new(ProjectionExec::try_new(exprs, plan)?);
    let at = |index: usize| column(&plan, index);
    let partition: Vec<Arc<dyn PhysicalExpr>> =
        (0..window.partition_by.len()).map(|i| at(width + i)).collect();
    let first = width + window.partition_by.len();
    let ordered: Vec<PhysicalSortExpr> = window
        .order_by
        .iter()
        .enumerate()
        .map(|(i, order)| PhysicalSortExpr {
            expr: at(first + i),
            options: SortOptions { descending: order.descending, nulls_first: order.nulls_first },
        })
        .collect();
    let mut sort: Vec<PhysicalSortExpr> = partition.iter().cloned().map(plainly).collect();
    sort.extend(ordered.iter().cloned());
    // How a sort leaves ties can depend on the rows of other units.
    sort.extend(ties.map(|index| plainly(at(index))));
    let sort = LexOrdering::new(sort)
        .ok_or(EngineError::inconsistent("a window has nothing to sort by"))?;
    let sorted = Arc::new(SortExec::new(sort, Arc::clone(&plan)).with_preserve_partitioning(true));

    let operand = first + window.order_by.len();
    let function_of = match &window.function {
        WindowFunction::RowNumber => (udwf(row_number_udwf()), Vec::new()),
        WindowFunction::Rank => (udwf(rank_udwf()), Vec::new()),
        WindowFunction::DenseRank => (udwf(dense_rank_udwf()), Vec::new()),
        WindowFunction::PercentRank => (udwf(percent_rank_udwf()), Vec::new()),
        WindowFunction::CumulativeShare => (udwf(cume_dist_udwf()), Vec::new()),
        WindowFunction::Ntile(buckets) => (udwf(ntile_udwf()), vec![lit(i64::from(*buckets))]),
        WindowFunction::Lag(_, by) => (udwf(lag_udwf()), vec![at(operand), lit(i64::from(*by))]),
        WindowFunction::Lead(_, by) => (udwf(lead_udwf()), vec![at(operand), lit(i64::from(*by))]),
        WindowFunction::FirstValue(_) => (udwf(first_value_udwf()), vec![at(operand)]),
        WindowFunction::LastValue(_) => (udwf(last_value_udwf()), vec![at(operand)]),
        WindowFunction::NthValue(_, n) => {
            (udwf(nth_value_udwf()), vec![at(operand), lit(i64::from(*n))])
        }
        WindowFunction::Aggregate(UnitAggregate::Rows) => {
            let count = function(&UnitAggregate::Rows);
            (WindowFunctionDefinition::AggregateUDF(count), vec![lit(1i64)])
        }
        WindowFunction::Aggregate(aggregate) => {
            (WindowFunctionDefinition::AggregateUDF(function(aggregate)), vec![at(operand)])
        }
    };
    // The standard's frame: all of the partition, or up to the row and its peers.
    let standard = || WindowFrame::new((!ordered.is_empty()).then_some(false));
    let frame =
        window.frame.as_ref().map_or_else(standard, |frame| window_frame(frame, &window.order_by));
    with_value(sorted, function_of, (&partition, &ordered), frame, width)
}

/// Adds a window's value over sorted rows after their first `width` columns, and drops the others.
fn with_value(
    sorted: SharedPlan,
    (definition, arguments): (WindowFunctionDefinition, Vec<Arc<dyn PhysicalExpr>>),
    (partition, ordered): (&[Arc<dyn PhysicalExpr>], &[PhysicalSortExpr]),
    frame: WindowFrame,
    width: usize,
) -> Result<SharedPlan, EngineError> {
    let expr = create_window_expr(
        &definition,
        "w".to_owned(),
        &arguments,
        partition,
        ordered,
        Arc::new(frame),
        sorted.schema(),
        false,
        false,
        None,
    )?;
    let plan: SharedPlan = Arc::new(WindowAggExec::try_new(vec![expr], sorted, true)?);
    // The window's value comes last; the columns that were sorted by are not needed any more.
    let value = plan.schema().fields().len() - 1;
    let mut exprs: Vec<(Arc<dyn PhysicalExpr>, String)> =
        (0..width).map(|index| (column(&plan, index), index.to_string())).collect();
    let raw = column(&plan, value);
    // Numbers and ranks are unsigned; the engine's integers are signed.
    let signed = match plan.schema().field(value).data_type() {
        DataType::UInt64 => Arc::new(CastExpr::new(raw, DataType::Int64, None)) as _,
        _ => raw,
    };
    exprs.push((signed, width.to_string()));
    Ok(Arc::new(ProjectionExec::try_new(exprs, plan)?))
}

fn plainly(expr: Arc<dyn PhysicalExpr>) -> PhysicalSortExpr {
    PhysicalSortExpr { expr, options: SortOptions::default() }
}

/// A frame of DataFusion's; with distances, over an order by [`measured`] values.
fn window_frame(frame: &RowFrame, order_by: &[WindowOrder]) -> WindowFrame {
    let of_rows = |end: FrameEnd| matches!(end, FrameEnd::Open | FrameEnd::Rows(_));
    let units = match of_rows(frame.start) && of_rows(frame.end) {
        true => WindowFrameUnits::Rows,
        false => WindowFrameUnits::Range,
    };
    let rows = |count: Option<i32>| {
        ScalarValue::UInt64(count.map(|count| u64::from(count.unsigned_abs())))
    };
    let scale = order_by.first().map_or(0, |by| match by.expr.column_type {
        ColumnType::Decimal { scale } => scale,
        _ => 0,
    });
    let bound = |end: FrameEnd, open: fn(ScalarValue) -> WindowFrameBound| match end {
        FrameEnd::Open => open(rows(None)),
        FrameEnd::Rows(0) | FrameEnd::Peers => WindowFrameBound::CurrentRow,
        FrameEnd::Rows(count) if count < 0 => WindowFrameBound::Preceding(rows(Some(count))),
        FrameEnd::Rows(count) => WindowFrameBound::Following(rows(Some(count))),
        FrameEnd::Before(distance) => WindowFrameBound::Preceding(scalar(distance, scale)),
        FrameEnd::After(distance) => WindowFrameBound::Following(scalar(distance, scale)),
    };
    WindowFrame::new_bounds(
        units,
        bound(frame.start, WindowFrameBound::Preceding),
        bound(frame.end, WindowFrameBound::Following),
    )
}

fn scalar(distance: Distance, scale: u8) -> ScalarValue {
    match distance {
        Distance::Digits(digits) => {
            ScalarValue::Decimal128(Some(digits.into()), 38, scale.cast_signed())
        }
        Distance::Float(distance) => ScalarValue::Float64(Some(distance)),
        Distance::Time { months, days, micros } => ScalarValue::IntervalMonthDayNano(Some(
            IntervalMonthDayNano::new(months, days, micros.saturating_mul(1_000)),
        )),
    }
}

/// The values of an order, of a type in which a distance can be added to all of them: a sum of
/// integers can leave their 64 bits.
fn measured(value: Arc<dyn PhysicalExpr>, of: ColumnType) -> Arc<dyn PhysicalExpr> {
    match of {
        ColumnType::Int => Arc::new(CastExpr::new(value, DataType::Decimal128(38, 0), None)),
        _ => value,
    }
}

fn udwf(function: Arc<WindowUDF>) -> WindowFunctionDefinition {
    WindowFunctionDefinition::WindowUDF(function)
}
