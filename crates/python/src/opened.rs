//! An engine that is open, as its analysts and its owner use it.

use std::sync::{Arc, Mutex, PoisonError};

use hushtable::ledger::Notice;
use hushtable::query::with_parameters;
use pyo3::prelude::*;

use crate::exceptions::done;
use crate::handles::Handle;
use crate::parameter_texts;
use crate::waiting::Process;

/// The name of the logger of Python's `logging` that gets what the ledger says.
const LOGGER: &str = "hushtable";

/// Messages of the ledger that are no errors, until a call hands them to the curator's log.
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
    pub(crate) engine: Handle<hushtable::Engine>,
    notices: Arc<Notices>,
    process: Process,
}

impl Opened {
    /// An engine that was opened in this process.
    pub(crate) fn new(engine: hushtable::Engine, notices: Arc<Notices>) -> Self {
        Self { engine: Handle::new(engine), notices, process: Process::current() }
    }

    /// Refuses a process that is a copy of the one in which the engine was opened.
    pub(crate) fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.process.check(py)
    }

    /// The SQL of a question with the values of its parameters.
    pub(crate) fn sql(
        &self,
        py: Python<'_>,
        sql: &str,
        params: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        self.check(py)?;
        let texts = parameter_texts::texts(params)?;
        done(py, || with_parameters(sql, &texts, self.engine.contract().quoted_names))
    }

    /// Hands the messages of the ledger to Python's `logging`. They are the curator's: a call of
    /// one analyst may bring those about another's.
    pub(crate) fn log(&self, py: Python<'_>) -> PyResult<()> {
        let mut notices = self.notices.0.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = std::mem::take(&mut *notices);
        // A handler of Python's may call the engine.
        drop(notices);
        if texts.is_empty() {
            return Ok(());
        }
        let logger = py.import("logging")?.call_method1("getLogger", (LOGGER,))?;
        texts.iter().try_for_each(|text| {
            let text = text.trim_end();
            let text = text.strip_prefix("warning: ").unwrap_or(text);
            logger.call_method1("warning", ("%s", text)).map(drop)
        })
    }
}
