//! Visible effects of a command: performed at once, or kept until a delay is over.

use std::cell::RefCell;

use hushtable::output::PendingFile;

use crate::failure::Failure;

/// A visible effect: a text that is printed, or a file that is written.
pub(crate) type Effect = Box<dyn FnOnce() -> Result<(), Failure>>;

thread_local! {
    /// Effects that are kept until the delay has passed; `None` where there is no delay.
    static DELAYED: RefCell<Option<Vec<Effect>>> = const { RefCell::new(None) };
}

/// Whether there is a delay, so that effects are kept.
pub(crate) fn is_delayed() -> bool {
    DELAYED.with_borrow(Option::is_some)
}

/// Performs the effect at once, or keeps it until the delay has passed.
pub(crate) fn perform(
    effect: impl FnOnce() -> Result<(), Failure> + 'static,
) -> Result<(), Failure> {
    if !is_delayed() {
        return effect();
    }
    DELAYED.with_borrow_mut(|effects| effects.get_or_insert_default().push(Box::new(effect)));
    Ok(())
}

/// Writes a file, now or when the delay has passed.
pub(crate) fn write(file: PendingFile, bytes: Vec<u8>) -> Result<(), Failure> {
    perform(move || Ok(file.write(&bytes)?))
}

/// Keeps effects from now on.
pub(crate) fn keep() {
    DELAYED.set(Some(Vec::new()));
}

/// Returns the effects that were kept, and keeps no more.
pub(crate) fn take() -> Vec<Effect> {
    DELAYED.take().unwrap_or_default()
}
