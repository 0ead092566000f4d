//! Quotes: promises and prices, before anything is charged.

use hushtable::{AccountQuote, QuestionQuote};
use hushtable_cli::rendered::{self, text_html};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::exceptions::done;
use crate::reports::parsed;

/// How a shorter text says that there is a longer one.
const MORE: &str = "quote.verbose shows all mechanisms, losses and probabilities";

/// The quote of a question or a workload: its promise, its precision and its price.
///
/// `print(quote)` and notebooks show one page.
#[pyclass(frozen, module = "hushtable")]
pub(crate) struct Quote {
    quoted: QuestionQuote,
}

impl Quote {
    pub(crate) fn new(quoted: QuestionQuote) -> Self {
        Self { quoted }
    }
}

#[pymethods]
impl Quote {
    /// The quote in lines for people, on one page.
    #[getter]
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        Ok(done(py, || rendered::quote(&self.quoted, false, MORE))?.text)
    }

    /// All mechanisms, losses and probabilities, in lines for people.
    #[getter]
    fn verbose(&self, py: Python<'_>) -> PyResult<String> {
        Ok(done(py, || rendered::quote(&self.quoted, true, MORE))?.text)
    }

    /// Everything in the quote, as dicts, lists, numbers and str; the keys are those of
    /// `hushtable explain --format json`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, &done(py, || rendered::quote(&self.quoted, true, MORE))?.json)
    }

    /// The analyst who would pay.
    #[getter]
    fn analyst(&self) -> &str {
        &self.quoted.analyst
    }

    /// The budgets that would pay, each a dict: `population`, `charge`, `left` and `left_after` as
    /// losses in str, such as "epsilon = 1, delta = 1e-6"; `left_after` is None where the budget
    /// does not suffice.
    #[getter]
    fn accounts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let accounts = PyList::empty(py);
        for account in &self.quoted.accounts {
            let AccountQuote { population, account: standing, charge, .. } = account;
            let dict = PyDict::new(py);
            dict.set_item("population", population)?;
            dict.set_item("charge", charge.to_string())?;
            dict.set_item("left", standing.left.to_string())?;
            let after = account.left_after().map(|left| left.to_string());
            dict.set_item("left_after", after)?;
            accounts.append(dict)?;
        }
        Ok(accounts)
    }

    /// Whether asking would charge nothing, as the answer is paid for or on record.
    #[getter]
    fn is_free(&self) -> bool {
        self.quoted.is_free()
    }

    /// Whether every budget suffices.
    #[getter]
    fn is_affordable(&self) -> bool {
        self.quoted.is_affordable()
    }

    /// All that limits cut off, in words: no interval and no ± holds it.
    #[getter]
    fn cut_off(&self) -> Vec<String> {
        let parts = self.quoted.parts.iter();
        parts.flat_map(|part| part.explanation.intervals.not_in_them.clone()).collect()
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py)
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        Ok(text_html(&self.text(py)?))
    }
}
