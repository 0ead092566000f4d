//! FrameCopies of arrays of other packages.
//!
//! pandas hands numbers, moments and the codes of categories over as the memory that its frame
//! still writes to. Rows are hashed and checked once, so they must not change after that.

use std::collections::HashMap;
use std::sync::Arc;

use hushtable::arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, MutableArrayData, RecordBatch, RecordBatchOptions,
    StructArray, make_array, new_null_array,
};
use hushtable::arrow::datatypes::{DataType, Fields, Schema, SchemaRef};
use hushtable::arrow::error::ArrowError;

/// FrameCopies batch after batch of one table.
pub(crate) struct FrameCopies {
    schema: SchemaRef,
    /// The last dictionary of each column, and its copy: batches often share one.
    dictionaries: Vec<Option<(ArrayData, ArrayData)>>,
}

impl FrameCopies {
    /// FrameCopies of batches with these columns.
    pub(crate) fn new(fields: &Fields, metadata: &HashMap<String, String>) -> Self {
        let dictionaries = fields.iter().map(|_| None).collect();
        let fields: Fields = fields
            .iter()
            .map(|field| match is_composed(field.data_type()) {
                true => Arc::new(field.as_ref().clone().with_nullable(true)),
                false => Arc::clone(field),
            })
            .collect();
        let schema = Schema::new_with_metadata(fields, metadata.clone());
        Self { schema: Arc::new(schema), dictionaries }
    }

    /// The columns of the copies.
    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The rows in memory that nobody else has. They are what Arrow demands: text is UTF-8, and
    /// offsets rise.
    pub(crate) fn copy(&mut self, rows: &StructArray) -> Result<RecordBatch, ArrowError> {
        // A row that is NULL as a whole has values beneath.
        if rows.null_count() > 0 {
            return Err(ArrowError::InvalidArgumentError("a row is NULL".to_owned()));
        }
        let columns = rows.columns().iter().zip(&mut self.dictionaries);
        let columns = columns.map(|(column, last)| copied(column, last));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(self.schema(), columns, &options)
    }
}

/// An array in memory that nobody else has.
fn copied(
    array: &ArrayRef,
    last: &mut Option<(ArrayData, ArrayData)>,
) -> Result<ArrayRef, ArrowError> {
    let data = array.to_data();
    let copy = match data.data_type() {
        // No query can read it.
        kind if is_composed(kind) => return Ok(new_null_array(kind, data.len())),
        DataType::Dictionary(..) => {
            let codes = buffers(&data)?;
            let dictionary = match (data.child_data(), last.as_ref()) {
                ([values], Some((original, copy))) if values.ptr_eq(original) => copy.clone(),
                ([values], _) => {
                    let copy = flat(values)?;
                    *last = Some((values.clone(), copy.clone()));
                    copy
                }
                _ => return Err(ArrowError::InvalidArgumentError("no dictionary".to_owned())),
            };
            let copy = codes.into_builder().child_data(vec![dictionary]).build()?;
            copy.validate_full()?;
            copy
        }
        _ => flat(&data)?,
    };
    Ok(make_array(copy))
}

/// Whether values are made of others, which are in further arrays.
fn is_composed(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => {
            matches!(**values, DataType::Dictionary(..)) || is_composed(values)
        }
        DataType::RunEndEncoded(..) => true,
        _ => kind.is_nested(),
    }
}

/// A copy of values that are made of no others.
fn flat(data: &ArrayData) -> Result<ArrayData, ArrowError> {
    let copy = buffers(data)?;
    copy.validate_full()?;
    // Views still point into shared memory: their bytes are gathered, and checked again.
    let gathered = match copy.data_type() {
        DataType::Utf8View => make_array(copy).as_string_view().gc().into_data(),
        DataType::BinaryView => make_array(copy).as_binary_view().gc().into_data(),
        _ => return Ok(copy),
    };
    gathered.validate_full()?;
    Ok(gathered)
}

/// A copy of the values that an array shows of its buffers. All that it refers to stays shared.
fn buffers(data: &ArrayData) -> Result<ArrayData, ArrowError> {
    let mut copy = MutableArrayData::new(vec![data], false, data.len());
    copy.try_extend(0, 0, data.len())?;
    Ok(copy.freeze())
}
