//! Joins in which the rows of one unit can meet each other.
//!
//! A unit of n rows has n^2 pairs of them, and the time of a query would show that it is there. So
//! each side of such a join has few rows of a unit. They follow from the unit's rows on that side
//! alone, so that the join stays unit-stable.

use hushtable_lang::{Expr, Refusal};

use super::{JoinKind, Operator, Origin, Protection, Relation};

impl Relation {
    /// Whether the node is a join in which several rows of a unit can meet several of its rows.
    /// Where one side has one row for what is compared, there are as many pairs as the other has
    /// rows; and where only the existence of a partner matters, equal ones are one.
    pub fn lets_rows_meet(&self) -> bool {
        let Operator::Join { kind, left, right, on, condition, .. } = self.operator() else {
            return false;
        };
        let population = |side: &Self| match side.protection() {
            Protection::Unit { population, .. } => Some(population.clone()),
            _ => None,
        };
        let left_population = population(left);
        if left_population.is_none() || left_population != population(right) {
            return false;
        }
        let right_has_one = right.has_one(on.iter().map(|(_, right_key)| right_key));
        match kind {
            JoinKind::Inner | JoinKind::Left => {
                !right_has_one && !left.has_one(on.iter().map(|(left_key, _)| left_key))
            }
            JoinKind::Semi | JoinKind::Anti => !right_has_one && condition.is_some(),
        }
    }

    /// Most rows of one unit on the left and the right side of a join, where the join limits them:
    /// sides that have few rows of a unit anyway need no limit, and neither do rows of which only
    /// those with, or without, a partner stay.
    pub fn row_limits(&self) -> [Option<u32>; 2] {
        let Operator::Join { kind, left, right, max_rows: Some(most), .. } = self.operator() else {
            return [None, None];
        };
        let of = |side: &Self| side.rows_of_a_unit().is_none().then_some(*most);
        if !self.lets_rows_meet() {
            return [None, None];
        }
        [of(left).filter(|_| kind.shows_right()), of(right)]
    }

    /// Most rows of one unit, where the operators bound them.
    fn rows_of_a_unit(&self) -> Option<u64> {
        self.rows_of_a_unit
    }

    /// Most rows of one unit, by those of the inputs.
    pub(super) fn bounded_rows(&self) -> Option<u64> {
        let unit = self.protection().unit()?;
        let unit = Expr::column(unit, self.fields().get(unit)?.column_type);
        if self.has_one([&unit].into_iter()) {
            return Some(1);
        }
        match self.operator() {
            Operator::Scan { .. } => None,
            Operator::Filter { input, .. }
            | Operator::Project { input, .. }
            | Operator::First { input, .. }
            | Operator::Aggregate { input, .. }
            | Operator::Window { input, .. } => input.rows_of_a_unit(),
            Operator::Take { rows, .. } => Some((*rows).into()),
            Operator::UnionAll { inputs } => {
                let add =
                    |sum: u64, input: &Self| Some(sum.saturating_add(input.rows_of_a_unit()?));
                inputs.iter().try_fold(0, add)
            }
            Operator::Join { kind, left, .. } if !kind.shows_right() => left.rows_of_a_unit(),
            Operator::Join { kind, left, right, on, .. } => {
                let right_has_one = right.has_one(on.iter().map(|(_, right_key)| right_key));
                match (left.protection(), right.protection()) {
                    (Protection::Unit { .. }, Protection::Public) if right_has_one => {
                        left.rows_of_a_unit()
                    }
                    (Protection::Public, Protection::Unit { .. })
                        if left.has_one(on.iter().map(|(left_key, _)| left_key)) =>
                    {
                        right.rows_of_a_unit()
                    }
                    (Protection::Unit { .. }, Protection::Unit { .. })
                        if self.beside().is_none() =>
                    {
                        let [left_rows, right_rows] = self.rows_on_sides();
                        if right_has_one {
                            return left_rows;
                        }
                        let left_has_one = left.has_one(on.iter().map(|(left_key, _)| left_key));
                        if left_has_one && *kind == JoinKind::Inner {
                            return right_rows;
                        }
                        let pairs = left_rows?.saturating_mul(right_rows?);
                        // Left rows without a partner stay.
                        let alone = if *kind == JoinKind::Left { left_rows? } else { 0 };
                        Some(pairs.saturating_add(alone))
                    }
                    _ => None,
                }
            }
        }
    }

    /// Most rows of one unit on the left and the right side of a join, where it or the sides bound
    /// them.
    pub(crate) fn rows_on_sides(&self) -> [Option<u64>; 2] {
        let Operator::Join { left, right, .. } = self.operator() else { return [None, None] };
        let [left_limit, right_limit] = self.row_limits();
        let of = |limit: Option<u32>, side: &Self| limit.map(u64::from).or(side.rows_of_a_unit());
        [of(left_limit, left), of(right_limit, right)]
    }

    /// Whether a unit's rows can meet each other in a join of the relation.
    pub(crate) fn has_meeting_rows(&self) -> bool {
        self.lets_rows_meet() || self.inputs().into_iter().any(Self::has_meeting_rows)
    }

    /// Most rows of one unit on a side of a join, where a join limits them.
    pub fn max_rows_joined(&self) -> Option<u32> {
        let limit = self.row_limits().into_iter().flatten().next();
        limit.or_else(|| self.inputs().into_iter().find_map(Self::max_rows_joined))
    }

    /// The joins with a limit on the rows of a unit: of its own rows, or of those of a further
    /// population.
    pub fn limited_joins(&self) -> Vec<&Self> {
        let of_two = matches!(self.operator(), Operator::Join { .. })
            && self.beside().is_some()
            && self.inputs().into_iter().all(|side| side.beside().is_none());
        let is_limited = of_two || self.row_limits() != [None, None];
        let inner = self.inputs().into_iter().flat_map(Self::limited_joins);
        is_limited.then_some(self).into_iter().chain(inner).collect()
    }

    /// The unit's column in the one protected table that the rows are of, where nothing repeats
    /// them.
    pub fn unit_of_one_table(&self) -> Option<&Origin> {
        match self.operator() {
            Operator::Filter { input, .. } | Operator::Project { input, .. } => {
                input.unit_of_one_table()
            }
            Operator::Scan { .. } => {
                let unit = self.protection().unit()?;
                self.fields().get(unit)?.origin.as_ref()
            }
            _ => None,
        }
    }

    /// Limits the rows of a unit in every join in which they can meet each other.
    ///
    /// # Errors
    /// Those of [`Relation::new`].
    pub(crate) fn with_rows_joined(self, rows: u32) -> Result<Self, Refusal> {
        if !self.has_meeting_rows() {
            return Ok(self);
        }
        let meets = self.lets_rows_meet();
        let again = |input: Self| input.with_rows_joined(rows);
        // By value: to copy what is below at each step would take long.
        Self::new(match Operator::from(self) {
            scan @ Operator::Scan { .. } => scan,
            Operator::Filter { input, condition } => {
                Operator::Filter { input: again(input)?, condition }
            }
            Operator::Project { input, columns } => {
                Operator::Project { input: again(input)?, columns }
            }
            Operator::First { input, keys } => Operator::First { input: again(input)?, keys },
            Operator::Take { input, rows } => Operator::Take { input: again(input)?, rows },
            Operator::Aggregate { input, keys, aggregates } => {
                Operator::Aggregate { input: again(input)?, keys, aggregates }
            }
            Operator::Window { input, columns } => {
                Operator::Window { input: again(input)?, columns }
            }
            Operator::Join { kind, left, right, on, condition, .. } => {
                let (left, right) = (again(left)?, again(right)?);
                let max_rows = meets.then_some(rows);
                Operator::Join { kind, left, right, on, condition, max_rows }
            }
            Operator::UnionAll { inputs } => {
                let inputs = inputs.into_iter().map(again).collect::<Result<_, _>>()?;
                Operator::UnionAll { inputs }
            }
        })
    }

    /// Checks that a relation which was read back, or built by hand, limits the rows of a unit
    /// wherever they can meet each other.
    ///
    /// # Errors
    /// Where it does not.
    pub fn check_rows_joined(&self) -> Result<(), Refusal> {
        if self.lets_rows_meet()
            && let Operator::Join { max_rows: None, .. } = self.operator()
        {
            return Err(super::misfit("a join lets the rows of a unit meet without a limit"));
        }
        self.inputs().into_iter().try_for_each(Self::check_rows_joined)
    }
}
