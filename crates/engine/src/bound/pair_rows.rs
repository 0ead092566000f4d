//! Rows of units whose values are kept one by one, until it is known which of them count.

use std::hash::Hasher;

use datafusion::error::DataFusionError;

use super::rules::Rules;
use crate::contributions::Listing;
use crate::intern::too_many;

/// Rows of a chunk.
const CHUNK: usize = 64;

/// No pair.
const NONE: u32 = u32::MAX;

/// Rows of a shard of the units, also of groups that were later pushed out: a word with the place
/// of the unit in the shard and the group, and those of the values. All values of a row are in one
/// place, and are put in the order of their pairs at once.
#[derive(Default)]
pub(super) struct PairRows {
    chunks: Vec<Vec<u64>>,
    rows: usize,
    /// Words of a row.
    width: usize,
    /// The numbers of rows, pair by pair, and where the rows of each pair end; once all are there.
    order: Vec<u32>,
    ends: Vec<u32>,
}

impl PairRows {
    pub(super) fn push(&mut self, unit: u32, group: u32, values: &[u64]) {
        if self.rows.is_multiple_of(CHUNK) {
            self.width = 1 + values.len();
            reserve(&mut self.chunks, 1);
            self.chunks.push(Vec::with_capacity(CHUNK * self.width));
        }
        self.rows += 1;
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(u64::from(unit) << 32 | u64::from(group));
            chunk.extend_from_slice(values);
        }
    }

    /// The words of a row's values.
    fn row(&self, row: u32) -> &[u64] {
        let (chunk, offset) = (row as usize / CHUNK, row as usize % CHUNK);
        &self.chunks[chunk][offset * self.width + 1..(offset + 1) * self.width]
    }

    /// Brings the rows in the order of their pairs, of which there are `pairs`. `pair` numbers them
    /// by unit and group; rows of pairs that are not kept have no number, and are left out. A pair
    /// that was pushed out never came back, and one that is kept has been from its first row.
    ///
    /// # Errors
    /// When there are more rows than can be numbered.
    pub(super) fn settle(
        &mut self,
        pairs: usize,
        pair: impl Fn(u32, u32) -> Option<usize>,
    ) -> Result<(), DataFusionError> {
        if self.rows == 0 {
            return Ok(());
        }
        // The last number is no pair.
        if self.rows.max(pairs) >= NONE as usize {
            return Err(too_many());
        }
        let rows = self.chunks.iter().flat_map(|chunk| chunk.chunks_exact(self.width));
        let of_row = rows.map(|row| pair((row[0] >> 32) as u32, row[0] as u32));
        let of_row: Vec<u32> = of_row.map(|pair| pair.map_or(NONE, |pair| pair as u32)).collect();
        let mut ends = vec![0u32; pairs + 1];
        for &pair in of_row.iter().filter(|pair| **pair != NONE) {
            ends[pair as usize + 1] += 1;
        }
        for pair in 0..pairs {
            ends[pair + 1] += ends[pair];
        }
        // Until all rows are there, the end of a pair's rows is where its next one goes.
        let mut order = vec![0; ends[pairs] as usize];
        for (row, &pair) in of_row.iter().enumerate().filter(|(_, pair)| **pair != NONE) {
            let end = &mut ends[pair as usize];
            order[*end as usize] = row as u32;
            *end += 1;
        }
        (self.order, self.ends) = (order, ends);
        Ok(())
    }

    /// The words of the values of a pair's rows, after all are in order.
    pub(super) fn of_pair(&self, pair: usize) -> impl Iterator<Item = &[u64]> {
        let end = |pair: usize| self.ends.get(pair).map_or(0, |&end| end as usize);
        let start = pair.checked_sub(1).map_or(0, end);
        self.order.get(start..end(pair)).unwrap_or_default().iter().map(|&row| self.row(row))
    }

    /// Bytes of memory of the rows.
    pub(super) fn size(&self) -> usize {
        self.chunks.len() * CHUNK * self.width * size_of::<u64>()
            + self.chunks.capacity() * size_of::<Vec<u64>>()
    }

    /// Bytes of memory that their order takes, beside that of the pairs.
    pub(super) fn size_of_order(&self) -> usize {
        2 * self.rows * size_of::<u32>()
    }
}

/// Leaves of a pair's values those that count, clamped. Of too many, those with the least keyed
/// hash of the pair, the value and the number of equal ones before it count. So the order of the
/// rows does not matter, and all rows of the pair have the same chance.
pub(super) fn choose(
    rules: &Rules,
    (code, group): (u64, u32),
    listing: &Listing,
    values: &mut Vec<i64>,
) {
    values.iter_mut().for_each(|value| *value = listing.clamped(*value));
    if listing.distinct {
        // Before the limit, so that equal values take only one of the unit's places.
        values.sort_unstable();
        values.dedup();
    }
    let most = listing.rows as usize;
    if values.len() <= most {
        return;
    }
    // Equal values are side by side.
    values.sort_unstable();
    let pair = rules.pair_hash(rules.unit_hash(code), group);
    let (mut before, mut same) = (None, 0u64);
    let hashed = values.iter().map(|&value| {
        same = if before == Some(value) { same + 1 } else { 0 };
        before = Some(value);
        let mut hasher = rules.hasher;
        hasher.write_u64(pair);
        hasher.write_i64(value);
        // Equal values get different hashes, so that each has the same chance as a value that is
        // there once.
        hasher.write_u64(same);
        (hasher.finish(), value)
    });
    let mut hashed: Vec<(u64, i64)> = hashed.collect();
    hashed.select_nth_unstable(most);
    values.clear();
    values.extend(hashed.into_iter().take(most).map(|(_, value)| value));
}

/// Makes room for more elements: by a quarter, not twice, as there are many shards.
pub(super) fn reserve<T>(elements: &mut Vec<T>, more: usize) {
    if elements.capacity() - elements.len() < more {
        elements.reserve_exact(more.max(elements.len() / 4).max(16));
    }
}
