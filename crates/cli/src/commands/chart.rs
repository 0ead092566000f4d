//! Files that charts go to.

use std::path::Path;

use hushtable::output::PendingFile;
use hushtable_plot::{Chart, ImageFormat};

use crate::failure::Failure;
use crate::pace;

/// A file that a chart goes to, ready to be written.
pub(super) struct ChartFile {
    format: ImageFormat,
    file: PendingFile,
}

impl ChartFile {
    /// Before anything is computed: if there is no such format, or the file cannot be written.
    pub(super) fn to(path: &Path) -> Result<Self, Failure> {
        Ok(Self { format: ImageFormat::of(path)?, file: PendingFile::replacing(path)? })
    }

    /// A file that can be written.
    pub(super) fn of(format: ImageFormat, file: PendingFile) -> Self {
        Self { format, file }
    }

    pub(super) fn write(self, chart: &Chart) -> Result<(), Failure> {
        let bytes = chart.draw(self.format)?;
        pace::written(self.file, bytes)
    }
}
