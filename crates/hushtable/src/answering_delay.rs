//! A fixed delay, so that the time of an answer tells next to nothing of the data.

use std::future::Future;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::{Duration, Instant};

use futures::FutureExt;

/// The least time from a question to its answer. Where the work takes longer, the answer comes
/// after that time doubled as often as is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnsweringDelay {
    least: Duration,
}

impl AnsweringDelay {
    /// A least time; zero for no delay.
    pub fn new(least: Duration) -> Self {
        Self { least }
    }

    /// Whether there is no delay.
    pub fn is_none(self) -> bool {
        self.least.is_zero()
    }

    /// When what has taken `elapsed` may be seen: the first of T, 2 T, 4 T and so on that has not
    /// passed.
    pub fn due(self, elapsed: Duration) -> Duration {
        let mut due = self.least;
        while due < elapsed && !due.is_zero() {
            // Work that takes longer ends at a doubling of the delay, so that its time reveals an
            // order of magnitude only.
            due = due.saturating_mul(2);
        }
        due
    }

    /// How long what began at `started` has to wait now until it may be seen.
    pub fn rest(self, started: Instant) -> Duration {
        let elapsed = started.elapsed();
        self.due(elapsed).saturating_sub(elapsed)
    }

    /// Does work, and gives its result when it may be seen, counted from this call. It must run on
    /// the engine's threads.
    pub(crate) fn keep<T>(self, work: impl Future<Output = T>) -> impl Future<Output = T> {
        let started = Instant::now();
        // Futures of questions are large, and what wraps this one moves it through the caller's
        // stack.
        let work = Box::pin(work);
        async move {
            // A panic must not end it earlier.
            let result = AssertUnwindSafe(work).catch_unwind().await;
            if !self.is_none() {
                tokio::time::sleep(self.rest(started)).await;
            }
            result.unwrap_or_else(|panic| resume_unwind(panic))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_after_the_delay_or_a_doubling_of_it() {
        let delay = AnsweringDelay::new(Duration::from_secs(3));
        let due = |millis| delay.due(Duration::from_millis(millis)).as_millis();
        for (elapsed, ends) in [
            (0, 3_000),
            (2_999, 3_000),
            (3_000, 3_000),
            (3_001, 6_000),
            (6_000, 6_000),
            (6_001, 12_000),
            (100_000, 192_000),
        ] {
            assert_eq!(due(elapsed), ends);
        }
        assert_eq!(delay.due(Duration::MAX), Duration::MAX);
        assert!(AnsweringDelay::default().is_none());
        assert_eq!(AnsweringDelay::default().due(Duration::from_secs(9)), Duration::ZERO);
    }
}
