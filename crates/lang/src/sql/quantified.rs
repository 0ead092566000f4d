//! `= ANY (SELECT …)` and `<> ALL (SELECT …)`: other words for IN and NOT IN.

use std::ops::ControlFlow;

use sqlparser::ast::{self, VisitMut, VisitorMut};

/// Writes IN for `= ANY` and NOT IN for `<> ALL`, of sub-queries.
pub(super) fn as_memberships(query: &mut ast::Query) {
    let _ = query.visit(&mut QuantifiedComparisons);
}

struct QuantifiedComparisons;

impl VisitorMut for QuantifiedComparisons {
    type Break = ();

    fn post_visit_expr(&mut self, node: &mut ast::Expr) -> ControlFlow<()> {
        use ast::BinaryOperator::{Eq, NotEq};
        let (left, right, negated) = match node {
            ast::Expr::AnyOp { left, compare_op: Eq, right, is_some: _ } => (left, right, false),
            ast::Expr::AllOp { left, compare_op: NotEq, right } => (left, right, true),
            _ => return ControlFlow::Continue(()),
        };
        // Taken, and not copied: a chain of these may be long.
        let nothing = || Box::new(ast::Expr::Value(ast::Value::Null.into()));
        if let ast::Expr::Subquery(_) = right.as_ref() {
            let expr = std::mem::replace(left, nothing());
            if let ast::Expr::Subquery(subquery) = *std::mem::replace(right, nothing()) {
                *node = ast::Expr::InSubquery { expr, subquery, negated };
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::sql::parse;

    fn rewritten(text: &str) -> String {
        parse(text, false, None).unwrap().query.to_string()
    }

    #[test]
    fn equal_to_any_is_in_and_unequal_to_all_is_not_in() {
        for (text, as_in) in [
            ("x = ANY (SELECT y FROM u)", "x IN (SELECT y FROM u)"),
            ("x = SOME (SELECT y FROM u)", "x IN (SELECT y FROM u)"),
            ("x <> ALL (SELECT y FROM u)", "x NOT IN (SELECT y FROM u)"),
            (
                "NOT x != ALL (SELECT y FROM u WHERE y = ANY (SELECT z FROM v))",
                "NOT x NOT IN (SELECT y FROM u WHERE y IN (SELECT z FROM v))",
            ),
            ("x > ALL (SELECT y FROM u)", "x > ALL(SELECT y FROM u)"),
        ] {
            assert_eq!(
                rewritten(&format!("SELECT * FROM t WHERE {text}")),
                format!("SELECT * FROM t WHERE {as_in}")
            );
        }
    }
}
