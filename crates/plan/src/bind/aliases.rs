//! Names that SELECT gives, where other clauses may read them.
//!
//! Where a column has the same name, GROUP BY, HAVING and QUALIFY read the column, as in SQL, and
//! ORDER BY reads what SELECT shows. Aggregates are over rows: no such name is known within them.
//! Later items of SELECT read such a name, too, where no column has it.

use std::ops::ControlFlow;

use hushtable_lang::Refusal;
use hushtable_lang::aggregate_names::calls_aggregate;
use sqlparser::ast;

use super::walk::{any, operands, operands_mut};

/// The expression that a GROUP BY item stands for. A name is that of a column where there is one,
/// as in SQL; a name in SELECT that no column has stands for that item, and so does a position.
pub(super) fn grouped_item<'a>(
    node: &'a ast::Expr,
    select: &'a ast::Select,
    is_column: &dyn Fn(&str) -> bool,
) -> Result<&'a ast::Expr, Refusal> {
    match node {
        ast::Expr::Identifier(name) if is_column(&name.value) => Ok(node),
        _ => select_item(node, select),
    }
}

/// The expression that a position or a name in SELECT stands for; else the node itself.
pub(super) fn select_item<'a>(
    node: &'a ast::Expr,
    select: &'a ast::Select,
) -> Result<&'a ast::Expr, Refusal> {
    let items = &select.projection;
    match node {
        ast::Expr::Value(value) => {
            let ast::Value::Number(text, _) = &value.value else { return Ok(node) };
            let position = text.parse::<usize>().ok();
            let item = position.and_then(|p| p.checked_sub(1)).and_then(|p| items.get(p));
            match item {
                Some(ast::SelectItem::UnnamedExpr(e))
                | Some(ast::SelectItem::ExprWithAlias { expr: e, alias: _ }) => Ok(e),
                _ => Err(Refusal::new(
                    format!("GROUP BY {node} is not the position of a column in SELECT"),
                    "GROUP BY 1 is the first column",
                )),
            }
        }
        ast::Expr::Identifier(name) => Ok(aliased(select, &name.value).unwrap_or(node)),
        _ => Ok(node),
    }
}

/// The expression that SELECT gives a name to.
pub(super) fn aliased<'a>(select: &'a ast::Select, name: &str) -> Option<&'a ast::Expr> {
    select.projection.iter().find_map(|item| match item {
        ast::SelectItem::ExprWithAlias { expr, alias }
            if alias.value.eq_ignore_ascii_case(name) =>
        {
            Some(expr)
        }
        _ => None,
    })
}

/// Names that SELECT gives to expressions, as HAVING and QUALIFY read them.
pub(super) struct Aliases<'a> {
    /// The names, with what they stand for.
    pub(super) named: &'a [(String, ast::Expr)],
    /// Whether a name is that of a column of the rows.
    pub(super) is_column: &'a dyn Fn(&str) -> bool,
    /// Whether a column has one value in a group.
    pub(super) is_key: &'a dyn Fn(&ast::Expr) -> bool,
}

impl Aliases<'_> {
    /// Puts expressions in the place of the names that stand for them in a clause.
    ///
    /// # Errors
    /// When one of them is that of a column, too, which has many values in a group.
    pub(super) fn substitute(&self, node: &mut ast::Expr, clause: &str) -> Result<(), Refusal> {
        if calls_aggregate(node) {
            return Ok(());
        }
        if let ast::Expr::Identifier(name) = node {
            let is_named =
                |(alias, _): &&(String, ast::Expr)| alias.eq_ignore_ascii_case(&name.value);
            let Some((_, expr)) = self.named.iter().find(is_named) else { return Ok(()) };
            if !(self.is_column)(&name.value) {
                *node = ast::Expr::Nested(Box::new(expr.clone()));
            } else if !(self.is_key)(node) {
                return Err(hidden_alias(node, clause, expr).at(node));
            }
            return Ok(());
        }
        operands_mut(node)
            .into_iter()
            .flatten()
            .try_for_each(|operand| self.substitute(operand, clause))
    }
}

/// Most nodes that a statement gains where names of earlier items are written out.
const MAX_NODES: usize = 10_000;
/// Nodes that a SELECT or a table of a sub-query counts for: to bind one takes as long as that.
const OPERATOR_NODES: usize = 60;
/// The deepest that an expression may be then.
const MAX_DEPTH: usize = 60;

/// The nodes that a statement may still gain where names of earlier items are written out. A
/// sub-query that is written out several times has its own names written out in each copy.
#[derive(Debug)]
pub(super) struct RoomForNames(usize);

impl Default for RoomForNames {
    fn default() -> Self {
        Self(MAX_NODES)
    }
}

/// Whether an item of SELECT, or QUALIFY, may read a name that an earlier item gives.
pub(super) fn reads_earlier(select: &ast::Select) -> bool {
    let mut earlier: Vec<&str> = Vec::new();
    let names_one = |node: &ast::Expr, earlier: &[&str]| {
        let is_one = |part: &ast::Expr| match part {
            ast::Expr::Identifier(name) => {
                earlier.iter().any(|given| given.eq_ignore_ascii_case(&name.value))
            }
            _ => false,
        };
        any(node, &is_one)
    };
    for item in &select.projection {
        let (ast::SelectItem::UnnamedExpr(node)
        | ast::SelectItem::ExprWithAlias { expr: node, alias: _ }) = item
        else {
            continue;
        };
        if names_one(node, &earlier) {
            return true;
        }
        if let ast::SelectItem::ExprWithAlias { expr: _, alias } = item {
            earlier.push(&alias.value);
        }
    }
    select.qualify.as_ref().is_some_and(|node| names_one(node, &earlier))
}

/// Writes earlier items of SELECT in the place of the names that later ones, and QUALIFY, have for
/// them.
///
/// # Errors
/// When an item would be too long or too deep.
pub(super) fn write_out_earlier(
    select: &mut ast::Select,
    is_column: &dyn Fn(&str) -> bool,
    room: &mut RoomForNames,
) -> Result<(), Refusal> {
    let mut earlier = EarlierItems { named: Vec::new(), is_column };
    for item in &mut select.projection {
        match item {
            ast::SelectItem::UnnamedExpr(node) => earlier.write_into(node, 0, room)?,
            ast::SelectItem::ExprWithAlias { expr, alias } => {
                earlier.write_into(expr, 0, room)?;
                let (depth, nodes) = (depth(expr), nodes(expr));
                earlier.named.push((alias.value.clone(), expr.clone(), depth, nodes));
            }
            _ => {}
        }
    }
    match &mut select.qualify {
        Some(node) => earlier.write_into(node, 0, room),
        None => Ok(()),
    }
}

/// The items of SELECT before one of them.
struct EarlierItems<'a> {
    /// Their names and expressions, how deep they are, and of how many nodes.
    named: Vec<(String, ast::Expr, usize, usize)>,
    is_column: &'a dyn Fn(&str) -> bool,
}

impl EarlierItems<'_> {
    fn write_into(
        &self,
        node: &mut ast::Expr,
        level: usize,
        room: &mut RoomForNames,
    ) -> Result<(), Refusal> {
        let too_long = || {
            Refusal::new(
                "the items of SELECT are too long with the earlier ones that they name written out",
                "compute the earlier ones in a sub-query, and the others around it",
            )
        };
        if calls_aggregate(node) {
            return Ok(());
        }
        if let ast::Expr::Identifier(name) = node {
            let is_named = |(given, ..): &&(String, ast::Expr, usize, usize)| {
                given.eq_ignore_ascii_case(&name.value)
            };
            let Some((_, expr, depth, nodes)) = self.named.iter().find(is_named) else {
                return Ok(());
            };
            if (self.is_column)(&name.value) {
                return Ok(());
            }
            room.0 = room.0.checked_sub(*nodes).ok_or_else(too_long)?;
            if level + depth > MAX_DEPTH {
                return Err(too_long());
            }
            *node = ast::Expr::Nested(Box::new(expr.clone()));
            return Ok(());
        }
        operands_mut(node)
            .into_iter()
            .flatten()
            .try_for_each(|operand| self.write_into(operand, level + 1, room))
    }
}

/// How deep an expression is, without its sub-queries.
fn depth(node: &ast::Expr) -> usize {
    operands(node).into_iter().flatten().map(depth).max().unwrap_or(0) + 1
}

/// The nodes of an expression, those of its sub-queries included.
fn nodes(node: &ast::Expr) -> usize {
    struct Nodes(usize);
    impl ast::Visitor for Nodes {
        type Break = ();

        fn pre_visit_expr(&mut self, _: &ast::Expr) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_select(&mut self, _: &ast::Select) -> ControlFlow<()> {
            self.0 += OPERATOR_NODES;
            ControlFlow::Continue(())
        }

        fn pre_visit_table_factor(&mut self, _: &ast::TableFactor) -> ControlFlow<()> {
            self.0 += OPERATOR_NODES;
            ControlFlow::Continue(())
        }
    }
    let mut nodes = Nodes(0);
    let _ = ast::Visit::visit(node, &mut nodes);
    nodes.0
}

/// Refuses a column in SELECT that is no key, under a name that GROUP BY takes for another column.
pub(super) fn hidden_key(column: &ast::Expr, alias: &str) -> Refusal {
    Refusal::new(
        format!(
            "`{column}` is neither grouped by nor aggregated: GROUP BY {alias} means the column \
             `{alias}`"
        ),
        format!("write GROUP BY {column}, or add {column} to GROUP BY"),
    )
}

/// Whether GROUP BY has a name as one of its keys.
pub(super) fn groups_by_name(select: &ast::Select, name: &str) -> bool {
    let ast::GroupByExpr::Expressions(nodes, _) = &select.group_by else { return false };
    nodes.iter().any(
        |node| matches!(node, ast::Expr::Identifier(key) if key.value.eq_ignore_ascii_case(name)),
    )
}

/// Refuses a column in HAVING or QUALIFY that is no key, and hides an alias in SELECT.
pub(super) fn hidden_alias(column: &ast::Expr, clause: &str, named: &ast::Expr) -> Refusal {
    Refusal::new(
        format!(
            "`{column}` in {clause} is the column of that name, and not the alias in SELECT; it \
             is neither grouped by nor aggregated"
        ),
        format!(
            "to use what SELECT shows, write {named} in place of {column}, or give it a name that \
             no column has; to use the column, add {column} to GROUP BY"
        ),
    )
}
