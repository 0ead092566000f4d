//! CSV files.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hushtable_contract::CsvSettings;

use super::convert::StoredType;
use super::csv_rows::{CsvRecords, Limits, Record};
use super::decoders::Bytes;
use super::parse::{ParsedField, TextParser};
use super::sink::{Misfit, OddRow, Sink};
use super::stored::{ColumnPick, Source, StoredColumn, planned_otherwise};
use super::text_rows::TextRows;
use super::{Compression, DataFile, FileFormat, ReadProgress, SourceError, SourceIdentity, decode};

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
            _ => Compression::None,
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
        let input = self.compression.open(&self.path, progress).map_err(damaged)?;
        let input = decode::utf8(input, self.settings.encoding()).map_err(damaged)?;
        let records = CsvRecords::new(input, &self.settings, &self.limits, most_fields);
        Ok(CsvRows { file: self, records })
    }

    fn format(&self) -> &'static str {
        self.compression.format("CSV")
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
        let parser = TextParser::new(self.settings.values());
        TextRows::read(picks, parser, sink, |rows, sink| {
            let Some(record) = records.next()? else { return Ok(false) };
            for (column, pick) in picks.iter().enumerate() {
                let field = record.field(pick.index);
                if rows.push(column, field) == ParsedField::Unfit {
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
            Ok(true)
        })
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
