//! The kernel of each scalar function, beside its entry in the table of `hushtable_lang`.

use std::borrow::Cow;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::kernels::{boolean, cmp, zip::zip};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{ColumnType, Expr, ExprKind, Function, Value, rounded};

use super::counted::count;
use super::{
    arithmetic, buckets, code, find, form, json_lookup, known, shift, text_functions, time,
    unexpected,
};

type ArrayResult = Result<ArrayRef, ArrowError>;

/// A function of all columns of a call.
type OfColumns = Box<dyn Fn(&[ArrayRef]) -> ArrayResult + Send + Sync>;

/// A function on arrays, compiled for what is constant in a call.
pub(super) enum ArrayKernel {
    /// Of the first operand; the others are constants that it holds.
    OfFirst(Box<dyn Fn(&ArrayRef) -> ArrayResult + Send + Sync>),
    /// Of all operands.
    OfAll(OfColumns),
}

impl ArrayKernel {
    /// The kernel of a call with those operands and a result of that type.
    ///
    /// # Errors
    /// Only for calls that binding cannot produce.
    pub(super) fn new(
        function: Function,
        operands: &[Expr],
        result: ColumnType,
    ) -> Result<Self, ArrowError> {
        let constants = operands.get(1..).unwrap_or_default();
        let text = |index: usize| match constants.get(index).map(|e| &e.kind) {
            Some(ExprKind::Literal(Value::String(text))) => Ok(text.as_str()),
            _ => Err(unexpected()),
        };
        Ok(match function {
            Function::Negate => {
                first(|x| arithmetic::unary(x, i64::checked_neg, |x| -x, |digits, _| -digits))
            }
            Function::Abs => first(|x| {
                arithmetic::unary(x, i64::checked_abs, f64::abs, |digits, _| digits.abs())
            }),
            Function::Sign => first(|x| {
                let sign = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
                arithmetic::unary(
                    x,
                    |x| Some(x.signum()),
                    sign,
                    |digits, one| digits.signum() * one,
                )
            }),
            Function::ToInt => first(arithmetic::to_whole),
            Function::Floor => float(f64::floor),
            Function::Ceil => float(f64::ceil),
            Function::Trunc => float(f64::trunc),
            Function::Round(digits) => float(move |x| {
                let rounded = rounded(x, digits);
                // A number too large to be scaled has no digits to round away.
                if rounded.is_finite() { rounded } else { x }
            }),
            Function::Sqrt => float(f64::sqrt),
            Function::Ln => float(|x| if x > 0.0 { x.ln() } else { f64::NAN }),
            Function::Log10 => float(|x| if x > 0.0 { x.log10() } else { f64::NAN }),
            Function::Exp => float(f64::exp),
            Function::Greatest => {
                all(|arrays| extreme(arrays, |value, greatest| cmp::gt(value, greatest)))
            }
            Function::Least => all(|arrays| extreme(arrays, |value, least| cmp::lt(value, least))),
            Function::Coalesce => all(|arrays| {
                let (last, before) = arrays.split_last().ok_or_else(|| unexpected())?;
                before.iter().rev().try_fold(ArrayRef::clone(last), |result, value| {
                    zip(&boolean::is_not_null(value)?, value, &result)
                })
            }),
            Function::WidthBucket => {
                let buckets = buckets::Buckets::even(constants)?;
                first(move |x| buckets.found(x))
            }
            Function::RangeBucket => {
                let buckets = buckets::Buckets::listed(constants)?;
                first(move |x| buckets.found(x))
            }
            Function::Lower => mapped(|text| text_functions::lower(text).into()),
            Function::Upper => mapped(|text| text_functions::upper(text).into()),
            Function::InitCap => mapped(|text| text_functions::words(text).into()),
            Function::Reverse => mapped(|text| text_functions::reversed(text).into()),
            // White space as Unicode has it, as in GoogleSQL.
            Function::Trim => mapped(|text| text_functions::trimmed(text, text.trim())),
            Function::LTrim => mapped(|text| text_functions::trimmed(text, text.trim_start())),
            Function::RTrim => mapped(|text| text_functions::trimmed(text, text.trim_end())),
            Function::TrimOf { left, right } => {
                let characters = text_functions::sorted(text(0)?.chars().map(|c| (c, ())));
                mapped(move |text| {
                    let is_one = |c: char| text_functions::found(&characters, c).is_some();
                    let rest = if left { text.trim_start_matches(is_one) } else { text };
                    let rest = if right { rest.trim_end_matches(is_one) } else { rest };
                    text_functions::trimmed(text, rest)
                })
            }
            Function::Length => first(text_functions::length),
            Function::Substr { start, length } => mapped(move |text| {
                let rest = text_functions::skipped(text, start.saturating_sub(1) as usize);
                length.map_or(rest, |n| text_functions::first(rest, n as usize)).into()
            }),
            Function::FromEnd { start, length } => mapped(move |text| {
                let rest = text_functions::last(text, start as usize);
                length.map_or(rest, |n| text_functions::first(rest, n as usize)).into()
            }),
            Function::Right(length) => {
                mapped(move |text| text_functions::last(text, length as usize).into())
            }
            Function::Pad { length, left } => {
                let padding = text_functions::Padding::new(text(0)?, length, left);
                first(move |x| padding.applied(x))
            }
            Function::Position => both(find::position),
            Function::StartsWith => {
                both(|x, y| text_functions::compare(x, y, |text, prefix| text.starts_with(prefix)))
            }
            Function::EndsWith => {
                both(|x, y| text_functions::compare(x, y, |text, suffix| text.ends_with(suffix)))
            }
            Function::Replace => {
                let replacing = find::Replacing::new(text(0)?, text(1)?);
                first(move |x| replacing.applied(x))
            }
            Function::Translate => {
                let mut to = text(1)?.chars();
                let pairs = text_functions::sorted(text(0)?.chars().map(|from| (from, to.next())));
                mapped(move |text| text_functions::translated(text, &pairs).into())
            }
            Function::SplitPart { part: field, or_empty } => {
                let splitting = find::SplitField::new(text(0)?, field, or_empty);
                first(move |x| splitting.applied(x))
            }
            Function::JsonText { containers } => {
                let lookup = json_lookup::JsonLookup::new(text(0)?, containers)?;
                first(move |x| lookup.applied(x))
            }
            Function::Concat => all(text_functions::concat),
            Function::ConcatWith => all(|arrays| {
                let (between, texts) = arrays.split_first().ok_or_else(|| unexpected())?;
                text_functions::concat_with(between, texts)
            }),
            Function::Code => all(|arrays| match arrays {
                [one] => code::codes(one),
                several => code::codes_of_several(several),
            }),
            Function::DatePart(part) => first(move |x| time::part(part, x)),
            Function::DateTrunc(part) => first(move |x| time::truncate(part, x, result)),
            Function::TimeBucket { months, width, origin } => {
                first(move |x| shift::bucketed(x, months, width, origin))
            }
            Function::LocalTime => {
                let zone = text(0)?.parse().map_err(|_| unexpected())?;
                first(move |x| time::local(x, zone))
            }
            Function::DateAdd(part) => both(move |x, n| shift::added(part, x, n)),
            Function::DateDiff { part, whole } => {
                both(move |end, start| shift::difference(part, whole, end, start))
            }
            Function::DateFormat => {
                let form = form::MomentForm::new(text(0)?)?;
                first(move |x| form.written(x))
            }
            Function::DateParse => {
                let form = form::MomentForm::new(text(0)?)?;
                first(move |x| form.read(x, result))
            }
            Function::MakeDate => all(|arrays| match arrays {
                [year, month, day] => time::dates(year, month, day),
                _ => Err(unexpected()),
            }),
        })
    }
}

/// A function of the first operand.
fn first(compute: impl Fn(&ArrayRef) -> ArrayResult + Send + Sync + 'static) -> ArrayKernel {
    ArrayKernel::OfFirst(Box::new(compute))
}

/// A function of two operands.
fn both(
    compute: impl Fn(&ArrayRef, &ArrayRef) -> ArrayResult + Send + Sync + 'static,
) -> ArrayKernel {
    all(move |arrays| match arrays {
        [x, y] => compute(x, y),
        _ => Err(unexpected()),
    })
}

/// A function of all operands.
fn all(compute: impl Fn(&[ArrayRef]) -> ArrayResult + Send + Sync + 'static) -> ArrayKernel {
    ArrayKernel::OfAll(Box::new(compute))
}

/// A function of a float.
fn float(compute: impl Fn(f64) -> f64 + Send + Sync + 'static) -> ArrayKernel {
    first(move |x| arithmetic::float(x, &compute))
}

/// A text of each text.
fn mapped(change: impl for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync + 'static) -> ArrayKernel {
    first(move |x| text_functions::map(x, &change))
}

/// The value that is beyond all others; NULL where one of them is.
fn extreme(
    arrays: &[ArrayRef],
    is_beyond: impl Fn(&ArrayRef, &ArrayRef) -> Result<BooleanArray, ArrowError>,
) -> ArrayResult {
    let (first, others) = arrays.split_first().ok_or_else(|| unexpected())?;
    others.iter().try_fold(ArrayRef::clone(first), |result, value| {
        count(|| text_functions::compared(value, &result));
        let beyond = known(&is_beyond(value, &result)?);
        zip(&boolean::or(&beyond, &boolean::is_null(value)?)?, value, &result)
    })
}
