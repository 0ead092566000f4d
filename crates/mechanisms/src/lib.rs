//! A privacy cost joined to a sampler.
//!
//! One object gives both the noise and its loss, so that what is drawn and what is charged cannot
//! disagree: [`Additive`] noise on lattice integers, and [`Selection`] of the groups that may appear.
//! Nothing here knows of tables.

mod additive;
mod error;
mod interval;
mod optimal;
mod selection;
mod threshold;
mod truncated;

pub use additive::{Additive, Law};
pub use error::MechanismError;
pub use optimal::Optimal;
pub use selection::{Decision, Selection, Strategy};
pub use threshold::CountThreshold;
pub use truncated::TruncatedGeometric;
