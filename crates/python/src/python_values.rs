//! Values of a table as Python's own.

use hushtable::arrow::array::{Array, AsArray, RecordBatch};
use hushtable::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int64Type, TimeUnit,
    TimestampMicrosecondType,
};
use hushtable::numbers::decimal::FixedDecimal;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

/// Days from the year 1 to 1970, as Python counts them.
const DAYS_TO_1970: i64 = 719_163;

/// A dict for each row, in the order of the table.
pub(crate) fn dicts<'py>(py: Python<'py>, table: &RecordBatch) -> PyResult<Bound<'py, PyList>> {
    let kinds = Kinds::of(py)?;
    let rows = PyList::empty(py);
    for row in 0..table.num_rows() {
        let dict = PyDict::new(py);
        for (field, column) in table.schema().fields().iter().zip(table.columns()) {
            dict.set_item(field.name(), kinds.value(column.as_ref(), row)?)?;
        }
        rows.append(dict)?;
    }
    Ok(rows)
}

/// Python's types for dates and decimals.
struct Kinds<'py> {
    py: Python<'py>,
    decimal: Bound<'py, PyAny>,
    date: Bound<'py, PyAny>,
    delta: Bound<'py, PyAny>,
    /// 1970, without and with a zone.
    epochs: [Bound<'py, PyAny>; 2],
}

impl<'py> Kinds<'py> {
    fn of(py: Python<'py>) -> PyResult<Self> {
        let datetime = py.import("datetime")?;
        let naive = datetime.getattr("datetime")?.call1((1970, 1, 1))?;
        let zone = PyDict::new(py);
        zone.set_item("tzinfo", datetime.getattr("timezone")?.getattr("utc")?)?;
        let aware = naive.call_method("replace", (), Some(&zone))?;
        Ok(Self {
            py,
            decimal: py.import("decimal")?.getattr("Decimal")?,
            date: datetime.getattr("date")?,
            delta: datetime.getattr("timedelta")?,
            epochs: [naive, aware],
        })
    }

    fn value(&self, column: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        if column.data_type() == &DataType::Null || column.is_null(row) {
            return Ok(py.None().into_bound(py));
        }
        let value = match column.data_type() {
            DataType::Boolean => column
                .as_boolean_opt()
                .map(|values| Ok(PyBool::new(py, values.value(row)).to_owned().into_any())),
            DataType::Int64 => column
                .as_primitive_opt::<Int64Type>()
                .map(|values| Ok(PyInt::new(py, values.value(row)).into_any())),
            DataType::Float64 => column
                .as_primitive_opt::<Float64Type>()
                .map(|values| Ok(PyFloat::new(py, values.value(row)).into_any())),
            DataType::Utf8 => column
                .as_string_opt::<i32>()
                .map(|values| Ok(PyString::new(py, values.value(row)).into_any())),
            DataType::Utf8View => column
                .as_string_view_opt()
                .map(|values| Ok(PyString::new(py, values.value(row)).into_any())),
            DataType::Decimal128(_, scale) => u8::try_from(*scale)
                .ok()
                .zip(column.as_primitive_opt::<Decimal128Type>())
                .map(|(scale, values)| {
                    let number = FixedDecimal { digits: values.value(row), scale };
                    self.decimal.call1((number.to_string(),))
                }),
            DataType::Date32 => column
                .as_primitive_opt::<Date32Type>()
                .map(|values| self.day(i64::from(values.value(row)))),
            DataType::Timestamp(TimeUnit::Microsecond, zone) => column
                .as_primitive_opt::<TimestampMicrosecondType>()
                .map(|values| self.moment(values.value(row), zone.is_some())),
            _ => None,
        };
        value.unwrap_or_else(|| {
            Err(PyTypeError::new_err(
                "a column has a type for which there is none here: use to_arrow()",
            ))
        })
    }

    /// A date, or the number of days since 1970 where Python has no date.
    fn day(&self, days: i64) -> PyResult<Bound<'py, PyAny>> {
        let date = self.date.call_method1("fromordinal", (days + DAYS_TO_1970,));
        date.or_else(|_| Ok(PyInt::new(self.py, days).into_any()))
    }

    /// A moment, or the number of microseconds since 1970 where Python has none.
    fn moment(&self, micros: i64, zoned: bool) -> PyResult<Bound<'py, PyAny>> {
        let [naive, aware] = &self.epochs;
        let epoch = if zoned { aware } else { naive };
        let delta = self.delta.call1((0, 0, micros));
        let moment = delta.and_then(|delta| epoch.call_method1("__add__", (delta,)));
        moment.or_else(|_| Ok(PyInt::new(self.py, micros).into_any()))
    }
}
