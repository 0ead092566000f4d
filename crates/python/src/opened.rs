//! An engine that is open, as its analysts and its owner use it.

use std::sync::{Arc, Mutex, PoisonError};

use hushtable::ledger::Notice;
use pyo3::prelude::*;

use crate::exceptions;
use crate::waiting::Process;

/// Messages of the ledger that are no errors, until a call shows them.
#[derive(Default)]
pub(crate) struct Notices(Mutex<Vec<String>>);

impl Notices {
    /// Adds one, on any thread.
    pub(crate) fn hear(&self, notice: &Notice) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(notice.to_string());
    }
}

/// An engine, with what its ledger says and the process that it belongs to.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) engine: hushtable::Engine,
    notices: Arc<Notices>,
    process: Process,
}

impl Opened {
    /// An engine that was opened in this process.
    pub(crate) fn new(engine: hushtable::Engine, notices: Arc<Notices>) -> Self {
        Self { engine, notices, process: Process::current() }
    }

    /// Refuses a process that is a copy of the one in which the engine was opened.
    pub(crate) fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.process.check(py)
    }

    /// Shows the messages of the ledger as warnings of Python.
    pub(crate) fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let mut notices = self.notices.0.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = std::mem::take(&mut *notices);
        // Python may call the engine from its filters of warnings.
        drop(notices);
        texts.iter().try_for_each(|text| exceptions::warn(py, text))
    }
}
