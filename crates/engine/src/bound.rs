//! Contribution bounding: what each privacy unit may add to each group, whatever the data.
//!
//! All rows of a unit come to the same [`Bounder`]. It adds up a unit's rows per group, keeps at
//! most `max_groups_contributed` groups of each unit, those with the least keyed hash of (unit,
//! group), and clamps each sum before it joins its group. A group that a unit's hashes push out
//! never comes back, since the largest hash that is kept only falls: so which groups are kept does
//! not depend on the order of the rows, and no more than the kept ones need memory; but rows with
//! values that are kept one by one stay until the end, also those of groups that were pushed out.
//!
//! Rows are packed to words and wait (`packed`) until there are enough of them to be worth it. Then
//! they go to their units, one shard of these after the other (`units`), so that what is kept of a
//! shard (`shard`) is in the processor's cache. How many rows wait, and in how many shards units
//! are, follows from numbers of rows, and from the memory that units take.

mod list_fields;
mod packed;
mod pair_rows;
mod rules;
mod shard;
mod tally;
mod units;

use datafusion::arrow::array::{Array, ArrayRef, Int64Array};
use datafusion::arrow::buffer::ScalarBuffer;
use datafusion::error::DataFusionError;

use crate::contributions::{Accumulation, ContributionBatch, Listing, SamplingKey};
use crate::intern::{Interner, inconsistent, too_many};
use crate::members::PartialMembers;
use crate::survey::{Extremes, Survey};
use crate::value_lists::ValueList;
use packed::PackedLayout;
use shard::{NOTHING, clamped};
pub(crate) use tally::{AccumulatorTally, ContributionTally, CountHistogram, Cut, Tallies};
use units::{OnGrowth, UnitStates};

impl Listing {
    /// The sum of a unit's values in a group, after their mean is clamped.
    fn sum_within_mean(&self, values: &[i64]) -> i128 {
        let sum = sum_of(values);
        match self.mean {
            Some((low, high)) => {
                let times = |end: i64| values.len() as i128 * i128::from(end);
                sum.clamp(times(low), times(high))
            }
            None => sum,
        }
    }
}

fn sum_of(values: &[i64]) -> i128 {
    values.iter().map(|&value| i128::from(value)).sum()
}

/// The bounds of all sums, and all listings, each in the order of the accumulators.
fn by_kind(accumulators: &[Accumulation]) -> (Vec<(i64, i64)>, Vec<Listing>) {
    let (mut bounds, mut listings) = (Vec::new(), Vec::new());
    for accumulator in accumulators {
        match accumulator {
            Accumulation::Sum { bounds: range, .. } => bounds.push(*range),
            Accumulation::Values(listing) => listings.push(*listing),
        }
    }
    (bounds, listings)
}

/// The totals of an accumulator, by group. Exact: no Debug, Display or Serialize.
pub(crate) enum GroupTotals {
    /// Sums of clamped contributions.
    Sums(ScalarBuffer<i128>),
    /// Values, clamped.
    Values(ValueList),
}

/// Exact sums of some of the data, by group. No Debug, Display or Serialize.
pub(crate) struct Partial {
    pub(crate) keys: Vec<ArrayRef>,
    /// Number of units.
    pub(crate) units: ScalarBuffer<i64>,
    /// Of each accumulator.
    pub(crate) totals: Vec<GroupTotals>,
    /// Which groups each unit is in, where requested.
    pub(crate) members: Option<PartialMembers>,
    /// Contributions of single units, where requested.
    pub(crate) survey: Option<Survey>,
    /// Contributions and what limits cut off, where requested.
    pub(crate) tallies: Option<Tallies>,
}

impl Partial {
    /// Bytes of memory.
    pub(crate) fn size(&self) -> usize {
        let total = |total: &GroupTotals| match total {
            GroupTotals::Sums(sums) => sums.inner().capacity(),
            GroupTotals::Values(list) => list.size(),
        };
        self.keys.iter().map(|keys| keys.get_array_memory_size()).sum::<usize>()
            + self.units.inner().capacity()
            + self.totals.iter().map(total).sum::<usize>()
            + self.members.as_ref().map_or(0, PartialMembers::size)
    }
}

/// Bounds the rows of some units, and adds them up by group.
pub(crate) struct Bounder {
    accumulators: Vec<Accumulation>,
    /// Which of them add up only ones; where it is shorter, the others may not.
    ones: Vec<bool>,
    keyed: bool,
    sampling: Option<(SamplingKey, usize)>,
    groups: Option<Interner>,
    units: Option<UnitStates>,
    /// Whether to record which groups each unit is in.
    with_members: bool,
    /// For each group the number of its units and its sums: as they grow, where every row is a
    /// unit, else in the end. Side by side, as all of them are added to at once.
    row_totals: Vec<i128>,
    row_lists: Vec<ValueList>,
    /// Whether contributions of single units are recorded; and the rows that stand out.
    surveyed: bool,
    extremes: Vec<Extremes>,
    /// Where contributions are tallied: the index of the sum that counts rows, and the tally of
    /// rows that are units.
    tallied: Option<(usize, ContributionTally)>,
}

impl Bounder {
    /// For rows that are their own units; `keyed` where there are group keys.
    pub(crate) fn of_rows(accumulators: Vec<Accumulation>, keyed: bool) -> Self {
        let listed = accumulators
            .iter()
            .filter(|accumulator| matches!(accumulator, Accumulation::Values(_)));
        let row_lists = listed.map(|_| ValueList::default()).collect();
        Self {
            accumulators,
            ones: Vec::new(),
            keyed,
            sampling: None,
            groups: None,
            units: None,
            with_members: false,
            row_totals: Vec::new(),
            row_lists,
            surveyed: false,
            extremes: Vec::new(),
            tallied: None,
        }
    }

    /// For units with several rows, each in at most `most_groups` groups.
    pub(crate) fn of_units(
        accumulators: Vec<Accumulation>,
        keyed: bool,
        key: SamplingKey,
        most_groups: u32,
    ) -> Self {
        Self { sampling: Some((key, most_groups as usize)), ..Self::of_rows(accumulators, keyed) }
    }

    /// With another limit on the groups of a unit.
    pub(crate) fn within(self, most_groups: u32) -> Self {
        let sampling = self.sampling.map(|(key, _)| (key, most_groups as usize));
        Self { sampling, ..self }
    }

    /// With accumulators whose values are all ones, where there are any: such sums need less
    /// memory.
    pub(crate) fn adding_ones(self, ones: Vec<bool>) -> Self {
        Self { ones, ..self }
    }

    /// Also records which groups each unit is in.
    pub(crate) fn with_members(self) -> Self {
        Self { with_members: true, ..self }
    }

    /// Also records the contributions of single units.
    pub(crate) fn surveyed(self) -> Self {
        Self { surveyed: true, ..self }
    }

    /// Also tallies contributions and what limits cut off. The sum at index `rows`
    /// counts rows.
    pub(crate) fn tallied(self, rows: usize) -> Self {
        let tally = ContributionTally::new(&self.accumulators);
        Self { tallied: Some((rows, tally)), ..self }
    }

    /// How many accumulators keep sums.
    fn sums(&self) -> usize {
        self.accumulators
            .iter()
            .filter(|accumulator| matches!(accumulator, Accumulation::Sum { .. }))
            .count()
    }

    /// Bytes of memory.
    pub(crate) fn size(&self) -> usize {
        self.groups.as_ref().map_or(0, Interner::size)
            + self.units.as_ref().map_or(0, UnitStates::size)
            + self.row_totals.capacity() * size_of::<i128>()
            + self.row_lists.iter().map(ValueList::size).sum::<usize>()
            + self.extremes.capacity() * size_of::<Extremes>()
    }

    /// Adds a batch. `grown` learns the bytes of memory as they grow by the work on rows that have
    /// waited, and not only by this batch.
    ///
    /// # Errors
    /// When there are more than 2^32 different groups or units, or too little memory.
    pub(crate) fn add(
        &mut self,
        rows: &ContributionBatch,
        grown: &mut OnGrowth<'_>,
    ) -> Result<(), DataFusionError> {
        match (&rows.unit, self.sampling) {
            _ if rows.values.len() != self.accumulators.len() => {
                Err(inconsistent("rows have another number of values than there are accumulators"))
            }
            (Some(unit), Some((key, most))) => self.add_units(rows, unit, (key, most), grown),
            // A row's sum is bounded as a value.
            (None, None)
                if self.accumulators.iter().all(|accumulator| !accumulator.adds_up_values()) =>
            {
                self.add_rows(rows)
            }
            // Rows must never count as units where units have several rows.
            _ => Err(inconsistent(
                "rows of units are to be bounded as single rows, or single rows as units",
            )),
        }
    }

    fn add_rows(&mut self, rows: &ContributionBatch) -> Result<(), DataFusionError> {
        let single = vec![0; if rows.keys.is_empty() { rows.rows } else { 0 }];
        let width = 1 + self.sums();
        let (ids, groups) = group_ids(&mut self.groups, rows, &single)?;
        self.row_totals.resize(groups * width, 0);
        for &id in ids {
            self.row_totals[id * width] += 1;
        }
        let (mut columns, mut lists) = (1.., self.row_lists.iter_mut());
        for (values, accumulator) in rows.values.iter().zip(&self.accumulators) {
            match accumulator {
                Accumulation::Sum { bounds: (low, high), .. } => {
                    let column = columns.next().ok_or_else(|| {
                        inconsistent("an accumulator of sums has no place among the totals")
                    })?;
                    // One loop for both, with the addition in a closure, was measured to be some
                    // percent slower.
                    if values.null_count() == 0 {
                        for (&id, value) in ids.iter().zip(values.values()) {
                            // Here a row is a unit, so its value is clamped by itself; sums of
                            // units are clamped at the end.
                            let value = (*value).clamp(*low, *high);
                            self.row_totals[id * width + column] += i128::from(value);
                        }
                        continue;
                    }
                    for (&id, value) in ids.iter().zip(values) {
                        if let Some(value) = value {
                            let value = value.clamp(*low, *high);
                            self.row_totals[id * width + column] += i128::from(value);
                        }
                    }
                }
                Accumulation::Values(listing) => {
                    let list = lists
                        .next()
                        .ok_or_else(|| inconsistent("an accumulator of values has no list"))?;
                    for (&id, value) in ids.iter().zip(values) {
                        if let Some(value) = value {
                            let id = u32::try_from(id).map_err(|_| too_many())?;
                            list.push(id, listing.clamped(value));
                        }
                    }
                }
            }
        }
        if let Some((_, tally)) = &mut self.tallied {
            tally.add_rows(rows, &self.accumulators);
        }
        if self.surveyed {
            self.extremes.resize_with(groups, Extremes::default);
            for (row, &id) in ids.iter().enumerate() {
                let one = |(values, accumulator): (&Int64Array, &Accumulation)| {
                    let value = values.is_valid(row).then(|| values.value(row));
                    match accumulator {
                        Accumulation::Sum { bounds, size } => {
                            let value = value.map_or(NOTHING, i128::from);
                            (Some(clamped(value, *bounds)), *size)
                        }
                        Accumulation::Values(listing) => {
                            (value.map(|value| listing.clamped(value).into()), listing.range)
                        }
                    }
                };
                self.extremes[id].add(rows.values.iter().zip(&self.accumulators).map(one));
            }
        }
        Ok(())
    }

    fn add_units(
        &mut self,
        rows: &ContributionBatch,
        unit: &ArrayRef,
        (key, most): (SamplingKey, usize),
        grown: &mut OnGrowth<'_>,
    ) -> Result<(), DataFusionError> {
        let others = self.groups.as_ref().map_or(0, Interner::size);
        let single = vec![0; if rows.keys.is_empty() { rows.rows } else { 0 }];
        let units = match &mut self.units {
            Some(units) => units,
            none => {
                // A tally has values beyond their range, too.
                let whole = self.tallied.is_some();
                let layout = PackedLayout::new(&self.accumulators, &self.ones, whole);
                none.insert(UnitStates::new(rows, unit, (key, most), layout)?)
            }
        };
        let groups = group_ids(&mut self.groups, rows, &single)?;
        units.add(rows, unit, groups, &mut |bytes| grown(others + bytes))
    }

    /// Bounds the rows that wait, after the last one.
    ///
    /// # Errors
    /// Those of [`Self::add`].
    pub(crate) fn end(&mut self, grown: &mut OnGrowth<'_>) -> Result<(), DataFusionError> {
        let others = self.groups.as_ref().map_or(0, Interner::size);
        match &mut self.units {
            Some(units) => units.absorb(&mut |bytes| grown(others + bytes)),
            None => Ok(()),
        }
    }

    /// The sums by group, of clamped contributions.
    pub(crate) fn finish(self) -> Result<Partial, DataFusionError> {
        // Without keys there is one group; with keys that no row had, there is none.
        let groups = self.groups.as_ref().map_or(usize::from(!self.keyed), Interner::len);
        let (bounds, listings) = by_kind(&self.accumulators);
        let (width, of_units) = (1 + bounds.len(), self.units.is_some());
        let (mut row_totals, mut lists) = (self.row_totals, self.row_lists);
        row_totals.resize(groups * width, 0);
        // Of values that are added up in the end.
        let added_up = |listing: &Listing| vec![0i128; listing.sum.map_or(0, |_| groups)];
        let mut added: Vec<Vec<i128>> = listings.iter().map(added_up).collect();
        let mut members = self.with_members.then(PartialMembers::default);
        let (mut shares, mut surveyed) = (Vec::new(), PartialMembers::default());
        let (counts_rows, mut tally) = self.tallied.unzip();
        if let Some(units) = self.units {
            units.finish(|rules, shard| {
                shard.add_totals(rules, &bounds, &mut row_totals);
                for (index, listing) in listings.iter().enumerate() {
                    let (sums, list) = (&mut added[index], &mut lists[index]);
                    shard.each_chosen(rules, index, listing, |_, group, values| {
                        let Some(within) = listing.sum else {
                            return values.iter().for_each(|&value| list.push(group, value));
                        };
                        // Each pair is summed and clamped by itself first; the group's sum has no
                        // bound.
                        sums[group as usize] += clamped(listing.sum_within_mean(values), within);
                    });
                }
                if let Some(members) = &mut members {
                    shard.add_members(rules, members);
                }
                if self.surveyed {
                    shard.add_members(rules, &mut surveyed);
                    shard.add_shares(rules, &self.accumulators, &mut shares);
                }
                if let (Some(tally), Some(rows)) = (&mut tally, counts_rows) {
                    shard.add_tally(rules, &self.accumulators, rows, tally);
                }
                Ok(())
            })?;
        }
        let mut columns = vec![Vec::with_capacity(groups); width];
        for totals in row_totals.chunks_exact(width) {
            columns.iter_mut().zip(totals).for_each(|(column, total)| column.push(*total));
        }
        drop(row_totals);
        let mut columns = columns.into_iter();
        // As many as there are rows.
        let units = columns.next().unwrap_or_default().iter().map(|units| *units as i64).collect();
        let mut lists = lists.into_iter().zip(added);
        let mut totals = Vec::with_capacity(self.accumulators.len());
        for accumulator in &self.accumulators {
            totals.push(match accumulator {
                Accumulation::Sum { .. } => GroupTotals::Sums(
                    columns
                        .next()
                        .ok_or_else(|| {
                            inconsistent("an accumulator of sums has no place among the totals")
                        })?
                        .into(),
                ),
                Accumulation::Values(listing) => {
                    let (list, added) = lists
                        .next()
                        .ok_or_else(|| inconsistent("an accumulator of values has no list"))?;
                    match listing.sum {
                        Some(_) => GroupTotals::Sums(added.into()),
                        None => GroupTotals::Values(list),
                    }
                }
            });
        }
        let survey = self.surveyed.then_some(match of_units {
            true => Survey::Units { shares, members: surveyed },
            false => Survey::Rows(self.extremes),
        });
        let keys = self.groups.map_or(Ok(Vec::new()), Interner::finish)?;
        // Until a bounder without the limit is asked, its tally is the one with it: a row is in one
        // group, so that no limit on groups takes any from it.
        let tallies = tally.map(|tally| Tallies { all_groups: tally.clone(), limited: tally });
        Ok(Partial { keys, units, totals, members, survey, tallies })
    }
}

impl Accumulation {
    /// Whether values that are kept one by one are added up in the end.
    fn adds_up_values(&self) -> bool {
        matches!(self, Self::Values(Listing { sum: Some(_), .. }))
    }
}

/// The number of each row's group, and how many groups there are; `single` where there are no keys.
fn group_ids<'a>(
    groups: &'a mut Option<Interner>,
    rows: &ContributionBatch,
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
