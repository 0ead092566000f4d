//! The points of a charge's way at which tests stop the program.

use crate::error::EngineError;

/// The points between the durable states of a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoppingPoint {
    /// The charge and the attempt are on disk, and no data were read.
    Charged,
    /// The data were read.
    Read,
    /// The state *drawn* is on disk, and no random number was drawn.
    Drawn,
    /// The release is in memory.
    Noisy,
    /// The release is on disk.
    Recorded,
}

/// Called at each point. Does nothing outside tests.
///
/// # Errors
/// In tests that ask for it.
#[cfg(not(test))]
pub(crate) fn reached(_point: StoppingPoint) -> Result<(), EngineError> {
    Ok(())
}

#[cfg(test)]
pub(crate) use self::injected::{Fault, inject, reached};

#[cfg(test)]
mod injected {
    use std::cell::RefCell;

    use super::{EngineError, StoppingPoint};

    /// The action at a point.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Fault {
        /// The process ends at once, as by `kill -9`: nothing is tidied up.
        Killed,
        /// The next step fails.
        Fails,
    }

    thread_local! {
        static INJECTED: RefCell<Option<(StoppingPoint, usize, Fault)>> =
            const { RefCell::new(None) };
    }

    /// Lets a fault happen when this thread comes to a point for the time after `skipped` others.
    pub(crate) fn inject(point: StoppingPoint, skipped: usize, fault: Fault) {
        INJECTED.set(Some((point, skipped, fault)));
    }

    pub(crate) fn reached(point: StoppingPoint) -> Result<(), EngineError> {
        INJECTED.with_borrow_mut(|injected| match injected {
            Some((at, skipped, _)) if *at == point && *skipped > 0 => {
                *skipped -= 1;
                Ok(())
            }
            Some((at, _, fault)) if *at == point => match *fault {
                Fault::Killed => std::process::abort(),
                Fault::Fails => {
                    *injected = None;
                    Err(EngineError::Interrupted)
                }
            },
            _ => Ok(()),
        })
    }
}
