//! The columns of a relation that are the unit.

use std::collections::BTreeSet;

use hushtable_lang::{BinaryOp, Expr, ExprKind};

use super::{JoinKind, Operator, Protection, Relation};

impl Relation {
    /// Positions of the columns that hold in every row what tells its unit apart. A query may give
    /// it several names, and a join makes other columns equal to it.
    pub fn units(&self) -> &BTreeSet<usize> {
        &self.units
    }

    /// The name of the column that names the unit, for readers.
    pub(super) fn unit_column(&self) -> &str {
        let unit = self.protection.unit().and_then(|unit| self.fields.get(unit));
        unit.map_or("the privacy unit", |field| &field.name)
    }

    /// Whether an expression is the unit, by whichever of its columns.
    pub fn is_unit(&self, expr: &Expr) -> bool {
        matches!(expr.kind, ExprKind::Column(column) if self.units.contains(&column))
    }

    /// The column that names the unit, for each of those that are the unit.
    pub(crate) fn naming(&self, column: usize) -> usize {
        let named = self.protection.identity().filter(|_| self.units.contains(&column));
        named.unwrap_or(column)
    }
}

/// The columns of a node that are the unit, from the one that names it.
pub(super) fn of(operator: &Operator, protection: &Protection) -> BTreeSet<usize> {
    let Some(named) = protection.identity() else { return BTreeSet::new() };
    let mut units = BTreeSet::from([named]);
    match operator {
        Operator::Scan { .. } => {}
        Operator::Filter { input, condition } => {
            units.extend(&input.units);
            let mut equal = Vec::new();
            equalities(condition, &mut equal);
            close(&mut units, &equal);
        }
        Operator::First { input, .. }
        | Operator::Take { input, .. }
        | Operator::Window { input, .. } => units.extend(&input.units),
        Operator::Project { input, columns } => units.extend(those(input, columns.iter())),
        Operator::Aggregate { input, keys, .. } => units.extend(those(input, keys.iter())),
        Operator::UnionAll { inputs } => units.extend(common(inputs)),
        Operator::Join { kind, left, right, on, .. } => {
            let shift = left.fields.len();
            match kind {
                JoinKind::Inner => {
                    let mut equal: Vec<(usize, usize)> = on.iter().filter_map(columns).collect();
                    equal.iter_mut().for_each(|(_, right_column)| *right_column += shift);
                    let twins = |side: &Relation, shift: usize| -> Vec<(usize, usize)> {
                        let mut all = side.units.iter().map(|unit| unit + shift);
                        let first = all.next();
                        first.map_or_else(Vec::new, |one| all.map(|other| (one, other)).collect())
                    };
                    equal.extend(twins(left, 0));
                    equal.extend(twins(right, shift));
                    close(&mut units, &equal);
                }
                // The right side's columns are NULL where there is no match.
                JoinKind::Left | JoinKind::Semi | JoinKind::Anti => units.extend(&left.units),
            }
        }
    }
    units
}

/// The columns that are the unit in all inputs.
pub(super) fn common(inputs: &[Relation]) -> BTreeSet<usize> {
    let all = inputs.iter().map(|input| input.units.clone());
    all.reduce(|one, other| &one & &other).unwrap_or_default()
}

/// The indexes of the columns that are the input's unit.
fn those<'a>(
    input: &'a Relation,
    columns: impl Iterator<Item = &'a super::NamedExpr>,
) -> impl Iterator<Item = usize> {
    columns.enumerate().filter(|(_, column)| input.is_unit(&column.expr)).map(|(index, _)| index)
}

/// The columns of an equality.
fn columns((one, other): &(Expr, Expr)) -> Option<(usize, usize)> {
    match (&one.kind, &other.kind) {
        (ExprKind::Column(one), ExprKind::Column(other)) => Some((*one, *other)),
        _ => None,
    }
}

/// The equalities of columns that must all hold for a condition to hold.
fn equalities(condition: &Expr, pairs: &mut Vec<(usize, usize)>) {
    match &condition.kind {
        ExprKind::Binary(BinaryOp::And, left, right) => {
            equalities(left, pairs);
            equalities(right, pairs);
        }
        ExprKind::Binary(BinaryOp::Eq, left, right) => {
            if let (ExprKind::Column(one), ExprKind::Column(other)) = (&left.kind, &right.kind) {
                pairs.push((*one, *other));
            }
        }
        _ => {}
    }
}

/// Adds the columns that are equal to one of the set.
fn close(units: &mut BTreeSet<usize>, equal: &[(usize, usize)]) {
    loop {
        let before = units.len();
        for (one, other) in equal {
            if units.contains(one) || units.contains(other) {
                units.extend([*one, *other]);
            }
        }
        if units.len() == before {
            return;
        }
    }
}
