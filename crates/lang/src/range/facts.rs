//! Facts about the columns of an expression, with which its range is narrower.

use super::Range;
use crate::expr::{BinaryOp, Expr, ExprKind};
use crate::number_range::outwards;
use crate::types::{ColumnType, Value};

/// Most expressions about which the conditions around an expression are remembered.
const MAX_NARROWED: usize = 16;

/// Facts about columns, by index; nothing is known of others.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Facts about the values of each column.
    pub columns: Vec<Fact>,
    /// Most bytes of texts, by column; without limit beyond.
    pub text_bytes: Vec<usize>,
    /// Ranges of whole expressions.
    pub expressions: Vec<(Expr, Range)>,
    /// Conditions that are true wherever an expression is computed.
    pub conditions: Vec<Expr>,
    /// Ranges of the quotients of two columns, as floats.
    pub quotients: Vec<(usize, usize, Range)>,
    /// Whether the columns are what was released of one group, which is never NULL where a range is
    /// known. Rows may have NULL in any column.
    pub released: bool,
}

/// A fact about a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fact {
    /// Nothing is known.
    Unknown,
    /// All its values.
    Range(Range),
    /// Its one value; `None` is NULL.
    Truth(Option<bool>),
}

impl Facts {
    /// Facts about released columns.
    pub fn released(columns: Vec<Fact>, quotients: Vec<(usize, usize, Range)>) -> Self {
        Self { columns, quotients, released: true, ..Self::default() }
    }
}

/// Facts where an expression stands: those about columns, and the conditions around it.
#[derive(Clone)]
pub(super) struct FactScope<'a> {
    pub(super) facts: &'a Facts,
    narrowed: Vec<(&'a Expr, Range)>,
}

impl<'a> FactScope<'a> {
    pub(super) fn of(facts: &'a Facts) -> Self {
        let mut scope = Self { facts, narrowed: Vec::new() };
        facts.conditions.iter().for_each(|condition| scope.narrow(condition, true, false));
        scope
    }

    /// The range of a column.
    pub(super) fn column(&self, index: usize) -> Option<Range> {
        match self.facts.columns.get(index)? {
            Fact::Range(range) => Some(*range),
            Fact::Unknown | Fact::Truth(_) => None,
        }
    }

    /// The range of a whole expression, by the conditions around it or by the facts.
    pub(super) fn whole(&self, expr: &Expr) -> Option<Range> {
        let around =
            self.narrowed.iter().find(|(other, _)| *other == expr).map(|(_, range)| *range);
        around.or_else(|| {
            self.facts.expressions.iter().find(|(other, _)| other == expr).map(|(_, range)| *range)
        })
    }

    /// Whether a condition is sure to be true, or sure not to be (false or NULL).
    pub(super) fn truth(&self, test: &'a Expr) -> Option<bool> {
        match &test.kind {
            ExprKind::Column(index) => match self.facts.columns.get(*index)? {
                Fact::Truth(value) => Some(*value == Some(true)),
                Fact::Unknown | Fact::Range(_) => None,
            },
            ExprKind::Not(inner) => match &inner.kind {
                ExprKind::Column(index) => match self.facts.columns.get(*index)? {
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
            // Of rows, all branches of an expression are taken to be possible.
            ExprKind::Binary(op, left, right) if self.facts.released => {
                let ranges = (Range::at(left, self)?, Range::at(right, self)?);
                if Range::never(*op, ranges.0, ranges.1) {
                    return Some(false);
                }
                let sure = Range::never(opposite(*op)?, ranges.0, ranges.1);
                (sure && self.has_value(left) && self.has_value(right)).then_some(true)
            }
            _ => None,
        }
    }

    /// Whether an expression of released columns is sure not to be NULL.
    fn has_value(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Column(index) => {
                self.column(*index).is_some_and(|range| range != Range::Nothing)
            }
            ExprKind::Literal(value) => *value != Value::Null,
            ExprKind::Cast(inner) if expr.column_type == ColumnType::Float => {
                inner.column_type == ColumnType::Int && self.has_value(inner)
            }
            _ => false,
        }
    }

    /// The facts where a condition is true.
    pub(super) fn where_true(&self, test: &'a Expr) -> Self {
        let mut scope = self.clone();
        scope.narrow(test, true, false);
        scope
    }

    /// Adds that a condition is not true: false, or NULL.
    pub(super) fn add_not_true(&mut self, test: &'a Expr) {
        self.narrow(test, false, true);
    }

    /// Adds that a condition is true or false, or else NULL where it may be that: the values that
    /// it compares have narrower ranges.
    fn narrow(&mut self, test: &'a Expr, truth: bool, or_null: bool) {
        match &test.kind {
            ExprKind::Not(inner) => self.narrow(inner, !truth, or_null),
            // All operands of AND are true, and all operands of OR are not.
            ExprKind::Binary(BinaryOp::And, left, right) if truth => {
                self.narrow(left, truth, or_null);
                self.narrow(right, truth, or_null);
            }
            ExprKind::Binary(BinaryOp::Or, left, right) if !truth => {
                self.narrow(left, truth, or_null);
                self.narrow(right, truth, or_null);
            }
            ExprKind::Binary(op, left, right) => {
                let op = if truth { Some(*op) } else { opposite(*op) };
                let Some(op) = op else { return };
                // A comparison with NULL is NULL, and says nothing of the other side.
                let counts = |other: &Expr| {
                    !or_null || matches!(&other.kind, ExprKind::Literal(v) if *v != Value::Null)
                };
                if counts(right)
                    && let Some(other) = Range::at(right, self)
                {
                    self.compared(left, op, other);
                }
                if counts(left)
                    && let (Some(other), Some(op)) = (Range::at(left, self), mirrored(op))
                {
                    self.compared(right, op, other);
                }
            }
            ExprKind::InList(value, listed) if truth && !or_null => {
                let listed = Range::hull(listed.iter().map(Range::of_value));
                if let Some(listed @ (Range::Exact(..) | Range::Float(..))) = listed {
                    self.compared(value, BinaryOp::Eq, listed);
                }
            }
            _ => {}
        }
    }

    /// Narrows the range of a value that compares so with one of another range.
    fn compared(&mut self, value: &'a Expr, op: BinaryOp, other: Range) {
        if matches!(value.kind, ExprKind::Literal(_)) {
            return;
        }
        let Some(current) = Range::at(value, self) else { return };
        if let Some(range) = current.compared(op, other) {
            if let Some((_, known)) = self.narrowed.iter_mut().find(|(other, _)| *other == value) {
                *known = range;
            } else if self.narrowed.len() < MAX_NARROWED {
                self.narrowed.push((value, range));
            }
        }
        // A whole number that is compared as a decimal or as a float.
        if let ExprKind::Cast(inner) = &value.kind
            && inner.column_type == ColumnType::Int
        {
            let one = match value.column_type {
                ColumnType::Decimal { scale } => 10i128.pow(scale.into()),
                _ => 1,
            };
            let whole = match other {
                Range::Exact(low, high) => outwards(low, high, one),
                Range::Float(low, high) => (low.floor() as i128, high.ceil() as i128),
                Range::Nothing => return,
            };
            self.compared(inner, op, Range::Exact(whole.0, whole.1));
        }
    }

    /// The range of the quotient of two columns, where it is known.
    pub(super) fn quotient(&self, left: &Expr, right: &Expr) -> Option<Range> {
        let columns = (as_float(left)?, as_float(right)?);
        let known = self.facts.quotients.iter().find(|(a, b, _)| (*a, *b) == columns);
        known.map(|(_, _, range)| *range)
    }
}

impl Range {
    /// The values of the range that compare so with one of another range; `None` where the
    /// comparison narrows nothing.
    fn compared(self, op: BinaryOp, other: Self) -> Option<Self> {
        let range = match (self, other) {
            (Self::Exact(low, high), Self::Exact(c, d)) => match op {
                BinaryOp::Gt => Self::Exact(low.max(c.saturating_add(1)), high),
                BinaryOp::Ge => Self::Exact(low.max(c), high),
                BinaryOp::Lt => Self::Exact(low, high.min(d.saturating_sub(1))),
                BinaryOp::Le => Self::Exact(low, high.min(d)),
                BinaryOp::Eq => Self::Exact(low.max(c), high.min(d)),
                _ => return None,
            },
            (Self::Float(low, high), Self::Float(c, d)) => match op {
                BinaryOp::Gt | BinaryOp::Ge => Self::Float(low.max(c), high),
                BinaryOp::Lt | BinaryOp::Le => Self::Float(low, high.min(d)),
                BinaryOp::Eq => Self::Float(low.max(c), high.min(d)),
                _ => return None,
            },
            _ => return None,
        };
        let ordered = match range {
            Self::Exact(low, high) => low <= high,
            Self::Float(low, high) => low <= high,
            Self::Nothing => false,
        };
        ordered.then_some(range)
    }
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

/// The comparison with its sides exchanged.
fn mirrored(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Eq | BinaryOp::Ne => op,
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        _ => return None,
    })
}

/// The column that an expression is as a float.
fn as_float(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Column(index) => Some(*index),
        ExprKind::Cast(inner) if expr.column_type == ColumnType::Float => as_float(inner),
        _ => None,
    }
}
