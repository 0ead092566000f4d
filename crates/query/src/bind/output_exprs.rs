//! Expressions over what is released: SELECT, HAVING, ORDER BY.

use sqlparser::ast;

use super::Key;
use super::collected::Aggregates;
use crate::aggregate_names::{aggregate_name, quantile_at};
use crate::bind_expr::{Binder, Resolve, bind_row_expression};
use crate::error::Refusal;
use crate::expr::Expr;

/// Names in SELECT, HAVING and ORDER BY.
pub(super) struct OutputScope<'a, 'b> {
    pub(super) aggregates: &'b mut Aggregates<'a>,
    pub(super) keys: &'b [Key],
    /// Names given in SELECT, where they may be used.
    pub(super) aliases: &'b [(String, Expr)],
}

impl OutputScope<'_, '_> {
    pub(super) fn bind(&mut self, node: &ast::Expr) -> Result<Expr, Refusal> {
        Binder::new(self).bind(node)
    }
}

impl Resolve for OutputScope<'_, '_> {
    fn names(&self, name: &str) -> bool {
        let rows = &self.aggregates.table.scope;
        rows.knows(name) || self.aliases.iter().any(|(alias, _)| alias.eq_ignore_ascii_case(name))
    }

    fn resolve(&mut self, node: &ast::Expr) -> Option<Result<Expr, Refusal>> {
        if let Some((function, name)) = aggregate_name(node) {
            return Some(self.aggregates.bind(function, &name, self.keys.len()));
        }
        if let Some((function, index)) = quantile_at(node) {
            return Some(self.aggregates.quantile_in_list(function, index, self.keys.len()));
        }
        if let ast::Expr::Identifier(name) = node {
            let alias = self.aliases.iter().find(|(a, _)| a.eq_ignore_ascii_case(&name.value));
            if let Some((_, expr)) = alias {
                return Some(Ok(expr.clone()));
            }
        }
        if matches!(node, ast::Expr::Value(_) | ast::Expr::TypedString(_)) {
            return None;
        }
        let named = matches!(node, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_));
        match bind_row_expression(node, &self.aggregates.table.scope) {
            Ok(bound) => {
                if let Some(at) = self.keys.iter().position(|k| k.expr == bound) {
                    return Some(Ok(Expr::column(at, bound.column_type)));
                }
                // A column that is a constant of its sub-query is one here, too.
                let mut reads = false;
                bound.visit_columns(&mut |_| reads = true);
                if named && !reads {
                    return Some(Ok(bound));
                }
                named.then(|| {
                    Err(Refusal::new(
                        format!("`{node}` is neither grouped by nor aggregated"),
                        format!("add {node} to GROUP BY, or write SUM({node}) or COUNT({node})"),
                    ))
                })
            }
            // An unknown name is an error; any other node may still be made of known parts.
            Err(refusal) => named.then_some(Err(refusal)),
        }
    }
}
