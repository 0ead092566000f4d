//! The keys that GROUP BY names.

use hushtable_lang::bind_expr::{RowScope, bind_row_expression};
use hushtable_lang::{Expr, Refusal};
use sqlparser::ast;

use super::aliases::grouped_item;
use super::mentions::{aggregates_rows, has_aggregate, names_columns};
use super::walk::{any, looks_around, select_list};

/// Most group keys.
pub(super) const MAX_KEYS: usize = 16;
/// Most levels of one GROUP BY: a CUBE of five keys.
pub(super) const MAX_LEVELS: usize = 32;

/// Whether SELECT alone says what to group by: with GROUP BY ALL, and with DISTINCT.
fn groups_by_all(select: &ast::Select) -> bool {
    match &select.group_by {
        ast::GroupByExpr::All(modifiers) => modifiers.is_empty(),
        ast::GroupByExpr::Expressions(nodes, modifiers) => {
            nodes.is_empty()
                && modifiers.is_empty()
                && select.distinct.is_some()
                && select.having.is_none()
                && !has_aggregate(select)
        }
    }
}

/// Everything that GROUP BY names: columns, expressions, names and positions in SELECT. Each once.
pub(super) fn bound_keys<'a>(
    select: &'a ast::Select,
    rows: &RowScope,
) -> Result<Vec<(&'a ast::Expr, Expr)>, Refusal> {
    let nodes: Vec<&ast::Expr> = match &select.group_by {
        _ if groups_by_all(select) => {
            select_list(select).filter(|e| !aggregates_rows(e) && names_columns(e)).collect()
        }
        ast::GroupByExpr::Expressions(nodes, modifiers) if modifiers.is_empty() => {
            nodes.iter().collect()
        }
        _ => return Err(levels().at(&select.group_by)),
    };
    if nodes.len() > MAX_KEYS {
        return Err(Refusal::new(
            format!("GROUP BY has {} keys; at most {MAX_KEYS} are allowed", nodes.len()),
            "use fewer keys: groups would be very small",
        ));
    }
    let mut keys: Vec<(&ast::Expr, Expr)> = Vec::new();
    let mut constant = None;
    for node in nodes {
        let item = grouped_item(node, select, &|name| rows.has(name));
        let node = item.map_err(|refusal| refusal.at(node))?;
        if matches!(node, ast::Expr::Rollup(_) | ast::Expr::Cube(_) | ast::Expr::GroupingSets(_)) {
            return Err(levels().at(node));
        }
        let expr = bind_row_expression(node, rows)?;
        if !expr.reads_columns() {
            // A constant divides no group.
            constant = constant.or(Some(node));
        } else if !keys.iter().any(|(_, key)| *key == expr) {
            keys.push((node, expr));
        }
    }
    if let (Some(node), true) = (constant, keys.is_empty()) {
        return Err(Refusal::new(
            format!("GROUP BY `{node}` is a constant"),
            "leave GROUP BY out to have one row",
        )
        .at(node));
    }
    Ok(keys)
}

/// Refuses levels where there is one list of groups.
fn levels() -> Refusal {
    Refusal::new(
        "GROUP BY with ROLLUP, CUBE and GROUPING SETS is not supported here",
        "write GROUP BY a, b; only a SELECT that makes a release may have levels",
    )
}

/// Writes GROUP BY ALL as the list of its keys: the columns of SELECT that are computed from one
/// row.
pub(super) fn name_all(select: &mut ast::Select) {
    if !matches!(&select.group_by, ast::GroupByExpr::All(modifiers) if modifiers.is_empty()) {
        return;
    }
    let is_key = |node: &&ast::Expr| {
        !aggregates_rows(node) && names_columns(node) && !any(node, &looks_around)
    };
    let keys = select_list(select).filter(is_key).cloned().collect();
    select.group_by = ast::GroupByExpr::Expressions(keys, Vec::new());
}
