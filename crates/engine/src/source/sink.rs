//! Where rows go as they are read.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float16Type, Float32Type, Float64Type};

use super::ReadProgress;
use super::convert::StoredType;

/// Takes rows in batches.
pub(crate) trait Sink {
    /// Takes the columns of some rows; false if it wants no more.
    fn batch(&mut self, columns: Vec<ArrayRef>, rows: usize) -> bool;

    /// Learns of a value of the next batch that does not fit its column's type, and is NULL there.
    /// For the owner of the data alone; all others have no use for it.
    fn misfit(&mut self, _column: usize, _what: Misfit<'_>) {}

    /// Learns of a row of the next batch that may be another one than was written, or parts of
    /// several. For the owner of the data alone.
    fn odd_row(&mut self, _what: OddRow) {}
}

impl<F: FnMut(Vec<ArrayRef>, usize) -> bool> Sink for F {
    fn batch(&mut self, columns: Vec<ArrayRef>, rows: usize) -> bool {
        self(columns, rows)
    }
}

/// A value that is not of its column's type. Secret: no Debug or Display.
pub(crate) enum Misfit<'a> {
    /// Text that cannot be read as the type.
    Text(&'a [u8]),
    /// Not a number.
    NaN,
    /// A number or a time that the type cannot hold.
    OutOfRange,
    /// Text in quotes that had to end where they do not.
    Unclosed,
}

/// A row of text that is not as all should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OddRow {
    /// It has more or fewer fields than the header line.
    Ragged,
    /// A field in quotes had to end with its line, and the row with it.
    Unclosed,
    /// A line of JSON lines that is not an object, or too long to be read as one. It has no value.
    NotAnObject,
}

/// A sink that reports progress by the share of rows that have been read.
pub(super) struct ProgressSink<'a> {
    pub(super) sink: &'a mut dyn Sink,
    pub(super) progress: &'a ReadProgress,
    /// Bytes of all rows.
    pub(super) bytes: u64,
    pub(super) all: u64,
}

impl Sink for ProgressSink<'_> {
    fn batch(&mut self, columns: Vec<ArrayRef>, rows: usize) -> bool {
        let share = u128::from(self.bytes) * rows as u128 / u128::from(self.all);
        self.progress.advance(u64::try_from(share).unwrap_or(0));
        self.sink.batch(columns, rows)
    }

    fn misfit(&mut self, column: usize, what: Misfit<'_>) {
        self.sink.misfit(column, what);
    }

    fn odd_row(&mut self, what: OddRow) {
        self.sink.odd_row(what);
    }
}

/// Reports to a sink the values of a file's column that are NULL under the declared type.
pub(super) fn misfits(
    (column, stored): (usize, StoredType),
    found: &ArrayRef,
    values: &ArrayRef,
    sink: &mut dyn Sink,
) {
    // A column of nothing but NULLs keeps no record of them.
    if stored == StoredType::Null || values.null_count() == found.null_count() {
        return;
    }
    for row in (0..found.len()).filter(|&row| values.is_null(row) && found.is_valid(row)) {
        sink.misfit(column, misfit(stored, found, row));
    }
}

fn misfit(stored: StoredType, found: &ArrayRef, row: usize) -> Misfit<'_> {
    let nan = match found.data_type() {
        DataType::Float16 => found.as_primitive::<Float16Type>().value(row).is_nan(),
        DataType::Float32 => found.as_primitive::<Float32Type>().value(row).is_nan(),
        DataType::Float64 => found.as_primitive::<Float64Type>().value(row).is_nan(),
        _ => false,
    };
    match found.as_binary_view_opt().filter(|_| stored == StoredType::Text) {
        _ if nan => Misfit::NaN,
        Some(text) => Misfit::Text(text.value(row)),
        None => Misfit::OutOfRange,
    }
}
