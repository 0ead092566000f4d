//! Calculations from numbers alone, by the command's own code.

use hushtable_cli::rendered;
use pyo3::prelude::*;

use crate::exceptions::{Panicked, argument, caught, done};

/// The JSON that `hushtable calc` or `hushtable assess` prints, from the words after `hushtable`.
/// Raises `ArgumentError`, with `example` as the hint, when a number is not in its range.
#[pyfunction]
pub(crate) fn computed(py: Python<'_>, words: Vec<String>, example: &str) -> PyResult<String> {
    match py.detach(|| caught(|| rendered::computed(&words))) {
        Ok(Ok(json)) => Ok(json),
        Ok(Err(refusal)) => Err(argument(py, &refusal.what, &format!("for example {example}"))),
        Err(Panicked) => done(py, || Err(hushtable::Error::inconsistent("a calculation panicked"))),
    }
}
