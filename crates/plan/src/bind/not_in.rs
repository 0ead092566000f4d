//! NOT IN where a compared value is NULL: in SQL it then is unknown, and not true.

use hushtable_lang::{ColumnType, Expr, ExprKind, Refusal, Value};

use super::joins::units_equal;
use super::rowset::RowSet;
use crate::relation::{JoinKind, NamedExpr, Operator, Protection, Relation};

impl RowSet {
    /// Of the rows whose `value` none of the others equals, those of which NOT IN is true and not
    /// unknown. `other` is the compared value over the columns of the others.
    ///
    /// - NULL among the others: no row is kept.
    /// - A row's value is NULL: it is kept where there are no others at all.
    ///
    /// Of others that are protected, a unit's rows may look at its own alone. So NULL among them
    /// takes away the rows of its unit. Whether there are any others at all follows from
    /// everybody's rows; there are some in all questions that make sense, so a row whose value is
    /// NULL is left out.
    pub(super) fn certainly_without(
        self,
        others: Self,
        value: &Expr,
        other: &Expr,
    ) -> Result<Self, Refusal> {
        let never_null = names_the_unit(&others.relation, other);
        let unknown = Expr::new(ExprKind::IsNull(Box::new(value.clone())), ColumnType::Bool);
        let of_null = |others: Self| {
            let is_null = ExprKind::IsNull(Box::new(other.clone()));
            others.filtered(Expr::new(is_null, ColumnType::Bool))
        };
        if *others.relation.protection() == Protection::Public {
            let mut rows = self;
            if !never_null {
                rows = rows.without(of_null(others.clone())?, &unknown, false)?;
            }
            return rows.without(others, &unknown, true);
        }
        let value_is_the_unit = names_the_unit(&self.relation, value);
        let mut rows = self.with_units()?;
        if !never_null {
            rows = rows.without(of_null(others)?, &unknown, false)?;
        }
        match value_is_the_unit {
            true => Ok(rows),
            false => rows.filtered(Expr::new(ExprKind::Not(Box::new(unknown)), ColumnType::Bool)),
        }
    }

    /// The rows whose truth is not this one, and those for which there are no others, of the same
    /// unit where the others are protected.
    fn without(mut self, others: Self, truth: &Expr, this: bool) -> Result<Self, Refusal> {
        let others = others.with_units()?.relation;
        let constant = Expr::literal(Value::Bool(this));
        let mut columns = vec![NamedExpr { name: "this".to_owned(), expr: constant }];
        let mut on = vec![(truth.clone(), Expr::column(0, ColumnType::Bool))];
        if *others.protection() != Protection::Public {
            let (left_unit, right_unit) = units_equal(&self.relation, &others)
                .ok_or_else(|| Refusal::fault("a sub-query of NOT IN has no unit"))?;
            on.push((left_unit, Expr::column(1, right_unit.column_type)));
            columns.push(NamedExpr { name: "unit".to_owned(), expr: right_unit });
        }
        let keys = (0..columns.len()).collect();
        // One of them is enough.
        let marks = Relation::new(Operator::Project { input: others, columns })?;
        let right = Relation::new(Operator::First { input: marks, keys })?;
        let (kind, left, condition) = (JoinKind::Anti, self.relation, None);
        self.relation =
            Relation::new(Operator::Join { kind, left, right, on, condition, max_rows: None })?;
        Ok(self)
    }
}

/// Whether a value is the unit, or the reference that leads to it: rows in which it is NULL count
/// for nothing.
fn names_the_unit(relation: &Relation, value: &Expr) -> bool {
    match relation.protection() {
        Protection::Unit { column, .. } | Protection::Reference { column, .. } => {
            value.is_column(*column)
        }
        Protection::Public | Protection::Rows { .. } => false,
    }
}
