//! FULL JOIN of rows: a left join, and the rows of the right side that it leaves out.
//!
//! Each of the two is a join that keeps units apart, or is refused as such, and so does UNION ALL.
//! So a unit's rows in the result follow from its rows on both sides.

use hushtable_contract::Column;
use hushtable_lang::bind_expr::{Visible, cast};
use hushtable_lang::{Expr, Refusal, Value};

use super::rowset::{References, RowSet, RowsColumn};
use crate::relation::{JoinKind, Operator, Relation};

impl RowSet {
    /// The pairs that match, and the rows of both sides without a match. Conditions are over the
    /// left side's columns followed by the right's; `shared` are the positions of the columns
    /// that USING names, among those of the left side and of the right.
    pub(super) fn fully_joined(
        self,
        right: Self,
        conditions: Vec<Expr>,
        shared: &[(usize, usize)],
        references: &References,
    ) -> Result<Self, Refusal> {
        let (width, right_width) = (self.relation.fields().len(), right.relation.fields().len());
        let turned = |c: usize| if c < width { c + right_width } else { c - width };
        let turned = conditions.iter().cloned().map(|condition| condition.moved(&turned)).collect();
        let names: Vec<RowsColumn> = self.columns.iter().chain(&right.columns).cloned().collect();
        let from_left = self.columns.len();
        let missing =
            |column: &RowsColumn| cast(Expr::literal(Value::Null), column.visible.expr.column_type);
        let missing: Vec<Expr> = self.columns.iter().map(missing).collect();

        let unmatched = right.clone().joined(JoinKind::Anti, self.clone(), turned, references)?;
        let matched = self.joined(JoinKind::Left, right, conditions, references)?;
        let values = |rows: &Self| -> Vec<Expr> {
            rows.columns.iter().map(|column| column.visible.expr.clone()).collect()
        };
        let (mut pairs, mut alone) = (values(&matched), missing);
        alone.extend(values(&unmatched));
        for &(left, other) in shared {
            // On the right side alone, the name means the right side's column.
            let (Some(in_pair), Some(in_right)) = (pairs.get(left), alone.get(from_left + other))
            else {
                return Err(lost());
            };
            let (in_pair, in_right) = (in_pair.clone(), in_right.clone());
            pairs.push(in_pair);
            alone.push(in_right);
        }
        let columns = |values: Vec<Expr>| -> Vec<(String, Expr, Column)> {
            let named = |(index, value): (usize, Expr)| {
                let name = format!("column_{index}");
                let declared = Column::plain(&name, value.column_type);
                (name, value, declared)
            };
            values.into_iter().enumerate().map(named).collect()
        };
        let is_unit = |rows: &Self, values: &[Expr]| -> Vec<bool> {
            values.iter().map(|value| rows.relation.is_unit(value)).collect()
        };
        let units = (is_unit(&matched, &pairs), is_unit(&unmatched, &alone));
        let matched = matched.projected_with_unit(columns(pairs))?;
        let unmatched = unmatched.projected_with_unit(columns(alone))?;
        let inputs = vec![matched.relation, unmatched.relation];
        let relation = Relation::new(Operator::UnionAll { inputs })?;
        let both: Vec<bool> = units.0.iter().zip(&units.1).map(|(l, r)| *l && *r).collect();
        Self::after_full_join(relation, names, shared, (from_left, both))
    }

    /// The rows with the names of both sides, and those that USING names once.
    fn after_full_join(
        relation: Relation,
        names: Vec<RowsColumn>,
        shared: &[(usize, usize)],
        (from_left, units): (usize, Vec<bool>),
    ) -> Result<Self, Refusal> {
        let value = |index: usize| {
            let field = relation.fields().get(index).ok_or_else(lost)?;
            // A column that is the unit in all rows is the unit.
            let unit = relation.protection().unit().filter(|_| units.get(index) == Some(&true));
            Ok::<Expr, Refusal>(Expr::column(unit.unwrap_or(index), field.column_type))
        };
        let count = names.len();
        let mut columns = Vec::with_capacity(count + shared.len());
        for (index, named) in names.into_iter().enumerate() {
            let again = shared.iter().position(|(left, _)| *left == index);
            let is_shared =
                again.is_some() || shared.iter().any(|(_, other)| from_left + other == index);
            if let Some(again) = again {
                let visible = Visible {
                    qualifiers: Vec::new(),
                    plain: true,
                    expr: value(count + again)?,
                    ..named.visible.clone()
                };
                let declared = Column { split: None, ..named.declared.clone() };
                columns.push(RowsColumn { visible, declared, split_by: None });
            }
            let plain = named.visible.plain && !is_shared;
            let visible = Visible { plain, expr: value(index)?, ..named.visible };
            let declared = Column { split: None, ..named.declared };
            columns.push(RowsColumn { visible, declared, split_by: None });
        }
        Ok(Self::named(relation, columns))
    }
}

fn lost() -> Refusal {
    Refusal::fault("a column of a FULL JOIN is not found on its side")
}
