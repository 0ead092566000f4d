//! Intervals around the values of a released table.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int64Array, RecordBatch,
};
use datafusion::arrow::datatypes::{Decimal128Type, Field, Float64Type, Schema};
use hushtable_contract::IntervalRequest;
use hushtable_lang::{ColumnType, Value};
use hushtable_quote::{AdjustedNoise, IntervalCoverage, Intervals, NoInterval, Quote, ReleasedRow};

use crate::error::EngineError;
use crate::eval::Program;
use crate::release::ReleasedTable;
use crate::source::convert::decimals;
use crate::value::value_at;

/// The released values behind a table, and the laws of their noise. Intervals of any level follow
/// from them, at no cost.
#[derive(Clone, Debug)]
pub(crate) struct Uncertainty {
    quote: Quote,
    released: ReleasedTable,
    /// Of a table that is adjusted to others, the noise of each measurement; `None` for one that is
    /// not adjusted, or by an amount that depends on the numbers.
    adjusted: Option<Vec<Option<AdjustedNoise>>>,
}

/// The intervals around the values of a table. They hold the values without noise; what bounds cut
/// off is not in them.
#[derive(Clone, Debug)]
pub struct TableIntervals {
    /// Their level, and whether they hold all at once.
    pub wanted: IntervalRequest,
    /// The intervals of each column, in the table's order.
    pub columns: Vec<ColumnIntervals>,
}

/// The intervals of a column.
#[derive(Clone, Debug)]
pub enum ColumnIntervals {
    /// None, as it has no noise.
    Exact,
    /// None.
    Without(NoInterval),
    /// Their ends, row by row, of the column's type. NULL where a row has no interval: its value is
    /// not a number, or its denominator may be zero.
    Ends {
        /// The lower ends.
        low: ArrayRef,
        /// The upper ends.
        high: ArrayRef,
    },
}

impl Uncertainty {
    pub(crate) fn new(quote: &Quote, released: ReleasedTable) -> Self {
        Self { quote: quote.clone(), released, adjusted: None }
    }

    /// Of a table that is adjusted to others: its intervals hold the values that it shows, too.
    pub(crate) fn adjusted(
        quote: &Quote,
        table: ReleasedTable,
        noises: Vec<Option<AdjustedNoise>>,
    ) -> Self {
        Self { quote: quote.clone(), released: table, adjusted: Some(noises) }
    }

    /// The released table.
    pub(crate) fn table(&self) -> &RecordBatch {
        &self.released.table
    }

    /// The intervals that the query or its contract asks for.
    pub(crate) fn interval_request(&self) -> Option<IntervalRequest> {
        self.quote.query().intervals()
    }

    /// The intervals around the values of the table.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub(crate) fn intervals(&self, wanted: IntervalRequest) -> Result<TableIntervals, EngineError> {
        let query = self.quote.query();
        let ReleasedTable { values, groups, table } = &self.released;
        let noises = self.adjusted.as_deref().unwrap_or_default();
        let intervals = Intervals::adjusted(&self.quote, wanted, *groups, noises);
        let rows = table.num_rows();
        let (keys, steps) = values.split_at_checked(query.keys().len()).ok_or(
            EngineError::inconsistent("a release has fewer columns than its query has keys"),
        )?;
        let measurements = query.measurements().len();
        let (steps, rest) =
            steps.split_at_checked(measurements).ok_or(EngineError::inconsistent(
                "a release has fewer columns than its query has measurements",
            ))?;
        let steps = steps.iter().map(|column| column.as_primitive_opt::<Decimal128Type>());
        let steps: Option<Vec<_>> = steps.collect();
        let steps = steps.ok_or(EngineError::inconsistent(
            "a released measurement is not a column of whole steps",
        ))?;
        let rest = rest.iter().map(|column| column.as_primitive_opt::<Float64Type>());
        let rest: Option<Vec<_>> = rest.collect();
        let rest = rest.ok_or(EngineError::inconsistent(
            "what is left of an adjusted measurement is not a column of floats",
        ))?;
        if values.iter().any(|column| column.len() != rows) {
            return Err(EngineError::inconsistent(
                "the columns of a release have different numbers of rows",
            ));
        }
        let known = intervals.known().iter();
        let known = known.map(|expr| Ok(Program::new(expr)?.evaluate(keys, rows)?));
        let known = known.collect::<Result<Vec<_>, EngineError>>()?;
        let keys = if intervals.reads_keys() { keys } else { &[] };
        let row_of = |columns: &[ArrayRef], row: usize| {
            let values = columns.iter().map(|column| value_at(column, row));
            values.collect::<Option<Vec<Value>>>().ok_or(EngineError::inconsistent(
                "a released column has no value in one of its rows",
            ))
        };
        let mut ends: Vec<Vec<Option<(Value, Value)>>> =
            vec![Vec::with_capacity(rows); query.outputs().len()];
        for row in 0..rows {
            let (keys, known) = (row_of(keys, row)?, row_of(&known, row)?);
            let steps: Vec<i128> = steps.iter().map(|column| column.value(row)).collect();
            let rest: Vec<f64> = rest.iter().map(|column| column.value(row)).collect();
            let released = ReleasedRow { keys: &keys, steps: &steps, rest: &rest, known: &known };
            for ((index, column), interval) in
                ends.iter_mut().enumerate().zip(intervals.of(&released))
            {
                let shown = || {
                    value_at(table.column(index), row).ok_or(EngineError::inconsistent(
                        "a released column has no value in one of its rows",
                    ))
                };
                column.push(match (interval, &self.adjusted) {
                    (Some(ends), Some(_)) => Some(with(ends, shown()?)),
                    (interval, _) => interval,
                });
            }
        }
        let outputs = query.outputs().iter().zip(intervals.covered()).zip(ends);
        let columns = outputs.map(|((output, covered), ends)| {
            let column_type = output.expr.column_type;
            Ok(match covered {
                IntervalCoverage::Exact => ColumnIntervals::Exact,
                IntervalCoverage::Without(why) => ColumnIntervals::Without(why),
                IntervalCoverage::Interval => {
                    ColumnIntervals::between(column_type, ends.into_iter())?
                }
            })
        });
        Ok(TableIntervals { wanted, columns: columns.collect::<Result<_, EngineError>>()? })
    }
}

/// The interval that holds a number, too.
fn with((low, high): (Value, Value), value: Value) -> (Value, Value) {
    match (low, high, value) {
        (Value::Int(low), Value::Int(high), Value::Int(x)) => {
            (Value::Int(low.min(x)), Value::Int(high.max(x)))
        }
        (Value::Float(low), Value::Float(high), Value::Float(x)) => {
            (Value::Float(low.min(x)), Value::Float(high.max(x)))
        }
        (
            Value::Decimal { digits: low, scale },
            Value::Decimal { digits: high, .. },
            Value::Decimal { digits: x, .. },
        ) => {
            let end = |digits| Value::Decimal { digits, scale };
            (end(low.min(x)), end(high.max(x)))
        }
        (low, high, _) => (low, high),
    }
}

impl ColumnIntervals {
    /// Intervals with these ends, row by row, of that type.
    pub(crate) fn between(
        column_type: ColumnType,
        ends: impl Iterator<Item = Option<(Value, Value)>>,
    ) -> Result<Self, EngineError> {
        let (low, high): (Vec<_>, Vec<_>) = ends.map(Option::unzip).unzip();
        Ok(Self::Ends { low: column(column_type, low)?, high: column(column_type, high)? })
    }
}

/// Values as a column of their type.
fn column(column_type: ColumnType, values: Vec<Option<Value>>) -> Result<ArrayRef, EngineError> {
    let values = values.into_iter();
    Ok(match column_type {
        ColumnType::Int => Arc::new(
            values
                .map(|v| if let Value::Int(n) = v? { Some(n) } else { None })
                .collect::<Int64Array>(),
        ),
        ColumnType::Float => Arc::new(
            values
                .map(|v| if let Value::Float(x) = v? { Some(x) } else { None })
                .collect::<Float64Array>(),
        ),
        ColumnType::Decimal { scale } => {
            let digits: Decimal128Array = values
                .map(|v| if let Value::Decimal { digits, .. } = v? { Some(digits) } else { None })
                .collect();
            decimals(digits, scale)?
        }
        _ => {
            return Err(EngineError::inconsistent("a column that is not of numbers has intervals"));
        }
    })
}

impl TableIntervals {
    /// The table with the ends of intervals beside the values: for x, the columns x_low and x_high.
    /// A name that the table has already gets further underscores.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub fn beside(&self, table: &RecordBatch) -> Result<RecordBatch, EngineError> {
        let schema = table.schema();
        if schema.fields().len() != self.columns.len() {
            return Err(EngineError::inconsistent(
                "a table has another number of columns than its intervals",
            ));
        }
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        let mut names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let shown = schema.fields().iter().zip(table.columns()).zip(&self.columns);
        for ((field, values), intervals) in shown {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(values));
            let ColumnIntervals::Ends { low, high } = intervals else { continue };
            for (end, values) in [("low", low), ("high", high)] {
                let mut name = format!("{}_{end}", field.name());
                while names.contains(&name) {
                    name.push('_');
                }
                names.push(name.clone());
                fields.push(Arc::new(Field::new(name, values.data_type().clone(), true)));
                columns.push(Arc::clone(values));
            }
        }
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
    }
}
