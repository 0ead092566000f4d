//! The formats of a chart.

use std::path::Path;

use crate::error::PlotError;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// Scalable Vector Graphics.
    Svg,
    /// Portable Network Graphics.
    Png,
}

impl ImageFormat {
    /// By the extension of a file's name, in capitals or not.
    ///
    /// # Errors
    /// [`PlotError::Extension`] if it is neither `.svg` nor `.png`.
    pub fn of(path: &Path) -> Result<Self, PlotError> {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        match extension.to_str() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => Err(PlotError::Extension(path.to_owned())),
        }
    }
}
