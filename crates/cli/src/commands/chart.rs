//! Files that charts go to.

use std::path::Path;

use hushtable::output::{PendingFile, ProtectedFiles};
use hushtable_plot::{Chart, ImageFormat};

use crate::delayed_effects;
use crate::failure::Failure;

/// A file that a chart goes to, ready to be written.
pub(super) struct ChartFile {
    format: ImageFormat,
    file: PendingFile,
}

impl ChartFile {
    /// Opens a chart before anything is computed; fails if there is no such format, or the file
    /// cannot be written.
    pub(super) fn to(path: &Path) -> Result<Self, Failure> {
        Ok(Self { format: ImageFormat::of(path)?, file: PendingFile::replacing(path)? })
    }

    /// Opens a chart of findings about the exact data of a contract: only the user can read it, and
    /// it replaces no file of the contract.
    pub(super) fn confidential(path: &Path, contract: &ProtectedFiles) -> Result<Self, Failure> {
        Ok(Self::of(ImageFormat::of(path)?, contract.pending(path)?).for_user_alone())
    }

    /// Keeps the file from everybody but the user.
    pub(super) fn for_user_alone(self) -> Self {
        Self { file: self.file.confidential(), ..self }
    }

    /// A file that can be written.
    pub(super) fn of(format: ImageFormat, file: PendingFile) -> Self {
        Self { format, file }
    }

    pub(super) fn write(self, chart: &Chart) -> Result<(), Failure> {
        let bytes = chart.draw(self.format)?;
        delayed_effects::write(self.file, bytes)
    }
}
