//! A shard of the units: the groups that each keeps, side by side, and the unit's sums in them.

use std::hash::BuildHasher;

use datafusion::error::DataFusionError;
use hashbrown::HashTable;

use super::packed::{PackedLayout, SlotPosition};
use super::pair_rows::{PairRows, reserve};
use super::rules::Rules;
use crate::intern::{inconsistent, too_many};

/// A sum of nothing: a unit whose rows in a group have no value adds nothing, not even the lower
/// bound. No sum of 64-bit values comes near it.
pub(super) const NOTHING: i128 = i128::MIN;

/// No group.
const EMPTY: u32 = u32::MAX;

/// Slots of an area that are searched one by one, from the first. In larger areas, a group is found
/// by its hash, and a quarter is left empty.
const FEW: usize = 8;

/// State of one unit. Its slots are an area of their own.
#[derive(Clone, Copy)]
pub(super) struct UnitState {
    /// Its number.
    pub(super) code: u64,
    /// Its keyed hash, once its slots are hashed.
    hash: u64,
    /// No new group with a hash from this one up is kept. Slots have hashes as soon as there are
    /// more groups than may be kept; before that, this is the greatest number.
    limit: u64,
    from: u32,
    room: u32,
    pub(super) count: u32,
}

impl UnitState {
    /// Whether its slots have hashes.
    fn is_hashed(&self) -> bool {
        self.limit != u64::MAX
    }

    /// The slots of its area.
    fn area(&self) -> std::ops::Range<usize> {
        self.from as usize..self.from as usize + self.room as usize
    }

    fn is_full(&self) -> bool {
        let room = self.room as usize;
        let most = if room <= FEW { room } else { room / 4 * 3 };
        self.count as usize >= most
    }
}

/// The room of a unit that has outgrown its area.
fn larger(room: usize, most: usize) -> usize {
    let next = (2 * room).max(2);
    if most <= FEW { next.min(most) } else { next }
}

/// The largest room of units that keep more than a few groups. An eighth more groups than are kept
/// fit into it, so that few rows find it full.
fn largest(most: usize) -> usize {
    let slots = most as u64 + most as u64 / 8 + 1;
    usize::try_from((slots * 4).div_ceil(3).next_power_of_two()).unwrap_or(usize::MAX)
}

/// Some of the units.
#[derive(Default)]
pub(super) struct UnitShard {
    /// Places of units by their numbers.
    table: HashTable<u32>,
    pub(super) units: Vec<UnitState>,
    /// Group and keyed hash of each slot, its counts and its other sums.
    pub(super) groups: Vec<u32>,
    hashes: Vec<u64>,
    counts: Vec<u64>,
    sums: Vec<i128>,
    /// Areas that units have left, by the logarithm of their room.
    left: Vec<Vec<u32>>,
    /// Rows with values that are kept one by one.
    rows: PairRows,
}

impl UnitShard {
    /// Reads all of the units' state in its order, which is faster than to wait for each piece when
    /// a row needs it.
    pub(super) fn bring_to_cache(&self) {
        /// A number of every 64 bytes, as much as the processor reads at once.
        fn touch<T: Copy>(all: &[T], number: impl Fn(T) -> u64) -> u64 {
            all.iter().step_by((64 / size_of::<T>()).max(1)).fold(0, |sum, &one| sum ^ number(one))
        }
        let units = touch(&self.units, |unit| unit.code);
        let groups = touch(&self.groups, u64::from);
        let hashes = touch(&self.hashes, |hash| hash);
        let counts = touch(&self.counts, |count| count);
        let sums = touch(&self.sums, |sum| sum as u64);
        std::hint::black_box(units ^ groups ^ hashes ^ counts ^ sums);
    }

    /// Adds packed rows.
    ///
    /// # Errors
    /// When there are more units or groups than can be numbered.
    pub(super) fn add(&mut self, rules: &Rules, rows: &[u64]) -> Result<(), DataFusionError> {
        let PackedLayout { width, counts, sums, lists, before_lists, .. } = &rules.layout;
        for row in rows.chunks_exact(*width) {
            let (code, group) = (row[0], row[1] as u32);
            let unit = self.unit(rules, code)?;
            // A row of a group that its unit does not keep adds nothing, also not to a list.
            let Some(slot) = self.slot(rules, unit, group)? else { continue };
            // NULL adds nothing, not even the lower bound: a unit without values has no sum.
            for (count, flag) in self.counts[slot * counts.len()..].iter_mut().zip(counts) {
                *count += flag.of_row(row);
            }
            for (sum, &(flag, word)) in self.sums[slot * sums.len()..].iter_mut().zip(sums) {
                if flag.of_row(row) == 1 {
                    add(sum, row[word].cast_signed());
                }
            }
            if !lists.is_empty() {
                self.rows.push(unit as u32, group, &row[*before_lists..]);
            }
        }
        Ok(())
    }

    /// The index of a unit, which is new or known.
    fn unit(&mut self, rules: &Rules, code: u64) -> Result<usize, DataFusionError> {
        let (units, finding) = (&self.units, &rules.finding);
        let same = |&unit_index: &u32| units[unit_index as usize].code == code;
        let hash = finding.hash_one(code);
        if let Some(&unit_index) = self.table.find(hash, same) {
            return Ok(unit_index as usize);
        }
        let unit_index = u32::try_from(units.len()).map_err(|_| too_many())?;
        let rehash = |&unit_index: &u32| finding.hash_one(units[unit_index as usize].code);
        self.table.insert_unique(hash, unit_index, rehash);
        reserve(&mut self.units, 1);
        let new = UnitState { code, hash: 0, limit: u64::MAX, from: 0, room: 0, count: 0 };
        self.units.push(new);
        Ok(unit_index as usize)
    }

    /// The slot of a unit's group, or the slot where it would be; of the latter there is one as
    /// long as the area is not full.
    fn find(&self, rules: &Rules, unit: &UnitState, group: u32) -> Result<usize, usize> {
        let UnitState { from, room, count, .. } = *unit;
        let (from, room) = (from as usize, room as usize);
        if room <= FEW {
            let end = from + count as usize;
            let found = self.groups[from..end].iter().position(|&other| other == group);
            return found.map_or(Err(end), |offset| Ok(from + offset));
        }
        let mut offset = rules.finding.hash_one(group) as usize & (room - 1);
        loop {
            match self.groups[from + offset] {
                other if other == group => return Ok(from + offset),
                EMPTY => return Err(from + offset),
                _ => offset = (offset + 1) & (room - 1),
            }
        }
    }

    /// The slot of a unit's group, if that is kept; makes room for it if its hash is small enough.
    fn slot(
        &mut self,
        rules: &Rules,
        unit_index: usize,
        group: u32,
    ) -> Result<Option<usize>, DataFusionError> {
        let mut unit = self.units[unit_index];
        if let Ok(slot) = self.find(rules, &unit, group) {
            return Ok(Some(slot));
        }
        if (unit.count as usize) < rules.most {
            // Below the limit every group is kept, whatever its hash.
            return self.insert(rules, unit_index, group, 0).map(Some);
        }
        if !unit.is_hashed() {
            unit = self.hash_slots(rules, unit_index);
        }
        let hash = rules.pair_hash(unit.hash, group);
        // Two groups of a unit with the same 64-bit hash would be kept by order of arrival; with a
        // secret key that is a matter of chance, and never of privacy.
        if hash >= unit.limit {
            return Ok(None);
        }
        if rules.most <= FEW {
            return self.replace_greatest(rules, unit_index, group, hash).map(Some);
        }
        if unit.is_full() && unit.room as usize >= largest(rules.most) {
            self.drop_greatest(rules, unit_index)?;
            if hash >= self.units[unit_index].limit {
                return Ok(None);
            }
        }
        self.insert(rules, unit_index, group, hash).map(Some)
    }

    /// A new slot for a group of a unit.
    fn insert(
        &mut self,
        rules: &Rules,
        unit_index: usize,
        group: u32,
        hash: u64,
    ) -> Result<usize, DataFusionError> {
        let unit = self.units[unit_index];
        if unit.is_full() {
            self.relocate(rules, unit_index, larger(unit.room as usize, rules.most), usize::MAX)?;
        }
        let Err(slot) = self.find(rules, &self.units[unit_index], group) else {
            return Err(inconsistent("a group that is new to a unit has a slot"));
        };
        self.units[unit_index].count += 1;
        self.put(rules, slot, group, hash);
        Ok(slot)
    }

    /// Gives a slot to a group. Whatever had it before leaves nothing in the sums.
    fn put(&mut self, rules: &Rules, slot: usize, group: u32, hash: u64) {
        let (counts, sums) = (rules.layout.counts.len(), rules.layout.sums.len());
        self.groups[slot] = group;
        self.hashes[slot] = hash;
        // One by one: `fill` of nothing calls the C library with the address of an empty vector,
        // which costs some processors more than all else here.
        self.counts[slot * counts..(slot + 1) * counts].iter_mut().for_each(|count| *count = 0);
        self.sums[slot * sums..(slot + 1) * sums].iter_mut().for_each(|sum| *sum = NOTHING);
    }

    /// Hashes all slots of a unit.
    fn hash_slots(&mut self, rules: &Rules, unit_index: usize) -> UnitState {
        let mut unit = self.units[unit_index];
        unit.hash = rules.unit_hash(unit.code);
        unit.limit = 0;
        for slot in unit.area() {
            if self.groups[slot] != EMPTY {
                let hash = rules.pair_hash(unit.hash, self.groups[slot]);
                self.hashes[slot] = hash;
                unit.limit = unit.limit.max(hash);
            }
        }
        self.units[unit_index] = unit;
        unit
    }

    /// Gives the slot of the greatest hash to another group, where there are few.
    fn replace_greatest(
        &mut self,
        rules: &Rules,
        unit_index: usize,
        group: u32,
        hash: u64,
    ) -> Result<usize, DataFusionError> {
        let unit = self.units[unit_index];
        let (mut victim, mut second) = (None, hash);
        for slot in unit.area() {
            if victim.is_none() && self.hashes[slot] == unit.limit {
                victim = Some(slot);
            } else {
                second = second.max(self.hashes[slot]);
            }
        }
        let slot = victim.ok_or_else(|| inconsistent("no slot of a unit has its greatest hash"))?;
        self.units[unit_index].limit = second;
        self.put(rules, slot, group, hash);
        Ok(slot)
    }

    /// Drops the groups of a unit that are beyond the most that may be kept.
    fn drop_greatest(&mut self, rules: &Rules, unit_index: usize) -> Result<(), DataFusionError> {
        let unit = self.units[unit_index];
        let mut hashes: Vec<u64> = self.slots(&unit).map(|slot| self.hashes[slot]).collect();
        let last = rules.most.saturating_sub(1);
        if last >= hashes.len() {
            return Ok(());
        }
        let (_, limit, _) = hashes.select_nth_unstable(last);
        self.units[unit_index].limit = *limit;
        self.relocate(rules, unit_index, unit.room as usize, rules.most)
    }

    /// Takes a unit to another area, with its slots that have hashes up to its limit: at most as
    /// many.
    fn relocate(
        &mut self,
        rules: &Rules,
        unit_index: usize,
        room: usize,
        most: usize,
    ) -> Result<(), DataFusionError> {
        let old = self.units[unit_index];
        let from = self.area(rules, room)?;
        let room = u32::try_from(room).map_err(|_| too_many())?;
        let mut new = UnitState { from, room, count: 0, ..old };
        let (counts, sums) = (rules.layout.counts.len(), rules.layout.sums.len());
        // With equal hashes, the smaller ones come first: one that was dropped would come back.
        let below = self.slots(&old).filter(|&slot| self.hashes[slot] < old.limit).count();
        let mut ties = most.saturating_sub(below);
        for slot in old.area() {
            let (group, hash) = (self.groups[slot], self.hashes[slot]);
            if group == EMPTY || hash > old.limit {
                continue;
            }
            if hash == old.limit {
                if ties == 0 {
                    continue;
                }
                ties -= 1;
            }
            let Err(to) = self.find(rules, &new, group) else {
                return Err(inconsistent("a unit has a group twice"));
            };
            self.groups[to] = group;
            self.hashes[to] = hash;
            // One by one, as in `put`.
            (0..counts).for_each(|i| self.counts[to * counts + i] = self.counts[slot * counts + i]);
            (0..sums).for_each(|i| self.sums[to * sums + i] = self.sums[slot * sums + i]);
            new.count += 1;
        }
        self.units[unit_index] = new;
        if old.room > 0 {
            let class = old.room.ilog2() as usize;
            if self.left.len() <= class {
                self.left.resize_with(class + 1, Vec::new);
            }
            self.left[class].push(old.from);
        }
        Ok(())
    }

    /// An empty area.
    fn area(&mut self, rules: &Rules, room: usize) -> Result<u32, DataFusionError> {
        let class = room.ilog2() as usize;
        // The largest areas are never left where they are no power of two.
        let left = if room.is_power_of_two() { self.left.get_mut(class) } else { None };
        if let Some(from) = left.and_then(Vec::pop) {
            self.groups[from as usize..from as usize + room].fill(EMPTY);
            return Ok(from);
        }
        let (from, end) = (self.groups.len(), self.groups.len() + room);
        // The last number is no slot, so that all sizes can be numbered.
        if u32::try_from(end).is_err() {
            return Err(too_many());
        }
        let (counts, sums) = (rules.layout.counts.len(), rules.layout.sums.len());
        extend(&mut self.groups, end, EMPTY);
        extend(&mut self.hashes, end, 0);
        extend(&mut self.counts, end * counts, 0);
        extend(&mut self.sums, end * sums, NOTHING);
        Ok(from as u32)
    }

    /// After all rows: drops what is beyond the limits, and brings kept rows in order.
    pub(super) fn settle(&mut self, rules: &Rules) -> Result<(), DataFusionError> {
        for unit_index in 0..self.units.len() {
            if self.units[unit_index].count as usize > rules.most {
                self.drop_greatest(rules, unit_index)?;
            }
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.settle(self.groups.len(), |unit, group| {
            self.find(rules, &self.units[unit as usize], group).ok()
        })?;
        self.rows = rows;
        Ok(())
    }

    /// Hands over all values of each pair of the list at that index, in some order: the place of
    /// the unit, the group and the values.
    pub(super) fn each_list(
        &self,
        rules: &Rules,
        index: usize,
        mut each: impl FnMut(usize, u32, &mut Vec<i64>),
    ) {
        let Some(field) = rules.layout.lists.get(index) else { return };
        let mut values = Vec::new();
        for (unit_index, unit) in self.units.iter().enumerate() {
            for slot in self.slots(unit) {
                values.clear();
                values.extend(self.rows.of_pair(slot).filter_map(|words| field.of(words)));
                if !values.is_empty() {
                    each(unit_index, self.groups[slot], &mut values);
                }
            }
        }
    }

    /// The slots of a unit.
    pub(super) fn slots(&self, unit: &UnitState) -> impl Iterator<Item = usize> {
        unit.area().filter(|&slot| self.groups[slot] != EMPTY)
    }

    /// The sum of a slot at that index.
    pub(super) fn sum(&self, rules: &Rules, slot: usize, index: usize) -> i128 {
        let (counts, sums) = (rules.layout.counts.len(), rules.layout.sums.len());
        match rules.layout.slots[index] {
            // Ones add up to nothing where there is none.
            SlotPosition::Count(index) => match self.counts[slot * counts + index] {
                0 => NOTHING,
                count => count.into(),
            },
            SlotPosition::Sum(index) => self.sums[slot * sums + index],
        }
    }

    /// Bytes of memory of the rows that are kept.
    pub(super) fn size_of_rows(&self) -> usize {
        self.rows.size()
    }

    /// Bytes of memory that it takes to bring them in order.
    pub(super) fn size_of_order(&self) -> usize {
        self.rows.size_of_order() + self.groups.capacity() * size_of::<u32>()
    }

    /// Bytes of memory of all else.
    pub(super) fn size(&self) -> usize {
        self.table.allocation_size()
            + self.units.capacity() * size_of::<UnitState>()
            + self.groups.capacity() * size_of::<u32>()
            + (self.hashes.capacity() + self.counts.capacity()) * size_of::<u64>()
            + self.sums.capacity() * size_of::<i128>()
            + self.left.iter().map(|left| left.capacity() * size_of::<u32>()).sum::<usize>()
    }
}

fn extend<T: Clone>(elements: &mut Vec<T>, len: usize, with: T) {
    reserve(elements, len - elements.len());
    elements.resize(len, with);
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
