//! Values of Python as values of a query's parameters.

use hushtable::privacy::{AmountError, Delta};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

/// The parameters, each with the text that stands for its value.
pub(crate) fn texts(given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, String)>> {
    let mut texts = Vec::new();
    let Some(given) = given else { return Ok(texts) };
    for item in given.call_method0("items")?.try_iter()? {
        let (name, value): (String, Bound<'_, PyAny>) = item?.extract()?;
        let text = text(&name, &value)?;
        texts.push((name.trim_start_matches('@').to_owned(), text));
    }
    Ok(texts)
}

fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = value.py();
    if value.is_none() {
        return Ok("NULL".to_owned());
    }
    // A bool is an int, and a datetime a date: the narrower type first.
    if value.is_instance_of::<PyBool>() {
        return Ok(if value.is_truthy()? { "TRUE" } else { "FALSE" }.to_owned());
    }
    if let Ok(text) = value.cast::<PyString>() {
        // In quotes, so that "65" is a text.
        return Ok(format!("'{}'", text.to_cow()?));
    }
    let datetime = py.import("datetime")?;
    if value.is_instance(&datetime.getattr("datetime")?)? {
        let moment = match value.getattr("tzinfo")?.is_none() {
            true => value.clone(),
            false => {
                let utc = datetime.getattr("timezone")?.getattr("utc")?;
                let naive = PyDict::new(py);
                naive.set_item("tzinfo", py.None())?;
                let moment = value.call_method1("astimezone", (utc,))?;
                moment.call_method("replace", (), Some(&naive))?
            }
        };
        return moment.call_method1("isoformat", (" ",))?.extract();
    }
    if value.is_instance(&datetime.getattr("date")?)? {
        return value.call_method0("isoformat")?.extract();
    }
    if value.is_instance_of::<PyInt>() {
        return value.str()?.extract();
    }
    let decimal = py.import("decimal")?.getattr("Decimal")?;
    let is_decimal = value.is_instance(&decimal)?;
    if value.is_instance_of::<PyFloat>() || is_decimal {
        let finite = py.import("math")?.call_method1("isfinite", (value,))?.is_truthy()?;
        if !finite {
            return Err(PyValueError::new_err(format!(
                "the parameter {name} is not finite: SQL has no constant for it"
            )));
        }
        return match is_decimal {
            true => value.call_method1("__format__", ("f",))?.extract(),
            false => value.repr()?.extract(),
        };
    }
    // A scalar of NumPy.
    if value.hasattr("dtype")? && value.hasattr("item")? {
        return text(name, &value.call_method0("item")?);
    }
    Err(PyTypeError::new_err(format!(
        "the parameter {name} is a {}: give None, bool, int, float, Decimal, str, date or datetime",
        value.get_type().name()?
    )))
}

/// A delta: a float, a Decimal or a str such as "1e-6".
pub(crate) fn delta(given: &Bound<'_, PyAny>) -> PyResult<Delta> {
    let text = given.str()?;
    text.to_cow()?.parse().map_err(|error: AmountError| {
        PyValueError::new_err(format!("delta = {text} must be a number {}", error.range))
    })
}
