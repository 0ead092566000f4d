//! The threads that the work runs on.

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::task::JoinError;

use crate::Error;

/// Threads that do the work of any number of engines. They end when nothing uses them any more.
#[derive(Clone)]
pub struct Workers(Arc<Threads>);

struct Threads(Option<Runtime>);

impl Workers {
    /// Starts the threads.
    ///
    /// # Errors
    /// When the system gives none.
    pub fn new() -> Result<Self, Error> {
        Ok(Self(Arc::new(Threads(Some(hushtable_engine::runtime()?)))))
    }

    /// Does work that ends when nobody waits for it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let task = self.runtime()?.spawn(work);
        // Dropped with this future: nobody waits for the result any more, and nothing was charged
        // for it.
        let _ended = AbortOnDrop(task.abort_handle());
        task.await.unwrap_or_else(|error| Err(stopped(&error)))
    }

    /// Does work that goes on when nobody waits for it, as for an answer that is charged.
    pub(crate) async fn finish<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let threads = self.clone();
        let kept = async move {
            let done = work.await;
            // The work holds the threads, or they could end before a release that is paid for is on
            // record.
            drop(threads);
            done
        };
        self.runtime()?.spawn(kept).await.unwrap_or_else(|error| Err(stopped(&error)))
    }

    /// Does work that is not asynchronous, to its end.
    pub(crate) async fn block<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let task = self.runtime()?.spawn_blocking(work);
        task.await.unwrap_or_else(|error| Err(stopped(&error)))
    }

    /// Begins work that goes on when nobody waits for it.
    pub(crate) fn begin(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), Error> {
        let threads = self.clone();
        drop(self.runtime()?.spawn(async move {
            work.await;
            drop(threads);
        }));
        Ok(())
    }

    fn runtime(&self) -> Result<&Runtime, Error> {
        self.0.0.as_ref().ok_or(Error::inconsistent("an engine has no threads to work on"))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // The last to use them may be one of the threads, which cannot wait for itself.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Ends a task when it is dropped.
struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Why a task has no result. The text of a panic may quote values, so it ends here.
fn stopped(error: &JoinError) -> Error {
    if error.is_panic() {
        Error::inconsistent("a task of the engine panicked")
    } else {
        Error::Interrupted
    }
}
