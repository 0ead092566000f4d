//! CSV files.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::csv::{ByteRecord, Reader, ReaderBuilder};
use hushtable_query::{CsvSettings, MAX_STRING_BYTES};

use super::convert::Stored;
use super::decoders::Bytes;
use super::from_text::TextColumn;
use super::parse::{Parsed, TextParser};
use super::sink::{Misfit, Sink};
use super::stored::{ColumnPick, Source, StoredColumn, planned_otherwise};
use super::{
    BATCH_ROWS, Compression, DataFile, FileFormat, Identity, ReadProgress, SourceError, decode,
};

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
    path: PathBuf,
    identity: Identity,
    bytes: u64,
    compression: Compression,
    settings: Arc<CsvSettings>,
    /// The columns in the file's order, by its header line.
    columns: Vec<StoredColumn>,
}

impl CsvFile {
    /// Reads the header line, and nothing after it.
    pub(super) fn open(file: &DataFile, settings: &Arc<CsvSettings>) -> Result<Self, SourceError> {
        let compression = match file.format {
            FileFormat::Csv { compression } => compression,
            FileFormat::Parquet | FileFormat::Arrow => Compression::None,
        };
        let path = &file.path;
        let identity = path
            .identity()
            .map_err(|e| SourceError::from_io(path, &e, FileFormat::name(file.format)))?;
        let mut file = Self {
            path: path.clone(),
            identity,
            bytes: file.bytes,
            compression,
            settings: Arc::clone(settings),
            columns: Vec::new(),
        };
        let mut records = file.all_records(&Arc::default())?;
        let Some(names) = records.next()?.filter(|names| !names.iter().all(<[u8]>::is_empty))
        else {
            return Err(SourceError::NoHeader { path: path.to_owned() });
        };
        let mut columns = Vec::new();
        for name in names {
            match std::str::from_utf8(name) {
                // UTF-16 without a mark and compressed data have NULs, and columns never do.
                Ok(name) if !name.contains('\0') => columns.push(StoredColumn {
                    name: name.to_owned(),
                    stored: Stored::Text,
                    file_type: "text".to_owned(),
                }),
                _ => {
                    let encoding = file.settings.encoding().name();
                    return Err(SourceError::HeaderNotText { path: path.to_owned(), encoding });
                }
            }
        }
        file.columns = columns;
        Ok(file)
    }

    /// The rows, one by one.
    pub(super) fn records(&self, progress: &Arc<ReadProgress>) -> Result<Records<'_>, SourceError> {
        let mut records = self.all_records(progress)?;
        records.next()?;
        Ok(records)
    }

    /// The header and the rows.
    fn all_records(&self, progress: &Arc<ReadProgress>) -> Result<Records<'_>, SourceError> {
        let damaged = |e: std::io::Error| SourceError::from_io(&self.path, &e, self.format());
        let input = open(&self.path, self.compression, progress).map_err(damaged)?;
        let input = decode::utf8(input, self.settings.encoding()).map_err(damaged)?;
        // Checked to be ASCII.
        let byte = |c: char| u8::try_from(c).unwrap_or(b'?');
        let quote = self.settings.quote();
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(byte(self.settings.delimiter()))
            .quoting(quote.is_some())
            .quote(quote.map_or(b'"', byte))
            .buffer_capacity(BUFFER)
            .from_reader(input);
        Ok(Records { file: self, reader, record: ByteRecord::new() })
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

impl Source for CsvFile {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn columns(&self) -> &[StoredColumn] {
        &self.columns
    }

    /// Itself alone: where a row begins can only be told from the rows before it.
    fn parts(&self) -> Vec<u64> {
        vec![self.bytes]
    }

    /// One row is in memory at a time besides the batch: an unbalanced quote makes the rest of
    /// the file one field, which is then NULL if it is longer than a string may be.
    fn read(
        &self,
        part: usize,
        picks: &[ColumnPick],
        progress: &Arc<ReadProgress>,
        sink: &mut dyn Sink,
    ) -> Result<(), SourceError> {
        if part > 0 {
            return Err(planned_otherwise());
        }
        let mut records = self.records(progress)?;
        let parser = Arc::new(TextParser::new(self.settings.values()));
        let column = |pick: &ColumnPick| TextColumn::new(pick.to, &parser, BATCH_ROWS);
        let mut builders: Vec<TextColumn> = picks.iter().map(column).collect();
        loop {
            let (mut rows, mut bytes, mut more) = (0, 0, true);
            while rows < BATCH_ROWS && bytes < BATCH_BYTES {
                let Some(record) = records.next()? else {
                    more = false;
                    break;
                };
                rows += 1;
                for (column, (pick, builder)) in picks.iter().zip(&mut builders).enumerate() {
                    let field = field(record, pick.place);
                    bytes += field.map_or(0, |field| field.len().min(MAX_STRING_BYTES));
                    if builder.push(field) == Parsed::Unfit {
                        sink.misfit(column, Misfit::Text(field.unwrap_or_default()));
                    }
                }
            }
            if rows > 0 {
                let arrays: Result<_, _> = builders.iter_mut().map(|b| b.finish()).collect();
                if !sink.batch(arrays.map_err(|_| planned_otherwise())?, rows) {
                    return Ok(());
                }
            }
            if !more {
                return Ok(());
            }
        }
    }
}

/// A field of a row; `None` where the row is too short or the field is empty.
pub(super) fn field(record: &ByteRecord, place: usize) -> Option<&[u8]> {
    record.get(place).filter(|field| !field.is_empty())
}

/// The lines of a file.
pub(super) struct Records<'a> {
    file: &'a CsvFile,
    reader: Reader<Box<dyn Read>>,
    record: ByteRecord,
}

impl Records<'_> {
    /// The next one.
    pub(super) fn next(&mut self) -> Result<Option<&ByteRecord>, SourceError> {
        let more =
            self.reader.read_byte_record(&mut self.record).map_err(|e| self.file.error(&e))?;
        Ok(more.then_some(&self.record))
    }
}

/// The bytes of a file, decompressed.
pub(super) fn open(
    path: &Path,
    compression: Compression,
    progress: &Arc<ReadProgress>,
) -> std::io::Result<Box<dyn Read>> {
    let file = Counted { file: File::open(path)?, progress: Arc::clone(progress) };
    Ok(match compression {
        Compression::None => Box::new(file),
        Compression::Gzip => {
            Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(BUFFER, file)))
        }
        Compression::Zstd => {
            let buffered = BufReader::with_capacity(BUFFER, file);
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered)?;
            // As large as the format allows (`zstd --long=31`).
            decoder.window_log_max(31)?;
            Box::new(decoder)
        }
    })
}
