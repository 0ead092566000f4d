//! Placeholders of values that earlier parts of a statement release.

use sqlparser::ast;

use crate::expr::{Expr, ExprKind};
use crate::types::ColumnType;

/// Begins the text of a placeholder in a syntax tree. No placeholder that SQL can write has a
/// space.
const MARK: &str = "released value ";
/// Begins the text of one for a column of values.
const COLUMN_MARK: &str = "released column ";

/// The syntax that stands for the released value of that number.
pub fn placeholder(value: usize, column_type: ColumnType) -> ast::Expr {
    let text = format!("{MARK}{value} {column_type}");
    ast::Expr::Value(ast::Value::Placeholder(text).into())
}

/// The syntax that stands for all values of the released column of that number, in a list.
pub fn column_placeholder(column: usize, column_type: ColumnType) -> ast::Expr {
    let text = format!("{COLUMN_MARK}{column} {column_type}");
    ast::Expr::Value(ast::Value::Placeholder(text).into())
}

/// The number and the type of the released column that a list stands for, if it does.
pub(super) fn released_column(list: &[ast::Expr]) -> Option<(usize, ColumnType)> {
    let [ast::Expr::Value(value)] = list else { return None };
    let ast::Value::Placeholder(text) = &value.value else { return None };
    let (read, column_type) = text.strip_prefix(COLUMN_MARK)?.split_once(' ')?;
    Some((read.parse().ok()?, ColumnType::from_name(column_type)?))
}

/// The typed placeholder that a syntax stands for, if it does.
pub(super) fn released(value: &ast::Value) -> Option<Expr> {
    let ast::Value::Placeholder(text) = value else { return None };
    let (read, column_type) = text.strip_prefix(MARK)?.split_once(' ')?;
    let kind = ExprKind::Released(read.parse().ok()?);
    Some(Expr::new(kind, ColumnType::from_name(column_type)?))
}
