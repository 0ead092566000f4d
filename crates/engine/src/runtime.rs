//! Threads for the engine's work.

use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};
use tokio::task::block_in_place;

use crate::error::EngineError;

/// Builds the runtime that the engine's futures run on. Whoever opens the engine builds it once:
/// nothing in the engine builds another.
///
/// # Errors
/// When the system gives no threads.
pub fn runtime() -> Result<Runtime, EngineError> {
    Builder::new_multi_thread()
        .enable_all()
        // Expressions are evaluated recursively, up to a depth that binding limits.
        .thread_stack_size(16 << 20)
        .build()
        .map_err(|_| EngineError::Interrupted)
}

/// Does work that takes long or waits for a file, and lets the runtime's other tasks go on.
pub(crate) fn heavy<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        // Elsewhere there is no other thread to go on with them.
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn other_tasks_go_on_beside_work_that_takes_long() {
        let one = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (ended, end) = channel();
        // Ends when the other task has run, which there is no other thread for.
        let long =
            one.spawn(async move { heavy(|| end.recv_timeout(Duration::from_secs(60)).is_ok()) });
        one.spawn(async move { ended.send(()) });
        assert!(one.block_on(long).unwrap());
    }
}
