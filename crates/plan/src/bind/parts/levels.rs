//! ROLLUP, CUBE and GROUPING SETS: the levels of one GROUP BY, each a part of its own.

use hushtable_lang::Refusal;
use hushtable_lang::bind_expr::RowScope;
use sqlparser::ast;

use crate::bind::aliases::grouped_item;
use crate::bind::grouping_sets::{has_sets, sets};
use crate::bind::syntax::call;
use crate::bind::walk::{any, ordered, select_list};

/// Which keys each level has, by their indices.
pub(super) type KeyLevels = Vec<Vec<usize>>;

/// Writes GROUP BY as a plain list of the keys of all levels, each once, and gives the levels.
/// `None` where there is only one, and GROUPING is not asked for.
pub(super) fn flatten(
    query: &mut ast::Query,
    rows: &RowScope,
) -> Result<Option<KeyLevels>, Refusal> {
    let with_grouping = asks_grouping(query);
    let ast::SetExpr::Select(select) = query.body.as_mut() else { return Ok(None) };
    let sets = match &select.group_by {
        ast::GroupByExpr::Expressions(nodes, modifiers)
            if with_grouping || !modifiers.is_empty() || nodes.iter().any(has_sets) =>
        {
            sets(nodes, modifiers)?
        }
        ast::GroupByExpr::All(modifiers) if !modifiers.is_empty() => {
            return Err(Refusal::new(
                "GROUP BY ALL with levels does not say which keys they have",
                "GROUP BY ROLLUP (a, b)",
            ));
        }
        _ => return Ok(None),
    };
    let mut keys: Vec<ast::Expr> = Vec::new();
    let mut levels = KeyLevels::new();
    for set in sets {
        let mut level = Vec::new();
        for node in set {
            let node = grouped_item(&node, select, &|name| rows.has(name))?.clone();
            if any(&node, &|node| grouping(node).is_some()) {
                return Err(Refusal::new(
                    format!("GROUP BY `{node}` is about groups, and not about rows"),
                    "leave it out of GROUP BY: it follows from the other keys",
                )
                .at(&node));
            }
            let index = keys.iter().position(|key| *key == node).unwrap_or_else(|| {
                keys.push(node);
                keys.len() - 1
            });
            if !level.contains(&index) {
                level.push(index);
            }
        }
        levels.push(level);
    }
    select.group_by = ast::GroupByExpr::Expressions(keys, Vec::new());
    Ok(Some(levels))
}

/// The keys that GROUPING is about, where an expression calls it.
pub(super) fn grouping(node: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    let ast::Expr::Function(function) = node else { return None };
    let name = function.name.to_string();
    let called = ["GROUPING", "GROUPING_ID"].iter().any(|known| name.eq_ignore_ascii_case(known));
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let plain = function.over.is_none() && function.filter.is_none() && list.clauses.is_empty();
    if !called || !plain || list.args.is_empty() {
        return None;
    }
    let key = |argument| match argument {
        &ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ref node)) => Some(node),
        _ => None,
    };
    list.args.iter().map(key).collect()
}

/// GROUPING of a key.
pub(super) fn grouping_of(key: &ast::Expr) -> ast::Expr {
    call("GROUPING", vec![key.clone()])
}

/// Whether a query's SELECT calls GROUPING.
fn asks_grouping(query: &ast::Query) -> bool {
    let ast::SetExpr::Select(select) = query.body.as_ref() else { return false };
    let by_group = select_list(select).chain(&select.having).chain(&select.qualify);
    let mut all = by_group.chain(ordered(query.order_by.as_ref()));
    all.any(|node| any(node, &|node| grouping(node).is_some()))
}
