//! Hints that hold what another engine's form was written with: its functions, and its ways into
//! JSON.

use sqlparser::ast::{self, BinaryOperator, Expr as E};

use super::literals::text;
use crate::call::Call;
use crate::error::Refusal;
use crate::json_path::{JsonPath, JsonStep};
use crate::types::text_as_sql;

/// The way to write a call here; `None` where it does not depend on the arguments. `is_column` says
/// whether a name is that of a column.
pub(super) fn hint_for_call(
    name: &str,
    arguments: &[&ast::Expr],
    is_column: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let target = match name {
        "LAX_BOOL" | "BOOL" => Some("BOOL"),
        "LAX_INT64" | "INT64" => Some("INT64"),
        "LAX_FLOAT64" | "FLOAT64" => Some("FLOAT64"),
        "LAX_STRING" => Some("STRING"),
        _ => None,
    };
    Some(match (name, arguments) {
        ("AGE", [from]) => age("CURRENT_DATE", &operand(from)),
        ("AGE", [to, from]) => age(&operand(to), &operand(from)),
        ("MONTHS_BETWEEN", [to, from]) => format!(
            "DATE_DIFF({to}, {from}, MONTH), which counts the first days of months between them"
        ),
        ("JSON_EXTRACT" | "JSON_QUERY", [x, path]) => {
            let text = constant_text(path).and_then(|path| JsonPath::parse(&path));
            match text {
                Some(path) if !path.steps().is_empty() => {
                    let text = arrow(&operand(x), path.into_steps())?;
                    format!("{text}, which has texts without quotes")
                }
                _ => return None,
            }
        }
        ("JSON_EXTRACT_PATH_TEXT" | "JSON_EXTRACT_PATH", [x, keys @ ..]) if !keys.is_empty() => {
            let steps = keys.iter().map(|key| constant_text(key).map(JsonStep::Key));
            arrow(&operand(x), steps.collect::<Option<Vec<_>>>()?)?
        }
        (_, [x]) => {
            let target = target?;
            let text = into_json(x, is_column).unwrap_or_else(|| x.to_string());
            format!("CAST({text} AS {target})")
        }
        _ => return None,
    })
}

fn age(to: &str, from: &str) -> String {
    format!(
        "{to} > {from} + INTERVAL 1 YEAR to compare it; DATE_DIFF({to}, {from}, DAY) for its days"
    )
}

/// Refuses to compare a difference of dates or timestamps with an INTERVAL, which moves them. The
/// hint moves one of them by it, and says where the two comparisons are not equal.
pub(super) fn interval_compared(
    left: &ast::Expr,
    op: &BinaryOperator,
    right: &ast::Expr,
) -> Option<Refusal> {
    use BinaryOperator::{Gt, GtEq, Lt, LtEq};
    let (difference, interval, is_left) = match (plain(left), plain(right)) {
        (of, E::Interval(interval)) => (of, interval, true),
        (E::Interval(interval), of) => (of, interval, false),
        _ => return None,
    };
    let (to, from, of_age) = match difference {
        E::BinaryOp { left, op: BinaryOperator::Minus, right } => {
            (operand(left), operand(right), false)
        }
        E::Function(function) => {
            let arguments = arguments_of(function)?;
            match (function.name.to_string().to_uppercase().as_str(), arguments.as_slice()) {
                ("AGE", [from]) => ("CURRENT_DATE".to_owned(), operand(from), true),
                ("AGE", [to, from]) => (operand(to), operand(from), true),
                ("DATE_DIFF" | "TIMESTAMP_DIFF" | "DATETIME_DIFF", [to, from, _]) => {
                    (operand(to), operand(from), false)
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    // As an INTERVAL a month has 30 days, so that 17 months and 30 days equal 18 months.
    let text = interval.to_string().to_uppercase();
    let has_months = ["MONTH", "QUARTER", "YEAR"].iter().any(|part| text.contains(part));
    let is_equal = match (of_age, has_months) {
        (true, true) => matches!((op, is_left), (Gt | LtEq, true) | (Lt | GtEq, false)),
        (of_age, has_months) => !of_age && !has_months,
    };
    let note = match is_equal {
        true => "",
        false => ", by the calendar: as an INTERVAL, a month has 30 days",
    };
    let hint = match is_left {
        true => format!("{to} {op} {from} + {interval}{note}"),
        false => format!("{from} + {interval} {op} {to}{note}"),
    };
    let what =
        format!("`{interval}` moves a date or timestamp: a difference is not compared with it");
    let all = E::BinaryOp {
        left: Box::new(left.clone()),
        op: op.clone(),
        right: Box::new(right.clone()),
    };
    Some(Refusal::new(what, hint).at(&all))
}

/// The text at another engine's way into JSON: `x.a.b`, `x['a']`, `x:a.b` or `x -> 'a'`.
pub(super) fn into_json(node: &ast::Expr, is_column: &dyn Fn(&str) -> bool) -> Option<String> {
    match node {
        E::Nested(inner) => into_json(inner, is_column),
        E::CompoundIdentifier(path) => {
            let (first, keys) = path.split_first()?;
            let steps = keys.iter().map(|key| JsonStep::Key(key.value.clone())).collect();
            is_column(&first.value).then(|| arrow(&first.to_string(), steps))?
        }
        E::CompoundFieldAccess { root, access_chain } => items(root, access_chain),
        E::JsonAccess { value, path } => {
            let steps = path.path.iter().map(|element| match element {
                ast::JsonPathElem::Dot { key, quoted: _ } => Some(JsonStep::Key(key.clone())),
                ast::JsonPathElem::Bracket { key } | ast::JsonPathElem::ColonBracket { key } => {
                    step(key)
                }
            });
            arrow(&operand(value), steps.collect::<Option<_>>()?)
        }
        E::BinaryOp { left, op: BinaryOperator::Arrow, right } => {
            Some(format!("{left} ->> {right}"))
        }
        _ => None,
    }
}

/// `x['a'][0]` as `->>`.
pub(super) fn items(root: &ast::Expr, chain: &[ast::AccessExpr]) -> Option<String> {
    if !matches!(root, E::Identifier(_) | E::CompoundIdentifier(_)) {
        return None;
    }
    let steps = chain.iter().map(|access| match access {
        ast::AccessExpr::Dot(E::Identifier(key)) => Some(JsonStep::Key(key.value.clone())),
        ast::AccessExpr::Subscript(ast::Subscript::Index { index }) => step(index),
        _ => None,
    });
    let steps: Vec<JsonStep> = steps.collect::<Option<_>>()?;
    arrow(&root.to_string(), steps)
}

/// The way into a column's JSON by keys, as `->>`.
pub(super) fn by_keys(column: &str, keys: &[&str]) -> Option<String> {
    arrow(column, keys.iter().map(|key| JsonStep::Key((*key).to_owned())).collect())
}

fn step(node: &ast::Expr) -> Option<JsonStep> {
    let text = constant_text(node).map(JsonStep::Key);
    text.or_else(|| node.to_string().parse().ok().map(JsonStep::Item))
}

/// `->>` with a key, or with a path of several steps.
fn arrow(root: &str, steps: Vec<JsonStep>) -> Option<String> {
    let right = match steps.as_slice() {
        [] => return None,
        [JsonStep::Key(key)] if !key.starts_with(['$', '/']) => text_as_sql(key),
        [JsonStep::Item(item)] => item.to_string(),
        _ => text_as_sql(&JsonPath::new(steps)?.to_string()),
    };
    Some(format!("{root} ->> {right}"))
}

/// An operand of an operator, in brackets where it needs them.
fn operand(node: &ast::Expr) -> String {
    match node {
        E::BinaryOp { left: _, op: _, right: _ } | E::UnaryOp { op: _, expr: _ } => {
            format!("({node})")
        }
        _ => node.to_string(),
    }
}

fn plain(node: &ast::Expr) -> &ast::Expr {
    match node {
        E::Nested(inner) => plain(inner),
        _ => node,
    }
}

fn arguments_of(function: &ast::Function) -> Option<Vec<&ast::Expr>> {
    let plain = |argument| match argument {
        &ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ref e)) => Some(e),
        _ => None,
    };
    Call::of(function)?.arguments.iter().map(plain).collect()
}

fn constant_text(node: &ast::Expr) -> Option<String> {
    match node {
        E::Value(value) => text(&value.value).map(str::to_owned),
        _ => None,
    }
}
