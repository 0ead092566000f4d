//! One-to-one expressions: they tell apart whatever their operand tells apart.
//!
//! They are for helpful refusals: GROUP BY `id + 0` shows as little as GROUP BY `id`. They protect
//! nobody, and need not cover every such expression: the choice of groups is what protects.

use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind, Function, Value};

/// The innermost operand under one-to-one expressions.
pub(super) fn innermost(expr: &Expr) -> &Expr {
    let mut inner = expr;
    while let Some(operand) = operand(inner) {
        inner = operand;
    }
    inner
}

/// The operand of a one-to-one expression. Where a result does not fit its type it is NULL.
fn operand(expr: &Expr) -> Option<&Expr> {
    let exact = matches!(expr.column_type, ColumnType::Int | ColumnType::Decimal { .. });
    match &expr.kind {
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), left, right)
            if exact =>
        {
            let (of, constant) = match (constant(left), constant(right)) {
                (None, Some(constant)) => (left, constant),
                (Some(constant), None) => (right, constant),
                _ => return None,
            };
            (*op != BinaryOp::Mul || !constant.is_zero()).then_some(of)
        }
        ExprKind::Cast(of) if keeps_all(of.column_type, expr.column_type) => Some(of),
        ExprKind::Call(Function::Negate, of) if exact => of.first(),
        ExprKind::Call(Function::Reverse, of) => of.first(),
        // A replacement for NULL is one value more.
        ExprKind::Call(Function::Concat | Function::Coalesce, of) => {
            let mut read = of.iter().filter(|operand| constant(operand).is_none());
            read.next().filter(|_| read.next().is_none())
        }
        _ => None,
    }
}

/// A constant that is not NULL, whatever its type was before.
fn constant(expr: &Expr) -> Option<&Value> {
    match &expr.kind {
        ExprKind::Literal(Value::Null) => None,
        ExprKind::Literal(value) => Some(value),
        ExprKind::Cast(of) => constant(of),
        _ => None,
    }
}

/// Whether a cast makes different values of different ones.
fn keeps_all(from: ColumnType, to: ColumnType) -> bool {
    use ColumnType as T;
    match (from, to) {
        (T::Decimal { scale }, T::Decimal { scale: wider }) => wider >= scale,
        (T::Int, T::Decimal { .. }) | (T::Date, T::Timestamp) | (_, T::String) => true,
        _ => false,
    }
}
