//! The patterns of a statement, and the steps that they took to prepare.
//!
//! The steps to prepare a pattern depend on the pattern alone, and may be many: a statement of 64
//! KiB has room for thousands. So all patterns of a statement share a number of steps, which is
//! counted down while they are prepared, and each is prepared once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Pattern;

/// Most steps to prepare the patterns of a statement: about 10 ns each.
pub(super) const MAX_STEPS: u64 = 6_000_000;

/// Steps to parse a byte of a pattern.
pub(super) const PER_BYTE: u64 = 30;
/// Steps to write out a class of Unicode, with its letters in either case.
pub(super) const PER_CLASS: u64 = 60_000;
/// Steps to begin an automaton.
pub(super) const PER_AUTOMATON: u64 = 1_000;
/// Steps to add a state to an automaton.
pub(super) const PER_STATE: u64 = 20;

/// The steps that are left.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepsLeft {
    left: u64,
}

/// All steps are taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct UsedUp;

impl StepsLeft {
    /// Takes steps before they are made.
    pub(super) fn take(&mut self, steps: u64) -> Result<(), UsedUp> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(UsedUp)
            }
        }
    }

    /// Takes steps that were made.
    pub(super) fn spend(&mut self, steps: u64) {
        self.left = self.left.saturating_sub(steps);
    }
}

/// The patterns of a statement that are prepared.
#[derive(Clone, Debug, Default)]
pub struct PreparedPatterns(Arc<Mutex<Patterns>>);

#[derive(Debug)]
struct Patterns {
    left: u64,
    known: HashMap<String, Pattern>,
}

impl Default for Patterns {
    fn default() -> Self {
        Self { left: MAX_STEPS, known: HashMap::new() }
    }
}

thread_local! {
    /// Those of the statement that this thread binds. Expressions are bound in many functions,
    /// which then need not pass it on.
    static CURRENT: RefCell<Option<PreparedPatterns>> = const { RefCell::new(None) };
}

/// Restores what was there before.
struct RestoreOnDrop(Option<PreparedPatterns>);

impl Drop for RestoreOnDrop {
    fn drop(&mut self) {
        let before = self.0.take();
        CURRENT.with_borrow_mut(|current| *current = before);
    }
}

impl PreparedPatterns {
    /// Those of the statement that this thread binds; outside of statements, none.
    pub fn current() -> Self {
        CURRENT.with_borrow(|current| current.clone().unwrap_or_default())
    }

    /// Binds something of the statement.
    pub fn within<T>(&self, bind: impl FnOnce() -> T) -> T {
        let _restored =
            RestoreOnDrop(CURRENT.with_borrow_mut(|current| current.replace(self.clone())));
        bind()
    }

    fn patterns(&self) -> MutexGuard<'_, Patterns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn known(&self, text: &str) -> Option<Pattern> {
        self.patterns().known.get(text).cloned()
    }

    pub(super) fn keep(&self, pattern: &Pattern) {
        self.patterns().known.insert(pattern.text().to_owned(), pattern.clone());
    }

    /// The steps that are left.
    pub(super) fn work(&self) -> StepsLeft {
        StepsLeft { left: self.patterns().left }
    }

    /// Takes the steps that were made.
    pub(super) fn spend(&self, work: &StepsLeft) {
        let mut patterns = self.patterns();
        patterns.left = patterns.left.min(work.left);
    }
}

/// It is no part of what an expression means.
impl PartialEq for PreparedPatterns {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for PreparedPatterns {}

impl Hash for PreparedPatterns {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
