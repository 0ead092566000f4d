//! Conditions that cannot mean what they say: always false, always the same, or about a value that
//! is not among a column's public keys.

use std::cmp::Ordering;

use hushtable_lang::range::Range;
use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind, Refusal, Value};

use super::describe::short;
use super::thresholds::possible_values;
use super::view::View;
use super::{Key, Measure, Measurement};
use crate::warning::{Warning, WarningCode};

/// Most public keys that a hint lists.
const LISTED_KEYS: usize = 10;

/// A column with public keys: its value, its name and the keys.
type PublicColumn<'a> = (Expr, String, &'a [Value]);

/// Looks at conditions over columns of these names and types.
pub(super) struct Conditions<'a> {
    columns: Vec<(String, ColumnType)>,
    public: Vec<PublicColumn<'a>>,
    warnings: Vec<Warning>,
}

impl<'a> Conditions<'a> {
    /// Over the rows of a table.
    pub(super) fn of_rows(table: &'a View) -> Self {
        let public = table.columns.iter().filter_map(|column| {
            let keys = column.public_keys.as_deref()?;
            Some((table.row_expression(&column.name)?, column.name.clone(), keys))
        });
        Self { columns: table.stored_columns(), public: public.collect(), warnings: Vec::new() }
    }

    /// Over what is released: the keys, then the measurements.
    pub(super) fn of_groups(
        keys: &'a [Key],
        measurements: &[Measurement],
        stored: &[(String, ColumnType)],
    ) -> Self {
        let name = |key: &Key| short(&key.expr, stored);
        let public = keys.iter().enumerate().filter_map(|(index, key)| {
            let column = Expr::column(index, key.expr.column_type);
            Some((column, name(key), key.public.as_deref()?))
        });
        let public = public.collect();
        let keys = keys.iter().map(|key| (name(key), key.expr.column_type));
        let measured = measurements.iter().map(|m| (m.name.clone(), m.column_type));
        Self { columns: keys.chain(measured).collect(), public, warnings: Vec::new() }
    }

    /// The warnings, each once.
    pub(super) fn into_warnings(self) -> Vec<Warning> {
        self.warnings
    }

    fn warn(&mut self, code: WarningCode, what: String, hint: impl Into<String>) {
        let warning = Warning::new(code, what, hint);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Looks at a condition.
    pub(super) fn condition(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
                if *op == BinaryOp::And {
                    self.between(left, right);
                }
                self.condition(left);
                self.condition(right);
            }
            ExprKind::Not(inner) => self.condition(inner),
            ExprKind::Literal(Value::Bool(false) | Value::Null) => self.warn(
                WarningCode::NeverTrue,
                "a condition is the constant FALSE: nothing meets it".to_owned(),
                "leave it out, unless only noise is wanted",
            ),
            _ => self.value(expr),
        }
    }

    /// Looks at the conditions in any expression.
    pub(super) fn value(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Like { .. }
            | ExprKind::Match { .. }
            | ExprKind::IsNull(_)
            | ExprKind::Cast(_)
            | ExprKind::Call(..)
                if expr.column_type == ColumnType::Bool && !expr.reads_columns() =>
            {
                self.warn(
                    WarningCode::ConstantCondition,
                    "a condition reads no column: it is the same everywhere".to_owned(),
                    "leave it out, or name a column, without quotes",
                );
            }
            ExprKind::Binary(op, left, right) => {
                match op {
                    BinaryOp::And | BinaryOp::Or => return self.condition(expr),
                    BinaryOp::Eq
                    | BinaryOp::Ne
                    | BinaryOp::Lt
                    | BinaryOp::Le
                    | BinaryOp::Gt
                    | BinaryOp::Ge => self.comparison(*op, left, right),
                    _ => {}
                }
                self.value(left);
                self.value(right);
            }
            ExprKind::Not(_) => self.condition(expr),
            ExprKind::InList(value, listed) => {
                let constants = listed.iter().map(|v| Expr::literal(v.clone()));
                constants.for_each(|constant| self.comparison(BinaryOp::Eq, value, &constant));
                self.value(value);
            }
            ExprKind::Case(branches, otherwise) => {
                for (test, result) in branches {
                    self.condition(test);
                    self.value(result);
                }
                otherwise.iter().for_each(|e| self.value(e));
            }
            ExprKind::IsNull(inner) | ExprKind::Cast(inner) => self.value(inner),
            ExprKind::Like { value, .. } | ExprKind::Match { value, .. } => self.value(value),
            ExprKind::Call(_, arguments)
            | ExprKind::Among(arguments, _)
            | ExprKind::ValueAt(arguments, _) => {
                arguments.iter().for_each(|e| self.value(e));
            }
            ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Released(_) => {}
        }
    }

    /// Looks at what a measurement computes of each row.
    pub(super) fn measure(&mut self, measure: &Measure) {
        if let Some(expr) = measure.operand() {
            self.value(expr);
        }
    }

    /// Looks whether a BETWEEN has its ends the wrong way round.
    fn between(&mut self, from: &Expr, to: &Expr) {
        if let ExprKind::Binary(BinaryOp::Ge, value, low) = &from.kind
            && let ExprKind::Binary(BinaryOp::Le, same, high) = &to.kind
            && let (ExprKind::Literal(a), ExprKind::Literal(b)) = (&low.kind, &high.kind)
            && value == same
            && holds(BinaryOp::Gt, a, b) == Some(true)
        {
            let (low, high) = (a.as_sql(), b.as_sql());
            self.warn(
                WarningCode::NeverTrue,
                format!("{} is never from {low} to {high}", self.rendered(value)),
                format!("BETWEEN {high} AND {low}"),
            );
        }
    }

    fn comparison(&mut self, op: BinaryOp, left: &Expr, right: &Expr) {
        let rendered = format!("{} {} {}", self.rendered(left), op.symbol(), self.rendered(right));
        if !left.reads_columns() && !right.reads_columns() {
            let always = match (&left.kind, &right.kind) {
                (ExprKind::Literal(a), ExprKind::Literal(b)) => holds(op, a, b),
                _ => None,
            };
            let outcome = match always {
                Some(true) => "it is always true",
                Some(false) => "it is never true",
                None => "it is the same everywhere",
            };
            let named = [left, right].into_iter().find_map(|side| self.column_named_by(side));
            let hint = match named {
                Some(name) => format!("write the column {name} without quotes"),
                None => "leave it out, or compare a column".to_owned(),
            };
            let what = format!("the condition {rendered} compares constants: {outcome}");
            return self.warn(WarningCode::ConstantCondition, what, hint);
        }
        if matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
            for (column, constant) in [(left, right), (right, left)] {
                if let ExprKind::Literal(value) = &constant.kind
                    && let Some((what, hint)) = self.not_public(column, value)
                {
                    return self.warn(WarningCode::NotAPublicKey, what, hint);
                }
            }
        }
        if let (Some(a), Some(b)) = (Range::of(left), Range::of(right))
            && Range::never(op, a, b)
        {
            self.warn(
                WarningCode::NeverTrue,
                format!("the condition {rendered} is never true, whatever the data"),
                "compare with a value that can occur, or leave it out",
            );
        }
    }

    /// The column that a text constant names.
    fn column_named_by(&self, side: &Expr) -> Option<&str> {
        let ExprKind::Literal(Value::String(text)) = &side.kind else { return None };
        let names =
            self.columns.iter().map(|(name, _)| name).chain(self.public.iter().map(|p| &p.1));
        names.map(String::as_str).find(|name| name.eq_ignore_ascii_case(text))
    }

    /// The message and its hint if the value is not among the public keys of a column that has
    /// some.
    fn not_public(&self, column: &Expr, value: &Value) -> Option<(String, String)> {
        let (_, name, keys) = self.public.iter().find(|(expr, ..)| expr == column)?;
        if keys.contains(value) {
            return None;
        }
        let what = format!("{} is not among the public keys of `{name}`", value.as_sql());
        Some((what, keys_hint(keys, value)))
    }

    fn rendered(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Literal(value) => value.as_sql(),
            ExprKind::Column(_) => short(expr, &self.columns),
            _ => format!("({})", short(expr, &self.columns)),
        }
    }
}

/// Refuses a WHERE that contradicts the public keys of a group key: every row would be left out,
/// and the answer would be noise alone.
pub(super) fn check_public_keys(
    condition: &Expr,
    table: &View,
    keys: &[Key],
) -> Result<(), Refusal> {
    for key in keys {
        let (Some(public), Some(possible)) = (&key.public, possible_values(condition, &key.expr))
        else {
            continue;
        };
        let Some(value) = possible.first().filter(|_| !possible.iter().any(|v| public.contains(v)))
        else {
            continue;
        };
        let name = table.column_of(&key.expr).map_or("the group key", |c| c.name.as_str());
        return Err(Refusal::new(
            format!(
                "WHERE asks for `{name}` = {}, which is not among its public keys: GROUP BY {name} \
                 leaves all such rows out, so the answer would be nothing but noise",
                value.as_sql()
            ),
            keys_hint(public, value),
        ));
    }
    Ok(())
}

/// The public keys, and the one that differs in letter case only.
fn keys_hint(keys: &[Value], value: &Value) -> String {
    let similar = keys.iter().find(|key| match (key, value) {
        (Value::String(key), Value::String(text)) => {
            key.trim().to_lowercase() == text.trim().to_lowercase()
        }
        _ => false,
    });
    if let Some(key) = similar {
        return format!("{} is one of them; letter case and spaces count", key.as_sql());
    }
    let listed: Vec<String> = keys.iter().take(LISTED_KEYS).map(Value::as_sql).collect();
    let more = if keys.len() > LISTED_KEYS { ", …" } else { "" };
    format!("the public keys are {}{more}", listed.join(", "))
}

/// Whether a comparison of constants of one type holds.
fn holds(op: BinaryOp, left: &Value, right: &Value) -> Option<bool> {
    let order = match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Decimal { digits: a, scale: s }, Value::Decimal { digits: b, scale: t })
            if s == t =>
        {
            a.cmp(b)
        }
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b)?,
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
        _ => return None,
    };
    Some(match op {
        BinaryOp::Eq => order == Ordering::Equal,
        BinaryOp::Ne => order != Ordering::Equal,
        BinaryOp::Lt => order == Ordering::Less,
        BinaryOp::Le => order != Ordering::Greater,
        BinaryOp::Gt => order == Ordering::Greater,
        BinaryOp::Ge => order != Ordering::Less,
        _ => return None,
    })
}
