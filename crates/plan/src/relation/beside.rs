//! Rows that belong to units of two populations at once.
//!
//! A line of an order is of the customer; joined with the supplier's offer it is of both. Bounding
//! looks at one population, so the other one is bounded before the join:
//!
//! - The *owner's* side, here the supplier's, has at most one row for the values that are compared,
//!   and these hold its unit ([`Operator::First`]). So a row of the other side meets one row of one
//!   owner, or none.
//! - The other side, here the customer's, has at most some rows of each of its units
//!   ([`Operator::Take`]), and they follow from rows of its own population alone.
//!
//! Removing an owner removes exactly its pairs: the relation is unit-stable for the owners, as any
//! other. Removing a unit of the other side removes at most as many pairs as it has rows there,
//! each of one owner. [`PrivateQuery::most_rows_beside`](crate::PrivateQuery::most_rows_beside)
//! bounds the effect on the answer. After such a join, rows may be filtered, projected and joined
//! with public rows that have one row for each key: none makes two pairs of one. Everything that
//! looks at several rows of an owner is refused, since one pair could change many rows there.

use hushtable_lang::{Expr, ExprKind, Refusal};
use serde::{Deserialize, Serialize};

use super::{JoinKind, Operator, Protection, Relation};

/// Units of a further population to which rows belong, beside those that own the relation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// Whose budget pays as well.
    pub population: String,
    /// Most rows of the relation that belong to one of its units.
    pub rows: u32,
}

impl Relation {
    /// Sets the most rows of a unit of a further population.
    ///
    /// # Errors
    /// Those of [`Relation::new`].
    pub(crate) fn with_rows_beside(self, rows: u32) -> Result<Self, Refusal> {
        let Some(beside) = self.beside.clone() else { return Ok(self) };
        let mut operator = Operator::from(self);
        match &mut operator {
            Operator::Join { left, right, .. } => {
                for side in [left, right] {
                    let mut side_operator = Operator::from(side.clone());
                    let population = side.protection.population();
                    if let Operator::Take { rows: most, .. } = &mut side_operator
                        && population == Some(beside.population.as_str())
                    {
                        *most = rows;
                        *side = Self::new(side_operator)?;
                    } else {
                        *side = side.clone().with_rows_beside(rows)?;
                    }
                }
            }
            Operator::Filter { input, .. } | Operator::Project { input, .. } => {
                *input = input.clone().with_rows_beside(rows)?;
            }
            // Above the join of two populations stands nothing else.
            _ => {}
        }
        Self::new(operator)
    }
}

impl Relation {
    /// Whether rows of a further population's unit may find no partner in the join of both, or be
    /// left out after it, though they were chosen before.
    pub(crate) fn chooses_before_conditions(&self) -> bool {
        match self.operator() {
            Operator::Filter { input, .. } => input.beside().is_some(),
            Operator::Project { input, .. } => input.chooses_before_conditions(),
            Operator::Join { left, right, .. }
                if left.beside.is_some() || right.beside.is_some() =>
            {
                left.chooses_before_conditions() || right.chooses_before_conditions()
            }
            Operator::Join { left, right, on, condition, .. } if self.beside.is_some() => {
                let (owner, other, keys): (_, _, Vec<&Expr>) = match right.operator() {
                    Operator::Take { .. } => (left, right, on.iter().map(|(_, r)| r).collect()),
                    _ => (right, left, on.iter().map(|(l, _)| l).collect()),
                };
                // Columns of one table are likely to refer to a row that is there.
                let table = |key: &Expr| match key.kind {
                    ExprKind::Column(index) => {
                        Some(other.fields.get(index)?.origin.as_ref()?.table.as_str())
                    }
                    _ => None,
                };
                let first = keys.first().and_then(|key| table(key));
                let is_reference = first.is_some() && keys.iter().all(|key| table(key) == first);
                !is_reference || condition.is_some() || owner.leaves_rows_out()
            }
            _ => false,
        }
    }

    /// Whether a condition may leave rows out.
    fn leaves_rows_out(&self) -> bool {
        let here = match self.operator() {
            Operator::Filter { .. } => true,
            Operator::Join { kind, .. } => !kind.shows_right(),
            _ => false,
        };
        here || self.inputs().into_iter().any(Self::leaves_rows_out)
    }
}

/// The owner of the pairs of an inner join of two populations, and the population with rows there
/// beside: the owner's side has at most one row for what is compared, its unit among it, and the
/// other side at most some rows of each unit.
pub(super) fn of_two_populations(
    kind: JoinKind,
    left: &Relation,
    right: &Relation,
    on: &[(Expr, Expr)],
) -> Option<(Protection, Beside)> {
    if kind != JoinKind::Inner || left.beside.is_some() || right.beside.is_some() {
        return None;
    }
    let has_units = |side: &Relation| side.protection.unit().is_some();
    let has_right_units = has_units(right) && on.iter().any(|(_, r)| right.is_unit(r));
    if has_right_units && right.has_one(on.iter().map(|(_, r)| r)) {
        let owner = right.protection.moved(|column| Some(left.fields.len() + column))?;
        return Some((owner, limited_units(left)?));
    }
    let has_left_units = has_units(left) && on.iter().any(|(l, _)| left.is_unit(l));
    if has_left_units && left.has_one(on.iter().map(|(l, _)| l)) {
        return Some((left.protection.clone(), limited_units(right)?));
    }
    None
}

/// The population of a side with a limit on the rows of its units, and the limit.
fn limited_units(side: &Relation) -> Option<Beside> {
    match (side.operator(), &side.protection) {
        (Operator::Take { rows, .. }, Protection::Unit { population, .. }) => {
            Some(Beside { population: population.clone(), rows: *rows })
        }
        _ => None,
    }
}

/// The units of a further population to which a node's rows belong.
pub(super) fn checked(operator: &Operator) -> Result<Option<Beside>, Refusal> {
    let refused = |what: &str| {
        Err(Refusal::new(
            format!("{what} rows that belong to two populations"),
            "join the other population's table last, and look at several rows of a unit before \
             that, in a sub-query",
        ))
    };
    match operator {
        Operator::Scan { .. } => Ok(None),
        Operator::Filter { input, .. } | Operator::Project { input, .. } => {
            Ok(input.beside().cloned())
        }
        Operator::First { input, .. } | Operator::Take { input, .. } => match &input.beside {
            None => Ok(None),
            Some(_) => refused("a choice among"),
        },
        Operator::Join { kind, left, right, on, .. } => {
            let (left_population, right_population) =
                (left.protection.population(), right.protection.population());
            let once = match (&left.beside, &right.beside) {
                (None, None)
                    if left_population.is_some()
                        && right_population.is_some()
                        && left_population != right_population =>
                {
                    return Ok(of_two_populations(*kind, left, right, on).map(|(_, beside)| beside));
                }
                (None, None) => return Ok(None),
                (Some(_), None) if right_population.is_none() => {
                    !kind.shows_right() || right.has_one(on.iter().map(|(_, r)| r))
                }
                (None, Some(_)) if left_population.is_none() => {
                    left.has_one(on.iter().map(|(l, _)| l))
                }
                _ => return refused("a further join of"),
            };
            if !once {
                return Err(Refusal::new(
                    "rows that belong to two populations are joined with a public table that can \
                     have several rows for each",
                    "set unique = [\"column\"] for the public table in the contract; or join it \
                     before the other population's table",
                ));
            }
            Ok(left.beside().or(right.beside()).cloned())
        }
        Operator::UnionAll { inputs } => match inputs.iter().find_map(|i| i.beside.as_ref()) {
            None => Ok(None),
            Some(_) => refused("UNION ALL of"),
        },
        Operator::Aggregate { input, .. } => match &input.beside {
            None => Ok(None),
            Some(_) => refused("a sub-query's GROUP BY over"),
        },
        Operator::Window { input, .. } => match &input.beside {
            None => Ok(None),
            Some(_) => refused("a window over"),
        },
    }
}
