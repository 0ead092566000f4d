//! Reports: texts for people that are dicts for programs.

use hushtable_cli::rendered::{RenderedReport, text_html};
use pyo3::prelude::*;

/// A report, as the command writes it.
///
/// `print(report)` shows its text; `report.to_dict()` has everything in it; a notebook shows it as
/// a block of text.
#[pyclass(frozen, module = "hushtable")]
pub(crate) struct Report {
    rendered: RenderedReport,
}

impl Report {
    pub(crate) fn new(rendered: RenderedReport) -> Self {
        Self { rendered }
    }
}

#[pymethods]
impl Report {
    /// The report in lines for people.
    #[getter]
    fn text(&self) -> &str {
        &self.rendered.text
    }

    /// Everything in the report, as dicts, lists, numbers and str; the keys are those of the
    /// command's `--format json`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, &self.rendered.json)
    }

    fn __str__(&self) -> &str {
        &self.rendered.text
    }

    fn __repr__(&self) -> &str {
        &self.rendered.text
    }

    fn _repr_html_(&self) -> String {
        text_html(&self.rendered.text)
    }
}

/// JSON as values of Python.
pub(crate) fn parsed<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}
