//! A privacy cost joined to a sampler.
//!
//! One object gives both the noise and its loss, so that what is drawn and what is charged cannot
//! disagree: [`Additive`] noise on lattice integers, [`TiedSums`] that share a count, [`Quantile`]s
//! of the values in a group,
//! [`Selection`] of the groups that may appear, and [`RandomisedResponse`] of single records.
//! Nothing here knows of tables.

mod additive;
mod ends;
mod error;
mod joint;
mod measuring;
mod memberships;
mod optimal;
mod policy;
mod prior;
mod quantile;
mod record;
mod response;
mod selection;
mod steps;
mod strategy;
mod threshold;
mod transform;
mod truncated;
mod weighted;

pub use additive::{Additive, Law, half_width};
pub use ends::{Span, TiedPart, TiedSums};
pub use error::MechanismError;
pub use joint::{Reach, joint_delta};
pub use measuring::Measuring;
pub use memberships::Memberships;
pub use optimal::Optimal;
pub use quantile::{Percentile, Quantile};
pub use record::{PerRecord, RecordMechanism, standard_error};
pub use response::{Estimate, RandomisedResponse, ResponseError};
pub use selection::{Chosen, Population, Seen, Selection};
pub use strategy::Strategy;
pub use threshold::CountThreshold;
pub use truncated::TruncatedGeometric;
