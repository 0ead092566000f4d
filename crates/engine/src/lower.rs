//! From a relation to a plan of DataFusion's operators.
//!
//! Joins, unions, aggregates and windows are DataFusion's; expressions in them are total
//! ([`total`]), and so are sums ([`sums`]). The plan is built operator by operator and no optimizer
//! touches it, so that it does what the relation says and nothing else. Rows of one unit are in one
//! partition wherever an operator looks at several of them.

mod extra_row;
mod join;
mod never_empty;
mod sorted;
mod sums;
mod total;
mod unit_functions;
mod whole_groups;
mod windows;

#[cfg(test)]
mod both_neighbours;
#[cfg(test)]
mod neighbours;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::error::DataFusionError;
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::AggregateUDF;
use datafusion::physical_expr::aggregate::AggregateExprBuilder;
use datafusion::physical_expr::expressions::{Column, lit};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning, PhysicalExpr};
use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind, Value};
use hushtable_plan::{
    NamedExpr, Operator, Origin, Relation, UnitAggregate, WindowFunction, WindowOrder,
    WindowedColumn,
};

use crate::error::EngineError;
use crate::limit_rows::{LimitRowsExec, RowLimit};
use crate::rows::MOST_UNPADDED;
use crate::source::{self, Data, ReadProgress, ReadRequest};
pub(crate) use extra_row::ExtraRowExec;
pub(crate) use never_empty::NeverEmptyExec;
pub(crate) use total::EncodedExpr;
use total::{TotalExpr, ValueLimit};
use unit_functions::UnitFunction;
pub(crate) use unit_functions::unit_function;

/// Most partitions of the units. Where there are fewer threads, there are as many as these: with
/// more, fewer rows share a place in memory. More than 16 have not been measured.
pub(crate) const MOST_UNIT_PARTITIONS: usize = 16;

type SharedPlan = Arc<dyn ExecutionPlan>;
type PlanFuture<'a> = Pin<Box<dyn Future<Output = Result<SharedPlan, EngineError>> + Send + 'a>>;

/// Builds plans over the rows of tables.
pub(crate) struct Lowering<'a> {
    pub(crate) data: &'a Data,
    /// In how many partitions tables are read.
    partitions: usize,
    /// In how many partitions the units are.
    unit_partitions: usize,
    pub(crate) progress: &'a Arc<ReadProgress>,
    /// Whether expressions are computed for a row of NULLs after those of every batch.
    padded: bool,
    /// Columns that identify units, or the rows that other tables refer to.
    identifying: BTreeSet<Origin>,
}

impl<'a> Lowering<'a> {
    /// The lowering of a relation over these rows, for that many partitions at once.
    pub(crate) fn of(
        relation: &Relation,
        data: &'a Data,
        partitions: usize,
        progress: &'a Arc<ReadProgress>,
    ) -> Self {
        Self {
            data,
            // At least two, so that a table is read in parts on every machine, as in the tests.
            partitions: partitions.max(2),
            unit_partitions: partitions.clamp(1, MOST_UNIT_PARTITIONS),
            progress,
            padded: relation.operations() > MOST_UNPADDED,
            identifying: relation.identifying(),
        }
    }
}

impl Lowering<'_> {
    /// A plan of exactly the `requested` columns of a relation, in that order.
    ///
    /// # Errors
    /// When a file cannot be opened, or lacks a column or its type: never because of a value.
    pub(crate) fn plan<'a>(
        &'a self,
        relation: &'a Relation,
        requested: &'a [usize],
    ) -> PlanFuture<'a> {
        Box::pin(async move {
            match relation.operator() {
                Operator::Scan { columns, column_bytes, .. } => {
                    // The column after those of the files identifies rows.
                    let rows = requested.contains(&columns.len());
                    let stored: Vec<usize> =
                        requested.iter().copied().filter(|&index| index != columns.len()).collect();
                    let plan = self.scan(relation.operator(), (&stored, None), rows);
                    let plan = shortened(plan.await?, column_bytes, &stored)?;
                    let mut next = 0;
                    let indices = requested.iter().map(|&index| match index == columns.len() {
                        true => stored.len(),
                        false => {
                            next += 1;
                            next - 1
                        }
                    });
                    let indices: Vec<usize> = indices.collect();
                    if rows { select_columns(plan, &indices) } else { Ok(plan) }
                }
                Operator::First { input, keys } => {
                    let rows = first_of_each(input, keys)?;
                    self.plan(&rows, requested).await
                }
                Operator::Take { input, rows } => {
                    let (known, unit) = with_units(input)?;
                    let mut needed = NeededColumns::of(requested);
                    needed.add_column(unit);
                    let plan = self.plan(&known, needed.columns()).await?;
                    let plan = self.limited(plan, needed.index_of(unit)?, *rows)?;
                    select_columns(plan, &needed.indices_of(requested)?)
                }
                Operator::Filter { input, condition } => {
                    let mut needed = NeededColumns::of(requested);
                    needed.add(condition);
                    let plan = self.plan(input, needed.columns()).await?;
                    let plan: SharedPlan = Arc::new(NeverEmptyExec::new(plan));
                    let condition = needed.over(condition, &plan, self.padded)?;
                    let plan = Arc::new(FilterExec::try_new(condition, plan)?);
                    select_columns(plan, &needed.indices_of(requested)?)
                }
                Operator::Project { input, columns } => {
                    let pick = |&index: &usize| {
                        columns.get(index).ok_or(EngineError::inconsistent(
                            "a plan reads a column that its relation does not have",
                        ))
                    };
                    let columns = requested.iter().map(pick).collect::<Result<Vec<_>, _>>()?;
                    let mut needed = NeededColumns::default();
                    columns.iter().for_each(|column| needed.add(&column.expr));
                    let plan = self.plan(input, needed.columns()).await?;
                    let exprs: Vec<&Expr> = columns.iter().map(|column| &column.expr).collect();
                    needed.project(&exprs, plan, self.padded)
                }
                Operator::Join { .. } => self.join(relation, requested).await,
                Operator::UnionAll { inputs } => {
                    let columns = |&index: &usize| column_of(relation, index);
                    let columns = requested.iter().map(columns).collect::<Result<Vec<_>, _>>()?;
                    let mut sides = Vec::with_capacity(inputs.len());
                    for input in inputs {
                        let plan = self.plan(input, requested).await?;
                        sides.push(union_side(plan, &columns, self.padded)?);
                    }
                    Ok(UnionExec::try_new(sides)?)
                }
                Operator::Aggregate { input, keys, aggregates } => {
                    self.aggregate(input, keys, aggregates, requested).await
                }
                Operator::Window { input, columns } => self.window(input, columns, requested).await,
            }
        })
    }

    /// A plan of the requested columns and, where a column names the unit, of the units after them.
    /// Units of a table alone may have more digits than its column.
    ///
    /// # Errors
    /// Fails as [`plan`](Self::plan) does.
    pub(crate) async fn rows(
        &self,
        relation: &Relation,
        requested: &[usize],
    ) -> Result<SharedPlan, EngineError> {
        let unit = relation.protection().unit();
        if let scan @ Operator::Scan { .. } = relation.operator() {
            return self.scan(scan, (requested, unit), false).await;
        }
        let all: Vec<usize> = requested.iter().copied().chain(unit).collect();
        self.plan(relation, &all).await
    }

    async fn scan(
        &self,
        scan: &Operator,
        (requested, unit): (&[usize], Option<usize>),
        rows: bool,
    ) -> Result<SharedPlan, EngineError> {
        let Operator::Scan { table, columns, names_in_files, column_bytes, csv, .. } = scan else {
            return Err(EngineError::inconsistent(
                "a scan is to be planned from an operator that is none",
            ));
        };
        let data = self.data.get(table).ok_or(EngineError::inconsistent(
            "a query scans a table of which it is not known where its rows are",
        ))?;
        let in_file = |name: &String| names_in_files.get(name).unwrap_or(name).clone();
        let pick = |index: usize| {
            let column = columns.get(index).ok_or(EngineError::inconsistent(
                "a plan reads a column that its table does not have",
            ))?;
            Ok::<_, EngineError>((in_file(&column.0), column.1))
        };
        let request = ReadRequest {
            columns: requested.iter().map(|&index| pick(index)).collect::<Result<_, _>>()?,
            unit: unit.map(pick).transpose()?,
            csv: csv.clone(),
            rows,
            identifying: self
                .identifying
                .iter()
                .filter(|origin| origin.table == *table)
                .map(|origin| in_file(&origin.column))
                .collect(),
            text_bytes: columns
                .iter()
                .zip(column_bytes)
                .filter(|((_, column_type), _)| *column_type == ColumnType::String)
                .map(|((name, _), bytes)| (in_file(name), *bytes))
                .collect(),
        };
        Ok(source::scan_data(data, &request, self.partitions, self.progress).await?)
    }

    async fn aggregate(
        &self,
        input: &Relation,
        keys: &[NamedExpr],
        aggregates: &[(String, UnitAggregate)],
        requested: &[usize],
    ) -> Result<SharedPlan, EngineError> {
        // All keys make the groups; of the aggregates only the requested ones are computed.
        let computed: Vec<usize> =
            (0..aggregates.len()).filter(|at| requested.contains(&(keys.len() + at))).collect();
        let mut exprs: Vec<&Expr> = keys.iter().map(|key| &key.expr).collect();
        let mut operands = Vec::new();
        for &at in &computed {
            let of = aggregates.get(at).map_or(&[][..], |(_, aggregate)| aggregate.operands());
            operands.push(exprs.len()..exprs.len() + of.len());
            exprs.extend(of);
        }
        let mut needed = NeededColumns::default();
        exprs.iter().for_each(|expr| needed.add(expr));
        let plan = self.plan(input, needed.columns()).await?;
        let plan = needed.project(&exprs, plan, self.padded)?;
        let by: Vec<usize> = match input.protection().unit() {
            Some(_) => keys.iter().position(|key| input.is_unit(&key.expr)).into_iter().collect(),
            None => (0..keys.len()).collect(),
        };
        let plan = self.repartitioned(plan, &by)?;
        let schema = plan.schema();
        let group = (0..keys.len()).map(|index| {
            let name = schema.field(index).name().clone();
            (column(&plan, index), name)
        });
        let group = PhysicalGroupBy::new_single(group.collect());
        let mut functions = Vec::new();
        for (&at, operands) in computed.iter().zip(operands) {
            let (_, aggregate) = aggregates.get(at).ok_or(EngineError::inconsistent(
                "a computed aggregate is not among the aggregates of its operator",
            ))?;
            let arguments = match operands.is_empty() {
                true => vec![lit(1i64)],
                false => operands.map(|index| column(&plan, index)).collect(),
            };
            let builder = AggregateExprBuilder::new(function(aggregate), arguments)
                .schema(Arc::clone(&schema))
                .alias(format!("a{at}"));
            let distinct = matches!(aggregate, UnitAggregate::CountDistinct(_));
            let builder = if distinct { builder.distinct() } else { builder };
            functions.push(Arc::new(builder.build()?));
        }
        let filters = vec![None; functions.len()];
        let mode = AggregateMode::SinglePartitioned;
        let plan = AggregateExec::try_new(mode, group, functions, filters, plan, schema)?;
        let position = |&index: &usize| match index.checked_sub(keys.len()) {
            None => Ok(index),
            Some(at) => {
                let computed_index = computed.iter().position(|&other| other == at);
                computed_index
                    .map(|index| keys.len() + index)
                    .ok_or(EngineError::inconsistent("an aggregate that is read is not computed"))
            }
        };
        let indices = requested.iter().map(position).collect::<Result<Vec<_>, _>>()?;
        select_columns(Arc::new(plan), &indices)
    }

    /// Some rows of each unit, which the column `unit` names; rows of a unit are then in one
    /// partition.
    fn limited(&self, plan: SharedPlan, unit: usize, rows: u32) -> Result<SharedPlan, EngineError> {
        let plan = self.repartitioned(plan, &[unit])?;
        Ok(Arc::new(LimitRowsExec::new(plan, RowLimit { unit, rows })?))
    }

    /// The distinct combinations of the values in those columns, and the columns that then hold
    /// them.
    fn distinct(
        &self,
        plan: SharedPlan,
        indices: &[usize],
    ) -> Result<(SharedPlan, Vec<usize>), EngineError> {
        let plan = select_columns(plan, indices)?;
        let all: Vec<usize> = (0..indices.len()).collect();
        let plan = self.repartitioned(plan, &all)?;
        let schema = plan.schema();
        let group = all.iter().map(|&index| (column(&plan, index), index.to_string())).collect();
        let group = PhysicalGroupBy::new_single(group);
        let mode = AggregateMode::SinglePartitioned;
        let plan = AggregateExec::try_new(mode, group, Vec::new(), Vec::new(), plan, schema)?;
        Ok((Arc::new(plan), all))
    }

    /// Rows that agree in some columns in one partition.
    pub(crate) fn repartitioned(
        &self,
        plan: SharedPlan,
        by: &[usize],
    ) -> Result<SharedPlan, EngineError> {
        if by.is_empty() || by.iter().any(|&index| index >= plan.schema().fields().len()) {
            return Err(EngineError::inconsistent(
                "rows are partitioned by no column, or by one that their plan lacks",
            ));
        }
        let by = by.iter().map(|&index| column(&plan, index)).collect();
        let partitioning = Partitioning::Hash(by, self.unit_partitions);
        Ok(Arc::new(RepartitionExec::try_new(plan, partitioning)?))
    }
}

/// The relation that has the first row of each key: the least by all columns, so that it does not
/// matter which of them a query reads.
fn first_of_each(input: &Relation, keys: &[usize]) -> Result<Relation, EngineError> {
    let order = (0..input.fields().len()).map(|index| {
        let expr = column_of(input, index)?;
        Ok::<_, EngineError>(WindowOrder { expr, descending: false, nulls_first: true })
    });
    first_rows(input.clone(), keys, order.collect::<Result<_, _>>()?, 1)
}

/// The rows that have a unit, and the column that names it. Rows whose unit is NULL, or cannot be
/// read as its column's type, count for nothing: the number of their units is unknown.
fn with_units(input: &Relation) -> Result<(Relation, usize), EngineError> {
    let unit = input
        .protection()
        .unit()
        .ok_or(EngineError::inconsistent("a relation whose units are counted has no unit"))?;
    let of = |kind| Expr { kind, column_type: ColumnType::Bool };
    let unknown = of(ExprKind::IsNull(Box::new(column_of(input, unit)?)));
    let condition = of(ExprKind::Not(Box::new(unknown)));
    Ok((Relation::new(Operator::Filter { input: input.clone(), condition })?, unit))
}

/// The relation that has some rows of each key, the first in that order.
fn first_rows(
    input: Relation,
    keys: &[usize],
    order_by: Vec<WindowOrder>,
    rows: u32,
) -> Result<Relation, EngineError> {
    let numbered = WindowedColumn {
        name: "place".to_owned(),
        function: WindowFunction::RowNumber,
        partition_by: keys.iter().map(|&key| column_of(&input, key)).collect::<Result<_, _>>()?,
        order_by,
        frame: None,
    };
    let row_number = Expr::column(input.fields().len(), ColumnType::Int);
    let literal = ExprKind::Literal(Value::Int(rows.into()));
    let most = Expr { kind: literal, column_type: ColumnType::Int };
    let within = ExprKind::Binary(BinaryOp::Le, Box::new(row_number), Box::new(most));
    let condition = Expr { kind: within, column_type: ColumnType::Bool };
    let input = Relation::new(Operator::Window { input, columns: vec![numbered] })?;
    Ok(Relation::new(Operator::Filter { input, condition })?)
}

/// A column of a relation.
fn column_of(input: &Relation, index: usize) -> Result<Expr, EngineError> {
    let field = input.fields().get(index).ok_or(EngineError::inconsistent(
        "a plan reads a column that its relation does not have",
    ))?;
    Ok(Expr::column(index, field.column_type))
}

/// A side of a union: its columns are named by their numbers, and may all have NULLs. DataFusion
/// would cast columns that differ in that, which plans in bytes do not keep.
fn union_side(plan: SharedPlan, columns: &[Expr], padded: bool) -> Result<SharedPlan, EngineError> {
    let mut exprs = Vec::with_capacity(columns.len());
    for (at, expr) in columns.iter().enumerate() {
        let field = plan.schema().fields().get(at).cloned();
        let field = field.ok_or(EngineError::inconsistent(
            "a side of UNION ALL lacks a column that is taken from it",
        ))?;
        let input = column(&plan, at);
        let value = match field.is_nullable() {
            true => input,
            false => TotalExpr::nullable(input, expr.column_type, padded)?,
        };
        exprs.push((value, at.to_string()));
    }
    Ok(Arc::new(ProjectionExec::try_new(exprs, plan)?))
}

/// The function for an aggregate: DataFusion's, or a [`UnitFunction`].
fn function(aggregate: &UnitAggregate) -> Arc<AggregateUDF> {
    match aggregate {
        UnitAggregate::Rows | UnitAggregate::Count(_) | UnitAggregate::CountDistinct(_) => {
            count_udaf()
        }
        UnitAggregate::Sum(_) => UnitFunction::Sum.of_plans(),
        UnitAggregate::Average(_) => UnitFunction::Average.of_plans(),
        UnitAggregate::Min(_) => min_udaf(),
        UnitAggregate::Max(_) => max_udaf(),
        UnitAggregate::Sorted(sorted, _) => UnitFunction::Sorted(*sorted).of_plans(),
    }
}

/// The columns of an input that an operator reads, each once, in their order.
#[derive(Clone, Debug, Default)]
struct NeededColumns(Vec<usize>);

impl NeededColumns {
    fn of(columns: &[usize]) -> Self {
        let mut needed = Self::default();
        columns.iter().for_each(|&column| needed.add_column(column));
        needed
    }

    fn add(&mut self, expr: &Expr) {
        expr.visit_columns(&mut |column| self.add_column(column));
    }

    fn add_column(&mut self, column: usize) {
        if let Err(index) = self.0.binary_search(&column) {
            self.0.insert(index, column);
        }
    }

    fn columns(&self) -> &[usize] {
        &self.0
    }

    fn index_of(&self, column: usize) -> Result<usize, EngineError> {
        self.0.binary_search(&column).map_err(|_| {
            EngineError::inconsistent("a column that is read is not among the needed ones")
        })
    }

    fn indices_of(&self, columns: &[usize]) -> Result<Vec<usize>, EngineError> {
        columns.iter().map(|&column| self.index_of(column)).collect()
    }

    /// The expression over the columns of a plan of just these.
    fn renumbered(&self, expr: &Expr) -> Expr {
        // A column that is not there fails when the expression is put on the plan's schema.
        expr.clone().moved(&|column| self.0.binary_search(&column).unwrap_or(usize::MAX))
    }

    fn over(
        &self,
        expr: &Expr,
        plan: &SharedPlan,
        padded: bool,
    ) -> Result<Arc<dyn PhysicalExpr>, DataFusionError> {
        TotalExpr::over(&self.renumbered(expr), &plan.schema(), padded)
    }

    /// One column for each expression.
    fn project(
        &self,
        exprs: &[&Expr],
        plan: SharedPlan,
        padded: bool,
    ) -> Result<SharedPlan, EngineError> {
        let computes = exprs.iter().any(|expr| !matches!(expr.kind, ExprKind::Column(_)));
        let plan = if computes { Arc::new(NeverEmptyExec::new(plan)) } else { plan };
        let named = |(index, expr): (usize, &&Expr)| {
            Ok((self.over(expr, &plan, padded)?, index.to_string()))
        };
        let exprs = exprs.iter().enumerate().map(named);
        let exprs = exprs.collect::<Result<Vec<_>, DataFusionError>>()?;
        Ok(Arc::new(ProjectionExec::try_new(exprs, plan)?))
    }
}

/// The columns, without texts that are longer than their column may have.
fn shortened(
    plan: SharedPlan,
    bytes: &[usize],
    requested: &[usize],
) -> Result<SharedPlan, EngineError> {
    let schema = plan.schema();
    let mut exprs: Vec<(Arc<dyn PhysicalExpr>, String)> = Vec::with_capacity(schema.fields().len());
    for (index, of) in requested.iter().enumerate() {
        let field = schema
            .fields()
            .get(index)
            .ok_or(EngineError::inconsistent("a scan has fewer columns than are wanted"))?;
        let input = Column::new(field.name(), index);
        let most = *bytes
            .get(*of)
            .ok_or(EngineError::inconsistent("a scanned column has no limit of bytes"))?;
        let expr: Arc<dyn PhysicalExpr> = match field.data_type() {
            DataType::Utf8View => Arc::new(ValueLimit { column: input, bytes: most }),
            _ => Arc::new(input),
        };
        exprs.push((expr, index.to_string()));
    }
    // The column that identifies rows.
    for index in requested.len()..schema.fields().len() {
        exprs.push((column(&plan, index), index.to_string()));
    }
    Ok(Arc::new(ProjectionExec::try_new(exprs, plan)?))
}

fn column(plan: &SharedPlan, index: usize) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(plan.schema().field(index).name(), index))
}

/// The columns at those indices, named by their position.
fn select_columns(plan: SharedPlan, indices: &[usize]) -> Result<SharedPlan, EngineError> {
    if indices.iter().any(|&index| index >= plan.schema().fields().len()) {
        return Err(EngineError::inconsistent("a plan lacks a column that is taken from it"));
    }
    let exprs: Vec<_> = indices
        .iter()
        .enumerate()
        .map(|(name, &index)| (column(&plan, index), name.to_string()))
        .collect();
    Ok(Arc::new(ProjectionExec::try_new(exprs, plan)?))
}

#[cfg(test)]
mod tests;
