//! JSON lines: an object on each line of a file.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encoding_rs::UTF_8;
use hushtable_lang::{JsonKind, JsonMembers, JsonValue};

use super::convert::StoredType;
use super::decoders::Bytes;
use super::json_fields::field;
use super::parse::{ParsedField, TextParser};
use super::sink::{Misfit, OddRow, Sink};
use super::stored::{ColumnPick, Source, StoredColumn, planned_otherwise};
use super::text_rows::TextRows;
use super::{Compression, DataFile, FileFormat, ReadProgress, SourceError, SourceIdentity, decode};

/// Most bytes of a line: a longer one is no object. One line is in memory at a time.
const MAX_LINE_BYTES: usize = 1 << 20;

/// The type of all columns, as the files have it.
const JSON: &str = "JSON";

const BUFFER: usize = 1 << 18;

/// A file of JSON lines. It has every column: a row has NULL for a key that its line lacks, as
/// which keys there are is known from the rows alone.
#[derive(Debug)]
pub(super) struct JsonLinesFile {
    path: PathBuf,
    identity: SourceIdentity,
    bytes: u64,
    compression: Compression,
    /// The columns that are asked for.
    columns: Vec<StoredColumn>,
}

impl JsonLinesFile {
    /// Opens a file for columns of these names, and reads no row. Those in the names of its folders
    /// are none of its columns.
    pub(super) fn open(file: &DataFile, names: &[String]) -> Result<Self, SourceError> {
        let compression = match file.format {
            FileFormat::JsonLines { compression } => compression,
            _ => Compression::None,
        };
        let path = &file.path;
        let identity = path
            .identity()
            .map_err(|e| SourceError::from_io(path, &e, FileFormat::name(file.format)))?;
        let in_folders = file.folders.iter().map(|value| value.column.as_str());
        let mut others: HashSet<&str> = in_folders.collect();
        let column = |name: &String| StoredColumn {
            name: name.clone(),
            stored: StoredType::Text,
            file_type: JSON.to_owned(),
        };
        let opened = Self {
            path: path.clone(),
            identity,
            bytes: file.bytes,
            compression,
            columns: names.iter().filter(|name| others.insert(name.as_str())).map(column).collect(),
        };
        // A file that cannot be read is found before a query is charged.
        opened.lines(&Arc::default())?;
        Ok(opened)
    }

    /// The lines, one by one.
    pub(super) fn lines(&self, progress: &Arc<ReadProgress>) -> Result<JsonLines<'_>, SourceError> {
        let input = self.compression.open(&self.path, progress);
        let input = input.and_then(|input| decode::utf8(input, UTF_8));
        let input = input.map_err(|error| self.failed(&error))?;
        Ok(JsonLines {
            file: self,
            input: BufReader::with_capacity(BUFFER, input),
            line: Vec::new(),
        })
    }

    fn failed(&self, error: &std::io::Error) -> SourceError {
        SourceError::from_io(&self.path, error, self.compression.format("JSON lines"))
    }
}

/// The keys of the objects on the first `most` lines of a file, in the order in which they come. A
/// key that one line alone has can be about the person whose line it is, and is left out.
pub(super) fn first_keys(file: &DataFile, most: usize) -> Result<Vec<String>, SourceError> {
    let file = JsonLinesFile::open(file, &[])?;
    let mut lines = file.lines(&Arc::default())?;
    let (mut keys, mut indices) = (Vec::<(String, u32)>::new(), HashMap::new());
    let mut objects = 0;
    for _ in 0..most {
        let Some(line) = lines.next()? else { break };
        let Ok(members) = JsonMembers::of(line).collect::<Result<Vec<_>, _>>() else { continue };
        objects += 1;
        let texts = members.iter().filter_map(|(key, _)| key.text());
        let mut here = HashSet::new();
        // UTF-16 without a mark and compressed data have NULs, and columns never do.
        for key in texts.filter(|key| !key.contains('\0') && here.insert(key.clone())) {
            let index = *indices.entry(key.clone().into_owned()).or_insert(keys.len());
            match keys.get_mut(index) {
                Some((_, lines)) => *lines += 1,
                None => keys.push((key.into_owned(), 1)),
            }
        }
    }
    let least = if objects > 1 { 2 } else { 1 };
    Ok(keys.into_iter().filter(|(_, lines)| *lines >= least).map(|(key, _)| key).collect())
}

impl Source for JsonLinesFile {
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

    /// Itself alone, as text may be compressed.
    fn chunks(&self) -> Vec<u64> {
        vec![self.bytes]
    }

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
        let mut lines = self.lines(progress)?;
        let names = self.columns.iter().map(|column| column.name.as_str());
        let indices = KeyIndices::of(names);
        TextRows::read(picks, TextParser::default(), sink, |rows, sink| {
            let Some(line) = lines.next()? else { return Ok(false) };
            let values = indices.values(line);
            if values.is_none() {
                sink.odd_row(OddRow::NotAnObject);
            }
            let values = values.unwrap_or_default();
            for (column, pick) in picks.iter().enumerate() {
                let value = values.get(pick.index).copied().flatten();
                let value = value.filter(|value| value.kind() != JsonKind::Null);
                let field = value.and_then(|value| field(value, pick.to));
                let parsed = rows.push(column, field.as_deref());
                if let Some(value) = value
                    && (field.is_none() || parsed == ParsedField::Unfit)
                {
                    let text = field.as_deref().unwrap_or(value.written());
                    sink.misfit(column, Misfit::Text(text));
                }
            }
            Ok(true)
        })
    }
}

/// The indices of keys among the columns of a file.
pub(super) struct KeyIndices<'a>(HashMap<&'a str, usize>);

impl<'a> KeyIndices<'a> {
    /// Keys in the order of their indices.
    pub(super) fn of(names: impl Iterator<Item = &'a str>) -> Self {
        Self(names.enumerate().map(|(index, name)| (name, index)).collect())
    }

    /// The values of the keys in the object that a line is, by their indices; of several with one
    /// key, the first, as in JSON_VALUE. `None` where the line is no object.
    pub(super) fn values<'l>(&self, line: &'l [u8]) -> Option<Vec<Option<JsonValue<'l>>>> {
        let mut values = vec![None; self.0.len()];
        for member in JsonMembers::of(line) {
            let (key, value) = member.ok()?;
            let index = key.text().and_then(|key| self.0.get(key.as_ref()));
            if let Some(found) = index.and_then(|index| values.get_mut(*index)) {
                found.get_or_insert(value);
            }
        }
        Some(values)
    }
}

/// The lines of a file.
pub(super) struct JsonLines<'a> {
    file: &'a JsonLinesFile,
    input: BufReader<Box<dyn Read>>,
    line: Vec<u8>,
}

impl JsonLines<'_> {
    /// The next line that is not blank; nothing of one that is too long.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, SourceError> {
        match self.advance() {
            Ok(true) => Ok(Some(&self.line)),
            Ok(false) => Ok(None),
            Err(error) => Err(self.file.failed(&error)),
        }
    }

    fn advance(&mut self) -> std::io::Result<bool> {
        loop {
            self.line.clear();
            let mut most = self.input.by_ref().take(MAX_LINE_BYTES as u64 + 1);
            if most.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(false);
            }
            if self.line.len() > MAX_LINE_BYTES && self.line.last() != Some(&b'\n') {
                self.line.clear();
                self.input.skip_until(b'\n')?;
                return Ok(true);
            }
            if !self.line.iter().all(u8::is_ascii_whitespace) {
                return Ok(true);
            }
        }
    }
}
