//! Text functions; a result longer than any text may be is NULL.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, StringViewArray, StringViewBuilder,
};
use datafusion::arrow::error::ArrowError;
use hushtable_query::{Function, MAX_KEY_BYTES, MAX_STRING_BYTES};

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
            (Some(x), Some(y)) if x.len() + y.len() <= MAX_KEY_BYTES => {
                builder.append_value([x, y].concat());
            }
            _ => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// A LIKE pattern, matched character by character: library kernels compile patterns to regular
/// expressions, which fails for some, and does so only where there is a row to match.
pub(super) struct Pattern(Vec<Piece>);

#[derive(Clone, Copy, PartialEq)]
enum Piece {
    /// `%`: any characters, or none.
    Any,
    /// `_`: one character.
    One,
    /// A character that stands for itself.
    Is(char),
}

impl Pattern {
    /// A backslash makes the character after it stand for itself.
    pub(super) fn new(pattern: &str) -> Self {
        let mut pieces = Vec::new();
        let mut characters = pattern.chars();
        while let Some(c) = characters.next() {
            pieces.push(match c {
                '%' => Piece::Any,
                '_' => Piece::One,
                '\\' => Piece::Is(characters.next().unwrap_or('\\')),
                c => Piece::Is(c),
            });
        }
        Self(pieces)
    }

    fn matches(&self, text: &str) -> bool {
        let mut rest = text.chars();
        let mut at = 0;
        // Where to go on from if what follows the last `%` does not fit here.
        let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            let before = rest.clone();
            match (self.0.get(at), rest.next()) {
                (Some(Piece::Any), _) => {
                    at += 1;
                    rest = before.clone();
                    retry = Some((at, before));
                }
                (Some(Piece::One), Some(_)) => at += 1,
                (Some(Piece::Is(c)), Some(d)) if *c == d => at += 1,
                (None, None) => return true,
                _ => {
                    // The last `%` takes one character more.
                    let Some((from, mut start)) = retry.take() else { return false };
                    if start.next().is_none() {
                        return false;
                    }
                    at = from;
                    rest = start.clone();
                    retry = Some((from, start));
                }
            }
        }
    }

    /// Whether each text matches.
    pub(super) fn matched(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let found: BooleanArray = texts(array)?.iter().map(|t| Some(self.matches(t?))).collect();
        Ok(Arc::new(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_sql() {
        for (pattern, text, want) in [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a%", "abc", true),
            ("%c", "abc", true),
            ("%b%", "abc", true),
            ("%b", "abc", false),
            ("a_c", "abc", true),
            ("a_c", "aäc", true),
            ("a_c", "ac", false),
            ("%", "", true),
            ("", "", true),
            ("", "a", false),
            ("%a%a%", "a", false),
            ("%ab%ab", "aabab ab", true),
            ("%aab", "aaaab", true),
            ("_%_", "a", false),
            ("_%_", "ab", true),
            ("100\\%", "100%", true),
            ("100\\%", "1000", false),
            ("a\\_b", "a_b", true),
            ("a\\", "a\\", true),
            ("a.c", "abc", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(text), want, "{pattern} {text}");
        }
    }
}
