//! Frames of Python as protected tables, and tables as whatever reads Arrow.

use std::sync::Arc;

use hushtable::arrow::array::{ArrayRef, AsArray, RecordBatch, StructArray};
use hushtable::arrow::compute::cast;
use hushtable::arrow::datatypes::{DataType, Field, Schema};
use hushtable::{Error, MemoryTable};
use pyo3::exceptions::{PyException, PyImportError, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::ffi::{ArrayIterator, ArrayReader, to_schema_pycapsule, to_stream_pycapsule};
use pyo3_arrow::input::AnyArray;

use crate::copies::FrameCopies;
use crate::exceptions::{self, OrRaise, caught};

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

/// A frame's rows, copied: packages may write to the memory that they hand over.
fn table(py: Python<'_>, name: &str, frame: &Bound<'_, PyAny>) -> PyResult<MemoryTable> {
    let arrow = py.import(FRAMES)?.call_method1("arrow", (name, frame))?;
    let reader = caught(|| {
        let reader = arrow.extract::<AnyArray>().and_then(AnyArray::into_reader);
        reader.map_err(|error| refused(py, name, error))
    })
    .unwrap_or_else(|_| Err(unread(py, name)))?;
    let read = py.detach(|| caught(|| rows(reader)).unwrap_or(Err(None)));
    read.map_err(|error| match error {
        Some(error) => exceptions::of_source(py, &error),
        None => unread(py, name),
    })
}

/// Reads and copies all rows. The errors of another library's stream are dropped.
fn rows(
    reader: Box<dyn ArrayReader + Send>,
) -> Result<MemoryTable, Option<hushtable::SourceError>> {
    let field = reader.field();
    let DataType::Struct(fields) = field.data_type() else { return Err(None) };
    let mut copies = FrameCopies::new(fields, field.metadata());
    let mut batches = Vec::new();
    for array in reader {
        let array = array.map_err(|_| None)?;
        let rows = array.as_struct_opt().ok_or(None)?;
        batches.push(copies.copy(rows).map_err(|_| None)?);
    }
    MemoryTable::new(copies.schema(), batches).map_err(Some)
}

/// An exception of a frame's Arrow interface. A signal is no fault of the frame.
fn refused(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyException>(py) || error.is_instance_of::<PyMemoryError>(py) {
        return error;
    }
    if error.is_instance_of::<PyImportError>(py) {
        let what = format!("the frame of the table `{name}` needs another package");
        return exceptions::new(py, "DataError", &what, "pip install pyarrow");
    }
    unread(py, name)
}

/// The message of a library, and those of its streams, may quote a value: this one does not.
fn unread(py: Python<'_>, name: &str) -> PyErr {
    let what = format!("the frame of the table `{name}` cannot be read as Arrow");
    let hint = "give each column one type, leave out rows that are NULL as a whole, and see the \
                library's own message with pyarrow.table(frame)";
    exceptions::new(py, "DataError", &what, hint)
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
