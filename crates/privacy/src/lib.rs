//! Units of privacy loss as types, and how losses convert and add up.
//!
//! Every quantity that a caller could mistake for another has its own validated type: [`Epsilon`],
//! [`Delta`], [`Rho`] and [`Mu`] are exact decimals (so that ten tenths are one), [`Loss`] is what
//! one mechanism or one release costs, [`Neighbouring`] is what the promise is about. An
//! [`Account`] is a budget and what is spent of it, and [`cost`] is what a release costs in its
//! currency. Nothing here samples, and nothing here knows of tables.

mod account;
mod amount;
mod bounded_range;
mod chosen_groups;
mod composition;
mod convert;
mod currency;
mod discrete_gaussian;
mod event;
mod gaussian;
mod homogeneous;
mod loss;
mod loss_curve;
mod mu_squared;
mod neighbouring;
mod odometer;
mod per_record;
mod pure;
mod trials;

pub use account::Account;
pub use amount::{AmountError, Delta, Epsilon, Mu, Rho};
pub use bounded_range::range_of_rho;
pub use chosen_groups::{gaussian_groups_mu, hockey_stick, joint_delta};
pub use composition::{Composition, CompositionError};
pub use convert::{zcdp_delta_at, zcdp_epsilon_at, zcdp_rho_within};
pub use currency::{affordable_epsilon, cost};
pub use discrete_gaussian::{DiscreteGaussianError, DiscreteGaussianLoss};
pub use event::{DiscreteGaussianEvent, Event};
pub use gaussian::{
    analytic_gaussian_mu, gaussian_delta, gaussian_epsilon_at, normal_cdf, normal_quantile,
    normal_tail,
};
pub use homogeneous::{homogeneous_delta, homogeneous_shares};
pub use loss::{Loss, LossError};
pub use loss_curve::{LossCurve, LossCurveError};
pub use mu_squared::MuSquared;
pub use neighbouring::{Contribution, Neighbouring, RowsBeside};
pub use odometer::{Odometer, OdometerError};
pub use per_record::{PolicyError, PolicyTerm, RecordPolicy, group_loss};
pub use pure::{laplace_epsilon, pure_epsilon, pure_in_rho, pure_rho};
pub use trials::{epsilon_at_least, probability_at_least, probability_at_most};
