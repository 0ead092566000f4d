//! Refuses to show single rows, with a question about groups of the same rows that is answered.

use hushtable_lang::Refusal;
use hushtable_lang::aggregate_names::AGGREGATES;
use hushtable_lang::bind_expr::{bind_row_expression, misspelt_function};
use sqlparser::ast;

use super::mentions::has_aggregate;
use super::syntax::has_keys;
use super::view::View;
use super::walk::{is_name, operands, select_list};

/// Longest question that a hint has in full.
const MOST_BYTES: usize = 300;

/// The refusal of a SELECT that shows rows and no groups of them; `None` for others. `what` is the
/// part of it that would show them.
pub(super) fn single_rows(
    select: &ast::Select,
    table: &View,
    what: &dyn std::fmt::Display,
) -> Option<Refusal> {
    if has_keys(select) || select.having.is_some() || has_aggregate(select) {
        return None;
    }
    if let Some(refusal) = select_list(select).find_map(misspelt_aggregate) {
        return Some(refusal);
    }
    let key = select_list(select).filter(|node| is_name(node)).find(|node| {
        let bound = bind_row_expression(node, &table.scope);
        bound.is_ok_and(|key| !table.is_unit(&key) && table.leading_to_units(&key).is_none())
    });
    let count = "COUNT(*) AS n";
    let from: Vec<String> = select.from.iter().map(ToString::to_string).collect();
    let condition = select.selection.as_ref();
    let condition = condition.map_or_else(String::new, |node| format!(" WHERE {node}"));
    let rows = format!("{}{condition}", from.join(", "));
    let rows = if rows.len() > MOST_BYTES { "…" } else { rows.as_str() };
    let question = match key {
        Some(key) => format!("SELECT {key}, {count} FROM {rows} GROUP BY {key}"),
        None => format!("SELECT {count} FROM {rows}"),
    };
    Some(Refusal::new(
        format!("`{what}` would show single rows, and rows are never shown"),
        format!("ask about groups of rows, or about all of them: {question}"),
    ))
}

/// The refusal of a function in an expression whose name is nearly that of an aggregate.
fn misspelt_aggregate(node: &ast::Expr) -> Option<Refusal> {
    let called = match node {
        ast::Expr::Function(function) => misspelt_function(function, &AGGREGATES),
        _ => None,
    };
    called
        .map(|refusal| refusal.at(node))
        .or_else(|| operands(node).into_iter().flatten().find_map(misspelt_aggregate))
}
