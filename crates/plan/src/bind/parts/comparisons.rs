//! The conditions by which a sub-query's rows are compared with the rows around it.

use hushtable_lang::Call;
use sqlparser::ast;

use super::names_around::Outside;
use crate::bind::from::terms;
use crate::bind::walk::operands_mut;

/// The terms of a sub-query's WHERE.
pub(super) struct Comparisons {
    /// The item of FROM around the sub-query that they name.
    pub(super) item: Option<usize>,
    /// Values of the sub-query, each with the one around it that it equals.
    pub(super) equal: Vec<(ast::Expr, ast::Expr)>,
    /// Other comparisons of both, which hold for no NULL.
    pub(super) otherwise: Vec<ast::Expr>,
    /// Conditions on the rows of the sub-query alone.
    pub(super) rest: Vec<ast::Expr>,
    /// Conditions on the rows around it alone.
    pub(super) conditions: Vec<ast::Expr>,
}

impl Comparisons {
    /// Takes WHERE apart; `None` where it names several items, beside one that is named already, or
    /// has a sub-query that does.
    pub(super) fn new(
        outside: &Outside<'_>,
        selection: Option<&ast::Expr>,
        item: Option<usize>,
    ) -> Option<Self> {
        let mut compared = Self {
            item,
            equal: Vec::new(),
            otherwise: Vec::new(),
            rest: Vec::new(),
            conditions: Vec::new(),
        };
        for term in selection.into_iter().flat_map(terms) {
            let Some(of) = outside.item(term)? else {
                compared.rest.push(term.clone());
                continue;
            };
            if compared.item.is_some_and(|item| item != of) {
                return None;
            }
            compared.item = Some(of);
            match outside.equality(term) {
                Some(pair) => compared.equal.push(pair),
                None if outside.is_around(term) => compared.conditions.push(term.clone()),
                None if is_comparison(term) => compared.otherwise.push(term.clone()),
                None => return None,
            }
        }
        Some(compared)
    }
}

impl Outside<'_> {
    /// A comparison with keys in the place of the values around; `None` where it could hold for one
    /// that is NULL, and so is no key.
    pub(super) fn keyed(
        &self,
        node: &ast::Expr,
        key_of: &mut dyn FnMut(&ast::Expr) -> ast::Expr,
    ) -> Option<ast::Expr> {
        self.with_keys(node, is_comparison, key_of)
    }

    /// An expression with keys in the place of the values around, where it is `allowed` and its
    /// operands are strict.
    fn with_keys(
        &self,
        node: &ast::Expr,
        allowed: fn(&ast::Expr) -> bool,
        key_of: &mut dyn FnMut(&ast::Expr) -> ast::Expr,
    ) -> Option<ast::Expr> {
        if self.item(node)?.is_none() {
            return Some(node.clone());
        }
        if self.is_around(node) {
            return Some(key_of(node));
        }
        if !allowed(node) {
            return None;
        }
        let mut keyed = node.clone();
        for operand in operands_mut(&mut keyed)? {
            *operand = self.with_keys(operand, is_strict, key_of)?;
        }
        Some(keyed)
    }
}

/// Whether an expression is a comparison, which does not hold where an operand is NULL. BETWEEN is
/// FALSE there, and not NULL, where the other end alone excludes the value.
fn is_comparison(node: &ast::Expr) -> bool {
    matches!(node, ast::Expr::Between { expr: _, negated: false, low: _, high: _ })
        || compares(node)
}

/// Whether an expression is a comparison of two values, which is NULL where one of them is.
fn compares(node: &ast::Expr) -> bool {
    use ast::BinaryOperator as B;
    let ast::Expr::BinaryOp { left: _, op, right: _ } = node else { return false };
    matches!(op, B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq)
}

/// Whether an expression is NULL where an operand is.
fn is_strict(node: &ast::Expr) -> bool {
    use ast::BinaryOperator as B;
    match node {
        ast::Expr::Nested(_) => true,
        ast::Expr::UnaryOp { op, expr: _ } => *op == ast::UnaryOperator::Minus,
        ast::Expr::BinaryOp { left: _, op, right: _ } => {
            compares(node) || matches!(op, B::Plus | B::Minus | B::Multiply | B::Divide)
        }
        ast::Expr::Function(function) => {
            let name = function.name.to_string().to_uppercase();
            Call::of(function).is_some_and(|call| call.filter.is_none())
                && matches!(name.as_str(), "ABS" | "DATE_DIFF" | "DATEDIFF" | "TIMESTAMP_DIFF")
        }
        _ => false,
    }
}
