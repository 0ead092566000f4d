//! Whether the structure of an expression tells that it always has a value.

use hushtable_numbers::MAX_LATTICE;

use crate::expr::{BinaryOp, Expr, ExprKind};
use crate::functions::{Function, Nulls};
use crate::range::{Facts, Range};
use crate::types::{ColumnType, Value};

impl Expr {
    /// Whether no row makes the expression NULL, as its structure tells, where columns may be NULL.
    ///
    /// No promise rests on it: what is added up of such an expression counts as zero where it is
    /// NULL anyway.
    pub fn is_never_null(&self) -> bool {
        self.is_never_null_where(&|_| false, &Facts::default())
    }

    /// Whether no row makes the expression NULL, where some columns are never NULL.
    pub fn is_never_null_where(&self, column: &dyn Fn(usize) -> bool, facts: &Facts) -> bool {
        let never_null = |e: &Self| e.is_never_null_where(column, facts);
        match &self.kind {
            ExprKind::Column(index) => column(*index),
            ExprKind::Literal(value) => *value != Value::Null,
            // Only its type is known before it is released.
            ExprKind::Released(_) | ExprKind::ValueAt(..) => false,
            ExprKind::IsNull(_) | ExprKind::Among(..) => true,
            ExprKind::Not(of) | ExprKind::InList(of, _) => never_null(of),
            ExprKind::Binary(op, left, right) => {
                let total = match op {
                    BinaryOp::And
                    | BinaryOp::Or
                    | BinaryOp::Eq
                    | BinaryOp::Ne
                    | BinaryOp::Lt
                    | BinaryOp::Le
                    | BinaryOp::Gt
                    | BinaryOp::Ge => true,
                    // A result that does not fit its type is NULL.
                    BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => self.fits(facts),
                    BinaryOp::Div | BinaryOp::IntDiv | BinaryOp::Mod | BinaryOp::Power => false,
                };
                total && never_null(left) && never_null(right)
            }
            ExprKind::Case(branches, otherwise) => {
                branches.iter().all(|(_, result)| never_null(result))
                    && otherwise.as_deref().is_some_and(never_null)
            }
            ExprKind::Cast(of) => {
                let total = matches!(
                    (of.column_type, self.column_type),
                    (ColumnType::Bool, ColumnType::Int) | (ColumnType::Int, ColumnType::Float)
                );
                total && never_null(of)
            }
            ExprKind::Call(function, all) => match function.nulls() {
                Nulls::Possible => false,
                Nulls::WhereOneIs => all.iter().all(never_null),
                Nulls::WhereAllAre => all.iter().any(never_null),
            },
            ExprKind::Like { .. } | ExprKind::Match { .. } => false,
        }
    }

    /// Whether integers are far from the ends of their type.
    fn fits(&self, facts: &Facts) -> bool {
        let far = i128::from(MAX_LATTICE);
        let within = |low: i128, high: i128| low >= -far && high <= far;
        self.column_type == ColumnType::Int
            && matches!(
                Range::given(self, facts),
                Some(Range::Exact(low, high)) if within(low, high)
            )
    }

    /// The expression, or zero of its type where it is NULL.
    pub fn or_zero(self) -> Self {
        let zero = match self.column_type {
            ColumnType::Float => Value::Float(0.0),
            ColumnType::Decimal { scale } => Value::Decimal { digits: 0, scale },
            _ => Value::Int(0),
        };
        let column_type = self.column_type;
        let zero = Self::new(ExprKind::Literal(zero), column_type);
        Self::call(Function::Coalesce, vec![self, zero], column_type)
    }
}
