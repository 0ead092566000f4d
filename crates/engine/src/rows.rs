//! From a batch of the table to the rows that are bounded: filter, keys, unit, lattice points.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, new_null_array,
};
use datafusion::arrow::compute::{filter, kernels::boolean};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use datafusion::arrow::error::ArrowError;
use hushtable_query::{Expr, MAX_KEY_BYTES, MAX_STRING_BYTES, Measure, PrivateQuery, Step};

use crate::bound::Rows;
use crate::eval::{Program, at_most, known, round_quotient, with_null_row};
use crate::pieces::Pieces;

/// Largest size of a row's value in lattice units, so that sums of 2^63 rows fit an `i128`.
/// Larger values count as this, which every bound clamps further.
pub(crate) const LARGEST: i64 = 1 << 62;

/// A query's row expressions, ready for batches of its table.
pub(crate) struct RowProgram {
    /// Most bytes of a text in each column; longer text is NULL.
    column_bytes: Vec<usize>,
    /// Most bytes of a text in the units' column; longer text is NULL.
    unit_bytes: usize,
    filter: Option<Program>,
    keys: Vec<Program>,
    measures: Vec<Measured>,
    /// Values that are kept one by one: for quantiles, and for sums of some of a unit's rows.
    listed: Vec<Measured>,
    /// Where groups are chosen by them: the pieces of each row, which come after the measures.
    pieces: Option<Pieces>,
    /// Whether a row of NULLs is computed after the rows of every batch.
    padded: bool,
}

/// Most parts of expressions that are computed without a row of NULLs after the others. The first
/// NULL among rows that are computed at once makes every later part about 60 ns slower.
const MOST_UNPADDED: usize = 64;

/// What a row adds to a measurement.
enum Measured {
    /// One.
    One,
    /// One if there is a value.
    Present(Program),
    /// The value, rounded to the lattice.
    Points(Program, Step),
}

/// All that a query computes from a row.
pub(crate) fn row_expressions(query: &PrivateQuery) -> impl Iterator<Item = &Expr> {
    let measured = query.measurements.iter().filter_map(|m| m.measure.operand());
    let classes = query.measurements.iter().filter_map(|m| m.split.as_ref()?.classes.as_ref());
    let classes = classes.filter(|_| query.chooses_by_pieces()).map(|classes| &classes.expr);
    let keys = query.keys.iter().map(|key| &key.expr);
    query.filter.iter().chain(keys).chain(measured).chain(classes)
}

/// The columns of the file that a query's expressions read, by their position among the stored
/// ones.
pub(crate) fn columns_read(query: &PrivateQuery) -> Vec<usize> {
    let mut used = Vec::new();
    row_expressions(query).for_each(|e| e.visit_columns(&mut |i| used.push(i)));
    used.sort_unstable();
    used.dedup();
    used
}

impl RowProgram {
    /// Makes the expressions ready. Measures are those of the measurements that add up, in their
    /// order; those that keep values one by one are listed in theirs. Column `i` of a query is
    /// column `i` here: batches have gaps filled by [`spread`].
    ///
    /// # Errors
    /// Only for expressions that binding cannot have made.
    pub(crate) fn new(query: &PrivateQuery) -> Result<Self, ArrowError> {
        let parts: usize = row_expressions(query).map(|e| e.size().1).sum();
        let padded = parts > MOST_UNPADDED;
        let program = |e: &Expr| if padded { Program::padded(e) } else { Program::new(e) };
        let (mut measures, mut listed) = (Vec::new(), Vec::new());
        for m in &query.measurements {
            match &m.measure {
                // Units are counted in any case.
                Measure::Units => {}
                Measure::Rows => measures.push(Measured::One),
                Measure::Values(e) => measures.push(Measured::Present(program(e)?)),
                Measure::Sum(e) => measures.push(Measured::Points(program(e)?, m.step)),
                Measure::SumOfRows { of, .. } | Measure::Quantile { of, .. } => {
                    listed.push(Measured::Points(program(of)?, m.step));
                }
            }
        }
        Ok(Self {
            column_bytes: query.column_bytes.clone(),
            unit_bytes: query
                .unit
                .and_then(|unit| query.column_bytes.get(unit).copied())
                .unwrap_or(MAX_STRING_BYTES),
            filter: query.filter.as_ref().map(program).transpose()?,
            keys: query.keys.iter().map(|k| program(&k.expr)).collect::<Result<_, _>>()?,
            measures,
            listed,
            pieces: query.chooses_by_pieces().then(|| Pieces::new(query, &program)).transpose()?,
            padded,
        })
    }

    /// The rows of a batch that count.
    ///
    /// The time of a batch must not show that one of its rows is kept. Where none is, a row of
    /// NULLs is computed all the same, so that the first row adds no more than a further one: to
    /// make place for the results of many operations takes longer than to compute them for a row.
    /// Nor must it show that one of its rows is the first with a NULL: where there are many
    /// operations, a row of NULLs is computed after those of every batch.
    ///
    /// # Errors
    /// Only for arrays of other types than the query was checked for: never because of a value.
    pub(crate) fn apply(
        &self,
        columns: &[ArrayRef],
        unit: Option<&ArrayRef>,
        rows: usize,
    ) -> Result<Rows, ArrowError> {
        let null = |c: &ArrayRef| new_null_array(c.data_type(), 1);
        let nothing = |columns: &[ArrayRef]| -> Result<Rows, ArrowError> {
            let nulls: Vec<ArrayRef> = columns.iter().map(null).collect();
            Ok(self.compute(&self.padded(&nulls)?, unit.map(null), 1)?.first(0))
        };
        if rows == 0 {
            let nulls: Vec<ArrayRef> = columns.iter().map(null).collect();
            self.keep(&self.padded(&nulls)?, None, 1)?;
            return nothing(columns);
        }
        let within = columns.iter().zip(&self.column_bytes);
        let columns = within.map(|(c, &most)| at_most(c, most)).collect::<Result<Vec<_>, _>>()?;
        let unit = unit.map(|unit| at_most(unit, self.unit_bytes)).transpose()?;
        let padded = self.padded(&columns)?;
        let keep = self.keep(&padded, unit.as_ref(), rows)?;
        let count = keep.as_ref().map_or(rows, BooleanArray::true_count);
        if count == 0 {
            return nothing(&columns);
        }
        match &keep {
            Some(keep) if count < rows => {
                let unit = unit.map(|unit| filter(&unit, keep)).transpose()?;
                self.compute(&self.padded(&kept(&columns, keep)?)?, unit, count)
            }
            _ => self.compute(&padded, unit, rows),
        }
    }

    /// The columns that expressions are computed from.
    fn padded<'a>(&self, columns: &'a [ArrayRef]) -> Result<Cow<'a, [ArrayRef]>, ArrowError> {
        Ok(if self.padded { with_null_row(columns)?.into() } else { columns.into() })
    }

    /// The number of rows that are computed for some rows of a batch.
    fn computed(&self, rows: usize) -> usize {
        rows + usize::from(self.padded)
    }

    /// Which rows count; `None` if all do, whatever they are.
    fn keep(
        &self,
        columns: &[ArrayRef],
        unit: Option<&ArrayRef>,
        rows: usize,
    ) -> Result<Option<BooleanArray>, ArrowError> {
        let computed = self.computed(rows);
        let condition = self.filter.as_ref().map(|p| p.condition(columns, computed)).transpose()?;
        let keep = condition.as_ref().map(|condition| known(condition).slice(0, rows));
        // Rows without a unit belong to nobody and count for nothing.
        let Some(unit) = unit.filter(|u| u.null_count() > 0) else { return Ok(keep) };
        let present = boolean::is_not_null(unit)?;
        Ok(Some(match keep {
            None => present,
            Some(keep) => boolean::and(&keep, &present)?,
        }))
    }

    /// Keys and measures of rows that are kept.
    fn compute(
        &self,
        columns: &[ArrayRef],
        unit: Option<ArrayRef>,
        kept: usize,
    ) -> Result<Rows, ArrowError> {
        let rows = self.computed(kept);
        let key = |k: &Program| at_most(&k.evaluate(columns, rows)?, MAX_KEY_BYTES);
        let keys = self.keys.iter().map(key).collect::<Result<_, ArrowError>>()?;
        let measure = |m: &Measured| -> Result<Int64Array, ArrowError> {
            Ok(match m {
                Measured::One => Int64Array::from_value(1, rows),
                Measured::Present(e) => {
                    let present = boolean::is_not_null(&e.evaluate(columns, rows)?)?;
                    present.values().iter().map(|p| p.then_some(1)).collect()
                }
                Measured::Points(e, step) => points(&e.evaluate(columns, rows)?, *step)?,
            })
        };
        let mut measures = self.measures.iter().map(measure).collect::<Result<Vec<_>, _>>()?;
        let listed = self.listed.iter().map(measure).collect::<Result<_, _>>()?;
        if let Some(pieces) = &self.pieces {
            measures.push(pieces.of(&measures, columns, rows)?);
        }
        let all = Rows { keys, unit, measures, listed, rows };
        Ok(if rows > kept { all.first(kept) } else { all })
    }
}

impl Rows {
    /// Keeps the first `rows` rows.
    fn first(self, rows: usize) -> Self {
        let first = |array: &ArrayRef| array.slice(0, rows);
        let numbers = |array: &Int64Array| array.slice(0, rows);
        Self {
            keys: self.keys.iter().map(first).collect(),
            unit: self.unit.as_ref().map(first),
            measures: self.measures.iter().map(numbers).collect(),
            listed: self.listed.iter().map(numbers).collect(),
            rows,
        }
    }
}

fn kept(columns: &[ArrayRef], keep: &BooleanArray) -> Result<Vec<ArrayRef>, ArrowError> {
    let mut filtered: Vec<ArrayRef> = Vec::with_capacity(columns.len());
    for column in columns {
        // A filler of no rows stands for a column that is not read.
        let same = column.len() != keep.len();
        filtered.push(if same { Arc::clone(column) } else { filter(column, keep)? });
    }
    Ok(filtered)
}

/// A batch's columns at the positions that the query counts; empty arrays at the others.
pub(crate) fn spread(batch: &RecordBatch, read: &[usize], all: usize) -> Vec<ArrayRef> {
    let empty: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    let mut columns = vec![empty; all];
    for (&place, column) in read.iter().zip(batch.columns()) {
        if let Some(slot) = columns.get_mut(place) {
            *slot = Arc::clone(column);
        }
    }
    columns
}

/// Values rounded to the nearest lattice point, halves away from zero.
fn points(array: &ArrayRef, step: Step) -> Result<Int64Array, ArrowError> {
    let unexpected = || ArrowError::ComputeError("a measure met an unexpected type".to_owned());
    let clamp = |x: i128| x.clamp(-i128::from(LARGEST), i128::from(LARGEST)) as i64;
    Ok(match (array.data_type(), step) {
        // Whole as they are; dividing by one takes longer than all the rest.
        (DataType::Int64, Step::Whole(1)) => {
            array.as_primitive::<Int64Type>().unary(|x| x.clamp(-LARGEST, LARGEST))
        }
        (DataType::Int64, Step::Whole(size)) => {
            let size = i128::from(size);
            array.as_primitive::<Int64Type>().unary(|x| clamp(round_quotient(i128::from(x), size)))
        }
        (DataType::Decimal128(_, scale), Step::Decimal(to)) => {
            let more = i16::from(*scale) - i16::from(to);
            let divisor = 10i128.pow(u32::try_from(more).map_err(|_| unexpected())?);
            array.as_primitive::<Decimal128Type>().unary(|x| clamp(round_quotient(x, divisor)))
        }
        (DataType::Float64, Step::PowerOfTwo(exponent)) => {
            // Multiplying by a power of two is exact, or ends at an infinity, which is clamped.
            let factor = 2f64.powi(-i32::from(exponent));
            let largest = LARGEST as f64;
            array.as_primitive::<Float64Type>().unary_opt(|x| {
                (!x.is_nan()).then(|| (x * factor).round().clamp(-largest, largest) as i64)
            })
        }
        _ => return Err(unexpected()),
    })
}
