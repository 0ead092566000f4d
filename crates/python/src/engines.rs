//! Engines: a contract with its tables and its ledger.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hushtable::query::{Contract, ContractError};
use hushtable::{Error, MemoryLimit};
use hushtable_cli::{delay_of_environment, memory_of_environment};
use pyo3::prelude::*;

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
    fn analyst(&self, name: Option<String>) -> Analyst {
        Analyst::new(self.opened.clone(), name)
    }

    /// The handle of the owner of the data. None of its results are for analysts.
    fn owner(&self) -> Owner {
        Owner::new(self.opened.clone())
    }

    /// The path of the ledger's file.
    #[getter]
    fn ledger(&self) -> PathBuf {
        self.opened.engine.ledger_path()
    }

    /// The names of the contract's tables, sorted.
    #[getter]
    fn tables(&self) -> Vec<String> {
        let tables = self.opened.engine.contract().tables.values();
        tables.map(|table| table.name.clone()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<hushtable.Engine, tables: {}>", self.tables().join(", "))
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
