//! From arrays as a file stores them to arrays of the declared types.
//!
//! Arrow's casts are used only where they are total: some fail on extreme values however lenient
//! their options (timestamp to date, timestamp to text), and some trust that a decimal has no more
//! digits than its type says, which a file need not keep to.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, Float64Array, Int64Array,
    PrimitiveArray, StringViewArray, TimestampMicrosecondArray, new_null_array,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{ColumnType, MAX_STRING_BYTES, calendar_day, calendar_moment};
use hushtable_numbers::decimal::{power_of_ten, within_digits};

use super::convert::{ReadType, StoredType, arrow_type, decimals, unexpected};
use super::from_text::TextColumn;
use super::utf8_texts::utf8_texts;

const MS_PER_DAY: i64 = 86_400_000;

/// The values of a file's array as the target has them; NULL where they do not convert.
///
/// # Errors
///
/// Fails as [`normalise`] does.
pub(super) fn read_as(
    array: &ArrayRef,
    stored: StoredType,
    to: ReadType,
) -> Result<ArrayRef, ArrowError> {
    match to {
        ReadType::Value(to) => normalise(array, stored, to),
        ReadType::Identifier(to) => identifier(array, stored, to),
        ReadType::Wide => wide(array, stored),
    }
}

/// The values of `array` as `to`; NULL where they do not convert. Returns the array itself where
/// nothing changes.
///
/// # Errors
///
/// Only for types that [`StoredType::becomes`] refuses, or an array that is not of `stored`: never
/// because of a value.
pub(crate) fn normalise(
    array: &ArrayRef,
    stored: StoredType,
    to: ColumnType,
) -> Result<ArrayRef, ArrowError> {
    match (stored, to) {
        (StoredType::Null, _) => Ok(new_null_array(&arrow_type(to), array.len())),
        (StoredType::Text, ColumnType::String) => string(array),
        (StoredType::Text, _) => text(array, ReadType::Value(to)),
        (StoredType::Bool, ColumnType::Bool) => Ok(Arc::clone(array)),
        // Total: widening, a check of range, a comparison with 0, or digits.
        (StoredType::Bool, ColumnType::Int | ColumnType::String)
        | (
            StoredType::Int { .. },
            ColumnType::Bool | ColumnType::Int | ColumnType::String | ColumnType::Float,
        ) => cast(array, &arrow_type(to)),
        (StoredType::Int { .. }, ColumnType::Decimal { scale }) => {
            rescale(&integers(array)?, 0, scale)
        }
        (StoredType::Float, ColumnType::Float) => {
            Ok(float(cast(array, &DataType::Float64)?.as_primitive::<Float64Type>()))
        }
        (StoredType::Decimal { scale }, _) => decimal(&digits(array)?, scale, to),
        (StoredType::Date | StoredType::Timestamp { .. }, ColumnType::Date) => date(array),
        (StoredType::Date | StoredType::Timestamp { .. }, ColumnType::Timestamp) => {
            timestamp(array)
        }
        _ => Err(unexpected()),
    }
}

/// Values that tell units apart; NULL where two of the file could be one.
fn identifier(
    array: &ArrayRef,
    stored: StoredType,
    to: ColumnType,
) -> Result<ArrayRef, ArrowError> {
    match (stored, to) {
        (StoredType::Text, ColumnType::String) => string(array),
        (StoredType::Text, _) => text(array, ReadType::Identifier(to)),
        (StoredType::Date, ColumnType::Date) if array.data_type() == &DataType::Date64 => {
            let (values, _) = instants(array)?;
            let whole = |v: i64| (v % MS_PER_DAY == 0).then_some(v);
            let whole: PrimitiveArray<Date64Type> = values.unary_opt(whole);
            date(&(Arc::new(whole) as ArrayRef))
        }
        _ => normalise(array, stored, to),
    }
}

/// Whole numbers of up to 38 digits.
fn wide(array: &ArrayRef, stored: StoredType) -> Result<ArrayRef, ArrowError> {
    match stored {
        StoredType::Null => Ok(new_null_array(&ReadType::Wide.arrow_type(), array.len())),
        StoredType::Text => text(array, ReadType::Wide),
        StoredType::Bool => rescale(&integers(&cast(array, &DataType::Int64)?)?, 0, 0),
        StoredType::Int { .. } => rescale(&integers(array)?, 0, 0),
        StoredType::Decimal { scale } => rescale(&digits(array)?, scale, 0),
        _ => Err(unexpected()),
    }
}

fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    cast_with_options(array, to, &CastOptions { safe: true, ..CastOptions::default() })
}

fn text(array: &ArrayRef, to: ReadType) -> Result<ArrayRef, ArrowError> {
    let bytes = array.as_binary_view_opt().ok_or_else(unexpected)?;
    let mut column = TextColumn::new(to, &Arc::default(), bytes.len());
    for field in bytes {
        column.push(field);
    }
    column.finish()
}

/// Copies no text: the result shares the buffers of the file's pages.
fn string(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let bytes = array.as_binary_view_opt().ok_or_else(unexpected)?;
    // The low half of a view's first 8 bytes is its length.
    let long = bytes.views().iter().any(|view| (*view as u32) as usize > MAX_STRING_BYTES);
    if !long && let Some(array) = utf8_texts(bytes) {
        return Ok(array);
    }
    let valid = |field: Option<&[u8]>| {
        field.is_some_and(|f| f.len() <= MAX_STRING_BYTES && std::str::from_utf8(f).is_ok())
    };
    let nulls = NullBuffer::from_iter(bytes.iter().map(valid));
    // Views of NULLs are checked, too: they must be empty.
    let views: Vec<u128> =
        bytes.views().iter().zip(nulls.iter()).map(|(v, ok)| if ok { *v } else { 0 }).collect();
    let buffers = bytes.data_buffers().to_vec();
    Ok(Arc::new(StringViewArray::try_new(views.into(), buffers, Some(nulls))?))
}

fn float(array: &Float64Array) -> ArrayRef {
    let changes = |v: &f64| v.is_nan() || v.to_bits() == (-0.0_f64).to_bits();
    if !array.values().iter().any(changes) {
        return Arc::new(array.clone());
    }
    // Adding 0 turns −0 into 0.
    let clean = |v: f64| if v.is_nan() { None } else { Some(v + 0.0) };
    Arc::new(array.unary_opt::<_, Float64Type>(clean))
}

/// Integers as decimals without digits after the point.
fn integers(array: &ArrayRef) -> Result<Decimal128Array, ArrowError> {
    fn widen<T>(array: &ArrayRef) -> Result<Decimal128Array, ArrowError>
    where
        T: ArrowPrimitiveType,
        T::Native: Into<i128>,
    {
        Ok(array.as_primitive_opt::<T>().ok_or_else(unexpected)?.unary(Into::into))
    }
    match array.data_type() {
        DataType::Int8 => widen::<Int8Type>(array),
        DataType::Int16 => widen::<Int16Type>(array),
        DataType::Int32 => widen::<Int32Type>(array),
        DataType::Int64 => widen::<Int64Type>(array),
        DataType::UInt8 => widen::<UInt8Type>(array),
        DataType::UInt16 => widen::<UInt16Type>(array),
        DataType::UInt32 => widen::<UInt32Type>(array),
        DataType::UInt64 => widen::<UInt64Type>(array),
        _ => Err(unexpected()),
    }
}

/// The digits of decimals, whatever their width; NULL beyond 128 bits.
fn digits(array: &ArrayRef) -> Result<Decimal128Array, ArrowError> {
    Ok(match array.data_type() {
        DataType::Decimal32(..) => array.as_primitive::<Decimal32Type>().unary(i128::from),
        DataType::Decimal64(..) => array.as_primitive::<Decimal64Type>().unary(i128::from),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().clone(),
        DataType::Decimal256(..) => {
            array.as_primitive::<Decimal256Type>().unary_opt(|wide| wide.to_i128())
        }
        DataType::BinaryView => {
            array.as_binary_view().iter().map(|bytes| big_endian(bytes?)).collect()
        }
        DataType::FixedSizeBinary(_) => {
            array.as_fixed_size_binary().iter().map(|bytes| big_endian(bytes?)).collect()
        }
        _ => return Err(unexpected()),
    })
}

/// A two's complement number of any number of bytes, if it fits.
pub(super) fn big_endian(bytes: &[u8]) -> Option<i128> {
    let negative = *bytes.first()? >= 0x80;
    let fill = if negative { 0xff } else { 0 };
    let (head, tail) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut wide = [fill; 16];
    wide[16 - tail.len()..].copy_from_slice(tail);
    let value = i128::from_be_bytes(wide);
    (head.iter().all(|byte| *byte == fill) && (value < 0) == negative).then_some(value)
}

fn decimal(array: &Decimal128Array, from: i8, to: ColumnType) -> Result<ArrayRef, ArrowError> {
    match to {
        ColumnType::Decimal { scale } => rescale(array, from, scale),
        ColumnType::Int => {
            let factor = power_of_ten(-i64::from(from));
            let int = |v: i128| i64::try_from(multiply(v, factor)?).ok();
            Ok(Arc::new(array.unary_opt::<_, Int64Type>(int)))
        }
        ColumnType::Float => {
            let factor = 10_f64.powi(i32::from(from).abs());
            let scaled = |v: i128| if from > 0 { v as f64 / factor } else { v as f64 * factor };
            Ok(float(&array.unary(scaled)))
        }
        _ => Err(unexpected()),
    }
}

/// `factor` is `None` if it has more digits than a decimal.
fn multiply(value: i128, factor: Option<i128>) -> Option<i128> {
    if value == 0 { Some(0) } else { value.checked_mul(factor?) }
}

fn rescale(array: &Decimal128Array, from: i8, to: u8) -> Result<ArrayRef, ArrowError> {
    let more = i64::from(to) - i64::from(from);
    if more < 0 {
        return Err(unexpected());
    }
    let factor = power_of_ten(more);
    // A file may hold more digits than its type says.
    if more == 0 && array.values().iter().all(|v| within_digits(*v).is_some()) {
        return decimals(array.clone(), to);
    }
    decimals(array.unary_opt(|v| within_digits(multiply(v, factor)?)), to)
}

/// The 64-bit numbers of an array of instants, and the unit of those from Arrow.
fn instants(array: &ArrayRef) -> Result<(Int64Array, TimeUnit), ArrowError> {
    fn raw<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef) -> Int64Array {
        let array: &PrimitiveArray<T> = array.as_primitive();
        array.reinterpret_cast()
    }
    Ok(match array.data_type() {
        DataType::Date64 => (raw::<Date64Type>(array), TimeUnit::Millisecond),
        DataType::Timestamp(unit, _) => {
            let values = match unit {
                TimeUnit::Second => raw::<TimestampSecondType>(array),
                TimeUnit::Millisecond => raw::<TimestampMillisecondType>(array),
                TimeUnit::Microsecond => raw::<TimestampMicrosecondType>(array),
                TimeUnit::Nanosecond => raw::<TimestampNanosecondType>(array),
            };
            (values, *unit)
        }
        _ => return Err(unexpected()),
    })
}

/// The UTC day of each instant.
fn date(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if let Some(days) = array.as_primitive_opt::<Date32Type>() {
        if days.values().iter().all(|day| calendar_day(*day).is_some()) {
            return Ok(Arc::clone(array));
        }
        return Ok(Arc::new(days.unary_opt::<_, Date32Type>(calendar_day)));
    }
    let (values, unit) = instants(array)?;
    let per_day = match unit {
        TimeUnit::Second => MS_PER_DAY / 1000,
        TimeUnit::Millisecond => MS_PER_DAY,
        TimeUnit::Microsecond => MS_PER_DAY * 1000,
        TimeUnit::Nanosecond => MS_PER_DAY * 1_000_000,
    };
    let day = |v: i64| calendar_day(i32::try_from(v.div_euclid(per_day)).ok()?);
    Ok(Arc::new(values.unary_opt::<_, Date32Type>(day)))
}

fn timestamp(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let micros: TimestampMicrosecondArray =
        if let Some(days) = array.as_primitive_opt::<Date32Type>() {
            days.unary_opt(|v| i64::from(v).checked_mul(MS_PER_DAY * 1000))
        } else {
            let (values, unit) = instants(array)?;
            match unit {
                TimeUnit::Second => values.unary_opt(|v| v.checked_mul(1_000_000)),
                TimeUnit::Millisecond => values.unary_opt(|v| v.checked_mul(1000)),
                TimeUnit::Microsecond => values.reinterpret_cast(),
                TimeUnit::Nanosecond => values.unary(|v| v.div_euclid(1000)),
            }
        };
    if micros.values().iter().all(|moment| calendar_moment(*moment).is_some()) {
        return Ok(Arc::new(micros));
    }
    Ok(Arc::new(micros.unary_opt::<_, TimestampMicrosecondType>(calendar_moment)))
}
