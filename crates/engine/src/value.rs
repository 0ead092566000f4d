//! Single values of released columns.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int64Type, TimeUnit,
    TimestampMicrosecondType,
};
use hushtable_lang::Value;

/// The value of a column in a row; `None` for a column of no type of the engine's.
pub(crate) fn value_at(column: &ArrayRef, row: usize) -> Option<Value> {
    if column.is_null(row) {
        return Some(Value::Null);
    }
    Some(match column.data_type() {
        DataType::Boolean => Value::Bool(column.as_boolean_opt()?.value(row)),
        DataType::Int64 => Value::Int(column.as_primitive_opt::<Int64Type>()?.value(row)),
        DataType::Float64 => Value::Float(column.as_primitive_opt::<Float64Type>()?.value(row)),
        DataType::Decimal128(_, scale) => Value::Decimal {
            digits: column.as_primitive_opt::<Decimal128Type>()?.value(row),
            scale: u8::try_from(*scale).ok()?,
        },
        DataType::Utf8View => Value::String(column.as_string_view_opt()?.value(row).to_owned()),
        DataType::Date32 => Value::Date(column.as_primitive_opt::<Date32Type>()?.value(row)),
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            Value::Timestamp(column.as_primitive_opt::<TimestampMicrosecondType>()?.value(row))
        }
        _ => return None,
    })
}
