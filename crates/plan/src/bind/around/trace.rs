//! Where the values of a result come from that SQL around private parts computes.
//!
//! Each table has, beside every column, a hidden one with *cells*: which released value a value is,
//! as it is. SELECT, joins and UNION ALL hand cells on with their columns, and whatever computes
//! anew from several rows has none. So the interval of a value that is a released one is that
//! one's.

use sqlparser::ast;

use super::Walk;
use super::collective::aggregates;
use super::column_names::{OutputColumns, Scope};
use super::origins::Origins;
use crate::bind::walk::{any, select_list};

/// How a column of the result can be followed back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// Where its values come from. Their cells are in the column that stands as many places behind
    /// it as the result has columns.
    pub origins: Origins,
    /// The scalar expression that computes it from released values of one row.
    pub computed: Option<TracedExpression>,
}

/// A scalar expression over released values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedExpression {
    /// Its index in [`Around::computed`](super::Around::computed).
    pub place: usize,
    /// For each operand: where it comes from, and the index of its cells among the columns as run.
    pub operands: Vec<(Origins, usize)>,
}

/// The hidden columns of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hidden {
    /// None: it stands in an expression.
    Without,
    /// NULL, as its rows are compared.
    Empty,
    /// The cells of its columns.
    Cells,
}

/// No cell.
pub(super) fn no_cell() -> ast::Expr {
    ast::Expr::Cast {
        kind: ast::CastKind::Cast,
        expr: Box::new(ast::Expr::Value(ast::Value::Null.into())),
        data_type: ast::DataType::BigInt(None),
        array: false,
        format: None,
    }
}

/// A column of the result with that name.
pub(super) fn hidden(expr: Option<ast::Expr>, name: String) -> ast::SelectItem {
    let alias = ast::Ident::with_quote('"', name);
    ast::SelectItem::ExprWithAlias { expr: expr.unwrap_or_else(no_cell), alias }
}

/// Whether a SELECT shows groups of rows.
pub(super) fn is_grouped(select: &ast::Select) -> bool {
    let has_keys = match &select.group_by {
        ast::GroupByExpr::Expressions(keys, modifiers) => !keys.is_empty() || !modifiers.is_empty(),
        ast::GroupByExpr::All(_) => true,
    };
    let aggregated = |node: &ast::Expr| any(node, &aggregates);
    has_keys
        || select.having.is_some()
        || select_list(select).any(aggregated)
        || select.qualify.iter().any(aggregated)
}

/// Whether a SELECT computes from several rows at a time.
pub(super) fn brings_rows_together(select: &ast::Select, order_by: &[ast::OrderByExpr]) -> bool {
    is_grouped(select)
        || select.distinct.is_some()
        || order_by.iter().any(|item| any(&item.expr, &aggregates))
}

impl Walk<'_> {
    /// Where the values of an expression come from, as it is run, and their cells.
    pub(super) fn traced(
        &self,
        run: &ast::Expr,
        scope: &Scope<'_>,
    ) -> (Origins, Option<ast::Expr>) {
        match run {
            ast::Expr::Nested(inner) => self.traced(inner, scope),
            ast::Expr::Identifier(name) => scope.origins(std::slice::from_ref(name)),
            ast::Expr::CompoundIdentifier(path) => scope.origins(path),
            ast::Expr::Value(_) => (Origins::constant(), None),
            _ => match self.called(run) {
                Some((_, operands)) => {
                    let all = operands.into_iter().map(|operand| self.traced(operand, scope).0);
                    (all.fold(Origins::constant(), Origins::and).changed(), None)
                }
                None => (Origins::unknown(), None),
            },
        }
    }

    /// The scalar expression that a call stands for, by its index, and its operands.
    pub(super) fn called<'e>(&self, run: &'e ast::Expr) -> Option<(usize, Vec<&'e ast::Expr>)> {
        let ast::Expr::Function(function) = run else { return None };
        let name = function.name.to_string();
        let index = self.computed.iter().position(|computed| computed.name == name)?;
        let ast::FunctionArguments::List(list) = &function.args else { return None };
        let operand = |argument| match argument {
            &ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ref node)) => Some(node),
            _ => None,
        };
        Some((index, list.args.iter().map(operand).collect::<Option<_>>()?))
    }

    /// The columns of the outermost SELECT, whose expressions are followed to their operands. The
    /// cells of these are added to its list.
    pub(super) fn trace_outermost(
        &self,
        projection: &mut Vec<ast::SelectItem>,
        outputs: &OutputColumns,
        scope: &Scope<'_>,
    ) -> Vec<Traced> {
        let mut all = Vec::with_capacity(outputs.len());
        let mut more = Vec::new();
        let before = projection.len();
        for (item, column) in projection.iter().zip(outputs) {
            let mut computed = None;
            if let ast::SelectItem::ExprWithAlias { expr, alias: _ } = item
                && let Some((index, operands)) = self.called(expr)
            {
                let traced = operands.into_iter().map(|operand| self.traced(operand, scope));
                let traced: Vec<_> = traced.collect();
                if traced.iter().all(|(origins, cell)| origins.as_they_are && cell.is_some()) {
                    let operands = traced.into_iter().map(|(origins, cell)| {
                        let at = before + more.len();
                        more.push(hidden(cell, format!("\u{1}{}", more.len())));
                        (origins, at)
                    });
                    computed =
                        Some(TracedExpression { place: index, operands: operands.collect() });
                }
            }
            all.push(Traced { origins: column.origins.clone(), computed });
        }
        projection.extend(more);
        all
    }
}
