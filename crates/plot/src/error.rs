//! Why there is no chart.

use std::fmt;
use std::path::PathBuf;

use hushtable_errors::{ErrorText, Hint};

/// Why a chart was not drawn. Each text has a line that says what would work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlotError {
    /// A file name that does not say the format.
    Extension(PathBuf),
    /// No point has a position on both axes.
    Nothing {
        /// All points of all series.
        points: usize,
    },
    /// A drawing library failed.
    Drawing(String),
}

impl Hint for PlotError {
    fn error_text(&self) -> ErrorText {
        let (what, hint) = match self {
            Self::Extension(inner) => (
                format!("the name `{}` does not say which format to draw", inner.display()),
                "end it in .svg or .png",
            ),
            Self::Nothing { points } => (
                format!(
                    "the chart has nothing to show: none of its {points} points fits on both \
                     axes"
                ),
                "choose a linear axis, or another range: points must be finite, and above 0 on \
                 a logarithmic axis",
            ),
            Self::Drawing(inner) => (
                format!("cannot draw the chart: {inner}"),
                "this is a fault in Hushtable: please report it, without data",
            ),
        };
        ErrorText::new(what, hint)
    }
}

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error_text().fmt(f)
    }
}
