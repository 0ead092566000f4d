//! Values of a unit in a group that are kept one by one, until it is known which of them count.

use std::hash::Hasher;

use super::rules::Rules;
use crate::contributions::Listing;

/// A value, after the place of its unit in the part and its group.
type PairValue = (u32, u32, i64);

/// Values of a part of the units, also of groups that were later pushed out.
#[derive(Default)]
pub(super) struct PairValues {
    entries: Vec<PairValue>,
}

impl PairValues {
    pub(super) fn push(&mut self, entry: PairValue) {
        reserve(&mut self.entries, 1);
        self.entries.push(entry);
    }

    /// Drops the values of pairs that are not kept, and sorts the others. A pair that was pushed
    /// out never came back, and one that is kept has been from its first row.
    pub(super) fn settle(&mut self, kept: impl Fn(u32, u32) -> bool) {
        self.entries.retain(|&(unit, group, _)| kept(unit, group));
        self.entries.sort_unstable();
    }

    /// Unit, group and sorted values of each pair.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, u32, impl Iterator<Item = i64>)> {
        let pairs = self.entries.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1));
        pairs.filter_map(|own| {
            let &(unit, group, _) = own.first()?;
            Some((unit as usize, group, own.iter().map(|&(.., value)| value)))
        })
    }

    /// Bytes of memory.
    pub(super) fn size(&self) -> usize {
        self.entries.capacity() * size_of::<PairValue>()
    }
}

/// Leaves of a pair's sorted values those that count, clamped. Of too many, those with the least
/// keyed hash of the pair, the value and the number of equal ones before it count. So the order of
/// the rows does not matter, and all rows of the pair have the same chance.
pub(super) fn choose(
    rules: &Rules,
    (code, group): (u64, u32),
    listing: &Listing,
    values: &mut Vec<i64>,
) {
    values.iter_mut().for_each(|value| *value = listing.clamped(*value));
    if listing.distinct {
        // Before the limit, so that equal values take only one of the unit's places.
        values.dedup();
    }
    let most = listing.rows as usize;
    if values.len() <= most {
        return;
    }
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
    hashed.sort_unstable();
    values.clear();
    values.extend(hashed.into_iter().take(most).map(|(_, value)| value));
}

/// Makes room for more elements: by a quarter, not twice, as there are many parts.
pub(super) fn reserve<T>(elements: &mut Vec<T>, more: usize) {
    if elements.capacity() - elements.len() < more {
        elements.reserve_exact(more.max(elements.len() / 4).max(16));
    }
}
