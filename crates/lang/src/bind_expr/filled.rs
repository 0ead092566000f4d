//! Hints about the very query: their examples are of `x` and `day`, and are filled with what the
//! query has in these places.

use sqlparser::ast;

use super::literals::date_part;
use crate::call::Call;
use crate::error::Refusal;

/// Names that stand for the first operand that is no constant.
const FIRST: [&str; 4] = ["x", "n", "day", "moment"];
/// The name that stands for the second operand.
const SECOND: &str = "y";
/// Most characters of an operand that is written in a hint.
const MAX_WRITTEN: usize = 60;
/// Words before a name that stands for an operand. In other places it is a word of a sentence.
const BEFORE: [&str; 14] = [
    "or", "OR", "and", "AND", "in", "IN", "add", "NOT", "WHERE", "BY", "FROM", "INTERVAL", "CASE",
    "DISTINCT",
];
/// Words after one.
const AFTER: [&str; 10] =
    ["IS", "IN", "LIKE", "ILIKE", "AT", "AS", "BETWEEN", "WHEN", "SECOND", "with"];

impl Refusal {
    /// With the operands of a node in the places of `x`, `y`, `n`, `day` and `moment` in examples
    /// of the hint; where a smaller piece of SQL has been named, the hint is of that.
    #[cold]
    #[inline(never)]
    pub(super) fn filled(mut self, node: &ast::Expr) -> Self {
        if !self.is_placed() {
            self.hint = filled(&self.hint, &operands(node));
        }
        self
    }
}

/// A hint with operands in the places of its names.
fn filled(hint: &str, operands: &[&ast::Expr]) -> String {
    let first = first(operands);
    let second = operands.get(1).copied().filter(|_| first.is_some());
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(hint.len());
    let mut rest = hint;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            // Texts and column names stay as they are.
            '\'' | '`' | '"' => {
                let inner = rest.get(1..).and_then(|inner| inner.find(c));
                inner.map_or(rest.len(), |end| end + 2)
            }
            c if is_word(c) => rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        let operand = match word {
            // A column that has such a name is meant as it is.
            _ if operands.iter().any(|node| node.to_string() == word) => None,
            SECOND => second,
            _ if FIRST.contains(&word) => first,
            _ => None,
        };
        let written = operand.and_then(|node| {
            let enclosed = out.ends_with(['(', ' ']) && after.starts_with([')', ',']);
            if stands_alone(&out, after) { written(node, enclosed) } else { None }
        });
        out.push_str(written.as_deref().unwrap_or(word));
        rest = after;
    }
    out
}

/// Whether a name is one of an expression and not a word of a sentence, by what is around it.
fn stands_alone(before: &str, after: &str) -> bool {
    let operator = |c: char| "(,+-*/<>=|:;".contains(c);
    let (before, after) = (before.trim_end(), after.trim_start());
    let begins = before.is_empty()
        || before.ends_with(operator)
        || BEFORE.iter().any(|word| before.ends_with(word));
    let ends = after.is_empty()
        || after.starts_with(|c: char| operator(c) || c == ')')
        || AFTER.iter().any(|word| after.starts_with(word));
    begins && ends
}

/// An operand as SQL, in brackets where they are needed; `None` for a long one.
fn written(node: &ast::Expr, enclosed: bool) -> Option<String> {
    let text = node.to_string();
    if text.chars().count() > MAX_WRITTEN {
        return None;
    }
    let is_one = matches!(
        node,
        ast::Expr::Identifier(_)
            | ast::Expr::CompoundIdentifier(_)
            | ast::Expr::Nested(_)
            | ast::Expr::Function(_)
            | ast::Expr::Value(_)
            | ast::Expr::Cast { .. }
            | ast::Expr::Extract { .. }
    );
    Some(if is_one || enclosed { text } else { format!("({text})") })
}

/// The first operand that is no constant, and no part of a date such as MONTH, where there is
/// another.
fn first<'a>(operands: &[&'a ast::Expr]) -> Option<&'a ast::Expr> {
    let is_part = |node: &ast::Expr| match node {
        ast::Expr::Identifier(name) => date_part(&name.value).is_ok(),
        _ => false,
    };
    let is_upper = |node: &ast::Expr| node.to_string().chars().all(|c| c.is_ascii_uppercase());
    let values = || operands.iter().copied().filter(|node| !is_constant(node));
    let column = values().find(|node| !is_part(node));
    column.or_else(|| values().find(|node| !is_upper(node))).or_else(|| values().next())
}

fn is_constant(node: &ast::Expr) -> bool {
    matches!(
        node,
        ast::Expr::Value(_)
            | ast::Expr::TypedString(_)
            | ast::Expr::Interval(_)
            | ast::Expr::Array(_)
            | ast::Expr::Subquery(_)
    )
}

/// The operands of a node.
fn operands<'a>(node: &'a ast::Expr) -> Vec<&'a ast::Expr> {
    use ast::Expr as E;
    match node {
        E::BinaryOp { left, op: _, right }
        | E::IsDistinctFrom(left, right)
        | E::IsNotDistinctFrom(left, right) => vec![&**left, &**right],
        E::UnaryOp { op: _, expr } => vec![&**expr],
        E::Between { expr, low, high, .. } => vec![&**expr, &**low, &**high],
        E::InList { expr, list, .. } => std::iter::once(&**expr).chain(list).collect(),
        E::InUnnest { expr, .. }
        | E::Cast { expr, .. }
        | E::Extract { expr, .. }
        | E::Floor { expr, .. }
        | E::Ceil { expr, .. }
        | E::Substring { expr, .. }
        | E::Trim { expr, .. } => vec![&**expr],
        E::AnyOp { left, right, .. } | E::AllOp { left, right, .. } => vec![&**left, &**right],
        E::Position { expr: _, r#in } => vec![&**r#in],
        E::Like { expr, pattern, .. }
        | E::ILike { expr, pattern, .. }
        | E::RLike { expr, pattern, .. } => vec![&**expr, &**pattern],
        E::AtTimeZone { timestamp, .. } => vec![&**timestamp],
        E::Case { operand, conditions, else_result, .. } => {
            let operand = operand.iter().map(AsRef::as_ref);
            let results = conditions.iter().map(|when| &when.result);
            operand.chain(results).chain(else_result.as_deref()).collect()
        }
        E::CompoundFieldAccess { root, access_chain: _ } => operands(root),
        E::Function(function) => {
            let arguments = Call::of(function).map_or(&[][..], |call| call.arguments);
            let plain = |argument: &'a ast::FunctionArg| match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(e)) => Some(e),
                _ => None,
            };
            arguments.iter().filter_map(plain).collect()
        }
        _ => Vec::new(),
    }
}
