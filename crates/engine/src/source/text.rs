//! From text to values.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::array::builder::{
    BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder, Int64Builder,
    StringViewBuilder, TimestampMicrosecondBuilder,
};
use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::compute::kernels::cast_utils::{Parser, string_to_datetime};
use datafusion::arrow::datatypes::{Date32Type, Float64Type, Int64Type};
use datafusion::arrow::error::ArrowError;
use hushtable_query::{ColumnType, MAX_STRING_BYTES};

use super::convert::{in_range, power_of_ten};
use super::normalise::decimals;

/// Collects fields of text into an array of a column's type.
pub(super) struct TextColumn {
    values: Values,
    utc: Tz,
}

enum Values {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Decimal(Decimal128Builder, u8),
    Float(Float64Builder),
    String(StringViewBuilder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
}

impl TextColumn {
    pub(super) fn new(to: ColumnType, rows: usize) -> Result<Self, ArrowError> {
        let values = match to {
            ColumnType::Bool => Values::Bool(BooleanBuilder::with_capacity(rows)),
            ColumnType::Int => Values::Int(Int64Builder::with_capacity(rows)),
            ColumnType::Decimal { scale } => {
                Values::Decimal(Decimal128Builder::with_capacity(rows), scale)
            }
            ColumnType::Float => Values::Float(Float64Builder::with_capacity(rows)),
            ColumnType::String => Values::String(StringViewBuilder::with_capacity(rows)),
            ColumnType::Date => Values::Date(Date32Builder::with_capacity(rows)),
            ColumnType::Timestamp => {
                Values::Timestamp(TimestampMicrosecondBuilder::with_capacity(rows))
            }
        };
        Ok(Self { values, utc: "+00:00".parse()? })
    }

    /// Appends a field, or NULL if there is none or it is not a value of the column. Returns false in
    /// the last case.
    pub(super) fn push(&mut self, field: Option<&[u8]>) -> bool {
        let text = field
            .filter(|bytes| bytes.len() <= MAX_STRING_BYTES)
            .and_then(|bytes| std::str::from_utf8(bytes).ok());
        let trimmed = text.map(str::trim_ascii);
        let fits = match &mut self.values {
            Values::Bool(out) => append(trimmed.and_then(boolean), |v| out.append_option(v)),
            Values::Int(out) => {
                append(trimmed.and_then(Int64Type::parse), |v| out.append_option(v))
            }
            Values::Decimal(out, scale) => {
                append(trimmed.and_then(|text| decimal(text, *scale)), |v| out.append_option(v))
            }
            Values::Float(out) => append(trimmed.and_then(float), |v| out.append_option(v)),
            Values::String(out) => append(text, |v| out.append_option(v)),
            Values::Date(out) => {
                append(trimmed.and_then(Date32Type::parse), |v| out.append_option(v))
            }
            Values::Timestamp(out) => {
                // The error holds the text, and ends here.
                let at = trimmed.and_then(|text| string_to_datetime(&self.utc, text).ok());
                append(at.map(|at| at.timestamp_micros()), |v| out.append_option(v))
            }
        };
        fits || field.is_none()
    }

    /// The values so far; the column is empty afterwards.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match &mut self.values {
            Values::Bool(out) => Arc::new(out.finish()),
            Values::Int(out) => Arc::new(out.finish()),
            Values::Decimal(out, scale) => decimals(out.finish(), *scale)?,
            Values::Float(out) => Arc::new(out.finish()),
            Values::String(out) => Arc::new(out.finish()),
            Values::Date(out) => Arc::new(out.finish()),
            Values::Timestamp(out) => Arc::new(out.finish()),
        })
    }
}

/// Appends a value or NULL; whether it was a value.
fn append<T>(value: Option<T>, out: impl FnOnce(Option<T>)) -> bool {
    let fits = value.is_some();
    out(value);
    fits
}

fn boolean(text: &str) -> Option<bool> {
    let is_one_of = |words: [&str; 6]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_one_of(["true", "t", "yes", "y", "on", "1"]) {
        return Some(true);
    }
    is_one_of(["false", "f", "no", "n", "off", "0"]).then_some(false)
}

fn float(text: &str) -> Option<f64> {
    // Adding 0 turns −0 into 0.
    Float64Type::parse(text).filter(|value| !value.is_nan()).map(|value| value + 0.0)
}

/// `[+-]digits[.digits][e[+-]digits]` times `10^scale`, rounded half away from zero; `None` if it
/// has more than 38 digits.
pub(super) fn decimal(text: &str, scale: u8) -> Option<i128> {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, number) = match number.as_bytes().first()? {
        b'-' => (true, &number[1..]),
        b'+' => (false, &number[1..]),
        _ => (false, number),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|digit| digit.is_ascii_digit()) {
        return None;
    }

    // The digits of the result are the first `kept` of the number's, and zeros from there on.
    let length = |part: &str| i64::try_from(part.len()).ok();
    let kept = length(whole)? + i64::from(exponent) + i64::from(scale);
    let mut value = 0_i128;
    let mut position = 0_i64;
    for digit in digits().map(|byte| i128::from(byte - b'0')) {
        if position < kept {
            value = value.checked_mul(10)?.checked_add(digit)?;
        } else {
            if position == kept && digit >= 5 {
                value = value.checked_add(1)?;
            }
            break;
        }
        position += 1;
    }
    if value != 0 && kept > position {
        value = value.checked_mul(power_of_ten(kept - position)?)?;
    }
    in_range(if negative { -value } else { value })
}
