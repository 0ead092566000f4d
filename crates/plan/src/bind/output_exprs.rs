//! Expressions over what is released: SELECT, HAVING, ORDER BY.
//!
//! Where a column has the name of an alias in SELECT, HAVING reads the column, and ORDER BY the
//! alias, as in SQL. Aggregates are over rows: no alias is known within them.

use hushtable_lang::aggregate_names::{aggregate_name, quantile_at};
use hushtable_lang::bind_expr::{Binder, Resolve, bind_row_expression};
use hushtable_lang::{Expr, Refusal};
use sqlparser::ast;

use super::Key;
use super::aliases::{aliased, groups_by_name, hidden_alias, hidden_key};
use super::collected::Aggregates;
use super::single_rows::single_rows;
use super::walk::any;

/// The clause that an expression over released values stands in.
#[derive(Clone, Copy)]
pub(super) enum OutputClause<'b> {
    /// The item of SELECT of that name. It may name no others.
    Select(&'b str),
    /// HAVING, with the names that SELECT gives.
    Having(&'b [(String, Expr)]),
    /// ORDER BY, with the names that SELECT gives.
    OrderBy(&'b [(String, Expr)]),
}

/// Names in SELECT, HAVING and ORDER BY.
pub(super) struct OutputScope<'a, 'b> {
    pub(super) aggregates: &'b mut Aggregates<'a>,
    pub(super) keys: &'b [Key],
    pub(super) select: &'b ast::Select,
}

impl<'a> OutputScope<'a, '_> {
    pub(super) fn bind(
        &mut self,
        node: &ast::Expr,
        clause: OutputClause<'_>,
    ) -> Result<Expr, Refusal> {
        let Self { aggregates, keys, select } = self;
        let outermost = None;
        Binder::new(&mut InClause { aggregates, keys, select, clause, outermost }).bind(node)
    }
}

/// Names in one clause.
struct InClause<'a, 'b> {
    aggregates: &'b mut Aggregates<'a>,
    keys: &'b [Key],
    select: &'b ast::Select,
    clause: OutputClause<'b>,
    /// The last expression over rows that is bound in pieces and within no other one.
    outermost: Option<ast::Expr>,
}

impl InClause<'_, '_> {
    /// The value that SELECT gives a name, where the clause reads it.
    fn aliased(&self, name: &str) -> Option<&Expr> {
        let aliases = match self.clause {
            OutputClause::Select(_) => return None,
            OutputClause::Having(_) if self.aggregates.table.scope.has(name) => return None,
            OutputClause::Having(aliases) | OutputClause::OrderBy(aliases) => aliases,
        };
        let is_named = |(alias, _): &&(String, Expr)| alias.eq_ignore_ascii_case(name);
        aliases.iter().find(is_named).map(|(_, expr)| expr)
    }

    /// Refuses a column that has many values in a group.
    fn not_grouped(&self, node: &ast::Expr) -> Refusal {
        let named = match node {
            ast::Expr::Identifier(name) => aliased(self.select, &name.value),
            _ => None,
        };
        match (self.clause, named) {
            (OutputClause::Having(_), Some(named)) => hidden_alias(node, "HAVING", named),
            (OutputClause::Select(alias), _)
                if self.aggregates.table.scope.has(alias) && groups_by_name(self.select, alias) =>
            {
                hidden_key(node, alias)
            }
            (OutputClause::Select(_), _) => single_rows(self.select, self.aggregates.table, node)
                .unwrap_or_else(|| self.no_key(node)),
            _ => self.no_key(node),
        }
    }

    fn no_key(&self, column: &ast::Expr) -> Refusal {
        let bound = bind_row_expression(column, &self.aggregates.table.scope);
        let sum = match bound.is_ok_and(|bound| bound.column_type.is_numeric()) {
            true => format!("SUM({column}) or "),
            false => String::new(),
        };
        // Grouping by the column would make a group of each of its values.
        let whole = self.outermost.as_ref().filter(|outer| any(outer, &|node| node == column));
        let key = whole.unwrap_or(column);
        let grouped = match &self.select.group_by {
            ast::GroupByExpr::Expressions(keys, more) if keys.is_empty() && more.is_empty() => {
                format!("GROUP BY {key}")
            }
            _ => format!("add {key} to GROUP BY"),
        };
        Refusal::new(
            format!("`{key}` is neither grouped by nor aggregated"),
            format!("{grouped}, or write {sum}COUNT({column})"),
        )
        .at(key)
    }

    /// Keeps an expression over rows, unless it is a piece of the last one.
    fn keep_outermost(&mut self, node: &ast::Expr) {
        let is_piece = |outer: &ast::Expr| any(outer, &|inner| inner == node);
        if !self.outermost.as_ref().is_some_and(is_piece) {
            self.outermost = Some(node.clone());
        }
    }
}

/// Whether a node is the least or greatest of rows' values, which is refused by their type.
fn is_extreme(node: &ast::Expr) -> bool {
    let ast::Expr::Function(function) = node else { return false };
    let name = function.name.to_string();
    function.over.is_none() && ["MIN", "MAX"].iter().any(|of| name.eq_ignore_ascii_case(of))
}

impl Resolve for InClause<'_, '_> {
    fn names(&self, name: &str) -> bool {
        self.aggregates.table.scope.knows(name) || self.aliased(name).is_some()
    }

    fn qualified(&self, name: &str) -> Option<String> {
        (&self.aggregates.table.scope).qualified(name)
    }

    fn resolve(&mut self, node: &ast::Expr) -> Option<Result<Expr, Refusal>> {
        if let Some((function, name)) = aggregate_name(node) {
            return Some(self.aggregates.bind(function, &name, self.keys.len()));
        }
        if let Some((function, index)) = quantile_at(node) {
            return Some(self.aggregates.quantile_in_list(function, index, self.keys.len()));
        }
        if let ast::Expr::Identifier(name) = node
            && let Some(expr) = self.aliased(&name.value)
        {
            return Some(Ok(expr.clone()));
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
                if named && !bound.reads_columns() {
                    return Some(Ok(bound));
                }
                if !named && bound.reads_columns() && matches!(self.clause, OutputClause::Select(_))
                {
                    self.keep_outermost(node);
                }
                named.then(|| Err(self.not_grouped(node)))
            }
            // An unknown name is an error; any other node may still be made of known parts.
            Err(refusal) => (named || is_extreme(node)).then_some(Err(refusal)),
        }
    }
}
