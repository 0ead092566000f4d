//! Placeholders of values that earlier parts of a statement release.

use sqlparser::ast;

use crate::expr::{Expr, ExprKind};
use crate::types::ColumnType;

/// Begins the text of a placeholder in a syntax tree. No placeholder that SQL can write has a
/// space.
const MARK: &str = "released value ";

/// The syntax that stands for the released value of that number.
pub fn placeholder(value: usize, column_type: ColumnType) -> ast::Expr {
    let text = format!("{MARK}{value} {column_type}");
    ast::Expr::Value(ast::Value::Placeholder(text).into())
}

/// The typed placeholder that a syntax stands for, if it does.
pub(super) fn released(value: &ast::Value) -> Option<Expr> {
    let ast::Value::Placeholder(text) = value else { return None };
    let (read, column_type) = text.strip_prefix(MARK)?.split_once(' ')?;
    let kind = ExprKind::Released(read.parse().ok()?);
    Some(Expr::new(kind, ColumnType::from_name(column_type)?))
}
