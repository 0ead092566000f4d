//! State of the units while they are bounded: a limited number of groups of each, with its sums.

use std::hash::{BuildHasher, Hasher};

use datafusion::error::DataFusionError;
use hashbrown::HashTable;
use siphasher::sip::SipHasher24;

use super::{Accumulation, Listing, by_kind};
use crate::intern::{Hashes, Interner, too_many};
use crate::members::PartialMembers;
use crate::survey::{Shares, Survey};
use crate::value_lists::List;

/// No slot.
pub(super) const NONE: u32 = u32::MAX;

/// A sum of nothing: a unit whose rows in a group have no value adds nothing, not even the lower
/// bound. No sum of 64-bit values comes near it.
pub(super) const NOTHING: i128 = i128::MIN;

/// Most slots of a unit that are searched one by one, where they lie side by side.
const FEW: u32 = 32;

/// Limits on groups up to this are likely to be exceeded by units. Where its slots do not lie side
/// by side, they are then hashed while they are at hand.
const LIKELY: usize = 8;

/// An odd number whose multiples depend on all lower bits: 2^64 over the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// State of one unit.
#[derive(Clone, Copy)]
pub(super) struct Unit {
    /// Its last slot; the others follow from it by `next`.
    pub(super) last: u32,
    pub(super) count: u32,
    /// Whether its slots are in the table: they are not as long as they are few and side by side,
    /// as where rows come unit by unit.
    in_table: bool,
    /// Whether its slots have hashes: they need none until there are too many groups.
    hashed: bool,
    /// The greatest of them.
    greatest: u64,
}

pub(super) const NEW: Unit =
    Unit { last: NONE, count: 0, in_table: false, hashed: false, greatest: 0 };

/// Values of slots, also of pairs that a slot was later taken from.
#[derive(Default)]
pub(super) struct SlotList {
    slots: Vec<u32>,
    groups: Vec<u32>,
    values: Vec<i64>,
}

impl SlotList {
    pub(super) fn push(&mut self, slot: u32, group: u32, value: i64) {
        self.slots.push(slot);
        self.groups.push(group);
        self.values.push(value);
    }

    /// Bytes of memory.
    fn size(&self) -> usize {
        self.values.capacity() * (2 * size_of::<u32>() + size_of::<i64>())
    }

    /// Slots and values of the pairs that still have their slot. A pair that lost it never comes
    /// back, and one that has it has had it from its first row.
    pub(super) fn retained(&self, pairs: &[(u32, u32)]) -> impl Iterator<Item = (u32, i64)> {
        let all = self.slots.iter().zip(&self.groups).zip(&self.values);
        all.filter(|((slot, group), _)| pairs[**slot as usize].1 == **group)
            .map(|((&slot, _), &value)| (slot, value))
    }
}

/// State of all units.
pub(super) struct Units {
    pub(super) interner: Interner,
    pub(super) hashes: Hashes,
    pub(super) group_hashes: Hashes,
    /// With the sampling key.
    pub(super) hasher: SipHasher24,
    pub(super) most: usize,
    pub(super) units: Vec<Unit>,
    /// (unit, group), keyed hash and next slot of each slot, and its sums, one vector per
    /// measurement.
    pub(super) pair: Vec<(u32, u32)>,
    pub(super) hash: Vec<u64>,
    pub(super) next: Vec<u32>,
    pub(super) sums: Vec<Vec<i128>>,
    /// Values that are kept one by one.
    pub(super) lists: Vec<SlotList>,
    /// Slots by pair.
    pub(super) table: HashTable<u32>,
    pub(super) pair_hasher: foldhash::fast::RandomState,
}

impl Units {
    /// The slot of the pair, if its group is kept; makes room for it if its hash is small enough.
    ///
    /// # Errors
    /// When there are more pairs than can be numbered.
    pub(super) fn slot(&mut self, unit: u32, group: u32) -> Result<Option<u32>, DataFusionError> {
        let u = unit as usize;
        let Unit { last, count, in_table, .. } = self.units[u];
        if in_table {
            // This table only finds slots. Its hash is not secret and decides nothing that is
            // released.
            let pair_hash = self.pair_hasher.hash_one((unit, group));
            let same = |&s: &u32| self.pair[s as usize] == (unit, group);
            if let Some(&slot) = self.table.find(pair_hash, same) {
                return Ok(Some(slot));
            }
        } else if count > 0 {
            let from = last as usize + 1 - count as usize;
            let slots = &self.pair[from..=last as usize];
            if let Some(offset) = slots.iter().position(|&(_, other)| other == group) {
                return Ok(Some((from + offset) as u32));
            }
        }
        if (count as usize) < self.most {
            // Below the limit every group is kept, whatever its hash.
            return self.add(unit, group).map(Some);
        }
        if !self.units[u].hashed {
            self.hash_slots(u);
        }
        let hash = self.hash_of(unit, group);
        // Two groups of a unit with the same 64-bit hash would be kept by order of arrival; with a
        // secret key that is a matter of chance, and never of privacy.
        if hash >= self.units[u].greatest {
            return Ok(None);
        }
        let slot = self.replace_greatest(u, (unit, group), hash);
        // The pair that loses its slot must leave nothing in the sums of the pair that gets it.
        for sums in &mut self.sums {
            sums[slot as usize] = NOTHING;
        }
        Ok(Some(slot))
    }

    /// A new slot for the pair.
    fn add(&mut self, unit: u32, group: u32) -> Result<u32, DataFusionError> {
        let slot = u32::try_from(self.pair.len()).ok().filter(|&s| s != NONE);
        let Some(slot) = slot else { return Err(too_many()) };
        let state = &mut self.units[unit as usize];
        let aside = state.count > 0 && (state.last + 1 != slot || state.count >= FEW);
        self.pair.push((unit, group));
        self.hash.push(0);
        self.next.push(state.last);
        for sums in &mut self.sums {
            sums.push(NOTHING);
        }
        state.last = slot;
        state.count += 1;
        let hashed = state.hashed;
        if state.in_table {
            self.put(slot);
        } else if aside {
            state.in_table = true;
            let mut slot = slot;
            while slot != NONE {
                self.put(slot);
                slot = self.next[slot as usize];
            }
            if self.most <= LIKELY {
                self.hash_slots(unit as usize);
            }
        }
        if hashed {
            let hash = self.hash_of(unit, group);
            self.hash[slot as usize] = hash;
            let state = &mut self.units[unit as usize];
            state.greatest = state.greatest.max(hash);
        }
        Ok(slot)
    }

    /// Puts a slot into the table.
    fn put(&mut self, slot: u32) {
        let (pairs, hasher) = (&self.pair, &self.pair_hasher);
        let pair_hash = hasher.hash_one(pairs[slot as usize]);
        self.table.insert_unique(pair_hash, slot, |&s| hasher.hash_one(pairs[s as usize]));
    }

    /// The keyed hash of a unit and a group.
    fn hash_of(&self, unit: u32, group: u32) -> u64 {
        let mut hasher = self.hasher;
        // Values are hashed, not their numbers: numbers follow from the order of the rows, and the
        // same unit would keep other groups in another file order.
        hasher.write_u64(self.hashes.of(unit as usize));
        hasher.write_u64(self.group_hashes.of(group as usize));
        hasher.finish()
    }

    /// Hashes all slots of a unit.
    fn hash_slots(&mut self, unit: usize) {
        let mut greatest = 0;
        let mut slot = self.units[unit].last;
        while slot != NONE {
            let (unit, group) = self.pair[slot as usize];
            let hash = self.hash_of(unit, group);
            self.hash[slot as usize] = hash;
            greatest = greatest.max(hash);
            slot = self.next[slot as usize];
        }
        self.units[unit].hashed = true;
        self.units[unit].greatest = greatest;
    }

    /// The kept groups of each unit, in an order that is drawn for each by the keyed hashes of it
    /// and the groups: it does not follow from other units.
    pub(super) fn members(&self) -> PartialMembers {
        let mut members = PartialMembers::default();
        members.groups.reserve_exact(self.pair.len());
        let mut ordered: Vec<(u64, u128, u32)> = Vec::new();
        for (unit, state) in self.units.iter().enumerate() {
            let mut slot = state.last;
            while slot != NONE {
                let group = self.pair[slot as usize].1;
                let both = self.hashes.of(unit) ^ self.group_hashes.of(group as usize);
                // Where 64 bits are equal, all bits of the group's own hash decide, and not its
                // number, which follows from other units.
                let rank = self.group_hashes.place(group as usize);
                ordered.push((both.wrapping_mul(SPREAD), rank, group));
                slot = self.next[slot as usize];
            }
            ordered.sort_unstable();
            members.groups.extend(ordered.drain(..).map(|(.., group)| group));
            members.ends.push(members.groups.len() as u64);
            members.places.push(self.hashes.place(unit) as i128);
        }
        members
    }

    /// Hands over the values of the list at that index, clamped, with the slots of their pairs,
    /// where these are kept. Of a pair that has too many values, those with the least keyed hash of
    /// the pair, the value and the number of equal ones before it count. So the order of the rows
    /// does not matter, and all rows of the pair have the same chance.
    pub(super) fn each_chosen(
        &self,
        index: usize,
        listing: &Listing,
        mut each: impl FnMut(u32, i64),
    ) {
        let Some(list) = self.lists.get(index) else { return };
        let retained = list.retained(&self.pair);
        let mut entries: Vec<(u32, i64)> =
            retained.map(|(slot, value)| (slot, listing.clamped(value))).collect();
        entries.sort_unstable();
        if listing.distinct {
            // Before the limit, so that equal values take only one of the unit's places.
            entries.dedup();
        }
        let most = listing.rows as usize;
        for chunk in entries.chunk_by(|(one, _), (other, _)| one == other) {
            let Some(&(slot, _)) = chunk.first() else { continue };
            let values = chunk.iter().map(|&(_, value)| value);
            if chunk.len() <= most {
                values.for_each(|value| each(slot, value));
            } else {
                self.sampled(slot, values, most).for_each(|value| each(slot, value));
            }
        }
    }

    /// The values of the list at that index, by group.
    pub(super) fn list(&self, index: usize, listing: &Listing) -> List {
        let mut list = List::default();
        self.each_chosen(index, listing, |slot, value| {
            list.push(self.pair[slot as usize].1, value)
        });
        list
    }

    /// Adds up the values of the list at that index: those of each pair first, whose sum is within
    /// these bounds, and then all of a group.
    pub(super) fn add_up(
        &self,
        index: usize,
        listing: &Listing,
        within: (i64, i64),
        sums: &mut [i128],
    ) {
        // Each pair is summed and clamped by itself first; the group's sum has no bound.
        let mut of_pairs = vec![(NOTHING, 0u32); self.pair.len()];
        self.each_chosen(index, listing, |slot, value| {
            let (sum, count) = &mut of_pairs[slot as usize];
            add(sum, value);
            *count += 1;
        });
        for (&(sum, count), &(_, group)) in of_pairs.iter().zip(&self.pair) {
            sums[group as usize] += clamped(listing.within_mean(sum, count), within);
        }
    }

    /// At most `most` of a slot's values, which are sorted.
    fn sampled(
        &self,
        slot: u32,
        values: impl Iterator<Item = i64>,
        most: usize,
    ) -> impl Iterator<Item = i64> {
        let (unit, group) = self.pair[slot as usize];
        let pair = self.hash_of(unit, group);
        let (mut before, mut same) = (None, 0u64);
        let mut hashed: Vec<(u64, i64)> = values
            .map(|value| {
                same = if before == Some(value) { same + 1 } else { 0 };
                before = Some(value);
                let mut hasher = self.hasher;
                hasher.write_u64(pair);
                hasher.write_i64(value);
                // Equal values get different hashes, so that each has the same chance as a value
                // that is there once.
                hasher.write_u64(same);
                (hasher.finish(), value)
            })
            .collect();
        hashed.sort_unstable();
        hashed.into_iter().take(most).map(|(_, value)| value)
    }

    /// Contributions of each unit to its kept groups.
    pub(super) fn survey(&self, accumulators: &[Accumulation]) -> Survey {
        let (bounds, listings) = by_kind(accumulators);
        let shares = self.units.iter().map(|unit| {
            let (mut shares, mut slot) = (Shares::default(), unit.last);
            while slot != NONE {
                let sums = self.sums.iter().zip(&bounds);
                shares.add(
                    sums.map(|(sums, &bounds)| (clamped(sums[slot as usize], bounds), bounds)),
                );
                slot = self.next[slot as usize];
            }
            shares
        });
        let mut shares: Vec<Shares> = shares.collect();
        for (index, listing) in listings.iter().enumerate() {
            self.each_chosen(index, listing, |slot, value| {
                let (unit, _) = self.pair[slot as usize];
                shares[unit as usize].add_value(value, listing);
            });
        }
        Survey::Units { shares, members: self.members() }
    }

    /// Bytes of memory.
    pub(super) fn size(&self) -> usize {
        let slots = 2 * size_of::<u32>() + size_of::<u64>() + size_of::<u32>();
        let sums: usize = self.sums.iter().map(|sums| sums.capacity() * size_of::<i128>()).sum();
        let lists: usize = self.lists.iter().map(SlotList::size).sum();
        self.interner.size()
            + self.hashes.size()
            + self.group_hashes.size()
            + self.units.capacity() * size_of::<Unit>()
            + self.pair.capacity() * slots
            + sums
            + lists
            + self.table.allocation_size()
    }

    /// Gives the slot of a unit's greatest hash to another pair.
    fn replace_greatest(&mut self, unit: usize, pair: (u32, u32), hash: u64) -> u32 {
        let Unit { last, in_table, greatest, .. } = self.units[unit];
        let (mut victim, mut second) = (NONE, 0);
        let mut slot = last;
        while slot != NONE {
            let slot_hash = self.hash[slot as usize];
            if victim == NONE && slot_hash == greatest {
                victim = slot;
            } else {
                second = second.max(slot_hash);
            }
            slot = self.next[slot as usize];
        }
        if in_table {
            let pair_hash = self.pair_hasher.hash_one(self.pair[victim as usize]);
            if let Ok(entry) = self.table.find_entry(pair_hash, |&s| s == victim) {
                entry.remove();
            }
        }
        self.pair[victim as usize] = pair;
        self.hash[victim as usize] = hash;
        self.units[unit].greatest = second.max(hash);
        if in_table {
            self.put(victim);
        }
        victim
    }
}

/// Adds a row's value to a unit's sum.
pub(super) fn add(sum: &mut i128, value: i64) {
    let before = if *sum == NOTHING { 0 } else { *sum };
    *sum = before + i128::from(value);
}

/// Clamps a unit's sum to the bounds; no sum counts as zero.
pub(super) fn clamped(sum: i128, (low, high): (i64, i64)) -> i128 {
    if sum == NOTHING { 0 } else { sum.clamp(low.into(), high.into()) }
}
