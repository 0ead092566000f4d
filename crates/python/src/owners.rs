//! The owner of the data: how the contract fits the data, and what its promises are worth on it.

use std::path::PathBuf;

use hushtable::ledger::Inspection;
use hushtable::{AuditOptions, FitOptions, LossOptions, Progress};
use hushtable_cli::rendered;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::exceptions::{argument, done};
use crate::opened::Opened;
use crate::parameter_texts;
use crate::reports::Report;
use crate::waiting::for_free;

/// The owner of the data, from `Engine.owner`.
///
/// Its results are about the exact data and confidential: none of them are for analysts. Nothing is
/// charged.
#[pyclass(frozen, module = "hushtable")]
pub(crate) struct Owner {
    opened: Opened,
}

impl Owner {
    pub(crate) fn new(opened: Opened) -> Self {
        Self { opened }
    }

    fn owner(&self, py: Python<'_>) -> PyResult<hushtable::Owner> {
        Ok(self.opened.engine(py)?.owner())
    }
}

/// A number that must be in a range.
fn within<N: PartialOrd + std::fmt::Debug>(
    py: Python<'_>,
    name: &str,
    value: N,
    range: &std::ops::RangeInclusive<N>,
) -> PyResult<N> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (low, high) = (range.start(), range.end());
    let what = format!("{name} = {value:?} is not valid: it must be from {low:?} to {high:?}");
    Err(argument(py, &what, &format!("give {name} a number of that range")))
}

#[pymethods]
impl Owner {
    /// Looks at the values of a table, or of all tables, and at what a query makes of them: what is
    /// NULL, clamped or not of its declared type. CONFIDENTIAL.
    ///
    /// Raises `Refused` when there is no such table or the query is refused, `DataError` when the
    /// data cannot be read.
    #[pyo3(signature = (table = None, sql = None, *, params = None))]
    fn check(
        &self,
        py: Python<'_>,
        table: Option<String>,
        sql: Option<&Bound<'_, PyAny>>,
        params: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Report> {
        let sql = match sql {
            Some(sql) => Some(self.opened.sql(py, sql, params)?),
            None => None,
        };
        let owner = self.owner(py)?;
        let work = async move {
            owner.check(table.as_deref(), sql.as_deref(), &Progress::default()).await
        };
        let found = for_free(py, work)?;
        Ok(Report::new(done(py, || rendered::checked(&found))?))
    }

    /// Tries to break a query's promise on the data: draws `runs` releases with and without each of
    /// `units` units, and gives bounds on epsilon that hold with `confidence`, at `delta` (by
    /// default the query's). CONFIDENTIAL.
    ///
    /// Raises `Refused` when the query is refused, `ArgumentError` when a number is out of its
    /// range.
    #[pyo3(signature = (
        sql, *, params = None, runs = 200_000, units = 3, confidence = 0.999, delta = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "the arguments of Python's method")]
    fn audit(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyAny>,
        params: Option<&Bound<'_, PyAny>>,
        runs: u64,
        units: u64,
        confidence: f64,
        delta: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Report> {
        let options = AuditOptions {
            runs: within(py, "runs", runs, &AuditOptions::RUNS)?,
            units: within(py, "units", units, &AuditOptions::UNITS)?,
            confidence: within(py, "confidence", confidence, &AuditOptions::CONFIDENCE)?,
            delta: delta.map(parameter_texts::delta).transpose()?,
        };
        let (sql, owner) = (self.opened.sql(py, sql, params)?, self.owner(py)?);
        let work = async move { owner.audit(&sql, &options, &Progress::default()).await };
        let found = for_free(py, work)?;
        Ok(Report::new(done(py, || rendered::audited(&found))?))
    }

    /// The errors that a query would have at other limits, bounds, noise and prices, with noise,
    /// limits and hidden groups apart. CONFIDENTIAL.
    ///
    /// Raises `Refused` when the query is refused, `DataError` when the data cannot be read.
    #[pyo3(signature = (sql, *, params = None))]
    fn tune(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyAny>,
        params: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Report> {
        let (sql, owner) = (self.opened.sql(py, sql, params)?, self.owner(py)?);
        let work = async move { owner.tune(&sql, &Progress::default()).await };
        let found = for_free(py, work)?;
        Ok(Report::new(done(py, || rendered::tuned(&found))?))
    }

    /// The losses of a table's records by a query whose sums are not clamped, in rho: by default as
    /// a distribution, and with `by_group` or `by_mechanism` for each of these. CONFIDENTIAL.
    ///
    /// Raises `Refused` when the query is refused or has no such sum.
    #[pyo3(signature = (sql, *, params = None, by_group = false, by_mechanism = false))]
    fn policy(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyAny>,
        params: Option<&Bound<'_, PyAny>>,
        by_group: bool,
        by_mechanism: bool,
    ) -> PyResult<Report> {
        let (sql, owner) = (self.opened.sql(py, sql, params)?, self.owner(py)?);
        let options = LossOptions { by_group, by_mechanism };
        let work = async move { owner.policy(&sql, options, &Progress::default()).await };
        let found = for_free(py, work)?;
        Ok(Report::new(done(py, || rendered::policy(&found))?))
    }

    /// The smallest policy with which a share `at` of a query's groups has a relative error of at
    /// most `target` (0.05 for 5 %) with `probability`; groups of fewer than `least_records`
    /// records do not count. CONFIDENTIAL.
    ///
    /// Raises `Refused` when the query is refused or no noise is small enough, `ArgumentError` when
    /// a number is out of its range.
    #[pyo3(signature = (
        sql, *, target, params = None, at = 0.95, probability = 0.95, least_records = 1
    ))]
    #[expect(clippy::too_many_arguments, reason = "the arguments of Python's method")]
    fn fit(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyAny>,
        target: f64,
        params: Option<&Bound<'_, PyAny>>,
        at: f64,
        probability: f64,
        least_records: u64,
    ) -> PyResult<Report> {
        let options = FitOptions {
            target: within(py, "target", target, &FitOptions::TARGETS)?,
            at: within(py, "at", at, &FitOptions::SHARES)?,
            probability: within(py, "probability", probability, &FitOptions::PROBABILITIES)?,
            least_records: within(py, "least_records", least_records, &(1..=1_000_000_000))?,
        };
        let (sql, owner) = (self.opened.sql(py, sql, params)?, self.owner(py)?);
        let work = async move { owner.fit(&sql, &options, &Progress::default()).await };
        let found = for_free(py, work)?;
        Ok(Report::new(done(py, || rendered::fitted(&found, &options))?))
    }

    /// Every budget of the contract with its charges, and accounts that the contract does not name.
    /// Only the queries of others are confidential.
    ///
    /// Raises `LedgerError` when the ledger cannot be read.
    #[pyo3(signature = (delta = None))]
    fn budgets(&self, py: Python<'_>, delta: Option<&Bound<'_, PyAny>>) -> PyResult<Report> {
        let delta = delta.map(parameter_texts::delta).transpose()?;
        let owner = self.owner(py)?;
        let work = async move { Ok((owner.budgets(delta).await?, owner.other_accounts().await?)) };
        let (lines, others) = for_free(py, work)?;
        self.opened.log(py)?;
        Ok(Report::new(done(py, || rendered::budgets(&lines, &others))?))
    }

    /// Checks all of the ledger's file. Returns a dict: `path`, `charges` and `releases` as counts,
    /// `problems` and `warnings` as lists of str; no problems where the ledger is in order.
    ///
    /// Raises `LedgerError` when there is none, or it cannot be read.
    fn ledger_check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let owner = self.owner(py)?;
        inspected(py, &for_free(py, async move { owner.ledger_check().await })?)
    }

    /// Copies the ledger to a new file, as it is at one moment, and checks the copy. Returns what
    /// `ledger_check` does.
    ///
    /// Raises `LedgerError` when there is no ledger or the file is there.
    fn ledger_backup<'py>(&self, py: Python<'py>, file: PathBuf) -> PyResult<Bound<'py, PyDict>> {
        let owner = self.owner(py)?;
        inspected(py, &for_free(py, async move { owner.ledger_backup(&file).await })?)
    }

    fn __repr__(&self) -> &'static str {
        "<hushtable.Owner>"
    }
}

fn inspected<'py>(py: Python<'py>, inspection: &Inspection) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("path", &inspection.path)?;
    dict.set_item("charges", inspection.charges)?;
    dict.set_item("releases", inspection.releases)?;
    dict.set_item("problems", &inspection.problems)?;
    dict.set_item("warnings", &inspection.warnings)?;
    Ok(dict)
}
