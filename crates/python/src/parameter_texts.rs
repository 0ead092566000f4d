//! Values of Python as values of a query's parameters.

use hushtable::privacy::{AmountError, Delta};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::exceptions;

/// The module of the package that knows the values of NumPy and pandas.
const SCALARS: &str = "hushtable._scalars";

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
    let of = format!("the parameter {name}");
    let value = &py.import(SCALARS)?.call_method1("plain", (of, value))?;
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
    let finite = py.import("math")?.call_method1("isfinite", (value,))?.is_truthy()?;
    if !finite {
        let what = format!("the parameter {name} is not finite: SQL has no constant for it");
        return Err(exceptions::argument(py, &what, "give None for a value that is missing"));
    }
    match value.is_instance_of::<PyFloat>() {
        true => value.repr()?.extract(),
        // A Decimal.
        false => value.call_method1("__format__", ("f",))?.extract(),
    }
}

/// A delta: a float, a Decimal or a str such as "1e-6".
pub(crate) fn delta(given: &Bound<'_, PyAny>) -> PyResult<Delta> {
    let py = given.py();
    let plain = py.import(SCALARS)?.call_method1("plain", ("delta", given))?;
    let text = plain.str()?;
    text.to_cow()?.parse().map_err(|error: AmountError| {
        let what = format!("delta = {text} is not valid: it must be a number {}", error.range);
        exceptions::argument(py, &what, "for example delta=\"1e-6\"")
    })
}
