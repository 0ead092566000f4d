//! ROLLUP, CUBE and GROUPING SETS: the levels of one GROUP BY, each a part of its own.

use hushtable_lang::{Refusal, bind_expr::RowScope};
use sqlparser::ast;

use crate::bind::aliases::grouped_item;
use crate::bind::group_by::MAX_LEVELS;
use crate::bind::syntax::call;
use crate::bind::walk::{any, ordered, select_list};

/// Which keys each level has, by their indices.
pub(super) type Levels = Vec<Vec<usize>>;

/// Writes GROUP BY as a plain list of the keys of all levels, each once, and gives the levels.
/// `None` where there is only one, and GROUPING is not asked for.
pub(super) fn flatten(query: &mut ast::Query, rows: &RowScope) -> Result<Option<Levels>, Refusal> {
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
    let mut levels = Levels::new();
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

fn has_sets(node: &ast::Expr) -> bool {
    matches!(
        node,
        ast::Expr::Rollup(_)
            | ast::Expr::Cube(_)
            | ast::Expr::GroupingSets(_)
            | ast::Expr::Tuple(_)
    )
}

/// The sets of keys of a GROUP BY: all combinations of those of its items.
fn sets(
    nodes: &[ast::Expr],
    modifiers: &[ast::GroupByWithModifier],
) -> Result<Vec<Vec<ast::Expr>>, Refusal> {
    use ast::GroupByWithModifier as M;
    let each = || nodes.iter().map(|node| vec![node.clone()]).collect::<Vec<_>>();
    match modifiers {
        [] => {}
        [M::Rollup] if !nodes.iter().any(has_sets) => return rollup(&each()),
        [M::Cube] if !nodes.iter().any(has_sets) => return cube(&each()),
        [M::GroupingSets(ast::Expr::GroupingSets(sets))] if !nodes.iter().any(has_sets) => {
            return of_sets(sets);
        }
        _ => {
            return Err(Refusal::new(
                "WITH TOTALS, and several of WITH ROLLUP, WITH CUBE and GROUPING SETS after one \
                 GROUP BY, are not supported",
                "GROUP BY ROLLUP (a, b), GROUP BY CUBE (a, b) or \
                 GROUP BY GROUPING SETS ((a, b), (a), ())",
            ));
        }
    }
    let mut all: Vec<Vec<ast::Expr>> = vec![Vec::new()];
    for node in nodes {
        let item_sets = match node {
            ast::Expr::Rollup(parts) => rollup(parts)?,
            ast::Expr::Cube(parts) => cube(parts)?,
            ast::Expr::GroupingSets(sets) => of_sets(sets)?,
            ast::Expr::Tuple(keys) => vec![keys.clone()],
            other => vec![vec![other.clone()]],
        };
        if all.len() * item_sets.len() > MAX_LEVELS {
            return Err(too_many(&(all.len() * item_sets.len()).to_string()).at(node));
        }
        let with = |set: &Vec<ast::Expr>| {
            let set = set.clone();
            item_sets.iter().map(move |item_set| set.iter().chain(item_set).cloned().collect())
        };
        all = all.iter().flat_map(with).collect();
    }
    Ok(all)
}

/// All parts, and then one less at a time.
fn rollup(parts: &[Vec<ast::Expr>]) -> Result<Vec<Vec<ast::Expr>>, Refusal> {
    if parts.len() >= MAX_LEVELS {
        return Err(too_many(&(parts.len() + 1).to_string()));
    }
    Ok((0..=parts.len()).rev().map(|many| parts[..many].concat()).collect())
}

/// Every choice of parts.
fn cube(parts: &[Vec<ast::Expr>]) -> Result<Vec<Vec<ast::Expr>>, Refusal> {
    let most = MAX_LEVELS.ilog2() as usize;
    if parts.len() > most {
        return Err(too_many(&format!("2^{}", parts.len())));
    }
    let mut all: Vec<Vec<ast::Expr>> = vec![Vec::new()];
    for part in parts.iter().rev() {
        let with = all.iter().map(|set| part.iter().chain(set).cloned().collect());
        all = with.chain(all.iter().cloned()).collect();
    }
    Ok(all)
}

fn of_sets(sets: &[Vec<ast::Expr>]) -> Result<Vec<Vec<ast::Expr>>, Refusal> {
    let mut all = Vec::new();
    for set in sets {
        match set.as_slice() {
            [ast::Expr::Function(called)] => match nested(called) {
                Some((true, parts)) => all.extend(cube(&parts)?),
                Some((false, parts)) => all.extend(rollup(&parts)?),
                None => all.push(set.clone()),
            },
            _ => all.push(set.clone()),
        }
        if all.len() > MAX_LEVELS {
            return Err(too_many(&format!("more than {MAX_LEVELS}")));
        }
    }
    Ok(all)
}

/// ROLLUP or CUBE within GROUPING SETS, which the parser takes for functions: whether it is CUBE,
/// and its parts.
fn nested(function: &ast::Function) -> Option<(bool, Vec<Vec<ast::Expr>>)> {
    let name = function.name.to_string().to_uppercase();
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    if !matches!(name.as_str(), "ROLLUP" | "CUBE") {
        return None;
    }
    let part = |argument: &ast::FunctionArg| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Tuple(keys))) => {
            Some(keys.clone())
        }
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(key)) => Some(vec![key.clone()]),
        _ => None,
    };
    Some((name == "CUBE", list.args.iter().map(part).collect::<Option<_>>()?))
}

fn too_many(levels: &str) -> Refusal {
    Refusal::new(
        format!("GROUP BY has {levels} levels; at most {MAX_LEVELS} are allowed"),
        "use GROUPING SETS ((a, b), (a), ()) with only the levels that are needed: each has a \
         share of the budget",
    )
}
