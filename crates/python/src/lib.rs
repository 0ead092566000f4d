//! The module `hushtable._hushtable` of Python's package `hushtable`.
//!
//! It hands the library `hushtable` to Python: engines, analysts, owners, quotes and releases.
//! Frames come in and tables go out by Arrow's C interfaces. The command is in it, too, so that one
//! wheel has both. `python/tests/stubs.py` puts the docstrings into the package's stubs;
//! `python/hushtable` is written in Python.

mod calculations;
mod copies;
mod engines;
mod exceptions;
mod frames;
mod handles;
mod opened;
mod owners;
mod parameter_texts;
mod python_values;
mod questions;
mod quotes;
mod releasing;
mod reports;
mod waiting;
mod workloads;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Hushtable's own module; use the package `hushtable`.
#[pymodule]
mod _hushtable {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::calculations::computed;
    #[pymodule_export]
    use super::engines::{Engine, check_contract};
    #[pymodule_export]
    use super::owners::Owner;
    #[pymodule_export]
    use super::questions::Analyst;
    #[pymodule_export]
    use super::quotes::Quote;
    #[pymodule_export]
    use super::releasing::{Release, Table};
    #[pymodule_export]
    use super::reports::Report;
    #[pymodule_export]
    use super::run_command;
    #[pymodule_export]
    use super::waiting::Progress;
    #[pymodule_export]
    use super::workloads::{ReleasedWorkload, Workload};

    /// The text of a panic may quote a value of the data.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        hushtable_cli::silence_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Runs the command `hushtable` in this process and returns its exit code.
#[pyfunction]
fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| hushtable_cli::run(arguments))
}
