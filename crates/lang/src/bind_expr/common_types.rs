//! One type for several expressions, casts, and small constructions.

use super::literals::sql_name;
use crate::error::Refusal;
use crate::expr::{BinaryOp, Expr, ExprKind};
use crate::functions::Function;
use crate::types::{ColumnType, Value};

pub(super) fn scale_of(column_type: ColumnType) -> u8 {
    match column_type {
        ColumnType::Decimal { scale } => scale,
        _ => 0,
    }
}

pub(super) fn negate_if(negated: bool, expr: Expr) -> Expr {
    if negated { Expr::new(ExprKind::Not(Box::new(expr)), ColumnType::Bool) } else { expr }
}

/// Minus the number; constants stay constants.
pub(super) fn negate(expr: Expr) -> Expr {
    let value = match &expr.kind {
        ExprKind::Literal(Value::Int(n)) => n.checked_neg().map(Value::Int),
        // Minus zero is zero, as in the data.
        ExprKind::Literal(Value::Float(x)) => Some(Value::Float(0.0 - x)),
        ExprKind::Literal(Value::Decimal { digits, scale }) => {
            Some(Value::Decimal { digits: -digits, scale: *scale })
        }
        _ => None,
    };
    match value {
        Some(value) => Expr::literal(value),
        None => {
            let column_type = expr.column_type;
            Expr::call(Function::Negate, vec![expr], column_type)
        }
    }
}

/// All of `terms`, at least one, joined two by two: as shallow a tree as can be.
pub fn balanced(terms: Vec<Expr>, join: &impl Fn(Expr, Expr) -> Expr) -> Expr {
    // Nothing to join: no caller gives none.
    paired(terms, join).unwrap_or_else(|| Expr::literal(Value::Null))
}

/// Terms joined two by two; `None` where there are none.
pub fn paired<T>(mut terms: Vec<T>, join: &impl Fn(T, T) -> T) -> Option<T> {
    while terms.len() > 1 {
        let mut joined = Vec::with_capacity(terms.len().div_ceil(2));
        let mut rest = terms.into_iter();
        while let Some(left) = rest.next() {
            joined.push(match rest.next() {
                Some(right) => join(left, right),
                None => left,
            });
        }
        terms = joined;
    }
    terms.pop()
}

/// Concatenates texts in one call, however many there are, so that no intermediate text is built.
pub(super) fn concat(texts: Vec<Expr>) -> Expr {
    let all = texts.into_iter().flat_map(|text| match text.kind {
        ExprKind::Call(Function::Concat, inner) => inner,
        _ => vec![text],
    });
    Expr::call(Function::Concat, all.collect(), ColumnType::String)
}

/// `tests` with one result each, and one result more for the rest where there is one.
pub(super) fn case_of(tests: Vec<Expr>, mut results: Vec<Expr>) -> Expr {
    let otherwise = (results.len() > tests.len()).then(|| results.pop()).flatten().map(Box::new);
    let column_type = results.first().map_or(ColumnType::Bool, |e| e.column_type);
    let branches = tests.into_iter().zip(results).collect();
    Expr::new(ExprKind::Case(branches, otherwise), column_type)
}

/// The value where the condition is true, and NULL elsewhere; one where there is no value.
pub fn where_true(condition: Expr, value: Option<Expr>) -> Expr {
    case_of(vec![condition], vec![value.unwrap_or_else(|| Expr::literal(Value::Int(1)))])
}

/// A comparison, with both sides in one type.
///
/// # Errors
/// Comparisons with NULL, and of types that have no common one.
pub fn compare(op: BinaryOp, left: Expr, right: Expr) -> Result<Expr, Refusal> {
    if left.is_null_literal() || right.is_null_literal() {
        return Err(Refusal::new(
            "a comparison with NULL is never true",
            "x IS NULL, or x IS NOT NULL",
        ));
    }
    let (left, right) = unify(left, right, "a comparison")?;
    Ok(Expr::binary(op, left, right, ColumnType::Bool))
}

/// Both expressions in one type.
pub(super) fn unify(left: Expr, right: Expr, context: &str) -> Result<(Expr, Expr), Refusal> {
    let mut both = unify_all(vec![left, right], context)?;
    match (both.pop(), both.pop()) {
        (Some(right), Some(left)) => Ok((left, right)),
        _ => Err(Refusal::new(format!("{context} needs two operands"), "write both operands")),
    }
}

/// Expressions in their common type; `context` names what needs one.
///
/// # Errors
/// Where there is no common type.
pub fn unify_all(exprs: Vec<Expr>, context: &str) -> Result<Vec<Expr>, Refusal> {
    let mut common: Option<ColumnType> = None;
    for expr in exprs.iter().filter(|e| !e.is_null_literal()) {
        let is_text = |e: &Expr| matches!(e.kind, ExprKind::Literal(Value::String(_)));
        common = Some(match (common, expr.column_type) {
            (None, t) => t,
            (Some(a), b) if a == b => a,
            (Some(a), b) if a.is_numeric() && b.is_numeric() => {
                if a == ColumnType::Float || b == ColumnType::Float {
                    ColumnType::Float
                } else {
                    ColumnType::Decimal { scale: scale_of(a).max(scale_of(b)) }
                }
            }
            (Some(ColumnType::Date), ColumnType::Timestamp)
            | (Some(ColumnType::Timestamp), ColumnType::Date) => ColumnType::Timestamp,
            // A text constant beside a date is that date.
            (Some(a @ (ColumnType::Date | ColumnType::Timestamp)), _) if is_text(expr) => a,
            (Some(ColumnType::String), b @ (ColumnType::Date | ColumnType::Timestamp))
                if exprs.iter().all(|e| e.column_type != ColumnType::String || is_text(e)) =>
            {
                b
            }
            (Some(a), b) => {
                return Err(Refusal::new(
                    format!("{context} mixes {a} and {b}"),
                    match (a, b) {
                        (ColumnType::String, _) | (_, ColumnType::String) => {
                            "cast the other one to text: CAST(x AS STRING)".to_owned()
                        }
                        _ => format!("cast one of them: CAST(x AS {})", sql_name(a)),
                    },
                ));
            }
        });
    }
    let common = common.unwrap_or(ColumnType::Bool);
    exprs
        .into_iter()
        .map(|expr| match &expr.kind {
            ExprKind::Literal(Value::String(text)) if common != ColumnType::String => {
                Value::parse(text, common).map(Expr::literal).ok_or_else(|| {
                    Refusal::new(format!("'{text}' is not a {common}"), "write it as '2026-01-31'")
                })
            }
            _ => Ok(cast(expr, common)),
        })
        .collect()
}

/// The expression in another type, where every such cast is defined; constants are cast here.
pub fn cast(expr: Expr, target: ColumnType) -> Expr {
    if expr.column_type == target {
        return expr;
    }
    let constant = match (&expr.kind, target) {
        (ExprKind::Literal(Value::Null), _) => Some(Value::Null),
        (ExprKind::Literal(Value::Int(n)), ColumnType::Float) => Some(Value::Float(*n as f64)),
        (ExprKind::Literal(Value::Int(n)), ColumnType::Decimal { scale }) => {
            let digits = i128::from(*n).checked_mul(10i128.pow(u32::from(scale)));
            digits.map(|digits| Value::Decimal { digits, scale })
        }
        (
            ExprKind::Literal(Value::Decimal { digits, scale }),
            ColumnType::Decimal { scale: to },
        ) if to >= *scale => {
            let digits = digits.checked_mul(10i128.pow(u32::from(to - scale)));
            digits.map(|digits| Value::Decimal { digits, scale: to })
        }
        (ExprKind::Literal(Value::Decimal { digits, scale }), ColumnType::Float) => {
            format!("{digits}e-{scale}").parse().ok().map(Value::Float)
        }
        _ => None,
    };
    match constant {
        Some(value) => Expr { column_type: target, ..Expr::literal(value) },
        None if target == ColumnType::Int
            && expr.column_type != ColumnType::String
            && expr.column_type.is_numeric() =>
        {
            // Halves away from zero, as in GoogleSQL; a plain cast would cut off.
            Expr::call(Function::ToInt, vec![expr], ColumnType::Int)
        }
        None => Expr::new(ExprKind::Cast(Box::new(expr)), target),
    }
}

pub(super) fn checked_cast(expr: Expr, target: ColumnType) -> Result<Expr, Refusal> {
    use ColumnType as T;
    let from = expr.column_type;
    let allowed = expr.is_null_literal()
        || from == target
        || from == T::String
        || target == T::String
        || from.is_numeric() && target.is_numeric()
        || matches!(
            (from, target),
            (T::Bool, T::Int)
                | (T::Int, T::Bool)
                | (T::Date, T::Timestamp)
                | (T::Timestamp, T::Date)
        );
    if allowed {
        return Ok(cast(expr, target));
    }
    let hint = match target {
        _ if target.is_numeric() && matches!(from, T::Date | T::Timestamp) => {
            "EXTRACT(YEAR FROM x), or DATE_DIFF(x, DATE '2026-01-31', DAY)".to_owned()
        }
        T::Date if from.is_numeric() => {
            "PARSE_DATE('%Y%m%d', CAST(x AS STRING)) for numbers such as 20260131".to_owned()
        }
        _ => format!("by way of a text: CAST(CAST(x AS STRING) AS {})", sql_name(target)),
    };
    Err(Refusal::new(format!("{from} cannot be cast to {target}"), hint))
}
