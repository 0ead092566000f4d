//! Tables whose rows a program provides, in memory or from a place of its own.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;

use super::arrow_rows::hand_over;
use super::convert::{StoredType, plain, type_name};
use super::sink::Sink;
use super::stored::{ColumnPick, Source, StoredColumn, planned_otherwise};
use super::{ReadProgress, SourceError, SourceIdentity};

/// Provides the rows of a table: from memory, a database, a service, a format of its own.
///
/// Rows from a provider are read like those of a file: values that do not fit the contract's types
/// become NULL, one by one. A provider keeps these rules:
///
/// - Whether it fails, and with which kind of error, depends on no value of its rows.
/// - Equal identities mean an equal schema, equal chunks and equal rows, each row in one chunk.
/// - [`identity`](Self::identity), [`schema`](Self::schema) and [`chunks`](Self::chunks) are quick:
///   they are asked for with every question, and the identity around every chunk that is read.
///
/// ```
/// use std::io;
/// use std::sync::Arc;
///
/// use hushtable_engine::{Provider, RowsIdentity};
/// # use datafusion::arrow;
/// use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
/// use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
///
/// /// The numbers below ten, each a row.
/// #[derive(Debug)]
/// struct Digits;
///
/// impl Provider for Digits {
///     fn identity(&self) -> RowsIdentity {
///         RowsIdentity::Version("digits, version 1".to_owned())
///     }
///     fn schema(&self) -> SchemaRef {
///         Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]))
///     }
///     fn chunks(&self) -> Vec<u64> {
///         vec![80]
///     }
///     fn read(
///         &self,
///         _chunk: usize,
///         columns: &[usize],
///         each: &mut dyn FnMut(RecordBatch) -> bool,
///     ) -> io::Result<()> {
///         let digits: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
///         let schema = self.schema().project(columns).map_err(io::Error::other)?;
///         let arrays = columns.iter().map(|_| Arc::clone(&digits)).collect();
///         // Rows count also where no column is asked for.
///         let rows = RecordBatchOptions::new().with_row_count(Some(10));
///         let batch = RecordBatch::try_new_with_options(Arc::new(schema), arrays, &rows);
///         each(batch.map_err(io::Error::other)?);
///         Ok(())
///     }
/// }
/// ```
pub trait Provider: Debug + Send + Sync {
    /// The identity of the rows as they are now. The answer on record to a question is given again
    /// as long as it stays the same.
    fn identity(&self) -> RowsIdentity;

    /// The names and types of the columns.
    fn schema(&self) -> SchemaRef;

    /// About how many bytes each chunk has. Chunks are read on their own, in any order and at the
    /// same time.
    fn chunks(&self) -> Vec<u64>;

    /// Hands the rows of a chunk to `each`, in batches of any size, until `each` returns false. The
    /// batches have the columns at these indices of the schema, which ascend; there may be none,
    /// and the number of rows counts then.
    ///
    /// # Errors
    /// When the rows cannot be read. Of the error, its kind alone is shown.
    fn read(
        &self,
        chunk: usize,
        columns: &[usize],
        each: &mut dyn FnMut(RecordBatch) -> bool,
    ) -> io::Result<()>;
}

/// The identity of the rows of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowsIdentity {
    /// A hash of all values: equal rows have it wherever they are.
    Content([u8; 32]),
    /// A name of their state, such as the number of a snapshot: unlike those of earlier and later
    /// states of the same provider.
    Version(String),
}

/// A provider, as the source of a table: its rows as they were at one time.
#[derive(Clone, Debug)]
pub(crate) struct ProviderSource {
    table: String,
    /// Its name in errors.
    name: PathBuf,
    provider: Arc<dyn Provider>,
    identity: RowsIdentity,
    schema: SchemaRef,
    columns: Arc<[StoredColumn]>,
    chunks: Vec<u64>,
}

impl ProviderSource {
    /// The provider of a table, with its rows as they are now.
    ///
    /// # Errors
    /// When they change meanwhile.
    pub(crate) fn new(table: &str, provider: Arc<dyn Provider>) -> Result<Self, SourceError> {
        let identity = provider.identity();
        let (schema, chunks) = (provider.schema(), provider.chunks());
        let columns = schema.fields().iter().map(|field| StoredColumn {
            name: field.name().clone(),
            stored: StoredType::of(field.data_type()),
            file_type: type_name(field.data_type()),
        });
        let provided = Self {
            table: table.to_owned(),
            name: PathBuf::from(format!("table {table}")),
            columns: columns.collect(),
            identity,
            schema,
            chunks,
            provider,
        };
        match provided.is_unchanged() {
            true => Ok(provided),
            false => Err(SourceError::Changed { path: provided.name }),
        }
    }

    /// Looks at the provider anew, with its rows as they are now.
    ///
    /// # Errors
    /// When they change meanwhile.
    pub(crate) fn renewed(&self) -> Result<Self, SourceError> {
        Self::new(&self.table, Arc::clone(&self.provider))
    }

    /// Its name in the contract.
    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    /// Whether both are surely the same rows, by their values or as they have one provider.
    pub(crate) fn has_rows_of(&self, other: &Self) -> bool {
        let is_content = matches!(self.identity, RowsIdentity::Content(_));
        Arc::ptr_eq(&self.provider, &other.provider)
            || is_content && self.identity == other.identity
    }

    /// Whether a batch has the types of the columns that were asked for.
    fn fits(&self, batch: &RecordBatch, columns: &[usize]) -> bool {
        let types: Option<Vec<&DataType>> = columns
            .iter()
            .map(|&column| Some(self.schema.fields().get(column)?.data_type()))
            .collect();
        let fields = batch.schema_ref().fields().iter();
        types.is_some_and(|types| types.into_iter().eq(fields.map(|field| field.data_type())))
    }

    fn broken(&self, what: &'static str) -> SourceError {
        SourceError::BrokenProvider { table: self.table.clone(), what }
    }
}

impl Source for ProviderSource {
    fn identity(&self) -> SourceIdentity {
        SourceIdentity::Rows(self.identity.clone())
    }

    fn is_unchanged(&self) -> bool {
        self.provider.identity() == self.identity
    }

    fn path(&self) -> &Path {
        &self.name
    }

    fn columns(&self) -> &[StoredColumn] {
        &self.columns
    }

    fn chunks(&self) -> Vec<u64> {
        self.chunks.clone()
    }

    fn read(
        &self,
        chunk: usize,
        picks: &[ColumnPick],
        progress: &Arc<ReadProgress>,
        sink: &mut dyn Sink,
    ) -> Result<(), SourceError> {
        let bytes = *self.chunks.get(chunk).ok_or_else(planned_otherwise)?;
        let mut indices: Vec<usize> = picks.iter().map(|pick| pick.index).collect();
        indices.sort_unstable();
        indices.dedup();
        let mut failed = None;
        let mut each = |batch: RecordBatch| {
            let columns = batch.columns().iter().map(plain).collect::<Option<Vec<_>>>();
            let handed = match columns.filter(|_| self.fits(&batch, &indices)) {
                Some(columns) => {
                    hand_over((&columns, batch.num_rows()), &indices, picks, &mut *sink)
                }
                None => Err(self.broken("a batch has other columns than were asked for")),
            };
            handed.unwrap_or_else(|error| {
                failed = Some(error);
                false
            })
        };
        let read = self.provider.read(chunk, &indices, &mut each);
        progress.advance(bytes);
        if let Some(error) = failed {
            return Err(error);
        }
        // Another text could quote a row.
        read.map_err(|error| SourceError::Unreadable {
            path: self.name.clone(),
            reason: error.kind().to_string(),
        })
    }
}
