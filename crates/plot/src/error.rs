//! Why there is no chart.

use std::path::PathBuf;

/// Why a chart was not drawn. Each text has a line that says what would work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlotError {
    /// A file name that does not tell the format.
    #[error(
        "cannot tell the format of a chart from the name {}\n  hint: end it with .svg or .png",
        .0.display()
    )]
    Extension(PathBuf),
    /// No point has a place on both axes.
    #[error(
        "the chart has nothing to show: none of its {points} points has a place on both axes\n  \
         hint: points must be finite, and above 0 on a logarithmic axis; take a linear one, or another \
         range"
    )]
    Nothing {
        /// All points of all series.
        points: usize,
    },
    /// A drawing library failed.
    #[error("cannot draw the chart: {0}\n  hint: this is a fault of the program")]
    Drawing(String),
}
