//! The clipping report: which share of units, and of totals, a query's limits cut off.
//!
//! It is a private query of its own, about the same rows, with noise and a cost as any other. A
//! sub-query per unit and group has the unit's contributions without limits; one per unit around it
//! has what the limits take of them. So each unit has one row, in the report's one group. It moves
//! a count of units by at most 1, and an amount by at most its bound, which follows from the
//! query's own limits: [`WIDER`] times what the query counts of a unit at most. No limit of the
//! report follows from the data. The part of a unit's contributions beyond that bound is not seen.

use hushtable_lang::bind_expr::{cast, where_true};
use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind, Function, Refusal, Value};
use hushtable_numbers::Step;

use super::automatic_limits::Automatic;
use super::listed_groups::listed_groups;
use super::{Clamps, Groups, Measure, Measurement, Output, PrivateQuery};
use crate::relation::{NamedExpr, Operator, Relation, UnitAggregate};

/// How many times what the query counts of a unit at most its amounts in the report may be.
const WIDER: f64 = 4.0;

impl PrivateQuery {
    /// The clipping report of the query; `None` where no limit can cut anything off.
    ///
    /// # Errors
    /// When a row of it would cost more than it may.
    pub fn clipping_report(&self) -> Result<Option<Self>, Refusal> {
        self.report_of_chosen(self)
    }

    /// The clipping report of the query with limits that were chosen for `example`. It shows the
    /// same columns whatever the limits are: nobody knows them when the statement is bound.
    ///
    /// # Errors
    /// Those of [`clipping_report`](Self::clipping_report).
    pub(super) fn report_of_chosen(&self, example: &Self) -> Result<Option<Self>, Refusal> {
        let most_groups = match example.automatic.groups {
            true => Some(self.max_groups_contributed),
            false => self.limiting_groups(),
        };
        let mut per_group = PerGroup {
            keys: 1 + self.keys.len(),
            aggregates: Vec::new(),
            rows_as_units: self.rows_as_units,
        };
        let mut contributions: Vec<(String, UnitContribution)> = Vec::new();
        for measurement in &self.measurements {
            let is_limited = most_groups.is_some();
            if let Some(contribution) = per_group.contribution(measurement, self.unit.is_some())
                && (is_limited || contribution.lost.is_some())
            {
                contributions.push((self.unique_name(measurement, &contributions), contribution));
            }
        }
        if most_groups.is_none() && contributions.is_empty() {
            return Ok(None);
        }
        let groups = self.unit_groups(per_group.aggregates)?;
        let mut per_unit = PerUnit::default();
        let in_groups = float(per_unit.aggregate(UnitAggregate::Rows));
        let one = |name: &str, measure| Measurement {
            name: name.to_owned(),
            measure,
            low: 0,
            high: 1,
            step: Step::Whole(1),
            weight: 1,
            column_type: ColumnType::Int,
        };
        let mut measurements = vec![one("units", Measure::Units)];
        let mut outputs = Vec::new();
        let mut add = |measurement: Measurement| {
            measurements.push(measurement);
            measurements.len() - 1
        };
        if let Some(most) = most_groups {
            let beyond = compare(BinaryOp::Gt, in_groups.clone(), number(most));
            let name = format!("units in more than {most} groups");
            let index = add(one(&name, Measure::Values(where_true(beyond, None))));
            outputs.push(Output { name, expr: share((index, 0), true, ColumnType::Int) });
        }
        for (name, contribution) in contributions {
            let only_less = contribution.only_less();
            if let Some(lost) = contribution.lost {
                let groups = per_unit.aggregate(UnitAggregate::Count(where_true(lost, None)));
                let lost = compare(BinaryOp::Gt, groups, Expr::literal(Value::Int(0)));
                let name = format!("units cut in the {name}");
                let index = add(one(&name, Measure::Values(where_true(lost, None))));
                outputs.push(Output { name, expr: share((index, 0), true, ColumnType::Int) });
            }
            let mut sum = |expr: Expr| per_unit.aggregate(UnitAggregate::Sum(expr));
            let (total, counts) = (sum(contribution.total), sum(contribution.counts));
            // Where limits only take away, what they change is the difference.
            let changed = match contribution.changed {
                Some(changed) => sum(changed),
                None => arithmetic(BinaryOp::Sub, total.clone(), counts.clone()),
            };
            let cut = match most_groups {
                None => changed,
                Some(most) => {
                    // Which groups count is by chance: this is the part that is dropped on average.
                    let most = call(Function::Least, vec![in_groups.clone(), number(most)]);
                    let beyond = arithmetic(BinaryOp::Sub, in_groups.clone(), most);
                    let dropped_share = arithmetic(BinaryOp::Div, beyond, in_groups.clone());
                    let dropped = arithmetic(BinaryOp::Mul, counts, dropped_share);
                    arithmetic(BinaryOp::Add, changed, dropped)
                }
            };
            let bound = WIDER * contribution.most * f64::from(most_groups.unwrap_or(1));
            let step = Step::for_floats(bound);
            let mut amount = |name: String, expr| {
                add(Measurement {
                    name,
                    measure: Measure::ClampedSum(expr),
                    low: 0,
                    high: (bound / step.to_f64()).ceil() as i64,
                    step,
                    weight: 1,
                    column_type: ColumnType::Float,
                })
            };
            let cut = amount(format!("amount cut of the {name}"), cut);
            let total = amount(format!("amount of the {name} without limits"), total);
            let name = format!("part cut of the {name}");
            let expr = share((cut, total), only_less, ColumnType::Float);
            outputs.push(Output { name, expr });
        }
        let relation = per_unit.relation(groups)?;
        let of_reported = !self.automatic.is_none();
        let automatic = Automatic { of_reported, ..Automatic::default() };
        let report = Self {
            measurements,
            outputs,
            intervals: self.intervals,
            automatic,
            ..self.beside(relation)
        };
        report.check_cost()?;
        Ok(Some(report))
    }

    /// The most groups of a unit, where units may be in more.
    fn limiting_groups(&self) -> Option<u32> {
        let most = self.max_groups_contributed;
        let limits = match self.groups {
            Groups::Single => false,
            Groups::Public => listed_groups(&self.keys) > most as usize,
            Groups::Private { .. } => true,
        };
        (limits && self.unit.is_some()).then_some(most)
    }

    /// The name of a measurement, told apart from those before.
    fn unique_name(
        &self,
        measurement: &Measurement,
        before: &[(String, UnitContribution)],
    ) -> String {
        let taken = |name: &str| before.iter().any(|(earlier, _)| earlier == name);
        let of_rows = self.rows_as_units && measurement.measure == Measure::Units;
        let first = if of_rows { "count of rows" } else { &measurement.name };
        let mut name = first.to_owned();
        let mut copy = 1;
        while taken(&name) {
            copy += 1;
            name = format!("{first} ({copy})");
        }
        name
    }
}

/// The contribution of a unit to a group, over the columns of its groups: all floats except for
/// `lost`.
struct UnitContribution {
    /// The size without limits.
    total: Expr,
    /// The size that the limits within a group leave.
    counts: Expr,
    /// The size of what they take away and add, where they may add something.
    changed: Option<Expr>,
    /// Whether they change it; `None` where they cannot.
    lost: Option<Expr>,
    /// The largest size that counts.
    most: f64,
}

impl UnitContribution {
    /// Whether limits only take away.
    fn only_less(&self) -> bool {
        self.changed.is_none()
    }
}

/// The aggregates of a unit's rows in a group.
struct PerGroup {
    keys: usize,
    aggregates: Vec<UnitAggregate>,
    /// Whether counts of units are of rows, of which one counts.
    rows_as_units: bool,
}

impl PerGroup {
    fn aggregate(&mut self, aggregate: UnitAggregate) -> Expr {
        added(&mut self.aggregates, self.keys, aggregate)
    }

    /// `None` where nothing can be cut off, whatever the groups.
    fn contribution(&mut self, of: &Measurement, has_rows: bool) -> Option<UnitContribution> {
        let step = of.step.to_f64();
        let bounds = |low: i64, high: i64| (low as f64 * step, high as f64 * step);
        let number_of = |group: &mut Self, aggregate, most: (i64, i64)| {
            let number = float(group.aggregate(aggregate));
            let most = (most.0 as f64, most.1 as f64);
            // A row that is a unit is one.
            if has_rows { clamped(number, most) } else { unclamped(number) }
        };
        Some(match &of.measure {
            Measure::Units if self.rows_as_units => number_of(self, UnitAggregate::Rows, (0, 1)),
            Measure::Units => unclamped(number(1)),
            Measure::Rows => number_of(self, UnitAggregate::Rows, (of.low, of.high)),
            Measure::Values(of_row) => {
                number_of(self, UnitAggregate::Count(of_row.clone()), (of.low, of.high))
            }
            Measure::Distinct { of: of_row, values } => {
                let most = (0, (*values).into());
                number_of(self, UnitAggregate::CountDistinct(of_row.clone()), most)
            }
            Measure::PerRecordSum(_) | Measure::Quantile { reach: Some(_), .. } => return None,
            Measure::ClampedSum(of_row) => {
                let sum = self.aggregate(UnitAggregate::Sum(added_up(of_row)));
                clamped(float(sum), bounds(of.low, of.high))
            }
            Measure::SumOfRows { of: of_row, low, high, clamps, rows } => {
                let (low, high) = bounds(*low, *high);
                let size = low.abs().max(high.abs());
                let values = float(self.aggregate(UnitAggregate::Count(of_row.clone())));
                let counted_rows = call(Function::Least, vec![values.clone(), number(*rows)]);
                let takes_away = low <= 0.0 && high >= 0.0;
                let (total, within, moved) = match clamps {
                    Clamps::Rows => {
                        let value = float(of_row.clone());
                        let within = limited(value.clone(), (low, high));
                        let mut sum = |expr| self.aggregate(UnitAggregate::Sum(expr));
                        let total = sum(size_of(value.clone()));
                        let moved = (!takes_away).then(|| {
                            sum(size_of(arithmetic(BinaryOp::Sub, value, within.clone())))
                        });
                        (total, sum(size_of(within)), moved)
                    }
                    Clamps::Mean => {
                        let sum = float(self.aggregate(UnitAggregate::Sum(added_up(of_row))));
                        let mean = arithmetic(BinaryOp::Div, sum.clone(), values.clone());
                        let within = limited(mean.clone(), (low, high));
                        let moved = size_of(arithmetic(BinaryOp::Sub, mean, within.clone()));
                        let times = |e| arithmetic(BinaryOp::Mul, e, values.clone());
                        (size_of(sum), times(size_of(within)), Some(times(moved)))
                    }
                };
                // Which rows count is by chance: this is what is left of them on average.
                let fraction = arithmetic(BinaryOp::Div, counted_rows, values.clone());
                let counts = arithmetic(BinaryOp::Mul, within.clone(), fraction);
                let beyond = compare(BinaryOp::Gt, values, number(*rows));
                let is_moved = match &moved {
                    Some(moved) => compare(BinaryOp::Gt, moved.clone(), number(0)),
                    // Equal values have equal sums.
                    None => compare(BinaryOp::Ne, total.clone(), within.clone()),
                };
                let changed = moved.filter(|_| !takes_away).map(|moved| {
                    let dropped = arithmetic(BinaryOp::Sub, within, counts.clone());
                    arithmetic(BinaryOp::Add, moved, dropped)
                });
                UnitContribution {
                    total,
                    counts,
                    changed,
                    lost: Some(Expr::binary(BinaryOp::Or, beyond, is_moved, ColumnType::Bool)),
                    most: f64::from(*rows) * size,
                }
            }
            Measure::Quantile { of: of_row, rows, .. } => {
                let value = float(of_row.clone());
                let within = limited(value.clone(), bounds(of.low, of.high));
                let is_within = compare(BinaryOp::Eq, value, within);
                let inside = UnitAggregate::Count(where_true(is_within, None));
                let inside = float(self.aggregate(inside));
                let values = float(self.aggregate(UnitAggregate::Count(of_row.clone())));
                let counted_rows = call(Function::Least, vec![values.clone(), number(*rows)]);
                let fraction = arithmetic(BinaryOp::Div, counted_rows, values.clone());
                let counts = arithmetic(BinaryOp::Mul, inside, fraction);
                UnitContribution {
                    lost: Some(compare(BinaryOp::Gt, values.clone(), counts.clone())),
                    total: values,
                    counts,
                    changed: None,
                    most: f64::from(*rows),
                }
            }
        })
    }
}

/// The aggregates of a unit's groups. The unit stands before them.
#[derive(Default)]
pub(super) struct PerUnit {
    aggregates: Vec<UnitAggregate>,
}

impl PerUnit {
    pub(super) fn aggregate(&mut self, aggregate: UnitAggregate) -> Expr {
        added(&mut self.aggregates, 1, aggregate)
    }

    pub(super) fn relation(self, groups: Relation) -> Result<Relation, Refusal> {
        let keys = vec![named_unit(&groups)?];
        let aggregates = numbered(self.aggregates);
        Relation::new(Operator::Aggregate { input: groups, keys, aggregates })
    }
}

/// The column of an aggregate, which is computed once.
fn added(all: &mut Vec<UnitAggregate>, before: usize, aggregate: UnitAggregate) -> Expr {
    let column_type = aggregate.column_type();
    let index = all.iter().position(|existing| *existing == aggregate).unwrap_or_else(|| {
        all.push(aggregate);
        all.len() - 1
    });
    Expr::column(before + index, column_type)
}

pub(super) fn numbered(aggregates: Vec<UnitAggregate>) -> Vec<(String, UnitAggregate)> {
    let named = |(index, aggregate)| (format!("aggregate_{index}"), aggregate);
    aggregates.into_iter().enumerate().map(named).collect()
}

/// The column that names the unit.
pub(super) fn named_unit(rows: &Relation) -> Result<NamedExpr, Refusal> {
    let unit = rows.protection().unit();
    let field = unit.and_then(|unit| Some((unit, rows.fields().get(unit)?)));
    let (unit, field) = field.ok_or_else(|| Refusal::fault("the rows lost their unit"))?;
    Ok(NamedExpr { name: field.name.clone(), expr: Expr::column(unit, field.column_type) })
}

/// A contribution that is limited to a range.
fn clamped(size: Expr, (low, high): (f64, f64)) -> UnitContribution {
    let within = limited(size.clone(), (low, high));
    let takes_away = low <= 0.0 && high >= 0.0;
    let changed = || size_of(arithmetic(BinaryOp::Sub, size.clone(), within.clone()));
    UnitContribution {
        lost: Some(compare(BinaryOp::Ne, size.clone(), within.clone())),
        changed: (!takes_away).then(changed),
        total: size_of(size),
        counts: size_of(within),
        most: low.abs().max(high.abs()),
    }
}

/// A contribution of at most one that no limit within a group changes.
fn unclamped(size: Expr) -> UnitContribution {
    let (total, counts) = (size.clone(), size);
    UnitContribution { total, counts, changed: None, lost: None, most: 1.0 }
}

/// The quotient of two released numbers, by their indices; within 0 and 1 where no limit adds
/// anything. A noisy denominator of zero or less is no base for a share.
fn share(
    (numerator, denominator): (usize, usize),
    only_less: bool,
    column_type: ColumnType,
) -> Expr {
    let column = |index| Expr::column(index, column_type);
    let mut quotient =
        arithmetic(BinaryOp::Div, float(column(numerator)), float(column(denominator)));
    if only_less {
        quotient = call(Function::Least, vec![quotient, number(1)]);
    }
    quotient = call(Function::Greatest, vec![quotient, number(0)]);
    let zero = cast(Expr::literal(Value::Int(0)), column_type);
    let positive = compare(BinaryOp::Gt, column(denominator), zero);
    Expr::new(ExprKind::Case(vec![(positive, quotient)], None), ColumnType::Float)
}

/// A value that is added up in its own type where that holds the sum: whole numbers become floats.
pub(super) fn added_up(of: &Expr) -> Expr {
    if of.column_type == ColumnType::Int { float(of.clone()) } else { of.clone() }
}

fn limited(value: Expr, (low, high): (f64, f64)) -> Expr {
    let end = |x: f64| Expr::literal(Value::Float(x + 0.0));
    let least = call(Function::Least, vec![value, end(high)]);
    call(Function::Greatest, vec![least, end(low)])
}

fn size_of(value: Expr) -> Expr {
    call(Function::Abs, vec![value])
}

pub(super) fn number(value: u32) -> Expr {
    Expr::literal(Value::Float(value.into()))
}

pub(super) fn float(value: Expr) -> Expr {
    cast(value, ColumnType::Float)
}

pub(super) fn call(function: Function, arguments: Vec<Expr>) -> Expr {
    Expr::call(function, arguments, ColumnType::Float)
}

pub(super) fn arithmetic(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::binary(op, left, right, ColumnType::Float)
}

pub(super) fn compare(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::binary(op, left, right, ColumnType::Bool)
}
