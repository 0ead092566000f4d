//! Whole numbers that distinguish values.

use std::hash::Hasher;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::MAX_KEY_BYTES;
use siphasher::sip::SipHasher24;

use super::counted::count;
use super::text_functions::texts;
use super::unexpected;

/// The code of each value. Whole numbers, dates, moments, floats and booleans have codes of their
/// own. Texts and decimals are hashed, the same everywhere, so that another process finds the same
/// number: of a million different texts, two have the same code with probability 3e-8. No promise
/// rests on it, as whatever codes are, a unit has no more of them than may count.
pub(super) fn codes(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let codes: Int64Array = match array.data_type() {
        DataType::Int64 => return Ok(Arc::clone(array)),
        DataType::Date32 => array.as_primitive::<Date32Type>().unary(i64::from),
        DataType::Timestamp(..) => {
            let micros = array.as_primitive_opt::<TimestampMicrosecondType>();
            micros.ok_or_else(|| unexpected())?.unary(|micros| micros)
        }
        // Equal floats have equal bits: there is no minus zero.
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().unary(|x| i64::from_ne_bytes(x.to_ne_bytes()))
        }
        DataType::Boolean => array.as_boolean().iter().map(|b| b.map(i64::from)).collect(),
        DataType::Decimal128(..) => {
            array.as_primitive::<Decimal128Type>().unary(|digits| hashed(&digits.to_le_bytes()))
        }
        _ => {
            let code = |text: &str| {
                count(|| text.len().min(MAX_KEY_BYTES));
                (text.len() <= MAX_KEY_BYTES).then(|| hashed(text.as_bytes()))
            };
            texts(array)?.iter().map(|text| code(text?)).collect()
        }
    };
    Ok(Arc::new(codes))
}

/// The code of each row of values: a hash of their codes, which all have the same number of bytes.
/// NULL where one of them is.
pub(super) fn codes_of_several(arrays: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    let codes = arrays.iter().map(codes).collect::<Result<Vec<_>, _>>()?;
    let columns = codes
        .iter()
        .map(|column| column.as_primitive_opt::<Int64Type>().ok_or_else(|| unexpected()))
        .collect::<Result<Vec<_>, _>>()?;
    let rows = columns.first().map_or(0, |column| column.len());
    let mut bytes = Vec::with_capacity(8 * columns.len());
    let row_code = |at: usize| {
        bytes.clear();
        for column in &columns {
            bytes.extend(column.is_valid(at).then(|| column.value(at))?.to_le_bytes());
        }
        count(|| bytes.len());
        Some(hashed(&bytes))
    };
    Ok(Arc::new((0..rows).map(row_code).collect::<Int64Array>()))
}

fn hashed(bytes: &[u8]) -> i64 {
    let mut hasher = SipHasher24::new();
    hasher.write(bytes);
    i64::from_le_bytes(hasher.finish().to_le_bytes())
}
