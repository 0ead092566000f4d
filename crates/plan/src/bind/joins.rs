//! Joins: the rule by which the pairs of two sides have a unit, and what it adds to the sides.

use hushtable_lang::bind_expr::balanced;
use hushtable_lang::{Expr, ExprKind, Refusal, Value};

use super::rowset::{References, RowSet, equality, sides};
use crate::relation::{JoinKind, Operator, Origin, Protection, Relation};

/// The values that a join compares, the left side's and the right side's.
type JoinEqualities = Vec<(Expr, Expr)>;

/// The rule for a join, by who its sides' rows belong to and what it compares. It says what the
/// sides need before they are joined. Whether the join is unit-stable is not decided here:
/// [`Relation::new`] checks it, and refuses those of which no rule makes one that is.
enum JoinRule {
    /// A side is public, so that partners found there are nobody's. Or each row is a unit, which
    /// may have such partners alone.
    Lookup,
    /// By these equalities, rows of one side refer to rows of the other, which say whose they are.
    Reference(JoinEqualities),
    /// The left side's rows refer to rows that are not at the right: they find them first.
    LeftUnits,
    /// The right side's rows refer to rows that are not at the left: they find them first. Then
    /// the compared values may lead to one unit, or the sides be of two populations.
    RightUnits,
    /// Units are equal where these values are.
    SameUnit(JoinEqualities),
    /// The rows of two populations: a pair belongs to one unit of each.
    TwoPopulations,
    /// Units could come together.
    NoUnit,
}

impl JoinRule {
    fn of(
        kind: JoinKind,
        left: &RowSet,
        right: &RowSet,
        on: &JoinEqualities,
        references: &References,
    ) -> Self {
        use Protection as P;
        let (l, r) = (&left.relation, &right.relation);
        let left_refers = || l.refers_to(r, on.iter().map(|(l, r)| (l, r)));
        let right_refers = |on: &JoinEqualities| r.refers_to(l, on.iter().map(|(l, r)| (r, l)));
        let same_unit = |on: &JoinEqualities| on.iter().any(|(a, b)| l.is_unit(a) && r.is_unit(b));
        match (l.protection(), r.protection()) {
            (P::Public | P::Rows { .. }, _) | (_, P::Public | P::Rows { .. }) => Self::Lookup,
            (P::Reference { .. }, P::Unit { .. }) if kind == JoinKind::Inner && left_refers() => {
                Self::Reference(on.clone())
            }
            (P::Reference { .. }, _) if left.finds_units() => Self::LeftUnits,
            (_, P::Reference { .. }) => match with_twins(on, l).into_iter().find(right_refers) {
                Some(on) => Self::Reference(on),
                None if right.finds_units() => Self::RightUnits,
                None => Self::NoUnit,
            },
            (P::Unit { population, .. }, P::Unit { population: other, .. })
                if population != other =>
            {
                match kind {
                    JoinKind::Inner => Self::TwoPopulations,
                    _ => Self::NoUnit,
                }
            }
            _ => {
                let equal = with_twins(on, l).into_iter().find(same_unit);
                equal.or_else(|| carried(on, l, r, references)).map_or(Self::NoUnit, Self::SameUnit)
            }
        }
    }
}

impl RowSet {
    /// A join with conditions over the left side's columns followed by the right's.
    pub(super) fn joined(
        self,
        kind: JoinKind,
        right: Self,
        conditions: Vec<Expr>,
        references: &References,
    ) -> Result<Self, Refusal> {
        let shift = self.relation.fields().len();
        let (mut left, mut right) = (self, right);
        let (mut on, mut rest) = (Vec::new(), Vec::new());
        for condition in conditions {
            match sides(&condition, shift) {
                _ if condition.is_true() => {}
                (false, true) => {
                    right = right.filtered(condition.moved(&|c| c - shift))?;
                }
                (true, false) if matches!(kind, JoinKind::Inner | JoinKind::Semi) => {
                    left = left.filtered(condition)?;
                }
                _ => match equality(&condition, shift) {
                    Some(pair) => on.push(pair),
                    None => rest.push(condition),
                },
            }
        }
        if kind.shows_right() {
            meet_once(&mut left.relation, &mut right.relation, &on, references)?;
        }
        let rule = match JoinRule::of(kind, &left, &right, &on, references) {
            JoinRule::LeftUnits => {
                left = left.with_units()?;
                JoinRule::of(kind, &left, &right, &on, references)
            }
            rule => rule,
        };
        match rule {
            JoinRule::Reference(equal) | JoinRule::SameUnit(equal) => on = equal,
            JoinRule::RightUnits => {
                right = right.with_units()?;
                if let Some(equal) = carried(&on, &left.relation, &right.relation, references) {
                    on = equal;
                }
                if kind == JoinKind::Inner {
                    bounded_beside(&mut left.relation, &mut right.relation, &on)?;
                }
            }
            JoinRule::TwoPopulations => {
                bounded_beside(&mut left.relation, &mut right.relation, &on)?;
            }
            // Each row meets all of a public table, whose rows are counted like those of any key.
            // Two public tables could make an unbounded number of pairs.
            JoinRule::Lookup if on.is_empty() && left.is_public() != right.is_public() => {
                let all = Expr::literal(Value::Int(1));
                on.push((all.clone(), all));
            }
            JoinRule::Lookup | JoinRule::LeftUnits | JoinRule::NoUnit => {}
        }
        // The right side's columns follow those of the left side, which may have more by now.
        let moved = left.relation.fields().len();
        let moved = |c: usize| if c < shift { c } else { c - shift + moved };
        let condition = (!rest.is_empty()).then(|| balanced(rest, &Expr::and).moved(&moved));
        let sides = (&left.relation, &right.relation);
        let relation = match paired(kind, sides, on.clone(), condition, references) {
            Ok(relation) => relation,
            Err(refusal) => return Err(left.without_unit(kind, &right, &on, refusal)),
        };
        Ok(Self::combined(kind, left, right, relation))
    }

    /// The equality of both sides' units as the query may write it, where they are of one
    /// population.
    pub(super) fn equal_units(&self, other: &Self) -> Option<String> {
        let populations = (&self.relation, &other.relation);
        let population = |relation: &Relation| match relation.protection() {
            Protection::Unit { population, .. } => Some(population.clone()),
            _ => None,
        };
        let alike = population(populations.0)? == population(populations.1)?;
        let (one, mut another) = (self.unit_in_sql()?, other.unit_in_sql()?);
        // A table that is joined with itself needs another name.
        if one == another {
            another = format!("b.{}", another.rsplit('.').next()?);
        }
        alike.then(|| format!("{one} = {another}"))
    }

    /// The unit's column as the query may name it.
    fn unit_in_sql(&self) -> Option<String> {
        let unit = self.relation.protection().unit()?;
        self.in_sql(unit).or_else(|| {
            let Origin { table, column } = self.relation.fields().get(unit)?.origin.as_ref()?;
            Some(format!("{table}.{column}"))
        })
    }

    /// A column as the query may name it.
    fn in_sql(&self, column: usize) -> Option<String> {
        let named = self.columns.iter().find(|c| c.visible.expr.is_column(column))?;
        let name = &named.visible.name;
        let table = named.visible.qualifiers.first();
        Some(table.map_or_else(|| name.clone(), |table| format!("{table}.{name}")))
    }

    /// The refusal of a join, with the equality of units that it lacks.
    fn without_unit(
        &self,
        kind: JoinKind,
        right: &Self,
        on: &[(Expr, Expr)],
        mut refusal: Refusal,
    ) -> Refusal {
        let is_equal =
            |(l, r): &(Expr, Expr)| self.relation.is_unit(l) && right.relation.is_unit(r);
        let Some(equal) = self.equal_units(right).filter(|_| !on.iter().any(is_equal)) else {
            return refusal;
        };
        // A unit's column that is NULL where an outer join finds nothing is not the unit.
        let nulled = on.iter().filter(|(_, key)| right.relation.is_unit(key));
        let mut nulled = nulled.filter_map(|(key, _)| match key.kind {
            ExprKind::Column(column) if is_nulled(&self.relation, column) => self.in_sql(column),
            _ => None,
        });
        let hint = match (nulled.next(), kind.shows_right()) {
            (Some(column), _) => format!(
                "{equal} in its place: `{column}` is NULL where the LEFT JOIN before finds no row"
            ),
            (None, true) => format!("join them on the privacy unit as well: ON {equal} AND …"),
            (None, false) => format!(
                "compare the privacy unit as well: EXISTS (SELECT 1 FROM … WHERE {equal} AND …)"
            ),
        };
        refusal.hint = hint;
        refusal
    }

    fn combined(kind: JoinKind, left: Self, right: Self, relation: Relation) -> Self {
        let shift = left.relation.fields().len();
        let mut columns = left.columns;
        if kind.shows_right() {
            let shifted = |c: usize| c + shift;
            columns.extend(right.columns.into_iter().map(|mut column| {
                column.visible.expr = column.visible.expr.moved(&shifted);
                column.split_by = column.split_by.map(|by| by.moved(&shifted));
                column
            }));
        }
        let unknown = matches!(relation.protection(), Protection::Reference { .. });
        let owners = left.owners.or(right.owners).filter(|_| unknown);
        Self { relation, owners, columns }.with_one_unit()
    }
}

/// Whether an outer join puts NULL into a column where it finds no row.
fn is_nulled(relation: &Relation, column: usize) -> bool {
    match relation.operator() {
        Operator::Filter { input, .. } => is_nulled(input, column),
        Operator::Join { kind, left, .. } if column < left.fields().len() => {
            kind.shows_right() && is_nulled(left, column)
        }
        Operator::Join { kind, left, right, .. } => {
            *kind == JoinKind::Left || is_nulled(right, column - left.fields().len())
        }
        _ => false,
    }
}

/// The join of two sides. Where rows of one unit can meet in it, each side has one row of a unit,
/// if the contract says that there are no more.
fn paired(
    kind: JoinKind,
    (left, right): (&Relation, &Relation),
    on: JoinEqualities,
    condition: Option<Expr>,
    references: &References,
) -> Result<Relation, Refusal> {
    let join = |left: Relation, right: Relation| {
        let (on, condition) = (on.clone(), condition.clone());
        Relation::new(Operator::Join { kind, left, right, on, condition, max_rows: None })
    };
    let relation = join(left.clone(), right.clone())?;
    if !relation.lets_rows_meet() {
        return Ok(relation);
    }
    let left = match kind.shows_right() {
        true => references.one_of_each_unit(left)?,
        false => left.clone(),
    };
    join(left, references.one_of_each_unit(right)?)
}

/// Lets rows that are units, or belong to two of them, meet one row of a public side for each key
/// that the contract says is unique.
fn meet_once(
    left: &mut Relation,
    right: &mut Relation,
    on: &JoinEqualities,
    references: &References,
) -> Result<(), Refusal> {
    let once = |rows: &Relation| {
        matches!(rows.protection(), Protection::Rows { .. }) || rows.beside().is_some()
    };
    match (left.protection(), right.protection()) {
        (_, Protection::Public) if once(left) => {
            *right = references.first_of_each(right.clone(), on.iter().map(|(_, key)| key))?;
        }
        (Protection::Public, _) if once(right) => {
            *left = references.first_of_each(left.clone(), on.iter().map(|(key, _)| key))?;
        }
        _ => {}
    }
    Ok(())
}

/// Makes the sides of a join of two populations such that the pairs have an owner: one row for the
/// values that are compared on the side whose unit is among them, and some rows of each unit on the
/// other side. How many follows from the query's limits, which are not known here.
fn bounded_beside(
    left: &mut Relation,
    right: &mut Relation,
    on: &[(Expr, Expr)],
) -> Result<(), Refusal> {
    let (left_protection, right_protection) = (left.protection(), right.protection());
    if left_protection.population() == right_protection.population()
        || left.beside().is_some()
        || right.beside().is_some()
    {
        return Ok(());
    }
    let (Some(left_unit), Some(right_unit)) = (left_protection.unit(), right_protection.unit())
    else {
        return Ok(());
    };
    let columns_of = |side: &dyn Fn(&(Expr, Expr)) -> Option<usize>| {
        let mut columns: Vec<usize> = on.iter().filter_map(side).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    };
    let column = |expr: &Expr| match expr.kind {
        ExprKind::Column(index) => Some(index),
        _ => None,
    };
    let (left_keys, right_keys) =
        (columns_of(&|on| column(&on.0)), columns_of(&|on| column(&on.1)));
    let (owner, keys, other) = if right_keys.contains(&right_unit) {
        (right, right_keys, left)
    } else if left_keys.contains(&left_unit) {
        (left, left_keys, right)
    } else {
        return Ok(());
    };
    *owner = Relation::new(Operator::First { input: owner.clone(), keys })?;
    *other = Relation::new(Operator::Take { input: other.clone(), rows: 1 })?;
    Ok(())
}

/// The equalities, and that of the units, where one of them is between values that lead to units.
fn carried(
    on: &JoinEqualities,
    left: &Relation,
    right: &Relation,
    references: &References,
) -> Option<JoinEqualities> {
    let lead_there = references.carry_the_unit(on, left, right);
    lead_there.then(|| on.iter().cloned().chain(units_equal(left, right)).collect())
}

/// The units of both sides, where both have one.
pub(super) fn units_equal(left: &Relation, right: &Relation) -> Option<(Expr, Expr)> {
    let unit = |relation: &Relation| {
        let column = relation.protection().unit()?;
        Some(Expr::column(column, relation.fields().get(column)?.column_type))
    };
    let (left, right) = (unit(left)?, unit(right)?);
    (left.column_type == right.column_type).then_some((left, right))
}

/// The equalities, and those in which one column of the left side gives way to another one that is
/// equal to it in all rows: one may be what the right side refers to.
fn with_twins(on: &[(Expr, Expr)], left: &Relation) -> Vec<Vec<(Expr, Expr)>> {
    let mut all = vec![on.to_vec()];
    for (index, (left_key, right_key)) in on.iter().enumerate() {
        let ExprKind::Column(column) = left_key.kind else { continue };
        let units = left.units().iter().copied().filter(|_| left.is_unit(left_key));
        for twin in twins(left, column).into_iter().chain(units) {
            let mut other = on.to_vec();
            other[index] = (Expr::column(twin, left_key.column_type), right_key.clone());
            all.push(other);
        }
    }
    all
}

/// The columns that inner joins make equal to a column.
fn twins(relation: &Relation, column: usize) -> Vec<usize> {
    match relation.operator() {
        Operator::Filter { input, .. } => twins(input, column),
        Operator::Join { kind, left, on, .. } => {
            let width = left.fields().len();
            let mut all = if column < width { twins(left, column) } else { Vec::new() };
            for (left_key, right_key) in on.iter().filter(|_| *kind == JoinKind::Inner) {
                if let (ExprKind::Column(left_column), ExprKind::Column(right_column)) =
                    (&left_key.kind, &right_key.kind)
                {
                    let right_column = width + right_column;
                    all.extend((*left_column == column).then_some(right_column));
                    all.extend((right_column == column).then_some(*left_column));
                }
            }
            all
        }
        _ => Vec::new(),
    }
}
