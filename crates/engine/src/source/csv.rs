//! CSV files.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::csv::{ByteRecord, Reader, ReaderBuilder};
use hushtable_query::{ColumnType, MAX_STRING_BYTES};

use super::sink::{Misfit, Sink};
use super::{Compression, ReadProgress, SourceError, plan};

/// A file that tells how much of it has been read.
struct Counted {
    file: File,
    progress: Arc<ReadProgress>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.progress.advance(bytes as u64);
        Ok(bytes)
    }
}

const BUFFER: usize = 1 << 18;

/// A batch ends at this size of text even if it has few rows.
const BATCH_BYTES: usize = 1 << 23;

/// A CSV file and its header.
#[derive(Debug)]
pub(super) struct CsvFile {
    pub(super) path: PathBuf,
    compression: Compression,
    /// The names of the columns in the file's order. A column without a name cannot be asked for.
    pub(super) header: Vec<String>,
}

/// A column to read: its place in each row, and the type it gets.
pub(super) type CsvColumn = (usize, ColumnType);

impl CsvFile {
    /// Reads the header line, and nothing after it.
    pub(super) fn open(path: &Path, compression: Compression) -> Result<Self, SourceError> {
        let mut file = Self { path: path.to_owned(), compression, header: Vec::new() };
        let mut reader = file.reader(&Arc::default())?;
        let mut names = ByteRecord::new();
        let found = reader.read_byte_record(&mut names).map_err(|e| file.error(&e))?;
        if !found || names.iter().all(<[u8]>::is_empty) {
            return Err(SourceError::NoHeader { path: file.path });
        }
        for name in &names {
            match std::str::from_utf8(name) {
                // UTF-16 and compressed data have NULs, and columns never do.
                Ok(name) if !name.contains('\0') => file.header.push(name.to_owned()),
                _ => return Err(SourceError::HeaderNotText { path: file.path }),
            }
        }
        Ok(file)
    }

    /// Hands the rows to `sink`, in batches, until it wants no more.
    ///
    /// One row is in memory at a time besides the batch: an unbalanced quote makes the rest of
    /// the file one field, which is then NULL if it is longer than a string may be.
    pub(super) fn read(
        &self,
        columns: &[CsvColumn],
        progress: &Arc<ReadProgress>,
        sink: &mut dyn Sink,
    ) -> Result<(), SourceError> {
        let mut reader = self.reader(progress)?;
        let mut record = ByteRecord::new();
        reader.read_byte_record(&mut record).map_err(|e| self.error(&e))?;
        let mut builders = plan::text_columns(columns.iter().map(|(_, to)| *to))?;
        loop {
            let (mut rows, mut bytes, mut more) = (0, 0, true);
            while rows < plan::BATCH_ROWS && bytes < BATCH_BYTES {
                more = reader.read_byte_record(&mut record).map_err(|e| self.error(&e))?;
                if !more {
                    break;
                }
                rows += 1;
                for (column, ((place, _), builder)) in columns.iter().zip(&mut builders).enumerate()
                {
                    let field = record.get(*place).filter(|field| !field.is_empty());
                    bytes += field.map_or(0, |field| field.len().min(MAX_STRING_BYTES));
                    if !builder.push(field) {
                        sink.misfit(column, Misfit::Text(field.unwrap_or_default()));
                    }
                }
            }
            if rows > 0 {
                let arrays: Result<_, _> = builders.iter_mut().map(|b| b.finish()).collect();
                if !sink.batch(arrays.map_err(|_| plan::planned_otherwise())?, rows) {
                    return Ok(());
                }
            }
            if !more {
                return Ok(());
            }
        }
    }

    fn reader(&self, progress: &Arc<ReadProgress>) -> Result<Reader<Box<dyn Read>>, SourceError> {
        let damaged = |e: std::io::Error| SourceError::from_io(&self.path, &e, self.format());
        let file = File::open(&self.path).map_err(damaged)?;
        let file = Counted { file, progress: Arc::clone(progress) };
        let mut input: Box<dyn Read> = match self.compression {
            Compression::None => Box::new(file),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(
                BufReader::with_capacity(BUFFER, file),
            )),
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(
                    BufReader::with_capacity(BUFFER, file),
                )
                .map_err(damaged)?;
                // As large as the format allows (`zstd --long=31`).
                decoder.window_log_max(31).map_err(damaged)?;
                Box::new(decoder)
            }
        };
        // A byte order mark is not part of the first name.
        let mut start = Vec::new();
        input.by_ref().take(3).read_to_end(&mut start).map_err(damaged)?;
        if start == b"\xef\xbb\xbf" {
            start.clear();
        }
        Ok(ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(BUFFER)
            .from_reader(Box::new(Cursor::new(start).chain(input))))
    }

    fn format(&self) -> &'static str {
        match self.compression {
            Compression::None => "CSV",
            Compression::Gzip => "gzip",
            Compression::Zstd => "Zstandard",
        }
    }

    fn error(&self, error: &::csv::Error) -> SourceError {
        match error.kind() {
            ::csv::ErrorKind::Io(e) => SourceError::from_io(&self.path, e, self.format()),
            // The reader is flexible and reads bytes, so there is no other kind.
            _ => SourceError::Damaged { path: self.path.clone(), format: self.format() },
        }
    }
}
