//! Effects of a command that can be seen from outside: had at once, or kept until a delay is over.

use std::cell::RefCell;

use hushtable::output::PendingFile;

use crate::failure::Failure;

/// Something that can be seen from outside: a text that is printed, a file that is written.
pub(crate) type Effect = Box<dyn FnOnce() -> Result<(), Failure>>;

thread_local! {
    /// Effects that are kept until the delay has passed; `None` where there is no delay.
    static KEPT: RefCell<Option<Vec<Effect>>> = const { RefCell::new(None) };
}

/// Whether there is a delay, so that what can be seen is kept.
pub(crate) fn is_kept() -> bool {
    KEPT.with_borrow(Option::is_some)
}

/// Has the effect at once, or keeps it until the delay has passed.
pub(crate) fn seen(effect: impl FnOnce() -> Result<(), Failure> + 'static) -> Result<(), Failure> {
    if !is_kept() {
        return effect();
    }
    KEPT.with_borrow_mut(|kept| kept.get_or_insert_default().push(Box::new(effect)));
    Ok(())
}

/// Writes a file, now or when the delay has passed.
pub(crate) fn written(file: PendingFile, bytes: Vec<u8>) -> Result<(), Failure> {
    seen(move || Ok(file.write(&bytes)?))
}

/// Keeps effects from now on.
pub(crate) fn keep() {
    KEPT.set(Some(Vec::new()));
}

/// The effects that were kept; no more are.
pub(crate) fn take() -> Vec<Effect> {
    KEPT.take().unwrap_or_default()
}
