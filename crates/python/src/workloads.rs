//! Workloads: many queries under one budget.

use std::path::PathBuf;
use std::sync::Arc;

use hushtable::query::Workload as Queries;
use hushtable::{AnswerStep, AnswerTable, Charges, Error, Purpose, Statement, open_workload};
use hushtable_cli::rendered::{self, text_html};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::exceptions::{self, done};
use crate::opened::Opened;
use crate::quotes::Quote;
use crate::releasing::{Receipt, Release};
use crate::waiting::{Progress, for_answer, for_free};

/// Names a workload that is in no file.
const NO_FILE: &str = "the workload";

/// Reads a workload from its file or its text.
pub(crate) fn read(py: Python<'_>, path: Option<PathBuf>, text: Option<&str>) -> PyResult<Queries> {
    match (path, text) {
        (Some(path), None) => done(py, || open_workload(&path)),
        (None, Some(text)) => {
            let file = |name: &str| std::fs::read_to_string(name).map_err(|e| e.to_string());
            done(py, || Queries::parse(text, NO_FILE, &file).map_err(Error::from))
        }
        _ => Err(exceptions::argument(
            py,
            "a workload is in a file or a text, one of the two",
            "ana.workload(\"workload.toml\"), or ana.workload(text=…)",
        )),
    }
}

/// The queries of a workload, from `Analyst.workload`. `explain` shows what they promise and cost
/// together, `release` answers them.
#[pyclass(frozen, module = "hushtable")]
pub(crate) struct Workload {
    opened: Opened,
    analyst: Option<String>,
    queries: Queries,
}

impl Workload {
    pub(crate) fn new(opened: Opened, analyst: Option<String>, queries: Queries) -> Self {
        Self { opened, analyst, queries }
    }
}

#[pymethods]
impl Workload {
    /// The names of the queries, in their order.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.queries.queries.iter().map(|query| query.name.clone()).collect()
    }

    /// The quote of all queries together. Free; reads no value of protected tables and changes no
    /// file.
    ///
    /// Raises `ContractError` when one of the queries would be refused, with its name and line.
    fn explain(&self, py: Python<'_>) -> PyResult<Quote> {
        let analyst = self.opened.engine(py)?.analyst(self.analyst.as_deref());
        let queries = self.queries.clone();
        let quoted = for_free(py, async move {
            let progress = hushtable::Progress::default();
            analyst.plan_workload(&queries, Purpose::Quote, &progress).await?.quoted()
        })?;
        self.opened.log(py)?;
        Ok(Quote::new(quoted))
    }

    /// The answers to all queries, with noise, which are charged together before any protected
    /// value is read, and put on record. Stopped and released again, a workload is not charged
    /// again. `progress` can be read from another thread.
    ///
    /// Ctrl-C before the charge costs nothing. After it the releases are recorded first, so that
    /// the next call returns them.
    ///
    /// Raises `ContractError` when one of the queries is refused, `BudgetExceeded` when the budget
    /// does not suffice for all: nothing is charged then. Raises `DataError` when the data cannot
    /// be read: the charge stays, and pays for the same workload later.
    #[pyo3(signature = (*, progress = None))]
    fn release(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, Progress>>,
    ) -> PyResult<ReleasedWorkload> {
        let progress = progress.map(|p| p.get().progress.clone()).unwrap_or_default();
        let engine = self.opened.engine(py)?;
        let analyst = engine.analyst(self.analyst.as_deref());
        let (queries, watched) = (self.queries.clone(), progress.clone());
        let answered =
            for_answer(py, &progress, async move { answers(&analyst, &queries, &watched).await });
        // Also where there is no answer: the ledger may have said why.
        self.opened.log(py)?;
        let Answers { warnings, tables, charges, statement } = answered?;
        warnings.iter().try_for_each(|text| exceptions::warn(py, text))?;
        let reports = progress.parts() > self.queries.queries.len();
        let account =
            done(py, || PyResult::Ok(rendered::account_of_workload(&charges, &engine, reports)))?;
        let receipt = Arc::new(Receipt { statement, charges, account });
        let tables = tables.into_iter().map(|output| {
            let name = output.name.clone().unwrap_or_default();
            Ok((name, Py::new(py, Release::of(output, &receipt))?))
        });
        Ok(ReleasedWorkload { tables: tables.collect::<PyResult<_>>()?, receipt })
    }

    fn __repr__(&self) -> String {
        format!("<hushtable.Workload, queries: {}>", self.names().join(", "))
    }
}

/// All that a workload comes to.
struct Answers {
    warnings: Vec<String>,
    tables: Vec<AnswerTable>,
    charges: Charges,
    statement: Statement,
}

/// Charges and answers all queries.
async fn answers(
    analyst: &hushtable::Analyst,
    queries: &Queries,
    progress: &hushtable::Progress,
) -> Result<Answers, Error> {
    let plan = analyst.plan_workload(queries, Purpose::Answer, progress).await?;
    let warnings = plan.warnings().map(|(query, warning)| rendered::warned_of(query, warning));
    let warnings = warnings.collect();
    let mut releasing = plan.release(str::to_owned)?;
    let (mut tables, mut paid) = (Vec::new(), None);
    while let Some(step) = releasing.next().await {
        match step? {
            AnswerStep::Charged(charges) => paid = Some(*charges),
            AnswerStep::Answered(output) => tables.push(*output),
            AnswerStep::Whole(statement) => {
                let charges = paid.ok_or_else(|| Error::inconsistent("no charge was reported"))?;
                return Ok(Answers { warnings, tables, charges, statement: *statement });
            }
        }
    }
    Err(Error::inconsistent("the steps of a workload ended without its statement"))
}

/// The noisy tables of a workload, on record, with one statement and one charge.
#[pyclass(frozen, module = "hushtable")]
pub(crate) struct ReleasedWorkload {
    tables: Vec<(String, Py<Release>)>,
    receipt: Arc<Receipt>,
}

#[pymethods]
impl ReleasedWorkload {
    /// The release of each query, by its name, in the workload's order.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        self.tables.iter().try_for_each(|(name, release)| tables.set_item(name, release))?;
        Ok(tables)
    }

    /// The statement of what all queries together promise: the same dict as `statement.json` of
    /// `hushtable release`.
    #[getter]
    fn statement<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.receipt.statement(py)
    }

    /// The analyst who paid.
    #[getter]
    fn analyst(&self) -> &str {
        &self.receipt.charges.analyst
    }

    /// The budgets that paid for all queries together, each a dict as in `Release.charges`.
    #[getter]
    fn charges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.receipt.charges(py)
    }

    /// Whether nothing was charged, as all releases were paid for or on record.
    #[getter]
    fn was_free(&self) -> bool {
        self.receipt.was_free()
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = String::new();
        for (name, release) in &self.tables {
            text += &format!("{name}\n{}\n", release.get().table_text(py)?);
        }
        Ok(text + &self.receipt.account)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.__str__(py)
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let mut html = String::new();
        for (name, release) in &self.tables {
            html += &text_html(name);
            html += &release.get().table_html(py)?;
        }
        Ok(html + &text_html(&self.receipt.account))
    }
}
