//! LIKE, in one pass over the text, whatever the pattern.
//!
//! The segments of a pattern between its `%` are found one after the other. The first and the last
//! stand at the ends of the text. Each of the others is taken as far left as it is found: what
//! comes after it then has the most room, so no other choice can match where this one does not, and
//! nothing is tried twice.
//!
//! Shift-And finds a segment: a bit for each of its bytes says whether the segment up to there ends
//! with the byte that was read last. So a byte of text takes as many steps as the segment has words
//! of 64 bits. Library kernels compile patterns to regular expressions, which fails for some, and
//! does so only where there is a row to match.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::like_segments;

use super::counted::count;
use super::text_functions::texts;

/// A compiled pattern.
pub(super) struct LikePattern {
    /// The beginning of the text; all of it where there is no `%`.
    first: Vec<Option<u8>>,
    /// Segments that are found between, in this order.
    middle: Vec<LikeSegment>,
    /// The end of the text; `None` where there is no `%`.
    last: Option<Vec<Option<u8>>>,
    words: Vec<Word>,
    /// Whether letters of ASCII match in either case. The segments then have them in lower case.
    any_case: bool,
}

/// The bits of a segment: all words but its last hold bits of no other segment.
struct LikeSegment {
    /// Its first word.
    word: usize,
    /// How many words it has.
    words: usize,
    /// Its first bit, in the first word.
    start: u64,
    /// Its last bit, in the last word.
    end: u64,
}

/// 64 bits, each a byte of a segment.
struct Word {
    /// For each byte of text, the bits that it may stand at.
    fits: [u64; 256],
    /// The bits of `_`: the further bytes of a character change nothing there.
    any: u64,
}

/// Whether the byte is not the first of a character.
fn continues(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The end of the character that the byte before `at` belongs to.
fn end_of_character(text: &[u8], at: usize) -> usize {
    at + text.iter().skip(at).take_while(|byte| continues(**byte)).count()
}

impl LikePattern {
    pub(super) fn new(pattern: &str, any_case: bool) -> Self {
        let mut segments = like_segments(pattern);
        if any_case {
            segments.iter_mut().flatten().flatten().for_each(|byte| byte.make_ascii_lowercase());
        }
        let mut segments = segments.into_iter();
        let first = segments.next().unwrap_or_default();
        let last = segments.next_back();
        let (mut middle, mut words) = (Vec::new(), Vec::new());
        let mut free = 0;
        for segment in segments.filter(|segment| !segment.is_empty()) {
            // A segment that does not fit the rest of a word begins another.
            if segment.len() > free {
                words.extend(segment.chunks(64).map(|_| Word { fits: [0; 256], any: 0 }));
                free = segment.len().div_ceil(64) * 64;
            }
            let bits = words.len() * 64;
            let (from, to) = (bits - free, bits - free + segment.len());
            for (bit, byte) in (from..).zip(&segment) {
                let (word, bit) = (&mut words[bit / 64], 1 << (bit % 64));
                match byte {
                    Some(byte) => {
                        word.fits[usize::from(*byte)] |= bit;
                        if any_case {
                            word.fits[usize::from(byte.to_ascii_uppercase())] |= bit;
                        }
                    }
                    None => {
                        word.any |= bit;
                        let firsts = (0..=u8::MAX).filter(|byte| !continues(*byte));
                        firsts.for_each(|byte| word.fits[usize::from(byte)] |= bit);
                    }
                }
            }
            free = bits - to;
            middle.push(LikeSegment {
                word: from / 64,
                words: segment.len().div_ceil(64),
                start: 1 << (from % 64),
                end: 1 << ((to - 1) % 64),
            });
        }
        Self { first, middle, last, words, any_case }
    }

    /// Whether each text matches.
    pub(super) fn matched(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let found: BooleanArray = texts(array)?.iter().map(|t| Some(self.matches(t?))).collect();
        Ok(Arc::new(found))
    }

    fn matches(&self, text: &str) -> bool {
        let text = text.as_bytes();
        let Some(mut rest) = after(&self.first, text, self.any_case) else { return false };
        let Some(last) = &self.last else { return rest.is_empty() };
        match before(last, rest, self.any_case) {
            Some(between) => rest = between,
            None => return false,
        }
        for segment in &self.middle {
            match self.find(segment, rest) {
                Some(end) => rest = rest.get(end..).unwrap_or_default(),
                None => return false,
            }
        }
        true
    }

    /// Where the first occurrence of a segment ends.
    fn find(&self, segment: &LikeSegment, text: &[u8]) -> Option<usize> {
        let words = self.words.get(segment.word..segment.word + segment.words)?;
        let end = match words {
            [word] => {
                let mut state = 0;
                text.iter().position(|&byte| {
                    state = word.next(state, segment.start, byte);
                    state & segment.end != 0
                })
            }
            words => {
                let mut states = vec![0u64; words.len()];
                text.iter().position(|&byte| {
                    let mut carried = segment.start;
                    for (word, state) in words.iter().zip(&mut states) {
                        let next = word.next(*state, carried, byte);
                        carried = *state >> 63;
                        *state = next;
                    }
                    states.last().is_some_and(|state| state & segment.end != 0)
                })
            }
        };
        count(|| words.len() * end.map_or(text.len(), |end| end + 1));
        // The last character may be a `_` of several bytes.
        end.map(|end| end_of_character(text, end + 1))
    }
}

impl Word {
    /// The state after one more byte; `carried` is the lowest bit where a segment may begin there.
    fn next(&self, state: u64, carried: u64, byte: u8) -> u64 {
        let stays = if continues(byte) { state & self.any } else { 0 };
        ((state << 1) | carried) & self.fits[usize::from(byte)] | stays
    }
}

/// Whether a byte of text is that of the pattern.
fn same(pattern: u8, text: u8, any_case: bool) -> bool {
    pattern == if any_case { text.to_ascii_lowercase() } else { text }
}

/// The rest after `segment` in a text that begins with it.
fn after<'a>(segment: &[Option<u8>], text: &'a [u8], any_case: bool) -> Option<&'a [u8]> {
    count(|| segment.len().min(text.len()));
    let mut rest = text;
    for byte in segment {
        let (first, others) = rest.split_first()?;
        rest = match byte {
            Some(byte) if same(*byte, *first, any_case) => others,
            Some(_) => return None,
            None => others.get(end_of_character(others, 0)..)?,
        };
    }
    Some(rest)
}

/// The rest before `segment` in a text that ends with it.
fn before<'a>(segment: &[Option<u8>], text: &'a [u8], any_case: bool) -> Option<&'a [u8]> {
    count(|| segment.len().min(text.len()));
    let mut rest = text;
    for byte in segment.iter().rev() {
        let (last, others) = rest.split_last()?;
        rest = match byte {
            Some(byte) if same(*byte, *last, any_case) => others,
            Some(_) => return None,
            None => {
                let further = rest.iter().rev().take_while(|byte| continues(**byte)).count();
                rest.get(..rest.len().checked_sub(further + 1)?)?
            }
        };
    }
    Some(rest)
}
