//! Bytes that can be read from any place in them, and decoders that may not bear what they are.

use std::error::Error;
use std::fmt::Debug;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use datafusion::parquet::errors::{ParquetError, Result as ParquetResult};
use datafusion::parquet::file::reader::ChunkReader;

use super::files::identity_of;
use super::{SourceError, SourceIdentity};

/// Bytes that can be read from any place in them: a file, and later an object in a store.
pub(super) trait Bytes: Debug + Send + Sync {
    /// Reads them.
    type Reader: ChunkReader + 'static;

    /// Opens them for reading. Each chunk of a source is read through a reader of its own.
    fn open(&self) -> std::io::Result<Self::Reader>;

    /// The identity of their state, unlike earlier and later ones.
    fn identity(&self) -> std::io::Result<SourceIdentity>;

    /// Whether they still have that identity.
    fn are_still(&self, identity: &SourceIdentity) -> bool {
        self.identity().is_ok_and(|now| now == *identity)
    }

    /// Their name in errors.
    fn path(&self) -> &Path;
}

impl Bytes for PathBuf {
    type Reader = File;

    fn open(&self) -> std::io::Result<File> {
        File::open(self)
    }

    fn identity(&self) -> std::io::Result<SourceIdentity> {
        Ok(identity_of(self, &std::fs::metadata(self)?))
    }

    fn path(&self) -> &Path {
        self
    }
}

/// Runs a decoder, which may panic on a damaged file. Its errors are not passed on, as they may
/// quote the file.
pub(super) fn guard<T>(
    path: &Path,
    format: &'static str,
    run: impl FnOnce() -> ParquetResult<T>,
) -> Result<T, SourceError> {
    let damaged = || SourceError::Damaged { path: path.to_owned(), format };
    let error = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error,
        Err(_) => return Err(damaged()),
    };
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return Err(SourceError::from_io(path, io, format));
        }
        cause = match error.downcast_ref() {
            Some(ParquetError::External(inner)) => Some(&**inner),
            _ => error.source(),
        };
    }
    Err(damaged())
}
