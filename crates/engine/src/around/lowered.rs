//! The tree of SQL around private parts as a plan of DataFusion.
//!
//! Columns are found by names that are unique in the plan, and no name of a query is in it. Hidden
//! columns with the cells of released values are added here.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{Column, JoinType, Result, ScalarValue};
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::{
    AggregateFunction as AggregateCall, NullTreatment, Sort, TryCast, WindowFunction as WindowExpr,
    WindowFunctionParams,
};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Expr as Planned, ExprSchemable, GroupingSet, LogicalPlan, LogicalPlanBuilder, Operator,
    ScalarUDF, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition,
    binary_expr, lit, when,
};
use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind};
use hushtable_plan::around_tree::{
    Aggregate, AggregateFunction, Frame, FrameBound, FrameUnits, Join, JoinSides, Node, Operand,
    Scalar, SetOperation, SortKey, Window, WindowCall,
};

use super::function::ExprFunction;
use super::planned_rows::{Domain, HiddenColumns, PlannedRows, broken};
use crate::eval::constant;
use crate::source::convert::arrow_type;

/// Where the columns of a result are in its plan, by their indices.
#[derive(Clone, Debug)]
pub(crate) struct ResultColumns {
    pub(crate) columns: Vec<usize>,
    /// The column with the cells of each column, if there is one.
    pub(crate) cells: Vec<Option<usize>>,
    /// The columns with the cells of the operands of each column, if it is an expression over
    /// released values.
    pub(crate) operands: Vec<Option<Vec<usize>>>,
}

/// The state of a walk through the tree.
pub(super) struct NodeLowering<'a> {
    state: &'a SessionState,
    /// The released tables: their columns, and after these the columns of their cells.
    tables: &'a [Arc<dyn TableProvider>],
    /// The scalar expressions as functions.
    functions: Vec<(Expr, Arc<ScalarUDF>)>,
    /// How many names were given.
    names: usize,
}

impl<'a> NodeLowering<'a> {
    pub(super) fn new(state: &'a SessionState, tables: &'a [Arc<dyn TableProvider>]) -> Self {
        Self { state, tables, functions: Vec::new(), names: 0 }
    }

    /// The plan of a whole result, and where its columns and those of their cells are in it.
    pub(super) fn whole(&mut self, node: &Node) -> Result<(LogicalPlan, ResultColumns)> {
        let rows = self.lower(node, None, HiddenColumns::Operands)?;
        let PlannedRows { plan, columns, cells, operands, .. } = rows;
        let schema = Arc::clone(plan.schema());
        let index = |column: &Column| schema.index_of_column(column);
        let all = |columns: &Vec<Column>| columns.iter().map(index).collect::<Result<Vec<_>>>();
        let found = ResultColumns {
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
    pub(super) fn name(&mut self) -> String {
        self.names += 1;
        format!("c{}", self.names)
    }

    pub(super) fn named(&mut self, expr: Planned) -> Planned {
        expr.alias(self.name())
    }

    /// The rows of a node, for each row of a domain if there is one.
    pub(super) fn lower(
        &mut self,
        node: &Node,
        domain: Option<&Domain>,
        hidden: HiddenColumns,
    ) -> Result<PlannedRows> {
        if let Some(domain) = domain
            && node.outer_columns().is_empty()
        {
            let rows = self.lower(node, None, hidden)?;
            return self.repeated(rows, domain);
        }
        // Cells of columns that are not handed on are not needed.
        let cells = match hidden {
            HiddenColumns::Without => HiddenColumns::Without,
            HiddenColumns::Cells | HiddenColumns::Operands => HiddenColumns::Cells,
        };
        match node {
            Node::One => Ok(PlannedRows::new(LogicalPlanBuilder::empty(true).build()?, Vec::new())),
            Node::Released { table, columns, unique: _ } => self.released(*table, columns.len()),
            Node::Filter(input, condition) => {
                let input = self.lower(input, domain, cells)?;
                let input = self.attached_to_condition(input, condition, domain)?;
                let condition = self.scalar(condition, &input, domain)?;
                let plan =
                    LogicalPlanBuilder::new(input.plan.clone()).filter(condition)?.build()?;
                // The sub-queries of the condition are for it alone.
                Ok(PlannedRows { attached: Vec::new(), ..input.within(plan) })
            }
            Node::Project(input, columns) => {
                let input = self.lower(input, domain, hidden)?;
                self.project(input, columns, domain, hidden)
            }
            Node::Join(join) => self.join(join, domain, cells),
            Node::Set(set) => {
                let cells = match set.operation {
                    SetOperation::UnionAll => cells,
                    // Rows that are compared are compared without their cells.
                    _ => HiddenColumns::Without,
                };
                let left = self.lower(&set.left, domain, cells)?;
                let right = self.lower(&set.right, domain, cells)?;
                self.set(set.operation, &set.columns, left, right)
            }
            Node::Distinct(input) => {
                let input = self.lower(input, domain, HiddenColumns::Without)?;
                let input = self.bare(input)?;
                let plan = LogicalPlanBuilder::new(input.plan.clone()).distinct()?.build()?;
                Ok(input.within(plan))
            }
            Node::Aggregate { input, keys, levels, aggregates } => {
                let input = self.lower(input, domain, HiddenColumns::Without)?;
                self.aggregate(input, (keys, levels.as_deref()), aggregates, domain)
            }
            Node::Window(input, windows) => {
                let input = self.lower(input, domain, cells)?;
                self.windows(input, windows, domain)
            }
            // Rows that are for a row of a domain have no order among the others.
            Node::Sort(input, _) if domain.is_some() => self.lower(input, domain, hidden),
            Node::Sort(input, by) => {
                let input = self.lower(input, domain, hidden)?;
                let input = self.attached(input, by.iter().map(|key| &key.value), domain)?;
                let by = self.order(by, &input, domain)?;
                let plan = LogicalPlanBuilder::new(input.plan.clone()).sort(by)?.build()?;
                Ok(input.within(plan))
            }
            Node::Limit { input, offset, limit } => match domain {
                Some(domain) => self.limited_each(input, (*offset, *limit), domain),
                None => {
                    let input = self.lower(input, domain, hidden)?;
                    let most = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
                    let (offset, limit) = (most(*offset), limit.map(most));
                    let plan = LogicalPlanBuilder::new(input.plan.clone()).limit(offset, limit)?;
                    Ok(input.within(plan.build()?))
                }
            },
        }
    }

    /// Some of the first rows for each row of a domain.
    fn limited_each(
        &mut self,
        input: &Node,
        (offset, limit): (u64, Option<u64>),
        domain: &Domain,
    ) -> Result<PlannedRows> {
        let (input, by) = match input {
            Node::Sort(input, by) => (input.as_ref(), by.as_slice()),
            other => (other, &[][..]),
        };
        let input = self.lower(input, Some(domain), HiddenColumns::Without)?;
        let input = self.attached(input, by.iter().map(|key| &key.value), Some(domain))?;
        let order_by = self.order(by, &input, Some(domain))?;
        let number = self.state.window_functions().get("row_number");
        let number = number.ok_or_else(|| broken("a window function is missing"))?;
        let number = WindowExpr {
            fun: WindowFunctionDefinition::WindowUDF(Arc::clone(number)),
            params: WindowFunctionParams {
                args: Vec::new(),
                partition_by: input.domain.iter().cloned().map(Planned::Column).collect(),
                window_frame: WindowFrame::new((!order_by.is_empty()).then_some(false)),
                order_by,
                filter: None,
                null_treatment: None,
                distinct: false,
            },
        };
        let number = Planned::WindowFunction(Box::new(number));
        let column = Column::new_unqualified(number.schema_name().to_string());
        let plan = LogicalPlanBuilder::window_plan(input.plan.clone(), [number])?;
        let mut taken = Planned::Column(column.clone()).gt(lit(offset));
        if let Some(limit) = limit {
            taken = taken.and(Planned::Column(column).lt_eq(lit(offset.saturating_add(limit))));
        }
        let plan = LogicalPlanBuilder::new(plan).filter(taken)?.build()?;
        let rows = input.within(plan);
        self.bare(rows)
    }

    fn released(&mut self, table: usize, width: usize) -> Result<PlannedRows> {
        let source = self.tables.get(table).ok_or_else(|| broken("a released table is missing"))?;
        let source = provider_as_source(Arc::clone(source));
        let plan = LogicalPlanBuilder::scan(self.name(), source, None)?.build()?;
        let mut columns = plan.schema().columns();
        if columns.len() != 2 * width {
            return Err(broken("a released table has other columns than the SQL around it reads"));
        }
        let cells = columns.split_off(width).into_iter().map(Some).collect();
        Ok(PlannedRows { cells, ..PlannedRows::new(plan, columns) })
    }

    /// Only the columns of the node and of its domain, without hidden ones.
    pub(super) fn bare(&mut self, rows: PlannedRows) -> Result<PlannedRows> {
        let all: Vec<_> = rows.domain.iter().chain(&rows.columns).cloned().collect();
        if rows.plan.schema().fields().len() == all.len() {
            return Ok(rows);
        }
        let exprs = all.into_iter().map(Planned::Column);
        let plan = LogicalPlanBuilder::new(rows.plan).project(exprs)?.build()?;
        Ok(PlannedRows { domain: rows.domain, ..PlannedRows::new(plan, rows.columns) })
    }

    /// Rows under an alias, where they are a projection: a long chain of projections would be
    /// merged into one deep expression, which takes long to plan.
    fn apart(&mut self, rows: PlannedRows) -> Result<PlannedRows> {
        if !matches!(rows.plan, LogicalPlan::Projection(_)) {
            return Ok(rows);
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
        Ok(PlannedRows {
            columns: all(&rows.columns)?,
            domain: all(&rows.domain)?,
            attached: Vec::new(),
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
        input: PlannedRows,
        scalars: &[Scalar],
        domain: Option<&Domain>,
        hidden: HiddenColumns,
    ) -> Result<PlannedRows> {
        let input = self.apart(input)?;
        let input = &self.attached(input, scalars, domain)?;
        let mut exprs: Vec<_> = input.domain.iter().cloned().map(Planned::Column).collect();
        let mut rows = PlannedRows::new(input.plan.clone(), Vec::with_capacity(scalars.len()));
        rows.domain.clone_from(&input.domain);
        let mut add = |lowering: &mut Self, expr: Planned| {
            let name = lowering.name();
            exprs.push(expr.alias(name.clone()));
            Column::new_unqualified(name)
        };
        for scalar in scalars {
            let expr = self.scalar(scalar, input, domain)?;
            rows.columns.push(add(self, expr));
            let index = scalar.as_column();
            let mut hand_on = |cell: &Column| add(self, Planned::Column(cell.clone()));
            let of = |index: usize| input.cells.get(index).and_then(Option::as_ref);
            let cell = index.and_then(of).filter(|_| hidden != HiddenColumns::Without);
            rows.cells.push(cell.map(&mut hand_on));
            let operands = match index {
                _ if hidden != HiddenColumns::Operands => None,
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

    fn join(
        &mut self,
        join: &Join,
        domain: Option<&Domain>,
        hidden: HiddenColumns,
    ) -> Result<PlannedRows> {
        let left = self.lower(&join.left, domain, hidden)?;
        let of_left = matches!(join.kind, JoinSides::Inner | JoinSides::Left);
        let alone = of_left && join.right.outer_columns().is_empty();
        let right = self.lower(&join.right, domain.filter(|_| !alone), hidden)?;
        let kind = match join.kind {
            JoinSides::Inner => JoinType::Inner,
            JoinSides::Left => JoinType::Left,
            JoinSides::Right => JoinType::Right,
            JoinSides::Full => JoinType::Full,
        };
        // Rows that are for the same row of the domain.
        let pairs = left.domain.iter().cloned().map(Planned::Column);
        let pairs = pairs.zip(right.domain.iter().cloned().map(Planned::Column));
        let same = pairs.map(|(left, right)| binary_expr(left, Operator::IsNotDistinctFrom, right));
        let same: Vec<_> = same.collect();
        let plan = LogicalPlanBuilder::new(left.plan.clone()).cross_join(right.plan.clone())?;
        let mut both = PlannedRows {
            plan: plan.build()?,
            columns: [left.columns, right.columns].concat(),
            cells: [left.cells, right.cells].concat(),
            operands: [left.operands, right.operands].concat(),
            domain: if join.kind == JoinSides::Right { right.domain.clone() } else { left.domain },
            attached: Vec::new(),
        };
        let mut rows = if join.kind == JoinSides::Inner {
            both = self.attached(both, &join.on, domain)?;
            let on = join.on.iter().map(|on| self.scalar(on, &both, domain));
            let on = same.into_iter().map(Ok).chain(on).collect::<Result<Vec<_>>>()?;
            let mut plan = both.plan.clone();
            if let Some(on) = conjunction(on) {
                plan = LogicalPlanBuilder::new(plan).filter(on)?.build()?;
            }
            both.within(plan)
        } else {
            let on = join.on.iter().map(|on| self.condition(on, &both, domain));
            let on = same.into_iter().map(Ok).chain(on).collect::<Result<Vec<_>>>()?;
            let plan = LogicalPlanBuilder::new(left.plan).join_on(right.plan, kind, on)?;
            both.within(plan.build()?)
        };
        let merged_domain = join.kind == JoinSides::Full && domain.is_some();
        if !join.merged.is_empty() || merged_domain {
            let mut all: Vec<_> =
                rows.plan.schema().columns().into_iter().map(Planned::Column).collect();
            for merged in &join.merged {
                let name = self.name();
                all.push(self.scalar(merged, &rows, domain)?.alias(name.clone()));
                rows.columns.push(Column::new_unqualified(name));
                rows.cells.push(None);
                rows.operands.push(None);
            }
            if merged_domain {
                for (left, right) in rows.domain.iter_mut().zip(right.domain) {
                    let name = self.name();
                    let left_value = Planned::Column(left.clone());
                    let value = when(left_value.clone().is_null(), Planned::Column(right))
                        .otherwise(left_value)?;
                    all.push(value.alias(name.clone()));
                    *left = Column::new_unqualified(name);
                }
            }
            rows.plan = LogicalPlanBuilder::new(rows.plan).project(all)?.build()?;
        }
        Ok(rows)
    }

    /// The condition of an outer join. Its sub-queries read nothing from outside, and have one
    /// value.
    fn condition(
        &mut self,
        on: &Scalar,
        both: &PlannedRows,
        domain: Option<&Domain>,
    ) -> Result<Planned> {
        let fields = both.plan.schema().fields().len();
        let both = self.attached(both.clone(), [on], domain)?;
        if both.plan.schema().fields().len() > fields {
            return Err(broken("the condition of an outer join has a sub-query of its rows"));
        }
        self.scalar(on, &both, domain)
    }

    fn set(
        &mut self,
        operation: SetOperation,
        types: &[ColumnType],
        left: PlannedRows,
        right: PlannedRows,
    ) -> Result<PlannedRows> {
        let (width, domain) = (types.len(), left.domain.len());
        let with_cells: Vec<bool> =
            left.cells.iter().zip(&right.cells).map(|(l, r)| l.is_some() || r.is_some()).collect();
        let mut side = |rows: PlannedRows| {
            let mut exprs: Vec<_> = rows.domain.into_iter().map(Planned::Column).collect();
            for (column, column_type) in rows.columns.into_iter().zip(types) {
                let (column, column_type) = (Planned::Column(column), arrow_type(*column_type));
                exprs.push(match column.get_type(rows.plan.schema())? == column_type {
                    true => column,
                    // A value that the wider type does not hold is NULL.
                    false => Planned::TryCast(TryCast::new(Box::new(column), column_type)),
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
        let mut domain_columns = plan.schema().columns();
        let mut columns = domain_columns.split_off(domain);
        let mut hidden = columns.split_off(width).into_iter();
        let cells = with_cells.iter().map(|&has| if has { hidden.next() } else { None });
        let cells = cells.collect();
        Ok(PlannedRows { cells, domain: domain_columns, ..PlannedRows::new(plan, columns) })
    }

    fn aggregate(
        &mut self,
        input: PlannedRows,
        (keys, levels): (&[Scalar], Option<&[Vec<usize>]>),
        aggregates: &[Aggregate],
        domain: Option<&Domain>,
    ) -> Result<PlannedRows> {
        let one_row = keys.is_empty() && levels.is_none();
        let types = keys.iter().map(|key| key.expr.column_type);
        let types: Vec<_> = types.chain(aggregates.iter().map(|call| call.column_type)).collect();
        let scalars = keys.iter().chain(aggregates.iter().flat_map(Aggregate::scalars));
        let input = &self.attached(input, scalars, domain)?;
        let keys = keys.iter().map(|key| self.scalar(key, input, domain));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let mut calls = Vec::with_capacity(aggregates.len());
        for aggregate in aggregates {
            let operands = match aggregate.function {
                AggregateFunction::Grouping(key) => {
                    vec![keys.get(key).ok_or_else(|| broken("GROUPING is of no key"))?.clone()]
                }
                _ => self.counted(&aggregate.operands, input, domain)?,
            };
            let filter = aggregate.filter.as_ref();
            let filter = filter.map(|filter| self.scalar(filter, input, domain)).transpose()?;
            let function = self.called(aggregate.function)?;
            let (distinct, filter) = (aggregate.distinct, filter.map(Box::new));
            let call =
                AggregateCall::new_udf(function, operands, distinct, filter, Vec::new(), None);
            calls.push(self.named(Planned::AggregateFunction(call)));
        }
        let width = keys.len();
        let each: Vec<_> = input.domain.iter().cloned().map(Planned::Column).collect();
        let by = match levels {
            None => each.into_iter().chain(keys).collect(),
            Some(levels) => {
                let level = |level: &Vec<usize>| {
                    let keys = level.iter().filter_map(|&key| keys.get(key).cloned());
                    each.iter().cloned().chain(keys).collect()
                };
                let levels = levels.iter().map(level).collect();
                vec![Planned::GroupingSet(GroupingSet::GroupingSets(levels))]
            }
        };
        let plan = LogicalPlanBuilder::new(input.plan.clone()).aggregate(by, calls)?.build()?;
        // With levels, a number of the level stands behind the keys.
        let mut each = plan.schema().columns();
        let mut columns = each.split_off(input.domain.len());
        let calls = columns.split_off(columns.len() - aggregates.len());
        columns.truncate(width);
        columns.extend(calls);
        let rows = PlannedRows { domain: each, ..PlannedRows::new(plan, columns) };
        let rows = self.in_types(rows, 0, &types)?;
        let Some(domain) = domain.filter(|_| one_row) else { return Ok(rows) };
        let is_count = |index: &usize| aggregates[*index].function == AggregateFunction::Count;
        let counts: Vec<usize> = (0..aggregates.len()).filter(is_count).collect();
        self.in_all(rows, &counts, domain)
    }

    /// Operands of an aggregate; those of COUNT(*) are one for each row.
    fn counted(
        &mut self,
        operands: &[Scalar],
        input: &PlannedRows,
        domain: Option<&Domain>,
    ) -> Result<Vec<Planned>> {
        if operands.is_empty() {
            return Ok(vec![lit(1i64)]);
        }
        operands.iter().map(|operand| self.scalar(operand, input, domain)).collect()
    }

    fn windows(
        &mut self,
        input: PlannedRows,
        windows: &[Window],
        domain: Option<&Domain>,
    ) -> Result<PlannedRows> {
        let width = input.columns.len();
        let scalars = windows.iter().flat_map(Window::scalars);
        let input = self.attached(input, scalars, domain)?;
        let mut calls = Vec::with_capacity(windows.len());
        for window in windows {
            let (fun, operands) = match window.function {
                WindowCall::Aggregate(function) => (
                    WindowFunctionDefinition::AggregateUDF(self.called(function)?),
                    self.counted(&window.operands, &input, domain)?,
                ),
                function => {
                    let found = self.state.window_functions().get(window_name(function));
                    let found = found.ok_or_else(|| broken("a window function is missing"))?;
                    let operands = window.operands.iter();
                    let operands = operands.map(|operand| self.scalar(operand, &input, domain));
                    (
                        WindowFunctionDefinition::WindowUDF(Arc::clone(found)),
                        operands.collect::<Result<_>>()?,
                    )
                }
            };
            let partition_by = window.partition_by.iter();
            let partition_by = partition_by.map(|key| self.scalar(key, &input, domain));
            let each = input.domain.iter().cloned().map(Planned::Column);
            let partition_by = each.map(Ok).chain(partition_by).collect::<Result<_>>()?;
            let mut order_by = self.order(&window.order_by, &input, domain)?;
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
    fn in_types(
        &mut self,
        mut rows: PlannedRows,
        first: usize,
        types: &[ColumnType],
    ) -> Result<PlannedRows> {
        let schema = Arc::clone(rows.plan.schema());
        let unchanged = rows.domain.iter().chain(rows.columns.iter().take(first));
        let hidden = rows.operands.iter().flatten().flatten().chain(rows.cells.iter().flatten());
        let mut all: Vec<_> = unchanged.chain(hidden).cloned().map(Planned::Column).collect();
        for (column, column_type) in rows.columns.iter_mut().skip(first).zip(types) {
            let expr =
                Planned::Column(column.clone()).cast_to(&arrow_type(*column_type), &schema)?;
            let name = self.name();
            all.push(expr.alias(name.clone()));
            *column = Column::new_unqualified(name);
        }
        rows.plan = LogicalPlanBuilder::new(rows.plan).project(all)?.build()?;
        rows.attached.clear();
        Ok(rows)
    }

    fn order(
        &mut self,
        by: &[SortKey],
        input: &PlannedRows,
        domain: Option<&Domain>,
    ) -> Result<Vec<Sort>> {
        let sort = |SortKey { value, descending, nulls_first }: &SortKey| {
            Ok(Sort::new(self.scalar(value, input, domain)?, !descending, *nulls_first))
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

    /// A scalar expression over the columns of a plan, to which its sub-queries are attached.
    pub(super) fn scalar(
        &mut self,
        scalar: &Scalar,
        input: &PlannedRows,
        domain: Option<&Domain>,
    ) -> Result<Planned> {
        let mut operands = Vec::with_capacity(scalar.operands.len());
        for operand in &scalar.operands {
            operands.push(match (operand, domain) {
                (Operand::Column(index), _) => Planned::Column(input.column(*index)?.clone()),
                (Operand::Outer { level, column }, Some(domain)) => {
                    Planned::Column(domain.find(input, *level, *column)?.clone())
                }
                _ => {
                    let attached = input.attached.iter().find(|(known, _)| known == operand);
                    let attached = attached.map(|(_, value)| value.clone());
                    attached.ok_or_else(|| broken("a sub-query has nothing around it"))?
                }
            });
        }
        self.expression(&scalar.expr, &operands)
    }

    /// An expression over operands. Comparisons and logic are DataFusion's, which joins by them;
    /// everything else is a call of a function that computes it.
    fn expression(&mut self, expr: &Expr, operands: &[Planned]) -> Result<Planned> {
        Ok(match &expr.kind {
            ExprKind::Column(index) => operands
                .get(*index)
                .ok_or_else(|| broken("an expression around parts reads an operand it lacks"))?
                .clone(),
            ExprKind::Literal(value) => {
                let value = constant(value, expr.column_type)?;
                Planned::Literal(ScalarValue::try_from_array(&value, 0)?, None)
            }
            ExprKind::Not(inner) => !self.expression(inner, operands)?,
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
        expr.visit(&mut |node| {
            if let ExprKind::Column(index) = node.kind
                && !read.contains(&index)
            {
                read.push(index);
                types.push(node.column_type);
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
                let function = ExprFunction::new(name, expr.clone(), types);
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
