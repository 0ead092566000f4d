//! Errors of the library as exceptions of Python.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hushtable::ledger::LedgerError;
use hushtable::query::Refusal;
use hushtable::{Error, ErrorText, SourceError};
use hushtable_cli::rendered;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The module of the package that declares the exceptions.
const EXCEPTIONS: &str = "hushtable._exceptions";

/// An error of the library.
pub(crate) fn of_engine(py: Python<'_>, error: &Error) -> PyErr {
    raised(py, class(error), rendered::error(error))
}

/// A refusal.
pub(crate) fn of_refusal(py: Python<'_>, refusal: &Refusal) -> PyErr {
    raised(py, "Refused", rendered::error(refusal))
}

/// An error of a frame.
pub(crate) fn of_source(py: Python<'_>, error: &SourceError) -> PyErr {
    raised(py, "DataError", rendered::error(error))
}

/// An exception of a class of the package.
pub(crate) fn new(py: Python<'_>, class: &str, what: &str, hint: &str) -> PyErr {
    raised(py, class, ErrorText::new(what, hint))
}

/// An argument that is not in its range.
pub(crate) fn argument(py: Python<'_>, what: &str, hint: &str) -> PyErr {
    new(py, "ArgumentError", what, hint)
}

/// The value of an argument, from its text.
pub(crate) fn argued<T>(py: Python<'_>, parsed: Result<T, Refusal>) -> PyResult<T> {
    parsed.map_err(|refusal| raised(py, "ArgumentError", rendered::error(&refusal)))
}

/// A warning of the package's class. Where warnings are errors, it is raised.
pub(crate) fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    let class = py.import(EXCEPTIONS)?.getattr("HushtableWarning")?;
    py.import("warnings")?.call_method1("warn", (text.trim_end(), class)).map(drop)
}

fn raised(py: Python<'_>, class: &str, text: ErrorText) -> PyErr {
    let ErrorText { what, place, hint, .. } = text.for_code();
    let hint = hint.filter(|hint| !hint.is_empty());
    let raise = || {
        let class = py.import(EXCEPTIONS)?.getattr(class)?;
        class.call1((what.as_str(), place, hint)).map(PyErr::from_value)
    };
    // Without the package's own classes there is one of Python's.
    raise().unwrap_or_else(|_: PyErr| PyRuntimeError::new_err(what.clone()))
}

/// The name of the class for an error.
fn class(error: &Error) -> &'static str {
    match error {
        Error::Refused(_) => "Refused",
        Error::NoAnalyst { .. } | Error::UnknownAnalyst { .. } => "UnknownAnalyst",
        Error::ContractFile { .. }
        | Error::Contract(_)
        | Error::WorkloadFile { .. }
        | Error::SharedFile { .. }
        | Error::SharedRows { .. }
        | Error::NoSuchTable { .. } => "ContractError",
        Error::InWorkload { error, .. } => class(error),
        Error::Source(_) | Error::DataChanged { .. } => "DataError",
        Error::Ledger(LedgerError::Exhausted(_) | LedgerError::LossesTooLarge) => "BudgetExceeded",
        Error::Ledger(_) | Error::Record => "LedgerError",
        Error::Interrupted => "Interrupted",
        Error::Memory { .. } | Error::Entropy(_) => "ResourceError",
        Error::ForeignPlan
        | Error::ForeignPartial
        | Error::RowsInProcess { .. }
        | Error::DeepPlan
        | Error::Backend { .. }
        | Error::BrokenBackend { .. } => "HushtableError",
        Error::Inconsistent(_) => "InternalError",
    }
}

/// Turns what the library returns into what Python gets.
pub(crate) trait OrRaise<T> {
    /// The value, or its error as an exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, Error> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| of_engine(py, &error))
    }
}

impl<T> OrRaise<T> for PyResult<T> {
    fn or_raise(self, _py: Python<'_>) -> PyResult<T> {
        self
    }
}

impl<T> OrRaise<T> for Result<T, Refusal> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|refusal| of_refusal(py, &refusal))
    }
}

/// A panic, without its text: that may quote a value.
pub(crate) struct Panicked;

/// Does work that must not end in a panic.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    // All that the work leaves half done is dropped with it.
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked)
}

/// Does work on the calling thread. A panic becomes an exception that says no more than that.
pub(crate) fn done<T, E>(py: Python<'_>, work: impl FnOnce() -> Result<T, E>) -> PyResult<T>
where
    Result<T, E>: OrRaise<T>,
{
    match caught(work) {
        Ok(result) => result.or_raise(py),
        Err(Panicked) => Err(Error::inconsistent("a panic on the calling thread")).or_raise(py),
    }
}
