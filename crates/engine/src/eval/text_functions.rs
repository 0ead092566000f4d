//! Text functions; a result longer than any text may be is NULL.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, StringViewArray, StringViewBuilder,
};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::compute::nullif;
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{MAX_KEY_BYTES, MAX_NUMBER_BYTES, MAX_STRING_BYTES};

use super::counted::count;
use super::unexpected;

/// The array with NULL for text of more than `most` bytes. It copies no text, and takes the same
/// time whether there is such a text or not.
pub(crate) fn at_most(array: &ArrayRef, most: usize) -> Result<ArrayRef, ArrowError> {
    let Some(texts) = array.as_string_view_opt() else { return Ok(Arc::clone(array)) };
    // The low half of a view's first 8 bytes is its length.
    let long = |view: &u128| (*view as u32) as usize > most;
    let long: BooleanBuffer = texts.views().iter().map(long).collect();
    nullif(array, &BooleanArray::new(long, None))
}

pub(super) fn texts(array: &ArrayRef) -> Result<&StringViewArray, ArrowError> {
    array.as_string_view_opt().ok_or_else(|| unexpected())
}

/// `text` without its first `n` characters.
pub(super) fn skipped(text: &str, n: usize) -> &str {
    count(|| text.len().min(n));
    text.char_indices().nth(n).map_or("", |(at, _)| &text[at..])
}

/// The first `n` characters of `text`.
pub(super) fn first(text: &str, n: usize) -> &str {
    count(|| text.len().min(n));
    text.char_indices().nth(n).map_or(text, |(at, _)| &text[..at])
}

/// The last `n` characters of `text`.
pub(super) fn last(text: &str, n: usize) -> &str {
    count(|| text.len().min(n));
    let Some(before) = n.checked_sub(1) else { return "" };
    text.char_indices().nth_back(before).map_or(text, |(at, _)| &text[at..])
}

/// The rest of a text, which is not copied.
pub(super) fn trimmed<'a>(text: &str, rest: &'a str) -> Cow<'a, str> {
    count(|| text.len() - rest.len());
    rest.into()
}

/// Characters in their order, each with what first stands beside it.
pub(super) fn sorted<T>(all: impl Iterator<Item = (char, T)>) -> Vec<(char, T)> {
    let mut all: Vec<(char, T)> = all.collect();
    all.sort_by_key(|(c, _)| *c);
    all.dedup_by_key(|(c, _)| *c);
    all
}

/// The value beside a character, in the order of characters.
pub(super) fn found<T>(sorted: &[(char, T)], c: char) -> Option<&T> {
    let at = sorted.binary_search_by_key(&c, |(other, _)| *other).ok()?;
    sorted.get(at).map(|(_, value)| value)
}

/// The text with characters replaced by those beside them, or left out.
pub(super) fn translated(text: &str, pairs: &[(char, Option<char>)]) -> String {
    count(|| 2 * text.len());
    let replaced = |c: char| found(pairs, c).copied().unwrap_or(Some(c));
    text.chars().filter_map(replaced).collect()
}

/// Collects texts in blocks of memory that are small where there are few: a first row must not
/// cost more than a further one.
pub(super) fn builder(rows: usize) -> StringViewBuilder {
    let block = rows.saturating_mul(64).clamp(1 << 10, 1 << 16);
    StringViewBuilder::with_capacity(rows).with_fixed_block_size(block as u32)
}

/// Whether a sigma beside it is inside of a word.
fn in_greek_word(c: char) -> bool {
    matches!(c, '\u{386}' | '\u{388}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}')
        || c.is_ascii_alphabetic()
}

/// Lower case. A sigma at the end of a word has its own form. The standard library looks for the
/// ends of words across any number of marks, which takes long for some texts: here the characters
/// next to the sigma decide.
pub(super) fn lower(text: &str) -> String {
    count(|| text.len());
    if !text.contains('Σ') {
        return text.to_lowercase();
    }
    let mut lower = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == 'Σ' {
            let after = rest.clone().next();
            let last = before.is_some_and(in_greek_word) && !after.is_some_and(in_greek_word);
            lower.push(if last { 'ς' } else { 'σ' });
        } else {
            lower.extend(c.to_lowercase());
        }
        before = Some(c);
    }
    lower
}

/// Upper case.
pub(super) fn upper(text: &str) -> String {
    count(|| text.len());
    text.to_uppercase()
}

/// The characters in reverse.
pub(super) fn reversed(text: &str) -> String {
    count(|| text.len());
    text.chars().rev().collect()
}

/// The text with each word's first letter in upper case, and its others in lower case.
pub(super) fn words(text: &str) -> String {
    count(|| text.len());
    let mut capitalised = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        if inside {
            capitalised.extend(c.to_lowercase());
        } else {
            capitalised.extend(c.to_uppercase());
        }
        inside = c.is_alphanumeric();
    }
    capitalised
}

/// A length, and the characters that fill texts up to it.
pub(super) struct Padding {
    /// Characters that fill the longest gap.
    filling: Vec<char>,
    length: usize,
    left: bool,
}

impl Padding {
    pub(super) fn new(with: &str, length: u32, left: bool) -> Self {
        let length = length as usize;
        Self { filling: with.chars().cycle().take(length).collect(), length, left }
    }

    pub(super) fn applied(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let values = texts(array)?;
        let mut builder = builder(values.len());
        let mut line = String::new();
        for value in values {
            builder.append_option(value.map(|text| {
                let text = first(text, self.length);
                let gap = self.length.saturating_sub(text.chars().count());
                let filling = self.filling.iter().take(gap);
                line.clear();
                if self.left {
                    line.extend(filling);
                    line.push_str(text);
                } else {
                    line.push_str(text);
                    line.extend(filling);
                }
                count(|| line.len() / 16);
                line.as_str()
            }));
        }
        Ok(Arc::new(builder.finish()))
    }
}

/// A text of each text.
pub(super) fn map(
    array: &ArrayRef,
    change: impl for<'a> Fn(&'a str) -> Cow<'a, str>,
) -> Result<ArrayRef, ArrowError> {
    let values = texts(array)?;
    let mut builder = builder(values.len());
    for value in values {
        let changed = value.map(&change);
        count(|| changed.as_ref().map_or(0, |changed| changed.len() / 16));
        builder.append_option(changed.filter(|changed| changed.len() <= MAX_STRING_BYTES));
    }
    Ok(Arc::new(builder.finish()))
}

pub(super) fn length(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let characters = |text: &str| {
        count(|| text.len() / 16);
        i64::try_from(text.chars().count()).ok()
    };
    let lengths: Int64Array = texts(array)?.iter().map(|v| characters(v?)).collect();
    Ok(Arc::new(lengths))
}

/// Whether a test of two texts holds, which looks at the shorter one once.
pub(super) fn compare(
    left: &ArrayRef,
    right: &ArrayRef,
    holds: impl Fn(&str, &str) -> bool,
) -> Result<ArrayRef, ArrowError> {
    let test = |x: &str, y: &str| {
        count(|| x.len().min(y.len()) / 16);
        holds(x, y)
    };
    let pairs = texts(left)?.iter().zip(texts(right)?);
    let found: BooleanArray = pairs.map(|(x, y)| Some(test(x?, y?))).collect();
    Ok(Arc::new(found))
}

/// Bytes of the texts that may be read as numbers.
pub(super) fn bytes(array: &ArrayRef) -> usize {
    let fits = |text: &&str| text.len() <= MAX_NUMBER_BYTES;
    texts(array).map_or(0, |texts| texts.iter().flatten().filter(fits).map(str::len).sum())
}

/// The steps that comparing texts takes at most; one of the arrays may be of one text for all.
pub(super) fn compared(left: &ArrayRef, right: &ArrayRef) -> usize {
    let (Ok(left), Ok(right)) = (texts(left), texts(right)) else { return 0 };
    let bytes = |texts: &StringViewArray| -> Vec<usize> {
        texts.iter().map(|text| text.map_or(0, str::len)).collect()
    };
    let (left, right) = (bytes(left), bytes(right));
    let rows = left.len().max(right.len());
    let pairs = left.iter().cycle().zip(right.iter().cycle()).take(rows);
    pairs.map(|(left, right)| left.min(right) / 16).sum()
}

pub(super) fn concat(arrays: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    let columns = arrays.iter().map(texts).collect::<Result<Vec<_>, _>>()?;
    let rows = columns.first().map_or(0, |column| column.len());
    let mut builder = builder(rows);
    let mut line = String::new();
    for row in 0..rows {
        line.clear();
        // Text that would be too long is not put together further.
        let fits = columns.iter().all(|column| {
            let text = column.is_valid(row).then(|| column.value(row));
            let text = text.filter(|text| line.len() + text.len() <= MAX_KEY_BYTES);
            count(|| 1 + text.map_or(0, str::len) / 16);
            line.push_str(text.unwrap_or_default());
            text.is_some()
        });
        builder.append_option(fits.then_some(&line));
    }
    Ok(Arc::new(builder.finish()))
}

/// The texts of each row that are not NULL, with another between them.
pub(super) fn concat_with(between: &ArrayRef, arrays: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    let (between, columns) = (texts(between)?, arrays.iter().map(texts));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let mut builder = builder(between.len());
    let mut line = String::new();
    for (row, between) in between.iter().enumerate() {
        line.clear();
        let mut before = "";
        // Text that would be too long is not put together further.
        let fits = columns.iter().filter(|column| column.is_valid(row)).all(|column| {
            let pieces =
                [std::mem::replace(&mut before, between.unwrap_or_default()), column.value(row)];
            pieces.into_iter().all(|piece| {
                let fits = line.len() + piece.len() <= MAX_KEY_BYTES;
                count(|| 1 + if fits { piece.len() / 16 } else { 0 });
                line.push_str(if fits { piece } else { "" });
                fits
            })
        });
        builder.append_option((between.is_some() && fits).then_some(&line));
    }
    Ok(Arc::new(builder.finish()))
}
