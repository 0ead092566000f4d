//! From the syntax of an expression to a typed one.

mod buckets;
mod calls;
mod common_types;
mod dates;
mod filled;
mod foreign_calls;
mod json_access;
mod literals;
mod membership;
mod mixed_types;
mod operators;
mod patterns;
mod placeholder;
mod row_scope;
mod row_values;

use std::fmt::Display;

use sqlparser::ast::{self, BinaryOperator, CastKind, UnaryOperator};

use self::calls::plain_rounding;
pub use self::calls::{function_names, misspelt_function};
pub use self::common_types::{balanced, cast, compare, paired, unify_all, where_true};
use self::common_types::{checked_cast, negate, negate_if};
use self::foreign_calls::into_json;
use self::literals::{constant, date_part, sql_type, typed_literal};
use self::membership::as_exists;
use self::mixed_types::{ComparisonSyntax, compared_with};
use self::placeholder::released;
pub use self::placeholder::{ReleasedField, RowLookup, column_placeholder, placeholder};
pub use self::row_scope::{RowScope, Visible, bind_expression, bind_row_expression};
pub use self::row_values::row_values;
use crate::error::Refusal;
use crate::expr::{BinaryOp, Expr, ExprKind, MatchUse};
use crate::types::ColumnType;

/// Deepest nesting of an expression's syntax.
const MAX_NESTING: u32 = 100;

/// Deepest bound expression, with computed columns and released values put in. The engine recurses
/// as deep when there is a row to compute, so this must be far from what a thread's stack holds: a
/// stack that overflows would tell that there is one.
const MAX_DEPTH: usize = 30;

/// Most nodes of a bound expression: some forms stand for several copies of their operands.
const MAX_NODES: usize = 5_000;

/// The meaning of names, and of other nodes that depend on the context.
pub trait Resolve {
    /// The expression that the node stands for here; `None` if it is an ordinary one.
    fn resolve(&mut self, node: &ast::Expr) -> Option<Result<Expr, Refusal>>;

    /// Whether a name stands for a column here.
    fn names(&self, name: &str) -> bool;

    /// A column with the name of its table, where it is one of the rows'.
    fn qualified(&self, _name: &str) -> Option<String> {
        None
    }
}

/// Binds expressions in one scope.
pub struct Binder<'a, R> {
    scope: &'a mut R,
    depth: u32,
}

/// The refusal of an expression that is nested more than `most` deep.
pub fn too_deep(most: usize) -> Refusal {
    Refusal::new(
        format!("an expression is nested more than {most} deep"),
        "use IN (…) for long chains of OR, and computed columns in the contract for long formulas",
    )
    .nowhere()
}

/// Refuses a bound expression that is too deep or has too many nodes.
pub fn check_size(bound: &Expr) -> Result<(), Refusal> {
    let (depth, nodes) = bound.size();
    if depth > MAX_DEPTH {
        return Err(too_deep(MAX_DEPTH));
    }
    if nodes > MAX_NODES {
        return Err(Refusal::new(
            format!("an expression has more than {MAX_NODES} parts"),
            "NULLIF, BETWEEN, CASE x WHEN … and IN repeat their operands: nest them less",
        )
        .nowhere());
    }
    Ok(())
}

/// Refuses a text in double quotes that names a column: they quote texts in GoogleSQL, and names
/// elsewhere.
fn quoted_column(text: &str) -> Refusal {
    Refusal::new(
        format!("\"{text}\" is a text and not the column of that name"),
        format!(
            "`{text}` for the column, '{text}' for the text; or double_quotes = \"names\" in the \
             contract, as in PostgreSQL"
        ),
    )
}

/// The expression, which `node` was bound to, if it is a number.
pub fn number_of(expr: Expr, node: &ast::Expr, context: &str) -> Result<Expr, Refusal> {
    if expr.is_null_literal() {
        return Ok(Expr { column_type: ColumnType::Int, ..expr });
    }
    if expr.column_type.is_numeric() {
        return Ok(expr);
    }
    let hint = match expr.column_type {
        ColumnType::Date | ColumnType::Timestamp => {
            format!("EXTRACT(YEAR FROM {node}), or DATE_DIFF({node}, DATE '2026-01-31', DAY)")
        }
        ColumnType::Bool => format!("IF({node}, 1, 0)"),
        _ => format!("CAST({node} AS INT64) or CAST({node} AS FLOAT64)"),
    };
    let what = format!("{context} needs a number; `{node}` is of type {}", expr.column_type);
    Err(Refusal::new(what, hint))
}

/// A condition on a value, as an example for who forgot to write one.
fn condition_on(node: &dyn Display, column_type: ColumnType) -> String {
    match column_type {
        // A text out of JSON may be a bool.
        ColumnType::String if node.to_string().contains("->>") => format!("{node} = 'true'"),
        ColumnType::Bool | ColumnType::String => format!("{node} = 'x'"),
        ColumnType::Int | ColumnType::Decimal { .. } | ColumnType::Float => format!("{node} > 0"),
        ColumnType::Date | ColumnType::Timestamp => format!("{node} >= '2026-01-31'"),
    }
}

impl<'a, R: Resolve> Binder<'a, R> {
    /// Binds in a scope.
    pub fn new(scope: &'a mut R) -> Self {
        Self { scope, depth: 0 }
    }

    /// An expression with its type.
    ///
    /// # Errors
    /// Names that the scope does not have, and what is not supported or does not fit its types.
    pub fn bind(&mut self, node: &ast::Expr) -> Result<Expr, Refusal> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(too_deep(MAX_NESTING as usize));
        }
        let bound = match self.scope.resolve(node) {
            Some(resolved) => resolved,
            None => self.ordinary(node),
        };
        self.depth -= 1;
        let sized = bound.and_then(|bound| check_size(&bound).map(|()| bound));
        sized.map_err(|refusal| refusal.filled(node).at(node))
    }

    pub(super) fn boxed(&mut self, node: &ast::Expr) -> Result<Box<Expr>, Refusal> {
        self.bind(node).map(Box::new)
    }

    pub(super) fn boolean(&mut self, node: &ast::Expr, context: &str) -> Result<Expr, Refusal> {
        let expr = self.bind(node)?;
        if expr.column_type == ColumnType::Bool {
            return Ok(expr);
        }
        Err(Refusal::new(
            format!("{context} needs a condition; `{node}` is of type {}", expr.column_type),
            format!("compare it, as in {}", condition_on(node, expr.column_type)),
        ))
    }

    pub(super) fn text(&mut self, node: &ast::Expr, context: &str) -> Result<Expr, Refusal> {
        let expr = self.bind(node)?;
        if expr.is_null_literal() {
            return Ok(Expr { column_type: ColumnType::String, ..expr });
        }
        if expr.column_type == ColumnType::String {
            return Ok(expr);
        }
        Err(Refusal::new(
            format!("{context} needs text; `{node}` is of type {}", expr.column_type),
            format!("CAST({node} AS STRING)"),
        ))
    }

    pub(super) fn number(&mut self, node: &ast::Expr, context: &str) -> Result<Expr, Refusal> {
        let expr = self.bind(node)?;
        number_of(expr, node, context)
    }

    pub(super) fn float(&mut self, node: &ast::Expr, context: &str) -> Result<Expr, Refusal> {
        Ok(cast(self.number(node, context)?, ColumnType::Float))
    }

    pub(super) fn ordinary(&mut self, node: &ast::Expr) -> Result<Expr, Refusal> {
        use ast::Expr as E;
        Ok(match node {
            E::Nested(inner) => self.bind(inner)?,
            E::Value(value) => {
                if let ast::Value::DoubleQuotedString(text) = &value.value
                    && self.scope.names(text)
                {
                    return Err(quoted_column(text));
                }
                match released(&value.value) {
                    Some(placeholder) => placeholder,
                    None => Expr::literal(constant(&value.value)?),
                }
            }
            E::TypedString(typed) => typed_literal(typed)?,
            E::UnaryOp { op: UnaryOperator::Not, expr } => {
                let inner = self.boolean(expr, "NOT")?;
                Expr::new(ExprKind::Not(Box::new(inner)), ColumnType::Bool)
            }
            E::UnaryOp { op: UnaryOperator::Plus, expr } => self.number(expr, "+")?,
            // Engines differ in which comes first.
            E::UnaryOp { op: UnaryOperator::Minus, expr } if is_power(expr) => {
                let inner = match expr.as_ref() {
                    E::BinaryOp { left, op, right } => format!(", or (-{left}) {op} {right}"),
                    _ => String::new(),
                };
                return Err(Refusal::new(
                    format!("`{node}` is read in two ways"),
                    format!("-({expr}){inner}"),
                ));
            }
            E::UnaryOp { op: UnaryOperator::Minus, expr } => negate(self.number(expr, "-")?),
            E::BinaryOp { left, op, right } => match (row_values(left), op) {
                (Some(values), BinaryOperator::Eq | BinaryOperator::NotEq) => {
                    let equal = self.row_in_list(values, std::slice::from_ref(right))?;
                    negate_if(*op == BinaryOperator::NotEq, equal)
                }
                _ => self.binary(left, op, right)?,
            },
            E::IsNull(inner) => Expr::new(ExprKind::IsNull(self.boxed(inner)?), ColumnType::Bool),
            E::IsNotNull(inner) => {
                let null = Expr::new(ExprKind::IsNull(self.boxed(inner)?), ColumnType::Bool);
                Expr::new(ExprKind::Not(Box::new(null)), ColumnType::Bool)
            }
            E::IsTrue(inner) => self.is_bool(inner, true, false)?,
            E::IsNotTrue(inner) => self.is_bool(inner, true, true)?,
            E::IsFalse(inner) => self.is_bool(inner, false, false)?,
            E::IsNotFalse(inner) => self.is_bool(inner, false, true)?,
            E::Between { expr, negated, low, high } => {
                let value = self.bind(expr)?;
                let nodes = (low.as_ref(), high.as_ref());
                let (low, high) = (self.bind(low)?, self.bind(high)?);
                let ends = [(nodes.0, &low), (nodes.1, &high)];
                compared_with(expr, &value, &ends, ComparisonSyntax::Between)?;
                let from = compare(BinaryOp::Ge, value.clone(), low)?;
                let to = compare(BinaryOp::Le, value, high)?;
                negate_if(*negated, from.and(to))
            }
            E::InList { expr, list, negated } => {
                let found = match row_values(expr) {
                    Some(values) => self.row_in_list(values, list)?,
                    None => self.in_list(expr, list, *negated)?,
                };
                negate_if(*negated, found)
            }
            E::Like { negated, any: false, expr, pattern, escape_char: None } => {
                negate_if(*negated, self.like(expr, pattern, false)?)
            }
            E::ILike { negated, any: false, expr, pattern, escape_char: None } => {
                negate_if(*negated, self.like(expr, pattern, true)?)
            }
            E::Like { negated, any: false, expr, pattern, escape_char: Some(escape) } => {
                negate_if(*negated, self.like_escaped(expr, pattern, &escape.value, false)?)
            }
            E::ILike { negated, any: false, expr, pattern, escape_char: Some(escape) } => {
                negate_if(*negated, self.like_escaped(expr, pattern, &escape.value, true)?)
            }
            E::RLike { negated, expr, pattern, regexp: _ } => {
                let matched = self.matching("RLIKE", expr, pattern, MatchUse::Contains, false)?;
                negate_if(*negated, matched)
            }
            E::IsDistinctFrom(left, right) => self.distinct(left, right)?,
            E::IsNotDistinctFrom(left, right) => negate_if(true, self.distinct(left, right)?),
            E::InUnnest { expr, array_expr, negated } => match array_expr.as_ref() {
                E::Array(array) => negate_if(*negated, self.in_list(expr, &array.elem, *negated)?),
                other => {
                    return Err(Refusal::new(
                        format!("IN UNNEST({other}) is not supported"),
                        "IN (1, 2, 3), or IN UNNEST([1, 2, 3])",
                    )
                    .at(other));
                }
            },
            // `= ANY` of a list is IN, and `<> ALL` NOT IN.
            E::AnyOp { left, compare_op: ast::BinaryOperator::Eq, right, is_some: _ }
                if listed(right).is_some() =>
            {
                self.in_list(left, listed(right).unwrap_or_default(), false)?
            }
            E::AllOp { left, compare_op: ast::BinaryOperator::NotEq, right }
                if listed(right).is_some() =>
            {
                negate_if(true, self.in_list(left, listed(right).unwrap_or_default(), true)?)
            }
            E::Position { expr, r#in } => self.named("STRPOS", &[r#in, expr])?,
            E::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())?
            }
            E::Cast {
                kind:
                    CastKind::Cast | CastKind::SafeCast | CastKind::TryCast | CastKind::DoubleColon,
                expr,
                data_type,
                array: false,
                format: None,
            } => {
                let target = sql_type(data_type)?;
                let inner = self.bind(expr)?;
                checked_cast(inner, target)?
            }
            E::Extract { field: ast::DateTimeField::Date, syntax: _, expr } => {
                cast(self.moment(expr, "EXTRACT")?, ColumnType::Date)
            }
            E::Extract { field, syntax: _, expr } => {
                let part = date_part(&field.to_string())?;
                self.extract(part, expr, "EXTRACT")?
            }
            E::Interval(interval) => {
                return Err(Refusal::new(
                    format!("`{interval}` cannot stand alone"),
                    "day + INTERVAL 30 DAY, or DATE_ADD(day, INTERVAL 30 DAY)",
                ));
            }
            E::Floor { expr, field } if plain_rounding(field) => self.named("FLOOR", &[expr])?,
            E::Ceil { expr, field } if plain_rounding(field) => self.named("CEIL", &[expr])?,
            E::Substring {
                expr,
                substring_from: Some(from),
                substring_for,
                special: _,
                shorthand: _,
            } => match substring_for {
                Some(length) => self.named("SUBSTR", &[expr, from, length])?,
                None => self.named("SUBSTR", &[expr, from])?,
            },
            E::Trim { trim_where, trim_what, expr, trim_characters } => {
                let name = match trim_where {
                    None | Some(ast::TrimWhereField::Both) => "TRIM",
                    Some(ast::TrimWhereField::Leading) => "LTRIM",
                    Some(ast::TrimWhereField::Trailing) => "RTRIM",
                };
                let of = trim_what.iter().map(AsRef::as_ref);
                let of = of.chain(trim_characters.iter().flatten());
                let arguments = [expr.as_ref()].into_iter().chain(of);
                self.named(name, &arguments.collect::<Vec<_>>())?
            }
            E::Function(function) => match self.released_lookup(function) {
                Some(lookup) => lookup?,
                None => self.function(function)?,
            },
            E::CompoundFieldAccess { root, access_chain } => self.item(root, access_chain)?,
            E::InSubquery { expr, subquery, negated } => {
                let name = if *negated { "NOT IN" } else { "IN" };
                let exists =
                    as_exists(expr, subquery, *negated, &|name| self.scope.qualified(name));
                let hint = exists.unwrap_or_else(|| {
                    "EXISTS in place of IN, and NOT EXISTS in place of NOT IN: (SELECT 1 FROM … \
                     WHERE inner.key = outer.key)"
                        .to_owned()
                });
                return Err(Refusal::new(
                    format!("{name} of a sub-query is not supported where it stands"),
                    hint,
                )
                .at(node));
            }
            E::Subquery(_) | E::Exists { subquery: _, negated: _ } => {
                return Err(Refusal::new(
                    "a sub-query of this form is not supported where it stands",
                    "EXISTS in conditions; or one value for each row: (SELECT MAX(y) FROM t WHERE \
                     t.unit = rows.unit)",
                ));
            }
            E::AtTimeZone { timestamp, time_zone } => {
                self.local_time(timestamp, time_zone, "AT TIME ZONE")?
            }
            E::JsonAccess { value: _, path: _ } => {
                let hint = into_json(node, &|name| self.scope.names(name));
                let hint = hint.unwrap_or_else(|| "x ->> 'key', or x ->> '$.a.b[0]'".to_owned());
                return Err(Refusal::new(format!("`{node}` is not supported"), hint));
            }
            other => {
                return Err(Refusal::new(
                    format!("`{other}` is not supported"),
                    "use comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, CASE, CAST, + - * /, \
                     DIV, MOD and common functions of numbers, texts and dates",
                ));
            }
        })
    }
}

/// Whether the node is a power, without brackets.
fn is_power(node: &ast::Expr) -> bool {
    matches!(node, ast::Expr::BinaryOp { left: _, op: BinaryOperator::Custom(_), right: _ })
}

/// The elements of an array that is written out.
fn listed(array: &ast::Expr) -> Option<&[ast::Expr]> {
    match array {
        ast::Expr::Array(array) => Some(&array.elem),
        ast::Expr::Nested(inner) => listed(inner),
        _ => None,
    }
}

/// Refuses an expression that is no condition, and which `node` was bound to; errors call it by its
/// `context`.
pub fn condition(expr: Expr, node: &dyn Display, context: &str) -> Result<Expr, Refusal> {
    if expr.column_type == ColumnType::Bool {
        return Ok(expr);
    }
    Err(Refusal::new(
        format!("{context} needs a condition, not a value of type {}", expr.column_type),
        condition_on(node, expr.column_type),
    ))
}
