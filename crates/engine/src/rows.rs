//! From a batch of the table to the rows that are bounded: filter, keys, unit, lattice points.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, new_null_array,
};
use datafusion::arrow::compute::kernels::boolean;
use datafusion::arrow::compute::{FilterBuilder, FilterPredicate};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{Expr, MAX_KEY_BYTES, MAX_STRING_BYTES};
use hushtable_numbers::{Step, decimal::round_quotient};

use crate::bounding::{Accumulator, Bounding, RowValue};
use crate::contributions::{ContributionBatch, LARGEST};
use crate::eval::{Program, at_most, known, with_null_row};
use crate::invariant::Invariant;
use crate::pieces::Pieces;

/// The row expressions of a query, ready for batches of its rows.
pub(crate) struct RowProgram {
    /// Most bytes of a text in each column; longer text is NULL.
    column_bytes: Vec<usize>,
    /// Most bytes of a text that names a unit; longer text is NULL.
    unit_bytes: usize,
    filter: Option<Program>,
    keys: Vec<Program>,
    /// The value of each accumulator.
    values: Vec<RowContribution>,
    /// Whether a row of NULLs is computed after the rows of every batch.
    padded: bool,
}

/// Most nodes of expressions that are computed without a row of NULLs after the others. The first
/// NULL among rows that are computed at once makes every later node about 60 ns slower.
pub(crate) const MOST_UNPADDED: usize = 64;

/// The contribution of a row to an accumulator.
enum RowContribution {
    /// One.
    One,
    /// One if there is a value.
    Present(Program),
    /// The value, a whole number.
    Code(Program),
    /// The value, rounded to the lattice; zero for none where the expression always has one.
    Points { of: Program, step: Step, complete: bool },
    /// The pieces of the values before it.
    Pieces(Pieces),
}

impl RowProgram {
    /// Makes the expressions ready. Column `i` of a relation is column `i` here: batches have gaps
    /// filled by [`spread`].
    ///
    /// # Errors
    /// Only for expressions that binding cannot have made.
    pub(crate) fn new(bounding: &Bounding) -> Result<Self, ArrowError> {
        let padded = bounding.nodes() > MOST_UNPADDED;
        let program = |e: &Expr| if padded { Program::padded(e) } else { Program::new(e) };
        let computed = |accumulator: &Accumulator| {
            Ok(match &accumulator.value {
                RowValue::One => RowContribution::One,
                // As for its sum: where an expression always has a value, every row counts.
                RowValue::Present(of) if of.is_never_null() => RowContribution::One,
                RowValue::Present(of) => RowContribution::Present(program(of)?),
                RowValue::Code(of) => RowContribution::Code(program(of)?),
                RowValue::Points(of, step) => RowContribution::Points {
                    complete: of.is_never_null(),
                    of: program(of)?,
                    step: *step,
                },
                RowValue::Pieces(split) => RowContribution::Pieces(Pieces::new(split, &program)?),
            })
        };
        let values = bounding.accumulators.iter().map(computed);
        Ok(Self {
            column_bytes: bounding.column_bytes.clone(),
            // Nothing is cut where there are no units.
            unit_bytes: bounding.unit_bytes.unwrap_or(MAX_STRING_BYTES),
            filter: bounding.filter.as_ref().map(program).transpose()?,
            keys: bounding.keys.iter().map(program).collect::<Result<_, _>>()?,
            values: values.collect::<Result<_, ArrowError>>()?,
            padded,
        })
    }

    /// The rows of a batch that count.
    ///
    /// The time of a batch must not show that one of its rows is kept. Where none is, a row of
    /// NULLs is computed anyway, so that the first row adds no more than a further one: to make
    /// place for the results of many operations takes longer than to compute them for a row. Nor
    /// must it show that one of its rows is the first with a NULL: where there are many operations,
    /// a row of NULLs is computed after those of every batch.
    ///
    /// # Errors
    /// Only for arrays of other types than the query was checked for: never because of a value.
    pub(crate) fn apply(
        &self,
        columns: &[ArrayRef],
        unit: Option<&ArrayRef>,
        rows: usize,
    ) -> Result<ContributionBatch, ArrowError> {
        let null = |c: &ArrayRef| new_null_array(c.data_type(), 1);
        let nothing = |columns: &[ArrayRef]| -> Result<ContributionBatch, ArrowError> {
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
                // Which rows stay is looked up once for all columns.
                let keep = FilterBuilder::new(keep).optimize().build();
                let unit = unit.map(|unit| keep.filter(&unit)).transpose()?;
                self.compute(&self.padded(&filtered(&columns, &keep, rows)?)?, unit, count)
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
    ) -> Result<ContributionBatch, ArrowError> {
        let rows = self.computed(kept);
        let key = |k: &Program| at_most(&k.evaluate(columns, rows)?, MAX_KEY_BYTES);
        let keys = self.keys.iter().map(key).collect::<Result<_, ArrowError>>()?;
        let mut values: Vec<Int64Array> = Vec::with_capacity(self.values.len());
        for computed in &self.values {
            values.push(match computed {
                RowContribution::One => Int64Array::from_value(1, rows),
                RowContribution::Present(e) => {
                    let values = e.evaluate(columns, rows)?;
                    let present = boolean::is_not_null(&values)?;
                    match values.as_primitive_opt::<Float64Type>() {
                        // Follows `points`, so that the values counted are those added up.
                        Some(floats) => {
                            floats.iter().map(|x| x.filter(|x| !x.is_nan()).map(|_| 1)).collect()
                        }
                        None => present.values().iter().map(|p| p.then_some(1)).collect(),
                    }
                }
                RowContribution::Code(e) => {
                    let codes = e.evaluate(columns, rows)?;
                    let odd = || {
                        ArrowError::from(Invariant::new("codes of values are not whole numbers"))
                    };
                    codes.as_primitive_opt::<Int64Type>().ok_or_else(odd)?.clone()
                }
                RowContribution::Points { of, step, complete } => {
                    let points = points(&of.evaluate(columns, rows)?, *step)?;
                    if *complete && points.null_count() > 0 {
                        points.iter().map(|point| Some(point.unwrap_or(0))).collect()
                    } else {
                        points
                    }
                }
                RowContribution::Pieces(pieces) => pieces.of(&values, columns, rows)?,
            });
        }
        let all = ContributionBatch { keys, unit, values, rows };
        Ok(if rows > kept { all.first(kept) } else { all })
    }
}

impl ContributionBatch {
    /// Keeps the first `rows` rows.
    fn first(self, rows: usize) -> Self {
        let first = |array: &ArrayRef| array.slice(0, rows);
        let numbers = |array: &Int64Array| array.slice(0, rows);
        Self {
            keys: self.keys.iter().map(first).collect(),
            unit: self.unit.as_ref().map(first),
            values: self.values.iter().map(numbers).collect(),
            rows,
        }
    }
}

fn filtered(
    columns: &[ArrayRef],
    keep: &FilterPredicate,
    rows: usize,
) -> Result<Vec<ArrayRef>, ArrowError> {
    let mut filtered: Vec<ArrayRef> = Vec::with_capacity(columns.len());
    for column in columns {
        // A filler of no rows stands for a column that is not read.
        let same = column.len() != rows;
        filtered.push(if same { Arc::clone(column) } else { keep.filter(column)? });
    }
    Ok(filtered)
}

/// A batch's columns at the positions that the query counts; empty arrays at the others.
pub(crate) fn spread(
    batch: &RecordBatch,
    read: &[usize],
    all: usize,
) -> Result<Vec<ArrayRef>, ArrowError> {
    let empty: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    let mut columns = vec![empty; all];
    if batch.num_columns() < read.len() {
        return Err(unplaced());
    }
    for (&index, column) in read.iter().zip(batch.columns()) {
        *columns.get_mut(index).ok_or_else(|| unplaced())? = Arc::clone(column);
    }
    Ok(columns)
}

/// A fault of this program.
#[track_caller]
fn unplaced() -> ArrowError {
    Invariant::new("a column that is read has no place").into()
}

/// Values rounded to the nearest lattice point, halves away from zero.
fn points(array: &ArrayRef, step: Step) -> Result<Int64Array, ArrowError> {
    let unexpected =
        || ArrowError::from(Invariant::new("a measure met a type that it was not checked for"));
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
