//! Experiments of Desfontaines, Mohammadi, Krahmer & Basin 2020, *Differential privacy with partial
//! knowledge* (PK): its Figures 2 to 6, with the exact curves beside the bounds that it prints.
//!
//! The paper's bounds are here for comparison. Some are below the truth as printed, and nothing
//! else in Hushtable uses them; docs/printed-bound.md tells why.

mod binomial;
mod counting;
mod noise;
mod printed;
mod thresholds;

use crate::figure::{ExperimentError, Figure};

/// All figures. Nothing in them is random.
///
/// # Errors
/// Only by a mistake in the experiment.
pub fn figures() -> Result<Vec<Figure>, ExperimentError> {
    let mut figures = Vec::new();
    // The caption of PK Figure 2 has the first and the third number of records, its text the
    // others.
    for (records, most) in [(100, 2.0), (1000, 1.0), (10_000, 0.6), (100_000, 0.2)] {
        figures.push(counting::figure_2(records, most)?);
    }
    figures.push(counting::figure_3(&[100, 1000, 10_000, 100_000])?);
    for (records, thresholds) in [(1000, 6..=40), (10_000, 51..=130), (100_000, 503..=730)] {
        figures.push(thresholds::figure_4(records, thresholds)?);
    }
    figures.push(noise::figure_5(100_000)?);
    figures.push(noise::figure_6(10_000)?);
    Ok(figures)
}

#[cfg(test)]
mod tests;
