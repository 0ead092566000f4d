//! Which splitting thresholds are in force for a sum: all that the contract gives, or those of the
//! classes that the query can meet.

use hushtable_contract::Split;
use hushtable_lang::{BinaryOp, Expr, ExprKind, Refusal, Value};
use hushtable_numbers::{Number, Step};

use super::collected::Aggregates;
use super::{Classes, Thresholds};

/// Thresholds in the column's unit.
pub(super) struct InForce {
    default: Number,
    classes: Option<InForceBy>,
}

struct InForceBy {
    column: String,
    expr: Expr,
    values: Vec<(Value, Number)>,
    key: Option<usize>,
}

impl Aggregates<'_> {
    /// The thresholds of the records that the query's conditions leave.
    pub(super) fn in_force(&self, column: &Expr, split: &Split) -> InForce {
        let alone = |default| InForce { default, classes: None };
        let (Some(by), Some(expr)) = (&split.by, self.table.split_by(column)) else {
            return alone(split.default);
        };
        let of =
            |value: &Value| by.values.iter().find(|(class, _)| class == value).map(|(_, t)| *t);
        let (mut values, mut default) = (by.values.clone(), split.default);
        if let Some(possible) = self.filter.and_then(|filter| possible_values(filter, expr)) {
            values.retain(|(class, _)| possible.contains(class));
            if let Some(largest) = values.iter().map(|(_, t)| *t).max()
                && possible.iter().all(|value| of(value).is_some())
            {
                // No record is of another class.
                default = largest;
            }
        }
        if values.iter().all(|(_, threshold)| *threshold == default) {
            return alone(default);
        }
        let key = self.keys.iter().position(|key| key.expr == *expr);
        let (column, expr) = (by.column.clone(), expr.clone());
        InForce { default, classes: Some(InForceBy { column, expr, values, key }) }
    }
}

impl InForce {
    fn all(&self) -> impl Iterator<Item = Number> {
        let of_classes = self.classes.iter().flat_map(|classes| &classes.values).map(|(_, t)| *t);
        of_classes.chain([self.default])
    }

    /// The largest of them.
    pub(super) fn largest(&self) -> Number {
        self.all().max().unwrap_or(self.default)
    }

    /// The smallest of them.
    pub(super) fn smallest(&self) -> Number {
        self.all().min().unwrap_or(self.default)
    }

    /// Converts them to steps of the lattice, rounded up: no value up to the threshold is then
    /// rounded to more.
    ///
    /// # Errors
    /// When a threshold is less than a step.
    pub(super) fn in_steps(self, step: Step) -> Result<Thresholds, Refusal> {
        let steps = |threshold: Number| {
            let whole = step.floor(threshold).filter(|&steps| steps > 0);
            whole.and_then(|_| step.ceil(threshold)).ok_or_else(|| {
                Refusal::new(
                    format!(
                        "the splitting threshold {threshold} is less than the granularity {}",
                        step.to_f64()
                    ),
                    "use a larger `split`, or a finer granularity of the column in the contract",
                )
            })
        };
        let default = steps(self.default)?;
        let Some(InForceBy { column, expr, values, key }) = self.classes else {
            return Ok(Thresholds { default, classes: None });
        };
        let values = values.into_iter().map(|(value, t)| Ok((value, steps(t)?)));
        let values = values.collect::<Result<_, Refusal>>()?;
        Ok(Thresholds { default, classes: Some(Classes { column, expr, values, key }) })
    }
}

/// The values that `expr` can have in a row for which the condition holds, where it says: from its
/// conjuncts of the forms `expr = constant` and `expr IN (constants)` that must all hold.
pub(super) fn possible_values(condition: &Expr, expr: &Expr) -> Option<Vec<Value>> {
    match &condition.kind {
        ExprKind::Binary(BinaryOp::And, left, right) => {
            match (possible_values(left, expr), possible_values(right, expr)) {
                (Some(mut left), Some(right)) => {
                    left.retain(|value| right.contains(value));
                    Some(left)
                }
                (left, right) => left.or(right),
            }
        }
        ExprKind::Binary(BinaryOp::Eq, left, right) => match (&left.kind, &right.kind) {
            (_, ExprKind::Literal(value)) if **left == *expr => Some(vec![value.clone()]),
            (ExprKind::Literal(value), _) if **right == *expr => Some(vec![value.clone()]),
            _ => None,
        },
        ExprKind::InList(value, values) if **value == *expr => Some(values.clone()),
        _ => None,
    }
}
