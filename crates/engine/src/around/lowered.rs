//! The tree of SQL around private parts as a plan of DataFusion.
//!
//! Columns are found by names that are unique in the plan, and no name of a query is in it. Hidden
//! columns with the cells of released values are added here.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{Column, JoinType, Result, ScalarValue, Spans};
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::{
    AggregateFunction as AggregateCall, Exists, InSubquery, NullTreatment, Sort, TryCast,
    WindowFunction as WindowExpr, WindowFunctionParams,
};
use datafusion::logical_expr::{
    Expr as Planned, ExprSchemable, GroupingSet, LogicalPlan, LogicalPlanBuilder, ScalarUDF,
    Subquery, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition, lit,
};
use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind};
use hushtable_plan::around_tree::{
    Aggregate, AggregateFunction, Frame, FrameBound, FrameUnits, Join, JoinSides, Node, Operand,
    Scalar, SetOperation, SortKey, Window, WindowCall,
};

use super::function::Function;
use crate::eval::constant;
use crate::invariant::Invariant;
use crate::source::convert::arrow_type;

/// A plan, and where the columns of its node are in it.
#[derive(Clone)]
pub(super) struct Rows {
    pub(super) plan: LogicalPlan,
    columns: Vec<Column>,
    /// The column with the cells of each column, if there is one.
    cells: Vec<Option<Column>>,
    /// The columns with the cells of the operands of each column, if it is an expression over
    /// released values.
    operands: Vec<Option<Vec<Column>>>,
}

/// Where the columns of a result are in its plan, by their indices.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) columns: Vec<usize>,
    /// The column with the cells of each column, if there is one.
    pub(crate) cells: Vec<Option<usize>>,
    /// The columns with the cells of the operands of each column, if it is an expression over
    /// released values.
    pub(crate) operands: Vec<Option<Vec<usize>>>,
}

/// The hidden columns that a plan has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hidden {
    /// None: its values are compared, or stand in an expression.
    Without,
    /// The cells of its columns.
    Cells,
    /// The cells of operands, too: its columns are those of the result.
    Operands,
}

/// The inputs of the expressions around a sub-query, the nearest first.
#[derive(Clone, Copy)]
struct Outer<'a> {
    input: &'a Rows,
    outer: Option<&'a Outer<'a>>,
}

/// The state of a walk through the tree.
pub(super) struct Lowering<'a> {
    state: &'a SessionState,
    /// The released tables: their columns, and after these the columns of their cells.
    tables: &'a [Arc<dyn TableProvider>],
    /// The scalar expressions as functions.
    functions: Vec<(Expr, Arc<ScalarUDF>)>,
    /// How many names were given.
    names: usize,
}

fn broken(what: &'static str) -> datafusion::error::DataFusionError {
    Invariant::new(what).into()
}

impl Rows {
    fn column(&self, index: usize) -> Result<&Column> {
        self.columns.get(index).ok_or_else(|| broken("SQL around parts reads a column it lacks"))
    }

    /// These columns in a plan that hands them on.
    fn within(self, plan: LogicalPlan) -> Self {
        Self { plan, ..self }
    }

    /// The columns of a plan that are not followed back.
    fn new(plan: LogicalPlan, columns: Vec<Column>) -> Self {
        let (cells, operands) = (vec![None; columns.len()], vec![None; columns.len()]);
        Self { plan, columns, cells, operands }
    }
}

impl<'a> Lowering<'a> {
    pub(super) fn new(state: &'a SessionState, tables: &'a [Arc<dyn TableProvider>]) -> Self {
        Self { state, tables, functions: Vec::new(), names: 0 }
    }

    /// The plan of a whole result, and where its columns and those of their cells are in it.
    pub(super) fn whole(&mut self, node: &Node) -> Result<(LogicalPlan, Found)> {
        let Rows { plan, columns, cells, operands } = self.lower(node, None, Hidden::Operands)?;
        let schema = Arc::clone(plan.schema());
        let index = |column: &Column| schema.index_of_column(column);
        let all = |columns: &Vec<Column>| columns.iter().map(index).collect::<Result<Vec<_>>>();
        let found = Found {
            columns: all(&columns)?,
            cells: cells
                .iter()
                .map(|c| c.as_ref().map(index).transpose())
                .collect::<Result<_>>()?,
            operands: operands
                .iter()
                .map(|operands| operands.as_ref().map(all).transpose())
                .collect::<Result<_>>()?,
        };
        Ok((plan, found))
    }

    /// A name that no other column or table of the plan has.
    fn name(&mut self) -> String {
        self.names += 1;
        format!("c{}", self.names)
    }

    fn named(&mut self, expr: Planned) -> Planned {
        expr.alias(self.name())
    }

    fn lower(&mut self, node: &Node, outer: Option<&Outer<'_>>, hidden: Hidden) -> Result<Rows> {
        // Cells of columns that are not handed on are not needed.
        let cells = match hidden {
            Hidden::Without => Hidden::Without,
            Hidden::Cells | Hidden::Operands => Hidden::Cells,
        };
        match node {
            Node::One => Ok(Rows::new(LogicalPlanBuilder::empty(true).build()?, Vec::new())),
            Node::Released { table, columns, one_row: _ } => self.released(*table, columns.len()),
            Node::Filter(input, condition) => {
                let input = self.lower(input, outer, cells)?;
                let condition = self.scalar(condition, &input, outer)?;
                let plan =
                    LogicalPlanBuilder::new(input.plan.clone()).filter(condition)?.build()?;
                Ok(input.within(plan))
            }
            Node::Project(input, columns) => {
                let input = self.lower(input, outer, hidden)?;
                self.project(&input, columns, outer, hidden)
            }
            Node::Join(join) => self.join(join, outer, cells),
            Node::Set(set) => {
                let cells = match set.operation {
                    SetOperation::UnionAll => cells,
                    // Rows that are compared are compared without their cells.
                    _ => Hidden::Without,
                };
                let left = self.lower(&set.left, outer, cells)?;
                let right = self.lower(&set.right, outer, cells)?;
                self.set(set.operation, &set.columns, left, right)
            }
            Node::Distinct(input) => {
                let input = self.lower(input, outer, Hidden::Without)?;
                let input = self.bare(input)?;
                let plan = LogicalPlanBuilder::new(input.plan.clone()).distinct()?.build()?;
                Ok(input.within(plan))
            }
            Node::Aggregate { input, keys, levels, aggregates } => {
                let input = self.lower(input, outer, Hidden::Without)?;
                self.aggregate(&input, (keys, levels.as_deref()), aggregates, outer)
            }
            Node::Window(input, windows) => {
                let input = self.lower(input, outer, cells)?;
                self.windows(input, windows, outer)
            }
            Node::Sort(input, by) => {
                let input = self.lower(input, outer, hidden)?;
                let by = self.order(by, &input, outer)?;
                let plan = LogicalPlanBuilder::new(input.plan.clone()).sort(by)?.build()?;
                Ok(input.within(plan))
            }
            Node::Limit { input, offset, limit } => {
                let input = self.lower(input, outer, hidden)?;
                let most = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
                let (offset, limit) = (most(*offset), limit.map(most));
                let plan = LogicalPlanBuilder::new(input.plan.clone()).limit(offset, limit)?;
                Ok(input.within(plan.build()?))
            }
        }
    }

    fn released(&mut self, table: usize, width: usize) -> Result<Rows> {
        let source = self.tables.get(table).ok_or_else(|| broken("a released table is missing"))?;
        let source = provider_as_source(Arc::clone(source));
        let plan = LogicalPlanBuilder::scan(self.name(), source, None)?.build()?;
        let mut columns = plan.schema().columns();
        if columns.len() != 2 * width {
            return Err(broken("a released table has other columns than the SQL around it reads"));
        }
        let cells = columns.split_off(width).into_iter().map(Some).collect();
        Ok(Rows { cells, ..Rows::new(plan, columns) })
    }

    /// Only the columns of the node, without hidden ones.
    fn bare(&mut self, rows: Rows) -> Result<Rows> {
        if rows.plan.schema().fields().len() == rows.columns.len() {
            return Ok(rows);
        }
        let exprs: Vec<_> = rows.columns.iter().cloned().map(Planned::Column).collect();
        let plan = LogicalPlanBuilder::new(rows.plan).project(exprs)?.build()?;
        Ok(Rows::new(plan, rows.columns))
    }

    /// Rows under an alias, where they are a projection: a long chain of projections would be
    /// merged into one deep expression, which takes long to plan. Not in sub-queries: DataFusion
    /// does not find through an alias what it adds to correlated ones.
    fn apart(&mut self, rows: &Rows, outer: Option<&Outer<'_>>) -> Result<Rows> {
        if outer.is_some() || !matches!(rows.plan, LogicalPlan::Projection(_)) {
            return Ok(rows.clone());
        }
        let schema = Arc::clone(rows.plan.schema());
        let plan = LogicalPlanBuilder::new(rows.plan.clone()).alias(self.name())?.build()?;
        let renamed = plan.schema().columns();
        let moved = |column: &Column| {
            let index = schema.index_of_column(column)?;
            let column = renamed.get(index).cloned();
            column.ok_or_else(|| broken("an alias has other columns than its rows"))
        };
        let all = |columns: &Vec<Column>| columns.iter().map(moved).collect::<Result<Vec<_>>>();
        Ok(Rows {
            columns: all(&rows.columns)?,
            cells: rows
                .cells
                .iter()
                .map(|cell| cell.as_ref().map(moved).transpose())
                .collect::<Result<_>>()?,
            operands: rows
                .operands
                .iter()
                .map(|operands| operands.as_ref().map(all).transpose())
                .collect::<Result<_>>()?,
            plan,
        })
    }

    fn project(
        &mut self,
        input: &Rows,
        scalars: &[Scalar],
        outer: Option<&Outer<'_>>,
        hidden: Hidden,
    ) -> Result<Rows> {
        let input = &self.apart(input, outer)?;
        let mut exprs = Vec::with_capacity(scalars.len());
        let mut rows = Rows::new(input.plan.clone(), Vec::with_capacity(scalars.len()));
        let mut add = |lowering: &mut Self, expr: Planned| {
            let name = lowering.name();
            exprs.push(expr.alias(name.clone()));
            Column::new_unqualified(name)
        };
        for scalar in scalars {
            let expr = self.scalar(scalar, input, outer)?;
            rows.columns.push(add(self, expr));
            let index = scalar.as_column();
            let mut hand_on = |cell: &Column| add(self, Planned::Column(cell.clone()));
            let of = |index: usize| input.cells.get(index).and_then(Option::as_ref);
            let cell = index.and_then(of).filter(|_| hidden != Hidden::Without);
            rows.cells.push(cell.map(&mut hand_on));
            let operands = match index {
                _ if hidden != Hidden::Operands => None,
                Some(index) => input.operands.get(index).cloned().flatten(),
                None => scalar
                    .operands
                    .iter()
                    .map(|operand| match operand {
                        Operand::Column(index) => of(*index).cloned(),
                        _ => None,
                    })
                    .collect::<Option<Vec<_>>>(),
            };
            let operands = operands.filter(|operands| !operands.is_empty());
            rows.operands.push(operands.map(|all| all.iter().map(&mut hand_on).collect()));
        }
        rows.plan = LogicalPlanBuilder::new(rows.plan).project(exprs)?.build()?;
        Ok(rows)
    }

    fn join(&mut self, join: &Join, outer: Option<&Outer<'_>>, hidden: Hidden) -> Result<Rows> {
        let left = self.lower(&join.left, outer, hidden)?;
        let right = self.lower(&join.right, outer, hidden)?;
        let kind = match join.kind {
            JoinSides::Inner => JoinType::Inner,
            JoinSides::Left => JoinType::Left,
            JoinSides::Right => JoinType::Right,
            JoinSides::Full => JoinType::Full,
        };
        let pairs = LogicalPlanBuilder::new(left.plan.clone()).cross_join(right.plan.clone())?;
        let both = Rows {
            plan: pairs.build()?,
            columns: [left.columns, right.columns].concat(),
            cells: [left.cells, right.cells].concat(),
            operands: [left.operands, right.operands].concat(),
        };
        let Some(on) = &join.on else { return Ok(both) };
        let on = self.scalar(on, &both, outer)?;
        let plan = LogicalPlanBuilder::new(left.plan).join_on(right.plan, kind, [on])?.build()?;
        let mut rows = both.within(plan);
        if !join.merged.is_empty() {
            let mut all: Vec<_> =
                rows.plan.schema().columns().into_iter().map(Planned::Column).collect();
            for merged in &join.merged {
                let name = self.name();
                all.push(self.scalar(merged, &rows, outer)?.alias(name.clone()));
                rows.columns.push(Column::new_unqualified(name));
                rows.cells.push(None);
                rows.operands.push(None);
            }
            rows.plan = LogicalPlanBuilder::new(rows.plan).project(all)?.build()?;
        }
        Ok(rows)
    }

    fn set(
        &mut self,
        operation: SetOperation,
        types: &[ColumnType],
        left: Rows,
        right: Rows,
    ) -> Result<Rows> {
        let width = types.len();
        let with_cells: Vec<bool> =
            left.cells.iter().zip(&right.cells).map(|(l, r)| l.is_some() || r.is_some()).collect();
        let mut side = |rows: Rows| {
            let mut exprs = Vec::with_capacity(width);
            for (column, own) in rows.columns.into_iter().zip(types) {
                let (column, own) = (Planned::Column(column), arrow_type(*own));
                exprs.push(match column.get_type(rows.plan.schema())? == own {
                    true => column,
                    // A value that the wider type does not hold is NULL.
                    false => Planned::TryCast(TryCast::new(Box::new(column), own)),
                });
            }
            for (cell, _) in rows.cells.into_iter().zip(&with_cells).filter(|(_, has)| **has) {
                exprs.push(cell.map_or_else(no_cell, Planned::Column));
            }
            let exprs: Vec<_> = exprs.into_iter().map(|expr| self.named(expr)).collect();
            LogicalPlanBuilder::new(rows.plan).project(exprs)?.build()
        };
        let (left, right) = (side(left)?, side(right)?);
        let plan = match operation {
            SetOperation::UnionAll => LogicalPlanBuilder::new(left).union(right)?.build()?,
            SetOperation::Union => LogicalPlanBuilder::new(left).union_distinct(right)?.build()?,
            SetOperation::Except => LogicalPlanBuilder::except(left, right, false)?,
            SetOperation::Intersect => LogicalPlanBuilder::intersect(left, right, false)?,
        };
        let plan = LogicalPlanBuilder::new(plan).alias(self.name())?.build()?;
        let mut columns = plan.schema().columns();
        let mut hidden = columns.split_off(width).into_iter();
        let cells = with_cells.iter().map(|&has| if has { hidden.next() } else { None });
        Ok(Rows { cells: cells.collect(), ..Rows::new(plan, columns) })
    }

    fn aggregate(
        &mut self,
        input: &Rows,
        (keys, levels): (&[Scalar], Option<&[Vec<usize>]>),
        aggregates: &[Aggregate],
        outer: Option<&Outer<'_>>,
    ) -> Result<Rows> {
        let types = keys.iter().map(|key| key.expr.column_type);
        let types: Vec<_> = types.chain(aggregates.iter().map(|call| call.column_type)).collect();
        let keys = keys.iter().map(|key| self.scalar(key, input, outer));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let mut calls = Vec::with_capacity(aggregates.len());
        for aggregate in aggregates {
            let operands = match aggregate.function {
                AggregateFunction::Grouping(key) => {
                    vec![keys.get(key).ok_or_else(|| broken("GROUPING is of no key"))?.clone()]
                }
                _ => self.counted(&aggregate.operands, input, outer)?,
            };
            let filter = aggregate.filter.as_ref();
            let filter = filter.map(|filter| self.scalar(filter, input, outer)).transpose()?;
            let function = self.called(aggregate.function)?;
            let (distinct, filter) = (aggregate.distinct, filter.map(Box::new));
            let call =
                AggregateCall::new_udf(function, operands, distinct, filter, Vec::new(), None);
            calls.push(self.named(Planned::AggregateFunction(call)));
        }
        let width = keys.len();
        let by = match levels {
            None => keys,
            Some(levels) => {
                let level = |level: &Vec<usize>| {
                    level.iter().filter_map(|&key| keys.get(key).cloned()).collect()
                };
                let levels = levels.iter().map(level).collect();
                vec![Planned::GroupingSet(GroupingSet::GroupingSets(levels))]
            }
        };
        let plan = LogicalPlanBuilder::new(input.plan.clone()).aggregate(by, calls)?.build()?;
        // With levels, a number of the level stands behind the keys.
        let mut columns = plan.schema().columns();
        let calls = columns.split_off(columns.len() - aggregates.len());
        columns.truncate(width);
        columns.extend(calls);
        self.in_types(Rows::new(plan, columns), 0, &types)
    }

    /// Operands of an aggregate; those of COUNT(*) are one for each row.
    fn counted(
        &mut self,
        operands: &[Scalar],
        input: &Rows,
        outer: Option<&Outer<'_>>,
    ) -> Result<Vec<Planned>> {
        if operands.is_empty() {
            return Ok(vec![lit(1i64)]);
        }
        operands.iter().map(|operand| self.scalar(operand, input, outer)).collect()
    }

    fn windows(
        &mut self,
        input: Rows,
        windows: &[Window],
        outer: Option<&Outer<'_>>,
    ) -> Result<Rows> {
        let width = input.columns.len();
        let mut calls = Vec::with_capacity(windows.len());
        for window in windows {
            let (fun, operands) = match window.function {
                WindowCall::Aggregate(function) => (
                    WindowFunctionDefinition::AggregateUDF(self.called(function)?),
                    self.counted(&window.operands, &input, outer)?,
                ),
                function => {
                    let found = self.state.window_functions().get(window_name(function));
                    let found = found.ok_or_else(|| broken("a window function is missing"))?;
                    let operands = window.operands.iter();
                    let operands = operands.map(|operand| self.scalar(operand, &input, outer));
                    (
                        WindowFunctionDefinition::WindowUDF(Arc::clone(found)),
                        operands.collect::<Result<_>>()?,
                    )
                }
            };
            let partition_by = window.partition_by.iter();
            let partition_by = partition_by.map(|key| self.scalar(key, &input, outer));
            let partition_by = partition_by.collect::<Result<_>>()?;
            let mut order_by = self.order(&window.order_by, &input, outer)?;
            let window_frame = match &window.frame {
                None => WindowFrame::new((!order_by.is_empty()).then_some(false)),
                Some(frame) => {
                    let frame = framed(frame);
                    frame.regularize_order_bys(&mut order_by)?;
                    frame
                }
            };
            let params = WindowFunctionParams {
                args: operands,
                partition_by,
                order_by,
                window_frame,
                filter: None,
                null_treatment: window.ignores_nulls.then_some(NullTreatment::IgnoreNulls),
                distinct: false,
            };
            calls.push(Planned::WindowFunction(Box::new(WindowExpr { fun, params })));
        }
        let names =
            calls.iter().map(|call| Column::new_unqualified(call.schema_name().to_string()));
        let names: Vec<Column> = names.collect();
        let mut rows = input.clone();
        rows.plan = LogicalPlanBuilder::window_plan(input.plan, calls)?;
        rows.columns.extend(names);
        rows.cells.resize(rows.columns.len(), None);
        rows.operands.resize(rows.columns.len(), None);
        let types: Vec<_> = windows.iter().map(|window| window.column_type).collect();
        self.in_types(rows, width, &types)
    }

    /// Columns from an index on, in types of the engine's own and under new names.
    fn in_types(&mut self, mut rows: Rows, first: usize, types: &[ColumnType]) -> Result<Rows> {
        let schema = Arc::clone(rows.plan.schema());
        let unchanged = rows.columns.iter().take(first);
        let hidden = rows.operands.iter().flatten().flatten().chain(rows.cells.iter().flatten());
        let mut all: Vec<_> = unchanged.chain(hidden).cloned().map(Planned::Column).collect();
        for (column, own) in rows.columns.iter_mut().skip(first).zip(types) {
            let expr = Planned::Column(column.clone()).cast_to(&arrow_type(*own), &schema)?;
            let name = self.name();
            all.push(expr.alias(name.clone()));
            *column = Column::new_unqualified(name);
        }
        rows.plan = LogicalPlanBuilder::new(rows.plan).project(all)?.build()?;
        Ok(rows)
    }

    fn order(
        &mut self,
        by: &[SortKey],
        input: &Rows,
        outer: Option<&Outer<'_>>,
    ) -> Result<Vec<Sort>> {
        let sort = |SortKey { value, descending, nulls_first }: &SortKey| {
            Ok(Sort::new(self.scalar(value, input, outer)?, !descending, *nulls_first))
        };
        by.iter().map(sort).collect()
    }

    fn called(
        &self,
        function: AggregateFunction,
    ) -> Result<Arc<datafusion::logical_expr::AggregateUDF>> {
        let found = self.state.aggregate_functions().get(aggregate_name(function));
        found.cloned().ok_or_else(|| broken("an aggregate function is missing"))
    }

    /// A scalar expression over the columns of a plan.
    fn scalar(
        &mut self,
        scalar: &Scalar,
        input: &Rows,
        outer: Option<&Outer<'_>>,
    ) -> Result<Planned> {
        let inner = Outer { input, outer };
        let mut operands = Vec::with_capacity(scalar.operands.len());
        for operand in &scalar.operands {
            operands.push(match operand {
                Operand::Column(index) => Planned::Column(input.column(*index)?.clone()),
                Operand::Outer { level, column } => {
                    let mut around = outer;
                    for _ in 0..*level {
                        around = around.and_then(|around| around.outer);
                    }
                    let around =
                        around.ok_or_else(|| broken("a sub-query has nothing around it"))?;
                    let column = around.input.column(*column)?;
                    let field = around.input.plan.schema().qualified_field_from_column(column)?.1;
                    Planned::OuterReferenceColumn(Arc::clone(field), column.clone())
                }
                Operand::Value(node) => Planned::ScalarSubquery(self.subquery(node, &inner)?),
                Operand::Exists(node) => {
                    Planned::Exists(Exists::new(self.subquery(node, &inner)?, false))
                }
                Operand::Among(value, node) => {
                    let value = Box::new(self.scalar(value, input, outer)?);
                    let subquery = self.subquery(node, &inner)?;
                    Planned::InSubquery(InSubquery::new(value, subquery, false))
                }
            });
        }
        self.expression(&scalar.expr, &operands)
    }

    fn subquery(&mut self, node: &Node, outer: &Outer<'_>) -> Result<Subquery> {
        let rows = self.lower(node, Some(outer), Hidden::Without)?;
        let plan = self.bare(rows)?.plan;
        let outer_ref_columns = plan.all_out_ref_exprs();
        Ok(Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() })
    }

    /// An expression over operands. Comparisons and logic are DataFusion's, which joins by them;
    /// everything else is a call of a function that computes it.
    fn expression(&mut self, expr: &Expr, operands: &[Planned]) -> Result<Planned> {
        use datafusion::logical_expr::{Operator, binary_expr};
        Ok(match &expr.kind {
            ExprKind::Column(index) => operands
                .get(*index)
                .ok_or_else(|| broken("an expression around parts reads an operand it lacks"))?
                .clone(),
            ExprKind::Literal(value) => {
                let value = constant(value, expr.column_type)?;
                Planned::Literal(ScalarValue::try_from_array(&value, 0)?, None)
            }
            ExprKind::Not(inner) => match self.expression(inner, operands)? {
                Planned::Exists(exists) => {
                    Planned::Exists(Exists { negated: !exists.negated, ..exists })
                }
                Planned::InSubquery(among) => {
                    Planned::InSubquery(InSubquery { negated: !among.negated, ..among })
                }
                inner => !inner,
            },
            ExprKind::IsNull(inner) => self.expression(inner, operands)?.is_null(),
            ExprKind::Binary(op, left, right) => {
                let op = match op {
                    BinaryOp::And => Operator::And,
                    BinaryOp::Or => Operator::Or,
                    BinaryOp::Eq => Operator::Eq,
                    BinaryOp::Ne => Operator::NotEq,
                    BinaryOp::Lt => Operator::Lt,
                    BinaryOp::Le => Operator::LtEq,
                    BinaryOp::Gt => Operator::Gt,
                    BinaryOp::Ge => Operator::GtEq,
                    _ => return self.call(expr, operands),
                };
                let left = self.expression(left, operands)?;
                binary_expr(left, op, self.expression(right, operands)?)
            }
            _ => return self.call(expr, operands),
        })
    }

    /// A call of the function that an expression is.
    fn call(&mut self, expr: &Expr, operands: &[Planned]) -> Result<Planned> {
        let (mut read, mut types) = (Vec::new(), Vec::new());
        expr.visit(&mut |part| {
            if let ExprKind::Column(index) = part.kind
                && !read.contains(&index)
            {
                read.push(index);
                types.push(part.column_type);
            }
        });
        let index = |column| read.iter().position(|read| *read == column).unwrap_or(column);
        let expr = expr.clone().moved(&index);
        let arguments: Option<Vec<Planned>> =
            read.iter().map(|index| operands.get(*index).cloned()).collect();
        let arguments = arguments
            .ok_or_else(|| broken("an expression around parts reads an operand it lacks"))?;
        let known = self.functions.iter().find(|(known, _)| *known == expr);
        let function = match known {
            Some((_, function)) => Arc::clone(function),
            None => {
                let name = format!("expression_{}", self.functions.len() + 1);
                let function = Function::new(name, expr.clone(), types);
                let function = Arc::new(ScalarUDF::new_from_impl(function));
                self.functions.push((expr, Arc::clone(&function)));
                function
            }
        };
        Ok(function.call(arguments))
    }
}

/// No cell.
fn no_cell() -> Planned {
    lit(ScalarValue::Int64(None))
}

fn framed(Frame { units, start, end }: &Frame) -> WindowFrame {
    let number = |by: &Option<u32>| match units {
        // DataFusion reads it in the type of the values.
        FrameUnits::Range if by.is_some() => ScalarValue::Utf8(by.map(|by| by.to_string())),
        _ => ScalarValue::UInt64(by.map(u64::from)),
    };
    let bound = |bound: &FrameBound| match bound {
        FrameBound::Preceding(by) => WindowFrameBound::Preceding(number(by)),
        FrameBound::CurrentRow => WindowFrameBound::CurrentRow,
        FrameBound::Following(by) => WindowFrameBound::Following(number(by)),
    };
    let units = match units {
        FrameUnits::Rows => WindowFrameUnits::Rows,
        FrameUnits::Range => WindowFrameUnits::Range,
        FrameUnits::Groups => WindowFrameUnits::Groups,
    };
    WindowFrame::new_bounds(units, bound(start), bound(end))
}

fn aggregate_name(function: AggregateFunction) -> &'static str {
    match function {
        AggregateFunction::Count => "count",
        AggregateFunction::Sum => "sum",
        AggregateFunction::Mean => "avg",
        AggregateFunction::Min => "min",
        AggregateFunction::Max => "max",
        AggregateFunction::Median => "median",
        AggregateFunction::Stddev => "stddev",
        AggregateFunction::StddevPop => "stddev_pop",
        AggregateFunction::Variance => "var",
        AggregateFunction::VariancePop => "var_pop",
        AggregateFunction::Correlation => "corr",
        AggregateFunction::Covariance => "covar_samp",
        AggregateFunction::CovariancePop => "covar_pop",
        AggregateFunction::All => "bool_and",
        AggregateFunction::Any => "bool_or",
        AggregateFunction::Grouping(_) => "grouping",
    }
}

fn window_name(function: WindowCall) -> &'static str {
    match function {
        WindowCall::Aggregate(function) => aggregate_name(function),
        WindowCall::RowNumber => "row_number",
        WindowCall::Rank => "rank",
        WindowCall::DenseRank => "dense_rank",
        WindowCall::PercentRank => "percent_rank",
        WindowCall::CumeDist => "cume_dist",
        WindowCall::Ntile => "ntile",
        WindowCall::Lag => "lag",
        WindowCall::Lead => "lead",
        WindowCall::FirstValue => "first_value",
        WindowCall::LastValue => "last_value",
        WindowCall::NthValue => "nth_value",
    }
}
