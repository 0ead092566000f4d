//! Joins as hash joins.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::{JoinSide, JoinType, NullEquality};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use hushtable_lang::{Expr, ExprKind};
use hushtable_plan::{JoinKind, MAX_MATCH_OPERATIONS, Operator, Protection, Relation};

use super::extra_row::of_input;
use super::{
    ExtraRowExec, Lowering, NeededColumns, NeverEmptyExec, SharedPlan, TotalExpr, column,
    select_columns,
};
use crate::error::EngineError;
use crate::source::TableData;

impl Lowering<'_> {
    /// A join. One side is hashed into tables, the other looks up in them: a public side, or of two
    /// protected ones the one with the smaller files. It is one table for all partitions, or one
    /// for each. The time depends on the files' sizes; the result does not. Where only the
    /// existence of a partner matters, equal partners count once.
    pub(super) async fn join(
        &self,
        relation: &Relation,
        requested: &[usize],
    ) -> Result<SharedPlan, EngineError> {
        let Operator::Join { kind, left, right, on, condition, .. } = relation.operator() else {
            return Err(EngineError::inconsistent(
                "a join is to be planned from an operator that is none",
            ));
        };
        let (kind, condition) = (*kind, condition.as_ref());
        let width = left.fields().len();
        let (mut left_needed, mut right_needed) =
            (NeededColumns::default(), NeededColumns::default());
        let mut need = |index: usize| match index.checked_sub(width) {
            None => left_needed.add_column(index),
            Some(index) => right_needed.add_column(index),
        };
        requested.iter().for_each(|&index| need(index));
        if let Some(condition) = condition {
            condition.visit_columns(&mut need);
        }
        on.iter().for_each(|(l, r)| {
            left_needed.add(l);
            right_needed.add(r);
        });
        // Computed keys are columns behind the others: partitioning looks at columns.
        let (left_plan, left_keys) =
            self.side(left, &left_needed, &on.iter().map(|(l, _)| l).collect::<Vec<_>>()).await?;
        let (right_plan, right_keys) =
            self.side(right, &right_needed, &on.iter().map(|(_, r)| r).collect::<Vec<_>>()).await?;

        // Only whether there is a partner matters: equal ones are one, or n rows of a unit would be
        // compared with n others. Rows that refer to others meet one each.
        let refers = matches!(right.protection(), Protection::Reference { .. });
        let repeats = !refers && !right.has_one(on.iter().map(|(_, r)| r));
        let looks_once = !kind.shows_right() && condition.is_none();
        let (right_plan, right_keys) = match looks_once && repeats {
            true => self.distinct(right_plan, &right_keys)?,
            false => (right_plan, right_keys),
        };
        let limits = relation.row_limits();
        let is_limited = limits != [None, None];
        let (left_plan, right_plan) = match is_limited {
            // Partitions are by the unit, as all of its rows are limited together.
            true => {
                let unit = unit_in(left, right, on).ok_or(EngineError::inconsistent(
                    "a join that limits rows has no unit among its keys",
                ))?;
                let limit = |plan, keys: &[usize], rows: Option<u32>| {
                    let index = *keys.get(unit).ok_or(EngineError::inconsistent(
                        "a join that limits rows has no column for the unit's key",
                    ))?;
                    match rows {
                        Some(rows) => self.limited(plan, index, rows),
                        None => self.repartitioned(plan, &[index]),
                    }
                };
                let [left_limit, right_limit] = limits;
                (
                    limit(left_plan, &left_keys, left_limit)?,
                    limit(right_plan, &right_keys, right_limit)?,
                )
            }
            false => (left_plan, right_plan),
        };

        let public = |relation: &Relation| *relation.protection() == Protection::Public;
        let build_left = match (public(left), public(right)) {
            (true, false) => true,
            (false, true) => false,
            // The side that looks up keeps its unmatched rows, so outer, semi and anti joins build
            // from the right side.
            _ if kind != JoinKind::Inner => false,
            _ => self.bytes(left) <= self.bytes(right),
        };
        let (built, probed) = if build_left { (left, right) } else { (right, left) };
        let shared = match (public(built), public(probed)) {
            (true, false) => true,
            _ => !is_limited && self.is_one_table(built, probed),
        };
        let (build, probe, build_keys, probe_keys) = match build_left {
            true => (left_plan, right_plan, left_keys, right_keys),
            false => (right_plan, left_plan, right_keys, left_keys),
        };
        let (mode, build, probe): (_, SharedPlan, SharedPlan) = match shared {
            true => {
                let all = Arc::new(CoalescePartitionsExec::new(build));
                (PartitionMode::CollectLeft, all, probe)
            }
            false if is_limited => (PartitionMode::Partitioned, build, probe),
            false => {
                let build = self.repartitioned(build, &build_keys)?;
                (PartitionMode::Partitioned, build, self.repartitioned(probe, &probe_keys)?)
            }
        };
        let keys = build_keys.iter().zip(&probe_keys);
        let mut keys: Vec<_> =
            keys.map(|(&b, &p)| (column(&build, b), column(&probe, p))).collect();
        let (build, probe) = match public(left) || public(right) {
            // It is public whether the public side has rows.
            true => (build, probe),
            false => {
                let (build, probe): (SharedPlan, SharedPlan) =
                    (Arc::new(ExtraRowExec::new(build)?), of_input(probe)?);
                let last = |plan: &SharedPlan| column(plan, plan.schema().fields().len() - 1);
                keys.push((last(&build), last(&probe)));
                (build, probe)
            }
        };
        // Within an inner join, a long condition would run only from the first pair on.
        let (within, after) = match condition {
            Some(long) if kind == JoinKind::Inner && long.size().1 > MAX_MATCH_OPERATIONS => {
                (None, Some(long))
            }
            _ => (condition, None),
        };
        let filter = within
            .map(|condition| {
                let plans = if build_left { (&build, &probe) } else { (&probe, &build) };
                filter(
                    condition,
                    width,
                    (&left_needed, &right_needed),
                    plans,
                    (build_left, self.padded),
                )
            })
            .transpose()?;
        let join_type = match (kind, build_left) {
            (JoinKind::Inner, _) => JoinType::Inner,
            // The left side looks up, and is the plan's right.
            (JoinKind::Left, false) => JoinType::Right,
            (JoinKind::Semi, false) => JoinType::RightSemi,
            (JoinKind::Anti, false) => JoinType::RightAnti,
            (JoinKind::Left | JoinKind::Semi | JoinKind::Anti, true) => {
                return Err(EngineError::inconsistent(
                    "a join that keeps rows of its left side puts them into tables",
                ));
            }
        };
        let build_width = build.schema().fields().len();
        let position = |&index: &usize| {
            let (offset, built) = match index.checked_sub(width) {
                None => (left_needed.index_of(index)?, build_left),
                Some(index) => (right_needed.index_of(index)?, !build_left),
            };
            let before = if built || !kind.shows_right() { 0 } else { build_width };
            Ok(before + offset)
        };
        // Keys, and columns of the condition within the join, are not copied for each pair.
        let mut kept = NeededColumns::of(requested);
        after.iter().for_each(|condition| kept.add(condition));
        let positions = kept.columns().iter().map(position);
        let positions = positions.collect::<Result<Vec<_>, EngineError>>()?;
        let plan: SharedPlan = Arc::new(HashJoinExec::try_new(
            build,
            probe,
            keys,
            filter,
            &join_type,
            // Where no column is read, those of both sides tell the number of the rows.
            (!positions.is_empty()).then_some(positions),
            mode,
            NullEquality::NullEqualsNothing,
            false,
        )?);
        let plan = match after {
            None => plan,
            Some(condition) => {
                let plan: SharedPlan = Arc::new(NeverEmptyExec::new(plan));
                let condition = kept.over(condition, &plan, self.padded)?;
                Arc::new(FilterExec::try_new(condition, plan)?)
            }
        };
        select_columns(plan, &kept.indices_of(requested)?)
    }

    /// One side with the columns that are needed, then its keys that are computed; and the indices
    /// of all keys.
    async fn side(
        &self,
        relation: &Relation,
        needed: &NeededColumns,
        keys: &[&Expr],
    ) -> Result<(SharedPlan, Vec<usize>), EngineError> {
        let plan = self.plan(relation, needed.columns()).await?;
        let inputs: Vec<Expr> = needed
            .columns()
            .iter()
            .map(|&index| {
                let field = relation.fields().get(index).ok_or(EngineError::inconsistent(
                    "a plan reads a column that its relation does not have",
                ))?;
                Ok(Expr::column(index, field.column_type))
            })
            .collect::<Result<_, EngineError>>()?;
        let mut all: Vec<&Expr> = inputs.iter().collect();
        let mut indices = Vec::with_capacity(keys.len());
        for key in keys {
            indices.push(match key.kind {
                ExprKind::Column(index) => needed.index_of(index)?,
                _ => {
                    all.push(key);
                    all.len() - 1
                }
            });
        }
        Ok((needed.project(&all, plan, self.padded)?, indices))
    }

    /// Whether rows that look up stay where they are, and one thread puts the others into one
    /// table: where those that would move are many times as many. With more threads, more of them
    /// wait for that one.
    fn is_one_table(&self, built: &Relation, probed: &Relation) -> bool {
        let others = u64::try_from(self.unit_partitions - 1).unwrap_or(u64::MAX);
        self.bytes(built).saturating_mul(others) <= self.bytes(probed)
    }

    /// Bytes of the tables that a relation reads.
    fn bytes(&self, relation: &Relation) -> u64 {
        let tables = relation.tables();
        let data = tables.iter().filter_map(|&table| self.data.get(table));
        data.map(TableData::bytes).fold(0, u64::saturating_add)
    }
}

/// The position of an equality between the units of both sides, in any of their columns.
fn unit_in(left: &Relation, right: &Relation, on: &[(Expr, Expr)]) -> Option<usize> {
    on.iter().position(|(l, r)| left.is_unit(l) && right.is_unit(r))
}

/// The condition of a join over the columns that it reads.
fn filter(
    condition: &Expr,
    width: usize,
    (left_needed, right_needed): (&NeededColumns, &NeededColumns),
    (left, right): (&SharedPlan, &SharedPlan),
    (build_left, padded): (bool, bool),
) -> Result<JoinFilter, EngineError> {
    let mut read = NeededColumns::default();
    read.add(condition);
    let (mut indices, mut fields) = (Vec::new(), Vec::new());
    for (name, &position) in read.columns().iter().enumerate() {
        let (index, plan, is_left) = match position.checked_sub(width) {
            None => (left_needed.index_of(position)?, left, true),
            Some(position) => (right_needed.index_of(position)?, right, false),
        };
        let side = if is_left == build_left { JoinSide::Left } else { JoinSide::Right };
        indices.push(ColumnIndex { index, side });
        let schema = plan.schema();
        let of = schema.fields().get(index).ok_or(EngineError::inconsistent(
            "a join's condition reads a column that its plan does not have",
        ))?;
        fields.push(Field::new(name.to_string(), of.data_type().clone(), true));
    }
    let schema = Arc::new(Schema::new(fields));
    let expr = TotalExpr::over(&read.renumbered(condition), &schema, padded)?;
    Ok(JoinFilter::new(expr, indices, schema))
}
