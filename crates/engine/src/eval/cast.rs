//! Constants, and casts that are NULL where they fail.

use std::fmt::Write as _;
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, TimeDelta};
use datafusion::arrow::array::{
    ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    StringViewArray, TimestampMicrosecondArray, new_null_array,
};
use datafusion::arrow::compute::cast as arrow_cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{ColumnType, MAX_NUMBER_BYTES, Value};
use hushtable_numbers::decimal::{FixedDecimal, round_quotient};

use super::counted::count;
use super::text_functions::{at_most, builder, bytes};
use super::unexpected;
use crate::source::convert::decimals;
use crate::source::convert::{StoredType, arrow_type};
use crate::source::normalise::normalise;

/// The value as an array of one row.
pub(crate) fn constant(value: &Value, column_type: ColumnType) -> Result<ArrayRef, ArrowError> {
    Ok(match value {
        Value::Null => new_null_array(&arrow_type(column_type), 1),
        Value::Bool(b) => Arc::new(BooleanArray::from(vec![*b])),
        Value::Int(n) => Arc::new(Int64Array::from(vec![*n])),
        Value::Decimal { digits, scale } => decimals(Decimal128Array::from(vec![*digits]), *scale)?,
        Value::Float(x) => Arc::new(Float64Array::from(vec![*x])),
        Value::String(s) => Arc::new(StringViewArray::from(vec![Some(s.as_str())])),
        Value::Date(d) => Arc::new(Date32Array::from(vec![*d])),
        Value::Timestamp(t) => Arc::new(TimestampMicrosecondArray::from(vec![*t])),
    })
}

/// The array as another type.
pub(super) fn cast(
    array: &ArrayRef,
    from: ColumnType,
    to: ColumnType,
) -> Result<ArrayRef, ArrowError> {
    use ColumnType as T;
    if from == to {
        return Ok(Arc::clone(array));
    }
    match (from, to) {
        (_, T::String) => to_text(array, from),
        (T::String, _) => {
            count(|| bytes(array));
            let short = at_most(array, MAX_NUMBER_BYTES)?;
            normalise(&arrow_cast(&short, &DataType::BinaryView)?, StoredType::Text, to)
        }
        (T::Bool, T::Int) => normalise(array, StoredType::Bool, to),
        (T::Int, _) => normalise(array, StoredType::Int { unsigned_64: false }, to),
        (T::Decimal { scale }, T::Decimal { scale: smaller }) if smaller < scale => {
            let digits = array.as_primitive_opt::<Decimal128Type>().ok_or_else(|| unexpected())?;
            let factor = 10i128.pow(u32::from(scale - smaller));
            let rounded: Decimal128Array = digits.unary(|d| round_quotient(d, factor));
            decimals(rounded, smaller)
        }
        (T::Decimal { scale }, _) => {
            let scale = i8::try_from(scale).map_err(|_| unexpected())?;
            normalise(array, StoredType::Decimal { scale }, to)
        }
        (T::Float, T::Decimal { scale }) => {
            let floats = array.as_primitive_opt::<Float64Type>().ok_or_else(|| unexpected())?;
            let factor = 10f64.powi(i32::from(scale));
            let digits = |x: f64| {
                let scaled = (x * factor).round();
                // Beyond 2^53 a float has no decimal places left, and at 10^38 no room.
                (scaled.abs() < 1e38).then_some(scaled as i128)
            };
            decimals(floats.unary_opt::<_, Decimal128Type>(digits), scale)
        }
        (T::Date, _) => normalise(array, StoredType::Date, to),
        (T::Timestamp, _) => normalise(array, StoredType::Timestamp { finer: false }, to),
        _ => Err(unexpected()),
    }
}

/// Text as GoogleSQL writes it.
fn to_text(array: &ArrayRef, from: ColumnType) -> Result<ArrayRef, ArrowError> {
    let mut builder = builder(array.len());
    let mut line = String::new();
    match from {
        ColumnType::Bool | ColumnType::Int => return arrow_cast(array, &DataType::Utf8View),
        ColumnType::Float => {
            let floats = array.as_primitive_opt::<Float64Type>().ok_or_else(|| unexpected())?;
            for value in floats {
                builder.append_option(value.map(|x| {
                    line.clear();
                    let _ = write!(line, "{x}");
                    line.as_str()
                }));
            }
        }
        ColumnType::Decimal { scale } => {
            let digits = array.as_primitive_opt::<Decimal128Type>().ok_or_else(|| unexpected())?;
            for value in digits {
                builder.append_option(value.map(|digits| {
                    line.clear();
                    let _ = write!(line, "{}", FixedDecimal { digits, scale });
                    line.as_str()
                }));
            }
        }
        ColumnType::Date => {
            let days = array.as_primitive_opt::<Date32Type>().ok_or_else(|| unexpected())?;
            for value in days {
                let day = value.and_then(date_of);
                builder.append_option(day.map(|d| d.to_string()));
            }
        }
        ColumnType::Timestamp => {
            let micros =
                array.as_primitive_opt::<TimestampMicrosecondType>().ok_or_else(|| unexpected())?;
            for value in micros {
                let moment = value.and_then(DateTime::from_timestamp_micros);
                builder.append_option(moment.map(|t| t.naive_utc().to_string()));
            }
        }
        ColumnType::String => return Err(unexpected()),
    }
    Ok(Arc::new(builder.finish()))
}

/// The calendar day, if the calendar reaches so far.
pub(super) fn date_of(days: i32) -> Option<NaiveDate> {
    NaiveDate::default().checked_add_signed(TimeDelta::try_days(i64::from(days))?)
}
