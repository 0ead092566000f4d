//! WIDTH_BUCKET and RANGE_BUCKET.

use sqlparser::ast;

use super::literals::integer;
use super::{Binder, Resolve, unify_all};
use crate::error::Refusal;
use crate::expr::{Expr, ExprKind};
use crate::functions::Function;
use crate::types::{ColumnType, Value};

impl<R: Resolve> Binder<'_, R> {
    /// Which of the spans between constants a number is in; `None` for other functions.
    pub(super) fn bucket(
        &mut self,
        name: &str,
        arguments: &[&ast::Expr],
    ) -> Result<Option<Expr>, Refusal> {
        match (name, arguments) {
            ("WIDTH_BUCKET", [x, low, high, buckets]) => {
                let form =
                    "WIDTH_BUCKET(x, 0, 200000, 20), with constants of which the first is the less";
                let x = self.float(x, name)?;
                let mut end = |node: &ast::Expr| match self.float(node, name)?.kind {
                    ExprKind::Literal(Value::Float(end)) if end.is_finite() => Ok(end),
                    _ => Err(Refusal::new(format!("`{node}` is not a constant number"), form)),
                };
                let (low, high) = (end(low)?, end(high)?);
                let buckets = integer(&self.bind(buckets)?).filter(|n| (1..=1_000_000).contains(n));
                let Some(buckets) = buckets.filter(|_| low < high) else {
                    return Err(Refusal::new(
                        "WIDTH_BUCKET needs a low end below the high end, and 1 to 1000000 buckets",
                        form,
                    ));
                };
                let constants = [Value::Float(low), Value::Float(high), Value::Int(buckets)];
                let operands = [x].into_iter().chain(constants.map(Expr::literal)).collect();
                Ok(Some(Expr::call(Function::WidthBucket, operands, ColumnType::Int)))
            }
            ("RANGE_BUCKET", [x, ast::Expr::Array(bounds)]) => {
                let mut all = vec![self.bind(x)?];
                for bound in &bounds.elem {
                    all.push(self.bind(bound)?);
                }
                let operands = unify_all(all, name)?;
                let limits = operands.get(1..).unwrap_or_default();
                let constant = |e: &Expr| match &e.kind {
                    ExprKind::Literal(value) => Some(value.clone()),
                    _ => None,
                };
                let values: Option<Vec<Value>> = limits.iter().map(constant).collect();
                let ascending = |values: &Vec<Value>| {
                    values.windows(2).all(|pair| matches!(pair, [a, b] if ascends(a, b)))
                };
                if values.filter(|v| !v.is_empty()).is_none_or(|v| !ascending(&v)) {
                    return Err(Refusal::new(
                        "RANGE_BUCKET needs constants in ascending order",
                        "RANGE_BUCKET(x, [0, 10, 100])",
                    ));
                }
                Ok(Some(Expr::call(Function::RangeBucket, operands, ColumnType::Int)))
            }
            _ => Ok(None),
        }
    }
}

/// Whether one constant is at or before another of its type.
fn ascends(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Int(a), Value::Int(b)) => a <= b,
        (Value::Decimal { digits: a, .. }, Value::Decimal { digits: b, .. }) => a <= b,
        (Value::Float(a), Value::Float(b)) => a <= b,
        (Value::String(a), Value::String(b)) => a <= b,
        (Value::Date(a), Value::Date(b)) => a <= b,
        (Value::Timestamp(a), Value::Timestamp(b)) => a <= b,
        _ => false,
    }
}
