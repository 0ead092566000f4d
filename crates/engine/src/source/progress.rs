//! How far the reading of a table is.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the files that are to be read, and those that are done with.
#[derive(Debug, Default)]
pub struct ReadProgress {
    expected: AtomicU64,
    done: AtomicU64,
}

impl ReadProgress {
    pub(super) fn expect(&self, bytes: u64) {
        self.expected.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The share that is done with, from 0 to 1000.
    pub fn permille(&self) -> u32 {
        let done = u128::from(self.done.load(Ordering::Relaxed));
        let expected = u128::from(self.expected.load(Ordering::Relaxed));
        u32::try_from(done * 1000 / expected.max(1)).unwrap_or(1000).min(1000)
    }
}
