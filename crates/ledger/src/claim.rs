//! Claims: who is at work on a charge.

use std::any::Any;

/// The right to work on a charge; given back when it is dropped, and when its process ends.
///
/// With claims, a question that is asked while the same one is being answered can wait for that
/// answer, and one whose program was killed is taken up at once. No budget rests on claims: a
/// charge has one draw by the ledger's own rows.
#[derive(Debug)]
pub(crate) struct Claim {
    _held: Box<dyn Any + Send + Sync>,
}

impl Claim {
    /// The claim that `held` gives back when it is dropped.
    pub(crate) fn new(held: impl Any + Send + Sync) -> Self {
        Self { _held: Box::new(held) }
    }
}
