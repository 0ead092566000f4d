//! Randomness and exact samplers on the integers.
//!
//! A [`Generator`] is a cryptographic generator seeded by the operating system. The samplers turn its
//! words into draws whose law is *exactly* the stated one: no floating-point number takes part in a
//! draw. They all rest on one idea, a uniform real number of which only as many bits are drawn as the
//! outcome asks for. One 64-bit word of it nearly always settles the outcome; when it does not, more
//! bits are drawn until they do.
//!
//! | law | type | method |
//! |---|---|---|
//! | uniform on `0..n` | [`Uniform`] | floor(n U) with lazily drawn bits of U |
//! | yes or no | [`Bernoulli`], [`bernoulli_enclosed`] | comparison of U with the probability |
//! | discrete Laplace | [`DiscreteLaplace`] | floor(scale * E), E exponential by von Neumann's method |
//! | the same, cut off at +-k | [`TruncatedDiscreteLaplace`] | rejection |
//! | normal, rounded | [`RoundedGaussian`] | Karney's Algorithm N, rounded by enclosure |
//!
//! Every sampler fails only when the operating system's generator fails, and then gives
//! [`EntropyError`] and no value. The laws themselves are there as `f64` functions (`pmf`, `tail`,
//! `variance`) for intervals and tests; no draw depends on them.
//!
//! *Time.* The samplers work by rejection, so the time of one draw varies, and it does depend a little
//! on the drawn magnitude (about one more round of a loop per unit of `|x| / scale`). They are not
//! constant-time.

mod bernoulli;
mod deviate;
mod enclosure;
mod error;
mod exponential;
mod gaussian;
mod generator;
mod interval;
mod laplace;
mod parameters;
#[cfg(test)]
mod script;
mod truncated;
mod uniform;

pub use bernoulli::Bernoulli;
pub use enclosure::{Enclosure, bernoulli_enclosed};
pub use error::{EntropyError, ParameterError};
pub use gaussian::RoundedGaussian;
pub use generator::Generator;
#[cfg(any(test, debug_assertions))]
pub use generator::TestSeed;
pub use interval::Interval;
pub use laplace::DiscreteLaplace;
pub use parameters::{Dyadic, Ratio};
pub use truncated::TruncatedDiscreteLaplace;
pub use uniform::Uniform;
