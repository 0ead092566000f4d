//! Analysts: they ask, and see what asking would cost.

use std::path::PathBuf;

use hushtable_cli::rendered;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

use crate::exceptions::{self, done};
use crate::opened::{Opened, QUESTIONS};
use crate::parameter_texts;
use crate::quotes::Quote;
use crate::releasing::Release;
use crate::reports::Report;
use crate::waiting::{Progress, for_answer, for_free};
use crate::workloads::{Workload, read};

/// The module of the package that awaits questions.
const AWAITING: &str = "hushtable._awaiting";

/// An analyst with budgets, from `Engine.analyst`.
///
/// All that an analyst gets is charged, or does not depend on the data.
#[pyclass(frozen, module = "hushtable")]
pub(crate) struct Analyst {
    opened: Opened,
    name: Option<String>,
}

impl Analyst {
    pub(crate) fn new(opened: Opened, name: Option<String>) -> Self {
        Self { opened, name }
    }

    fn analyst(&self, py: Python<'_>) -> PyResult<hushtable::Analyst> {
        Ok(self.opened.engine(py)?.analyst(self.name.as_deref()))
    }
}

#[pymethods]
impl Analyst {
    /// The analyst's name; None where each question finds the one who has a budget for it.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// A table of the contract as ibis knows it, which must be installed: names and types of its
    /// columns, and no rows. `explain`, `sql` and the owner's methods take what is asked of it.
    ///
    /// Raises `Refused` when there is no such table.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let engine = self.opened.engine(py)?;
        let contract = engine.contract();
        let columns = done(py, || {
            let columns = contract.named_table(name)?.columns.iter();
            let columns = columns.map(|c| (c.name.clone(), c.column_type.to_string()));
            Ok::<_, hushtable::Error>(columns.collect::<Vec<_>>())
        })?;
        let columns = columns.into_py_dict(py)?;
        Ok(py.import(QUESTIONS)?.call_method1("table", (name, columns))?.unbind())
    }

    /// The quote of a question: what it promises, how precise its numbers would be, what it costs.
    /// Free; reads no value of protected tables and changes no file. A question is SQL, or an
    /// expression of ibis. `params` has a value for each `@name` in the SQL: None, bool, int,
    /// float, Decimal, str, date or datetime.
    ///
    /// Raises `Refused` when the question would be refused.
    #[pyo3(signature = (sql, *, params = None))]
    fn explain(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyAny>,
        params: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Quote> {
        let sql = self.opened.sql(py, sql, params)?;
        let analyst = self.analyst(py)?;
        let quoted = for_free(py, async move { analyst.explain(&sql).await })?;
        self.opened.log(py)?;
        Ok(Quote::new(quoted))
    }

    /// The answer to a question, with noise. It is charged to the analyst's budget before any
    /// protected value is read, and put on record; asking the same question again is free and has
    /// the same answer. `params` as in `explain`; `progress` can be read from another thread.
    ///
    /// Ctrl-C before the charge costs nothing. After it the release is recorded first, so that the
    /// next call returns it.
    ///
    /// Raises `Refused`, or `BudgetExceeded` when the budget does not suffice: nothing is charged
    /// then. Raises `DataError` when the data cannot be read: a charge stays, and pays for the same
    /// question later.
    #[pyo3(signature = (sql, *, params = None, progress = None))]
    fn sql(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyAny>,
        params: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, Progress>>,
    ) -> PyResult<Release> {
        let sql = self.opened.sql(py, sql, params)?;
        let progress = progress.map(|p| p.get().progress.clone()).unwrap_or_default();
        let (engine, watched) = (self.opened.engine(py)?, progress.clone());
        let analyst = engine.analyst(self.name.as_deref());
        let work = async move { analyst.query_watched(&sql, &watched).await };
        let answered = for_answer(py, &progress, work);
        // Also where there is no answer: the ledger may have said why.
        self.opened.log(py)?;
        let answer = answered?;
        let warnings = done(py, || PyResult::Ok(rendered::warned(&answer)))?;
        warnings.iter().try_for_each(|text| exceptions::warn(py, text))?;
        done(py, || PyResult::Ok(Release::new(answer, &engine)))
    }

    /// The queries of a workload, which share one budget and are charged together or not at all:
    /// from its TOML file, or from its text, where `file`s are relative to the current folder. The
    /// engine's contract holds, whichever the workload names, and this analyst's name before the
    /// workload's.
    ///
    /// Raises `ContractError` when the file cannot be read or the workload is wrong,
    /// `ArgumentError` unless one of `path` and `text` is given.
    #[pyo3(signature = (path = None, *, text = None))]
    fn workload(
        &self,
        py: Python<'_>,
        path: Option<PathBuf>,
        text: Option<&str>,
    ) -> PyResult<Workload> {
        self.opened.engine(py)?;
        let workload = read(py, path, text)?;
        Ok(Workload::new(self.opened.clone(), self.name.clone(), workload))
    }

    /// Awaits the answer that `sql` returns, while the event loop goes on. A task that is cancelled
    /// before the charge costs nothing; after it the release goes on record.
    #[pyo3(signature = (sql, *, params = None, progress = None))]
    fn sql_async<'py>(
        slf: &Bound<'py, Self>,
        sql: &Bound<'py, PyAny>,
        params: Option<&Bound<'py, PyAny>>,
        progress: Option<&Bound<'py, Progress>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let awaiting = slf.py().import(AWAITING)?;
        awaiting.call_method1("sql", (slf, sql, params, progress))
    }

    /// Awaits the quote that `explain` returns, while the event loop goes on.
    #[pyo3(signature = (sql, *, params = None))]
    fn explain_async<'py>(
        slf: &Bound<'py, Self>,
        sql: &Bound<'py, PyAny>,
        params: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(AWAITING)?.call_method1("explain", (slf, sql, params))
    }

    /// The analyst's budgets: total, spent, left, each charge, and what all charges come to at
    /// `delta` (by default the budget's own, or 1e-6 where that is zero). Free; changes no file.
    ///
    /// Raises `LedgerError` when the ledger cannot be read.
    #[pyo3(signature = (delta = None))]
    fn budget(&self, py: Python<'_>, delta: Option<&Bound<'_, PyAny>>) -> PyResult<Report> {
        let delta = delta.map(parameter_texts::delta).transpose()?;
        let analyst = self.analyst(py)?;
        let lines = for_free(py, async move { analyst.budget(delta).await })?;
        self.opened.log(py)?;
        Ok(Report::new(done(py, || rendered::budgets(&lines, &[]))?))
    }

    fn __repr__(&self) -> String {
        match &self.name {
            Some(name) => format!("<hushtable.Analyst {name:?}>"),
            None => "<hushtable.Analyst>".to_owned(),
        }
    }
}
