//! IN lists, looked up at once however long they are.

use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float64Type, Int64Type,
    TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use foldhash::HashSet;
use hushtable_lang::{ColumnType, Value};

use super::counted::count;
use super::text_functions::texts;
use super::unexpected;

/// The constants of an IN list.
pub(super) enum ListedConstants {
    /// Integers, days, moments, booleans, or the bits of floats.
    Integers(HashSet<i64>),
    /// The digits of decimals of the value's scale.
    Decimals(HashSet<i128>),
    Texts {
        set: HashSet<String>,
        /// Bytes of the longest: longer text is not looked up.
        longest: usize,
    },
}

impl ListedConstants {
    pub(super) fn new(list: &[Value], column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::String => {
                let text = |v: &Value| match v {
                    Value::String(s) => Some(s.clone()),
                    _ => None,
                };
                let set: HashSet<String> = list.iter().filter_map(text).collect();
                let longest = set.iter().map(String::len).max().unwrap_or(0);
                Self::Texts { set, longest }
            }
            ColumnType::Decimal { .. } => {
                let digits = |v: &Value| match v {
                    Value::Decimal { digits, .. } => Some(*digits),
                    _ => None,
                };
                Self::Decimals(list.iter().filter_map(digits).collect())
            }
            _ => {
                let integer = |v: &Value| match v {
                    Value::Int(n) | Value::Timestamp(n) => Some(*n),
                    Value::Date(d) => Some(i64::from(*d)),
                    Value::Bool(b) => Some(i64::from(*b)),
                    Value::Float(x) => Some(bits(*x)),
                    _ => None,
                };
                Self::Integers(list.iter().filter_map(integer).collect())
            }
        }
    }

    /// Whether each value is listed; NULL for NULL.
    pub(super) fn found(
        &self,
        array: &ArrayRef,
        column_type: ColumnType,
    ) -> Result<ArrayRef, ArrowError> {
        let found = match (self, column_type) {
            (Self::Texts { set, longest }, _) => {
                let among = |text: &str| {
                    count(|| text.len().min(*longest));
                    text.len() <= *longest && set.contains(text)
                };
                texts(array)?.iter().map(|text| Some(among(text?))).collect()
            }
            (Self::Decimals(set), _) => among::<Decimal128Type, _>(array, set, |digits| digits)?,
            (Self::Integers(set), ColumnType::Int) => among::<Int64Type, _>(array, set, |n| n)?,
            (Self::Integers(set), ColumnType::Date) => {
                among::<Date32Type, _>(array, set, i64::from)?
            }
            (Self::Integers(set), ColumnType::Timestamp) => {
                among::<TimestampMicrosecondType, _>(array, set, |n| n)?
            }
            (Self::Integers(set), ColumnType::Float) => among::<Float64Type, _>(array, set, bits)?,
            (Self::Integers(set), _) => {
                let values = array.as_boolean_opt().ok_or_else(|| unexpected())?;
                values.iter().map(|b| Some(set.contains(&i64::from(b?)))).collect()
            }
        };
        Ok(Arc::new(found))
    }
}

/// Equal floats have equal bits: there is no NaN and no minus zero.
fn bits(x: f64) -> i64 {
    i64::from_ne_bytes(x.to_ne_bytes())
}

fn among<T: ArrowPrimitiveType, K: Eq + Hash>(
    array: &ArrayRef,
    set: &HashSet<K>,
    key: impl Fn(T::Native) -> K,
) -> Result<BooleanArray, ArrowError> {
    let values: &PrimitiveArray<T> = array.as_primitive_opt().ok_or_else(|| unexpected())?;
    Ok(values.iter().map(|value| Some(set.contains(&key(value?)))).collect())
}
