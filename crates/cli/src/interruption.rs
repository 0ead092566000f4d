//! Ctrl-C while a question is answered.

use std::mem::ManuallyDrop;

use hushtable::Progress;

/// While this is alive, Ctrl-C gives up what is not charged yet, so that it costs nothing; what is
/// charged goes on until its release is on record and the answer is shown. A second Ctrl-C ends
/// the process.
pub(crate) struct Interruption {
    _handlers: handlers::Handlers,
}

impl Interruption {
    pub(crate) fn of(progress: &Progress) -> Self {
        Self { _handlers: handlers::Handlers::new(progress) }
    }

    /// Stays until the process ends, as the answer may be shown only after a delay.
    pub(crate) fn for_good(self) {
        let _ = ManuallyDrop::new(self);
    }
}

#[cfg(unix)]
mod handlers {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, LazyLock};

    use hushtable::Progress;
    use signal_hook::consts::SIGINT;
    use signal_hook::{SigId, flag, low_level};

    /// The exit code that shells expect of a process that Ctrl-C has ended.
    const ENDED_BY_CTRL_C: i32 = 130;

    /// Set while no question is answered: Ctrl-C does then what it does by default. Without this,
    /// it would do nothing after the handlers are dropped.
    static IDLE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
        let idle = Arc::new(AtomicBool::new(true));
        let _ = flag::register_conditional_default(SIGINT, Arc::clone(&idle));
        idle
    });

    /// The handlers of a signal, until they are dropped.
    pub(super) struct Handlers(Vec<SigId>);

    impl Handlers {
        /// Where the system takes no handler, Ctrl-C ends the process.
        pub(super) fn new(progress: &Progress) -> Self {
            IDLE.store(false, Ordering::SeqCst);
            let given_up = progress.given_up();
            // Handlers run in this order: the first Ctrl-C finds the flag unset.
            let second =
                flag::register_conditional_shutdown(SIGINT, ENDED_BY_CTRL_C, Arc::clone(&given_up));
            let first = second.and_then(|second| Ok([second, flag::register(SIGINT, given_up)?]));
            Self(first.map(Vec::from).unwrap_or_default())
        }
    }

    impl Drop for Handlers {
        fn drop(&mut self) {
            for handler in self.0.drain(..) {
                low_level::unregister(handler);
            }
            IDLE.store(true, Ordering::SeqCst);
        }
    }
}

#[cfg(not(unix))]
mod handlers {
    use hushtable::Progress;

    /// Ctrl-C ends the process.
    pub(super) struct Handlers;

    impl Handlers {
        pub(super) fn new(_progress: &Progress) -> Self {
            Self
        }
    }
}
