//! The rows of CSV text, one by one.
//!
//! `csv-core` tells fields and rows apart. This module adds that a field in quotes ends in any
//! case: without the quote at its end it would have all rows behind it as a part of it. Past the
//! most bytes that its column may have, it ends at the first line end, and its row with it; the
//! next line is a row again.
//!
//! The rows follow from the text alone, however many bytes come at once.

use std::io::{BufRead, BufReader, ErrorKind, Read, Result};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use hushtable_contract::CsvSettings;
use hushtable_lang::MAX_STRING_BYTES;

use super::decode::NOT_TEXT;

const BUFFER: usize = 1 << 18;

/// Bytes of a field that are kept: with one more than the longest text has, it is no value.
const MOST_BYTES: usize = MAX_STRING_BYTES + 1;

/// Fields that are looked for at once.
const FIELDS: usize = 64;

/// Fields are looked for one by one where some may not have this many bytes.
const SHORT: usize = 64;

/// The bytes after which a field in quotes ends with its line.
#[derive(Debug)]
pub(super) struct Limits {
    /// By the places of columns.
    columns: Vec<usize>,
    others: usize,
}

impl Limits {
    /// The limits of a header line.
    pub(super) fn of_header(settings: &CsvSettings) -> Self {
        Self { columns: Vec::new(), others: settings.max_bytes() }
    }

    /// The limits of rows with these columns. Those that are declared as text have their own.
    pub(super) fn of_rows<'a>(
        names: impl Iterator<Item = &'a str>,
        text_bytes: &[(String, usize)],
        settings: &CsvSettings,
    ) -> Self {
        let others = settings.max_bytes();
        let declared = |name: &str| text_bytes.iter().find(|(column, _)| column == name);
        let columns = names.map(|name| declared(name).map_or(others, |(_, bytes)| (*bytes).max(1)));
        Self { columns: columns.collect(), others }
    }

    fn of(&self, index: usize) -> usize {
        self.columns.get(index).copied().unwrap_or(self.others)
    }

    fn least(&self) -> usize {
        self.columns.iter().copied().fold(self.others, usize::min)
    }
}

/// Reads rows from text in UTF-8.
pub(super) struct CsvRecords<'a, R> {
    input: BufReader<R>,
    reader: Reader,
    limits: &'a Limits,
    least: usize,
    /// Fields of a row that are kept.
    most_fields: usize,
    /// The bytes that are kept of the row, and room behind them.
    bytes: Vec<u8>,
    used: usize,
    /// Where each field that is kept ends.
    ends: Vec<usize>,
    /// Fields of the row that have ended.
    fields: usize,
    /// Bytes of the field that has not.
    length: usize,
    /// Bytes that the reader has written of the row, kept or not.
    written: usize,
    unclosed: bool,
}

/// A row.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
    fields: usize,
    unclosed: bool,
}

impl<'a> Record<'a> {
    /// A field; `None` where the row is too short or the field is empty.
    pub(super) fn field(self, index: usize) -> Option<&'a [u8]> {
        let from = match index.checked_sub(1) {
            None => 0,
            Some(before) => *self.ends.get(before)?,
        };
        self.bytes.get(from..*self.ends.get(index)?).filter(|field| !field.is_empty())
    }

    /// How many fields there are, also of those that are not kept.
    pub(super) fn fields(self) -> usize {
        self.fields
    }

    /// The place of the field in quotes that had to end with its line. It is no text.
    pub(super) fn unclosed(self) -> Option<usize> {
        self.unclosed.then(|| self.fields.saturating_sub(1))
    }
}

impl<'a, R: Read> CsvRecords<'a, R> {
    /// The rows of a text, with at most `most_fields` fields each.
    pub(super) fn new(
        input: R,
        settings: &CsvSettings,
        limits: &'a Limits,
        most_fields: usize,
    ) -> Self {
        // Checked to be ASCII.
        let byte = |c: char| u8::try_from(c).unwrap_or(b'?');
        let quote = settings.quote();
        let mut reader = ReaderBuilder::new()
            .delimiter(byte(settings.delimiter()))
            .quoting(quote.is_some())
            .quote(quote.map_or(b'"', byte))
            .build();
        begin_row(&mut reader);
        Self {
            input: BufReader::with_capacity(BUFFER, input),
            reader,
            limits,
            least: limits.least(),
            most_fields,
            bytes: Vec::new(),
            used: 0,
            ends: Vec::new(),
            fields: 0,
            length: 0,
            written: 0,
            unclosed: false,
        }
    }

    /// The next row.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<Record<'_>>> {
        self.ends.clear();
        (self.used, self.fields, self.length, self.written) = (0, 0, 0, 0);
        self.unclosed = false;
        loop {
            let left = self.limits.of(self.fields).saturating_sub(self.length);
            let row = match left {
                0 => self.read_beyond()?,
                left => self.read(left)?,
            };
            match row {
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(None),
                _ => {}
            }
        }
        Ok(Some(Record {
            bytes: &self.bytes,
            ends: &self.ends,
            fields: self.fields,
            unclosed: self.unclosed,
        }))
    }

    /// Reads on where the field may have `left` more bytes.
    fn read(&mut self, left: usize) -> Result<ReadRecordResult> {
        // No field that ends meanwhile has more bytes than any may have.
        let (room, most) = match self.least >= SHORT {
            true => (left.min(self.least), FIELDS),
            false => (left, 1),
        };
        let input = filled(&mut self.input)?;
        let room = self.used..self.used + room;
        if self.bytes.len() < room.end {
            self.bytes.resize(room.end, 0);
        }
        let mut ends = [0; FIELDS];
        let output = &mut self.bytes[room];
        let (row, read, wrote, ended) = self.reader.read_record(input, output, &mut ends[..most]);
        self.input.consume(read);
        self.advance(wrote, &ends[..ended]);
        Ok(row)
    }

    /// Reads on to the end of the line, at most, where the field may have no more bytes.
    fn read_beyond(&mut self) -> Result<ReadRecordResult> {
        let input = filled(&mut self.input)?;
        let line_end = input.iter().position(|byte| [b'\n', b'\r'].contains(byte));
        let line = line_end.map_or(input, |at| input.get(..=at).unwrap_or(input));
        let kept = match self.fields < self.most_fields {
            true => MOST_BYTES.saturating_sub(self.length).min(line.len()),
            false => 0,
        };
        let mut unkept = [0; BUFFER / 64];
        let (mut end, room) = ([0], self.used..self.used + kept);
        if self.bytes.len() < room.end {
            self.bytes.resize(room.end, 0);
        }
        let output = match kept {
            0 => &mut unkept[..],
            _ => &mut self.bytes[room],
        };
        let (row, read, wrote, ended) = self.reader.read_record(line, output, &mut end);
        // A line end that does not end the row is within quotes.
        let unclosed = line_end.is_some() && read == line.len() && ended == 0;
        self.input.consume(read);
        if kept == 0 {
            self.length = self.length.saturating_add(wrote);
            self.written += wrote;
            self.advance(0, &end[..ended]);
        } else {
            self.advance(wrote, &end[..ended]);
        }
        if !unclosed {
            return Ok(row);
        }
        self.unclosed = true;
        begin_row(&mut self.reader);
        self.bytes.truncate(self.used);
        self.bytes.push(NOT_TEXT);
        self.advance(1, &[self.written + 1]);
        Ok(ReadRecordResult::Record)
    }

    /// Takes note of bytes that were written behind those that are used, and of where fields have
    /// ended: bytes that the reader had written of the row by then.
    fn advance(&mut self, wrote: usize, ends: &[usize]) {
        let from = self.used;
        for end in ends {
            let end = from + end.saturating_sub(self.written);
            if self.fields < self.most_fields {
                self.ends.push(end);
            }
            self.fields += 1;
            self.length = 0;
            self.used = end;
        }
        let rest = from + wrote - self.used;
        self.length = self.length.saturating_add(rest);
        self.written += wrote;
        // The bytes behind them may be written over.
        self.used = match self.fields < self.most_fields {
            true => from + wrote,
            false => self.ends.last().copied().unwrap_or(0),
        };
    }
}

/// Makes a reader begin with a row, whatever it has read. After an empty line, which is no row, it
/// does not look for a byte order mark, which it would find only if three bytes came at once.
fn begin_row(reader: &mut Reader) {
    reader.reset();
    reader.read_record(b"\n", &mut [0], &mut [0]);
}

/// The bytes that come next; none at the end.
fn filled<R: Read>(input: &mut BufReader<R>) -> Result<&[u8]> {
    while let Err(error) = input.fill_buf() {
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(input.buffer())
}
