//! Sub-queries and common table expressions: rows again, whose units are known.

use hushtable_contract::Column;
use hushtable_lang::aggregate_names::calls_aggregate;
use hushtable_lang::bind_expr::{
    Binder, Resolve, RowScope, bind_row_expression, condition, unify_all,
};
use hushtable_lang::{Expr, ExprKind, Refusal, Value};
use sqlparser::ast;

use super::from::QueryTables;
use super::group_by::bound_keys;
use super::mentions::has_aggregate;
use super::rowset::{References, RowSet, RowsColumn};
use super::select::{default_name, plain_clauses};
use super::star::Star;
use super::syntax::has_keys;
use super::unit_aggregate::unit_aggregate;
use super::walk::operands_mut;
use super::windows::Windows;
use crate::relation::{NamedExpr, Operator, Relation, UnitAggregate};

/// Most aggregates of one sub-query.
const MAX_AGGREGATES: usize = 100;

impl<'a> QueryTables<'a> {
    /// The rows of a query.
    pub(super) fn query(&self, query: &'a ast::Query) -> Result<RowSet, Refusal> {
        let tables = self.with(query.with.as_ref())?;
        if query.limit_clause.is_some() || query.fetch.is_some() {
            let refusal = Refusal::new(
                "LIMIT in a sub-query is not supported: which rows it keeps depends on all units",
                "use LIMIT in the outer query, or ROW_NUMBER() OVER (PARTITION BY the unit …) \
                 <= 10",
            );
            return Err(match &query.limit_clause {
                Some(limit) => refusal.at(limit),
                None => refusal.at(query),
            });
        }
        tables.body(query, &query.body)
    }

    fn body(&self, query: &'a ast::Query, body: &'a ast::SetExpr) -> Result<RowSet, Refusal> {
        match body {
            ast::SetExpr::Select(select) => plain_clauses(query, select)
                .and_then(|()| self.select(select, false))
                .map_err(|refusal| refusal.at(select.as_ref())),
            ast::SetExpr::Query(query) => self.query(query),
            ast::SetExpr::SetOperation {
                left,
                op: ast::SetOperator::Union,
                set_quantifier: ast::SetQuantifier::All,
                right,
            } => union(self.body(query, left)?, self.body(query, right)?),
            ast::SetExpr::SetOperation { left: _, op, set_quantifier, right: _ } => {
                Err(Refusal::new(
                    format!("{op} {set_quantifier} in a sub-query is not supported"),
                    "use UNION ALL; for intersections and differences, IN and NOT IN",
                ))
            }
            other => Err(Refusal::new(
                format!("`{other}` in a sub-query is not supported"),
                "SELECT … FROM … WHERE … GROUP BY …",
            )),
        }
    }

    /// The rows of a SELECT. Without keys, `looked_up` public rows are one group: there is none
    /// where there are no rows, which is no match in the join that looks it up.
    pub(super) fn select(
        &self,
        select: &'a ast::Select,
        looked_up: bool,
    ) -> Result<RowSet, Refusal> {
        let rows = self.filtered(select)?.with_units()?;
        let scope = rows.scope();
        let rows = if has_keys(select) || select.having.is_some() || has_aggregate(select) {
            let references = References::of(self.contract);
            let rows = aggregated(select, rows, &scope, &references, looked_up);
            rows.map_err(|refusal| refusal.at(&select.group_by))?
        } else {
            let mut windows = Windows::new(&scope, &rows.relation);
            let columns = outputs(select, &rows, &mut |node| windows.bind(node))?;
            let qualify = select.qualify.as_ref();
            let qualify =
                qualify.map(|node| condition(windows.bind(node)?, node, "QUALIFY")).transpose()?;
            let mut rows = windows.applied(rows)?;
            if let Some(condition) = qualify {
                rows = rows.filtered(condition)?;
            }
            rows.projected(columns)?
        };
        match &select.distinct {
            None => Ok(rows),
            Some(ast::Distinct::Distinct) => distinct(rows),
            Some(_) => Err(Refusal::new("DISTINCT ON is not supported", "SELECT DISTINCT a, b")),
        }
    }
}

/// The columns that SELECT shows, by name.
fn outputs<'a>(
    select: &'a ast::Select,
    rows: &RowSet,
    bind: &mut dyn FnMut(&'a ast::Expr) -> Result<Expr, Refusal>,
) -> Result<Vec<(String, Expr, Column)>, Refusal> {
    let mut columns = Vec::new();
    for (position, item) in select.projection.iter().enumerate() {
        if let Some(star) = Star::of(item)? {
            let is_meant = |c: &&RowsColumn| match star.table() {
                Some(table) => {
                    c.visible.qualifiers.iter().any(|name| name.eq_ignore_ascii_case(table))
                }
                None => c.visible.plain,
            };
            let all = rows.columns.iter().filter(is_meant).collect();
            let kept = star.of_columns(all, |c: &&RowsColumn| &c.visible.name)?;
            columns.extend(
                kept.into_iter()
                    .map(|c| (c.visible.name.clone(), c.visible.expr.clone(), c.declared.clone())),
            );
            continue;
        }
        let (node, name) = match item {
            ast::SelectItem::UnnamedExpr(node) => (node, default_name(node, position)),
            ast::SelectItem::ExprWithAlias { expr, alias } => (expr, alias.value.clone()),
            other => {
                return Err(Refusal::new(
                    format!("`{other}` in a sub-query's SELECT is not supported"),
                    "use columns, expressions and *",
                )
                .at(other));
            }
        };
        let expr = bind(node)?;
        let declared = rows.declared(&expr, &name);
        columns.push((name, expr, declared));
    }
    Ok(columns)
}

/// GROUP BY within units.
fn aggregated(
    select: &ast::Select,
    rows: RowSet,
    scope: &RowScope,
    references: &References,
    looked_up: bool,
) -> Result<RowSet, Refusal> {
    if select.qualify.is_some() {
        return Err(Refusal::new(
            "QUALIFY beside GROUP BY is not supported",
            "write a sub-query with the GROUP BY, and the window around it",
        ));
    }
    let keys = bound_keys(select, scope)?.into_iter().map(|(_, key)| key);
    let mut keys: Vec<Expr> = keys.collect();
    if keys.is_empty() && rows.is_public() {
        if !looked_up {
            return Err(Refusal::new(
                "a sub-query in FROM has one row of all rows of public tables",
                "use the value where it is needed: (SELECT COUNT(*) FROM towns) in an expression",
            ));
        }
        keys.push(Expr::literal(Value::Int(1)));
    }
    // Rows that refer to one row are of one unit, which is a key then, too.
    if let Some(unit) = rows.relation.protection().unit()
        && let Some(field) = rows.relation.fields().get(unit)
        && !keys.iter().any(|key| rows.relation.is_unit(key))
        && keys.iter().any(|key| references.leading_to_units(key, &rows.relation).is_some())
    {
        keys.push(Expr::column(unit, field.column_type));
    }
    let mut aggregates =
        UnitScope { scope, keys: &keys, aggregates: Vec::new(), aliases: Vec::new() };
    let columns = outputs(select, &rows, &mut |node| aggregates.bind(node))?;
    aggregates.aliases =
        columns.iter().map(|(name, expr, _)| (name.clone(), expr.clone())).collect();
    let having = select.having.as_ref();
    let having =
        having.map(|node| condition(aggregates.bind(node)?, node, "HAVING")).transpose()?;
    let aggregates = aggregates.aggregates;
    let named = |(index, key): (usize, &Expr)| NamedExpr {
        name: rows.declared(key, &format!("key_{index}")).name,
        expr: key.clone(),
    };
    let named_keys = keys.iter().enumerate().map(named).collect();
    // The contract's declaration of a key still holds for the key.
    let declared: Vec<Column> = keys.iter().map(|key| rows.declared(key, "key")).collect();
    let columns = columns.into_iter().map(|(name, expr, _)| {
        let declaration = match expr.kind {
            ExprKind::Column(index) => declared.get(index).cloned(),
            _ => None,
        };
        let declaration = declaration.unwrap_or_else(|| Column::plain(&name, expr.column_type));
        (name, expr, declaration)
    });
    let columns = columns.collect();
    let numbered = |(index, aggregate)| (format!("aggregate_{index}"), aggregate);
    let relation = Relation::new(Operator::Aggregate {
        input: rows.relation,
        keys: named_keys,
        aggregates: aggregates.into_iter().enumerate().map(numbered).collect(),
    })?;
    let mut rows = RowSet::named(relation, Vec::new());
    if let Some(condition) = having {
        rows = rows.filtered(condition)?;
    }
    rows.projected(columns)
}

/// Each combination of values once, within units.
fn distinct(rows: RowSet) -> Result<RowSet, Refusal> {
    let keys = rows
        .columns
        .iter()
        .map(|c| NamedExpr { name: c.visible.name.clone(), expr: c.visible.expr.clone() });
    let relation = Relation::new(Operator::Aggregate {
        keys: keys.collect(),
        input: rows.relation,
        aggregates: Vec::new(),
    })?;
    // The keys are the columns, in their order.
    let columns = rows.columns.into_iter().enumerate().map(|(index, mut column)| {
        column.visible.expr = Expr::column(index, column.visible.expr.column_type);
        column
    });
    let columns = columns.collect();
    Ok(RowSet::named(relation, columns))
}

fn union(left: RowSet, right: RowSet) -> Result<RowSet, Refusal> {
    if left.columns.len() != right.columns.len() {
        return Err(Refusal::new(
            format!(
                "the sides of UNION ALL have {} and {} columns",
                left.columns.len(),
                right.columns.len()
            ),
            "SELECT the same columns on all sides",
        ));
    }
    let (mut left_columns, mut right_columns) = (Vec::new(), Vec::new());
    for (one, other) in left.columns.iter().zip(&right.columns) {
        let (one_value, other_value) = (&one.visible.expr, &other.visible.expr);
        let mut both = vec![one_value.clone(), other_value.clone()];
        if one_value.column_type != other_value.column_type {
            // NULL, and a text that is a date, have the type of the other side.
            for (value, rows) in both.iter_mut().zip([&left, &right]) {
                if let ExprKind::Column(column) = value.kind
                    && let Some(constant) = constant(&rows.relation, column)
                {
                    *value = Expr::literal(constant.clone());
                }
            }
        }
        let name = one.visible.name.clone();
        let mut both = unify_all(both, "UNION ALL")?.into_iter();
        for side in [&mut left_columns, &mut right_columns] {
            let expr = both.next().unwrap_or_else(|| Expr::literal(Value::Null));
            let declared = Column::plain(&name, expr.column_type);
            side.push((name.clone(), expr, declared));
        }
    }
    let is_unit = |rows: &RowSet, columns: &[(String, Expr, Column)]| -> Vec<bool> {
        columns.iter().map(|(_, expr, _)| rows.relation.is_unit(expr)).collect()
    };
    let units = (is_unit(&left, &left_columns), is_unit(&right, &right_columns));
    let (left, right) =
        (left.projected_with_unit(left_columns)?, right.projected_with_unit(right_columns)?);
    let inputs = vec![left.relation, right.relation];
    let relation = Relation::new(Operator::UnionAll { inputs })?;
    let mut columns = left.columns;
    // The left side names its units by one of their columns. The other side has its own values.
    for (index, column) in columns.iter_mut().enumerate() {
        column.visible.expr = Expr::column(index, column.visible.expr.column_type);
    }
    // A column that is the unit on both sides is the unit.
    if let Some(unit) = relation.protection().unit() {
        for (column, both) in columns.iter_mut().zip(units.0.iter().zip(&units.1)) {
            if *both.0 && *both.1 {
                column.visible.expr = Expr::column(unit, column.visible.expr.column_type);
            }
        }
    }
    Ok(RowSet::named(relation, columns))
}

/// The constant that a column is, where it is one.
fn constant(relation: &Relation, column: usize) -> Option<&Value> {
    match relation.operator() {
        Operator::Project { input, columns } => match &columns.get(column)?.expr.kind {
            ExprKind::Literal(value) => Some(value),
            ExprKind::Column(column) => constant(input, *column),
            _ => None,
        },
        Operator::Filter { input, .. }
        | Operator::First { input, .. }
        | Operator::Take { input, .. } => constant(input, column),
        Operator::UnionAll { inputs } => {
            let mut all = inputs.iter().map(|input| constant(input, column));
            let first = all.next()??;
            all.all(|other| other == Some(first)).then_some(first)
        }
        _ => None,
    }
}

/// Refuses a window beside GROUP BY.
fn beside_groups(function: &ast::Function, window: &ast::WindowSpec) -> Refusal {
    if window.partition_by.is_empty() {
        let by = window.order_by.first().map_or_else(|| "x".to_owned(), |by| by.expr.to_string());
        return Refusal::new(
            format!("`{function}` compares groups of several units with each other"),
            format!(
                "WIDTH_BUCKET({by}, 0, 100, 10) for bands of equal width, with bounds that do not \
                 depend on the data; or PARTITION BY the privacy unit in OVER"
            ),
        );
    }
    let mut around = ast::Expr::Function(function.clone());
    let mut computed = Vec::new();
    name_aggregates(&mut around, &mut computed);
    Refusal::new(
        format!("`{function}` is a window beside GROUP BY: that is not supported"),
        format!(
            "aggregate in a sub-query, and write the window around it: SELECT …, {around} FROM \
             (SELECT …{} FROM … GROUP BY …)",
            computed.concat()
        ),
    )
}

/// Puts names in the place of the aggregates of an expression.
fn name_aggregates(node: &mut ast::Expr, computed: &mut Vec<String>) {
    if calls_aggregate(node) {
        let name = format!("value_{}", computed.len() + 1);
        computed.push(format!(", {node} AS {name}"));
        *node = ast::Expr::Identifier(ast::Ident::new(name));
        return;
    }
    for operand in operands_mut(node).into_iter().flatten() {
        name_aggregates(operand, computed);
    }
}

/// Names and aggregates in a sub-query's SELECT and HAVING.
struct UnitScope<'a> {
    scope: &'a RowScope,
    keys: &'a [Expr],
    aggregates: Vec<UnitAggregate>,
    /// Names given in SELECT, where they may be used: in HAVING, if no column has them.
    aliases: Vec<(String, Expr)>,
}

impl UnitScope<'_> {
    fn bind(&mut self, node: &ast::Expr) -> Result<Expr, Refusal> {
        Binder::new(self).bind(node)
    }

    /// The value that SELECT gives a name that no column has.
    fn aliased(&self, name: &str) -> Option<&Expr> {
        let is_named = |(alias, _): &&(String, Expr)| alias.eq_ignore_ascii_case(name);
        let alias = self.aliases.iter().find(is_named).filter(|_| !self.scope.has(name));
        alias.map(|(_, expr)| expr)
    }
}

impl Resolve for UnitScope<'_> {
    fn names(&self, name: &str) -> bool {
        self.scope.knows(name) || self.aliased(name).is_some()
    }

    fn resolve(&mut self, node: &ast::Expr) -> Option<Result<Expr, Refusal>> {
        if let ast::Expr::Function(function) = node
            && let Some(ast::WindowType::WindowSpec(window)) = &function.over
        {
            return Some(Err(beside_groups(function, window)));
        }
        if let ast::Expr::Function(function) = node
            && calls_aggregate(node)
        {
            let aggregate = match unit_aggregate(function, self.scope) {
                Ok(aggregate) => aggregate,
                Err(refusal) => return Some(Err(refusal)),
            };
            let column_type = aggregate.column_type();
            let index = self.aggregates.iter().position(|existing| *existing == aggregate);
            let index = index.unwrap_or_else(|| {
                self.aggregates.push(aggregate);
                self.aggregates.len() - 1
            });
            if self.aggregates.len() > MAX_AGGREGATES {
                let what = format!("a sub-query has more than {MAX_AGGREGATES} aggregates");
                return Some(Err(Refusal::new(what, "join several sub-queries")));
            }
            return Some(Ok(Expr::column(self.keys.len() + index, column_type)));
        }
        if let ast::Expr::Identifier(name) = node
            && let Some(expr) = self.aliased(&name.value)
        {
            return Some(Ok(expr.clone()));
        }
        if matches!(node, ast::Expr::Value(_) | ast::Expr::TypedString(_)) {
            return None;
        }
        let named = matches!(node, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_));
        match bind_row_expression(node, self.scope) {
            Ok(bound) => {
                if let Some(at) = self.keys.iter().position(|key| *key == bound) {
                    return Some(Ok(Expr::column(at, bound.column_type)));
                }
                named.then(|| {
                    Err(Refusal::new(
                        format!("`{node}` is neither grouped by nor aggregated in its sub-query"),
                        format!("add {node} to the sub-query's GROUP BY, or write MAX({node})"),
                    ))
                })
            }
            Err(refusal) => named.then_some(Err(refusal)),
        }
    }
}
