//! Texts within texts. The standard library finds one by two-way search, which looks at each byte
//! a bounded number of times, whatever the texts.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, Int64Array};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::MAX_STRING_BYTES;

use super::counted::count;
use super::text_functions::{builder, texts};

/// The position of each second text in its first, from 1; 0 where it is not in it.
pub(super) fn position(texts_of: &ArrayRef, needles: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let offset = |text: &str, needle: &str| {
        count(|| 2 * (text.len() + needle.len()));
        let Some(at) = text.find(needle) else { return Some(0) };
        let before = text.get(..at)?.chars().count();
        i64::try_from(before).ok()?.checked_add(1)
    };
    let pairs = texts(texts_of)?.iter().zip(texts(needles)?);
    let positions: Int64Array = pairs.map(|(text, needle)| offset(text?, needle?)).collect();
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

/// A constant that divides texts, and the number of the field to return.
pub(super) struct SplitField {
    by: String,
    field: i32,
    or_empty: bool,
}

impl SplitField {
    pub(super) fn new(by: &str, field: i32, or_empty: bool) -> Self {
        Self { by: by.to_owned(), field, or_empty }
    }

    fn field<'a>(&self, text: &'a str) -> Option<&'a str> {
        let skipped = self.field.unsigned_abs().saturating_sub(1) as usize;
        // Nothing divides nothing: the text is its only field.
        let found = match self.by.as_str() {
            "" => (skipped == 0).then_some(text),
            by if self.field < 0 => text.rsplit(by).nth(skipped),
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
                let field = self.field(text);
                count(|| field.map_or(0, str::len) / 16);
                field
            }));
        }
        Ok(Arc::new(builder.finish()))
    }
}
