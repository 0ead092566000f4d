//! Contribution bounding: what each privacy unit may add to each group, whatever the data.
//!
//! All rows of a unit come to the same [`Bounder`]. It adds up a unit's rows per group, keeps at
//! most `max_groups_contributed` groups of each unit, those with the least keyed hash of (unit,
//! group), and clamps each sum before it joins its group. A group that a unit's hashes push out
//! never comes back, since the largest hash that is kept only falls: so which groups are kept does
//! not depend on the order of the rows, and no more than the kept ones need memory; but values that
//! are kept one by one stay until the end, also those of groups that were pushed out.

mod tally;
mod units;

use datafusion::arrow::array::{Array, ArrayRef, Int64Array};
use datafusion::error::DataFusionError;
use hashbrown::HashTable;
use siphasher::sip::SipHasher24;

use crate::intern::{Hashes, Interner, inconsistent};
use crate::survey::{Extremes, Survey};
use crate::values::List;
pub(crate) use tally::{Cut, Histogram, Tally};
pub(crate) use units::PartialMembers;
pub(crate) use units::too_many;
use units::{NEW, NOTHING, SlotList, Units, add, clamped};

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
    /// The values of each row that are kept one by one; NULL for none.
    pub(crate) listed: Vec<Int64Array>,
    /// How many rows there are.
    pub(crate) rows: usize,
}

/// How values are kept one by one.
#[derive(Clone, Copy)]
pub(crate) struct Listing {
    /// What they are clamped to.
    pub(crate) range: (i64, i64),
    /// Most values of a unit in a group.
    pub(crate) rows: u32,
    /// Where they are added up in the end: the least and greatest sum of a unit in a group.
    pub(crate) sum: Option<(i64, i64)>,
}

impl Listing {
    /// What a value counts as.
    pub(crate) fn clamped(&self, value: i64) -> i64 {
        value.clamp(self.range.0, self.range.1)
    }
}

/// Exact sums of some of the data, by group.
pub(crate) struct Partial {
    pub(crate) keys: Vec<ArrayRef>,
    /// Number of units.
    pub(crate) units: Vec<i64>,
    /// Sums of clamped contributions, for each measurement; and after them for each listing that is
    /// added up.
    pub(crate) sums: Vec<Vec<i128>>,
    /// Values that are kept one by one, clamped, for each other listing.
    pub(crate) lists: Vec<List>,
    /// Which groups each unit is in, where they are asked for.
    pub(crate) members: Option<PartialMembers>,
    /// What single units contribute, where it is asked for.
    pub(crate) survey: Option<Survey>,
    /// Contributions and what limits cut off, where it is asked for.
    pub(crate) tally: Option<Tally>,
}

/// Bounds the rows of some units, and adds them up by group.
pub(crate) struct Bounder {
    bounds: Bounds,
    listings: Vec<Listing>,
    keyed: bool,
    sampling: Option<(SamplingKey, usize)>,
    groups: Option<Interner>,
    units: Option<Units>,
    /// Whether to tell which groups each unit is in.
    with_members: bool,
    /// Where every row is a unit: for each group the number of its rows and its sums, as they grow.
    /// Side by side, as a row adds to all of them.
    row_totals: Vec<i128>,
    row_lists: Vec<List>,
    /// Where it is to be told what single units contribute, by which sizes; and what rows have been
    /// seen.
    surveyed: Option<Bounds>,
    extremes: Vec<Extremes>,
    /// Where contributions are tallied: the place of the measurement that counts rows, and the
    /// tally of rows that are units.
    tallied: Option<(usize, Tally)>,
}

impl Bounder {
    /// For rows that are their own units; `keyed` where there are group keys.
    pub(crate) fn of_rows(bounds: Bounds, keyed: bool) -> Self {
        Self {
            bounds,
            listings: Vec::new(),
            keyed,
            sampling: None,
            groups: None,
            units: None,
            with_members: false,
            row_totals: Vec::new(),
            row_lists: Vec::new(),
            surveyed: None,
            extremes: Vec::new(),
            tallied: None,
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

    /// The same, and it keeps values one by one.
    pub(crate) fn listing(self, listings: Vec<Listing>) -> Self {
        let row_lists = listings.iter().map(|_| List::default()).collect();
        Self { listings, row_lists, ..self }
    }

    /// The same, and it will tell which groups each unit is in.
    pub(crate) fn with_members(self) -> Self {
        Self { with_members: true, ..self }
    }

    /// The same, and it will tell what single units contribute, as parts of `sizes`.
    pub(crate) fn surveyed(self, sizes: Bounds) -> Self {
        Self { surveyed: Some(sizes), ..self }
    }

    /// Also tallies contributions and what limits cut off. The measurement in place `rows` counts
    /// rows.
    pub(crate) fn tallied(self, rows: usize) -> Self {
        let tally = Tally::new(self.bounds.len(), self.listings.len());
        Self { tallied: Some((rows, tally)), ..self }
    }

    /// Adds a batch.
    ///
    /// # Errors
    /// When there are more than 2^32 different groups or units, or too little memory.
    pub(crate) fn add(&mut self, rows: &Rows) -> Result<(), DataFusionError> {
        match (&rows.unit, self.sampling) {
            (Some(unit), Some((key, most))) => self.add_units(rows, unit, key, most),
            // A row's sum is bounded as a value.
            (None, None) if self.listings.iter().all(|l| l.sum.is_none()) => self.add_rows(rows),
            // Rows must never count as units where units have several rows.
            _ => Err(inconsistent()),
        }
    }

    fn add_rows(&mut self, rows: &Rows) -> Result<(), DataFusionError> {
        let single = vec![0; if rows.keys.is_empty() { rows.rows } else { 0 }];
        let (ids, groups) = group_ids(&mut self.groups, rows, &single)?;
        let width = 1 + self.bounds.len();
        self.row_totals.resize(groups * width, 0);
        for &id in ids {
            self.row_totals[id * width] += 1;
        }
        for ((measure, place), &(low, high)) in rows.measures.iter().zip(1..).zip(&self.bounds) {
            // One loop for both, with the addition in a closure, was measured to be some percent
            // slower.
            if measure.null_count() == 0 {
                for (&id, value) in ids.iter().zip(measure.values()) {
                    self.row_totals[id * width + place] += i128::from((*value).clamp(low, high));
                }
                continue;
            }
            for (&id, value) in ids.iter().zip(measure) {
                if let Some(value) = value {
                    self.row_totals[id * width + place] += i128::from(value.clamp(low, high));
                }
            }
        }
        let listings = self.listings.iter().zip(&mut self.row_lists);
        for (values, (listing, list)) in rows.listed.iter().zip(listings) {
            for (&id, value) in ids.iter().zip(values) {
                if let Some(value) = value {
                    list.push(u32::try_from(id).map_err(|_| too_many())?, listing.clamped(value));
                }
            }
        }
        if let Some((_, tally)) = &mut self.tallied {
            tally.add_rows(rows, &self.bounds, &self.listings);
        }
        if let Some(sizes) = &self.surveyed {
            self.extremes.resize_with(groups, Extremes::default);
            for (row, &id) in ids.iter().enumerate() {
                let one = |((m, &bounds), &size): ((&Int64Array, _), &(i64, i64))| {
                    let value = if m.is_valid(row) { m.value(row).into() } else { NOTHING };
                    (clamped(value, bounds), size)
                };
                let contributions = rows.measures.iter().zip(&self.bounds).zip(sizes).map(one);
                let listed = rows.listed.iter().zip(&self.listings).map(|(values, listing)| {
                    let value = values.is_valid(row).then(|| listing.clamped(values.value(row)));
                    (value, listing.range)
                });
                self.extremes[id].add(contributions, listed);
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
                hasher: SipHasher24::new_with_key(&key.0),
                most,
                units: Vec::new(),
                pair: Vec::new(),
                hash: Vec::new(),
                next: Vec::new(),
                sums: vec![Vec::new(); self.bounds.len()],
                lists: self.listings.iter().map(|_| SlotList::default()).collect(),
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
                    add(&mut sums[slot as usize], measure.value(row));
                }
            }
            for (values, list) in rows.listed.iter().zip(&mut units.lists) {
                if values.is_valid(row) {
                    list.push(slot, group, values.value(row));
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
        let mut units = vec![0i64; groups];
        let mut sums = vec![vec![0i128; groups]; self.bounds.len()];
        for (group, totals) in self.row_totals.chunks_exact(1 + self.bounds.len()).enumerate() {
            let mut totals = totals.iter().copied();
            // As many as there are rows.
            units[group] = totals.next().unwrap_or(0) as i64;
            sums.iter_mut().zip(totals).for_each(|(sums, sum)| sums[group] = sum);
        }
        if let Some(kept) = &self.units {
            for &(_, group) in &kept.pair {
                units[group as usize] += 1;
            }
            for ((own, sums), &(low, high)) in kept.sums.iter().zip(&mut sums).zip(&self.bounds) {
                for (&sum, &(_, group)) in own.iter().zip(&kept.pair) {
                    sums[group as usize] += clamped(sum, (low, high));
                }
            }
        }
        let mut lists = self.row_lists;
        if self.sampling.is_some() {
            lists = Vec::new();
            for (place, listing) in self.listings.iter().enumerate() {
                match listing.sum {
                    Some(within) => {
                        let mut added = vec![0i128; groups];
                        if let Some(kept) = &self.units {
                            kept.add_up(place, listing, within, &mut added);
                        }
                        sums.push(added);
                    }
                    None => {
                        let list = self.units.as_ref().map(|kept| kept.list(place, listing));
                        lists.push(list.unwrap_or_default());
                    }
                }
            }
        }
        let members = match &self.units {
            Some(kept) if self.with_members => Some(kept.members()),
            None if self.with_members => Some(PartialMembers::default()),
            _ => None,
        };
        let survey = self.surveyed.map(|_| match &self.units {
            Some(kept) => kept.survey(&self.bounds, &self.listings),
            None => Survey::Rows(self.extremes),
        });
        let tally = self.tallied.map(|(rows, tally)| match &self.units {
            Some(kept) => kept.tally(&self.bounds, &self.listings, rows),
            None => tally,
        });
        drop(self.units);
        let keys = self.groups.map_or(Ok(Vec::new()), Interner::finish)?;
        Ok(Partial { keys, units, sums, lists, members, survey, tally })
    }
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
