//! Small finite models, in which every definition is computed exactly, by enumeration.
//!
//! Desfontaines, Mohammadi, Krahmer & Basin 2020 (PK), sections 2 and 3: a law of databases and of
//! what an attacker knows, given by independent parameters of which both are functions, and a
//! mechanism. From these:
//!
//! - [`Worlds`]: the parameters' laws ([`FiniteLaw`]), all combinations of their values, and the
//!   same for the mechanism's own noise.
//! - [`Model`]: records and knowledge as functions of the parameters, and whom to protect.
//! - [`Mechanism`]: what is published of each database.
//! - [`Definitions`]: the least epsilon at any delta, and the least delta at any epsilon, by each
//!   [`Definition`]; whether Definition 8 holds ([`Normalisation`]); how parts of what is published
//!   depend on each other.
//!
//! All probabilities are whole numbers over a common denominator, however large. Only results are
//! rounded, upwards. Values, knowledge and outputs are numbers here; expressions and their values
//! are left to the caller.

mod candidates;
mod compare;
mod definitions;
mod error;
mod fraction;
mod mechanism;
mod normalisation;
mod programme;
mod separation;
mod simulator;
mod worlds;

pub use definitions::{Definition, Definitions, LeastAmount};
pub use error::ModelError;
pub use fraction::{FiniteLaw, Fraction};
pub use mechanism::Mechanism;
pub use normalisation::{Normalisation, Parameters};
pub use separation::Witness;
pub use worlds::{MOST_DATABASES, MOST_STEPS, MOST_WORLDS, Model, Worlds};
