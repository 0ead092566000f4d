//! Columns of a relation, and the expressions that compute them.

use hushtable_lang::{ColumnType, Expr, ExprKind, Refusal};
use serde::{Deserialize, Serialize};

use super::misfit;

/// A column of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; several columns may share one.
    pub name: String,
    /// The type of its values.
    pub column_type: ColumnType,
    /// Most bytes of its values, if they are text.
    pub max_bytes: usize,
    /// The table's column that all its values come from unchanged, if there is one.
    pub origin: Option<Origin>,
}

impl Field {
    /// The column that tells the rows of a table apart.
    pub(super) fn row() -> Self {
        let (name, column_type) = ("row".to_owned(), ColumnType::Int);
        Self { name, column_type, max_bytes: 0, origin: None }
    }
}

/// A column of a table of the contract.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    /// The table's name.
    pub table: String,
    /// The column's name.
    pub column: String,
}

/// A computed column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedExpr {
    /// Its name.
    pub name: String,
    /// Its value, over the input's columns.
    pub expr: Expr,
}

/// The columns of a table's files.
pub(super) fn scanned(
    table: &str,
    columns: &[(String, ColumnType)],
    bytes: &[usize],
) -> Vec<Field> {
    let field = |((name, column_type), &max_bytes): (&(String, ColumnType), &usize)| Field {
        name: name.clone(),
        column_type: *column_type,
        max_bytes,
        origin: Some(Origin { table: table.to_owned(), column: name.clone() }),
    };
    columns.iter().zip(bytes).map(field).collect()
}

/// The column that a projection makes.
pub(super) fn computed(column: &NamedExpr, input: &[Field]) -> Result<Field, Refusal> {
    check(&column.expr, input)?;
    let origin = match column.expr.kind {
        ExprKind::Column(index) => input.get(index).and_then(|field| field.origin.clone()),
        _ => None,
    };
    let (name, column_type) = (column.name.clone(), column.expr.column_type);
    Ok(Field { name, column_type, max_bytes: most_bytes(&column.expr, input), origin })
}

/// Most bytes of an expression's values, if they are text.
pub(super) fn most_bytes(expr: &Expr, input: &[Field]) -> usize {
    expr.most_bytes(&bytes_of(input))
}

/// Most bytes of each column.
pub(crate) fn bytes_of(input: &[Field]) -> Vec<usize> {
    input.iter().map(|field| field.max_bytes).collect()
}

/// Checks that an expression reads columns that there are, by their types.
pub(super) fn check(expr: &Expr, input: &[Field]) -> Result<(), Refusal> {
    let mut fits = true;
    expr.visit(&mut |node| {
        if let ExprKind::Column(index) = node.kind {
            fits &= input.get(index).is_some_and(|f| f.column_type == node.column_type);
        }
    });
    if fits { Ok(()) } else { Err(misfit("an expression reads a column that its input lacks")) }
}

/// Checks a condition.
pub(super) fn condition(expr: &Expr, input: &[Field]) -> Result<(), Refusal> {
    if expr.column_type != ColumnType::Bool {
        return Err(misfit("a condition is not of type bool"));
    }
    check(expr, input)
}
