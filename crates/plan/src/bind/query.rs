//! The checked query.

use hushtable_contract::{IntervalRequest, LearntBounds, NoiseKind, Prefer};
use hushtable_lang::cost::RowExpression;
use hushtable_lang::{ColumnType, Expr, Refusal, cost};
use hushtable_mechanisms::{Reach, RecordMechanism};
use hushtable_numbers::MAX_LATTICE;
use hushtable_privacy::{Contribution, Delta, Loss, Neighbouring};
use serde::{Deserialize, Serialize};

use super::limit_sources::LimitSources;
use super::listed_groups::listed_groups;
use super::{Automatic, Groups, Key, Measure, Measurement, Order, Output};
use crate::relation::Relation;
use crate::warning::Warning;

/// Most operations in the conditions of outer joins, of EXISTS and of NOT EXISTS: they are computed
/// where rows meet, and the first two that do cost about 0.3 microseconds for each of these.
pub const MAX_MATCH_OPERATIONS: usize = 20;

/// Most operations of all expressions in joins and sub-queries: a row that begins a new batch costs
/// as much as some hundred further ones.
const MAX_RELATION_OPERATIONS: usize = 400;

/// A checked query: what is read, how it is bounded, what is measured, what is shown.
///
/// Everything that its privacy rests on follows from its structure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrivateQuery {
    /// Whose budget pays: a population of the contract.
    pub(super) population: String,
    /// The rows that are bounded and aggregated.
    pub(super) relation: Relation,
    /// The relation's columns, which [`Expr`]s over rows count, by names that tell them apart.
    pub(super) columns: Vec<(String, ColumnType)>,
    /// Most bytes of a text in each of them; longer text is NULL.
    pub(super) column_bytes: Vec<usize>,
    /// Position of the privacy unit's column; `None` where every row is a unit.
    pub(super) unit: Option<usize>,
    /// Which tables are neighbours.
    pub(super) neighbouring: Neighbouring,
    /// Condition on rows. Rows with public keys that are not listed are already left out.
    pub(super) filter: Option<Expr>,
    /// Group keys; empty without GROUP BY.
    pub(super) keys: Vec<Key>,
    /// How it is known which groups appear.
    pub(super) groups: Groups,
    /// Most groups that one unit enters.
    pub(super) max_groups_contributed: u32,
    /// The measurements of each group, each once.
    pub(super) measurements: Vec<Measurement>,
    /// The columns that are shown, computed from released keys and measurements.
    pub(super) outputs: Vec<Output>,
    /// Condition on released groups.
    pub(super) having: Option<Expr>,
    /// Order of the rows shown; by key where empty.
    pub(super) order_by: Vec<Order>,
    /// Most rows shown.
    pub(super) limit: Option<u64>,
    /// Rows left out before the first shown.
    pub(super) offset: u64,
    /// Loss that the whole query may have, with the delta for choosing groups; where none are
    /// chosen, Gaussian noise may cost `noise_delta` beside it.
    pub(super) loss: Loss,
    /// The noise that it asks for; `None` to take the better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) noise: Option<NoiseKind>,
    /// The contract's default, where the query names no noise: it has that where it can.
    #[serde(skip)]
    pub(super) usual_noise: Option<NoiseKind>,
    /// Its preference, by which its mechanisms are chosen.
    #[serde(default, skip_serializing_if = "Prefer::is_default")]
    pub(super) prefer: Prefer,
    /// The delta that Gaussian noise may cost where no group is chosen privately.
    pub(super) noise_delta: Delta,
    /// The intervals that are wanted beside released values. They are no part of what is asked, as
    /// they follow from what is released.
    #[serde(skip)]
    pub(super) intervals: Option<IntervalRequest>,
    /// Where its limits on the rows of a unit in joins come from, for readers.
    #[serde(skip)]
    pub(super) limit_sources: LimitSources,
    /// Probable mistakes in it. They are no part of what is asked.
    #[serde(skip)]
    pub(super) warnings: Vec<Warning>,
    /// The keys of it, or of other levels of its table, that leave rows out whose values are not
    /// listed: by name, for readers. The condition has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) listed: Vec<String>,
    /// The bounds that are on record from an earlier question, for readers. Measurements have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) learnt: Vec<LearntBounds>,
    /// Whether a count of rows is measured as one of units, of which one row counts. The same is
    /// asked without it.
    #[serde(skip)]
    pub(super) rows_as_units: bool,
    /// Its limits that are chosen privately; it has examples in their place until they are.
    #[serde(default, skip_serializing_if = "Automatic::is_none")]
    pub(super) automatic: Automatic,
    /// The number of groups that a unit is usually in, where its limit was chosen by a released
    /// histogram. It is a wish: its mechanisms are chosen by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) usual_groups: Option<u32>,
}

impl PrivateQuery {
    /// Where its limits on the rows of a unit in joins come from.
    pub fn limit_sources(&self) -> LimitSources {
        self.limit_sources
    }

    /// Whose budget pays: a population of the contract.
    pub fn population(&self) -> &str {
        &self.population
    }

    /// The rows that are bounded and aggregated.
    pub fn relation(&self) -> &Relation {
        &self.relation
    }

    /// The relation's columns, which [`Expr`]s over rows count, by names that tell them apart.
    pub fn columns(&self) -> &[(String, ColumnType)] {
        &self.columns
    }

    /// Most bytes of a text in each column; longer text is NULL.
    pub fn column_bytes(&self) -> &[usize] {
        &self.column_bytes
    }

    /// Position of the privacy unit's column; `None` where every row is a unit.
    pub fn unit(&self) -> Option<usize> {
        self.unit
    }

    /// The relation between tables that the promise holds for.
    pub fn neighbouring(&self) -> Neighbouring {
        self.neighbouring
    }

    /// The condition on rows. Rows with public keys that are not listed are already left out.
    pub fn filter(&self) -> Option<&Expr> {
        self.filter.as_ref()
    }

    /// Group keys; empty without GROUP BY.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// How it is known which groups appear.
    pub fn groups(&self) -> Groups {
        self.groups
    }

    /// Most groups that one unit enters.
    pub fn max_groups_contributed(&self) -> u32 {
        self.max_groups_contributed
    }

    /// How far one unit reaches into the groups.
    pub fn reach(&self) -> Reach {
        let groups = u64::from(self.max_groups_contributed);
        Reach { groups, neighbouring: self.neighbouring }
    }

    /// The measurements of each group, each once.
    pub fn measurements(&self) -> &[Measurement] {
        &self.measurements
    }

    /// The columns that are shown, computed from released keys and measurements.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// The condition on released groups.
    pub fn having(&self) -> Option<&Expr> {
        self.having.as_ref()
    }

    /// Order of the rows shown; by key where empty.
    pub fn order_by(&self) -> &[Order] {
        &self.order_by
    }

    /// Most rows shown.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Rows left out before the first shown.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The most that the whole query may cost, with the delta for choosing groups; where none are
    /// chosen, Gaussian noise may cost [`noise_delta`](Self::noise_delta) beside it.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// The noise that the query asks for; `None` to take the better.
    pub fn noise(&self) -> Option<NoiseKind> {
        self.noise
    }

    /// Preference of the query, by which its mechanisms are chosen.
    pub fn prefer(&self) -> Prefer {
        self.prefer
    }

    /// The delta that Gaussian noise may cost where no group is chosen privately.
    pub fn noise_delta(&self) -> Delta {
        self.noise_delta
    }

    /// The intervals that its OPTIONS or the contract's defaults ask for.
    pub fn intervals(&self) -> Option<IntervalRequest> {
        self.intervals
    }

    /// Probable mistakes in the query. They are no part of what is asked.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The names of the keys that leave rows out whose values are not among the public ones.
    pub fn listed(&self) -> &[String] {
        &self.listed
    }

    /// Whether a count of rows is measured as one of units, of which one row counts.
    pub fn rows_as_units(&self) -> bool {
        self.rows_as_units
    }

    /// The query at another cost.
    pub fn with_loss(self, loss: Loss) -> Self {
        Self { loss, ..self }
    }

    /// The number of groups, where it is known without the data.
    pub fn listed_groups(&self) -> Option<usize> {
        (!matches!(self.groups, Groups::Private { .. })).then(|| listed_groups(&self.keys))
    }

    /// The query with the share of a budget that another one has.
    pub(crate) fn at_the_price_of(mut self, other: &Self) -> Self {
        (self.loss, self.noise_delta) = (other.loss, other.noise_delta);
        self.settle_noise();
        self
    }

    /// The wishes by which its mechanisms are chosen when its limits are known: they are no part of
    /// what is asked where the mechanisms themselves are.
    pub fn wishes(&self) -> String {
        let Self { noise, usual_noise, prefer, noise_delta, loss, usual_groups, .. } = self;
        let groups = self.groups;
        let usual_groups = usual_groups.map_or_else(String::new, |usual| format!(" {usual}"));
        format!(
            "{noise:?} {usual_noise:?} {prefer:?} {noise_delta} {loss} {groups:?}{usual_groups}"
        )
    }

    /// The number of groups that a unit is usually in, as a released histogram has it: the mean
    /// over all pairs of a unit and a group, up to the limit. `None` where nothing is known of it.
    pub fn usual_groups(&self) -> Option<u32> {
        self.usual_groups
    }

    /// The query with a number of groups that a unit is usually in.
    pub fn with_usual_groups(self, usual_groups: Option<u32>) -> Self {
        Self { usual_groups, ..self }
    }

    /// The query with another limit on the groups of a unit.
    pub fn with_max_groups(self, most: u32) -> Self {
        Self { max_groups_contributed: most.max(1), ..self }
    }

    /// Gives the query another share of a budget, with the delta that it has.
    pub(crate) fn set_share(&mut self, share: Loss) {
        self.loss = share.with_delta(self.loss.delta());
        self.settle_noise();
    }

    /// Gives the query its share of a workload's delta.
    pub(crate) fn set_delta(&mut self, delta: Delta) {
        self.loss = self.loss.with_delta(delta);
        self.noise_delta = Delta::ZERO;
        self.settle_noise();
    }

    /// The query without the names that readers see for measurements, and without the wishes by
    /// which its mechanisms are chosen: an identity has the mechanisms themselves.
    pub(crate) fn unnamed(&self) -> Self {
        let mut query = self.clone();
        query.measurements.iter_mut().for_each(|m| m.name = String::new());
        (query.noise, query.usual_noise, query.prefer) = (None, None, Prefer::default());
        (query.noise_delta, query.usual_groups) = (Delta::ZERO, None);
        if let Groups::Private { strategy, weight, .. } = &mut query.groups {
            (*strategy, *weight) = (None, None);
        }
        query
    }

    /// The query without what is computed from its release, and without what does not change what
    /// is released with the same mechanisms.
    pub(crate) fn released_part(&self) -> Self {
        Self {
            outputs: Vec::new(),
            having: None,
            order_by: Vec::new(),
            limit: None,
            offset: 0,
            usual_noise: None,
            intervals: None,
            limit_sources: LimitSources::default(),
            warnings: Vec::new(),
            listed: Vec::new(),
            learnt: Vec::new(),
            rows_as_units: false,
            ..self.unnamed()
        }
    }

    /// The text that tells apart what columns show of a release.
    ///
    /// # Errors
    /// When the query cannot be serialised, which binding excludes.
    pub fn shown_in(&self, column: usize) -> Result<String, serde_json::Error> {
        // Expressions count keys and measurements in the query's own order.
        let Self { keys, measurements, having, order_by, limit, offset, .. } = &self.unnamed();
        let expr = self.outputs.get(column).map(|output| &output.expr);
        serde_json::to_string(&(keys, measurements, expr, having, order_by, limit, offset))
    }

    /// The query with every sum that is not clamped released by this mechanism, at its default
    /// offset.
    pub fn with_mechanism(mut self, mechanism: RecordMechanism) -> Self {
        let sums = self.measurements.iter_mut().filter_map(|m| m.measure.per_record_mut());
        sums.for_each(|sum| (sum.mechanism, sum.offset) = (mechanism, None));
        self
    }

    /// The query with all bounds of sums `times`/`divisor` as large; `None` where they are then too
    /// large to be exact. Owners use it to compare bounds.
    pub fn with_bounds_times(mut self, times: u32, divisor: u32) -> Option<Self> {
        let scaled = |bound: i64| {
            let bound = i128::from(bound) * i128::from(times) / i128::from(divisor.max(1));
            i64::try_from(bound).ok().filter(|steps| steps.abs() <= MAX_LATTICE)
        };
        for measurement in self.measurements.iter_mut().filter(|m| m.has_bounds()) {
            measurement.low = scaled(measurement.low)?;
            measurement.high = scaled(measurement.high)?;
            if let Measure::SumOfRows { low, high, .. } = &mut measurement.measure {
                *low = scaled(*low)?;
                *high = scaled(*high)?;
            }
        }
        Some(self)
    }

    /// Bound on one unit's effect on the sums of a measurement.
    pub fn contribution(&self, measurement: &Measurement) -> Contribution {
        let single_group = self.groups == Groups::Single;
        Contribution {
            groups: self.max_groups_contributed,
            single_group,
            low: measurement.low,
            high: measurement.high,
            beside: self.rows_beside(measurement),
        }
    }

    /// Whether another query has the same mechanisms. Which rows are read, how they are grouped and
    /// what is shown does not affect noise. But where rows belong to two populations, it matters
    /// whether units keep all of their groups.
    pub fn is_calibrated_as(&self, other: &Self) -> bool {
        let by_key = |query: &Self| query.measurements.iter().any(|m| m.thresholds().is_some());
        self.neighbouring == other.neighbouring
            && self.unit.is_some() == other.unit.is_some()
            && self.relation.beside() == other.relation.beside()
            && (self.relation.beside().is_none()
                || self.keeps_all_groups() == other.keeps_all_groups())
            && self.groups == other.groups
            && self.max_groups_contributed == other.max_groups_contributed
            && self.usual_groups == other.usual_groups
            && self.measurements == other.measurements
            && (!by_key(self) || self.keys == other.keys)
            && (self.loss, self.noise_delta) == (other.loss, other.noise_delta)
            && (self.noise, self.usual_noise) == (other.noise, other.usual_noise)
            && self.prefer == other.prefer
            && self.rows_as_units == other.rows_as_units
            && self.automatic == other.automatic
    }

    /// Whether a record counts as often as it has pieces when groups are chosen.
    pub fn chooses_by_pieces(&self) -> bool {
        matches!(self.groups, Groups::Private { by_pieces: true, .. })
    }

    /// Whether all of its promise is about a unit as a whole, not about the size of its records.
    pub fn is_of_units(&self) -> bool {
        let per_record = |m: &Measurement| m.measure.per_record().is_some();
        !self.chooses_by_pieces() && !self.measurements.iter().any(per_record)
    }

    /// Refuses a query in which one row can cost more than it may.
    pub(super) fn check_cost(&self) -> Result<(), Refusal> {
        let mut expressions = self.relation.row_expressions();
        let operations = self.relation.operations();
        if operations > MAX_RELATION_OPERATIONS {
            return Err(Refusal::new(
                format!(
                    "the joins and sub-queries have {operations} operations; at most \
                     {MAX_RELATION_OPERATIONS} are allowed, so that the time of a query does \
                     not show whether a row is there"
                ),
                "move long expressions to the outer query, or to computed columns of the \
                 contract",
            ));
        }
        let matching: usize =
            self.relation.match_conditions().iter().map(|condition| condition.size().1).sum();
        if matching > MAX_MATCH_OPERATIONS {
            return Err(Refusal::new(
                format!(
                    "the conditions of outer joins, of EXISTS and of NOT EXISTS have {matching} \
                     operations beside equalities; at most {MAX_MATCH_OPERATIONS} are allowed, \
                     so that the time of a query does not show whether two rows meet"
                ),
                "move long expressions to the SELECT of a sub-query, and use the column that it \
                 computes in the condition; or to WHERE, after the join",
            ));
        }
        expressions.extend(self.outer_expressions());
        cost::check(&expressions)
    }

    /// Everything that is computed from single rows of the relation, and where in the query it is.
    pub(super) fn outer_expressions(&self) -> Vec<RowExpression<'_>> {
        let mut expressions = Vec::new();
        let row_expression = |context: String, expr| {
            let columns = self.column_bytes.clone();
            RowExpression { clause: context, expr, columns }
        };
        // Public keys are looked up in their lists, together with WHERE.
        let public = self.keys.iter().any(|key| key.public.is_some());
        let clause = if public { "WHERE or the public keys" } else { "WHERE" };
        expressions.extend(self.filter.iter().map(|e| row_expression(clause.to_owned(), e)));
        expressions
            .extend(self.keys.iter().map(|key| row_expression("GROUP BY".to_owned(), &key.expr)));
        for measurement in &self.measurements {
            let context = || format!("the {}", measurement.name);
            expressions.extend(measurement.measure.operand().map(|e| row_expression(context(), e)));
            let classes =
                measurement.measure.per_record().and_then(|s| s.thresholds.classes.as_ref());
            if let Some(classes) = classes.filter(|_| self.chooses_by_pieces()) {
                expressions.push(row_expression(context(), &classes.expr));
            }
        }
        expressions
    }

    /// The privacy unit as readers know it: the column that names it, or `row`.
    pub fn unit_name(&self) -> &str {
        let column = self.unit.and_then(|unit| self.columns.get(unit));
        column.map_or("row", |(name, _)| name)
    }
}
