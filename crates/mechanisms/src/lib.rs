//! A privacy cost joined to a sampler.
//!
//! One object gives both the noise and its loss, so that what is drawn and what is charged cannot
//! disagree: [`Additive`] noise on lattice integers, [`TiedSums`] that share a count, [`Quantile`]s
//! of the values in a group, one by one or as [`JointQuantiles`], [`Selection`] of the groups that
//! may appear, and [`RandomisedResponse`] of single records.
//! Nothing here knows of tables.

mod additive;
mod count_threshold;
mod ends;
mod error;
mod joint;
mod joint_quantiles;
mod laplace_sum;
mod measured_count;
mod memberships;
mod optimal;
mod partition_selection;
mod per_record;
mod prior;
mod quantile;
mod response;
mod single_vote;
mod steps;
mod strategy;
mod sum_mechanism;
mod transform;
mod truncated_geometric;
mod weighted;

pub use additive::{Additive, AdditiveLaw, half_width};
pub use count_threshold::CountThreshold;
pub use ends::{TiedNumbers, TiedRole, TiedRows, TiedSum, TiedSums, ValueSpan};
pub use error::MechanismError;
pub use joint::Reach;
pub use joint_quantiles::JointQuantiles;
pub use laplace_sum::{laplace_width_bound, scale_around};
pub use measured_count::MeasuredNoise;
pub use memberships::Memberships;
pub use optimal::Optimal;
pub use partition_selection::{Candidates, ChosenGroup, Selection, ShowReason};
pub use per_record::{PerRecord, RecordMechanism, standard_error};
pub use quantile::{Percentile, Quantile, QuantileReaches};
pub use response::{Estimate, RandomisedResponse, ResponseError};
pub use strategy::Strategy;
pub use sum_mechanism::SumMechanism;
pub use truncated_geometric::TruncatedGeometric;
