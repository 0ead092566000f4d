//! Queries about the same rows: levels of one table.

use hushtable_lang::bind_expr::balanced;
use hushtable_lang::{ColumnType, Expr, ExprKind, Refusal};

use super::describe::short;
use super::rowset::conjuncts;
use super::{Key, PrivateQuery};

/// The conditions that rows have listed values of these keys, each with the name of its key.
pub(super) fn listed_conditions(
    keys: &[Key],
    stored: &[(String, ColumnType)],
) -> Vec<(String, Expr)> {
    let named = |key: &Key| Some((short(&key.expr, stored), key.is_listed()?));
    keys.iter().filter_map(named).collect()
}

impl Key {
    /// The condition that a row's value is listed, where only listed ones have a group and rows may
    /// have others.
    fn is_listed(&self) -> Option<Expr> {
        let values = self.public.clone().filter(|_| !self.by_query)?;
        let listed = ExprKind::InList(Box::new(self.expr.clone()), values);
        Some(Expr::new(listed, ColumnType::Bool))
    }
}

impl PrivateQuery {
    /// The conditions on rows, without those that values of public keys are listed.
    fn conditions(&self) -> Vec<Expr> {
        let listed: Vec<Expr> = self.keys.iter().filter_map(Key::is_listed).collect();
        let mut conditions = self.filter.clone().map_or_else(Vec::new, conjuncts);
        // Levels list different keys; without these conditions they are about the same rows.
        conditions.retain(|condition| !listed.contains(condition));
        conditions
    }

    /// Whether it is about the same rows of the same units as another, except for the values of
    /// keys.
    pub(crate) fn is_about_rows_of(&self, other: &Self) -> bool {
        let (conditions, others) = (self.conditions(), other.conditions());
        (&self.relation, &self.columns, self.unit) == (&other.relation, &other.columns, other.unit)
            && conditions.iter().all(|condition| others.contains(condition))
            && others.iter().all(|condition| conditions.contains(condition))
    }

    /// The query without rows whose values of these keys are not listed.
    ///
    /// # Errors
    /// When a row could then cost more than it may.
    pub(crate) fn of_listed(mut self, keys: &[Key]) -> Result<Self, Refusal> {
        let mut conditions = self.filter.take().map_or_else(Vec::new, conjuncts);
        for (name, condition) in listed_conditions(keys, &self.columns) {
            if !conditions.contains(&condition) {
                conditions.push(condition);
                self.listed.push(name);
            }
        }
        self.filter = (!conditions.is_empty()).then(|| balanced(conditions, &Expr::and));
        self.check_cost()?;
        Ok(self)
    }
}
