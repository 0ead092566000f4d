//! Files that are not yet the ledger.

use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// An empty file in the folder of `path`, which its owner alone can open.
pub(crate) fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(path);
    // Without the temporary file's name, which nobody asked for.
    tempfile::Builder::new()
        .prefix(".hushtable-")
        .suffix(".ledger")
        .tempfile_in(folder)
        .map_err(|error| error.kind().into())
}
