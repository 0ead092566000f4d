//! Note files: what stands below a table for people, beside a file that has no room for it.

use std::fs;
use std::path::{Path, PathBuf};

use hushtable::output::{PendingFile, ProtectedFiles};

use crate::delayed_effects;
use crate::failure::Failure;
use crate::render::grid::visible;

/// The end of its name, after that of the file that it is about.
const ENDING: &str = ".notes.txt";

/// A note file that can be written.
pub(super) struct NoteFile {
    path: PathBuf,
    file: PendingFile,
    heading: String,
}

impl NoteFile {
    /// The note file beside a result's file; `None` beside a device or a pipe.
    pub(super) fn beside(
        result: &Path,
        protected: &ProtectedFiles,
    ) -> Result<Option<Self>, Failure> {
        if fs::metadata(result).is_ok_and(|found| !found.is_file()) {
            return Ok(None);
        }
        let path = Self::path(result);
        let file = protected.pending(&path)?;
        let name = result.file_name().unwrap_or_default().to_string_lossy();
        let heading = format!("notes on {}\n", visible(&name));
        Ok(Some(Self { path, file, heading }))
    }

    /// The path of the note file beside a result's file.
    pub(super) fn path(result: &Path) -> PathBuf {
        let mut path = result.as_os_str().to_owned();
        path.push(ENDING);
        path.into()
    }

    /// Writes notes. Without any, an older note file is taken away: it is about another result.
    pub(super) fn write(self, notes: &str) -> Result<(), Failure> {
        let Self { path, file, heading } = self;
        if !notes.is_empty() {
            return delayed_effects::write(file, (heading + notes).into_bytes());
        }
        delayed_effects::perform(move || {
            // A file that is no such note is somebody's.
            match fs::read(&path) {
                Ok(old) if old.starts_with(heading.as_bytes()) => take_away(&path),
                _ => Ok(()),
            }
        })
    }
}

/// Removes an older file, if there is one.
pub(super) fn take_away(path: &Path) -> Result<(), Failure> {
    let Ok(real) = fs::canonicalize(path) else { return Ok(()) };
    fs::remove_file(real).map_err(|error| {
        Failure::new(
            format!("cannot delete `{}`: {error}", path.display()),
            "delete it by hand, as it is about an older result, then run the same command again: \
             what is on record costs nothing",
        )
    })
}
