//! Arithmetic that is exact, or says on which side of the truth it errs.
//!
//! The crate knows nothing of privacy, noise or tables. All other crates that compute use it, so
//! that each of these is written once.

mod bracket;
mod common_divisor;
pub mod decimal;
mod lattice;
mod number;
mod quotient;
pub mod search;

pub use bracket::{Bracket, Enclosure};
pub use common_divisor::{gcd, lcm, lowest_terms};
pub use lattice::{MAX_LATTICE, Step};
pub use number::Number;
pub use quotient::Quotient;
