//! Establishments: a synthetic table of businesses.
//!
//! It comes from a generator of this repository, in the shape of a published table of cells
//! (establishments, employees and wages by county and industry).

mod generator;
mod industries;
mod laws;
mod profile;

pub use generator::{EXAMPLE, Establishment, FULL, Size, csv, generate};
