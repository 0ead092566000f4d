//! Randomness and exact samplers on the integers.
//!
//! A [`Generator`] is a cryptographic generator seeded by the operating system. The samplers turn
//! its words into draws whose law is *exactly* the stated one: no floating-point number takes part
//! in a draw. They all rest on one idea, a uniform real number with only as many bits drawn as the
//! outcome needs. One 64-bit word of it nearly always settles the outcome; when it does not, more
//! bits are drawn until they do.
//!
//! - Uniform on `0..n`: [`Uniform`], floor(n U) with lazily drawn bits of U; n to 2^126.
//! - Yes or no: [`Bernoulli`] and [`bernoulli_enclosed`], by comparison of U with the probability.
//! - Discrete Laplace: [`DiscreteLaplace`], floor(scale * E) with E exponential by stairs; the
//!   scale is a [`Ratio`] from 2^-64 to 2^106.
//! - Discrete Laplace cut off at +-k: [`TruncatedDiscreteLaplace`], by rejection; parameters as
//!   above.
//! - Rounded normal: [`RoundedGaussian`], a normal deviate by stairs, rounded by enclosure; sigma
//!   is a [`Dyadic`] from 2^-20 to 2^100.
//! - Discrete Gaussian: [`DiscreteGaussian`], stairs on the integers; sigma^2 is a [`Dyadic`],
//!   sigma from 2^-10 to 2^50.
//! - e^(-d ln^2(abs(k)/s + a)): [`ExponentialPolylogarithmic`], stairs of growing cells; d, a and s
//!   are [`Dyadic`], s from 2^-20 to 2^80.
//! - e^(-rate * loss) on given candidates: [`ExponentialWeights`], rejection by enclosures; the
//!   rate is a [`Ratio`].
//!
//! *Stairs.* A table of stairs above the density is looked up with the first word of U. Its entries
//! have a proven error; a word that is too near to an entry to be sure is followed by further words
//! and entries of more bits. The next word is the position under the tread, and only next to the
//! curve (once in about 64 draws) is there more to decide.
//!
//! The laws of noise share the trait [`Law`].
//!
//! Every sampler fails only when the operating system's generator fails, and then gives
//! [`EntropyError`] and no value. The laws themselves are there as `f64` functions (`pmf`, `tail`,
//! `variance`) for intervals and tests; no draw depends on them.
//!
//! [`Rehearsal`] gives reproducible draws in release builds too, and is not a [`Generator`].
//!
//! *Time.* The samplers work by rejection, so the time of one draw varies. How often a draw begins
//! anew does not depend on what is drawn in the end; the time of the rest hardly does (SECURITY.md
//! has figures). They are not constant-time.

mod bernoulli;
mod curve;
mod deviate;
mod discrete_gaussian;
mod enclosure;
mod error;
mod exponential;
mod exponential_weights;
mod gaussian;
mod generator;
mod laplace;
mod law;
mod parameters;
mod polylogarithmic;
mod polylogarithmic_cells;
mod rehearsal;
#[cfg(test)]
mod script;
mod shares;
mod stairs;
mod stairs_edges;
mod truncated;
mod uniform;
mod variates;

pub use bernoulli::Bernoulli;
pub use discrete_gaussian::DiscreteGaussian;
pub use enclosure::{bernoulli_enclosed, bernoulli_enclosed_all};
pub use error::{BatchError, EntropyError, ParameterError};
pub use exponential_weights::{ExponentialWeights, WeightCell};
pub use gaussian::RoundedGaussian;
pub use generator::Generator;
#[cfg(any(test, debug_assertions))]
pub use generator::TestSeed;
pub use laplace::DiscreteLaplace;
pub use law::{Law, WordSource};
pub use parameters::{Dyadic, Ratio};
pub use polylogarithmic::ExponentialPolylogarithmic;
pub use rehearsal::Rehearsal;
pub use truncated::TruncatedDiscreteLaplace;
pub use uniform::Uniform;
