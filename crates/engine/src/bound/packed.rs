//! Rows as words, apart by their units, until there are enough of them to be bounded.
//!
//! A row is a few words: its unit, its group with a bit for each accumulator that it has a value
//! for, and the values. Rows of a part are in chunks, which go back to a pool: so memory follows
//! from the number of rows, however they are spread over the parts.

use datafusion::arrow::array::{Array, Int64Array};
use datafusion::error::DataFusionError;

use crate::contributions::Accumulation;
use crate::intern::inconsistent;

/// Rows of a chunk.
const CHUNK: usize = 32;

/// Bits of a row's second word that number its group; the others are flags.
const GROUP_BITS: usize = 32;

/// The bit that says whether a row has a value for an accumulator.
#[derive(Clone, Copy)]
pub(super) struct Flag {
    word: usize,
    shift: usize,
}

impl Flag {
    fn of(accumulator: usize) -> Self {
        let bit = GROUP_BITS + accumulator;
        Self { word: 1 + bit / 64, shift: bit % 64 }
    }

    /// One if the row has a value, else zero.
    pub(super) fn of_row(self, row: &[u64]) -> u64 {
        (row[self.word] >> self.shift) & 1
    }
}

/// Where a sum is among those of a slot.
#[derive(Clone, Copy)]
pub(super) enum SlotPosition {
    /// Among the counts.
    Count(usize),
    /// Among all others.
    Sum(usize),
}

/// The words of a row.
pub(super) struct PackedLayout {
    pub(super) width: usize,
    /// Words before the values.
    head: usize,
    /// Sums of ones: no word has their values.
    pub(super) counts: Vec<Flag>,
    /// All other sums, with the word of the value.
    pub(super) sums: Vec<(Flag, usize)>,
    /// Values that are kept one by one.
    pub(super) lists: Vec<(Flag, usize)>,
    /// Where each sum is, in the order of the accumulators that keep sums.
    pub(super) places: Vec<SlotPosition>,
    /// Whether each accumulator adds up only ones.
    ones: Vec<bool>,
}

impl PackedLayout {
    /// For accumulators; `ones` says which of them add up only ones.
    pub(super) fn new(accumulators: &[Accumulation], ones: &[bool]) -> Self {
        let head = 1 + (GROUP_BITS + accumulators.len()).div_ceil(64);
        let mut layout = Self {
            width: head,
            head,
            counts: Vec::new(),
            sums: Vec::new(),
            lists: Vec::new(),
            places: Vec::new(),
            ones: Vec::new(),
        };
        for (index, accumulator) in accumulators.iter().enumerate() {
            let (flag, word) = (Flag::of(index), layout.width);
            let is_sum = matches!(accumulator, Accumulation::Sum { .. });
            let one = is_sum && ones.get(index) == Some(&true);
            layout.ones.push(one);
            layout.width += usize::from(!one);
            if one {
                layout.places.push(SlotPosition::Count(layout.counts.len()));
                layout.counts.push(flag);
            } else if is_sum {
                layout.places.push(SlotPosition::Sum(layout.sums.len()));
                layout.sums.push((flag, word));
            } else {
                layout.lists.push((flag, word));
            }
        }
        layout
    }

    /// Packs a batch: the number of each row's unit, that of its group, and its values.
    ///
    /// # Errors
    /// For values that should be ones and are not.
    pub(super) fn pack(
        &self,
        (codes, groups): (&[u64], &[usize]),
        values: &[Int64Array],
        words: &mut Vec<u64>,
    ) -> Result<(), DataFusionError> {
        let rows = codes.len();
        if groups.len() != rows || values.iter().any(|values| values.len() != rows) {
            return Err(inconsistent("units, groups and values of rows differ in number"));
        }
        words.clear();
        words.resize(codes.len() * self.width, 0);
        // Column by column, as each is of one kind.
        for ((row, &code), &group) in words.chunks_exact_mut(self.width).zip(codes).zip(groups) {
            (row[0], row[1]) = (code, group as u64);
        }
        let mut word = self.head;
        for ((index, values), &one) in values.iter().enumerate().zip(&self.ones) {
            let flag = Flag::of(index);
            if one && values.iter().flatten().any(|value| value != 1) {
                return Err(inconsistent("an accumulator that counts rows has other values"));
            }
            let nulls = values.nulls().filter(|nulls| nulls.null_count() > 0);
            for (place, row) in words.chunks_exact_mut(self.width).enumerate() {
                let valid = nulls.is_none_or(|nulls| nulls.is_valid(place));
                row[flag.word] |= u64::from(valid) << flag.shift;
            }
            if !one {
                for (row, value) in words.chunks_exact_mut(self.width).zip(values.values()) {
                    row[word] = value.cast_unsigned();
                }
                word += 1;
            }
        }
        Ok(())
    }
}

/// Rows that are to be bounded.
pub(super) struct Packed {
    /// The chunk of each part that is being filled.
    open: Vec<Vec<u64>>,
    /// Full chunks of each part.
    full: Vec<Vec<Vec<u64>>>,
    pool: Vec<Vec<u64>>,
    /// How many chunks there are, and how many words each has.
    chunks: usize,
    words: usize,
    rows: usize,
}

impl Packed {
    /// Of no row yet.
    pub(super) fn new(parts: usize, width: usize) -> Self {
        let (mut open, mut full) = (Vec::new(), Vec::new());
        open.resize_with(parts, Vec::new);
        full.resize_with(parts, Vec::new);
        Self { open, full, pool: Vec::new(), chunks: 0, words: CHUNK * width, rows: 0 }
    }

    /// Bytes of the rows.
    pub(super) fn bytes(&self) -> usize {
        self.rows * (self.words / CHUNK) * size_of::<u64>()
    }

    /// Bytes of memory.
    pub(super) fn size(&self) -> usize {
        self.chunks * (self.words * size_of::<u64>() + size_of::<Vec<u64>>())
            + self.open.capacity() * 2 * size_of::<Vec<u64>>()
    }

    /// Where a part's next row goes.
    fn end(&mut self, part: usize) -> &mut Vec<u64> {
        self.rows += 1;
        let open = &mut self.open[part];
        if open.is_empty() || open.len() == self.words {
            let next = self.pool.pop().unwrap_or_else(|| {
                self.chunks += 1;
                Vec::with_capacity(self.words)
            });
            let full = std::mem::replace(open, next);
            if !full.is_empty() {
                self.full[part].push(full);
            }
        }
        open
    }

    /// Adds a row.
    pub(super) fn push(&mut self, part: usize, row: &[u64]) {
        self.end(part).extend_from_slice(row);
    }

    /// Bytes of the rows of a part.
    pub(super) fn bytes_of(&self, part: usize) -> usize {
        let words = self.full[part].len() * self.words + self.open[part].len();
        words * size_of::<u64>()
    }

    /// Takes the chunks of a part away.
    pub(super) fn take(&mut self, part: usize) -> Vec<Vec<u64>> {
        let mut chunks = std::mem::take(&mut self.full[part]);
        chunks.push(std::mem::take(&mut self.open[part]));
        let words: usize = chunks.iter().map(Vec::len).sum();
        self.rows -= words / (self.words / CHUNK);
        chunks
    }

    /// Gives chunks back.
    pub(super) fn give(&mut self, chunks: Vec<Vec<u64>>) {
        for mut chunk in chunks.into_iter().filter(|chunk| chunk.capacity() > 0) {
            chunk.clear();
            self.pool.push(chunk);
        }
    }
}
