//! The units while they are bounded: rows wait until there are enough of them, and then go to their
//! units shard by shard, so that the units of a shard are in the processor's cache.

use std::hash::{BuildHasher, RandomState};

use datafusion::arrow::array::ArrayRef;
use datafusion::error::DataFusionError;

use super::packed::{PackedLayout, PackedRows};
use super::pair_rows::choose;
use super::rules::Rules;
use super::shard::{UnitShard, UnitState, clamped};
use super::{Accumulation, ContributionBatch, Listing, by_kind};
use crate::contributions::SamplingKey;
use crate::intern::too_many;
use crate::members::PartialMembers;
use crate::survey::UnitShares;

/// Shards of the units where there are many rows. Each partition has its own. All three numbers are
/// small in tests, so that few rows come through all of the code.
const SHARDS: usize = if cfg!(test) { 4 } else { 256 };

/// Bytes of rows from which on there are shards.
const MANY: usize = if cfg!(test) { 1 << 10 } else { 128 << 10 };

/// Fewest bytes of rows that go to their units at once, where there are shards.
const LEAST: usize = if cfg!(test) { 2 << 10 } else { 1 << 20 };

/// An odd number whose multiples depend on all lower bits: 2^64 over the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Learns the bytes of memory, and fails where there is no more.
pub(crate) type OnGrowth<'a> = dyn FnMut(usize) -> Result<(), DataFusionError> + 'a;

/// State of all units.
pub(super) struct UnitStates {
    pub(super) rules: Rules,
    /// The batch that is being added.
    batch: Vec<u64>,
    waiting: PackedRows,
    shards: Vec<UnitShard>,
    /// Bytes of the shards, of the rows that they keep, and of the most that any shard takes to
    /// bring these in order.
    bytes: usize,
    bytes_of_rows: usize,
    order: usize,
    /// Bytes of rows that wait beyond the fewest: by chance, so that nobody can choose a table in
    /// which one row more begins the work on all that wait.
    more: usize,
}

impl UnitStates {
    /// Of nobody yet, for units and groups like those of the rows.
    pub(super) fn new(
        rows: &ContributionBatch,
        unit: &ArrayRef,
        limit: (SamplingKey, usize),
        layout: PackedLayout,
    ) -> Result<Self, DataFusionError> {
        let waiting = PackedRows::new(1, layout.width);
        let rules = Rules::new(unit, &rows.keys, limit, layout)?;
        Ok(Self {
            rules,
            batch: Vec::new(),
            waiting,
            shards: vec![UnitShard::default()],
            bytes: 0,
            bytes_of_rows: 0,
            order: 0,
            more: RandomState::new().hash_one(()) as usize % LEAST,
        })
    }

    /// Adds a batch, with the number of each row's group. `grown` learns the bytes of memory
    /// whenever some were added beside those of the batch.
    pub(super) fn add(
        &mut self,
        rows: &ContributionBatch,
        unit: &ArrayRef,
        (group_ids, groups): (&[usize], usize),
        grown: &mut OnGrowth<'_>,
    ) -> Result<(), DataFusionError> {
        if rows.keys.is_empty() {
            self.rules.groups.of_single_group();
        } else {
            self.rules.groups.extend(&rows.keys, group_ids, groups)?;
        }
        // The greatest number is none.
        if u32::try_from(groups).is_err() {
            return Err(too_many());
        }
        let codes = self.rules.codes(unit)?;
        let Rules { layout, .. } = &self.rules;
        layout.pack((&codes, group_ids), &rows.values, &mut self.batch)?;
        let shards = self.shards.len();
        for row in self.batch.chunks_exact(layout.width) {
            self.waiting.push(shard_of(&self.rules, row[0], shards), row);
        }
        if shards == 1 && self.waiting.bytes() >= MANY + self.more % MANY {
            self.split();
        }
        // The more there is of the units, the more rows share the time to bring it to the cache.
        if self.shards.len() > 1 && self.waiting.bytes() >= self.more + LEAST.max(self.bytes / 2) {
            self.absorb(grown)?;
        }
        Ok(())
    }

    /// Splits the units. None has a state yet, as all rows wait.
    fn split(&mut self) {
        let width = self.rules.layout.width;
        let mut waiting = PackedRows::new(SHARDS, width);
        for chunk in self.waiting.take(0) {
            for row in chunk.chunks_exact(width) {
                waiting.push(shard_of(&self.rules, row[0], SHARDS), row);
            }
        }
        self.waiting = waiting;
        self.shards.resize_with(SHARDS, UnitShard::default);
    }

    /// Takes the rows that wait to their units.
    ///
    /// # Errors
    /// Also when there is too little memory.
    pub(super) fn absorb(&mut self, grown: &mut OnGrowth<'_>) -> Result<(), DataFusionError> {
        let others = self.rules.size() + self.batch_size() + self.waiting.size();
        for (index, shard) in self.shards.iter_mut().enumerate() {
            // Where few rows wait for a shard, these look for their units' state one by one.
            if self.waiting.bytes_of(index) >= shard.size() / 8 {
                shard.bring_to_cache();
            }
            self.bytes -= shard.size();
            self.bytes_of_rows -= shard.size_of_rows();
            let chunks = self.waiting.take(index);
            for rows in &chunks {
                shard.add(&self.rules, rows)?;
            }
            self.waiting.give(chunks);
            self.bytes += shard.size();
            self.bytes_of_rows += shard.size_of_rows();
            self.order = self.order.max(shard.size_of_order());
            grown(others + self.bytes + self.bytes_of_rows + self.order)?;
        }
        Ok(())
    }

    /// Hands over the shards, one by one, after the last row.
    pub(super) fn finish(
        mut self,
        mut each: impl FnMut(&Rules, &UnitShard) -> Result<(), DataFusionError>,
    ) -> Result<(), DataFusionError> {
        // No row waits any more where the end was announced.
        self.absorb(&mut |_| Ok(()))?;
        let Self { rules, waiting, shards, .. } = self;
        drop(waiting);
        for mut shard in shards {
            shard.settle(&rules)?;
            each(&rules, &shard)?;
        }
        Ok(())
    }

    /// Bytes of memory.
    pub(super) fn size(&self) -> usize {
        let others = self.rules.size() + self.batch_size() + self.waiting.size();
        others + self.bytes + self.bytes_of_rows + self.order
    }

    fn batch_size(&self) -> usize {
        self.batch.capacity() * size_of::<u64>()
    }
}

/// The shard that a unit is in.
fn shard_of(rules: &Rules, code: u64, shards: usize) -> usize {
    // Other bits than those by which the shard's table finds the unit.
    (rules.finding.hash_one(code) >> 32) as usize & (shards - 1)
}

impl UnitShard {
    /// Adds what the units contribute to the totals of their kept groups: how many they are, and
    /// their sums within bounds.
    pub(super) fn add_totals(&self, rules: &Rules, bounds: &[(i64, i64)], totals: &mut [i128]) {
        let width = 1 + bounds.len();
        for slot in self.units.iter().flat_map(|unit| self.slots(unit)) {
            let group = self.groups[slot] as usize;
            let totals = &mut totals[group * width..(group + 1) * width];
            // Slots are pairs of a unit and a kept group, so each unit counts once in a group.
            totals[0] += 1;
            for (index, (total, &bounds)) in totals[1..].iter_mut().zip(bounds).enumerate() {
                // A unit's rows are added up before they are clamped. Clamping each row would leave
                // the unit's sum without a bound.
                *total += clamped(self.sum(rules, slot, index), bounds);
            }
        }
    }

    /// Hands over the values that count of each pair of the list at that index: the place of the
    /// unit, the group and the values.
    pub(super) fn each_chosen(
        &self,
        rules: &Rules,
        index: usize,
        listing: &Listing,
        mut each: impl FnMut(usize, u32, &[i64]),
    ) {
        self.each_list(rules, index, |unit, group, values| {
            choose(rules, (self.units[unit].code, group), listing, values);
            each(unit, group, values);
        });
    }

    /// Records the kept groups of each unit, in an order that is drawn for each by the keyed hashes
    /// of it and the groups: it does not follow from other units.
    pub(super) fn add_members(&self, rules: &Rules, members: &mut PartialMembers) {
        let mut ordered: Vec<(u64, u128, u32)> = Vec::new();
        let mut add = |unit: &UnitState| {
            let hash = rules.unit_hash(unit.code);
            for slot in self.slots(unit) {
                let group = self.groups[slot];
                let both = hash ^ rules.groups.of(group as usize);
                // Where 64 bits are equal, all bits of the group's own hash decide, and not its
                // number, which follows from other units.
                let rank = rules.groups.rank(group as usize);
                ordered.push((both.wrapping_mul(SPREAD), rank, group));
            }
            ordered.sort_unstable();
            members.groups.extend(ordered.drain(..).map(|(.., group)| group));
            members.ends.push(members.groups.len() as u64);
            members.ranks.push(rules.rank(unit.code).cast_signed());
        };
        self.units.iter().for_each(&mut add);
    }

    /// Records the contributions of each unit to its kept groups, in the order of its members.
    pub(super) fn add_shares(
        &self,
        rules: &Rules,
        accumulators: &[Accumulation],
        all: &mut Vec<UnitShares>,
    ) {
        let (bounds, listings) = by_kind(accumulators);
        let first = all.len();
        for unit in &self.units {
            let mut shares = UnitShares::default();
            for slot in self.slots(unit) {
                let sums = bounds.iter().enumerate();
                shares.add(sums.map(|(index, &bounds)| {
                    (clamped(self.sum(rules, slot, index), bounds), bounds)
                }));
            }
            all.push(shares);
        }
        for (index, listing) in listings.iter().enumerate() {
            self.each_chosen(rules, index, listing, |unit, _, values| {
                values.iter().for_each(|&value| all[first + unit].add_value(value, listing));
            });
        }
    }
}
