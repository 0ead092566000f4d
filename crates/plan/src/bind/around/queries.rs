//! Queries of SQL around private parts.

use std::borrow::Cow;
use std::collections::HashSet;

use hushtable_lang::bind_expr::{cast, unify_all};
use hushtable_lang::{ColumnType, Expr, Refusal, Value};
use sqlparser::ast;

use super::collective::aggregates;
use super::expressions::{CollectedCalls, Several, after};
use super::scope::{OutputColumn, ScopeView};
use super::tree::{Node, Scalar, Set, SetOperation, SortKey};
use super::unlinked::check_linked;
use super::{NamedQuery, NamedTables, TreeWalk, unsupported};
use crate::bind::aliases::{
    Aliases, grouped_item, groups_by_name, hidden_key, reads_earlier, write_out_earlier,
};
use crate::bind::group_by::name_all;
use crate::bind::grouping_sets::sets;
use crate::bind::released_tables::MAX_OUTPUTS;
use crate::bind::select::{default_name, limits, plain_clauses};
use crate::bind::star::Star;
use crate::bind::syntax::has_keys;
use crate::bind::walk::{any, is_name, select_list};

/// The columns that a query shows.
pub(super) type OutputColumns = Vec<OutputColumn>;

/// A query's rows before they are ordered: behind the columns that it shows may be those that they
/// are ordered by.
struct UnorderedQuery {
    node: Node,
    outputs: OutputColumns,
    order: Vec<SortKey>,
}

/// GROUP BY: the keys as they are written and bound, and those of each level.
type BoundGroupBy = (Vec<(ast::Expr, Scalar)>, Option<Vec<Vec<usize>>>);

impl TreeWalk<'_> {
    /// A query, and the columns that it shows.
    pub(super) fn query(
        &mut self,
        query: &ast::Query,
        tables: &NamedTables,
        outer: Option<&ScopeView<'_>>,
    ) -> Result<(Node, OutputColumns), Refusal> {
        self.ordered_query(query, tables, outer, false)
    }

    /// A query. The rows of the outermost one have a complete order; so have those that a LIMIT
    /// counts.
    pub(super) fn ordered_query(
        &mut self,
        query: &ast::Query,
        tables: &NamedTables,
        outer: Option<&ScopeView<'_>>,
        outermost: bool,
    ) -> Result<(Node, OutputColumns), Refusal> {
        if query.fetch.is_some() {
            return Err(unsupported("FETCH", "LIMIT 10"));
        }
        let inner_tables = query.with.as_ref().map(|with| self.with(with, tables)).transpose()?;
        let tables = inner_tables.as_ref().unwrap_or(tables);
        let order_by = match query.order_by.as_ref().map(|by| &by.kind) {
            None => &[],
            Some(ast::OrderByKind::Expressions(items)) => items.as_slice(),
            Some(ast::OrderByKind::All(_)) => {
                return Err(Refusal::new("ORDER BY ALL is not supported", "ORDER BY 1, 2"));
            }
        };
        let unordered = match query.body.as_ref() {
            ast::SetExpr::Select(select) => {
                plain_clauses(query, select)?;
                let bound = self.select(select, order_by, tables, outer);
                bound.map_err(|refusal| refusal.at(select.as_ref()))?
            }
            body => {
                let (node, outputs) = self.sides(body, tables, outer)?;
                let order = order_by.iter().map(|item| by_name(item, &outputs));
                let order = order.collect::<Result<Vec<_>, Refusal>>()?;
                UnorderedQuery { node, outputs, order }
            }
        };
        let (limit, offset) = limits(query)?;
        let complete = outermost || query.limit_clause.is_some();
        Ok(unordered.ordered(complete, (limit, offset)))
    }

    /// The tables in reach with those that a WITH adds.
    fn with(&mut self, with: &ast::With, tables: &NamedTables) -> Result<NamedTables, Refusal> {
        let mut tables = tables.clone();
        for cte in &with.cte_tables {
            let before = std::mem::take(&mut self.columns);
            let (node, outputs) = self.query(&cte.query, &tables, None)?;
            // It costs something where it is named.
            let columns = std::mem::replace(&mut self.columns, before);
            let outputs = aliased(&cte.alias, outputs)?;
            tables.0.push(NamedQuery {
                name: cte.alias.name.value.clone(),
                node,
                outputs,
                columns,
            });
        }
        Ok(tables)
    }

    /// The sides of a set operation. Chains of them are deep, so each step takes little of the
    /// stack: what its cases need is in functions of their own.
    fn sides(
        &mut self,
        body: &ast::SetExpr,
        tables: &NamedTables,
        outer: Option<&ScopeView<'_>>,
    ) -> Result<(Node, OutputColumns), Refusal> {
        match body {
            ast::SetExpr::Select(select) => self.select_side(select, tables, outer),
            ast::SetExpr::Query(query) => self.query(query, tables, outer),
            ast::SetExpr::SetOperation { op, set_quantifier, left, right } => {
                let operation = operation(op, set_quantifier)?;
                let left = self.sides(left, tables, outer)?;
                let right = self.sides(right, tables, outer)?;
                set_operation((operation, op), left, right)
            }
            other => Err(unsupported(other, "SELECT … FROM … WHERE … GROUP BY …")),
        }
    }

    #[inline(never)]
    fn select_side(
        &mut self,
        select: &ast::Select,
        tables: &NamedTables,
        outer: Option<&ScopeView<'_>>,
    ) -> Result<(Node, OutputColumns), Refusal> {
        let bound = self.select(select, &[], tables, outer);
        let UnorderedQuery { node, outputs, order: _ } =
            bound.map_err(|refusal| refusal.at(select))?;
        Ok((node, outputs))
    }

    /// A SELECT, with the columns that it shows and its order.
    fn select(
        &mut self,
        select: &ast::Select,
        order_by: &[ast::OrderByExpr],
        tables: &NamedTables,
        outer: Option<&ScopeView<'_>>,
    ) -> Result<UnorderedQuery, Refusal> {
        check_columns(select.projection.len())?;
        let before = self.columns;
        let (mut node, scope) = self.from(&select.from, tables, outer)?;
        let columns = self.columns.saturating_sub(before);
        let mut select = Cow::Borrowed(select);
        if reads_earlier(&select) {
            let is_column = |name: &str| scope.has(name);
            write_out_earlier(select.to_mut(), &is_column, &mut self.room_for_names)?;
        }
        let select = select.as_ref();
        let rows = ScopeView { scope: &scope, keys: None, outer, columns };
        let selection = select.selection.as_ref();
        let selection = selection
            .map(|node| self.condition((node, "WHERE"), rows, Several::None, tables))
            .transpose()?;
        check_linked(&node, selection.as_ref())
            .map_err(|refusal| refusal.at(select.from.as_slice()))?;
        if let Some(condition) = selection {
            node = Node::Filter(Box::new(node), condition);
        }
        let (keys, levels) = self.group_by(select, rows, tables)?;
        let grouped = is_grouped(select, order_by);
        let view = ScopeView { keys: grouped.then_some(keys.as_slice()), ..rows };
        let mut collected = CollectedCalls::default();

        let named: Vec<(String, ast::Expr)> = select.projection.iter().filter_map(alias).collect();
        let is_column = |name: &str| scope.has(name);
        let is_key = |node: &ast::Expr| match node {
            ast::Expr::Identifier(name) => view.column(std::slice::from_ref(name)).is_ok(),
            ast::Expr::CompoundIdentifier(path) => view.column(path).is_ok(),
            _ => false,
        };
        for (name, node) in named.iter().filter(|(name, _)| groups_by_name(select, name)) {
            if is_column(name) && is_name(node) && !is_key(node) {
                return Err(hidden_key(node, name).at(node));
            }
        }
        let aliases = Aliases { named: &named, is_column: &is_column, is_key: &is_key };
        let mut clause = |node: Option<&ast::Expr>, clause: &str, several: Several<'_>| {
            let Some(mut node) = node.cloned() else { return Ok(None) };
            aliases.substitute(&mut node, clause)?;
            self.condition((&node, clause), view, several, tables).map(Some)
        };
        let aggregated = Several::Aggregates(&mut collected);
        let having = clause(select.having.as_ref(), "HAVING", aggregated)?;
        let windows = Several::Windows(&mut collected);
        let qualify = clause(select.qualify.as_ref(), "QUALIFY", windows)?;
        let (mut columns, outputs) = self.output_columns(select, view, &mut collected, tables)?;
        let distinct = match &select.distinct {
            None | Some(ast::Distinct::All) => false,
            Some(ast::Distinct::Distinct) => true,
            Some(ast::Distinct::On(_)) => {
                return Err(Refusal::new("DISTINCT ON is not supported", "SELECT DISTINCT a, b"));
            }
        };
        let mut order = Vec::with_capacity(order_by.len());
        for item in order_by {
            let shown = shown(item, &outputs)?;
            let index = match shown {
                Some(index) => index,
                None => {
                    let windows = Several::Windows(&mut collected);
                    let value = self.scalar(&item.expr, view, windows, tables)?;
                    let index = columns.iter().position(|column| *column == value);
                    index.unwrap_or_else(|| {
                        columns.push(value);
                        columns.len() - 1
                    })
                }
            };
            if distinct && index >= outputs.len() {
                return Err(Refusal::new(
                    format!("ORDER BY `{}` is not shown by SELECT DISTINCT", item.expr),
                    "add it to SELECT, or leave DISTINCT out",
                )
                .at(&item.expr));
            }
            let value = Scalar::column(index, columns[index].expr.column_type);
            order.push(SortKey::of(value, item.options));
        }
        let CollectedCalls { aggregates, windows } = collected;
        if grouped {
            let keys = keys.into_iter().map(|(_, key)| key).collect();
            node = Node::Aggregate { input: Box::new(node), keys, levels, aggregates };
        }
        if let Some(condition) = having {
            node = Node::Filter(Box::new(node), condition);
        }
        let width = node.width();
        if !windows.is_empty() {
            node = Node::Window(Box::new(node), windows);
        }
        if let Some(condition) = qualify {
            node = Node::Filter(Box::new(node), after(width, condition));
        }
        let columns = columns.into_iter().map(|column| after(width, column)).collect();
        node = Node::Project(Box::new(node), columns);
        if distinct {
            node = Node::Distinct(Box::new(node));
        }
        Ok(UnorderedQuery { node, outputs, order })
    }

    /// The keys of GROUP BY, and those of each level where there are several.
    fn group_by(
        &mut self,
        select: &ast::Select,
        rows: ScopeView<'_>,
        tables: &NamedTables,
    ) -> Result<BoundGroupBy, Refusal> {
        let mut select = select.clone();
        name_all(&mut select);
        let ast::GroupByExpr::Expressions(nodes, modifiers) = &select.group_by else {
            return Err(unsupported("GROUP BY ALL with levels", "GROUP BY ROLLUP (a, b)"));
        };
        let most = |many: usize| match many > MAX_OUTPUTS {
            true => Err(Refusal::new(
                format!("GROUP BY has more than {MAX_OUTPUTS} keys"),
                "use fewer keys",
            )),
            false => Ok(()),
        };
        most(nodes.len())?;
        let mut keys: Vec<(ast::Expr, Scalar)> = Vec::new();
        let mut levels: Vec<Vec<usize>> = Vec::new();
        for set in sets(nodes, modifiers)? {
            let mut level = Vec::with_capacity(set.len());
            for node in &set {
                let node = grouped_item(node, &select, &|name| rows.scope.has(name))?;
                let known = keys.iter().position(|(written, _)| written == node);
                let index = match known {
                    Some(index) => index,
                    None => {
                        let key = self.scalar(node, rows, Several::None, tables)?;
                        let known = keys.iter().position(|(_, other)| *other == key);
                        known.unwrap_or_else(|| {
                            keys.push((node.clone(), key));
                            keys.len() - 1
                        })
                    }
                };
                most(keys.len())?;
                if !level.contains(&index) {
                    level.push(index);
                }
            }
            levels.push(level);
        }
        // Each level has all keys.
        self.has(levels.len() * keys.len())?;
        Ok((keys, (levels.len() > 1).then_some(levels)))
    }

    /// The columns of a SELECT's list, with names that differ.
    fn output_columns(
        &mut self,
        select: &ast::Select,
        view: ScopeView<'_>,
        collected: &mut CollectedCalls,
        tables: &NamedTables,
    ) -> Result<(Vec<Scalar>, OutputColumns), Refusal> {
        let mut all: Vec<(Scalar, String)> = Vec::new();
        for (position, item) in select.projection.iter().enumerate() {
            check_columns(all.len())?;
            let Some(star) = Star::of(item)? else {
                let (ast::SelectItem::UnnamedExpr(node)
                | ast::SelectItem::ExprWithAlias { expr: node, alias: _ }) = item
                else {
                    return Err(unsupported(item, "columns, expressions and *").at(item));
                };
                let name = alias(item).map(|(name, _)| name);
                let name = name.unwrap_or_else(|| default_name(node, position));
                let several = Several::Windows(collected);
                all.push((self.scalar(node, view, several, tables)?, name));
                continue;
            };
            let columns = view.scope.all(star.table());
            let columns = star.of_columns(columns, |(_, output)| &output.name)?;
            for (column, output) in columns {
                let (index, column_type) = view.seen(column, &output.name)?;
                all.push((Scalar::column(index, column_type), output.name));
            }
        }
        if all.is_empty() {
            return Err(Refusal::new("SELECT shows nothing", "SELECT a, b FROM …"));
        }
        check_columns(all.len())?;
        self.has(all.len())?;
        let mut taken = HashSet::new();
        let (mut columns, mut outputs) = (Vec::new(), Vec::new());
        for (column, name) in all {
            let (mut unique, mut copy) = (name.clone(), 1);
            while !taken.insert(unique.to_ascii_lowercase()) {
                copy += 1;
                unique = format!("{name}_{copy}");
            }
            let is_null = column.expr.is_null_literal();
            let column_type = column.expr.column_type;
            outputs.push(OutputColumn { name: unique, column_type, is_null });
            columns.push(column);
        }
        Ok((columns, outputs))
    }
}

impl UnorderedQuery {
    /// The rows in their order, which is complete where it has to be, and those that a LIMIT takes.
    fn ordered(self, complete: bool, (limit, offset): (Option<u64>, u64)) -> (Node, OutputColumns) {
        let Self { mut node, outputs, mut order } = self;
        let shown: Vec<Scalar> = outputs
            .iter()
            .enumerate()
            .map(|(index, output)| Scalar::column(index, output.column_type))
            .collect();
        if complete {
            for column in &shown {
                if !order.iter().any(|key| key.value == *column) {
                    order.push(SortKey::of(column.clone(), ast::OrderByOptions::default()));
                }
            }
        }
        if !order.is_empty() {
            node = Node::Sort(Box::new(node), order);
        }
        if limit.is_some() || offset > 0 {
            node = Node::Limit { input: Box::new(node), offset, limit };
        }
        if node.width() > shown.len() {
            node = Node::Project(Box::new(node), shown);
        }
        (node, outputs)
    }
}

/// The name that SELECT gives to an expression, and the expression.
fn alias(item: &ast::SelectItem) -> Option<(String, ast::Expr)> {
    match item {
        ast::SelectItem::ExprWithAlias { expr, alias } => Some((alias.value.clone(), expr.clone())),
        _ => None,
    }
}

/// Whether a SELECT shows groups of rows.
fn is_grouped(select: &ast::Select, order_by: &[ast::OrderByExpr]) -> bool {
    let aggregated = |node: &ast::Expr| any(node, &aggregates);
    has_keys(select)
        || select.having.is_some()
        || select_list(select).any(aggregated)
        || select.qualify.iter().any(aggregated)
        || order_by.iter().any(|item| aggregated(&item.expr))
}

/// Refuses a SELECT with many columns.
fn check_columns(columns: usize) -> Result<(), Refusal> {
    if columns <= MAX_OUTPUTS {
        return Ok(());
    }
    Err(Refusal::new(
        format!("SELECT shows more than {MAX_OUTPUTS} columns"),
        "write several statements",
    ))
}

/// The columns of a table under its alias.
pub(super) fn aliased(
    alias: &ast::TableAlias,
    columns: OutputColumns,
) -> Result<OutputColumns, Refusal> {
    if alias.columns.is_empty() {
        return Ok(columns);
    }
    if alias.columns.len() != columns.len() {
        return Err(Refusal::new(
            format!(
                "`{alias}` names {} columns, but there are {}",
                alias.columns.len(),
                columns.len()
            ),
            "name all columns, or none",
        ));
    }
    let names = alias.columns.iter().map(|column| column.name.value.clone());
    Ok(names.zip(columns).map(|(name, column)| OutputColumn { name, ..column }).collect())
}

/// The column of SELECT that an item of ORDER BY means by its name or position.
fn shown(item: &ast::OrderByExpr, outputs: &[OutputColumn]) -> Result<Option<usize>, Refusal> {
    if item.with_fill.is_some() {
        return Err(Refusal::new("WITH FILL is not supported", "ORDER BY x DESC"));
    }
    match &item.expr {
        ast::Expr::Value(_) => {
            let text = item.expr.to_string();
            let position = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            position.filter(|index| *index < outputs.len()).map(Some).ok_or_else(|| {
                Refusal::new(
                    format!("ORDER BY {text} is not the position of a column in SELECT"),
                    "ORDER BY 1 is the first column",
                )
            })
        }
        ast::Expr::Identifier(name) => {
            Ok(outputs.iter().position(|column| column.is_named(&name.value)))
        }
        _ => Ok(None),
    }
}

/// An order of a set operation's rows, by its columns.
fn by_name(item: &ast::OrderByExpr, outputs: &[OutputColumn]) -> Result<SortKey, Refusal> {
    let index = shown(item, outputs)?.ok_or_else(|| {
        unsupported(
            format!("ORDER BY {}", item.expr),
            "a column's name or position, after UNION, EXCEPT and INTERSECT",
        )
    })?;
    Ok(SortKey::of(Scalar::column(index, outputs[index].column_type), item.options))
}

fn operation(
    op: &ast::SetOperator,
    quantifier: &ast::SetQuantifier,
) -> Result<SetOperation, Refusal> {
    use ast::{SetOperator as O, SetQuantifier as Q};
    Ok(match (op, quantifier) {
        (O::Union, Q::All) => SetOperation::UnionAll,
        (O::Union, Q::Distinct | Q::None) => SetOperation::Union,
        (O::Except, Q::Distinct | Q::None) => SetOperation::Except,
        (O::Intersect, Q::Distinct | Q::None) => SetOperation::Intersect,
        _ => {
            return Err(unsupported(
                format!("{op} {quantifier}"),
                "use UNION ALL, UNION DISTINCT, EXCEPT DISTINCT or INTERSECT DISTINCT",
            ));
        }
    })
}

/// Both sides with columns of the same types.
fn set_operation(
    (operation, op): (SetOperation, &ast::SetOperator),
    (left, mut outputs): (Node, OutputColumns),
    (right, others): (Node, OutputColumns),
) -> Result<(Node, OutputColumns), Refusal> {
    if outputs.len() != others.len() {
        let (left_count, right_count) = (outputs.len(), others.len());
        return Err(Refusal::new(
            format!("the sides of {op} have {left_count} and {right_count} columns"),
            "SELECT the same columns on all sides",
        ));
    }
    let mut columns = Vec::with_capacity(outputs.len());
    for (index, (output, other)) in outputs.iter_mut().zip(&others).enumerate() {
        let column = |column: &OutputColumn| match column.is_null {
            true => Expr::literal(Value::Null),
            false => Expr::column(0, column.column_type),
        };
        let context = format!("column {} of {op}", index + 1);
        let both = unify_all(vec![column(output), column(other)], &context)?;
        columns.extend(both.first().map(|expr| expr.column_type));
    }
    let left = in_types(left, &outputs, &columns);
    let right = in_types(right, &others, &columns);
    for ((output, other), column_type) in outputs.iter_mut().zip(others).zip(&columns) {
        output.column_type = *column_type;
        output.is_null &= other.is_null;
    }
    Ok((Node::Set(Box::new(Set { operation, columns, left, right })), outputs))
}

/// The side of a set operation with the constant NULL in the types of its columns.
fn in_types(side: Node, outputs: &[OutputColumn], types: &[ColumnType]) -> Node {
    let changes = |(output, column_type): (&OutputColumn, &ColumnType)| {
        output.is_null && output.column_type != *column_type
    };
    if !outputs.iter().zip(types).any(changes) {
        return side;
    }
    let columns = outputs.iter().zip(types).enumerate().map(|(index, (output, column_type))| {
        match output.is_null {
            true => Scalar {
                expr: cast(Expr::literal(Value::Null), *column_type),
                operands: Vec::new(),
            },
            false => Scalar::column(index, output.column_type),
        }
    });
    Node::Project(Box::new(side), columns.collect())
}
