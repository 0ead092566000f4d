//! The bytes of text files, decompressed.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use super::{Compression, ReadProgress};

const BUFFER: usize = 1 << 18;

/// A file that tells how much of it has been read.
struct ProgressFile {
    file: File,
    progress: Arc<ReadProgress>,
}

impl Read for ProgressFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.progress.advance(bytes as u64);
        Ok(bytes)
    }
}

impl Compression {
    /// The format that a file is damaged in, where it cannot be decompressed; `text` is that of
    /// plain files.
    pub(super) fn format(self, text: &'static str) -> &'static str {
        match self {
            Self::None => text,
            Self::Gzip => "gzip",
            Self::Zstd => "Zstandard",
        }
    }

    /// The bytes of a file.
    pub(super) fn open(
        self,
        path: &Path,
        progress: &Arc<ReadProgress>,
    ) -> std::io::Result<Box<dyn Read>> {
        let file = ProgressFile { file: File::open(path)?, progress: Arc::clone(progress) };
        Ok(match self {
            Self::None => Box::new(file),
            Self::Gzip => {
                let buffered = BufReader::with_capacity(BUFFER, file);
                Box::new(flate2::bufread::MultiGzDecoder::new(buffered))
            }
            Self::Zstd => {
                let buffered = BufReader::with_capacity(BUFFER, file);
                let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered)?;
                // As large as the format allows (`zstd --long=31`).
                decoder.window_log_max(31)?;
                Box::new(decoder)
            }
        })
    }
}
