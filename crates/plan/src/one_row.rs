//! Bounds what one row can add to the time of a query: what it costs by itself, times the rows that
//! joins make of it.
//!
//! The unit is an operation, at most a nanosecond, as in [`hushtable_lang::cost`]. All that follows
//! from the data are the rows of public tables that a row can meet, which anybody may count.

use std::collections::BTreeSet;

use hushtable_contract::MAX_ROWS_JOINED;
use hushtable_lang::cost::RowExpression;
use hushtable_lang::{ColumnType, Expr};

use crate::relation::{
    JoinKind, Operator, Protection, Relation, UnitAggregate, WindowedColumn, bytes_of,
};

/// Most operations that one row can add to a query, joins included: a millisecond.
pub const MAX_ADDED_OPERATIONS: u64 = 1_000_000;

/// A row that is read, hashed by its unit and moved to its partition.
const READ: u64 = 300;
/// A pair of rows in a join: it is found, and all of its columns are copied.
const PAIR: u64 = 300;
/// A row that is sorted for a window, or that is chosen among its unit's rows.
const SORTED: u64 = 400;
/// A byte of a text that is sorted: it is copied, and compared with those of other rows.
const SORTED_BYTE: u64 = 2;
/// A row that is aggregated in a sub-query.
const AGGREGATED: u64 = 200;
/// A row that is bounded and added up.
const BOUNDED: u64 = 300;
/// A further measurement of such a row.
const MEASURED: u64 = 30;
/// The assumed cost of a row of joins, before the expressions over it are known.
const OUTER: u64 = BOUNDED + 300;

/// A public side of a join, and the values of it that are compared with those of protected rows.
pub(crate) struct PublicSide<'a> {
    pub(crate) rows: &'a Relation,
    pub(crate) keys: Vec<&'a Expr>,
}

/// The cost that one row can add to a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddedCost {
    /// Most rows of public tables that it meets, in all joins together.
    pub matches: u64,
    /// Most rows that joins make of it.
    pub rows: u64,
    /// Most operations.
    pub operations: u64,
}

/// Adds up operations over a relation. `most` says how many rows of a public side agree in the
/// values that are compared.
struct Adding<'m> {
    most: &'m mut dyn FnMut(PublicSide<'_>) -> u64,
    operations: u64,
    /// Most rows of public tables that a row meets.
    matches: u64,
}

/// The rows that become of one.
#[derive(Clone, Copy)]
struct RowRepetition {
    /// With the unit's own rows and with public ones.
    rows: u64,
    /// With public ones.
    matches: u64,
}

const ONCE: RowRepetition = RowRepetition { rows: 1, matches: 1 };

/// The cost that one row can add to a relation, and to that many measurements that compute
/// `expressions` from its rows.
pub(crate) fn added(
    relation: &Relation,
    (expressions, measurements): (&[RowExpression<'_>], usize),
    most: &mut dyn FnMut(PublicSide<'_>) -> u64,
) -> AddedCost {
    let mut adding = Adding { most, operations: 0, matches: 1 };
    let RowRepetition { rows, .. } = adding.relation(relation);
    // All expressions count for every row that becomes of one, also where a filter would drop it.
    let each =
        expressions.iter().map(|expression| expression.expr.row_operations(&expression.columns));
    let each = each.fold(BOUNDED, u64::saturating_add);
    let measured = MEASURED.saturating_mul(measurements as u64);
    adding.add(rows, each.saturating_add(measured));
    AddedCost { matches: adding.matches, rows, operations: adding.operations }
}

/// The most rows of a unit on each side of a join with which one row adds half of what it may,
/// where rows of a unit can meet each other. The other half is for rows of public tables, which are
/// not counted yet.
pub(crate) fn rows_joined(relation: &Relation, expressions: (&[RowExpression<'_>], usize)) -> u32 {
    let fits = |rows: u32| {
        let Ok(relation) = relation.clone().with_rows_joined(rows) else { return false };
        let once = &mut |_: PublicSide<'_>| 1;
        let all = added(&relation, expressions, once).operations;
        let mut within = Adding { most: &mut |_| 1, operations: 0, matches: 1 };
        let joined = within.relation(&relation).rows;
        within.add(joined, OUTER);
        // The larger of both counts: the expressions over the join may not be known yet.
        all.max(within.operations) <= MAX_ADDED_OPERATIONS / 2
    };
    let (mut fitting, mut beyond) = (1, MAX_ROWS_JOINED + 1);
    while beyond - fitting > 1 {
        let between = fitting + (beyond - fitting) / 2;
        if fits(between) { fitting = between } else { beyond = between }
    }
    // A number that people can remember.
    let digits = fitting.max(1).ilog10();
    let step = 10u32.pow(digits.saturating_sub(1));
    fitting / step * step
}

/// The columns that expressions read.
fn columns_read<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> BTreeSet<usize> {
    let mut read = BTreeSet::new();
    exprs.into_iter().for_each(|expr| {
        expr.visit_columns(&mut |index| {
            read.insert(index);
        });
    });
    read
}

impl Adding<'_> {
    fn add(&mut self, rows: u64, each: u64) {
        self.operations = self.operations.saturating_add(rows.saturating_mul(each));
    }

    /// Adds what expressions over a node's input cost for each of its rows.
    fn compute<'a>(
        &mut self,
        rows: u64,
        exprs: impl Iterator<Item = &'a Expr>,
        bytes: &[usize],
        more: u64,
    ) {
        let each = exprs.map(|expr| expr.row_operations(bytes));
        self.add(rows, each.fold(more, u64::saturating_add));
    }

    /// The rows that become of one row of a protected table.
    fn relation(&mut self, relation: &Relation) -> RowRepetition {
        self.columns_of(relation, None)
    }

    /// The rows that become of one row of a protected table, where these columns are read; all
    /// where it is not known which ones.
    fn columns_of(&mut self, relation: &Relation, read: Option<&BTreeSet<usize>>) -> RowRepetition {
        // The cost of public rows by themselves does not depend on protected ones.
        if *relation.protection() == Protection::Public {
            return ONCE;
        }
        match relation.operator() {
            Operator::Scan { .. } => {
                self.add(1, READ);
                ONCE
            }
            Operator::Filter { input, condition } => {
                let read = read.map(|read| read | &columns_read([condition]));
                let of = self.columns_of(input, read.as_ref());
                self.compute(of.rows, [condition].into_iter(), &bytes_of(input.fields()), 0);
                of
            }
            Operator::Project { input, columns } => {
                let exprs = columns.iter().map(|column| &column.expr);
                let of = self.columns_of(input, Some(&columns_read(exprs.clone())));
                self.compute(of.rows, exprs, &bytes_of(input.fields()), 0);
                of
            }
            Operator::First { input, .. } | Operator::Take { input, .. } => {
                let of = self.relation(input);
                self.add(of.rows, SORTED);
                of
            }
            Operator::UnionAll { inputs } => {
                let nothing = RowRepetition { rows: 0, matches: 0 };
                inputs.iter().fold(nothing, |all, input| {
                    let of = self.relation(input);
                    RowRepetition {
                        // A row of a table may be in every side of the union.
                        rows: all.rows.saturating_add(of.rows),
                        matches: all.matches.max(of.matches),
                    }
                })
            }
            Operator::Aggregate { input, keys, aggregates } => {
                let of = self.relation(input);
                let operands = aggregates.iter().flat_map(|(_, a)| a.operands());
                let exprs = keys.iter().map(|key| &key.expr).chain(operands);
                let bytes = bytes_of(input.fields());
                let each = aggregates.iter().map(|(_, aggregate)| match aggregate {
                    UnitAggregate::Sorted(_, values) => {
                        let texts = values.iter().map(|value| value.most_bytes(&bytes) as u64);
                        SORTED + SORTED_BYTE * texts.sum::<u64>()
                    }
                    _ => MEASURED,
                });
                let more = each.fold(AGGREGATED, u64::saturating_add);
                self.compute(of.rows, exprs, &bytes, more);
                of
            }
            Operator::Window { input, columns } => {
                let of = self.relation(input);
                let bytes = bytes_of(input.fields());
                let sorted = |texts: &mut dyn Iterator<Item = usize>| {
                    let bytes = texts.fold(0u64, |all, text| all.saturating_add(text as u64));
                    SORTED.saturating_add(SORTED_BYTE.saturating_mul(bytes))
                };
                // Once by all columns that are read, which break ties.
                let of_windows = columns.iter().flat_map(WindowedColumn::expressions);
                let read = read.map(|read| read | &columns_read(of_windows));
                let is_read = |index: &usize| read.as_ref().is_none_or(|read| read.contains(index));
                let texts = input.fields().iter().enumerate().filter(|(index, field)| {
                    field.column_type == ColumnType::String && is_read(index)
                });
                self.add(of.rows, sorted(&mut texts.map(|(_, field)| field.max_bytes)));
                for column in columns {
                    let order = column.order_by.iter().map(|o| &o.expr);
                    let sort = column.partition_by.iter().chain(order);
                    let more = sorted(&mut sort.clone().map(|expr| expr.most_bytes(&bytes)));
                    self.compute(of.rows, sort.chain(column.function.operands()), &bytes, more);
                }
                of
            }
            Operator::Join { left, right, on, .. } => {
                let (from_left, from_right) = (self.relation(left), self.relation(right));
                if *left.protection() != Protection::Public {
                    self.compute(
                        from_left.rows,
                        on.iter().map(|(l, _)| l),
                        &bytes_of(left.fields()),
                        0,
                    );
                }
                if *right.protection() != Protection::Public {
                    self.compute(
                        from_right.rows,
                        on.iter().map(|(_, r)| r),
                        &bytes_of(right.fields()),
                        0,
                    );
                }
                self.join(relation, from_left, from_right)
            }
        }
    }

    fn join(
        &mut self,
        relation: &Relation,
        from_left: RowRepetition,
        from_right: RowRepetition,
    ) -> RowRepetition {
        let Operator::Join { kind, left, right, on, condition, .. } = relation.operator() else {
            return ONCE;
        };
        let keeps_one = !kind.shows_right();
        // Where only the existence of a partner matters, equal ones are one.
        let looks_once = keeps_one && condition.is_none();
        let times = |of: RowRepetition, n: u64| RowRepetition {
            rows: of.rows.saturating_mul(n),
            matches: of.matches.saturating_mul(n),
        };
        let pairs = match (left.protection(), right.protection()) {
            (_, Protection::Public) if looks_once => from_left,
            (_, Protection::Public) => {
                let keys = on.iter().map(|(_, right_key)| right_key).collect();
                // Counted from public rows alone: a number that followed from protected ones would
                // reveal them.
                let most = (self.most)(PublicSide { rows: right, keys });
                // At least one, as a row without a partner is looked up, too.
                times(from_left, most.max(1))
            }
            (Protection::Public, _) => {
                let keys = on.iter().map(|(left_key, _)| left_key).collect();
                let most = (self.most)(PublicSide { rows: left, keys });
                times(from_right, most.max(1))
            }
            _ => {
                let matches = from_left.matches.saturating_mul(from_right.matches);
                RowRepetition {
                    rows: self.protected_pairs(relation, from_left.rows, from_right.rows),
                    matches,
                }
            }
        };
        self.matches = self.matches.max(pairs.matches);
        let mut bytes = bytes_of(left.fields());
        bytes.extend(bytes_of(right.fields()));
        self.compute(pairs.rows, condition.iter(), &bytes, PAIR);
        if relation.row_limits() != [None, None] {
            self.add(from_left.rows.saturating_add(from_right.rows), SORTED);
        }
        // Partners that were only looked at make no rows.
        if keeps_one { from_left } else { pairs }
    }

    /// The pairs that become of one row of protected tables, which may be on both sides.
    fn protected_pairs(&self, relation: &Relation, from_left: u64, from_right: u64) -> u64 {
        let Operator::Join { kind, left, right, on, condition, .. } = relation.operator() else {
            return 1;
        };
        match (left.protection(), right.protection()) {
            (
                Protection::Unit { population: left_population, .. },
                Protection::Unit { population, .. },
            ) if left_population == population => {}
            // A row that refers to others meets the one that it refers to; one of two populations
            // meets one owner.
            _ => return from_left.saturating_mul(from_right),
        }
        let [on_left, on_right] = relation.rows_on_sides();
        if relation.lets_rows_meet() {
            // Without a limit on the other side the number has no bound, and the query is refused.
            let pairs_of_left = from_left.saturating_mul(on_right.unwrap_or(u64::MAX));
            // Of rows that only need a partner, each is looked at by itself.
            let pairs_of_right = match kind.shows_right() {
                true => from_right.saturating_mul(on_left.unwrap_or(u64::MAX)),
                false => 0,
            };
            let alone = if *kind == JoinKind::Left { from_left } else { 0 };
            return pairs_of_left.saturating_add(pairs_of_right).saturating_add(alone);
        }
        if !kind.shows_right() && condition.is_none() {
            return from_left;
        }
        match right.has_one(on.iter().map(|(_, r)| r)) {
            true => from_left,
            false if *kind == JoinKind::Left => from_left.saturating_add(from_right),
            false => from_right,
        }
    }
}
