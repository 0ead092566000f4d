//! How a CSV file seems to be written, from its header line alone.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use hushtable_contract::{CsvSettings, TextFormat};

use super::{DataFile, FileFormat, SourceError};

/// The longest header line that is read.
const HEADER_BYTES: u64 = 1 << 20;

/// The delimiters to choose from. The first wins among equals.
const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];

/// The delimiter and encoding of the first file's header line; the usual ones where it does not
/// tell, and `None` where the files are not CSV. No row is read.
///
/// # Errors
///
/// When the file cannot be read.
pub fn guess_csv(files: &[DataFile]) -> Result<Option<CsvSettings>, SourceError> {
    let Some(DataFile { path, format: FileFormat::Csv { compression }, .. }) = files.first() else {
        return Ok(None);
    };
    let damaged = |e: std::io::Error| SourceError::from_io(path, &e, "CSV");
    let input = compression.open(path, &Arc::default()).map_err(damaged)?;
    let mut line = Vec::new();
    let mut input = BufReader::new(input.take(HEADER_BYTES));
    input.read_until(b'\n', &mut line).map_err(damaged)?;
    let settings = CsvSettings::new(
        delimiter_of(&line, encoding_of(&line)),
        CsvSettings::default().quote(),
        encoding_of(&line).name(),
        TextFormat::default(),
    );
    settings.map(Some).map_err(|_| SourceError::Internal { what: "a guess at CSV was refused" })
}

/// The encoding to declare. Files with a byte order mark need none.
fn encoding_of(line: &[u8]) -> &'static Encoding {
    if Encoding::for_bom(line).is_some() {
        return UTF_8;
    }
    let zeros = |at: usize| line.iter().skip(at).step_by(2).filter(|byte| **byte == 0).count();
    match (zeros(0), zeros(1)) {
        (0, 0) if std::str::from_utf8(line).is_ok() => UTF_8,
        // By far the most common of those that the bytes do not tell apart.
        (0, 0) => WINDOWS_1252,
        (even, odd) if even > odd => UTF_16BE,
        _ => UTF_16LE,
    }
}

/// The character that separates most fields, outside of quotes.
fn delimiter_of(line: &[u8], encoding: &'static Encoding) -> char {
    let (text, _, _) = encoding.decode(line);
    let header = text.split(['\r', '\n']).next().unwrap_or_default();
    // Every second piece is within quotes.
    let outside: String = header.split('"').step_by(2).collect();
    let times = |delimiter: char| outside.matches(delimiter).count();
    let most = DELIMITERS.into_iter().rev().max_by_key(|delimiter| times(*delimiter));
    most.filter(|delimiter| times(*delimiter) > 0).unwrap_or(',')
}
