//! Why there is no chart.

use std::fmt;
use std::path::PathBuf;

/// Why a chart was not drawn. Each text has a line that says what would work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlotError {
    /// A file name that does not tell the format.
    Extension(PathBuf),
    /// No point has a place on both axes.
    Nothing {
        /// All points of all series.
        points: usize,
    },
    /// A drawing library failed.
    Drawing(String),
}

impl PlotError {
    /// The fault, and what would work.
    pub fn what_and_hint(&self) -> (String, &'static str) {
        match self {
            Self::Extension(inner) => (
                format!("cannot tell the format of a chart from the name {}", inner.display()),
                "end it with .svg or .png",
            ),
            Self::Nothing { points } => (
                format!(
                    "the chart has nothing to show: none of its {points} points \
                     has a place on both axes"
                ),
                "points must be finite, and above 0 on a logarithmic axis; take \
                 a linear one, or another range",
            ),
            Self::Drawing(inner) => {
                (format!("cannot draw the chart: {inner}"), "this is a fault of the program")
            }
        }
    }
}

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, hint) = self.what_and_hint();
        write!(f, "{what}\n  hint: {hint}")
    }
}
