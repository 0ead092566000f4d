//! Names that SELECT gives, where other clauses may read them.
//!
//! Where a column has the same name, GROUP BY, HAVING and QUALIFY read the column, as in SQL, and
//! ORDER BY reads what SELECT shows. Aggregates are over rows: no such name is known within them.

use hushtable_lang::Refusal;
use hushtable_lang::aggregate_names::calls_aggregate;
use sqlparser::ast;

use super::walk::operands_mut;

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
