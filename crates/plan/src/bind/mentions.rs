//! Looks for names and aggregates in the syntax of an expression.

use std::ops::ControlFlow;

use hushtable_lang::aggregate_names::{aggregate_name, is_aggregate, quantiles};
use sqlparser::ast::{self, Visit, Visitor};

use super::walk::select_list;

/// Whether the node aggregates rows, outside of sub-queries and windows.
pub(super) fn aggregates_rows(node: &ast::Expr) -> bool {
    mentions(node, |e| match e {
        ast::Expr::Function(function) => {
            let named = || aggregate_name(e).is_some() || quantiles(e).is_some();
            function.over.is_none() && (is_aggregate(function) || named())
        }
        _ => false,
    })
}

/// Whether the node names a column, outside of sub-queries.
pub(super) fn names_columns(node: &ast::Expr) -> bool {
    mentions(node, |e| matches!(e, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_)))
}

fn mentions(node: &ast::Expr, test: impl Fn(&ast::Expr) -> bool) -> bool {
    node.visit(&mut MentionSearch { test, depth: 0 }).is_break()
}

struct MentionSearch<F> {
    test: F,
    /// How many sub-queries are around.
    depth: usize,
}

impl<F: Fn(&ast::Expr) -> bool> Visitor for MentionSearch<F> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, node: &ast::Expr) -> ControlFlow<()> {
        if self.depth == 0 && (self.test)(node) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Whether SELECT has an aggregate that is not a window.
pub(super) fn has_aggregate(select: &ast::Select) -> bool {
    select_list(select).any(aggregates_rows)
}
