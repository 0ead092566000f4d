//! Nodes that a plan in bytes may have: those that lowering writes, and no others.
//!
//! DataFusion reads many more operators and expressions from bytes: some read or write files of
//! their own, and some make room for as much as the bytes say. So each node is looked at before it
//! is read.

use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use datafusion_proto::generated::datafusion_common::scalar_value::Value;
use datafusion_proto::physical_plan::from_proto::parse_physical_expr_with_converter;
use datafusion_proto::physical_plan::to_proto::serialize_physical_expr_with_converter;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalPlanNodeExt,
    PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::partitioning::PartitionMethod;
use datafusion_proto::protobuf::physical_aggregate_expr_node::AggregateFunction;
use datafusion_proto::protobuf::physical_expr_node::ExprType;
use datafusion_proto::protobuf::physical_plan_node::PhysicalPlanType;
use datafusion_proto::protobuf::physical_window_expr_node::WindowFunction;
use datafusion_proto::protobuf::window_frame::EndBound;
use datafusion_proto::protobuf::{
    PhysicalExprNode, PhysicalExtensionNode, PhysicalPlanNode, ScalarValue, WindowFrame,
};

use crate::bound_exec::BoundExec;
use crate::invariant::Invariant;
use crate::limit_rows::LimitRowsExec;
use crate::lower::{ExtraRowExec, MOST_UNIT_PARTITIONS, NeverEmptyExec, unit_function};
use crate::source::SourceExec;

/// DataFusion's aggregates and window functions in plans.
const FUNCTIONS: [&str; 14] = [
    "count",
    "min",
    "max",
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
];

/// Reads and writes the nodes of plans, and refuses those that no plan of this program has.
pub(super) struct AllowedNodes;

#[track_caller]
fn not_allowed() -> DataFusionError {
    Invariant::new("a plan in bytes has a part that no plan of this program has").into()
}

fn check(allowed: bool) -> Result<()> {
    if allowed { Ok(()) } else { Err(not_allowed()) }
}

impl PhysicalProtoConverterExtension for AllowedNodes {
    fn proto_to_execution_plan(
        &self,
        proto: &PhysicalPlanNode,
        ctx: &PhysicalPlanDecodeContext<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check_operator(proto)?;
        proto.try_into_physical_plan_with_context(ctx, self)
    }

    fn execution_plan_to_proto(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        codec: &dyn PhysicalExtensionCodec,
    ) -> Result<PhysicalPlanNode> {
        let Some(inputs) = inputs(plan) else {
            let plan = Arc::clone(plan);
            let proto = PhysicalPlanNode::try_from_physical_plan_with_converter(plan, codec, self)?;
            check_operator(&proto)?;
            return Ok(proto);
        };
        let mut node = Vec::new();
        codec.try_encode(Arc::clone(plan), &mut node, self)?;
        let inputs = inputs.into_iter().map(|input| self.execution_plan_to_proto(input, codec));
        let inputs = inputs.collect::<Result<_>>()?;
        let extension = PhysicalPlanType::Extension(PhysicalExtensionNode { node, inputs });
        Ok(PhysicalPlanNode { physical_plan_type: Some(extension) })
    }

    fn proto_to_physical_expr(
        &self,
        proto: &PhysicalExprNode,
        schema: &Schema,
        ctx: &PhysicalPlanDecodeContext<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        check_expression(proto)?;
        parse_physical_expr_with_converter(proto, schema, ctx, self)
    }

    fn physical_expr_to_proto(
        &self,
        expr: &Arc<dyn PhysicalExpr>,
        codec: &dyn PhysicalExtensionCodec,
    ) -> Result<PhysicalExprNode> {
        let proto = serialize_physical_expr_with_converter(expr, codec, self)?;
        check_expression(&proto)?;
        Ok(proto)
    }
}

/// The inputs that an operator of ours is written with; `None` for DataFusion's operators. The list
/// of a source is not written: it follows from the table.
fn inputs(plan: &Arc<dyn ExecutionPlan>) -> Option<Vec<&Arc<dyn ExecutionPlan>>> {
    if plan.downcast_ref::<SourceExec>().is_some() {
        return Some(Vec::new());
    }
    let ours = plan.downcast_ref::<BoundExec>().is_some()
        || plan.downcast_ref::<LimitRowsExec>().is_some()
        || plan.downcast_ref::<NeverEmptyExec>().is_some()
        || plan.downcast_ref::<ExtraRowExec>().is_some();
    ours.then(|| plan.children())
}

/// Refuses an operator that lowering does not write.
fn check_operator(proto: &PhysicalPlanNode) -> Result<()> {
    match proto.physical_plan_type.as_ref().ok_or_else(not_allowed)? {
        PhysicalPlanType::Extension(_)
        | PhysicalPlanType::Projection(_)
        | PhysicalPlanType::Filter(_)
        | PhysicalPlanType::Merge(_)
        | PhysicalPlanType::HashJoin(_)
        | PhysicalPlanType::Union(_)
        | PhysicalPlanType::Sort(_) => Ok(()),
        PhysicalPlanType::Repartition(repartition) => {
            let by = repartition.partitioning.as_ref().and_then(|by| by.partition_method.as_ref());
            let Some(PartitionMethod::Hash(hash)) = by else { return Err(not_allowed()) };
            check((1..=MOST_UNIT_PARTITIONS as u64).contains(&hash.partition_count))
        }
        PhysicalPlanType::Aggregate(aggregate) => {
            aggregate.aggr_expr.iter().try_for_each(check_expression)
        }
        PhysicalPlanType::Window(window) => {
            for function in &window.window_expr {
                let name = match &function.window_function {
                    Some(
                        WindowFunction::UserDefinedAggrFunction(name)
                        | WindowFunction::UserDefinedWindowFunction(name),
                    ) => name,
                    None => return Err(not_allowed()),
                };
                check(is_function(name))?;
                function.window_frame.as_ref().map_or(Ok(()), check_frame)?;
            }
            Ok(())
        }
        _ => Err(not_allowed()),
    }
}

/// Refuses an expression that lowering does not write.
fn check_expression(proto: &PhysicalExprNode) -> Result<()> {
    match proto.expr_type.as_ref().ok_or_else(not_allowed)? {
        ExprType::Column(_) | ExprType::Extension(_) | ExprType::Cast(_) | ExprType::Sort(_) => {
            Ok(())
        }
        // Lists are read by a decoder that believes the lengths in them.
        ExprType::Literal(literal) => check(matches!(literal.value, Some(Value::Int64Value(_)))),
        ExprType::AggregateExpr(aggregate) => match &aggregate.aggregate_function {
            Some(AggregateFunction::UserDefinedAggrFunction(name)) => check(is_function(name)),
            None => Err(not_allowed()),
        },
        _ => Err(not_allowed()),
    }
}

fn is_function(name: &str) -> bool {
    FUNCTIONS.contains(&name) || unit_function(name).is_some()
}

/// Refuses a frame whose ends are neither open, nor numbers of rows, nor distances of values.
fn check_frame(frame: &WindowFrame) -> Result<()> {
    let end = frame.end_bound.as_ref().map(|EndBound::Bound(end)| end);
    let ends = [frame.start_bound.as_ref(), end];
    let mut values = ends.into_iter().flatten().filter_map(|end| end.bound_value.as_ref());
    let allowed = |ScalarValue { value }: &ScalarValue| match value {
        None
        | Some(
            Value::NullValue(_)
            | Value::Uint64Value(_)
            | Value::Float64Value(_)
            | Value::IntervalMonthDayNano(_),
        ) => true,
        // The decoder panics at another length.
        Some(Value::Decimal128Value(decimal)) => decimal.value.len() == size_of::<i128>(),
        Some(_) => false,
    };
    check(values.all(allowed))
}
