//! Experiments of the papers, repeated on made-up data.
//!
//! Each experiment is a function of a seed that gives [`Figure`]s: a chart, and the numbers in it.
//! The records come from generators of public laws, whose randomness ([`Draws`]) has nothing to do
//! with that of noise. Noise is drawn by the samplers of releases, in rehearsal, so that the same
//! seed gives the same figures on every machine. Nothing here releases data, and nothing reads any
//! but [`group_choice`], which compares strategies on a public table.
//!
//! PR is Seeman, Sexton, Pujol & Machanavajjhala, *Privately answering queries on skewed data via
//! per record differential privacy*.

mod curves;
mod distribution;
mod draws;
pub mod establishments;
mod figure;
pub mod group_choice;
pub mod herds;
pub mod partial_knowledge;
pub mod partition_selection;
pub mod sim;
mod sums;
mod tradeoff;

use std::io::Write as _;
use std::process::ExitCode;

pub use draws::Draws;
pub use figure::{ExperimentError, Figure};

/// The exit code of a program, which says on standard error what went wrong.
pub fn exit_code(result: Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed standard error is the reader's business.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}
