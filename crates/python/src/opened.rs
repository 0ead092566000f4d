//! An engine that is open, as its analysts and its owner use it.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hushtable::ledger::Notice;
use hushtable::query::with_parameters;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::exceptions::{self, done};
use crate::handles::Handle;
use crate::parameter_texts;
use crate::waiting::Process;

/// The name of the logger of Python's `logging` that gets what the ledger says.
const LOGGER: &str = "hushtable";

/// The module of the package that knows the expressions of ibis.
pub(crate) const QUESTIONS: &str = "hushtable._questions";

/// Messages of the ledger that are no errors, until a call hands them to the curator's log.
#[derive(Default)]
pub(crate) struct Notices(Mutex<Vec<String>>);

impl Notices {
    /// Adds one, on any thread.
    pub(crate) fn hear(&self, notice: &Notice) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(notice.to_string());
    }
}

/// An engine, with what its ledger says and the process that it belongs to. All handles of an
/// engine share it, so that closing one closes all.
#[derive(Clone)]
pub(crate) struct Opened {
    engine: Arc<RwLock<Option<Handle<hushtable::Engine>>>>,
    notices: Arc<Notices>,
    process: Process,
}

impl Opened {
    /// An engine that was opened in this process.
    pub(crate) fn new(engine: hushtable::Engine, notices: Arc<Notices>) -> Self {
        let engine = Arc::new(RwLock::new(Some(Handle::new(engine))));
        Self { engine, notices, process: Process::current() }
    }

    /// The engine. Refuses a process that is a copy of the one in which it was opened, and an
    /// engine that was closed.
    pub(crate) fn engine(&self, py: Python<'_>) -> PyResult<Handle<hushtable::Engine>> {
        self.process.check(py)?;
        // The lock is given back before Python's code runs, which may call the engine.
        let engine = self.engine.read().unwrap_or_else(PoisonError::into_inner).clone();
        engine.ok_or_else(|| {
            exceptions::new(
                py,
                "Closed",
                "the engine was closed",
                "open it again with hushtable.open(…); what is on record stays free",
            )
        })
    }

    /// Whether it was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.engine.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Closes the engine: what was begun goes on to its end, and nothing new begins. Its threads
    /// and its tables go with the last question.
    pub(crate) fn close(&self) {
        drop(self.engine.write().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// The SQL of a question, which is a text or an expression of ibis, with the values of its
    /// parameters.
    pub(crate) fn sql(
        &self,
        py: Python<'_>,
        question: &Bound<'_, PyAny>,
        params: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let engine = self.engine(py)?;
        let sql: String = match question.cast::<PyString>() {
            Ok(text) => text.to_cow()?.into_owned(),
            Err(_) => py.import(QUESTIONS)?.call_method1("text", (question,))?.extract()?,
        };
        let texts = parameter_texts::texts(params)?;
        done(py, || with_parameters(&sql, &texts, engine.contract().quoted_names))
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
