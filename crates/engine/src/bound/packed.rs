//! Rows as words, apart by their units, until there are enough of them to be bounded.
//!
//! A row is a few words: its unit, its group with a bit for each sum that it has a value for, the
//! values of sums, and those that are kept one by one, as few bits as their ranges need. Rows of a
//! shard are in chunks, which go back to a pool: so memory follows from the number of rows, however
//! they are spread over the shards.

use datafusion::arrow::array::{Array, Int64Array};
use datafusion::error::DataFusionError;

use super::list_fields::{ListField, list_fields};
use crate::contributions::Accumulation;
use crate::intern::inconsistent;

/// Rows of a chunk.
const CHUNK: usize = 32;

/// Rows that are packed at once: some tens of KiB.
const ROWS_AT_ONCE: usize = if cfg!(test) { 16 } else { 512 };

/// Bits of a row's second word that number its group; the others are flags.
const GROUP_BITS: usize = 32;

/// The bit that says whether a row has a value for a sum.
#[derive(Clone, Copy)]
pub(super) struct Flag {
    word: usize,
    shift: usize,
}

impl Flag {
    fn of(sum: usize) -> Self {
        let bit = GROUP_BITS + sum;
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
    /// Words before those of values that are kept one by one.
    pub(super) before_lists: usize,
    /// Sums of ones: no word has their values.
    pub(super) counts: Vec<Flag>,
    /// All other sums, with the word of the value.
    pub(super) sums: Vec<(Flag, usize)>,
    /// Values that are kept one by one: where they are in the words after the others.
    pub(super) lists: Vec<ListField>,
    /// Where each sum is, in the order of the accumulators that keep sums.
    pub(super) slots: Vec<SlotPosition>,
    /// Where each accumulator is among counts, sums or lists.
    columns: Vec<PackedColumn>,
}

/// Where the values of an accumulator go.
enum PackedColumn {
    Count(usize),
    Sum(usize),
    List(usize),
}

impl PackedLayout {
    /// For accumulators; `ones` says which of them add up only ones. Values that are kept one by
    /// one are clamped at once, unless `whole`.
    pub(super) fn new(accumulators: &[Accumulation], ones: &[bool], whole: bool) -> Self {
        let listings = accumulators.iter().filter_map(|accumulator| match accumulator {
            Accumulation::Values(listing) => Some(listing.range),
            Accumulation::Sum { .. } => None,
        });
        let (lists, list_words) = list_fields(listings, whole);
        let flags = accumulators.len() - lists.len();
        let head = 1 + (GROUP_BITS + flags).div_ceil(64);
        let (mut counts, mut sums, mut slots) = (Vec::new(), Vec::new(), Vec::new());
        let (mut columns, mut listed) = (Vec::new(), 0..);
        for (index, accumulator) in accumulators.iter().enumerate() {
            let flag = Flag::of(counts.len() + sums.len());
            columns.push(match (accumulator, ones.get(index)) {
                (Accumulation::Values(_), _) => {
                    PackedColumn::List(listed.next().unwrap_or_default())
                }
                (Accumulation::Sum { .. }, Some(true)) => {
                    slots.push(SlotPosition::Count(counts.len()));
                    counts.push(flag);
                    PackedColumn::Count(counts.len() - 1)
                }
                (Accumulation::Sum { .. }, _) => {
                    slots.push(SlotPosition::Sum(sums.len()));
                    sums.push((flag, head + sums.len()));
                    PackedColumn::Sum(sums.len() - 1)
                }
            });
        }
        let before_lists = head + sums.len();
        let width = before_lists + list_words;
        Self { width, before_lists, counts, sums, lists, slots, columns }
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
        if groups.len() != rows
            || values.len() != self.columns.len()
            || values.iter().any(|values| values.len() != rows)
        {
            return Err(inconsistent("units, groups and values of rows differ in number"));
        }
        words.clear();
        words.resize(rows * self.width, 0);
        // Column by column, as each is of one kind, but for few rows at once, which stay in the
        // processor's nearest cache.
        for from in (0..rows).step_by(ROWS_AT_ONCE) {
            let to = rows.min(from + ROWS_AT_ONCE);
            let words = &mut words[from * self.width..to * self.width];
            let pairs = codes[from..to].iter().zip(&groups[from..to]);
            for (row, (&code, &group)) in words.chunks_exact_mut(self.width).zip(pairs) {
                (row[0], row[1]) = (code, group as u64);
            }
            for (values, column) in values.iter().zip(&self.columns) {
                self.pack_column(&values.slice(from, to - from), column, words)?;
            }
        }
        Ok(())
    }

    fn pack_column(
        &self,
        values: &Int64Array,
        column: &PackedColumn,
        words: &mut [u64],
    ) -> Result<(), DataFusionError> {
        let nulls = values.nulls().filter(|nulls| nulls.null_count() > 0);
        let rows = words.chunks_exact_mut(self.width);
        let flag = match *column {
            PackedColumn::Count(index) => {
                if values.iter().flatten().any(|value| value != 1) {
                    return Err(inconsistent("an accumulator that counts rows has other values"));
                }
                self.counts[index]
            }
            PackedColumn::Sum(index) => {
                let (flag, word) = self.sums[index];
                for (row, value) in rows.zip(values.values()) {
                    row[word] = value.cast_unsigned();
                }
                flag
            }
            PackedColumn::List(index) => {
                let field = &self.lists[index];
                let rows = rows.map(|row| &mut row[self.before_lists..]).zip(values.values());
                match nulls {
                    None => rows.for_each(|(row, &value)| field.set(row, value)),
                    Some(nulls) => {
                        let rows = rows.zip(nulls).filter(|(_, valid)| *valid);
                        rows.for_each(|((row, &value), _)| field.set(row, value));
                    }
                }
                return Ok(());
            }
        };
        let rows = words.chunks_exact_mut(self.width);
        match nulls {
            None => rows.for_each(|row| row[flag.word] |= 1 << flag.shift),
            Some(nulls) => {
                for (row, valid) in rows.zip(nulls) {
                    row[flag.word] |= u64::from(valid) << flag.shift;
                }
            }
        }
        Ok(())
    }
}

/// Rows that are to be bounded.
pub(super) struct PackedRows {
    /// The chunk of each shard that is being filled.
    open: Vec<Vec<u64>>,
    /// Full chunks of each shard.
    full: Vec<Vec<Vec<u64>>>,
    pool: Vec<Vec<u64>>,
    /// How many chunks there are, and how many words each has.
    chunks: usize,
    words: usize,
    rows: usize,
}

impl PackedRows {
    /// Of no row yet.
    pub(super) fn new(shards: usize, width: usize) -> Self {
        let (mut open, mut full) = (Vec::new(), Vec::new());
        open.resize_with(shards, Vec::new);
        full.resize_with(shards, Vec::new);
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

    /// Where a shard's next row goes.
    fn end(&mut self, shard: usize) -> &mut Vec<u64> {
        self.rows += 1;
        let open = &mut self.open[shard];
        if open.is_empty() || open.len() == self.words {
            let next = self.pool.pop().unwrap_or_else(|| {
                self.chunks += 1;
                Vec::with_capacity(self.words)
            });
            let full = std::mem::replace(open, next);
            if !full.is_empty() {
                self.full[shard].push(full);
            }
        }
        open
    }

    /// Adds a row.
    pub(super) fn push(&mut self, shard: usize, row: &[u64]) {
        self.end(shard).extend_from_slice(row);
    }

    /// Bytes of the rows of a shard.
    pub(super) fn bytes_of(&self, shard: usize) -> usize {
        let words = self.full[shard].len() * self.words + self.open[shard].len();
        words * size_of::<u64>()
    }

    /// Takes the chunks of a shard away.
    pub(super) fn take(&mut self, shard: usize) -> Vec<Vec<u64>> {
        let mut chunks = std::mem::take(&mut self.full[shard]);
        chunks.push(std::mem::take(&mut self.open[shard]));
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
