//! Frames of Python as protected tables, and tables as whatever reads Arrow.

use std::sync::Arc;

use hushtable::arrow::array::{Array, ArrayRef, RecordBatch, StructArray};
use hushtable::arrow::compute::cast;
use hushtable::arrow::datatypes::{DataType, Field, Schema};
use hushtable::{Error, MemoryTable};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};
use pyo3_arrow::input::AnyRecordBatch;

use crate::exceptions::{self, OrRaise};

/// The module of the package that finds a frame's Arrow interface.
const FRAMES: &str = "hushtable._frames";

/// The frames, by their tables' names.
pub(crate) fn provided(
    py: Python<'_>,
    frames: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(String, MemoryTable)>> {
    let mut tables = Vec::new();
    let Some(frames) = frames else { return Ok(tables) };
    for item in frames.call_method0("items")?.try_iter()? {
        let (name, frame): (String, Bound<'_, PyAny>) = item?.extract()?;
        let table = table(py, &name, &frame)?;
        tables.push((name, table));
    }
    Ok(tables)
}

/// A frame's rows. They stay where they are: Arrow's arrays are shared, and not copied.
fn table(py: Python<'_>, name: &str, frame: &Bound<'_, PyAny>) -> PyResult<MemoryTable> {
    let arrow = py.import(FRAMES)?.call_method1("arrow", (name, frame))?;
    // The library's message, and those of its streams, may quote a value.
    let unread = || {
        exceptions::new(
            py,
            "DataError",
            &format!("the frame of the table `{name}` cannot be read as Arrow"),
            "give each column one type, and look at the library's own message with \
             pyarrow.table(frame)",
        )
    };
    let reader = arrow.extract::<AnyRecordBatch>().map_err(|_| unread())?;
    let reader = reader.into_reader().map_err(|_| unread())?;
    let schema = reader.schema();
    py.detach(|| {
        let mut batches = Vec::new();
        for batch in reader {
            let batch = batch.map_err(|_| None)?;
            // Another library's arrays are checked: text must be UTF-8, and offsets must rise.
            let valid = |column: &Arc<dyn Array>| column.to_data().validate_full().is_ok();
            if !batch.columns().iter().all(valid) {
                return Err(None);
            }
            batches.push(batch);
        }
        MemoryTable::new(schema, batches).map_err(Some)
    })
    .map_err(|error| match error {
        Some(error) => exceptions::of_source(py, &error),
        None => unread(),
    })
}

/// A table as other packages read it: with text as Arrow's `Utf8`, since some know no views.
fn plain(py: Python<'_>, table: &RecordBatch) -> PyResult<RecordBatch> {
    let schema = table.schema();
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in schema.fields().iter().zip(table.columns()) {
        match field.data_type() {
            DataType::Utf8View => {
                fields.push(Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8)));
                columns.push(cast(column, &DataType::Utf8).map_err(Error::from).or_raise(py)?);
            }
            _ => {
                fields.push(Arc::clone(field));
                columns.push(Arc::clone(column));
            }
        }
    }
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    RecordBatch::try_new(Arc::new(schema), columns).map_err(Error::from).or_raise(py)
}

/// A table as the capsule of an Arrow stream.
pub(crate) fn stream<'py>(
    py: Python<'py>,
    table: &RecordBatch,
    requested_schema: Option<Bound<'py, PyCapsule>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let table = plain(py, table)?;
    let schema = table.schema();
    let fields = schema.fields().clone();
    let field = Field::new_struct("", fields, false).with_metadata(schema.metadata().clone());
    let array: ArrayRef = Arc::new(StructArray::from(table));
    let reader = Box::new(ArrayIterator::new([Ok(array)], Arc::new(field)));
    Ok(to_stream_pycapsule(py, reader, requested_schema)?)
}

/// A table's columns as the capsule of an Arrow schema.
pub(crate) fn schema<'py>(py: Python<'py>, table: &RecordBatch) -> PyResult<Bound<'py, PyCapsule>> {
    Ok(to_schema_pycapsule(py, plain(py, table)?.schema().as_ref())?)
}
