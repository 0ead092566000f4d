//! CSV files.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hushtable_contract::CsvSettings;
use hushtable_lang::MAX_STRING_BYTES;

use super::convert::StoredType;
use super::csv_rows::{CsvRecords, Limits, Record};
use super::decoders::Bytes;
use super::from_text::TextColumn;
use super::parse::{ParsedField, TextParser};
use super::sink::{Misfit, OddRow, Sink};
use super::stored::{ColumnPick, Source, StoredColumn, planned_otherwise};
use super::{
    BATCH_ROWS, Compression, DataFile, FileFormat, ReadProgress, SourceError, SourceIdentity,
    decode,
};

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

const BUFFER: usize = 1 << 18;

/// A batch ends at this size of text even if it has few rows.
const BATCH_BYTES: usize = 1 << 23;

/// A CSV file and its header.
#[derive(Debug)]
pub(super) struct CsvFile {
    path: PathBuf,
    identity: SourceIdentity,
    bytes: u64,
    compression: Compression,
    settings: Arc<CsvSettings>,
    /// The columns in the file's order, by its header line.
    columns: Vec<StoredColumn>,
    limits: Limits,
}

impl CsvFile {
    /// Reads the header line, and nothing after it. `text_bytes` are the most bytes of the texts
    /// of declared columns.
    pub(super) fn open(
        file: &DataFile,
        settings: &Arc<CsvSettings>,
        text_bytes: &[(String, usize)],
    ) -> Result<Self, SourceError> {
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
            limits: Limits::of_header(settings),
        };
        let mut rows = file.rows(&Arc::default(), usize::MAX)?;
        let none = || SourceError::NoHeader { path: path.to_owned() };
        let header = rows.next()?.ok_or_else(none)?;
        let name = |index| header.field(index).unwrap_or_default();
        let names: Vec<&[u8]> = (0..header.fields()).map(name).collect();
        if names.iter().all(|name| name.is_empty()) {
            return Err(none());
        }
        let mut columns = Vec::new();
        for name in names {
            match std::str::from_utf8(name) {
                // UTF-16 without a mark and compressed data have NULs, and columns never do.
                Ok(name) if !name.contains('\0') => columns.push(StoredColumn {
                    name: name.to_owned(),
                    stored: StoredType::Text,
                    file_type: "text".to_owned(),
                }),
                _ => {
                    let encoding = file.settings.encoding().name();
                    return Err(SourceError::HeaderNotText { path: path.to_owned(), encoding });
                }
            }
        }
        let declared = columns.iter().map(|column| column.name.as_str());
        file.limits = Limits::of_rows(declared, text_bytes, settings);
        file.columns = columns;
        Ok(file)
    }

    /// The rows, one by one.
    pub(super) fn records(&self, progress: &Arc<ReadProgress>) -> Result<CsvRows<'_>, SourceError> {
        let mut rows = self.rows(progress, self.columns.len())?;
        rows.next()?;
        Ok(rows)
    }

    /// The header and the rows, each with at most `most_fields` fields.
    fn rows(
        &self,
        progress: &Arc<ReadProgress>,
        most_fields: usize,
    ) -> Result<CsvRows<'_>, SourceError> {
        let damaged = |e: std::io::Error| SourceError::from_io(&self.path, &e, self.format());
        let input = open(&self.path, self.compression, progress).map_err(damaged)?;
        let input = decode::utf8(input, self.settings.encoding()).map_err(damaged)?;
        let records = CsvRecords::new(input, &self.settings, &self.limits, most_fields);
        Ok(CsvRows { file: self, records })
    }

    fn format(&self) -> &'static str {
        match self.compression {
            Compression::None => "CSV",
            Compression::Gzip => "gzip",
            Compression::Zstd => "Zstandard",
        }
    }
}

impl Source for CsvFile {
    fn identity(&self) -> SourceIdentity {
        self.identity.clone()
    }

    fn is_unchanged(&self) -> bool {
        self.path.are_still(&self.identity)
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn columns(&self) -> &[StoredColumn] {
        &self.columns
    }

    /// Itself alone: where a row begins can only be told from the rows before it.
    fn chunks(&self) -> Vec<u64> {
        vec![self.bytes]
    }

    /// One row is in memory at a time besides the batch, and no more of each of its fields than a
    /// text may have.
    fn read(
        &self,
        chunk: usize,
        picks: &[ColumnPick],
        progress: &Arc<ReadProgress>,
        sink: &mut dyn Sink,
    ) -> Result<(), SourceError> {
        if chunk > 0 {
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
                    let field = record.field(pick.index);
                    bytes += field.map_or(0, |field| field.len().min(MAX_STRING_BYTES));
                    if builder.push(field) == ParsedField::Unfit {
                        sink.misfit(
                            column,
                            match record.unclosed() == Some(pick.index) {
                                true => Misfit::Unclosed,
                                false => Misfit::Text(field.unwrap_or_default()),
                            },
                        );
                    }
                }
                if record.unclosed().is_some() {
                    sink.odd_row(OddRow::Unclosed);
                }
                if record.fields() != self.columns.len() {
                    sink.odd_row(OddRow::Ragged);
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

/// The lines of a file.
pub(super) struct CsvRows<'a> {
    file: &'a CsvFile,
    records: CsvRecords<'a, Box<dyn Read>>,
}

impl CsvRows<'_> {
    /// The next one.
    pub(super) fn next(&mut self) -> Result<Option<Record<'_>>, SourceError> {
        let file = self.file;
        self.records.next().map_err(|e| SourceError::from_io(&file.path, &e, file.format()))
    }
}

/// The bytes of a file, decompressed.
pub(super) fn open(
    path: &Path,
    compression: Compression,
    progress: &Arc<ReadProgress>,
) -> std::io::Result<Box<dyn Read>> {
    let file = ProgressFile { file: File::open(path)?, progress: Arc::clone(progress) };
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
