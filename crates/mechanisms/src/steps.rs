//! Steps of work, counted in tests: none may grow with epsilon or with one over delta.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts a step of floating point, in tests.
#[inline]
pub(crate) fn count() {
    #[cfg(test)]
    STEPS.set(STEPS.get() + 1);
}

/// Counts an enclosure by whole numbers of hundreds of bits, in tests.
#[inline]
pub(crate) fn count_enclosure() {
    #[cfg(test)]
    STEPS.set(STEPS.get() + 1000);
}

/// Takes the number of this thread's steps since the last call.
#[cfg(test)]
pub(crate) fn take() -> u64 {
    STEPS.take()
}
