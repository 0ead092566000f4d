//! Facts about the columns of an expression, with which its range is narrower.

use super::Range;
use crate::expr::{BinaryOp, Expr, ExprKind};
use crate::types::{ColumnType, Value};

/// Facts about columns, by place; nothing is known of others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) columns: Vec<Fact>,
    /// Ranges of the quotients of two columns, as floats.
    pub(crate) quotients: Vec<(usize, usize, Range)>,
}

/// A fact about a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fact {
    /// Nothing is known.
    Unknown,
    /// All its values.
    Range(Range),
    /// Its one value; `None` is NULL.
    Truth(Option<bool>),
}

impl Facts {
    /// Whether anything is known of columns.
    pub(super) fn are_given(&self) -> bool {
        !self.columns.is_empty()
    }

    pub(super) fn range(&self, column: usize) -> Option<Range> {
        match self.columns.get(column)? {
            Fact::Range(range) => Some(*range),
            Fact::Unknown | Fact::Truth(_) => None,
        }
    }

    /// Whether a condition is sure to be true, or sure not to be (false or NULL).
    pub(super) fn truth(&self, test: &Expr) -> Option<bool> {
        match &test.kind {
            ExprKind::Column(place) => match self.columns.get(*place)? {
                Fact::Truth(value) => Some(*value == Some(true)),
                Fact::Unknown | Fact::Range(_) => None,
            },
            ExprKind::Not(inner) => match &inner.kind {
                ExprKind::Column(place) => match self.columns.get(*place)? {
                    Fact::Truth(value) => Some(*value == Some(false)),
                    Fact::Unknown | Fact::Range(_) => None,
                },
                _ => None,
            },
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
                match (op, self.truth(left), self.truth(right)) {
                    (BinaryOp::And, Some(false), _) | (BinaryOp::And, _, Some(false)) => {
                        Some(false)
                    }
                    (BinaryOp::Or, Some(true), _) | (BinaryOp::Or, _, Some(true)) => Some(true),
                    (_, Some(a), Some(b)) if a == b => Some(a),
                    _ => None,
                }
            }
            // Without facts, all branches of an expression are taken to be possible.
            ExprKind::Binary(op, left, right) if self.are_given() => {
                let ranges = (Range::given(left, self)?, Range::given(right, self)?);
                if Range::never(*op, ranges.0, ranges.1) {
                    return Some(false);
                }
                let sure = Range::never(opposite(*op)?, ranges.0, ranges.1);
                (sure && self.has_value(left) && self.has_value(right)).then_some(true)
            }
            _ => None,
        }
    }

    /// Whether an expression is sure not to be NULL.
    fn has_value(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Column(place) => {
                self.range(*place).is_some_and(|range| range != Range::Nothing)
            }
            ExprKind::Literal(value) => *value != Value::Null,
            ExprKind::Cast(inner) if expr.column_type == ColumnType::Float => {
                inner.column_type == ColumnType::Int && self.has_value(inner)
            }
            _ => false,
        }
    }

    /// The facts where a condition is true: columns that it compares are narrower.
    pub(super) fn assuming(&self, test: &Expr) -> Self {
        let mut facts = self.clone();
        facts.narrow(test);
        facts
    }

    fn narrow(&mut self, test: &Expr) {
        let ExprKind::Binary(op, left, right) = &test.kind else { return };
        if *op == BinaryOp::And {
            self.narrow(left);
            self.narrow(right);
            return;
        }
        let Some(place) = column(left) else { return };
        let (Some(own), Some(other)) = (self.range(place), Range::given(right, self)) else {
            return;
        };
        let narrower = match (own, other) {
            (Range::Exact(low, high), Range::Exact(c, d)) => narrowed(*op, (low, high), (c, d)),
            // A whole number that is compared as a float.
            (Range::Exact(low, high), Range::Float(c, d)) => {
                narrowed(*op, (low, high), (c.floor() as i128, d.ceil() as i128))
            }
            _ => return,
        };
        if let Some((low, high)) = narrower.filter(|(low, high)| low <= high)
            && let Some(fact) = self.columns.get_mut(place)
        {
            *fact = Fact::Range(Range::Exact(low, high));
        }
    }

    /// The range of the quotient of two columns, where it is known.
    pub(super) fn quotient(&self, left: &Expr, right: &Expr) -> Option<Range> {
        let wanted = (as_float(left)?, as_float(right)?);
        self.quotients.iter().find(|(a, b, _)| (*a, *b) == wanted).map(|(_, _, range)| *range)
    }
}

/// The whole numbers from `low` to `high` that compare so with one from `c` to `d`; `None` where the
/// comparison narrows nothing.
fn narrowed(op: BinaryOp, (low, high): (i128, i128), (c, d): (i128, i128)) -> Option<(i128, i128)> {
    Some(match op {
        BinaryOp::Gt => (low.max(c.saturating_add(1)), high),
        BinaryOp::Ge => (low.max(c), high),
        BinaryOp::Lt => (low, high.min(d.saturating_sub(1))),
        BinaryOp::Le => (low, high.min(d)),
        BinaryOp::Eq => (low.max(c), high.min(d)),
        _ => return None,
    })
}

/// The comparison that holds where another does not.
fn opposite(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Eq => BinaryOp::Ne,
        BinaryOp::Ne => BinaryOp::Eq,
        BinaryOp::Lt => BinaryOp::Ge,
        BinaryOp::Le => BinaryOp::Gt,
        BinaryOp::Gt => BinaryOp::Le,
        BinaryOp::Ge => BinaryOp::Lt,
        _ => return None,
    })
}

/// The column that an expression of whole numbers is, perhaps as a float.
fn column(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Column(place) => Some(*place),
        ExprKind::Cast(inner) if inner.column_type == ColumnType::Int => column(inner),
        _ => None,
    }
}

/// The column that an expression is as a float.
fn as_float(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Column(place) => Some(*place),
        ExprKind::Cast(inner) if expr.column_type == ColumnType::Float => as_float(inner),
        _ => None,
    }
}
