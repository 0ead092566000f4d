//! The levels of GROUP BY with ROLLUP, CUBE and GROUPING SETS.

use hushtable_lang::Refusal;
use sqlparser::ast;

use super::group_by::MAX_LEVELS;

/// Whether an item of GROUP BY is a set of keys, or several.
pub(super) fn has_sets(node: &ast::Expr) -> bool {
    matches!(
        node,
        ast::Expr::Rollup(_)
            | ast::Expr::Cube(_)
            | ast::Expr::GroupingSets(_)
            | ast::Expr::Tuple(_)
    )
}

/// The sets of keys of a GROUP BY: all combinations of those of its items.
pub(super) fn sets(
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
            ast::Expr::Rollup(items) => rollup(items)?,
            ast::Expr::Cube(items) => cube(items)?,
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

/// All items, and then one less at a time.
fn rollup(items: &[Vec<ast::Expr>]) -> Result<Vec<Vec<ast::Expr>>, Refusal> {
    if items.len() >= MAX_LEVELS {
        return Err(too_many(&(items.len() + 1).to_string()));
    }
    Ok((0..=items.len()).rev().map(|many| items[..many].concat()).collect())
}

/// Every choice of items.
fn cube(items: &[Vec<ast::Expr>]) -> Result<Vec<Vec<ast::Expr>>, Refusal> {
    let most = MAX_LEVELS.ilog2() as usize;
    if items.len() > most {
        return Err(too_many(&format!("2^{}", items.len())));
    }
    let mut all: Vec<Vec<ast::Expr>> = vec![Vec::new()];
    for item in items.iter().rev() {
        let with = all.iter().map(|set| item.iter().chain(set).cloned().collect());
        all = with.chain(all.iter().cloned()).collect();
    }
    Ok(all)
}

fn of_sets(sets: &[Vec<ast::Expr>]) -> Result<Vec<Vec<ast::Expr>>, Refusal> {
    let mut all = Vec::new();
    for set in sets {
        match set.as_slice() {
            [ast::Expr::Function(called)] => match nested(called) {
                Some((true, items)) => all.extend(cube(&items)?),
                Some((false, items)) => all.extend(rollup(&items)?),
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
/// and its items.
fn nested(function: &ast::Function) -> Option<(bool, Vec<Vec<ast::Expr>>)> {
    let name = function.name.to_string().to_uppercase();
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    if !matches!(name.as_str(), "ROLLUP" | "CUBE") {
        return None;
    }
    let item = |argument: &ast::FunctionArg| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Tuple(keys))) => {
            Some(keys.clone())
        }
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(key)) => Some(vec![key.clone()]),
        _ => None,
    };
    Some((name == "CUBE", list.args.iter().map(item).collect::<Option<_>>()?))
}

fn too_many(levels: &str) -> Refusal {
    Refusal::new(
        format!("GROUP BY has {levels} levels; at most {MAX_LEVELS} are allowed"),
        "use GROUPING SETS ((a, b), (a), ()) with only the levels that are needed",
    )
}
