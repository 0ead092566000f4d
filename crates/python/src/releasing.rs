//! Releases: noisy tables on record, with their intervals, statements and charges.

use std::sync::Arc;

use hushtable::arrow::array::RecordBatch;
use hushtable::query::{IntervalRequest, Level};
use hushtable::{AccountCharge, Answer, AnswerTable, Charges, Statement};
use hushtable_cli::rendered::{self, text_html};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::exceptions::{argued, done};
use crate::reports::parsed;
use crate::{frames, python_values};

/// The module of the package that hands tables to pandas, Polars, pyarrow and Altair.
const HANDED: &str = "hushtable._handing";

/// A noisy table on record, from `Analyst.sql` or of a workload.
///
/// It has Arrow's PyCapsule interface: `polars.DataFrame(release)`, `pyarrow.table(release)`,
/// `pandas.DataFrame.from_arrow(release)` and DuckDB read it. Notebooks show it with its
/// intervals, its charge and what limits cut off.
#[pyclass(frozen, module = "hushtable")]
pub(crate) struct Release {
    output: AnswerTable,
    receipt: Arc<Receipt>,
}

/// The statement and the charges of one question, or of all of a workload.
pub(crate) struct Receipt {
    pub(crate) statement: Statement,
    pub(crate) charges: Charges,
    /// The charges in lines.
    pub(crate) account: String,
}

impl Release {
    /// The answer to a question.
    pub(crate) fn new(answer: Answer, engine: &hushtable::Engine) -> Self {
        let account = rendered::account(&answer, engine);
        let Answer { output, statement, charges, .. } = answer;
        Self::of(output, &Arc::new(Receipt { statement, charges, account }))
    }

    /// A table of what was paid for.
    pub(crate) fn of(output: AnswerTable, receipt: &Arc<Receipt>) -> Self {
        Self { output, receipt: Arc::clone(receipt) }
    }

    /// The intervals that the question or the contract asks for, or else the usual ones.
    fn usual(&self) -> IntervalRequest {
        self.output.interval_request().unwrap_or(IntervalRequest::USUAL)
    }
}

impl Release {
    /// The table with its intervals and its notes, in lines.
    pub(crate) fn table_text(&self, py: Python<'_>) -> PyResult<String> {
        done(py, || rendered::table(&self.output, self.usual()))
    }

    /// The table with its intervals and its notes, in HTML.
    pub(crate) fn table_html(&self, py: Python<'_>) -> PyResult<String> {
        done(py, || rendered::table_html(&self.output, self.usual()))
    }
}

impl Receipt {
    /// The statement, as a dict.
    pub(crate) fn statement<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, &done(py, || rendered::statement(&self.statement))?)
    }

    /// The budgets that paid, each as a dict.
    pub(crate) fn charges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let charges = PyList::empty(py);
        for AccountCharge { population, charged, account, .. } in &self.charges.accounts {
            let dict = PyDict::new(py);
            dict.set_item("population", population)?;
            dict.set_item("charged", charged.map(|charged| charged.to_string()))?;
            dict.set_item("left", account.left.to_string())?;
            charges.append(dict)?;
        }
        Ok(charges)
    }

    /// Whether nothing was charged.
    pub(crate) fn was_free(&self) -> bool {
        self.charges.accounts.iter().all(|account| account.charged.is_none())
    }
}

/// A level in percent.
fn request(
    py: Python<'_>,
    level: Option<f64>,
    simultaneous: bool,
    usual: IntervalRequest,
) -> PyResult<IntervalRequest> {
    let level = match level {
        Some(level) => argued(py, level.to_string().parse::<Level>())?,
        None => usual.level,
    };
    Ok(IntervalRequest { level, simultaneous })
}

#[pymethods]
impl Release {
    /// The table as the capsule of an Arrow stream.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        done(py, || frames::stream(py, &self.output.table, requested_schema))
    }

    /// The table's columns as the capsule of an Arrow schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        done(py, || frames::schema(py, &self.output.table))
    }

    /// The table as a `pyarrow.Table`. Needs pyarrow.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(HANDED)?.call_method1("to_arrow", (slf,))
    }

    /// The table as a `polars.DataFrame`. Needs Polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(HANDED)?.call_method1("to_polars", (slf,))
    }

    /// The table as a `pandas.DataFrame`. Needs pandas and pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(HANDED)?.call_method1("to_pandas", (slf,))
    }

    /// A dict for each row, of int, float, Decimal, str, bool, date, datetime and None. Needs no
    /// other package.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        done(py, || python_values::dicts(py, &self.output.table))
    }

    /// The names of the columns, in their order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let schema = self.output.table.schema();
        schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The name of the workload's query; None for the answer to a question in SQL.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.output.name.as_deref()
    }

    /// The table with the ends of an interval beside each noisy number: for `x`, `x_low` and
    /// `x_high`. `level` is in percent, from 50 to 99.9; by default that of the question or the
    /// contract, or 95. With `simultaneous`, all intervals hold at once with that probability. They
    /// are about the noise: what limits cut off (`cut_off`) is in none of them. Free.
    #[pyo3(signature = (level = None, *, simultaneous = false))]
    fn intervals(&self, py: Python<'_>, level: Option<f64>, simultaneous: bool) -> PyResult<Table> {
        let wanted = request(py, level, simultaneous, self.usual())?;
        let intervals = done(py, || self.output.intervals(wanted))?;
        Ok(Table { table: done(py, || intervals.beside(&self.output.table))? })
    }

    /// All that limits cut off, in words: no interval holds it. Empty where nothing can be.
    #[getter]
    fn cut_off(&self) -> Vec<String> {
        self.output.cut_off.clone()
    }

    /// The statement of what was promised, mechanism by mechanism: the same dict as the file of
    /// `hushtable query --statement`.
    #[getter]
    fn statement<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.receipt.statement(py)
    }

    /// The analyst who paid.
    #[getter]
    fn analyst(&self) -> &str {
        &self.receipt.charges.analyst
    }

    /// The budgets that paid, for all of a workload together; `charged` is None where all was paid
    /// for before.
    #[getter]
    fn charges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.receipt.charges(py)
    }

    /// Whether nothing was charged, as the release was paid for or on record.
    #[getter]
    fn was_free(&self) -> bool {
        self.receipt.was_free()
    }

    /// A chart of the first column of noisy numbers, with a bar for each interval: a specification
    /// of Vega-Lite as a dict, which Jupyter shows. `to_altair()` makes a chart of Altair of it,
    /// and `svg` is the image that the command draws.
    ///
    /// Raises `Refused` when there is no such column.
    #[pyo3(signature = (level = None))]
    fn plot<'py>(&self, py: Python<'py>, level: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let wanted = request(py, level, self.usual().simultaneous, self.usual())?;
        let chart = done(py, || rendered::chart(&self.output, wanted))?;
        let specification = parsed(py, &chart.vega_lite)?;
        py.import(HANDED)?.getattr("Plot")?.call1((specification, chart.svg))
    }

    fn __len__(&self) -> usize {
        self.output.table.num_rows()
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("{}\n{}", self.table_text(py)?, self.receipt.account))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.__str__(py)
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.table_html(py)? + &text_html(&self.receipt.account))
    }
}

/// A table with Arrow's PyCapsule interface, from `Release.intervals`.
#[pyclass(frozen, module = "hushtable", name = "ReleasedTable")]
pub(crate) struct Table {
    table: RecordBatch,
}

#[pymethods]
impl Table {
    /// The table as the capsule of an Arrow stream.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        done(py, || frames::stream(py, &self.table, requested_schema))
    }

    /// The table's columns as the capsule of an Arrow schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        done(py, || frames::schema(py, &self.table))
    }

    /// The table as a `pyarrow.Table`. Needs pyarrow.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(HANDED)?.call_method1("to_arrow", (slf,))
    }

    /// The table as a `polars.DataFrame`. Needs Polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(HANDED)?.call_method1("to_polars", (slf,))
    }

    /// The table as a `pandas.DataFrame`. Needs pandas and pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(HANDED)?.call_method1("to_pandas", (slf,))
    }

    /// A dict for each row, of int, float, Decimal, str, bool, date, datetime and None.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        done(py, || python_values::dicts(py, &self.table))
    }

    /// The names of the columns, in their order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.table.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.table.num_rows()
    }
}
