//! Values side by side, as in `(a, b) IN ((1, 'x'), (2, 'y'))`.

use sqlparser::ast;

use super::{Binder, Resolve, balanced, compare};
use crate::error::Refusal;
use crate::expr::{BinaryOp, Expr};
use crate::types::ColumnType;

/// The values of a row that is written out.
pub fn row_values(node: &ast::Expr) -> Option<&[ast::Expr]> {
    match node {
        ast::Expr::Tuple(values) => Some(values),
        ast::Expr::Nested(inner) => row_values(inner),
        _ => None,
    }
}

impl<R: Resolve> Binder<'_, R> {
    /// Whether a row is among others: each of its values is compared, as SQL does.
    pub(super) fn row_in_list(
        &mut self,
        values: &[ast::Expr],
        list: &[ast::Expr],
    ) -> Result<Expr, Refusal> {
        let values = values.iter().map(|value| self.bind(value)).collect::<Result<Vec<_>, _>>()?;
        let mut alternatives = Vec::with_capacity(list.len());
        for node in list {
            let row = row_values(node).filter(|row| row.len() == values.len());
            let Some(row) = row else {
                let count = values.len();
                return Err(Refusal::new(
                    format!("`{node}` is not a row of {count} values, as on the left side"),
                    "(a, b) IN ((1, 'x'), (2, 'y'))",
                )
                .at(node));
            };
            let mut equal = Vec::with_capacity(values.len());
            for (value, item) in values.iter().zip(row) {
                let item = self.bind(item)?;
                equal.push(compare(BinaryOp::Eq, value.clone(), item)?);
            }
            alternatives.push(balanced(equal, &|l, r| l.and(r)));
        }
        let either = |l, r| Expr::binary(BinaryOp::Or, l, r, ColumnType::Bool);
        Ok(balanced(alternatives, &either))
    }
}
