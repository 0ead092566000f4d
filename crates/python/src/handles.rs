//! Handles of an engine, in the process that opened it and in copies of it.

use std::ops::Deref;

use crate::waiting::Process;

/// A handle that may be dropped in a copy of its process (`os.fork`). The engine's threads are not
/// there, and so cannot be ended: in a copy, the handle is left as it is.
pub(crate) struct Handle<T: Clone> {
    handle: T,
    process: Process,
}

impl<T: Clone> Handle<T> {
    /// A handle of this process.
    pub(crate) fn new(handle: T) -> Self {
        Self { handle, process: Process::current() }
    }
}

impl<T: Clone> Clone for Handle<T> {
    fn clone(&self) -> Self {
        Self { handle: self.handle.clone(), process: self.process }
    }
}

impl<T: Clone> Deref for Handle<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.handle
    }
}

impl<T: Clone> Drop for Handle<T> {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // One handle that is never dropped keeps all that they share.
            std::mem::forget(self.handle.clone());
        }
    }
}
