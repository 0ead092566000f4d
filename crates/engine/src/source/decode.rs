//! From text in some encoding to UTF-8, as a stream.

use std::io::{Cursor, Read, Result};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8};

const BUFFER: usize = 1 << 16;

/// Room for the longest that one step of a decoder writes.
const LEAST: usize = 16;

/// A byte that UTF-8 never has. It stands for what cannot be decoded, so that the field that has it
/// is no text.
pub(super) const NOT_TEXT: u8 = 0xff;

/// The text of a file as UTF-8, without a byte order mark. A mark says more than `encoding`. UTF-8
/// is handed on as it is, valid or not.
pub(super) fn utf8(mut input: Box<dyn Read>, encoding: &'static Encoding) -> Result<Box<dyn Read>> {
    let mut start = Vec::new();
    input.by_ref().take(3).read_to_end(&mut start)?;
    let marked = Encoding::for_bom(&start);
    let (found, mark) = marked.unwrap_or((encoding, 0));
    start.drain(..mark);
    let input = Box::new(Cursor::new(start).chain(input));
    if found == UTF_8 {
        return Ok(input);
    }
    let decoder = found.new_decoder_without_bom_handling();
    let (raw, text) = (vec![0; BUFFER], vec![0; 4 * BUFFER]);
    Ok(Box::new(DecodedValues { input, decoder, raw, read: 0..0, text, ready: 0..0, ended: false }))
}

struct DecodedValues<R> {
    input: R,
    decoder: Decoder,
    /// Bytes of the file, of which `read` are still to be decoded.
    raw: Vec<u8>,
    read: std::ops::Range<usize>,
    /// Decoded text, of which `ready` is still to be handed on.
    text: Vec<u8>,
    ready: std::ops::Range<usize>,
    ended: bool,
}

impl<R: Read> DecodedValues<R> {
    /// Decodes more, until there is something to hand on or the input is at its end.
    fn decode(&mut self) -> Result<()> {
        let mut written = 0;
        while written == 0 {
            if self.read.is_empty() && !self.ended {
                self.read = 0..self.input.read(&mut self.raw)?;
                self.ended = self.read.is_empty();
            }
            while self.text.len() - written > LEAST {
                let (result, read, wrote) = self.decoder.decode_to_utf8_without_replacement(
                    &self.raw[self.read.clone()],
                    &mut self.text[written..],
                    self.ended,
                );
                self.read.start += read;
                written += wrote;
                match result {
                    DecoderResult::Malformed(..) => {
                        self.text[written] = NOT_TEXT;
                        written += 1;
                    }
                    DecoderResult::InputEmpty | DecoderResult::OutputFull => break,
                }
            }
            if self.ended {
                break;
            }
        }
        self.ready = 0..written;
        Ok(())
    }
}

impl<R: Read> Read for DecodedValues<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.ready.is_empty() && !self.ended {
            self.decode()?;
        }
        let bytes = self.ready.len().min(buffer.len());
        let from = self.ready.start;
        buffer[..bytes].copy_from_slice(&self.text[from..from + bytes]);
        self.ready.start += bytes;
        Ok(bytes)
    }
}
