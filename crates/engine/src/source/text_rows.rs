//! Batches from rows of text, one row after the other.

use std::sync::Arc;

use hushtable_lang::MAX_STRING_BYTES;

use super::from_text::TextColumn;
use super::parse::{ParsedField, TextParser};
use super::sink::Sink;
use super::stored::{ColumnPick, planned_otherwise};
use super::{BATCH_ROWS, SourceError};

/// A batch ends at this size of text even if it has few rows.
const BATCH_BYTES: usize = 1 << 23;

/// The columns that are wanted of rows of text.
pub(super) struct TextRows {
    columns: Vec<TextColumn>,
    /// Bytes of text in the batch.
    bytes: usize,
}

impl TextRows {
    /// Hands all rows to `sink`, in batches, until it wants no more. `next` puts the fields of the
    /// next row into the columns, and says whether there was one.
    pub(super) fn read(
        picks: &[ColumnPick],
        parser: TextParser,
        sink: &mut dyn Sink,
        mut next: impl FnMut(&mut Self, &mut dyn Sink) -> Result<bool, SourceError>,
    ) -> Result<(), SourceError> {
        let parser = Arc::new(parser);
        let column = |pick: &ColumnPick| TextColumn::new(pick.to, &parser, BATCH_ROWS);
        let mut all = Self { columns: picks.iter().map(column).collect(), bytes: 0 };
        loop {
            let (mut rows, mut more) = (0, true);
            all.bytes = 0;
            while more && rows < BATCH_ROWS && all.bytes < BATCH_BYTES {
                more = next(&mut all, sink)?;
                rows += usize::from(more);
            }
            if rows > 0 {
                let arrays: Result<_, _> = all.columns.iter_mut().map(|c| c.finish()).collect();
                if !sink.batch(arrays.map_err(|_| planned_otherwise())?, rows) {
                    return Ok(());
                }
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Appends a field of the row to a column, as [`TextColumn::push`] does.
    pub(super) fn push(&mut self, column: usize, field: Option<&[u8]>) -> ParsedField<()> {
        self.bytes += field.map_or(0, |field| field.len().min(MAX_STRING_BYTES));
        self.columns.get_mut(column).map_or(ParsedField::Null, |column| column.push(field))
    }
}
