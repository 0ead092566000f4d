//! Set-up that tests of several crates share.
//!
//! It depends on no crate of this workspace, since their unit tests use it: a test would meet two
//! copies of its own crate's types. So contracts, files and vectors are texts here, and whatever
//! has types of ours stays with the tests of the crate that has the types. No binary ships it; a
//! test of the repository fails where it is more than a dev-dependency.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod dice;
mod folder;
mod real;
mod vectors;

pub use dice::Dice;
pub use folder::{TestFolder, write};
pub use real::real;
pub use vectors::{Vectors, amount, near, number};
