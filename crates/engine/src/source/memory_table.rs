//! A table in memory.

use std::io;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;

use super::SourceError;
use super::convert::{StoredType, plain, type_name};
use super::provided::{Provider, RowsIdentity};
use super::stored::planned_otherwise;

/// Most rows of a chunk.
const CHUNK_ROWS: usize = 1 << 17;
/// Bytes that are hashed at once.
const HASHED_AT_ONCE: usize = 1 << 16;

/// A table of Arrow batches in memory. Its identity is a hash of its values: the same rows in the
/// same order are the same table, however they are cut into batches.
///
/// Whoever holds the batches is the curator of the data: nothing keeps them from looking at the
/// rows.
#[derive(Clone, Debug)]
pub struct MemoryTable {
    schema: SchemaRef,
    chunks: Vec<RecordBatch>,
    /// The bytes of each chunk.
    bytes: Vec<u64>,
    identity: RowsIdentity,
}

impl MemoryTable {
    /// A table of batches that all have the columns of `schema`. Reads all values once.
    ///
    /// # Errors
    /// When a batch has other columns.
    pub fn new(
        schema: SchemaRef,
        batches: impl IntoIterator<Item = RecordBatch>,
    ) -> Result<Self, SourceError> {
        let mut chunks = Vec::new();
        for (number, batch) in batches.into_iter().enumerate() {
            let fields = batch.schema_ref().fields().iter();
            let columns = fields.map(|field| (field.name(), field.data_type()));
            let expected = schema.fields().iter().map(|field| (field.name(), field.data_type()));
            if !columns.eq(expected) {
                return Err(SourceError::OtherColumns { batch: number + 1 });
            }
            for from in (0..batch.num_rows()).step_by(CHUNK_ROWS) {
                chunks.push(batch.slice(from, CHUNK_ROWS.min(batch.num_rows() - from)));
            }
        }
        let identity = identity(&schema, &chunks)?;
        let bytes = |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or(0) as u64;
        let bytes = chunks.iter().map(|chunk| chunk.columns().iter().map(bytes).sum()).collect();
        Ok(Self { schema, chunks, bytes, identity })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.chunks.iter().map(RecordBatch::num_rows).sum()
    }
}

impl Provider for MemoryTable {
    fn identity(&self) -> RowsIdentity {
        self.identity.clone()
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn chunks(&self) -> Vec<u64> {
        self.bytes.clone()
    }

    fn read(
        &self,
        chunk: usize,
        columns: &[usize],
        each: &mut dyn FnMut(RecordBatch) -> bool,
    ) -> io::Result<()> {
        let missing = || io::Error::other("the table has no such part");
        let batch = self.chunks.get(chunk).ok_or_else(missing)?;
        each(batch.project(columns).map_err(|_| missing())?);
        Ok(())
    }
}

/// A hash of the names, types and values of all columns that can be read. Columns of other types
/// change no answer.
fn identity(schema: &SchemaRef, chunks: &[RecordBatch]) -> Result<RowsIdentity, SourceError> {
    let mut whole = blake3::Hasher::new();
    let rows: usize = chunks.iter().map(RecordBatch::num_rows).sum();
    whole.update(&(rows as u64).to_le_bytes());
    for (index, field) in schema.fields().iter().enumerate() {
        let name = [field.name().as_str(), &type_name(field.data_type())];
        for text in name {
            whole.update(&(text.len() as u64).to_le_bytes());
            whole.update(text.as_bytes());
        }
        if StoredType::of(field.data_type()) == StoredType::Other {
            continue;
        }
        let mut column = ColumnHash::default();
        for chunk in chunks {
            let array = chunk.columns().get(index).and_then(plain).ok_or_else(planned_otherwise)?;
            column.add(&array)?;
        }
        whole.update(&column.finish());
    }
    Ok(RowsIdentity::Content(*whole.finalize().as_bytes()))
}

/// A hash of a column's values, which does not depend on how it is cut into arrays.
#[derive(Default)]
struct ColumnHash {
    values: blake3::Hasher,
    /// The numbers of the rows that are NULL.
    nulls: blake3::Hasher,
    rows: u64,
    waiting: Vec<u8>,
}

impl ColumnHash {
    fn add(&mut self, array: &ArrayRef) -> Result<(), SourceError> {
        let first = self.rows;
        self.rows += array.len() as u64;
        if *array.data_type() == DataType::Null {
            return Ok(());
        }
        let valid = array.nulls().filter(|nulls| nulls.null_count() > 0);
        if let Some(nulls) = valid {
            for row in (0..array.len()).filter(|&row| nulls.is_null(row)) {
                self.nulls.update(&(first + row as u64).to_le_bytes());
            }
        }
        let rows = (0..array.len()).filter(|&row| array.is_valid(row));
        if let Some(texts) = array.as_binary_view_opt() {
            for row in rows {
                let text = texts.value(row);
                self.push(&(text.len() as u64).to_le_bytes());
                self.push(text);
            }
        } else if let Some(flags) = array.as_boolean_opt() {
            rows.for_each(|row| self.push(&[u8::from(flags.value(row))]));
        } else {
            let data = array.to_data();
            let width = data.data_type().primitive_width().ok_or_else(planned_otherwise)?;
            let bytes = data.buffers().first().ok_or_else(planned_otherwise)?.as_slice();
            let value = |row: usize, rows: usize| {
                let from = data.offset().checked_add(row)?.checked_mul(width)?;
                bytes.get(from..from.checked_add(rows.checked_mul(width)?)?)
            };
            if valid.is_none() {
                self.push(value(0, array.len()).ok_or_else(planned_otherwise)?);
            } else {
                for row in rows {
                    self.push(value(row, 1).ok_or_else(planned_otherwise)?);
                }
            }
        }
        Ok(())
    }

    /// Hashing few bytes at a time is slow.
    fn push(&mut self, bytes: &[u8]) {
        if self.waiting.len() + bytes.len() > HASHED_AT_ONCE {
            self.values.update(&self.waiting);
            self.waiting.clear();
        }
        if bytes.len() > HASHED_AT_ONCE {
            self.values.update(bytes);
        } else {
            self.waiting.extend_from_slice(bytes);
        }
    }

    fn finish(mut self) -> [u8; 64] {
        self.values.update(&self.waiting);
        let mut both = [0; 64];
        let (values, nulls) = both.split_at_mut(32);
        values.copy_from_slice(self.values.finalize().as_bytes());
        nulls.copy_from_slice(self.nulls.finalize().as_bytes());
        both
    }
}
