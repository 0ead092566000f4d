//! Files of Arrow's IPC format, which Feather is too: as files, whose footer lists their batches,
//! and as streams, which are read from beginning to end.
//!
//! Messages are found and cut out here, so that no length is believed before it is compared with
//! the file's; the `arrow` crate decodes them and checks offsets and the keys of dictionaries. Text
//! is decoded as bytes: it is validated value by value, as a value must not make an error.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::ipc::convert::fb_to_schema;
use datafusion::arrow::ipc::reader::{RecordBatchDecoder, read_dictionary, read_footer_length};
use datafusion::arrow::ipc::{Block, Message, MessageHeader, RecordBatch};
use datafusion::arrow::ipc::{Schema as Written, root_as_footer, root_as_message};
use datafusion::arrow::record_batch::RecordBatch as DecodedValues;
use datafusion::parquet::errors::{ParquetError, Result as ParquetResult};
use datafusion::parquet::file::reader::{ChunkReader, Length};

use super::arrow_rows::hand_over;
use super::convert::{StoredType, plain, type_name};
use super::decoders::{Bytes, guard};
use super::sink::{ProgressSink, Sink};
use super::stored::{ColumnPick, Source, StoredColumn, planned_otherwise};
use super::{ReadProgress, SourceError, SourceIdentity};

/// How the format is named in errors.
const FORMAT: &str = "Arrow";

/// The first and the last bytes of a file.
const MAGIC: &[u8] = b"ARROW1";

/// The length of a file's end: its footer's length, and the magic bytes.
const END: usize = 10;

/// The first bytes of a message; older ones have none.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// How much longer than its compressed bytes a buffer can be: a block of Zstandard that repeats one
/// byte has 4 bytes for 128 KiB.
const MOST_COMPRESSED: usize = 1 << 15;

type Dictionaries = HashMap<i64, ArrayRef>;

/// A file of Arrow's IPC format.
#[derive(Debug)]
pub(super) struct ArrowFile<B = PathBuf> {
    bytes: B,
    identity: SourceIdentity,
    columns: Vec<StoredColumn>,
    /// With bytes in place of text.
    schema: SchemaRef,
    form: IpcForm,
}

/// Where a file has its batches.
#[derive(Debug)]
enum IpcForm {
    /// In its footer.
    File {
        batches: Vec<MessageSpan>,
        dictionaries: Vec<MessageSpan>,
        /// Dictionaries, once they have been read.
        known: Mutex<Option<Arc<Dictionaries>>>,
    },
    /// After its schema, up to the end.
    Stream { from: u64, to: u64 },
}

/// The bytes of a message.
#[derive(Clone, Copy, Debug)]
struct MessageSpan {
    at: u64,
    /// Length of the part before the message's body.
    head: usize,
    length: usize,
}

fn wrong(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

impl<B: Bytes> ArrowFile<B> {
    /// Reads the schema and the places of the batches.
    pub(super) fn open(bytes: B) -> Result<Self, SourceError> {
        let path = bytes.path().to_owned();
        guard(&path, FORMAT, || {
            let reader = bytes.open()?;
            let length = reader.len();
            let start = within(0, MAGIC.len(), length).is_ok();
            let is_file = start && reader.get_bytes(0, MAGIC.len())? == MAGIC;
            let (schema, form) = match is_file {
                true => footer(&reader, length)?,
                false => stream(&reader, length)?,
            };
            let (columns, schema) = as_bytes(&schema);
            Ok(Self { identity: bytes.identity()?, bytes, columns, schema, form })
        })
    }

    /// Hands over the batches of a chunk, with the columns in these places and the bytes of each,
    /// until it is enough.
    fn each(
        &self,
        chunk: usize,
        indices: &[usize],
        work: &mut dyn FnMut(DecodedValues, u64) -> ControlFlow<()>,
    ) -> Result<(), SourceError> {
        let path = self.bytes.path();
        let reader = guard(path, FORMAT, || Ok(self.bytes.open()?))?;
        let read = |span: MessageSpan| -> ParquetResult<Buffer> {
            Ok(Buffer::from(reader.get_bytes(span.at, span.length)?))
        };
        match &self.form {
            IpcForm::File { batches, dictionaries, known } => {
                let span = *batches.get(chunk).ok_or_else(planned_otherwise)?;
                let batch = guard(path, FORMAT, || {
                    // Of several readers all but the first wait.
                    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                    let all = match &mut *known {
                        Some(all) => Arc::clone(all),
                        none => {
                            let mut all = Dictionaries::new();
                            for &span in dictionaries {
                                self.decode(&read(span)?, span.head, indices, &mut all)?;
                            }
                            Arc::clone(none.insert(Arc::new(all)))
                        }
                    };
                    drop(known);
                    let mut dictionaries = Dictionaries::clone(&all);
                    self.decode(&read(span)?, span.head, indices, &mut dictionaries)
                })?;
                if let Some(batch) = batch {
                    let _ = work(batch, span.length as u64);
                }
                Ok(())
            }
            // It is one chunk, and reading it twice would count its rows twice.
            IpcForm::Stream { .. } if chunk > 0 => Err(planned_otherwise()),
            IpcForm::Stream { from, to } => {
                let (mut dictionaries, mut at) = (Dictionaries::new(), *from);
                loop {
                    let read = guard(path, FORMAT, || {
                        let Some(span) = next(&reader, at, *to)? else { return Ok(None) };
                        let batch =
                            self.decode(&read(span)?, span.head, indices, &mut dictionaries)?;
                        Ok(Some((span, batch)))
                    })?;
                    let Some((span, batch)) = read else { return Ok(()) };
                    at = span.at + span.length as u64;
                    if batch.is_some_and(|batch| work(batch, span.length as u64).is_break()) {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// A batch, or nothing where the message adds to the dictionaries.
    fn decode(
        &self,
        bytes: &Buffer,
        head: usize,
        indices: &[usize],
        dictionaries: &mut Dictionaries,
    ) -> ParquetResult<Option<DecodedValues>> {
        let cut = bytes.get(..head).ok_or_else(|| wrong("a message without a head"))?;
        let message = message_of(cut)?;
        let (body, version) = (bytes.slice(head), message.version());
        match message.header_type() {
            MessageHeader::DictionaryBatch => {
                let batch = message.header_as_dictionary_batch();
                let batch = batch.ok_or_else(|| wrong("a message without a dictionary"))?;
                check_buffers(batch.data(), &body)?;
                read_dictionary(&body, batch, &self.schema, dictionaries, &version)?;
                Ok(None)
            }
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch();
                check_buffers(batch, &body)?;
                let batch = batch.ok_or_else(|| wrong("a message without a batch"))?;
                let schema = Arc::clone(&self.schema);
                let decoder =
                    RecordBatchDecoder::try_new(&body, batch, schema, dictionaries, &version)?;
                Ok(Some(decoder.with_projection(Some(indices)).read_record_batch()?))
            }
            _ => Err(wrong("a message of another kind")),
        }
    }
}

impl<B: Bytes> Source for ArrowFile<B> {
    fn identity(&self) -> SourceIdentity {
        self.identity.clone()
    }

    fn is_unchanged(&self) -> bool {
        self.bytes.are_still(&self.identity)
    }

    fn path(&self) -> &Path {
        self.bytes.path()
    }

    fn columns(&self) -> &[StoredColumn] {
        &self.columns
    }

    fn chunks(&self) -> Vec<u64> {
        match &self.form {
            IpcForm::File { batches, .. } => {
                batches.iter().map(|span| span.length as u64).collect()
            }
            IpcForm::Stream { from, to } => vec![to - from],
        }
    }

    fn read(
        &self,
        chunk: usize,
        picks: &[ColumnPick],
        progress: &Arc<ReadProgress>,
        sink: &mut dyn Sink,
    ) -> Result<(), SourceError> {
        let mut indices: Vec<usize> = picks.iter().map(|pick| pick.index).collect();
        indices.sort_unstable();
        indices.dedup();
        let mut failed = false;
        self.each(chunk, &indices, &mut |batch, bytes| {
            let all = (batch.num_rows() as u64).max(1);
            let mut sink = ProgressSink { sink: &mut *sink, progress, bytes, all };
            let columns = batch.columns().iter().map(plain).collect::<Option<Vec<_>>>();
            let Some(columns) = columns else {
                failed = true;
                return ControlFlow::Break(());
            };
            match hand_over((&columns, batch.num_rows()), &indices, picks, &mut sink) {
                Ok(true) => ControlFlow::Continue(()),
                ended => {
                    failed = ended.is_err();
                    ControlFlow::Break(())
                }
            }
        })?;
        if failed { Err(planned_otherwise()) } else { Ok(()) }
    }
}

/// Checks that a span lies within a file.
fn within(at: u64, length: usize, file: u64) -> ParquetResult<()> {
    match at.checked_add(length as u64) {
        Some(end) if end <= file => Ok(()),
        _ => Err(wrong("a length goes beyond the end of the file")),
    }
}

/// The schema and the batches of a file with a footer.
fn footer(reader: &impl ChunkReader, length: u64) -> ParquetResult<(Schema, IpcForm)> {
    let short = || wrong("the file is too short");
    let end = length.checked_sub(END as u64).ok_or_else(short)?;
    let last = <[u8; END]>::try_from(&*reader.get_bytes(end, END)?).map_err(|_| short())?;
    let size = read_footer_length(last)?;
    let from = end.checked_sub(size as u64).ok_or_else(short)?;
    let bytes = reader.get_bytes(from, size)?;
    let footer = root_as_footer(&bytes).map_err(|_| wrong("the footer cannot be read"))?;
    let spans = |blocks: Option<&[Block]>| -> ParquetResult<Vec<MessageSpan>> {
        blocks.into_iter().flatten().map(|block| span(block, length)).collect()
    };
    let form = IpcForm::File {
        batches: spans(footer.recordBatches().map(|all| blocks(all.iter())).as_deref())?,
        dictionaries: spans(footer.dictionaries().map(|all| blocks(all.iter())).as_deref())?,
        known: Mutex::default(),
    };
    Ok((schema_of(footer.schema())?, form))
}

fn blocks<'a>(all: impl Iterator<Item = &'a Block>) -> Vec<Block> {
    all.copied().collect()
}

fn span(block: &Block, file: u64) -> ParquetResult<MessageSpan> {
    let negative = |_| wrong("a length is below zero");
    let at = u64::try_from(block.offset()).map_err(negative)?;
    let head = usize::try_from(block.metaDataLength()).map_err(negative)?;
    let body = usize::try_from(block.bodyLength()).map_err(negative)?;
    let length = head.checked_add(body).ok_or_else(|| wrong("a length is too large"))?;
    within(at, length, file)?;
    Ok(MessageSpan { at, head, length })
}

/// The schema of a stream, and where its batches are.
fn stream(reader: &impl ChunkReader, length: u64) -> ParquetResult<(Schema, IpcForm)> {
    let first = next(reader, 0, length)?.ok_or_else(|| wrong("the file is empty"))?;
    let bytes = reader.get_bytes(first.at, first.length)?;
    let head = bytes.get(..first.head).ok_or_else(|| wrong("a message without a head"))?;
    let schema = schema_of(message_of(head)?.header_as_schema())?;
    Ok((schema, IpcForm::Stream { from: first.at + first.length as u64, to: length }))
}

/// The message at a place of a stream; `None` at its end.
fn next(reader: &impl ChunkReader, at: u64, file: u64) -> ParquetResult<Option<MessageSpan>> {
    if at >= file {
        return Ok(None);
    }
    let four = |at: u64| -> ParquetResult<[u8; 4]> {
        within(at, 4, file)?;
        <[u8; 4]>::try_from(&*reader.get_bytes(at, 4)?).map_err(|_| wrong("bytes are missing"))
    };
    let (prefix, size) = match four(at)? {
        CONTINUATION => (8, four(at + 4)?),
        size => (4, size),
    };
    let size = usize::try_from(i32::from_le_bytes(size)).map_err(|_| wrong("a negative length"))?;
    if size == 0 {
        return Ok(None);
    }
    let head = prefix + size;
    within(at, head, file)?;
    let bytes = reader.get_bytes(at, head)?;
    let body = usize::try_from(message_of(&bytes)?.bodyLength());
    let length = body.ok().and_then(|body| head.checked_add(body));
    let length = length.ok_or_else(|| wrong("a length is too large"))?;
    within(at, length, file)?;
    Ok(Some(MessageSpan { at, head, length }))
}

/// The message in these bytes.
fn message_of(bytes: &[u8]) -> ParquetResult<Message<'_>> {
    let prefix = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
    let message = bytes.get(prefix..).unwrap_or_default();
    root_as_message(message).map_err(|_| wrong("a message cannot be read"))
}

fn schema_of(written: Option<Written<'_>>) -> ParquetResult<Schema> {
    let written = written.ok_or_else(|| wrong("there is no schema"))?;
    if !written.endianness().equals_to_target_endianness() {
        return Err(wrong("its numbers are of another byte order"));
    }
    Ok(fb_to_schema(written))
}

/// Checks that a batch's buffers lie within its body, and that those that are compressed do not
/// claim to be longer than they can be: memory is set aside for what they claim.
fn check_buffers(batch: Option<RecordBatch<'_>>, body: &Buffer) -> ParquetResult<()> {
    let batch = batch.ok_or_else(|| wrong("a message without a batch"))?;
    if batch.length() < 0 {
        return Err(wrong("a negative number of rows"));
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let span = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
        let bytes = span.and_then(|(from, length)| body.get(from..from.checked_add(length)?));
        let bytes = bytes.ok_or_else(|| wrong("a buffer goes beyond its message"))?;
        if batch.compression().is_some()
            && let Some((size, rest)) = bytes.split_first_chunk()
            && usize::try_from(i64::from_le_bytes(*size))
                .is_ok_and(|size| size / MOST_COMPRESSED > rest.len())
        {
            return Err(wrong("a buffer is longer than its compressed bytes can be"));
        }
    }
    Ok(())
}

/// The columns, and the schema changed so that text is decoded as bytes, which look the same.
fn as_bytes(schema: &Schema) -> (Vec<StoredColumn>, SchemaRef) {
    let (mut columns, mut fields) = (Vec::new(), Vec::new());
    for field in schema.fields() {
        let file_type = field.data_type();
        columns.push(StoredColumn {
            name: field.name().clone(),
            stored: StoredType::of(file_type),
            file_type: type_name(file_type),
        });
        fields.push(Field::clone(field).with_data_type(bytes_for(file_type)));
    }
    (columns, Arc::new(Schema::new(fields)))
}

fn bytes_for(file_type: &DataType) -> DataType {
    match file_type {
        DataType::Utf8 => DataType::Binary,
        DataType::LargeUtf8 => DataType::LargeBinary,
        DataType::Utf8View => DataType::BinaryView,
        DataType::Dictionary(keys, values) => {
            DataType::Dictionary(keys.clone(), Box::new(bytes_for(values)))
        }
        other => other.clone(),
    }
}
