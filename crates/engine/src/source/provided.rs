//! Tables whose rows a program provides, in memory or from a place of its own.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;

use super::convert::{Stored, plain, type_name};
use super::normalise::read_as;
use super::sink::{Sink, misfits};
use super::stored::{ColumnPick, Source, StoredColumn, planned_otherwise};
use super::{BATCH_ROWS, Identity, ReadProgress, SourceError};

/// Provides the rows of a table: from memory, a database, a service, a format of its own.
///
/// What a provider hands over is read like a file: values that do not fit the contract's types
/// become NULL, one by one. A provider keeps three rules. Whether it fails, and how, depends on no
/// value of its rows. Each row is in one part, and in one batch of it. Equal identities mean equal
/// rows.
pub trait Provider: Debug + Send + Sync {
    /// The identity of the rows as they are now, unlike earlier and later ones. The answer on
    /// record to a question is given again as long as it stays the same.
    fn identity(&self) -> Identity;

    /// The names and types of the columns.
    fn schema(&self) -> SchemaRef;

    /// About how many bytes each part has. Parts are read on their own, in any order and at the
    /// same time.
    fn parts(&self) -> Vec<u64>;

    /// Hands the rows of a part to `each`, in batches of any size with the columns at these
    /// indices of the schema, in that order, until `each` returns false.
    ///
    /// # Errors
    /// When the rows cannot be read. The message is shown to analysts: it names no value.
    fn read(
        &self,
        part: usize,
        columns: &[usize],
        each: &mut dyn FnMut(RecordBatch) -> bool,
    ) -> io::Result<()>;
}

/// A provider, as the source of a table.
#[derive(Clone, Debug)]
pub(crate) struct Provided {
    /// Its name in errors.
    name: PathBuf,
    provider: Arc<dyn Provider>,
    identity: Identity,
    schema: SchemaRef,
    columns: Arc<[StoredColumn]>,
}

impl Provided {
    /// The provider of a table, with its rows as they are now.
    pub(crate) fn new(table: &str, provider: Arc<dyn Provider>) -> Self {
        let schema = provider.schema();
        let columns = schema.fields().iter().map(|field| StoredColumn {
            name: field.name().clone(),
            stored: Stored::of(field.data_type()),
            file_type: type_name(field.data_type()),
        });
        Self {
            name: PathBuf::from(format!("table {table}")),
            identity: provider.identity(),
            columns: columns.collect(),
            schema,
            provider,
        }
    }

    /// The same provider, with its rows as they are now.
    pub(crate) fn renewed(&self) -> Self {
        Self { identity: self.provider.identity(), ..self.clone() }
    }

    /// Whether a batch has the columns that were asked for.
    fn fits(&self, batch: &RecordBatch, columns: &[usize]) -> bool {
        let types: Option<Vec<&DataType>> = columns
            .iter()
            .map(|&column| Some(self.schema.fields().get(column)?.data_type()))
            .collect();
        let fields = batch.schema_ref().fields().iter();
        types.is_some_and(|types| types.into_iter().eq(fields.map(|field| field.data_type())))
    }
}

impl Source for Provided {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn path(&self) -> &Path {
        &self.name
    }

    fn columns(&self) -> &[StoredColumn] {
        &self.columns
    }

    fn parts(&self) -> Vec<u64> {
        self.provider.parts()
    }

    fn read(
        &self,
        part: usize,
        picks: &[ColumnPick],
        progress: &Arc<ReadProgress>,
        sink: &mut dyn Sink,
    ) -> Result<(), SourceError> {
        // The rows must be those that the charge is for.
        if self.provider.identity() != self.identity {
            return Err(SourceError::Changed { path: self.name.clone() });
        }
        let bytes = *self.provider.parts().get(part).ok_or_else(planned_otherwise)?;
        let mut indices: Vec<usize> = picks.iter().map(|pick| pick.place).collect();
        indices.sort_unstable();
        indices.dedup();
        let mut failed = false;
        let mut each = |batch: RecordBatch| {
            let columns = batch.columns().iter().map(plain).collect::<Option<Vec<_>>>();
            let Some(columns) = columns.filter(|_| self.fits(&batch, &indices)) else {
                failed = true;
                return false;
            };
            for from in (0..batch.num_rows()).step_by(BATCH_ROWS) {
                let rows = BATCH_ROWS.min(batch.num_rows() - from);
                let array = |(column, pick): (usize, &ColumnPick)| {
                    let array: &ArrayRef = columns.get(indices.binary_search(&pick.place).ok()?)?;
                    let stored = array.slice(from, rows);
                    let values = read_as(&stored, pick.stored, pick.to).ok()?;
                    misfits((column, pick.stored), &stored, &values, sink);
                    Some(values)
                };
                let arrays: Option<Vec<_>> = picks.iter().enumerate().map(array).collect();
                failed |= arrays.is_none();
                if arrays.is_none_or(|arrays| !sink.batch(arrays, rows)) {
                    return false;
                }
            }
            true
        };
        let read = self.provider.read(part, &indices, &mut each);
        progress.advance(bytes);
        if failed {
            return Err(planned_otherwise());
        }
        read.map_err(|error| SourceError::Unreadable {
            path: self.name.clone(),
            reason: error.to_string(),
        })
    }
}
