//! Sources of rows: what every format has.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use super::convert::{ReadType, StoredType};
use super::sink::Sink;
use super::{ReadProgress, SourceError, SourceIdentity};

/// Rows that can be read: a file, or a table that a program provides.
///
/// Opening one reads its schema and no value. Reading is total: a value that does not fit the type
/// that is asked for is NULL, and only the file system, a damaged file or memory make an error.
pub(super) trait Source: Debug + Send + Sync {
    /// The identity of its state when it was opened, unlike earlier and later ones.
    fn identity(&self) -> SourceIdentity;

    /// Whether its rows are still those of its identity.
    fn is_unchanged(&self) -> bool;

    /// Its name in errors.
    fn path(&self) -> &Path;

    /// Its columns in their order. Those without a name cannot be asked for.
    fn columns(&self) -> &[StoredColumn];

    /// The bytes of each of its chunks. Chunks are read on their own, in any order.
    fn chunks(&self) -> Vec<u64>;

    /// Hands the rows of a chunk to `sink`, in batches of at most [`BATCH_ROWS`](super::BATCH_ROWS)
    /// rows with an array for each pick, until it wants no more. Reports how much of the chunk's
    /// bytes has been read.
    fn read(
        &self,
        chunk: usize,
        picks: &[ColumnPick],
        progress: &Arc<ReadProgress>,
        sink: &mut dyn Sink,
    ) -> Result<(), SourceError>;
}

/// A column as its source stores it.
#[derive(Clone, Debug)]
pub(super) struct StoredColumn {
    pub(super) name: String,
    pub(super) stored: StoredType,
    pub(super) file_type: String,
}

/// A column to read: its place in the source, how it is stored, and the type it gets.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnPick {
    pub(super) index: usize,
    pub(super) stored: StoredType,
    pub(super) to: ReadType,
}

/// A decoder delivered another type than the one that was checked.
pub(super) fn planned_otherwise() -> SourceError {
    SourceError::Internal { what: "a column was read as another type than planned" }
}
