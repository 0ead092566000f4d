//! Released columns, rebuilt from their values.
//!
//! An array that was filtered, taken from or sliced may still hold, out of sight, what is gone: a
//! view array keeps the text of all rows it came from, and any array may keep a value under a NULL.
//! It would take them along into whatever it is written to, and names of groups that were not
//! selected would leave with the release.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, StringViewBuilder,
};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;

use crate::invariant::Invariant;

/// Copies the values into fresh buffers that hold nothing else.
pub(crate) fn rebuilt(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    fn copied<T: ArrowPrimitiveType>(column: &ArrayRef) -> PrimitiveArray<T> {
        column.as_primitive::<T>().iter().collect()
    }
    Ok(match column.data_type() {
        DataType::Boolean => Arc::new(column.as_boolean().iter().collect::<BooleanArray>()),
        DataType::Int64 => Arc::new(copied::<Int64Type>(column)),
        DataType::Float64 => Arc::new(copied::<Float64Type>(column)),
        DataType::Decimal128(digits, scale) => {
            Arc::new(copied::<Decimal128Type>(column).with_precision_and_scale(*digits, *scale)?)
        }
        DataType::Date32 => Arc::new(copied::<Date32Type>(column)),
        DataType::Timestamp(..) => Arc::new(copied::<TimestampMicrosecondType>(column)),
        DataType::Utf8View => {
            let mut builder = StringViewBuilder::with_capacity(column.len());
            builder.extend(column.as_string_view().iter());
            Arc::new(builder.finish())
        }
        _ => return Err(Invariant::new("a released column is of no known type").into()),
    })
}
