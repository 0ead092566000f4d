//! Arithmetic: overflow, division by zero and results that are no number are NULL.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, Float64Array, Int64Array,
    PrimitiveArray,
};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{BinaryOp, ColumnType};
use hushtable_numbers::decimal::{round_quotient, within_digits};

use super::{ArrayOperand, unexpected};
use crate::source::convert::decimals;

/// The results for `rows` rows. Every row is computed, whether it has a value or not, and every
/// result is looked at: a NULL takes no longer than a value.
fn pairs<T: ArrowPrimitiveType>(
    (left, right): (&ArrayOperand, &ArrayOperand),
    rows: usize,
    compute: impl Fn(T::Native, T::Native) -> Option<T::Native>,
) -> Result<PrimitiveArray<T>, ArrowError> {
    let ((left, left_nulls), (right, right_nulls)) =
        (values::<T>(left, rows)?, values::<T>(right, rows)?);
    let mut results = Vec::with_capacity(rows);
    let mut push = |x, y| {
        let result = compute(x, y);
        results.push(result.unwrap_or_default());
        result.is_some()
    };
    let known = match (left, right) {
        (Values::All(left), Values::All(right)) => {
            BooleanBuffer::collect_bool(rows, |row| push(left[row], right[row]))
        }
        (Values::All(left), Values::One(y)) => {
            BooleanBuffer::collect_bool(rows, |row| push(left[row], y))
        }
        (Values::One(x), Values::All(right)) => {
            BooleanBuffer::collect_bool(rows, |row| push(x, right[row]))
        }
        (Values::One(x), Values::One(y)) => BooleanBuffer::collect_bool(rows, |_| push(x, y)),
    };
    let nulls = NullBuffer::union(left_nulls.as_ref(), right_nulls.as_ref());
    let nulls = NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(known)));
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
    Ok(PrimitiveArray::new(results.into(), nulls))
}

/// The values of an operand.
enum Values<'a, T> {
    All(&'a [T]),
    One(T),
}

/// The values of an operand for `rows` rows, and which of them are NULL.
fn values<T: ArrowPrimitiveType>(
    operand: &ArrayOperand,
    rows: usize,
) -> Result<(Values<'_, T::Native>, Option<NullBuffer>), ArrowError> {
    let array = operand.array.as_primitive_opt::<T>().ok_or_else(|| unexpected())?;
    if operand.constant {
        let value = array.values().first().ok_or_else(|| unexpected())?;
        let null = array.is_null(0).then(|| NullBuffer::new_null(rows));
        return Ok((Values::One(*value), null));
    }
    match array.len() == rows {
        true => Ok((Values::All(array.values()), array.nulls().cloned())),
        false => Err(unexpected()),
    }
}

/// A result; minus zero is zero. An overflow has no result, but infinite operands have infinite
/// ones.
fn number(x: f64, of_finite: bool) -> Option<f64> {
    (!x.is_nan() && (x.is_finite() || !of_finite)).then_some(x + 0.0)
}

pub(super) fn binary(
    op: BinaryOp,
    operands: (&ArrayOperand, &ArrayOperand),
    rows: usize,
    column_type: ColumnType,
) -> Result<ArrayRef, ArrowError> {
    Ok(match column_type {
        ColumnType::Int => {
            let compute = |x: i64, y: i64| match op {
                BinaryOp::Add => x.checked_add(y),
                BinaryOp::Sub => x.checked_sub(y),
                BinaryOp::Mul => x.checked_mul(y),
                BinaryOp::IntDiv => x.checked_div(y),
                BinaryOp::Mod => x.checked_rem(y),
                _ => None,
            };
            let result: Int64Array = pairs::<Int64Type>(operands, rows, compute)?;
            Arc::new(result)
        }
        ColumnType::Float => {
            let compute = |x: f64, y: f64| {
                let result = match op {
                    BinaryOp::Add => x + y,
                    BinaryOp::Sub => x - y,
                    BinaryOp::Mul => x * y,
                    BinaryOp::Div if y != 0.0 => x / y,
                    BinaryOp::Power => x.powf(y),
                    _ => f64::NAN,
                };
                number(result, x.is_finite() && y.is_finite())
            };
            let result: Float64Array = pairs::<Float64Type>(operands, rows, compute)?;
            Arc::new(result)
        }
        ColumnType::Decimal { scale } => {
            let long = |x: i128, y: i128| {
                let result = match op {
                    BinaryOp::Add => x.checked_add(y),
                    BinaryOp::Sub => x.checked_sub(y),
                    // The scales of the factors add up to the product's.
                    BinaryOp::Mul => x.checked_mul(y),
                    BinaryOp::Mod => x.checked_rem(y),
                    _ => None,
                };
                result.and_then(within_digits)
            };
            // Products of numbers of 64 bits are at most 2^126, which has 38 digits.
            let compute = |x: i128, y: i128| {
                let short = i64::try_from(x).is_ok() && i64::try_from(y).is_ok();
                match op {
                    BinaryOp::Add if short => Some(x + y),
                    BinaryOp::Sub if short => Some(x - y),
                    BinaryOp::Mul if short => Some(i128::from(x as i64) * i128::from(y as i64)),
                    _ => long(x, y),
                }
            };
            let digits: Decimal128Array = pairs::<Decimal128Type>(operands, rows, compute)?;
            decimals(digits, scale)?
        }
        _ => return Err(unexpected()),
    })
}

/// A function of each number: of whole numbers, of floats, and of the digits of decimals, beside
/// those of one.
pub(super) fn unary(
    array: &ArrayRef,
    whole: impl Fn(i64) -> Option<i64>,
    float: impl Fn(f64) -> f64,
    digits: impl Fn(i128, i128) -> i128,
) -> Result<ArrayRef, ArrowError> {
    Ok(match array.data_type() {
        DataType::Int64 => {
            Arc::new(array.as_primitive::<Int64Type>().unary_opt::<_, Int64Type>(whole))
        }
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>();
            Arc::new(values.unary_opt::<_, Float64Type>(|x| number(float(x), false)))
        }
        DataType::Decimal128(_, scale) => {
            let scale = u8::try_from(*scale).map_err(|_| unexpected())?;
            let one = 10i128.pow(u32::from(scale));
            decimals(array.as_primitive::<Decimal128Type>().unary(|d| digits(d, one)), scale)?
        }
        _ => return Err(unexpected()),
    })
}

/// The nearest whole number; halves go away from zero.
pub(super) fn to_whole(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let whole: Int64Array = match array.data_type() {
        DataType::Int64 => return Ok(Arc::clone(array)),
        DataType::Float64 => array.as_primitive::<Float64Type>().unary_opt(|x: f64| {
            let rounded = x.round();
            // 2^63 itself is too large; -2^63 is not.
            (rounded >= -(2f64.powi(63)) && rounded < 2f64.powi(63)).then_some(rounded as i64)
        }),
        DataType::Decimal128(_, scale) => {
            let one = 10i128.pow(u32::try_from(*scale).map_err(|_| unexpected())?);
            let digits = array.as_primitive::<Decimal128Type>();
            digits.unary_opt(|d: i128| i64::try_from(round_quotient(d, one)).ok())
        }
        _ => return Err(unexpected()),
    };
    Ok(Arc::new(whole))
}

/// A function of each float; what is no number is NULL.
pub(super) fn float(
    array: &ArrayRef,
    function: impl Fn(f64) -> f64,
) -> Result<ArrayRef, ArrowError> {
    let values = array.as_primitive_opt::<Float64Type>().ok_or_else(|| unexpected())?;
    Ok(Arc::new(values.unary_opt::<_, Float64Type>(|x| number(function(x), x.is_finite()))))
}
