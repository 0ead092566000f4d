//! Counts what evaluation does, for tests of what a row can cost.

/// Counts steps of a loop over rows or bytes; does nothing outside tests.
#[cfg(not(test))]
#[inline(always)]
pub(super) fn count(_: impl FnOnce() -> usize) {}

/// Counts steps of a loop over rows or bytes; does nothing outside tests.
#[cfg(test)]
pub(super) fn count(steps: impl FnOnce() -> usize) {
    let steps = steps() as u64;
    STEPS.with(|all| all.set(all.get() + steps));
}

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many steps `work` took on this thread.
#[cfg(test)]
pub(crate) fn steps_of<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let before = STEPS.with(std::cell::Cell::get);
    let done = work();
    (STEPS.with(std::cell::Cell::get) - before, done)
}
