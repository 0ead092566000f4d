//! Engines: a contract with its tables and its ledger.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hushtable::query::{Contract, ContractError};
use hushtable::{Error, MemoryLimit};
use hushtable_cli::{delay_of_environment, memory_of_environment};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::exceptions::{OrRaise, argued, argument, done};
use crate::frames;
use crate::opened::{Notices, Opened};
use crate::owners::Owner;
use crate::questions::Analyst;

/// A contract with its tables and its ledger, open for any number of questions and threads.
///
/// `contract` is the path of a TOML file, or a `hushtable.Contract`. `tables` has a frame for each
/// table without a `path` in the contract: anything with Arrow's PyCapsule interface (pandas,
/// Polars, pyarrow, DuckDB) or that narwhals reads. Rows are copied, and the ledger knows them by a
/// hash of their names, types and values. `ledger` is the path of the ledger's file, in place of
/// the contract's; another file begins with all budgets unspent. `memory` limits what all questions
/// hold at once, as in "4GiB". With `at_least_seconds`, whatever an analyst gets comes after that
/// time, or after it doubled as often as needed. The environment's HUSHTABLE_MEMORY is the limit
/// without `memory`; of its HUSHTABLE_AT_LEAST_SECONDS and `at_least_seconds`, the longer holds.
///
/// `with hushtable.open(…) as engine` closes it at the end.
///
/// Whoever holds the frame or the engine is the curator of the data. Hand out `engine.analyst(…)`.
///
/// Raises `ContractError` when the contract cannot be read or is wrong, `DataError` when a frame
/// cannot be read.
#[pyclass(frozen, module = "hushtable")]
pub(crate) struct Engine {
    opened: Opened,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (
        contract, *, tables = None, ledger = None, memory = None, at_least_seconds = 0.0
    ))]
    fn new(
        py: Python<'_>,
        contract: &Bound<'_, PyAny>,
        tables: Option<&Bound<'_, PyAny>>,
        ledger: Option<PathBuf>,
        memory: Option<&str>,
        at_least_seconds: f64,
    ) -> PyResult<Self> {
        let mut builder = hushtable::Engine::builder();
        builder = if contract.hasattr("to_toml")? {
            let text: String = contract.call_method0("to_toml")?.extract()?;
            builder.contract_text(text, "")
        } else {
            builder.contract(contract.extract::<PathBuf>()?)
        };
        for (name, table) in frames::provided(py, tables)? {
            builder = builder.table(name, table);
        }
        if let Some(ledger) = ledger {
            builder = builder.ledger(ledger);
        }
        let memory = match memory {
            Some(memory) => Some(argued(py, memory.parse::<MemoryLimit>())?),
            None => memory_of_environment().or_raise(py)?,
        };
        if let Some(memory) = memory {
            builder = builder.memory(memory);
        }
        let delay = Duration::try_from_secs_f64(at_least_seconds).map_err(|_| {
            let what = format!(
                "at_least_seconds = {at_least_seconds} is not a number of seconds of 0 or more"
            );
            argument(py, &what, "leave it out, or give seconds such as 1.0")
        })?;
        let delay = delay.max(delay_of_environment().or_raise(py)?);
        let notices = Arc::new(Notices::default());
        let heard = Arc::clone(&notices);
        let builder = builder.at_least(delay).telling(move |notice| heard.hear(notice));
        let engine = done(py, || py.detach(|| builder.open()))?;
        let opened = Opened::new(engine, notices);
        opened.log(py)?;
        Ok(Self { opened })
    }

    /// The handle of an analyst, who asks and pays from a budget. Without a name, each question is
    /// asked by the one analyst who has a budget for it.
    #[pyo3(signature = (name = None))]
    fn analyst(&self, py: Python<'_>, name: Option<String>) -> PyResult<Analyst> {
        self.opened.engine(py)?;
        Ok(Analyst::new(self.opened.clone(), name))
    }

    /// The handle of the owner of the data. None of its results are for analysts.
    fn owner(&self, py: Python<'_>) -> PyResult<Owner> {
        self.opened.engine(py)?;
        Ok(Owner::new(self.opened.clone()))
    }

    /// Closes the engine with its analysts and its owner, which raise `Closed` from then on, and
    /// gives its memory and threads back. Questions that other threads have begun go on to their
    /// end; quotes and releases stay. Closing it again does nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.opened.close());
    }

    /// Whether the engine was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.opened.is_closed()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        slf.opened.engine(slf.py())?;
        Ok(slf)
    }

    #[pyo3(signature = (*_details))]
    fn __exit__(&self, py: Python<'_>, _details: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    /// The path of the ledger's file.
    #[getter]
    fn ledger(&self, py: Python<'_>) -> PyResult<PathBuf> {
        Ok(self.opened.engine(py)?.ledger_path())
    }

    /// The names of the contract's tables, sorted.
    #[getter]
    fn tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let engine = self.opened.engine(py)?;
        Ok(engine.contract().tables.values().map(|table| table.name.clone()).collect())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.tables(py) {
            Ok(tables) => format!("<hushtable.Engine, tables: {}>", tables.join(", ")),
            Err(_) => "<hushtable.Engine, closed>".to_owned(),
        }
    }
}

/// Checks the text of a contract, where the tables `provided` have their rows from the program.
/// Raises `ContractError` with whatever is wrong.
#[pyfunction]
pub(crate) fn check_contract(
    py: Python<'_>,
    text: &str,
    provided: BTreeSet<String>,
) -> PyResult<()> {
    let provided = provided.iter().map(String::as_str).collect();
    done(py, || {
        let parsed: Result<_, ContractError> =
            Contract::parse_with(text, "the contract", &provided);
        parsed.map(drop).map_err(Error::from)
    })
}
