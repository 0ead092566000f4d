//! SIM: sums of heavy-tailed variables (PR Table 4, Figures 1 and 2).

mod clamped;

use crate::{ExperimentError, Figure};

/// What the paper's Figure 1 shows of SIM.
///
/// # Errors
/// None in fact.
pub fn figures(_seed: u64) -> Result<Vec<Figure>, ExperimentError> {
    Ok(vec![clamped::figure("ht1", 1.2), clamped::figure("ht2", 1.5)])
}
