//! Contribution bounding: what each privacy unit may add to each group, whatever the data.
//!
//! All rows of a unit come to the same [`Bounder`]. It adds up a unit's rows per group, keeps at
//! most `max_groups_contributed` groups of each unit, those with the least keyed hash of (unit,
//! group), and clamps each sum before it joins its group. A group that a unit's hashes push out
//! never comes back, since the largest hash that is kept only falls: so which groups are kept does
//! not depend on the order of the rows, and no more than the kept ones need memory.

use std::hash::{BuildHasher, Hasher};

use datafusion::arrow::array::{Array, ArrayRef, Int64Array};
use datafusion::error::DataFusionError;
use hashbrown::HashTable;
use hushtable_mechanisms::Memberships;
use siphasher::sip::SipHasher24;

use crate::intern::{Hashes, Interner, inconsistent};

/// Least and greatest contribution of one unit to one group, for each measurement.
pub(crate) type Bounds = Vec<(i64, i64)>;

/// The key of the hash that says which of a unit's groups are kept; secret, and fresh for every
/// query.
#[derive(Clone, Copy)]
pub(crate) struct SamplingKey(pub(crate) [u8; 16]);

/// One batch of rows, ready to be bounded.
pub(crate) struct Rows {
    /// Group keys; none where there is a single group.
    pub(crate) keys: Vec<ArrayRef>,
    /// Unit of each row; `None` where every row is a unit.
    pub(crate) unit: Option<ArrayRef>,
    /// What each row adds to each measurement, in lattice units; NULL for nothing.
    pub(crate) measures: Vec<Int64Array>,
    /// How many rows there are.
    pub(crate) rows: usize,
}

/// Exact sums of some of the data, by group.
pub(crate) struct Partial {
    pub(crate) keys: Vec<ArrayRef>,
    /// Number of units.
    pub(crate) units: Vec<i64>,
    /// Sums of clamped contributions, for each measurement.
    pub(crate) sums: Vec<Vec<i128>>,
    /// Which groups each unit is in, where they are asked for.
    pub(crate) members: Option<PartialMembers>,
}

/// The groups of each unit.
#[derive(Default)]
pub(crate) struct PartialMembers {
    /// End of each unit's part of `groups`.
    ends: Vec<usize>,
    groups: Vec<u32>,
    /// Keyed hash of each unit.
    places: Vec<u128>,
}

impl PartialMembers {
    /// Adds them to others, with the groups' numbers there.
    pub(crate) fn add_to(
        &self,
        all: &mut Memberships,
        ids: &[usize],
    ) -> Result<(), DataFusionError> {
        // Groups are numbered with 32 bits in memberships.
        if ids.iter().any(|&id| u32::try_from(id).is_err()) {
            return Err(too_many());
        }
        let mut start = 0;
        for (&end, &place) in self.ends.iter().zip(&self.places) {
            let groups = self.groups.get(start..end).unwrap_or_default();
            all.push(
                place,
                groups.iter().filter_map(|&g| ids.get(g as usize)).map(|&id| id as u32),
            );
            start = end;
        }
        Ok(())
    }
}

/// No slot.
const NONE: u32 = u32::MAX;

/// A sum of nothing: a unit whose rows in a group have no value adds nothing, not even the lower
/// bound. No sum of 64-bit values comes near it.
const NOTHING: i128 = i128::MIN;

/// Most slots of a unit that are searched one by one, where they lie side by side.
const FEW: u32 = 32;

/// What is kept of one unit.
#[derive(Clone, Copy)]
struct Unit {
    /// Its last slot; the others follow from it by `next`.
    last: u32,
    count: u32,
    /// Whether its slots are in the table: they are not as long as they are few and side by side, as
    /// where rows come unit by unit.
    in_table: bool,
    /// Whether its slots have hashes: they need none until there are too many groups.
    hashed: bool,
    /// The greatest of them.
    greatest: u64,
}

const NEW: Unit = Unit { last: NONE, count: 0, in_table: false, hashed: false, greatest: 0 };

/// What is kept of the units.
struct Units {
    interner: Interner,
    hashes: Hashes,
    group_hashes: Hashes,
    key: [u8; 16],
    most: usize,
    units: Vec<Unit>,
    /// (unit, group), keyed hash and next slot of each slot, and its sums, one vector per
    /// measurement.
    pair: Vec<(u32, u32)>,
    hash: Vec<u64>,
    next: Vec<u32>,
    sums: Vec<Vec<i128>>,
    /// Slots by pair.
    table: HashTable<u32>,
    pair_hasher: foldhash::fast::RandomState,
}

impl Units {
    /// The slot of the pair, if its group is kept; makes room for it if its hash is small enough.
    ///
    /// # Errors
    /// When there are more pairs than can be numbered.
    fn slot(&mut self, unit: u32, group: u32) -> Result<Option<u32>, DataFusionError> {
        let u = unit as usize;
        let Unit { last, count, in_table, .. } = self.units[u];
        if in_table {
            let place = self.pair_hasher.hash_one((unit, group));
            let same = |&s: &u32| self.pair[s as usize] == (unit, group);
            if let Some(&slot) = self.table.find(place, same) {
                return Ok(Some(slot));
            }
        } else if count > 0 {
            let from = last as usize + 1 - count as usize;
            let slots = &self.pair[from..=last as usize];
            if let Some(place) = slots.iter().position(|&(_, own)| own == group) {
                return Ok(Some((from + place) as u32));
            }
        }
        if (count as usize) < self.most {
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
        for sums in &mut self.sums {
            sums[slot as usize] = NOTHING;
        }
        Ok(Some(slot))
    }

    /// A new slot for the pair.
    fn add(&mut self, unit: u32, group: u32) -> Result<u32, DataFusionError> {
        let slot = u32::try_from(self.pair.len()).ok().filter(|&s| s != NONE);
        let Some(slot) = slot else { return Err(too_many()) };
        let own = &mut self.units[unit as usize];
        let aside = own.count > 0 && (own.last + 1 != slot || own.count >= FEW);
        self.pair.push((unit, group));
        self.hash.push(0);
        self.next.push(own.last);
        for sums in &mut self.sums {
            sums.push(NOTHING);
        }
        own.last = slot;
        own.count += 1;
        if own.in_table {
            self.put(slot);
        } else if aside {
            own.in_table = true;
            let mut slot = slot;
            while slot != NONE {
                self.put(slot);
                slot = self.next[slot as usize];
            }
        }
        Ok(slot)
    }

    /// Puts a slot into the table.
    fn put(&mut self, slot: u32) {
        let (pairs, hasher) = (&self.pair, &self.pair_hasher);
        let place = hasher.hash_one(pairs[slot as usize]);
        self.table.insert_unique(place, slot, |&s| hasher.hash_one(pairs[s as usize]));
    }

    /// The keyed hash of a unit and a group.
    fn hash_of(&self, unit: u32, group: u32) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
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

    /// The kept groups of each unit.
    fn members(&self) -> PartialMembers {
        let mut members = PartialMembers::default();
        members.groups.reserve_exact(self.pair.len());
        for (unit, own) in self.units.iter().enumerate() {
            let mut slot = own.last;
            while slot != NONE {
                members.groups.push(self.pair[slot as usize].1);
                slot = self.next[slot as usize];
            }
            members.ends.push(members.groups.len());
            members.places.push(self.hashes.place(unit));
        }
        members
    }

    /// Gives the slot of a unit's greatest hash to another pair.
    fn replace_greatest(&mut self, unit: usize, pair: (u32, u32), hash: u64) -> u32 {
        let Unit { last, in_table, greatest, .. } = self.units[unit];
        let (mut victim, mut second) = (NONE, 0);
        let mut slot = last;
        while slot != NONE {
            let own = self.hash[slot as usize];
            if victim == NONE && own == greatest {
                victim = slot;
            } else {
                second = second.max(own);
            }
            slot = self.next[slot as usize];
        }
        if in_table {
            let place = self.pair_hasher.hash_one(self.pair[victim as usize]);
            if let Ok(entry) = self.table.find_entry(place, |&s| s == victim) {
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

/// Bounds the rows of some units, and adds them up by group.
pub(crate) struct Bounder {
    bounds: Bounds,
    keyed: bool,
    sampling: Option<(SamplingKey, usize)>,
    groups: Option<Interner>,
    units: Option<Units>,
    /// Whether to tell which groups each unit is in.
    with_members: bool,
    /// Where every row is a unit: sums as they grow.
    row_units: Vec<i64>,
    row_sums: Vec<Vec<i128>>,
}

impl Bounder {
    /// For rows that are their own units; `keyed` where there are group keys.
    pub(crate) fn of_rows(bounds: Bounds, keyed: bool) -> Self {
        let row_sums = vec![Vec::new(); bounds.len()];
        Self {
            bounds,
            keyed,
            sampling: None,
            groups: None,
            units: None,
            with_members: false,
            row_units: Vec::new(),
            row_sums,
        }
    }

    /// For units with several rows, each in at most `most_groups` groups.
    pub(crate) fn of_units(
        bounds: Bounds,
        keyed: bool,
        key: SamplingKey,
        most_groups: u32,
    ) -> Self {
        Self { sampling: Some((key, most_groups as usize)), ..Self::of_rows(bounds, keyed) }
    }

    /// The same, and it will tell which groups each unit is in.
    pub(crate) fn with_members(self) -> Self {
        Self { with_members: true, ..self }
    }

    /// Adds a batch.
    ///
    /// # Errors
    /// When there are more than 2^32 different groups or units, or too little memory.
    pub(crate) fn add(&mut self, rows: &Rows) -> Result<(), DataFusionError> {
        match (&rows.unit, self.sampling) {
            (Some(unit), Some((key, most))) => self.add_units(rows, unit, key, most),
            (None, None) => self.add_rows(rows),
            // Rows must never count as units where units have several rows.
            _ => Err(inconsistent()),
        }
    }

    fn add_rows(&mut self, rows: &Rows) -> Result<(), DataFusionError> {
        let single = vec![0; if rows.keys.is_empty() { rows.rows } else { 0 }];
        let (ids, groups) = group_ids(&mut self.groups, rows, &single)?;
        self.row_units.resize(groups, 0);
        for &id in ids {
            self.row_units[id] += 1;
        }
        for ((measure, sums), &(low, high)) in
            rows.measures.iter().zip(&mut self.row_sums).zip(&self.bounds)
        {
            sums.resize(groups, 0);
            for (&id, value) in ids.iter().zip(measure) {
                if let Some(value) = value {
                    sums[id] += i128::from(value.clamp(low, high));
                }
            }
        }
        Ok(())
    }

    fn add_units(
        &mut self,
        rows: &Rows,
        unit: &ArrayRef,
        key: SamplingKey,
        most: usize,
    ) -> Result<(), DataFusionError> {
        let single = vec![0; if rows.keys.is_empty() { rows.rows } else { 0 }];
        let unit = std::slice::from_ref(unit);
        let units = match &mut self.units {
            Some(units) => units,
            none => none.insert(Units {
                interner: Interner::new(unit)?,
                hashes: Hashes::new(unit, key.0)?,
                group_hashes: Hashes::new(&rows.keys, key.0)?,
                key: key.0,
                most,
                units: Vec::new(),
                pair: Vec::new(),
                hash: Vec::new(),
                next: Vec::new(),
                sums: vec![Vec::new(); self.bounds.len()],
                table: HashTable::new(),
                pair_hasher: foldhash::fast::RandomState::default(),
            }),
        };
        let (group_ids, groups) = group_ids(&mut self.groups, rows, &single)?;
        if rows.keys.is_empty() {
            units.group_hashes.of_single_group();
        } else {
            units.group_hashes.extend(&rows.keys, group_ids, groups)?;
        }
        units.interner.intern(unit)?;
        let unit_ids = std::mem::take(&mut units.interner.ids);
        let known = units.interner.len();
        units.hashes.extend(unit, &unit_ids, known)?;
        units.units.resize(known, NEW);
        for (row, (&unit, &group)) in unit_ids.iter().zip(group_ids).enumerate() {
            let (Ok(unit), Ok(group)) = (u32::try_from(unit), u32::try_from(group)) else {
                return Err(too_many());
            };
            let Some(slot) = units.slot(unit, group)? else { continue };
            for (measure, sums) in rows.measures.iter().zip(&mut units.sums) {
                if measure.is_valid(row) {
                    let sum = &mut sums[slot as usize];
                    let before = if *sum == NOTHING { 0 } else { *sum };
                    *sum = before + i128::from(measure.value(row));
                }
            }
        }
        units.interner.ids = unit_ids;
        Ok(())
    }

    /// The sums by group, of clamped contributions.
    pub(crate) fn finish(self) -> Result<Partial, DataFusionError> {
        // Without keys there is one group; with keys that no row had, there is none.
        let groups = self.groups.as_ref().map_or(usize::from(!self.keyed), Interner::len);
        let (mut units, mut sums) = (self.row_units, self.row_sums);
        units.resize(groups, 0);
        for sums in &mut sums {
            sums.resize(groups, 0);
        }
        if let Some(kept) = &self.units {
            for &(_, group) in &kept.pair {
                units[group as usize] += 1;
            }
            for ((own, sums), &(low, high)) in kept.sums.iter().zip(&mut sums).zip(&self.bounds) {
                for (&sum, &(_, group)) in own.iter().zip(&kept.pair) {
                    if sum != NOTHING {
                        sums[group as usize] += sum.clamp(low.into(), high.into());
                    }
                }
            }
        }
        let members = match &self.units {
            Some(kept) if self.with_members => Some(kept.members()),
            None if self.with_members => Some(PartialMembers::default()),
            _ => None,
        };
        drop(self.units);
        let keys = self.groups.map_or(Ok(Vec::new()), Interner::finish)?;
        Ok(Partial { keys, units, sums, members })
    }
}

fn too_many() -> DataFusionError {
    DataFusionError::ResourcesExhausted("too many groups".to_owned())
}

/// The number of each row's group, and how many groups there are; `single` where there are no keys.
fn group_ids<'a>(
    groups: &'a mut Option<Interner>,
    rows: &Rows,
    single: &'a [usize],
) -> Result<(&'a [usize], usize), DataFusionError> {
    if rows.keys.is_empty() {
        return Ok((single, 1));
    }
    let groups = match groups {
        Some(groups) => groups,
        none => none.insert(Interner::new(&rows.keys)?),
    };
    groups.intern(&rows.keys)?;
    Ok((&groups.ids[..], groups.len()))
}
