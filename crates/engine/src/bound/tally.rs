//! Contributions that the limits on a unit leave, for the owner of the data alone.

use std::collections::BTreeMap;

use datafusion::error::Result;

use super::pair_rows::choose;
use super::rules::Rules;
use super::shard::{NOTHING, UnitShard, clamped};
use super::{Accumulation, ContributionBatch, Listing, by_kind, sum_of};
use crate::flat::{Flat, Numbers, flat, foreign};
use crate::sketch::SignedSketch;

/// Numbers and how often each occurs. Secret: no Debug, Display or Serialize.
#[derive(Clone, Default)]
pub(crate) struct CountHistogram {
    counts: BTreeMap<u64, u64>,
    all: u64,
}

flat!(CountHistogram { counts, all });

impl CountHistogram {
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
pub(crate) struct ContributionTally {
    /// Groups of each unit.
    pub(crate) groups_per_unit: CountHistogram,
    /// Rows of each unit in each of its groups.
    pub(crate) rows_per_group: CountHistogram,
    /// For each accumulator.
    pub(crate) cut: Vec<AccumulatorTally>,
}

flat!(ContributionTally { groups_per_unit, rows_per_group, cut });

/// Contributions to an accumulator. Secret: no Debug, Display or Serialize.
#[derive(Clone)]
pub(crate) enum AccumulatorTally {
    /// The sums that bounds cut off, and the rows that units have in a group.
    Sums(Cut, Box<SignedSketch>),
    /// Values beyond the most that a unit may have in a group, and values that are clamped. By
    /// their sizes where they are added up, else by their number.
    Values([Cut; 2]),
}

impl Flat for AccumulatorTally {
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
    pub(crate) limited: ContributionTally,
    /// With all groups of every unit.
    pub(crate) all_groups: ContributionTally,
}

flat!(Tallies { limited, all_groups });

impl Tallies {
    /// Adds what other units contribute.
    pub(crate) fn merge(&mut self, other: Self) {
        self.limited.merge(other.limited);
        self.all_groups.merge(other.all_groups);
    }
}

impl ContributionTally {
    /// Of nothing yet.
    pub(super) fn new(accumulators: &[Accumulation]) -> Self {
        let empty = |accumulator: &Accumulation| match accumulator {
            Accumulation::Sum { .. } => {
                AccumulatorTally::Sums(Cut::default(), Box::new(SignedSketch::new()))
            }
            Accumulation::Values(_) => AccumulatorTally::Values(Default::default()),
        };
        Self { cut: accumulators.iter().map(empty).collect(), ..Self::default() }
    }

    /// Adds rows that are units.
    pub(super) fn add_rows(&mut self, rows: &ContributionBatch, accumulators: &[Accumulation]) {
        for _ in 0..rows.rows {
            self.groups_per_unit.add(1);
            self.rows_per_group.add(1);
        }
        for ((tallied, column), accumulator) in
            self.cut.iter_mut().zip(&rows.values).zip(accumulators)
        {
            for value in column.iter().flatten() {
                match (&mut *tallied, accumulator) {
                    (AccumulatorTally::Sums(cut, sizes), Accumulation::Sum { bounds, .. }) => {
                        sizes.add(value as f64);
                        let counts = clamped(value.into(), *bounds);
                        cut.units += u64::from(cut.add(value.into(), counts));
                    }
                    (AccumulatorTally::Values([beyond, range]), Accumulation::Values(listing)) => {
                        beyond.add(1, 1);
                        let whole = i128::from(listing.clamped(value) == value);
                        range.units += u64::from(range.add(1, whole));
                    }
                    // Both are made of the same list.
                    (AccumulatorTally::Sums(..), Accumulation::Values(_))
                    | (AccumulatorTally::Values(_), Accumulation::Sum { .. }) => {}
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
                (
                    AccumulatorTally::Sums(cut, sizes),
                    AccumulatorTally::Sums(other_cut, other_sizes),
                ) => {
                    cut.merge(other_cut);
                    sizes.merge(&other_sizes);
                }
                (AccumulatorTally::Values(cuts), AccumulatorTally::Values(other)) => {
                    cuts.iter_mut().zip(other).for_each(|(cut, other)| cut.merge(other));
                }
                // Both are made of the same list.
                (AccumulatorTally::Sums(..), AccumulatorTally::Values(_))
                | (AccumulatorTally::Values(_), AccumulatorTally::Sums(..)) => {}
            }
        }
    }
}

impl UnitShard {
    /// Adds up what the units contribute to their kept groups, and what the bounds cut off. The sum
    /// at index `rows` counts rows.
    pub(super) fn add_tally(
        &self,
        rules: &Rules,
        accumulators: &[Accumulation],
        rows: usize,
        tally: &mut ContributionTally,
    ) {
        let (bounds, listings) = by_kind(accumulators);
        let (mut tallied_sums, mut tallied_lists) = (Vec::new(), Vec::new());
        for tallied in &mut tally.cut {
            match tallied {
                AccumulatorTally::Sums(cut, sizes) => tallied_sums.push((cut, sizes)),
                AccumulatorTally::Values(cuts) => tallied_lists.push(cuts),
            }
        }
        for (index, (listing, cuts)) in listings.iter().zip(tallied_lists).enumerate() {
            self.tally_list(rules, index, listing, cuts);
        }
        for unit in &self.units {
            tally.groups_per_unit.add(unit.count.into());
            let mut touched = vec![false; bounds.len()];
            for slot in self.slots(unit) {
                let sums = tallied_sums.iter_mut().zip(&mut touched).zip(&bounds).enumerate();
                for (index, (((cut, sizes), touched), &bounds)) in sums {
                    let sum = self.sum(rules, slot, index);
                    if sum != NOTHING {
                        sizes.add(sum as f64);
                        *touched |= cut.add(sum, clamped(sum, bounds));
                    }
                }
                let count = if rows < bounds.len() { self.sum(rules, slot, rows) } else { 0 };
                tally.rows_per_group.add(u64::try_from(count).unwrap_or(0));
            }
            for ((cut, _), touched) in tallied_sums.iter_mut().zip(touched) {
                cut.units += u64::from(touched);
            }
        }
    }

    /// Adds up the values of the list at that index that are beyond the most of a unit in a group,
    /// and what clamping takes from the others.
    fn tally_list(
        &self,
        rules: &Rules,
        index: usize,
        listing: &Listing,
        [beyond, range]: &mut [Cut; 2],
    ) {
        let mut touched = vec![[false; 2]; self.units.len()];
        self.each_list(rules, index, |unit, group, values| {
            if listing.distinct {
                values.sort_unstable();
                values.dedup();
            }
            let [is_beyond, is_clamped] = &mut touched[unit];
            *is_beyond |= values.len() > listing.rows as usize;
            let mut whole = Cut::default();
            let mut within = 0u128;
            for &value in values.iter() {
                let clamped = listing.clamped(value);
                let added_up = listing.sum.is_some();
                let cut =
                    if added_up { value.abs_diff(clamped) } else { (value != clamped).into() };
                whole.total = whole.total.saturating_add(listing.weight(value));
                whole.cut = whole.cut.saturating_add(cut.into());
                within = within.saturating_add(listing.weight(clamped));
                *is_clamped |= clamped != value;
            }
            choose(rules, (self.units[unit].code, group), listing, values);
            let weights = values.iter().map(|&value| listing.weight(value));
            let chosen = weights.fold(0u128, u128::saturating_add);
            let change = listing.sum_within_mean(values).abs_diff(sum_of(values));
            *is_clamped |= change > 0;
            whole.cut = whole.cut.saturating_add(change);
            range.merge(whole);
            beyond.merge(Cut { cut: within.saturating_sub(chosen), ..whole });
        });
        for [is_beyond, is_clamped] in touched {
            beyond.units += u64::from(is_beyond);
            range.units += u64::from(is_clamped);
        }
    }
}

impl Listing {
    /// The weight of a value in a tally: its size where values are added up, else one.
    fn weight(&self, value: i64) -> u128 {
        if self.sum.is_some() { value.unsigned_abs().into() } else { 1 }
    }
}
