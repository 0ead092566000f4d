//! Limits that are chosen privately: `max_groups_contributed = AUTO`, `max_rows_per_group = AUTO`
//! and `bounds = AUTO`.
//!
//! Each such limit follows from a *histogram*, a private query of its own about the same rows: how
//! many units are of which size. A size is the number of a unit's groups, in octaves, the most rows
//! that it has in one group, or its largest contribution to a sum or value of a row, in half
//! octaves. Each unit has one size, and so is in one group
//! of the histogram, and all of its groups are public. The histograms are released first, for a
//! share of the part's budget. The limit is computed from what they release (`quote::best_limit`),
//! and the query is then bound with it, as if its author had written it.
//!
//! *Privacy.* For every value of the limit the query keeps within its own share of the budget. The
//! limit is computed from earlier releases and the query's structure alone. So query and histograms
//! are an adaptive composition of mechanisms whose losses are fixed in advance, and their shares
//! add up. The query's mechanisms depend on the limit; the ledger is therefore charged what any of
//! them may lose: the whole share, as an (epsilon, delta) or a rho.

use hushtable_contract::{AUTO, Prefer};
use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind, Function, Refusal, Value};
use hushtable_numbers::Step;
use hushtable_privacy::Delta;

use super::automatic_limits::{
    Automatic, AutomaticBounds, AutomaticLimit, EXAMPLE_BOUND, EXAMPLE_ROWS,
};
use super::clipping::{PerUnit, added_up, call, compare, float, named_unit, number, numbered};
use super::describe::short;
use super::limit_sources::LimitSources;
use super::{Groups, Key, Measure, Measurement, Output, PrivateQuery};
use crate::relation::{NamedExpr, Operator, Relation, UnitAggregate};

/// Octaves of numbers of groups: the last begins at 2^15.
pub const GROUP_OCTAVES: i32 = 16;
/// Buckets of contributions in each octave.
const HALVES: i32 = 2;
/// The largest contribution with a bucket of its own: 2^41.
const LAST_OCTAVE: i32 = 41;
/// The last number of a unit's rows in a group that ends a bucket: 2^20.
const LAST_ROWS: f64 = 1_048_576.0;
/// The end of the first bucket of contributions that are not whole numbers: 2^-10.
const FIRST_OCTAVE: i32 = -10;

/// The way out where limits cannot be chosen.
pub(crate) const GIVE_LIMITS: &str =
    "give the limits: max_groups_contributed = 3, max_rows_per_group = 2, and bounds of values";

impl PrivateQuery {
    /// The limits that are chosen privately.
    pub fn automatic(&self) -> &Automatic {
        &self.automatic
    }

    /// The limits that are chosen privately, for readers.
    pub fn automatic_limits(&self) -> Vec<AutomaticLimit> {
        let groups = self.automatic.groups.then(|| AutomaticLimit {
            limit: "max_groups_contributed".to_owned(),
            example: self.max_groups_contributed.to_string(),
        });
        let rows = self.automatic.rows.then(|| AutomaticLimit {
            limit: "max_rows_per_group".to_owned(),
            example: EXAMPLE_ROWS.to_string(),
        });
        let bounds = self.automatic.bounds.iter().map(|bounds| {
            let name = short(&bounds.of, &self.columns);
            let is_sum = |m: &Measurement| {
                !bounds.per_row && matches!(&m.measure, Measure::ClampedSum(of) if *of == bounds.of)
            };
            let of = if self.measurements.iter().any(is_sum) { "sum" } else { "values" };
            let example = format!("-{EXAMPLE_BOUND} to {EXAMPLE_BOUND}");
            AutomaticLimit { limit: format!("bounds of the {of} of {name}"), example }
        });
        groups.into_iter().chain(rows).chain(bounds).collect()
    }

    /// Refuses limits that are chosen privately where they cannot be.
    pub(super) fn check_automatic(&self) -> Result<(), Refusal> {
        if self.automatic.is_none() || self.populations().count() == 1 {
            return Ok(());
        }
        Err(Refusal::new(
            format!(
                "limits that are chosen privately ({AUTO}) with rows of two populations are not \
                 supported"
            ),
            GIVE_LIMITS,
        ))
    }

    /// The histograms from which the limits are chosen: of groups first, then of rows in a group,
    /// then one for each pair of bounds.
    ///
    /// # Errors
    /// When a row of one would cost more than it may.
    pub(super) fn histograms(&self) -> Result<Vec<Self>, Refusal> {
        let mut all = Vec::new();
        let refused = |refusal: Refusal| {
            Refusal::new(
                format!("limits of this SELECT cannot be chosen privately: {}", refusal.what),
                GIVE_LIMITS,
            )
        };
        if self.automatic.groups {
            all.push(self.histogram_of_groups().map_err(refused)?);
        }
        if self.automatic.rows {
            all.push(self.histogram_of_rows().map_err(refused)?);
        }
        for sum in &self.automatic.bounds {
            all.push(self.histogram_of(sum).map_err(refused)?);
        }
        Ok(all)
    }

    /// Units by their number of groups.
    fn histogram_of_groups(&self) -> Result<Self, Refusal> {
        let groups = self.unit_groups(vec![UnitAggregate::Rows])?;
        let mut per_unit = PerUnit::default();
        let size = float(per_unit.aggregate(UnitAggregate::Rows));
        let relation = per_unit.relation(groups)?;
        let edges = group_edges().map(Value::Float).collect();
        self.histogram(relation, None, in_bucket(size, edges), 0..=i64::from(GROUP_OCTAVES))
    }

    /// Units by the most rows that they have in one group.
    fn histogram_of_rows(&self) -> Result<Self, Refusal> {
        let groups = self.unit_groups(vec![UnitAggregate::Rows])?;
        let mut per_unit = PerUnit::default();
        let rows = Expr::column(1 + self.keys.len(), UnitAggregate::Rows.column_type());
        let size = float(per_unit.aggregate(UnitAggregate::Max(rows)));
        let relation = per_unit.relation(groups)?;
        // A bucket has its larger end.
        let edges: Vec<Value> =
            row_buckets().iter().map(|(low, _)| Value::Float(low.next_up())).collect();
        let last = i64::try_from(edges.len()).map_err(|_| no_buckets())?;
        // A unit has a row at least in each of its groups.
        self.histogram(relation, None, in_bucket(size, edges), 1..=last)
    }

    /// Units by their largest contribution.
    fn histogram_of(&self, sum: &AutomaticBounds) -> Result<Self, Refusal> {
        let lows: Vec<f64> = size_buckets(&sum.of).iter().map(|(low, _)| *low).collect();
        // A bucket has its larger end, on both sides of zero.
        let below = lows.iter().rev().map(|low| Value::Float(-low));
        let above = lows.iter().map(|low| Value::Float(low.next_up()));
        let edges: Vec<Value> = below.chain(above).collect();
        let buckets = 0..=i64::try_from(edges.len()).map_err(|_| no_buckets())?;
        if self.unit.is_none() {
            // Each row is a unit, and has one value.
            let bucket = in_bucket(float(sum.of.clone()), edges);
            let (relation, filter) = (self.relation.clone(), self.filter.clone());
            return self.histogram(relation, filter, bucket, buckets);
        }
        let (rows, of) = match sum.per_row {
            true => (self.rows_with_unit()?, sum.of.clone()),
            false => {
                let sum = UnitAggregate::Sum(added_up(&sum.of));
                let column_type = sum.column_type();
                let groups = self.unit_groups(vec![sum])?;
                (groups, Expr::column(1 + self.keys.len(), column_type))
            }
        };
        let mut per_unit = PerUnit::default();
        let high = float(per_unit.aggregate(UnitAggregate::Max(of.clone())));
        let low = float(per_unit.aggregate(UnitAggregate::Min(of)));
        let relation = per_unit.relation(rows)?;
        let size = |end: &Expr| call(Function::Abs, vec![end.clone()]);
        let is_high = compare(BinaryOp::Ge, size(&high), size(&low));
        let largest = ExprKind::Case(vec![(is_high, high)], Some(Box::new(low)));
        let largest = Expr::new(largest, ColumnType::Float);
        self.histogram(relation, None, in_bucket(largest, edges), buckets)
    }

    /// Units by a bucket that each has one of.
    fn histogram(
        &self,
        relation: Relation,
        filter: Option<Expr>,
        bucket: Expr,
        buckets: std::ops::RangeInclusive<i64>,
    ) -> Result<Self, Refusal> {
        let values: Vec<Value> = buckets.map(Value::Int).collect();
        let listed = ExprKind::InList(Box::new(bucket.clone()), values.clone());
        let listed = Expr::new(listed, ColumnType::Bool);
        let filter = filter.into_iter().chain([listed]).reduce(|all, condition| all.and(condition));
        let units = Measurement {
            name: "units".to_owned(),
            measure: Measure::Units,
            low: 0,
            high: 1,
            step: Step::Whole(1),
            weight: 1,
            column_type: ColumnType::Int,
        };
        let output = |name: &str, column| Output {
            name: name.to_owned(),
            expr: Expr::column(column, ColumnType::Int),
        };
        let histogram = Self {
            filter,
            keys: vec![Key { expr: bucket, public: Some(values), by_query: false, known: None }],
            groups: Groups::Public,
            measurements: vec![units],
            outputs: vec![output("size", 0), output("units", 1)],
            ..self.beside(relation)
        };
        histogram.check_cost()?;
        Ok(histogram)
    }

    /// A query about rows of the same units at the same price, which asks nothing yet.
    pub(super) fn beside(&self, relation: Relation) -> Self {
        let fields = relation.fields();
        Self {
            population: self.population.clone(),
            columns: fields.iter().map(|f| (f.name.clone(), f.column_type)).collect(),
            column_bytes: fields.iter().map(|f| f.max_bytes).collect(),
            unit: relation.protection().unit(),
            neighbouring: self.neighbouring,
            filter: None,
            keys: Vec::new(),
            groups: Groups::Single,
            max_groups_contributed: 1,
            measurements: Vec::new(),
            outputs: Vec::new(),
            having: None,
            order_by: Vec::new(),
            limit: None,
            offset: 0,
            loss: self.loss.without_delta(),
            noise: None,
            usual_noise: None,
            prefer: Prefer::default(),
            noise_delta: Delta::ZERO,
            intervals: None,
            limit_sources: LimitSources::default(),
            warnings: Vec::new(),
            listed: Vec::new(),
            learnt: Vec::new(),
            rows_as_units: false,
            automatic: Automatic::default(),
            usual_groups: None,
            relation,
        }
    }

    /// The rows that count, with a column that names their unit.
    pub(super) fn rows_with_unit(&self) -> Result<Relation, Refusal> {
        let mut rows = self.relation.clone();
        if let Some(condition) = self.filter.clone() {
            rows = Relation::new(Operator::Filter { input: rows, condition })?;
        }
        if self.unit.is_none() {
            // Rows that are units get a column that names them.
            rows = Relation::new(Operator::UnionAll { inputs: vec![rows] })?;
        }
        Ok(rows)
    }

    /// A row for each group of each unit: the unit, the keys and the aggregates.
    pub(super) fn unit_groups(&self, aggregates: Vec<UnitAggregate>) -> Result<Relation, Refusal> {
        let rows = self.rows_with_unit()?;
        let unit = named_unit(&rows)?;
        let key = |(index, key): (usize, &Key)| NamedExpr {
            name: format!("key_{index}"),
            expr: key.expr.clone(),
        };
        let keys = std::iter::once(unit).chain(self.keys.iter().enumerate().map(key)).collect();
        let aggregates = numbered(aggregates);
        Relation::new(Operator::Aggregate { input: rows, keys, aggregates })
    }
}

/// The least number of groups of each octave but the first: 2, 3, 5, 9 and so on.
fn group_edges() -> impl Iterator<Item = f64> {
    (0..GROUP_OCTAVES).map(|power| 2f64.powi(power) + 1.0)
}

/// The buckets of a sum's contributions on one side of zero, ascending: above the first end, at
/// most the second. The last one has whatever is larger, too. Small whole numbers have one each.
pub fn size_buckets(of: &Expr) -> Vec<(f64, f64)> {
    let whole = of.column_type == ColumnType::Int;
    let first = if whole { 0 } else { HALVES * FIRST_OCTAVE };
    // Exact factors, as ends are a part of the question.
    let ends = (first..=HALVES * LAST_OCTAVE).map(|half| {
        let odd = if half % HALVES == 0 { 1.0 } else { std::f64::consts::SQRT_2 };
        2f64.powi(half.div_euclid(HALVES)) * odd
    });
    let mut highs: Vec<f64> = ends.map(|end| if whole { end.round() } else { end }).collect();
    if whole {
        highs.extend((1..=SINGLE).map(f64::from));
        highs.sort_by(f64::total_cmp);
        highs.dedup();
    }
    let before = highs.first().map(|first| first / 2.0);
    before.into_iter().chain(highs.clone()).zip(highs).collect()
}

/// The buckets of the most rows of a unit in a group, ascending, from the first one on. The last
/// one has whatever is larger, too.
pub fn row_buckets() -> Vec<(f64, f64)> {
    let rows = Expr::literal(Value::Int(1));
    size_buckets(&rows).into_iter().filter(|(_, high)| *high <= LAST_ROWS).collect()
}

/// The last whole number with a bucket of its own.
const SINGLE: u32 = 8;

/// How many of the ascending edges are not above the value: NULL counts as zero.
fn in_bucket(value: Expr, edges: Vec<Value>) -> Expr {
    let value = call(Function::Coalesce, vec![value, number(0)]);
    let edges = edges.into_iter().map(Expr::literal);
    let operands = std::iter::once(value).chain(edges).collect();
    Expr::call(Function::RangeBucket, operands, ColumnType::Int)
}

fn no_buckets() -> Refusal {
    Refusal::fault("the sizes of contributions have too many buckets")
}
