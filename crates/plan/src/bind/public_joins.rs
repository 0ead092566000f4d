//! The rows of public tables that one protected row can meet in joins.
//!
//! The time and memory of a query must not show what it makes of a single person. A row that meets
//! a thousand rows of a public table becomes a thousand rows, and in a chain of joins a thousand of
//! each of these. The contents of public tables are public, so the engine counts there, before the
//! charge, how many rows agree in the values that a join compares.

use hushtable_contract::Contract;
use hushtable_lang::{ColumnType, Expr, ExprKind, Refusal, Value};

use super::PrivateQuery;
use super::describe::short;
use super::rowset::References;
use crate::one_row::{AddedCost, MAX_ADDED_OPERATIONS, PublicSide, added, rows_joined};
use crate::relation::{JoinKind, NamedExpr, Operator, Relation, UnitAggregate};

/// Most nodes of an expression that is written out over a table's columns. Of longer ones, all rows
/// are taken to agree in them.
const MAX_NODES: usize = 5_000;

/// A join of a query in which a protected row can meet rows of public tables.
#[derive(Clone, Debug)]
pub struct PublicJoin {
    /// Most rows that a protected row can meet.
    pub most: Most,
    /// The public tables and the values that are compared, for readers.
    pub name: String,
}

/// The most rows of public tables that agree in some values.
#[derive(Clone, Debug, PartialEq)]
pub enum Most {
    /// As the structure of the query or the contract says.
    Known(u64),
    /// As many as there are in a public table.
    Counted(PublicRows),
    /// The product of these.
    Product(Vec<Most>),
    /// The sum of these.
    Sum(Vec<Most>),
}

/// Rows of a public table, and expressions over them.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicRows {
    /// A scan, with conditions.
    pub rows: Relation,
    /// The values in which rows agree, none of them NULL. Without any, all rows agree.
    pub keys: Vec<Expr>,
}

impl PublicRows {
    /// The relation whose last column is how many rows agree, for each combination of the keys.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub fn counts(&self) -> Result<Relation, Refusal> {
        let mut input = self.rows.clone();
        for key in &self.keys {
            let null = Expr::new(ExprKind::IsNull(Box::new(key.clone())), ColumnType::Bool);
            let condition = Expr::new(ExprKind::Not(Box::new(null)), ColumnType::Bool);
            input = Relation::new(Operator::Filter { input, condition })?;
        }
        let all = Expr::literal(Value::Int(1));
        let keys = if self.keys.is_empty() { std::slice::from_ref(&all) } else { &self.keys };
        let named = |(index, key): (usize, &Expr)| NamedExpr {
            name: format!("key_{index}"),
            expr: key.clone(),
        };
        let keys = keys.iter().enumerate().map(named).collect();
        let aggregates = vec![("rows".to_owned(), UnitAggregate::Rows)];
        Relation::new(Operator::Aggregate { input, keys, aggregates })
    }
}

impl Most {
    /// Calls `count` with all rows that are to be counted.
    pub fn each<'a>(&'a self, count: &mut dyn FnMut(&'a PublicRows)) {
        match self {
            Self::Known(_) => {}
            Self::Counted(rows) => count(rows),
            Self::Product(all) | Self::Sum(all) => {
                all.iter().for_each(|most| most.each(count));
            }
        }
    }

    /// The number; `count_of` counts rows of public tables.
    pub fn value(&self, count_of: &dyn Fn(&PublicRows) -> u64) -> u64 {
        let each = |all: &[Self]| -> Vec<u64> { all.iter().map(|m| m.value(count_of)).collect() };
        match self {
            Self::Known(rows) => *rows,
            Self::Counted(rows) => count_of(rows),
            Self::Product(all) => each(all).into_iter().fold(1, u64::saturating_mul),
            Self::Sum(all) => each(all).into_iter().fold(0, u64::saturating_add),
        }
    }

    /// A product in which what has no rows counts as one: its partners may stay alone.
    fn times(self, other: Self) -> Self {
        match (self, other) {
            (Self::Known(1), most) | (most, Self::Known(1)) => most,
            (one, other) => Self::Product(vec![one, other]),
        }
    }
}

impl PrivateQuery {
    /// The joins of protected rows with public ones, in the order in which
    /// [`check_row`](Self::check_row) takes their numbers.
    pub fn public_joins(&self, contract: &Contract) -> Vec<PublicJoin> {
        let references = References::of(contract);
        let mut joins = Vec::new();
        self.added_by(&mut |side: PublicSide<'_>| {
            let PublicSide { rows, keys } = side;
            let fields = rows.fields().iter();
            let columns: Vec<(String, ColumnType)> =
                fields.map(|field| (field.name.clone(), field.column_type)).collect();
            let tables: Vec<&str> = rows.tables().into_iter().collect();
            let compared = keys.iter().filter(|key| key.reads_columns());
            let compared = compared.map(|key| short(key, &columns));
            let compared: Vec<String> = compared.collect();
            let by = if compared.is_empty() { "" } else { " by " };
            let name = format!("`{}`{by}{}", tables.join("`, `"), compared.join(", "));
            let most = references.most(rows, keys.into_iter().cloned().collect());
            joins.push(PublicJoin { most, name });
            1
        });
        joins
    }

    /// The cost that one row can add to the query, where it meets that many rows in each of its
    /// [`public_joins`](Self::public_joins).
    ///
    /// # Errors
    /// When it meets more than `most` rows in all joins together, or adds more operations than it
    /// may.
    pub fn check_row(&self, joins: &[(String, u64)], most: u32) -> Result<AddedCost, Refusal> {
        let added = self.added(joins);
        let several = joins.iter().filter(|(_, rows)| *rows > 1);
        let several: Vec<String> =
            several.map(|(name, rows)| format!("{rows} rows of {name}")).collect();
        if added.matches > most.into() {
            return Err(Refusal::new(
                format!(
                    "one row could meet {} rows of public tables ({}); at most {most} are \
                     allowed, so that the time of a query does not show whether a row is there",
                    added.matches,
                    several.join(", ")
                ),
                "join on values in which few public rows agree; or use IN or EXISTS in place of \
                 the join; or GROUP BY the joined columns in a sub-query; the owner of the data \
                 can set max_matches_per_row in the contract",
            ));
        }
        if added.operations <= MAX_ADDED_OPERATIONS {
            return Ok(added);
        }
        let meets = match several.as_slice() {
            [] => String::new(),
            several => format!("; it meets {}", several.join(", ")),
        };
        let limit = match self.relation.max_rows_joined() {
            Some(rows) => format!("; a unit has up to {rows} rows on each side of a join"),
            None => String::new(),
        };
        Err(Refusal::new(
            format!(
                "one row could add {} operations, as joins make up to {} rows of it{meets}{limit}; \
                 at most {MAX_ADDED_OPERATIONS} are allowed, which take a millisecond, so that the \
                 time of a query does not show whether a row is there",
                added.operations, added.rows
            ),
            self.fewer_rows(joins),
        ))
    }

    /// The hint for a query in which one row adds too much.
    fn fewer_rows(&self, joins: &[(String, u64)]) -> String {
        let otherwise = "join on values in which fewer rows agree, compute long expressions \
                         before the join, in a sub-query, or ask in several queries";
        let Some(most) = self.relation.max_rows_joined() else { return otherwise.to_owned() };
        let fits = |rows: u32| {
            let relation = self.relation.clone().with_rows_joined(rows).ok()?;
            let query = Self { relation, ..self.clone() };
            (query.added(joins).operations <= MAX_ADDED_OPERATIONS).then_some(rows)
        };
        let fewer = std::iter::successors(Some(most / 2), |rows| Some(rows / 2));
        match fewer.take_while(|rows| *rows > 0).find_map(fits) {
            Some(rows) => format!("max_rows_joined = {rows} in OPTIONS; or {otherwise}"),
            None => otherwise.to_owned(),
        }
    }

    fn added(&self, joins: &[(String, u64)]) -> AddedCost {
        let mut rows = joins.iter().map(|(_, rows)| *rows);
        // A join without a number is none that was counted.
        self.added_by(&mut |_| rows.next().unwrap_or(u64::MAX))
    }

    fn added_by(&self, most: &mut dyn FnMut(PublicSide<'_>) -> u64) -> AddedCost {
        added(&self.relation, (&self.outer_expressions(), self.measurements.len()), most)
    }

    /// The query with a limit on the rows of a unit in every join in which they can meet each
    /// other: `most`, or as many as one row may add to the query.
    pub(super) fn with_rows_joined(mut self, most: Option<u32>) -> Result<Self, Refusal> {
        if self.relation.has_meeting_rows() {
            let rows = match most {
                Some(rows) => rows,
                None => self.usual_rows_joined()?,
            };
            self.relation = self.relation.with_rows_joined(rows)?;
        }
        Ok(self)
    }

    /// As many rows of a unit in joins as one row may add to the query, and to the histograms from
    /// which its limits are chosen.
    fn usual_rows_joined(&self) -> Result<u32, Refusal> {
        let of = |query: &Self| {
            rows_joined(&query.relation, (&query.outer_expressions(), query.measurements.len()))
        };
        Ok(self.histograms()?.iter().map(of).fold(of(self), u32::min))
    }
}

impl References {
    /// The most rows of a public relation that agree in all keys.
    fn most(&self, rows: &Relation, keys: Vec<Expr>) -> Most {
        if rows.has_one(keys.iter()) || self.unique_key(rows, keys.iter()).is_some() {
            return Most::Known(1);
        }
        if let Some(table) = public_table(rows) {
            // Values that are not known yet are not compared.
            let keys = keys.into_iter().filter(|key| !reads_releases(key)).collect();
            return Most::Counted(PublicRows { rows: table, keys });
        }
        match rows.operator() {
            Operator::Filter { input, .. }
            | Operator::First { input, .. }
            | Operator::Take { input, .. } => self.most(input, keys),
            Operator::Project { input, columns } => {
                let exprs: Vec<&Expr> = columns.iter().map(|column| &column.expr).collect();
                self.most(input, written_out(keys, &exprs))
            }
            // Of each combination of keys there is one row.
            Operator::Aggregate { input, keys: of, .. } => {
                let exprs: Vec<&Expr> = of.iter().map(|key| &key.expr).collect();
                self.most(input, written_out(keys, &exprs))
            }
            Operator::Window { input, .. } => {
                let width = input.fields().len();
                let keys = keys.into_iter().filter(|key| reads_below(key, width));
                self.most(input, keys.collect())
            }
            Operator::UnionAll { inputs } => {
                let each = inputs.iter().map(|input| self.most(input, keys.clone()));
                Most::Sum(each.collect())
            }
            Operator::Join { kind, left, right, on, .. } => {
                self.most_pairs(*kind, (left, right), on, keys)
            }
            // Counted above.
            Operator::Scan { .. } => Most::Counted(PublicRows { rows: rows.clone(), keys }),
        }
    }

    /// The most pairs of two public relations that agree in all keys: as many rows of one side as
    /// agree in its keys, each with as many of the other as agree in its keys and in what the join
    /// compares. The first is the side that has keys; each side is looked at once, as a chain of
    /// joins would take twice as long with each of them otherwise.
    fn most_pairs(
        &self,
        kind: JoinKind,
        (left, right): (&Relation, &Relation),
        on: &[(Expr, Expr)],
        keys: Vec<Expr>,
    ) -> Most {
        let width = left.fields().len();
        let (mut left_keys, mut right_keys) = (Vec::new(), Vec::new());
        for key in keys {
            if reads_below(&key, width) {
                left_keys.push(key);
            } else if reads_from(&key, width) {
                right_keys.push(key.moved(&|column| column - width));
            }
        }
        if !kind.shows_right() {
            return self.most(left, left_keys);
        }
        if left_keys.is_empty() && kind == JoinKind::Inner {
            left_keys.extend(on.iter().map(|(l, _)| l.clone()));
            return self.most(left, left_keys).times(self.most(right, right_keys));
        }
        right_keys.extend(on.iter().map(|(_, r)| r.clone()));
        let partners = self.most(right, right_keys);
        // A left row without a partner is one row.
        let partners = match kind {
            JoinKind::Left => Most::Sum(vec![Most::Known(1), partners]),
            _ => partners,
        };
        self.most(left, left_keys).times(partners)
    }
}

/// A table with the conditions on it, except for those on values that are not released yet; `None`
/// for what is no table.
fn public_table(rows: &Relation) -> Option<Relation> {
    match rows.operator() {
        Operator::Scan { .. } => Some(rows.clone()),
        Operator::Filter { input, condition } => {
            let input = public_table(input)?;
            if reads_releases(condition) {
                return Some(input);
            }
            let condition = condition.clone();
            Relation::new(Operator::Filter { input, condition }).ok()
        }
        _ => None,
    }
}

/// Whether an expression reads values that an earlier part releases.
fn reads_releases(expr: &Expr) -> bool {
    let mut reads = false;
    expr.visit(&mut |e| {
        reads |=
            matches!(e.kind, ExprKind::Released(_) | ExprKind::Among(..) | ExprKind::ValueAt(..));
    });
    reads
}

/// Whether an expression reads columns before `width` alone.
fn reads_below(expr: &Expr, width: usize) -> bool {
    let mut below = true;
    expr.visit_columns(&mut |column| below &= column < width);
    below
}

/// Whether an expression reads columns from `width` on alone.
fn reads_from(expr: &Expr, width: usize) -> bool {
    let mut from = true;
    expr.visit_columns(&mut |column| from &= column >= width);
    from
}

/// Keys over computed columns as keys over what these are computed from. A key that reads another
/// column, or is too long, is left out: more rows agree without it.
fn written_out(keys: Vec<Expr>, columns: &[&Expr]) -> Vec<Expr> {
    let write = |mut key: Expr| {
        let (mut nodes, mut known) = (key.size().1, true);
        key.visit_columns(&mut |index| match columns.get(index) {
            Some(column) => nodes = nodes.saturating_add(column.size().1),
            None => known = false,
        });
        if !known || nodes > MAX_NODES {
            return None;
        }
        let null = ExprKind::Literal(Value::Null);
        let kind =
            |index: usize| columns.get(index).map_or_else(|| null.clone(), |c| c.kind.clone());
        key.replace_columns(&kind);
        Some(key)
    };
    keys.into_iter().filter_map(write).collect()
}
