//! Refuses comparisons of dates and texts with numbers, and of bools with either, by what was
//! probably meant.

use sqlparser::ast;

use super::literals::sql_name;
use crate::error::Refusal;
use crate::expr::{Expr, ExprKind};
use crate::types::{ColumnType, Value};

/// How a value is compared.
#[derive(Clone, Copy)]
pub(super) enum ComparisonSyntax<'a> {
    /// With an operator, before the other side.
    Operator(&'a ast::BinaryOperator),
    /// With an operator, behind the other side.
    Reversed(&'a ast::BinaryOperator),
    /// With both ends of BETWEEN.
    Between,
    /// With the values of an IN list.
    In,
}

impl ComparisonSyntax<'_> {
    /// The comparison as SQL.
    fn written(self, value: &str, others: &[String]) -> String {
        match self {
            Self::Operator(op) => format!("{value} {op} {}", others.join("")),
            Self::Reversed(op) => format!("{} {op} {value}", others.join("")),
            Self::Between => format!("{value} BETWEEN {}", others.join(" AND ")),
            Self::In => format!("{value} IN ({})", others.join(", ")),
        }
    }
}

/// Refuses to compare a date or a text with numbers, and a bool with what is none.
///
/// # Errors
/// When the value is one, and all others are numbers.
pub(super) fn compared_with(
    node: &ast::Expr,
    value: &Expr,
    others: &[(&ast::Expr, &Expr)],
    comparison: ComparisonSyntax<'_>,
) -> Result<(), Refusal> {
    let is_constant = |expr: &Expr| matches!(expr.kind, ExprKind::Literal(_));
    if value.column_type == ColumnType::Bool && !is_constant(value) {
        return compared_with_truth(node, others, comparison);
    }
    let is_number = |expr: &Expr| expr.column_type.is_numeric() && !expr.is_null_literal();
    if others.is_empty() || is_constant(value) || !others.iter().all(|(_, e)| is_number(e)) {
        return Ok(());
    }
    let whole = others.iter().all(|(_, expr)| expr.column_type == ColumnType::Int);
    let constants = others.iter().all(|(_, expr)| is_constant(expr));
    let numbers: Vec<String> = others.iter().map(|(node, _)| node.to_string()).collect();
    let each = |f: &dyn Fn(&String) -> String| numbers.iter().map(f).collect::<Vec<_>>();
    let hint = match value.column_type {
        ColumnType::String => {
            let number = sql_name(if whole { ColumnType::Int } else { ColumnType::Float });
            let cast = comparison.written(&format!("CAST({node} AS {number})"), &numbers);
            let texts = comparison.written(&node.to_string(), &each(&|n| format!("'{n}'")));
            match constants {
                true => format!("{texts} compares texts; {cast} compares numbers"),
                false => format!("{cast} compares numbers"),
            }
        }
        ColumnType::Date | ColumnType::Timestamp => {
            let year = format!("EXTRACT(YEAR FROM {node})");
            if !constants {
                format!("{} compares the year", comparison.written(&year, &numbers))
            } else {
                let years = comparison.written(&year, &each(&|n| year_of(n)));
                let days = each(&|n| format!("'{}'", day_of(n)));
                let days = comparison.written(&node.to_string(), &days);
                format!("{years} compares the year; {days} compares with a day")
            }
        }
        ColumnType::Bool | ColumnType::Int | ColumnType::Decimal { .. } | ColumnType::Float => {
            return Ok(());
        }
    };
    let numbers = numbers.join(" and ");
    let what =
        format!("`{node}` is a {}, and cannot be compared with {numbers}", value.column_type);
    Err(Refusal::new(what, hint))
}

/// Refuses to compare a bool with constants of other types, such as 'Y' and 1.
fn compared_with_truth(
    node: &ast::Expr,
    others: &[(&ast::Expr, &Expr)],
    comparison: ComparisonSyntax<'_>,
) -> Result<(), Refusal> {
    let constant = |(_, expr): &(&ast::Expr, &Expr)| match &expr.kind {
        ExprKind::Literal(Value::String(text)) => Some(text.clone()),
        ExprKind::Literal(Value::Int(number)) => Some(number.to_string()),
        _ => None,
    };
    let constants = others.iter().map(constant).collect::<Option<Vec<String>>>();
    let Some(constants) = constants.filter(|constants| !constants.is_empty()) else {
        return Ok(());
    };
    let truth = |text: &String| match text.to_lowercase().as_str() {
        "y" | "yes" | "t" | "true" | "on" | "1" => Some("TRUE".to_owned()),
        "n" | "no" | "f" | "false" | "off" | "0" => Some("FALSE".to_owned()),
        _ => None,
    };
    let hint = match (constants.iter().map(truth).collect::<Option<Vec<_>>>(), comparison) {
        (_, ComparisonSyntax::Between) => return Ok(()),
        (Some(mut truths), _) => {
            truths.dedup();
            comparison.written(&node.to_string(), &truths)
        }
        (None, _) => format!("{node} = TRUE, or {node} = FALSE"),
    };
    let written: Vec<String> = others.iter().map(|(node, _)| node.to_string()).collect();
    let what = format!("`{node}` is a bool, and cannot be compared with {}", written.join(" and "));
    Err(Refusal::new(what, hint))
}

/// The year that a number stands for, as 2024 and 20240131 do; else an example.
fn year_of(number: &str) -> String {
    match number.len() {
        4 => number.to_owned(),
        _ => day_of(number).chars().take(4).collect(),
    }
}

/// The day that a number stands for, or the first one of its year; else an example.
fn day_of(number: &str) -> String {
    let day = match number.len() {
        4 => format!("{number}-01-01"),
        8 if number.is_ascii() => {
            let (year, rest) = number.split_at(4);
            let (month, day) = rest.split_at(2);
            format!("{year}-{month}-{day}")
        }
        _ => String::new(),
    };
    match Value::parse(&day, ColumnType::Date) {
        Some(_) => day,
        None => "2026-01-31".to_owned(),
    }
}
