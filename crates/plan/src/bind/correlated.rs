//! Ways out for sub-queries that read the rows around them, for the very sub-query.

use hushtable_contract::{Contract, TableUnit};
use hushtable_lang::aggregate_names::calls_aggregate;
use hushtable_lang::bind_expr::row_values;
use sqlparser::ast;

use super::from::terms;
use super::syntax::{all_of_them, call, number, only_value, plain_table, query_of, select_of};
use super::walk::{any, select_list, table_name};

/// Most characters of a query that a hint writes out.
pub(super) const MAX_WRITTEN: usize = 240;

/// The way out for a sub-query that cannot be looked up where it stands. `is_around` says whether a
/// name is that of a column around it.
pub(super) fn way_out(node: &ast::Expr, is_around: &dyn Fn(&ast::Expr) -> bool) -> String {
    let written = match node {
        ast::Expr::Subquery(query) => one_value(query),
        ast::Expr::InSubquery { expr, subquery, negated } => {
            in_of_rows(expr, subquery, *negated, is_around)
        }
        ast::Expr::Exists { subquery, negated } => any_row(subquery, *negated),
        _ => None,
    };
    let near = match node {
        ast::Expr::Subquery(_) => {
            "a value of a sub-query is one aggregate, without LIMIT, of rows that WHERE compares \
             by =, <, > or BETWEEN with columns around it; other conditions stand in WHERE EXISTS \
             (…) or in a join in FROM"
        }
        ast::Expr::InSubquery { expr: _, subquery: _, negated: _ } => {
            "write EXISTS (SELECT 1 FROM … WHERE …), which may name the columns around it, in the \
             place of IN, and NOT EXISTS in that of NOT IN"
        }
        _ => {
            "write EXISTS in WHERE, joined with the other conditions by AND; or join the table in \
             FROM"
        }
    };
    written.filter(|hint| hint.chars().count() <= MAX_WRITTEN).unwrap_or_else(|| near.to_owned())
}

/// EXISTS of the rows of an aggregate, which is itself always a row.
fn any_row(query: &ast::Query, negated: bool) -> Option<String> {
    let select = select_of(query).ok()?;
    if select.having.is_some() || !select_list(select).any(|node| any(node, &calls_aggregate)) {
        return None;
    }
    let not = if negated { "NOT " } else { "" };
    let mut rows = select.clone();
    rows.projection = vec![ast::SelectItem::UnnamedExpr(number(1))];
    Some(format!(
        "{not}EXISTS ({}) asks for rows: an aggregate has a row where there are none",
        query_of(rows)
    ))
}

/// A value of one of several rows as an aggregate of them.
fn one_value(query: &ast::Query) -> Option<String> {
    let select = select_of(query).ok()?;
    let value = only_value(select)?;
    if any(value, &calls_aggregate) || select.having.is_some() || select.distinct.is_some() {
        return None;
    }
    let order_by = match query.order_by.as_ref().map(|by| &by.kind) {
        None => None,
        Some(ast::OrderByKind::Expressions(items)) => match items.as_slice() {
            [item] => Some(item),
            _ => return None,
        },
        Some(ast::OrderByKind::All(_)) => return None,
    };
    let descending = order_by.is_none_or(|item| item.options.asc == Some(false));
    let aggregate = match order_by {
        Some(item) if item.expr != *value => {
            let name = if descending { "ARG_MAX" } else { "ARG_MIN" };
            call(name, vec![value.clone(), item.expr.clone()])
        }
        _ => call(if descending { "MAX" } else { "MIN" }, vec![value.clone()]),
    };
    let mut inner = select.clone();
    inner.projection = vec![ast::SelectItem::UnnamedExpr(aggregate)];
    Some(format!("({})", query_of(inner)))
}

/// IN of rows that WHERE compares by equality with those around, with these values among those that
/// it looks for.
fn in_of_rows(
    value: &ast::Expr,
    query: &ast::Query,
    negated: bool,
    is_around: &dyn Fn(&ast::Expr) -> bool,
) -> Option<String> {
    let select = select_of(query).ok()?;
    let (mut values, mut columns, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for term in terms(select.selection.as_ref()?) {
        match term {
            ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } => {
                let (outer, inner) = match (is_around(left), is_around(right)) {
                    (true, false) => (left, right),
                    (false, true) => (right, left),
                    _ if any(term, is_around) => return None,
                    _ => {
                        rest.push(term.clone());
                        continue;
                    }
                };
                if any(inner, is_around) {
                    return None;
                }
                values.push(outer.to_string());
                columns.push(ast::SelectItem::UnnamedExpr(inner.as_ref().clone()));
            }
            _ if any(term, is_around) => return None,
            _ => rest.push(term.clone()),
        }
    }
    if values.is_empty() {
        return None;
    }
    let looked_for = row_values(value).unwrap_or(std::slice::from_ref(value));
    values.extend(looked_for.iter().map(ToString::to_string));
    let mut inner = select.clone();
    columns.append(&mut inner.projection);
    inner.projection = columns;
    inner.selection = all_of_them(rest.into_iter());
    let not = if negated { "NOT " } else { "" };
    Some(format!("({}) {not}IN ({})", values.join(", "), query_of(inner)))
}

/// The way out for a value of each row that follows from the rows of many units.
pub(super) fn of_one_unit(select: &ast::Select, contract: &Contract) -> String {
    let tables = select.from.iter().flat_map(|from| {
        std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
    });
    let is_row = |name: &ast::ObjectName| {
        contract.table(&table_name(name)).is_some_and(|table| table.unit == TableUnit::Row)
    };
    let mut names = tables.filter_map(plain_table).map(|(name, _)| name);
    match names.find(|name| is_row(name)) {
        Some(name) => format!(
            "each row of `{name}` is a privacy unit of its own, and sees no other row: use one \
             value for all rows, as in (SELECT AVG(x) FROM {name}); or group by the column that is \
             compared"
        ),
        None => "compare the privacy unit in it: WHERE inner.unit = outer.unit; or use one value \
                 for all rows: (SELECT AVG(x) FROM table)"
            .to_owned(),
    }
}
