//! Text functions; a result longer than any text may be is NULL.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, StringViewArray, StringViewBuilder,
};
use datafusion::arrow::error::ArrowError;
use hushtable_query::{Function, MAX_STRING_BYTES};

use super::unexpected;

fn texts(array: &ArrayRef) -> Result<&StringViewArray, ArrowError> {
    array.as_string_view_opt().ok_or_else(unexpected)
}

/// Characters `start` to `start + length`, counted from 0.
fn substring(text: &str, start: usize, length: Option<usize>) -> &str {
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(i, _)| i);
    let from = at(start);
    let rest = &text[from..];
    match length {
        None => rest,
        Some(n) => &rest[..rest.char_indices().nth(n).map_or(rest.len(), |(i, _)| i)],
    }
}

pub(super) fn map(function: Function, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let values = texts(array)?;
    let mut builder = StringViewBuilder::with_capacity(values.len());
    for value in values {
        let Some(text) = value else {
            builder.append_null();
            continue;
        };
        match function {
            Function::Lower | Function::Upper => {
                let changed = if function == Function::Lower {
                    text.to_lowercase()
                } else {
                    text.to_uppercase()
                };
                builder.append_option((changed.len() <= MAX_STRING_BYTES).then_some(changed));
            }
            Function::Trim => builder.append_value(text.trim_matches(' ')),
            Function::LTrim => builder.append_value(text.trim_start_matches(' ')),
            Function::RTrim => builder.append_value(text.trim_end_matches(' ')),
            Function::Substr { start, length } => {
                let start = start.saturating_sub(1) as usize;
                builder.append_value(substring(text, start, length.map(|n| n as usize)));
            }
            Function::Right(length) => {
                let skipped = text.chars().count().saturating_sub(length as usize);
                builder.append_value(substring(text, skipped, None));
            }
            _ => return Err(unexpected()),
        }
    }
    Ok(Arc::new(builder.finish()))
}

pub(super) fn length(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let count = |text: &str| i64::try_from(text.chars().count()).ok();
    let lengths: Int64Array = texts(array)?.iter().map(|v| count(v?)).collect();
    Ok(Arc::new(lengths))
}

pub(super) fn compare(
    function: Function,
    left: &ArrayRef,
    right: &ArrayRef,
) -> Result<ArrayRef, ArrowError> {
    let test = |x: &str, y: &str| match function {
        Function::StartsWith => x.starts_with(y),
        _ => x.ends_with(y),
    };
    let pairs = texts(left)?.iter().zip(texts(right)?);
    let found: BooleanArray = pairs.map(|(x, y)| Some(test(x?, y?))).collect();
    Ok(Arc::new(found))
}

pub(super) fn concat(left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let (left, right) = (texts(left)?, texts(right)?);
    let mut builder = StringViewBuilder::with_capacity(left.len());
    for pair in left.iter().zip(right) {
        match pair {
            (Some(x), Some(y)) if x.len() + y.len() <= MAX_STRING_BYTES => {
                builder.append_value([x, y].concat());
            }
            _ => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}
