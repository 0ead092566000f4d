//! Contributions that the limits on a unit leave, for the owner of the data alone.

use std::collections::BTreeMap;

use datafusion::error::Result;

use super::units::{NONE, NOTHING, SlotList, Units, add, clamped};
use super::{Accumulation, Listing, Rows, by_kind};
use crate::flat::{Flat, Numbers, flat, foreign};
use crate::sketch::SignedSketch;

/// Numbers and how often each occurs. Secret: no Debug, Display or Serialize.
#[derive(Clone, Default)]
pub(crate) struct Histogram {
    counts: BTreeMap<u64, u64>,
    all: u64,
}

flat!(Histogram { counts, all });

impl Histogram {
    /// One more occurrence.
    pub(crate) fn add(&mut self, number: u64) {
        self.add_times(number, 1);
    }

    /// More occurrences of one number.
    pub(crate) fn add_times(&mut self, number: u64, times: u64) {
        if times > 0 {
            *self.counts.entry(number).or_default() += times;
            self.all += times;
        }
    }

    /// How many numbers there are.
    pub(crate) fn all(&self) -> u64 {
        self.all
    }

    /// How many are above a limit.
    pub(crate) fn above(&self, limit: u64) -> u64 {
        self.counts.iter().rev().take_while(|(number, _)| **number > limit).map(|(_, n)| n).sum()
    }

    /// Their sum.
    pub(crate) fn sum(&self) -> u64 {
        self.counts.iter().map(|(number, times)| number * times).sum()
    }

    /// The least number that a share of all do not exceed; 0 if there is none.
    pub(crate) fn at(&self, share: f64) -> u64 {
        let rank = ((share * self.all as f64).ceil() as u64).max(1);
        let mut below = 0;
        let reached = self.counts.iter().find(|(_, times)| {
            below += **times;
            below >= rank
        });
        reached.map_or(0, |(&number, _)| number)
    }

    fn merge(&mut self, other: Self) {
        other.counts.into_iter().for_each(|(number, times)| self.add_times(number, times));
    }
}

/// The part of contributions that a limit takes away. Secret: no Debug, Display or Serialize.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cut {
    /// The sizes of all contributions, added up.
    pub(crate) total: u128,
    /// The sizes of what is taken away or added, added up.
    pub(crate) cut: u128,
    /// Units that limits take something away from, or add something to.
    pub(crate) units: u64,
}

flat!(Cut { total, cut, units });

impl Cut {
    /// One more contribution and what counts of it; whether they differ.
    fn add(&mut self, contribution: i128, counts: i128) -> bool {
        self.total = self.total.saturating_add(contribution.unsigned_abs());
        self.cut = self.cut.saturating_add(contribution.abs_diff(counts));
        contribution != counts
    }

    fn merge(&mut self, other: Self) {
        self.total = self.total.saturating_add(other.total);
        self.cut = self.cut.saturating_add(other.cut);
        self.units += other.units;
    }
}

/// Contributions of units, and the part that is cut off. Secret: no Debug, Display or Serialize.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    /// Groups of each unit.
    pub(crate) groups_per_unit: Histogram,
    /// Rows of each unit in each of its groups.
    pub(crate) rows_per_group: Histogram,
    /// For each accumulator.
    pub(crate) cut: Vec<Tallied>,
}

flat!(Tally { groups_per_unit, rows_per_group, cut });

/// Contributions to an accumulator. Secret: no Debug, Display or Serialize.
#[derive(Clone)]
pub(crate) enum Tallied {
    /// The sums that bounds cut off, and the rows that units have in a group.
    Sums(Cut, Box<SignedSketch>),
    /// Values beyond the most that a unit may have in a group, and values that are clamped. By
    /// their sizes where they are added up, else by their number.
    Values([Cut; 2]),
}

impl Flat for Tallied {
    fn write(&self, numbers: &mut Vec<u64>) {
        match self {
            Self::Sums(cut, sizes) => {
                numbers.push(0);
                cut.write(numbers);
                sizes.write(numbers);
            }
            Self::Values(cuts) => {
                numbers.push(1);
                cuts.write(numbers);
            }
        }
    }

    fn read(numbers: &mut Numbers<'_>) -> Result<Self> {
        Ok(match numbers.take()? {
            0 => Self::Sums(Flat::read(numbers)?, Flat::read(numbers)?),
            1 => Self::Values(Flat::read(numbers)?),
            _ => return Err(foreign()),
        })
    }
}

/// Contributions of units, with and without the limit on their groups. Secret: no Debug, Display or
/// Serialize.
#[derive(Default)]
pub(crate) struct Tallies {
    /// With the limit of a release.
    pub(crate) limited: Tally,
    /// With all groups of every unit.
    pub(crate) all_groups: Tally,
}

flat!(Tallies { limited, all_groups });

impl Tallies {
    /// Adds what other units contribute.
    pub(crate) fn merge(&mut self, other: Self) {
        self.limited.merge(other.limited);
        self.all_groups.merge(other.all_groups);
    }
}

impl Tally {
    /// Of nothing yet.
    pub(super) fn new(accumulators: &[Accumulation]) -> Self {
        let empty = |accumulator: &Accumulation| match accumulator {
            Accumulation::Sum { .. } => {
                Tallied::Sums(Cut::default(), Box::new(SignedSketch::new()))
            }
            Accumulation::Values(_) => Tallied::Values(Default::default()),
        };
        Self { cut: accumulators.iter().map(empty).collect(), ..Self::default() }
    }

    /// Adds rows that are units.
    pub(super) fn add_rows(&mut self, rows: &Rows, accumulators: &[Accumulation]) {
        for _ in 0..rows.rows {
            self.groups_per_unit.add(1);
            self.rows_per_group.add(1);
        }
        for ((tallied, column), accumulator) in
            self.cut.iter_mut().zip(&rows.values).zip(accumulators)
        {
            for value in column.iter().flatten() {
                match (&mut *tallied, accumulator) {
                    (Tallied::Sums(cut, sizes), Accumulation::Sum { bounds, .. }) => {
                        sizes.add(value as f64);
                        let counts = clamped(value.into(), *bounds);
                        cut.units += u64::from(cut.add(value.into(), counts));
                    }
                    (Tallied::Values([beyond, range]), Accumulation::Values(listing)) => {
                        beyond.add(1, 1);
                        let whole = i128::from(listing.clamped(value) == value);
                        range.units += u64::from(range.add(1, whole));
                    }
                    // Both are made of the same list.
                    (Tallied::Sums(..), Accumulation::Values(_))
                    | (Tallied::Values(_), Accumulation::Sum { .. }) => {}
                }
            }
        }
    }

    /// Adds what other units contribute.
    fn merge(&mut self, other: Self) {
        self.groups_per_unit.merge(other.groups_per_unit);
        self.rows_per_group.merge(other.rows_per_group);
        if self.cut.is_empty() {
            self.cut = other.cut;
            return;
        }
        for (tallied, other) in self.cut.iter_mut().zip(other.cut) {
            match (tallied, other) {
                (Tallied::Sums(cut, sizes), Tallied::Sums(other_cut, other_sizes)) => {
                    cut.merge(other_cut);
                    sizes.merge(&other_sizes);
                }
                (Tallied::Values(cuts), Tallied::Values(other)) => {
                    cuts.iter_mut().zip(other).for_each(|(cut, other)| cut.merge(other));
                }
                // Both are made of the same list.
                (Tallied::Sums(..), Tallied::Values(_))
                | (Tallied::Values(_), Tallied::Sums(..)) => {}
            }
        }
    }
}

impl Units {
    /// Adds up what the units contribute to their kept groups, and what the bounds cut off. The sum
    /// at index `rows` counts rows.
    pub(super) fn tally(&self, accumulators: &[Accumulation], rows: usize) -> Tally {
        let mut tally = Tally::new(accumulators);
        let (bounds, listings) = by_kind(accumulators);
        let (mut tallied_sums, mut tallied_lists) = (Vec::new(), Vec::new());
        for tallied in &mut tally.cut {
            match tallied {
                Tallied::Sums(cut, sizes) => tallied_sums.push((cut, sizes)),
                Tallied::Values(cuts) => tallied_lists.push(cuts),
            }
        }
        let lists = self.lists.iter().zip(&listings);
        let mut lists: Vec<Listed> =
            lists.map(|(list, l)| Listed::of(list, l, &self.pair)).collect();
        for (index, (listing, listed)) in listings.iter().zip(&mut lists).enumerate() {
            let mut chosen = 0u128;
            let mut of_pairs = vec![(NOTHING, 0); self.pair.len()];
            self.each_chosen(index, listing, |slot, value| {
                chosen = chosen.saturating_add(listing.weight(value));
                let (sum, count) = &mut of_pairs[slot as usize];
                add(sum, value);
                *count += 1;
            });
            for (&(sum, count), (_, cut)) in of_pairs.iter().zip(&mut listed.of_slot) {
                let change = listing.within_mean(sum, count).abs_diff(sum);
                listed.cut = listed.cut.saturating_add(change);
                *cut |= change > 0;
            }
            if let Some([beyond, range]) = tallied_lists.get_mut(index) {
                let (total, clamped) = (listed.total, listed.clamped);
                *beyond = Cut { total, cut: clamped.saturating_sub(chosen), units: 0 };
                *range = Cut { total, cut: listed.cut, units: 0 };
            }
        }
        for unit in &self.units {
            tally.groups_per_unit.add(unit.count.into());
            let (mut slot, mut touched) = (unit.last, vec![false; bounds.len()]);
            let mut listed = vec![[false; 2]; lists.len()];
            while slot != NONE {
                let at = slot as usize;
                for ((sums, &bounds), ((cut, sizes), touched)) in
                    self.sums.iter().zip(&bounds).zip(tallied_sums.iter_mut().zip(&mut touched))
                {
                    let sum = sums[at];
                    if sum != NOTHING {
                        sizes.add(sum as f64);
                        *touched |= cut.add(sum, clamped(sum, bounds));
                    }
                }
                let count = self.sums.get(rows).map_or(0, |sums| sums[at]);
                tally.rows_per_group.add(u64::try_from(count).unwrap_or(0));
                for ((flags, list), listing) in listed.iter_mut().zip(&lists).zip(&listings) {
                    flags[0] |= list.of_slot[at].0 > listing.rows;
                    flags[1] |= list.of_slot[at].1;
                }
                slot = self.next[at];
            }
            for ((cut, _), touched) in tallied_sums.iter_mut().zip(touched) {
                cut.units += u64::from(touched);
            }
            for (cuts, touched) in tallied_lists.iter_mut().zip(listed) {
                cuts.iter_mut().zip(touched).for_each(|(cut, t)| cut.units += u64::from(t));
            }
        }
        tally
    }
}

impl Listing {
    /// The weight of a value in a tally: its size where values are added up, else one.
    fn weight(&self, value: i64) -> u128 {
        if self.sum.is_some() { value.unsigned_abs().into() } else { 1 }
    }
}

/// The values of a listing before the most that a unit may have in a group are chosen.
struct Listed {
    /// Their weight.
    total: u128,
    /// Their weight when they are clamped.
    clamped: u128,
    /// The weight that clamping changes.
    cut: u128,
    /// For each slot: how many values it has, and whether any of them is clamped.
    of_slot: Vec<(u32, bool)>,
}

impl Listed {
    fn of(list: &SlotList, listing: &Listing, pairs: &[(u32, u32)]) -> Self {
        let of_slot = vec![(0, false); pairs.len()];
        let mut listed = Self { total: 0, clamped: 0, cut: 0, of_slot };
        let mut entries: Vec<(u32, i64)> = list.retained(pairs).collect();
        if listing.distinct {
            entries.sort_unstable();
            entries.dedup();
        }
        for (slot, value) in entries {
            let clamped = listing.clamped(value);
            let added_up = listing.sum.is_some();
            let cut = if added_up { value.abs_diff(clamped) } else { (value != clamped).into() };
            listed.total = listed.total.saturating_add(listing.weight(value));
            listed.clamped = listed.clamped.saturating_add(listing.weight(clamped));
            listed.cut = listed.cut.saturating_add(cut.into());
            if let Some((values, any)) = listed.of_slot.get_mut(slot as usize) {
                *values = values.saturating_add(1);
                *any |= clamped != value;
            }
        }
        listed
    }
}
