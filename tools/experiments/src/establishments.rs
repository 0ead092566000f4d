//! Establishments: a synthetic table of businesses (PR Tables 6 to 8, Figures 3 to 5).
//!
//! The paper's data are synthetic, too, and not public. Those here come from a generator of this
//! repository, in the shape of a published table of cells (establishments, employees and wages by
//! county and industry). Beside clamping and splitting stand two methods that statistical agencies
//! have used, neither of which has a formal guarantee.

mod baselines;
mod cells;
mod chart;
mod errors;
mod goals;
mod industries;
mod laws;
mod losses;
mod made_up;
mod multiplicative;
mod profile;
mod schemes;
mod suppression;

pub use made_up::{EXAMPLE, Establishment, FULL, Size, csv, generate};

use crate::{ExperimentError, Figure};

/// PR Figures 3, 4 and 5 on a million synthetic establishments, and what agencies do on the same
/// cells.
///
/// # Errors
/// None in fact.
pub fn figures(seed: u64) -> Result<Vec<Figure>, ExperimentError> {
    figures_of(FULL, seed)
}

/// Draws the figures on a synthetic economy of another size.
///
/// # Errors
/// None in fact.
pub fn figures_of(size: Size, seed: u64) -> Result<Vec<Figure>, ExperimentError> {
    let rows = generate(size, seed);
    let nodes = suppression::suppress(&rows);
    let mut all = errors::figures(&errors::errors(&rows, &nodes, seed)?);
    all.extend(goals::figures(&rows, &goals::needs(&rows))?);
    all.extend(losses::figures(&rows)?);
    all.extend(baselines::figures(&rows, &nodes, seed));
    Ok(all)
}

#[cfg(test)]
mod tests;
