//! Texts within texts. The standard library finds one by two-way search, which looks at each byte
//! a bounded number of times, whatever the texts.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, Int64Array};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::MAX_STRING_BYTES;

use super::counted::count;
use super::text_functions::{builder, texts};

/// The position of each second text in its first, from 1; 0 where it is not in it.
pub(super) fn position(texts_of: &ArrayRef, parts: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let offset = |text: &str, part: &str| {
        count(|| 2 * (text.len() + part.len()));
        let Some(at) = text.find(part) else { return Some(0) };
        let before = text.get(..at)?.chars().count();
        i64::try_from(before).ok()?.checked_add(1)
    };
    let pairs = texts(texts_of)?.iter().zip(texts(parts)?);
    let positions: Int64Array = pairs.map(|(text, part)| offset(text?, part?)).collect();
    Ok(Arc::new(positions))
}

/// A constant, and its replacement.
pub(super) struct Replacing {
    from: String,
    to: String,
}

impl Replacing {
    pub(super) fn new(from: &str, to: &str) -> Self {
        Self { from: from.to_owned(), to: to.to_owned() }
    }

    pub(super) fn applied(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let values = texts(array)?;
        let mut builder = builder(values.len());
        for value in values {
            let Some(text) = value else {
                builder.append_null();
                continue;
            };
            count(|| 2 * (text.len() + self.from.len()));
            // Nothing is replaced by anything, as in GoogleSQL.
            let line = match self.from.as_str() {
                "" => text.to_owned(),
                from => text.replace(from, &self.to),
            };
            count(|| line.len() / 16);
            builder.append_option((line.len() <= MAX_STRING_BYTES).then_some(line));
        }
        Ok(Arc::new(builder.finish()))
    }
}

/// A constant that divides texts, and the number of the part to return.
pub(super) struct SplitPart {
    by: String,
    part: i32,
    or_empty: bool,
}

impl SplitPart {
    pub(super) fn new(by: &str, part: i32, or_empty: bool) -> Self {
        Self { by: by.to_owned(), part, or_empty }
    }

    fn part<'a>(&self, text: &'a str) -> Option<&'a str> {
        let skipped = self.part.unsigned_abs().saturating_sub(1) as usize;
        // Nothing divides nothing: the text is its only part.
        let found = match self.by.as_str() {
            "" => (skipped == 0).then_some(text),
            by if self.part < 0 => text.rsplit(by).nth(skipped),
            by => text.split(by).nth(skipped),
        };
        found.or(self.or_empty.then_some(""))
    }

    pub(super) fn applied(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let values = texts(array)?;
        let mut builder = builder(values.len());
        for value in values {
            builder.append_option(value.and_then(|text| {
                count(|| 2 * (text.len() + self.by.len()));
                let part = self.part(text);
                count(|| part.map_or(0, str::len) / 16);
                part
            }));
        }
        Ok(Arc::new(builder.finish()))
    }
}
