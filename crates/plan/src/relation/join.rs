//! Joins that are unit-stable.

use hushtable_lang::{Expr, ExprKind, Refusal};

use super::{Field, JoinKind, Origin, Protection, Relation, beside, fields, misfit};

/// The columns of a join, and who its rows belong to.
///
/// Stability, by the protection of the sides:
/// - public with public: public.
/// - A protected left side with a public right one: a left row's partners are public, so the unit's
///   result follows from its rows. Any kind.
/// - A public left side with a protected right one, inner only: the same pairs. (A left join would
///   show which public rows have no partner at all, and that follows from everybody's rows.)
/// - Both protected, of one population, with the units among the equal values: a unit's rows meet
///   only its own rows. Any kind.
/// - Rows that are units count as protected rows above, and stay rows that are there once where the
///   public side has no two rows with the same key, and in semi- and anti-joins. Elsewhere a join
///   can repeat them, and the column that tells them apart names the unit.
/// - Both protected, of two populations: see [`Beside`](super::Beside).
/// - One side without a unit of its own, and the other the table that it refers to, joined on the
///   reference: the other side's row says whose the pair is. Inner; or left, with the side that has
///   the units at the left.
/// - A left side without a unit of its own and a public right one, of any kind, or the other way
///   round, inner: a pair refers to what its row refers to.
pub(super) fn checked(
    kind: JoinKind,
    left: &Relation,
    right: &Relation,
    on: &[(Expr, Expr)],
    condition: Option<&Expr>,
) -> Result<(Vec<Field>, Protection), Refusal> {
    if on.is_empty() {
        return Err(Refusal::new(
            "a join has no equality between its sides",
            "JOIN … ON a.key = b.key, or USING (key); without one, only a protected side can be \
             joined with a public one, the protected one first",
        ));
    }
    for (left_key, right_key) in on {
        fields::check(left_key, &left.fields)?;
        fields::check(right_key, &right.fields)?;
        if left_key.column_type != right_key.column_type {
            return Err(misfit("a join compares values of different types"));
        }
    }
    let shift = left.fields.len();
    let both: Vec<Field> = left.fields.iter().chain(&right.fields).cloned().collect();
    if let Some(condition) = condition {
        fields::condition(condition, &both)?;
    }
    let protection = protection(kind, left, right, on, shift)?;
    let columns = if kind.shows_right() { both } else { left.fields.clone() };
    Ok((columns, protection))
}

fn protection(
    kind: JoinKind,
    left: &Relation,
    right: &Relation,
    on: &[(Expr, Expr)],
    shift: usize,
) -> Result<Protection, Refusal> {
    use Protection as P;
    match (&left.protection, &right.protection) {
        (P::Rows { .. }, P::Public) => {
            let keys = on.iter().map(|(_, right_key)| right_key);
            let once = !kind.shows_right() || right.has_one(keys);
            Ok(if once { left.protection.clone() } else { left.protection.repeated() })
        }
        (P::Public, P::Rows { .. }) if kind == JoinKind::Inner => {
            let moved = right.protection.moved(|column| Some(shift + column));
            let moved = moved.ok_or_else(|| misfit("a join loses the rows' column"))?;
            let once = left.has_one(on.iter().map(|(left_key, _)| left_key));
            Ok(if once { moved } else { moved.repeated() })
        }
        (P::Public, P::Public) => Ok(P::Public),
        (P::Unit { .. } | P::Reference { .. }, P::Public) => Ok(left.protection.clone()),
        (P::Public, P::Unit { .. } | P::Reference { .. }) if kind == JoinKind::Inner => {
            let moved = right.protection.moved(|column| Some(shift + column));
            moved.ok_or_else(|| misfit("a join loses the unit's column"))
        }
        (P::Public, _) => Err(Refusal::new(
            "which rows of a public table match a protected row depends on all protected rows",
            "put the protected table first: FROM protected LEFT JOIN public ON …",
        )),
        (P::Rows { population, .. }, _) | (_, P::Rows { population, .. }) => Err(Refusal::new(
            format!(
                "each row of `{population}` is a privacy unit: it cannot be compared with other \
                 protected rows"
            ),
            "join it with public tables only; or declare a unit column in the contract: unit = \
             { of = \"person\", column = \"person_id\" }",
        )),
        (P::Unit { population, .. }, P::Unit { population: other, .. }) => {
            if population != other
                && let Some((owner, _)) = beside::of_two_populations(kind, left, right, on)
            {
                return Ok(owner);
            }
            same_population(population, other)?;
            if on.iter().any(|(l, r)| left.is_unit(l) && right.is_unit(r)) {
                return Ok(left.protection.clone());
            }
            Err(Refusal::new(
                format!(
                    "a join of two protected tables could bring units of `{population}` together"
                ),
                "join them on the privacy unit as well: ON a.person_id = b.person_id AND …",
            ))
        }
        (
            P::Reference { population, references, .. },
            P::Unit { population: other, column: unit },
        ) if kind == JoinKind::Inner => {
            same_population(population, other)?;
            if !left.refers_to(right, on.iter().map(|(l, r)| (l, r))) {
                return Err(unknown_units(left, right, references));
            }
            Ok(P::Unit { population: population.clone(), column: shift + unit })
        }
        (P::Unit { population, .. }, P::Reference { population: other, references, .. }) => {
            same_population(population, other)?;
            if !right.refers_to(left, on.iter().map(|(l, r)| (r, l))) {
                return Err(unknown_units(left, right, references));
            }
            Ok(left.protection.clone())
        }
        (P::Reference { references, .. }, _) => Err(unknown_units(left, right, references)),
    }
}

fn same_population(one: &str, other: &str) -> Result<(), Refusal> {
    if one == other {
        return Ok(());
    }
    Err(Refusal::new(
        format!("the join is of tables that protect different units, `{one}` and `{other}`"),
        "use an inner join on the privacy unit of one of them, after all other joins of \
         protected tables; or declare the table that protects nobody as public = true",
    ))
}

impl Relation {
    /// Whether one of the equalities of a join leads from rows without a unit of their own to the
    /// other side's rows that they refer to. Of each, this side's value is first.
    pub(crate) fn refers_to<'a>(
        &self,
        other: &Self,
        mut equal: impl Iterator<Item = (&'a Expr, &'a Expr)>,
    ) -> bool {
        let Protection::Reference { population, column, references } = &self.protection else {
            return false;
        };
        let is_reference = |(referring, referred): (&Expr, &Expr)| {
            let ExprKind::Column(index) = referred.kind else { return false };
            referring.is_column(*column)
                && other.fields.get(index).is_some_and(|f| f.origin.as_ref() == Some(references))
        };
        other.protection.population() == Some(population.as_str()) && equal.any(is_reference)
    }
}

/// Refuses rows that refer to others without these.
fn unknown_units(left: &Relation, right: &Relation, references: &Origin) -> Refusal {
    let Origin { table, column } = references;
    let referring = [left, right].into_iter().find_map(|side| match &side.protection {
        Protection::Reference { column, references: of, .. } if of == references => {
            side.fields.get(*column)?.origin.as_ref()
        }
        _ => None,
    });
    let on = match referring {
        Some(from) => format!("ON {table}.{column} = {}.{}", from.table, from.column),
        None => format!("on {table}.{column}"),
    };
    Refusal::new(
        format!("rows that reach their privacy unit through `{table}` are used without it"),
        format!("JOIN {table} {on}"),
    )
}
