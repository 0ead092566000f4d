//! SQL around private parts, run by DataFusion over the tables that the parts release.
//!
//! Its session knows those tables and nothing else: no files, no information schema, no functions
//! but the aggregates, the windows and the computed expressions that [`Around`] calls. All that it
//! does depends on released values alone, so its errors may show them.

mod pairs;

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options, concat_batches};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Schema, SchemaRef};
use datafusion::catalog::MemTable;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::{SessionStateBuilder, SessionStateDefaults};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use datafusion::physical_expr::expressions::lit;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use hushtable_lang::{ColumnType, Expr, Refusal};
use hushtable_plan::{Around, Computed, cell_name};

use self::pairs::{BoundedPairs, MAX_PAIRS};
use crate::error::EngineError;
use crate::eval::Program;
use crate::invariant::Invariant;
use crate::memory::Memory;
use crate::rebuild::rebuilt;
use crate::source::convert::arrow_type;

/// A result, and the cells of its columns, which say where their values come from.
pub(crate) struct Ran {
    pub(crate) table: RecordBatch,
    /// The columns as they were run: those of the table, and after them hidden ones.
    pub(crate) columns: Vec<ArrayRef>,
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

/// Checks that SQL can be run over tables of these columns, one for each part.
///
/// # Errors
/// When it does not fit them.
pub(crate) async fn check(
    around: &Around,
    tables: Vec<(String, SchemaRef)>,
    memory: &Memory,
) -> Result<(), EngineError> {
    // The SQL is planned over the real columns and no rows, so that it cannot be refused for its
    // form after the charge.
    let empty = |(name, schema): (String, SchemaRef)| (name, RecordBatch::new_empty(schema));
    let tables = tables.into_iter().map(empty).collect();
    planned(around, tables, memory, MAX_PAIRS).await.map_err(|e| failed(e, memory))?;
    Ok(())
}

/// Runs SQL over released tables, one for each part.
///
/// # Errors
/// When the released values do not allow it.
pub(crate) async fn run(
    around: &Around,
    tables: Vec<(String, RecordBatch)>,
    memory: &Memory,
) -> Result<Ran, EngineError> {
    run_within(MAX_PAIRS, around, tables, memory).await
}

/// Runs SQL over released tables, if no more pairs of their rows meet in joins.
pub(crate) async fn run_within(
    pairs: u64,
    around: &Around,
    tables: Vec<(String, RecordBatch)>,
    memory: &Memory,
) -> Result<Ran, EngineError> {
    let planned = planned(around, tables, memory, pairs).await;
    let (context, plan) = planned.map_err(|e| failed(e, memory))?;
    let schema = plan.schema();
    let batches = collect(plan, context.task_ctx()).await;
    let batches = batches.map_err(|e| failed(e, memory))?;
    let batch = concat_batches(&schema, &batches).map_err(|e| refused(e.into()))?;
    let table = named(around, &batch).map_err(refused)?;
    Ok(Ran { table, columns: batch.columns().to_vec() })
}

/// A released table with names in lower case, and behind its columns those of their cells.
fn with_cells(part: usize, table: &RecordBatch) -> Result<RecordBatch, DataFusionError> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, values) in table.schema().fields().iter().zip(table.columns()) {
        fields.push(Field::new(field.name().to_ascii_lowercase(), field.data_type().clone(), true));
        columns.push(Arc::clone(values));
    }
    for (column, field) in table.schema().fields().iter().enumerate() {
        let cell = |row| ReleasedCell { part, column, row }.number();
        let cells: Int64Array = (0..table.num_rows()).map(cell).collect();
        fields.push(Field::new(cell_name(field.name()), DataType::Int64, true));
        columns.push(Arc::new(cells));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(table.num_rows()));
    let schema = Arc::new(Schema::new(fields));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}

async fn planned(
    around: &Around,
    tables: Vec<(String, RecordBatch)>,
    memory: &Memory,
    pairs: u64,
) -> Result<(SessionContext, Arc<dyn ExecutionPlan>), DataFusionError> {
    // One partition: nothing depends on which of several is first.
    let config = SessionConfig::new().with_target_partitions(1).with_information_schema(false);
    let functions = around.computed.iter().map(|function| {
        let operands = vec![TypeSignature::Any(function.operands())];
        let signature = match function.operands() {
            0 => Signature::nullary(Volatility::Immutable),
            _ => Signature::one_of(operands, Volatility::Immutable),
        };
        let (computed, bound) = (function.clone(), Arc::default());
        Arc::new(ScalarUDF::new_from_impl(Function { computed, signature, bound }))
    });
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(memory.tasks().runtime_env())
        .with_expr_planners(SessionStateDefaults::default_expr_planners())
        .with_scalar_functions(functions.collect())
        .with_aggregate_functions(SessionStateDefaults::default_aggregate_functions())
        .with_window_functions(SessionStateDefaults::default_window_functions())
        .with_physical_optimizer_rule(Arc::new(InOrder))
        .with_physical_optimizer_rule(Arc::new(BoundedPairs::new(pairs)))
        .build();
    let context = SessionContext::new_with_state(state);
    for (part, (name, table)) in tables.into_iter().enumerate() {
        let table = with_cells(part, &table)?;
        let table = MemTable::try_new(table.schema(), vec![vec![table]])?;
        context.register_table(&name, Arc::new(table))?;
    }
    let query = ast::Statement::Query(Box::new(around.query.clone()));
    let statement = Statement::Statement(Box::new(query));
    let plan = context.state().statement_to_plan(statement).await?;
    let queries = SQLOptions::new();
    queries
        // The SQL is the analyst's: COPY, SET and CREATE EXTERNAL TABLE would reach files.
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(&plan)?;
    let plan = context.state().create_physical_plan(&plan).await?;
    Ok((context, plan))
}

/// The result with the names and types of its release.
fn named(around: &Around, batch: &RecordBatch) -> Result<RecordBatch, DataFusionError> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (name, column) in around.columns.iter().zip(batch.columns()) {
        let column = rebuilt(&in_engine_types(column)?)?;
        fields.push(Field::new(name, column.data_type().clone(), true));
        columns.push(column);
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

/// A column in the engine's own types. A value that its type does not hold is NULL, and so is a
/// float that is no number.
fn in_engine_types(column: &ArrayRef) -> Result<ArrayRef, DataFusionError> {
    let target = arrow_type(column_type(column.data_type())?);
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let column = cast_with_options(column, &target, &options)?;
    let Some(floats) = column.as_primitive_opt::<Float64Type>() else { return Ok(column) };
    let finite: Float64Array = floats.iter().map(|x| x.filter(|x| x.is_finite())).collect();
    Ok(Arc::new(finite))
}

fn column_type(data_type: &DataType) -> Result<ColumnType, DataFusionError> {
    Ok(match data_type {
        DataType::Null | DataType::Boolean => ColumnType::Bool,
        integer if integer.is_integer() => ColumnType::Int,
        float if float.is_floating() => ColumnType::Float,
        DataType::Decimal128(_, scale) if (0..=18).contains(scale) => {
            ColumnType::Decimal { scale: scale.unsigned_abs() }
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ColumnType::String,
        DataType::Date32 => ColumnType::Date,
        DataType::Timestamp(..) => ColumnType::Timestamp,
        other => {
            return Err(DataFusionError::Plan(format!("values of type {other} are not supported")));
        }
    })
}

/// The error of SQL that cannot be planned or run with this memory.
fn failed(error: DataFusionError, memory: &Memory) -> EngineError {
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
        "change that SQL: it costs nothing, and parts that are on record stay free",
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

/// A scalar expression as a function of DataFusion's.
#[derive(Debug)]
struct Function {
    computed: Computed,
    signature: Signature,
    bound: Arc<Bound>,
}

/// The bound form of an expression, by the types of its operands: a planner asks again and
/// again.
type Bound = Mutex<Vec<(Vec<ColumnType>, Result<Expr, Refusal>)>>;

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.computed == other.computed && self.signature == other.signature
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.computed.hash(state);
        self.signature.hash(state);
    }
}

impl Function {
    fn bound(&self, types: &[DataType]) -> Result<Expr, DataFusionError> {
        let types = types.iter().map(column_type).collect::<Result<Vec<_>, _>>()?;
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let known = bound.iter().find(|(operands, _)| *operands == types);
        let expr = match known {
            Some((_, expr)) => expr.clone(),
            None => {
                let expr = self.computed.bind(&types);
                bound.push((types, expr.clone()));
                expr
            }
        };
        expr.map_err(|refusal| DataFusionError::External(Box::new(refusal)))
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        &self.computed.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType, DataFusionError> {
        Ok(arrow_type(self.bound(types)?.column_type))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue, DataFusionError> {
        let rows = args.number_rows;
        let types: Vec<DataType> = args.args.iter().map(ColumnarValue::data_type).collect();
        let columns = args.args.into_iter().map(|value| in_engine_types(&value.into_array(rows)?));
        let columns = columns.collect::<Result<Vec<_>, DataFusionError>>()?;
        let value = Program::new(&self.bound(&types)?)?.evaluate(&columns, rows)?;
        Ok(ColumnarValue::Array(value))
    }
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
