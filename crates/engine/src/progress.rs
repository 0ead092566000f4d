//! How far work is, for another thread to look at.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::source::ReadProgress;

/// How far the answers to a statement are, or an audit's runs, in thousandths. It follows from the
/// bytes that are stored and the number of private parts, and not from what is in the data.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    work: Arc<ProgressParts>,
    given_up: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct ProgressParts {
    parts: Mutex<Vec<Arc<ReadProgress>>>,
    answered: AtomicUsize,
}

impl Progress {
    /// Gives up what is not charged yet: it ends there, and costs nothing. A query that is charged
    /// goes on.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// The flag that [`give_up`](Self::give_up) sets, for handlers of signals.
    pub fn given_up(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.given_up)
    }

    /// A progress that can be given up with this one, and shows this one nothing.
    #[must_use]
    pub fn unseen(&self) -> Self {
        Self { work: Arc::default(), given_up: Arc::clone(&self.given_up) }
    }

    /// Whether it is given up.
    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// The reading of work that has one part.
    pub(crate) fn reading(&self) -> Arc<ReadProgress> {
        let mut parts = self.work.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if parts.is_empty() {
            parts.push(Arc::default());
        }
        parts.first().map(Arc::clone).unwrap_or_default()
    }

    /// Starts work that has that many parts, and returns the reading of each.
    pub(crate) fn start(&self, parts: usize) -> Vec<Arc<ReadProgress>> {
        let mut readings = Vec::new();
        readings.resize_with(parts, Arc::default);
        self.work.parts.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&readings);
        self.work.answered.store(0, Ordering::Relaxed);
        readings
    }

    /// Counts one part more as answered.
    pub(crate) fn advance(&self) {
        self.work.answered.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of parts that are answered.
    pub fn answered(&self) -> usize {
        self.work.answered.load(Ordering::Relaxed)
    }

    /// The number of parts; 0 before they are planned.
    pub fn parts(&self) -> usize {
        self.work.parts.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// From 0 to 1000, each part being as much work as any other.
    pub fn permille(&self) -> u32 {
        let parts = self.work.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let answered = self.answered();
        let current = parts.get(answered).map_or(0, |part| part.permille() as usize);
        u32::try_from((answered * 1000 + current) / parts.len().max(1)).unwrap_or(1000).min(1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_bytes_both_count() {
        let progress = Progress::default();
        assert_eq!((progress.permille(), progress.answered(), progress.parts()), (0, 0, 0));
        let readings = progress.start(4);
        assert_eq!((progress.permille(), progress.answered(), progress.parts()), (0, 0, 4));
        progress.advance();
        readings[1].expect(200);
        readings[1].advance(100);
        assert_eq!(progress.permille(), 375);
        // Answers on record need no reading.
        (0..3).for_each(|_| progress.advance());
        assert_eq!((progress.permille(), progress.answered()), (1000, 4));
        // An observer that must not see it can still give it up.
        let unseen = progress.unseen();
        assert_eq!(unseen.permille(), 0);
        unseen.give_up();
        assert!(progress.is_given_up());
    }
}
