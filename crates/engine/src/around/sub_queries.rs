//! Sub-queries of SQL around private parts, as joins.
//!
//! A sub-query that reads columns from outside is computed once for all rows: over the different
//! values of these columns, its *domain*. Its rows have the values that they are for beside them,
//! and are joined to the rows outside by these. Aggregates are by the domain, windows are within
//! one of its rows, and a LIMIT counts for each. So a sub-query means the same wherever it stands,
//! and nothing of it is left to be found by an optimizer.

use std::sync::Arc;

use datafusion::common::{Column, JoinType, NullEquality, Result, ScalarValue, Spans};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::{
    Expr as Planned, LogicalPlan, LogicalPlanBuilder, Subquery, lit, when,
};
use hushtable_plan::around_tree::{Node, Operand, Scalar};

use super::lowered::NodeLowering;
use super::planned_rows::{Domain, HiddenColumns, PlannedRows, broken};

/// The column in the rows around a sub-query that it reads from outside.
fn around<'r>(
    (level, column): (usize, usize),
    rows: &'r PlannedRows,
    domain: Option<&Domain>,
) -> Result<&'r Column> {
    match (level.checked_sub(1), domain) {
        (None, _) => rows.column(column),
        (Some(level), Some(domain)) => domain.find(rows, level, column),
        (Some(_), None) => Err(broken("a sub-query has nothing around it")),
    }
}

/// The one value of a sub-query that reads nothing from outside.
fn value_of(plan: LogicalPlan) -> Planned {
    let subquery = Arc::new(plan);
    Planned::ScalarSubquery(Subquery {
        subquery,
        outer_ref_columns: Vec::new(),
        spans: Spans::new(),
    })
}

impl NodeLowering<'_> {
    /// Rows with what the sub-queries of a condition come to that keeps the rows of which it is
    /// true: for it alone, since false may stand in the place of NULL.
    pub(super) fn attached_to_condition(
        &mut self,
        mut rows: PlannedRows,
        condition: &Scalar,
        domain: Option<&Domain>,
    ) -> Result<PlannedRows> {
        for index in condition.only_if_true() {
            if let Some(operand @ Operand::Among(value, node)) = condition.operands.get(index) {
                rows = self.attached(rows, [value.as_ref()], domain)?;
                let value = self.scalar(value, &rows, domain)?;
                let among = self.over(&rows, node, domain)?;
                let (found, _) = self.found(&mut rows, value, &among)?;
                rows.attached.push((operand.clone(), found));
            }
        }
        self.attached(rows, [condition], domain)
    }

    /// Rows with what the sub-queries of expressions over them come to.
    pub(super) fn attached<'s>(
        &mut self,
        mut rows: PlannedRows,
        scalars: impl IntoIterator<Item = &'s Scalar>,
        domain: Option<&Domain>,
    ) -> Result<PlannedRows> {
        for operand in scalars.into_iter().flat_map(|scalar| &scalar.operands) {
            if rows.attached.iter().any(|(known, _)| known == operand) {
                continue;
            }
            let value = match operand {
                Operand::Column(_) | Operand::Outer { .. } => continue,
                Operand::Value(node) => self.value(&mut rows, node, domain)?,
                Operand::Exists(node) => self.exists(&mut rows, node, domain)?,
                Operand::Among(value, node) => {
                    rows = self.attached(rows, [value.as_ref()], domain)?;
                    let value = self.scalar(value, &rows, domain)?;
                    self.among(&mut rows, value, node, domain)?
                }
            };
            rows.attached.push((operand.clone(), value));
        }
        Ok(rows)
    }

    /// The rows of a sub-query over its domain, and the columns around it that these are for.
    fn over(
        &mut self,
        rows: &PlannedRows,
        node: &Node,
        domain: Option<&Domain>,
    ) -> Result<(PlannedRows, Vec<Column>)> {
        let keys = node.outer_columns();
        let around = keys.iter().map(|key| around(*key, rows, domain).cloned());
        let around = around.collect::<Result<Vec<_>>>()?;
        if keys.is_empty() {
            return Ok((self.lower(node, None, HiddenColumns::Without)?, around));
        }
        let (plan, columns) = self.renamed(rows.plan.clone(), &around)?;
        let plan = LogicalPlanBuilder::new(plan).distinct()?.build()?;
        let domain = Domain { plan, keys, columns };
        Ok((self.lower(node, Some(&domain), HiddenColumns::Without)?, around))
    }

    /// Columns of a plan, and no others, under new names.
    fn renamed(
        &mut self,
        plan: LogicalPlan,
        columns: &[Column],
    ) -> Result<(LogicalPlan, Vec<Column>)> {
        let names: Vec<String> = columns.iter().map(|_| self.name()).collect();
        let exprs = columns.iter().zip(&names);
        let exprs = exprs.map(|(column, name)| Planned::Column(column.clone()).alias(name));
        let plan = LogicalPlanBuilder::new(plan).project(exprs.collect::<Vec<_>>())?.build()?;
        Ok((plan, names.into_iter().map(Column::new_unqualified).collect()))
    }

    /// Rows that read nothing from outside, for each row of a domain.
    pub(super) fn repeated(&mut self, rows: PlannedRows, domain: &Domain) -> Result<PlannedRows> {
        let (plan, columns) = self.renamed(domain.plan.clone(), &domain.columns)?;
        let plan = LogicalPlanBuilder::new(plan).cross_join(rows.plan.clone())?.build()?;
        Ok(PlannedRows { domain: columns, ..rows.within(plan) })
    }

    /// For each row of a domain its row of an aggregate without keys, which has no row where it
    /// aggregates none. The aggregates with these indices are 0 then, the others NULL.
    pub(super) fn in_all(
        &mut self,
        rows: PlannedRows,
        counts: &[usize],
        domain: &Domain,
    ) -> Result<PlannedRows> {
        let (plan, columns) = self.renamed(domain.plan.clone(), &domain.columns)?;
        let plan = joined(plan, columns.clone(), rows.plan, rows.domain)?;
        let mut exprs: Vec<_> = columns.iter().cloned().map(Planned::Column).collect();
        let mut values = Vec::with_capacity(rows.columns.len());
        for (index, column) in rows.columns.into_iter().enumerate() {
            let value = Planned::Column(column);
            let value = match counts.contains(&index) {
                true => when(value.clone().is_null(), lit(0i64)).otherwise(value)?,
                false => value,
            };
            let name = self.name();
            exprs.push(value.alias(name.clone()));
            values.push(Column::new_unqualified(name));
        }
        let plan = LogicalPlanBuilder::new(plan).project(exprs)?.build()?;
        Ok(PlannedRows { domain: columns, ..PlannedRows::new(plan, values) })
    }

    /// The value in the one row of a sub-query; NULL where it has none.
    fn value(
        &mut self,
        rows: &mut PlannedRows,
        node: &Node,
        domain: Option<&Domain>,
    ) -> Result<Planned> {
        let (inner, around) = self.over(rows, node, domain)?;
        if around.is_empty() {
            return Ok(value_of(self.bare(inner)?.plan));
        }
        let value = inner.column(0)?.clone();
        let right = (inner.plan, around);
        let [_, values] = self.beside(rows, right, &[inner.domain, vec![value]])?;
        first(values)
    }

    /// Whether a sub-query has a row.
    fn exists(
        &mut self,
        rows: &mut PlannedRows,
        node: &Node,
        domain: Option<&Domain>,
    ) -> Result<Planned> {
        let (inner, around) = self.over(rows, node, domain)?;
        if around.is_empty() {
            let plan = LogicalPlanBuilder::new(inner.plan).limit(0, Some(1))?;
            let number = self.named(count(lit(1i64)));
            let plan = plan.aggregate(Vec::<Planned>::new(), [number])?.build()?;
            return Ok(value_of(plan).gt(lit(0i64)));
        }
        let by = inner.domain.iter().cloned().map(Planned::Column);
        let number = self.name();
        let plan = LogicalPlanBuilder::new(inner.plan);
        let plan = plan.aggregate(by, [count(lit(1i64)).alias(number.clone())])?.build()?;
        let number = vec![Column::new_unqualified(number)];
        let [_, number] = self.beside(rows, (plan, around), &[inner.domain, number])?;
        Ok(first(number)?.is_not_null())
    }

    /// Whether a value is among those of a sub-query: NULL where it is not found, but it or one of
    /// them is NULL.
    fn among(
        &mut self,
        rows: &mut PlannedRows,
        value: Planned,
        node: &Node,
        domain: Option<&Domain>,
    ) -> Result<Planned> {
        let among = self.over(rows, node, domain)?;
        let (found, value) = self.found(rows, value, &among)?;
        // Whether one of its values is NULL, and nothing where it has none.
        let (inner, around) = among;
        let member = Planned::Column(inner.column(0)?.clone());
        let [all, known, name] = std::array::from_fn(|_| self.name());
        let by: Vec<_> = inner.domain.iter().cloned().map(Planned::Column).collect();
        let counts = [count(lit(1i64)).alias(all.clone()), count(member).alias(known.clone())];
        let [all, known] = [all, known].map(|name| Planned::Column(Column::new_unqualified(name)));
        let has_null = when(all.clone().gt(lit(0i64)), all.gt(known)).end()?;
        let column = Column::new_unqualified(name.clone());
        let plan = LogicalPlanBuilder::new(inner.plan)
            .aggregate(by.clone(), counts)?
            .project(by.into_iter().chain([has_null.alias(name)]))?
            .build()?;
        let has_null = if around.is_empty() {
            value_of(plan)
        } else {
            let [_, has_null] = self.beside(rows, (plan, around), &[inner.domain, vec![column]])?;
            first(has_null)?
        };
        let unknown = has_null.clone().or(value.is_null());
        when(found, lit(true))
            .when(has_null.is_null(), lit(false))
            .when(unknown, lit(ScalarValue::Boolean(None)))
            .otherwise(lit(false))
    }

    /// Whether a value is found among those of a sub-query, and the value; NULL is not found.
    fn found(
        &mut self,
        rows: &mut PlannedRows,
        value: Planned,
        (inner, around): &(PlannedRows, Vec<Column>),
    ) -> Result<(Planned, Planned)> {
        let member = inner.column(0)?.clone();
        let value = match value {
            Planned::Column(column) => column,
            value => {
                let name = self.name();
                let columns = rows.plan.schema().columns().into_iter().map(Planned::Column);
                let exprs = columns.chain([value.alias(name.clone())]).collect::<Vec<_>>();
                let plan = LogicalPlanBuilder::new(rows.plan.clone());
                rows.plan = plan.project(exprs)?.build()?;
                Column::new_unqualified(name)
            }
        };
        let (mut left, mut right) = (around.clone(), inner.domain.clone());
        left.push(value.clone());
        right.push(member.clone());
        let plan = LogicalPlanBuilder::new(inner.plan.clone())
            .filter(Planned::Column(member.clone()).is_not_null())?
            .project(right.iter().cloned().map(Planned::Column))?
            .distinct()?
            .build()?;
        let [_, marker] = self.beside(rows, (plan, left), &[right, vec![member]])?;
        Ok((first(marker)?.is_not_null(), Planned::Column(value)))
    }

    /// Joins a plan to rows, in which each has one partner at most: by its first columns, which
    /// equal those of the rows, NULL included. Gives the new names of all its columns.
    fn beside(
        &mut self,
        rows: &mut PlannedRows,
        (plan, around): (LogicalPlan, Vec<Column>),
        columns: &[Vec<Column>; 2],
    ) -> Result<[Vec<Column>; 2]> {
        let (plan, mut keys) = self.renamed(plan, &columns.concat())?;
        let values = keys.split_off(columns[0].len());
        rows.plan = joined(rows.plan.clone(), around, plan, keys.clone())?;
        Ok([keys, values])
    }
}

/// All rows of one plan with those of another that have the same values; NULL is one.
fn joined(
    left: LogicalPlan,
    left_keys: Vec<Column>,
    right: LogicalPlan,
    right_keys: Vec<Column>,
) -> Result<LogicalPlan> {
    let nulls = NullEquality::NullEqualsNull;
    LogicalPlanBuilder::new(left)
        .join_detailed(right, JoinType::Left, (left_keys, right_keys), None, nulls)?
        .build()
}

fn first(columns: Vec<Column>) -> Result<Planned> {
    let column = columns.into_iter().next();
    column.map(Planned::Column).ok_or_else(|| broken("a sub-query has no column"))
}
