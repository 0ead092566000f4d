//! The work on the rows of a relation: which of them count, under which keys, and what is
//! accumulated of them.

use hushtable_lang::{ColumnType, Expr, MAX_STRING_BYTES};
use hushtable_numbers::Step;
use hushtable_numbers::decimal::MOST_DIGITS;
use hushtable_plan::{Clamps, Measure, Measurement, PrivateQuery, Thresholds};
use serde::{Deserialize, Serialize};

use crate::contributions::LARGEST;
use crate::contributions::{Accumulation, Listing};
use crate::error::EngineError;

/// The way from rows to exact groups. It can travel with a plan.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bounding {
    /// The indices of the columns that batches have among those of the relation, and their types.
    pub(crate) read: Vec<(usize, ColumnType)>,
    /// Most bytes of a text in each column of the relation; longer text is NULL.
    pub(crate) column_bytes: Vec<usize>,
    /// Most bytes of a text that names a unit; `None` where rows are units. Units come after the
    /// columns read.
    pub(crate) unit_bytes: Option<usize>,
    pub(crate) filter: Option<Expr>,
    pub(crate) keys: Vec<Expr>,
    /// The accumulators: one for each measurement but counts of units, in their order, and
    /// pieces after them. Rows, exact groups of a partition and those of all have their values in
    /// this order.
    pub(crate) accumulators: Vec<Accumulator>,
    /// Most groups of a unit.
    pub(crate) most_groups: u32,
    /// Whether each unit's groups are recorded.
    pub(crate) with_members: bool,
}

/// A value of each row, and what is kept of it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Accumulator {
    pub(crate) value: RowValue,
    pub(crate) kept: Accumulation,
}

/// The contribution of a row to an accumulator.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum RowValue {
    /// One.
    One,
    /// One if there is a value.
    Present(Expr),
    /// The value, a whole number.
    Code(Expr),
    /// The value, rounded to the lattice.
    Points(Expr, Step),
    /// How many pieces the row would be split into by sums that are not clamped: the accumulators
    /// at these indices, with their thresholds.
    Pieces(Vec<(usize, Thresholds)>),
}

impl RowValue {
    /// Whether it is one wherever there is any.
    pub(crate) fn is_one(&self) -> bool {
        matches!(self, Self::One | Self::Present(_))
    }
}

impl Bounding {
    /// The way of a query's rows; `with_members` records each unit's groups.
    ///
    /// # Errors
    /// Only for queries that binding cannot have made.
    pub(crate) fn new(query: &PrivateQuery, with_members: bool) -> Result<Self, EngineError> {
        let unit_bytes = query.unit().map(|unit| {
            query.column_bytes().get(unit).copied().ok_or(EngineError::inconsistent(
                "the column of a query's units has no limit of bytes",
            ))
        });
        let accumulators = query.measurements().iter().filter_map(Accumulator::of);
        let mut accumulators: Vec<Accumulator> = accumulators.collect();
        if query.chooses_by_pieces() {
            let indices = accumulator_indices(query).into_iter().zip(query.measurements());
            let split =
                indices.filter_map(|(index, m)| Some((index?, m.thresholds()?.clone()))).collect();
            let kept = Accumulation::Sum { bounds: (1, LARGEST), size: (1, LARGEST) };
            accumulators.push(Accumulator { value: RowValue::Pieces(split), kept });
        }
        let mut bounding = Self {
            read: Vec::new(),
            column_bytes: query.column_bytes().to_vec(),
            unit_bytes: unit_bytes.transpose()?,
            filter: query.filter().cloned(),
            keys: query.keys().iter().map(|key| key.expr.clone()).collect(),
            accumulators,
            most_groups: query.max_groups_contributed(),
            with_members: query.unit().is_some() && with_members,
        };
        let mut read = Vec::new();
        bounding.expressions().for_each(|e| e.visit_columns(&mut |i| read.push(i)));
        read.sort_unstable();
        read.dedup();
        let column = |index: usize| {
            let (_, column_type) = query.columns().get(index).ok_or(EngineError::inconsistent(
                "an expression reads a column that its query does not have",
            ))?;
            Ok((index, *column_type))
        };
        bounding.read = read.into_iter().map(column).collect::<Result<_, EngineError>>()?;
        if bounding.column_bytes.len() != query.columns().len() || !bounding.holds_together() {
            return Err(EngineError::inconsistent(
                "the columns, the limits and the sums of a query's rows do not fit together",
            ));
        }
        Ok(bounding)
    }

    /// All that is computed from a row.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let values = self.accumulators.iter().flat_map(|accumulator| match &accumulator.value {
            RowValue::One => Vec::new(),
            RowValue::Present(expr) | RowValue::Code(expr) | RowValue::Points(expr, _) => {
                vec![expr]
            }
            RowValue::Pieces(split) => {
                let classes = split.iter().filter_map(|(_, split)| split.classes.as_ref());
                classes.map(|classes| &classes.expr).collect()
            }
        });
        self.filter.iter().chain(&self.keys).chain(values)
    }

    /// Nodes of all expressions together.
    pub(crate) fn nodes(&self) -> usize {
        self.expressions().map(|e| e.size().1).sum()
    }

    /// The index of the accumulator of pieces, where groups are chosen by them.
    pub(crate) fn pieces(&self) -> Option<usize> {
        let pieces = |a: &Accumulator| matches!(a.value, RowValue::Pieces(_));
        self.accumulators.iter().position(pieces)
    }

    /// The way in which each accumulator keeps values.
    pub(crate) fn accumulations(&self) -> Vec<Accumulation> {
        self.accumulators.iter().map(|accumulator| accumulator.kept).collect()
    }

    /// Whether rows have what is computed from them: for those that were not made by binding.
    pub(crate) fn holds_together(&self) -> bool {
        let mut known = self.read.windows(2).all(|pair| pair[0].0 < pair[1].0)
            && self.read.iter().all(|&(index, _)| index < self.column_bytes.len());
        for expr in self.expressions() {
            expr.visit_columns(&mut |index| {
                known &= self.read.binary_search_by_key(&index, |&(index, _)| index).is_ok();
            });
        }
        let order = |(index, a): (usize, &Accumulator)| match &a.value {
            // Pieces come of sums that are known when they are counted.
            RowValue::Pieces(split) => split.iter().all(|&(of, _)| of < index),
            RowValue::One | RowValue::Present(_) | RowValue::Code(_) | RowValue::Points(..) => true,
        };
        known
            && self.accumulators.iter().enumerate().all(order)
            && self.accumulators.iter().all(Accumulator::has_ranges)
            && self.unit_bytes.is_none_or(|most| most <= MAX_STRING_BYTES)
    }
}

impl Accumulator {
    /// Whether values can be rounded to its lattice, and clamped to its ranges.
    fn has_ranges(&self) -> bool {
        let is_step = match &self.value {
            RowValue::Points(_, Step::Whole(size)) => *size > 0,
            RowValue::Points(_, Step::Decimal(scale)) => *scale <= MOST_DIGITS,
            RowValue::Points(_, Step::PowerOfTwo(_))
            | RowValue::One
            | RowValue::Present(_)
            | RowValue::Code(_) => true,
            RowValue::Pieces(split) => split.iter().all(|(_, thresholds)| {
                let classes = thresholds.classes.iter().flat_map(|classes| &classes.values);
                thresholds.default >= 0 && classes.into_iter().all(|(_, threshold)| *threshold >= 0)
            }),
        };
        let is_range = |(low, high): &(i64, i64)| low <= high;
        is_step
            && match &self.kept {
                Accumulation::Sum { bounds, size } => is_range(bounds) && is_range(size),
                Accumulation::Values(Listing { range, sum, mean, .. }) => {
                    is_range(range) && sum.iter().chain(mean).all(is_range)
                }
            }
    }

    /// The accumulator of a measurement; none for counts of units, which every group has.
    fn of(m: &Measurement) -> Option<Self> {
        let bounds = (m.low, m.high);
        let sum = Accumulation::Sum { bounds, size: bounds };
        Some(match &m.measure {
            Measure::Units => return None,
            Measure::Rows => Self { value: RowValue::One, kept: sum },
            Measure::Values(of) => Self { value: RowValue::Present(of.clone()), kept: sum },
            Measure::ClampedSum(of) => {
                Self { value: RowValue::Points(of.clone(), m.step), kept: sum }
            }
            // Its noise is made for the largest threshold.
            Measure::PerRecordSum(sum) => Self {
                value: RowValue::Points(sum.of.clone(), m.step),
                kept: Accumulation::Sum { bounds: (-LARGEST, LARGEST), size: bounds },
            },
            // The sum is bounded by what its noise is made for.
            Measure::SumOfRows { of, low, high, clamps, rows } => {
                let (range, mean) = match clamps {
                    Clamps::Rows => ((*low, *high), None),
                    Clamps::Mean => ((-LARGEST, LARGEST), Some((*low, *high))),
                };
                let (rows, sum) = (*rows, Some(bounds));
                let listing = Listing { range, rows, sum, mean, distinct: false };
                let value = RowValue::Points(of.clone(), m.step);
                Self { value, kept: Accumulation::Values(listing) }
            }
            Measure::Distinct { of, values } => Self {
                value: RowValue::Code(of.clone()),
                kept: Accumulation::Values(Listing {
                    range: (i64::MIN, i64::MAX),
                    rows: *values,
                    sum: None,
                    mean: None,
                    distinct: true,
                }),
            },
            Measure::Quantile { of, rows, .. } => Self {
                value: RowValue::Points(of.clone(), m.step),
                kept: Accumulation::Values(Listing {
                    range: bounds,
                    rows: *rows,
                    sum: None,
                    mean: None,
                    distinct: false,
                }),
            },
        })
    }
}

/// The index of each measurement's accumulator; `None` for counts of units.
pub(crate) fn accumulator_indices(query: &PrivateQuery) -> Vec<Option<usize>> {
    let mut next = 0..;
    let index = |m: &Measurement| match m.measure {
        Measure::Units => None,
        Measure::Rows
        | Measure::Values(_)
        | Measure::ClampedSum(_)
        | Measure::PerRecordSum(_)
        | Measure::SumOfRows { .. }
        | Measure::Distinct { .. }
        | Measure::Quantile { .. } => next.next(),
    };
    query.measurements().iter().map(index).collect()
}
