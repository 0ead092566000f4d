//! Waits for work of the engine: without Python's lock, and so that Ctrl-C ends it.

use std::future::Future;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use futures::executor::block_on;
use futures::future::{AbortHandle, abortable};
use hushtable::Error;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::exceptions::{self, OrRaise};

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Quicker questions show no progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// The module of the package that draws progress.
const PROGRESS: &str = "hushtable._progress";

/// Said with Ctrl-C where the answer came anyway.
const ON_RECORD: &str = "the question was charged and its answer is on record: asking it again is \
                         free";

/// How far the answer to one question is.
///
/// Give it to `Analyst.sql` and read it from another thread. It follows from the bytes that are
/// stored and the number of private parts, and from nothing that is in the data.
#[pyclass(frozen, module = "hushtable")]
#[derive(Default)]
pub(crate) struct Progress {
    pub(crate) progress: hushtable::Progress,
}

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The share that is done, from 0 to 1.
    #[getter]
    fn done(&self) -> f64 {
        f64::from(self.progress.permille()) / 1000.0
    }

    /// The number of private parts; 0 before they are planned.
    #[getter]
    fn parts(&self) -> usize {
        self.progress.parts()
    }

    /// The number of private parts that are answered.
    #[getter]
    fn answered(&self) -> usize {
        self.progress.answered()
    }

    /// Gives up what is not charged yet, which then costs nothing. A question that is charged goes
    /// on until its release is on record.
    fn give_up(&self) {
        self.progress.give_up();
    }

    fn __repr__(&self) -> String {
        format!("Progress(done={:.3})", self.done())
    }
}

/// The process that an engine was opened in. A copy of a process (`os.fork`) has none of its
/// threads, so that an engine would wait there for ever.
#[derive(Clone, Copy)]
pub(crate) struct Process(u32);

impl Process {
    /// This process.
    pub(crate) fn current() -> Self {
        Self(std::process::id())
    }

    /// Whether it is this process.
    pub(crate) fn is_current(self) -> bool {
        self.0 == std::process::id()
    }

    /// Refuses another process.
    pub(crate) fn check(self, py: Python<'_>) -> PyResult<()> {
        if self.is_current() {
            return Ok(());
        }
        Err(exceptions::new(
            py,
            "Closed",
            "the engine was opened in another process, of which this one is a copy",
            "open an engine in each process, or start processes with the method \"spawn\"; all \
             engines with one ledger share its budgets",
        ))
    }
}

/// The effect of Ctrl-C on work.
enum Stopping<'a> {
    /// The work gives up by itself what is not charged.
    GivesUp(&'a hushtable::Progress),
    /// The work is free, and ends at once.
    Ends(AbortHandle),
}

impl Stopping<'_> {
    fn stop(&self) {
        match self {
            Self::GivesUp(progress) => progress.give_up(),
            Self::Ends(handle) => handle.abort(),
        }
    }

    /// Ctrl-C although the work is done: with a note where it was charged (Python 3.11 and later
    /// show it).
    fn noted(&self, py: Python<'_>, signal: PyErr) -> PyErr {
        if let Self::GivesUp(_) = self {
            // Python 3.10 has no notes.
            let _ = signal.value(py).call_method1("add_note", (ON_RECORD,));
        }
        signal
    }
}

/// Waits for an answer. The first Ctrl-C gives up what is not charged yet; what is charged goes on
/// record before the exception is raised. A second one does not wait.
pub(crate) fn for_answer<T: Send + 'static>(
    py: Python<'_>,
    progress: &hushtable::Progress,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> PyResult<T> {
    wait(py, work, &Stopping::GivesUp(progress))
}

/// Waits for work that charges nothing, which Ctrl-C ends.
pub(crate) fn for_free<T: Send + 'static>(
    py: Python<'_>,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> PyResult<T> {
    let (work, handle) = abortable(work);
    let work = async move { work.await.unwrap_or(Err(Error::Interrupted)) };
    wait(py, work, &Stopping::Ends(handle))
}

fn wait<T: Send + 'static>(
    py: Python<'_>,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
    stopping: &Stopping<'_>,
) -> PyResult<T> {
    let (ended, results) = sync_channel(1);
    // The work itself is on the engine's threads; this one sleeps until it ends.
    let waiting = thread::Builder::new().name("hushtable".to_owned());
    waiting.spawn(move || drop(ended.send(block_on(work)))).map_err(|_| {
        let hint = "end other programs or threads, and ask again; nothing was charged";
        exceptions::new(py, "ResourceError", "the system gives no more threads", hint)
    })?;
    let mut bar = Bar::new(py);
    let ended = until_end(py, results, stopping, &mut bar);
    match (bar.clear(), ended) {
        (Ok(()), ended) => ended,
        // Ctrl-C while the bar was cleared.
        (Err(signal), Ok(_)) => Err(stopping.noted(py, signal)),
        (Err(signal), Err(_)) => Err(signal),
    }
}

fn until_end<T: Send>(
    py: Python<'_>,
    mut results: Receiver<Result<T, Error>>,
    stopping: &Stopping<'_>,
    bar: &mut Bar<'_>,
) -> PyResult<T> {
    let mut interrupted: Option<PyErr> = None;
    loop {
        let (result, receiver) = py.detach(move || {
            let result = results.recv_timeout(LOOK);
            (result, results)
        });
        results = receiver;
        match (result, interrupted.take()) {
            (Ok(Ok(done)), None) => return Ok(done),
            (Ok(Ok(_)), Some(signal)) => return Err(stopping.noted(py, signal)),
            // Ctrl-C was pressed: no other error stands for it.
            (Ok(Err(_)) | Err(RecvTimeoutError::Disconnected), Some(signal)) => return Err(signal),
            (Ok(Err(error)), None) => return Err(error).or_raise(py),
            // The thread ended without a result.
            (Err(RecvTimeoutError::Disconnected), None) => {
                return Err(Error::inconsistent("a task of the engine panicked")).or_raise(py);
            }
            (Err(RecvTimeoutError::Timeout), earlier) => {
                let looked = py.check_signals().and_then(|()| match stopping {
                    Stopping::GivesUp(progress) => bar.draw(progress),
                    Stopping::Ends(_) => Ok(()),
                });
                match (looked, earlier) {
                    (Ok(()), earlier) => interrupted = earlier,
                    (Err(signal), Some(_)) => return Err(signal),
                    (Err(signal), None) => {
                        stopping.stop();
                        interrupted = Some(signal);
                    }
                }
            }
        }
    }
}

/// A bar for a question that takes long. Whatever is wrong with drawing it, the question goes on.
struct Bar<'py> {
    py: Python<'py>,
    started: Instant,
    drawn: Option<Bound<'py, PyAny>>,
}

impl<'py> Bar<'py> {
    fn new(py: Python<'py>) -> Self {
        Self { py, started: Instant::now(), drawn: None }
    }

    /// Draws the share that is done. With a fixed delay, none is visible, and nothing is drawn.
    /// Fails only by a signal.
    fn draw(&mut self, progress: &hushtable::Progress) -> PyResult<()> {
        let done = f64::from(progress.permille()) / 1000.0;
        if done == 0.0 || self.started.elapsed() < PATIENCE {
            return Ok(());
        }
        let drawn = match &self.drawn {
            Some(bar) => bar.call_method1("draw", (done,)).map(drop),
            None => {
                let module = self.py.import(PROGRESS);
                let bar = module.and_then(|module| module.call_method0("Bar"));
                bar.map(|bar| self.drawn = Some(bar))
            }
        };
        self.signal_of(drawn)
    }

    /// Leaves nothing behind. Fails only by a signal.
    fn clear(&self) -> PyResult<()> {
        let Some(bar) = &self.drawn else { return Ok(()) };
        self.signal_of(bar.call_method0("clear").map(drop))
    }

    /// Drops errors, but not Ctrl-C and what else is no `Exception`.
    fn signal_of(&self, drawn: PyResult<()>) -> PyResult<()> {
        match drawn {
            Err(error) if !error.is_instance_of::<PyException>(self.py) => Err(error),
            _ => Ok(()),
        }
    }
}
