//! How far the reading of a table is, or the runs of an audit.

use std::sync::atomic::{AtomicU64, Ordering};

/// Expected and finished work: bytes of the files that are read, or runs.
#[derive(Debug, Default)]
pub struct ReadProgress {
    expected: AtomicU64,
    done: AtomicU64,
}

impl ReadProgress {
    /// Starts anew, with that much work.
    pub(crate) fn expect(&self, work: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.expected.store(work, Ordering::Relaxed);
    }

    /// Some more work is done.
    pub fn advance(&self, work: u64) {
        self.done.fetch_add(work, Ordering::Relaxed);
    }

    /// The work that is done.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// The share that is done with, from 0 to 1000.
    pub fn permille(&self) -> u32 {
        let done = u128::from(self.done.load(Ordering::Relaxed));
        let expected = u128::from(self.expected.load(Ordering::Relaxed));
        u32::try_from(done * 1000 / expected.max(1)).unwrap_or(1000).min(1000)
    }
}
