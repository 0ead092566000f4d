//! How far a workload is.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::session::Progress;

/// How far a workload is: queries that are answered, and of the one at work the bytes of the files
/// that are read. Nothing of what is in them.
#[derive(Debug)]
pub struct WorkloadProgress {
    parts: Vec<Progress>,
    answered: AtomicUsize,
}

impl WorkloadProgress {
    pub(super) fn new(queries: usize) -> Self {
        let mut parts = Vec::new();
        parts.resize_with(queries, Progress::default);
        Self { parts, answered: AtomicUsize::new(0) }
    }

    /// A progress of as many queries that never goes on.
    #[must_use]
    pub fn unseen(&self) -> Self {
        Self::new(self.parts.len())
    }

    pub(super) fn parts(&self) -> &[Progress] {
        &self.parts
    }

    /// One query more is answered.
    pub(super) fn advance(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    /// How many queries are answered.
    pub fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }

    /// How many there are.
    pub fn queries(&self) -> usize {
        self.parts.len()
    }

    /// From 0 to 1000, each query being as much work as any other.
    pub fn permille(&self) -> u32 {
        let answered = self.answered();
        let current = self.parts.get(answered).map_or(0, |part| part.permille() as usize);
        let all = self.parts.len().max(1);
        u32::try_from((answered * 1000 + current) / all).unwrap_or(1000).min(1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_and_bytes_both_count() {
        let progress = WorkloadProgress::new(4);
        assert_eq!((progress.permille(), progress.answered(), progress.queries()), (0, 0, 4));
        progress.advance();
        progress.parts()[1].0.expect(200);
        progress.parts()[1].0.advance(100);
        assert_eq!(progress.permille(), 375);
        // Answers on record need no reading.
        (0..3).for_each(|_| progress.advance());
        assert_eq!((progress.permille(), progress.answered()), (1000, 4));
    }
}
