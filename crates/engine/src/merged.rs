//! The groups of several partitions, put together.

use datafusion::arrow::array::ArrayRef;
use datafusion::error::DataFusionError;
use hushtable_mechanisms::Memberships;

use crate::bound::{GroupTotals, Partial, Tallies};
use crate::contributions::Accumulation;
use crate::intern::too_many;
use crate::intern::{Interner, inconsistent};
use crate::measurements::ExactMeasurement;
use crate::survey::PartitionSurvey;
use crate::value_lists::{ValueList, ValueLists};

/// Exact groups of all partitions. No Debug, Display or Serialize.
pub(crate) struct MergedGroups {
    pub(crate) keys: Vec<ArrayRef>,
    pub(crate) units: Vec<i64>,
    /// Of each accumulator.
    pub(crate) totals: Vec<ExactMeasurement>,
    pub(crate) members: Option<Memberships>,
    /// Surveys of single units by partition, with the numbers of their groups here.
    pub(crate) surveys: Vec<PartitionSurvey>,
    /// Contributions of units, where owners read them.
    pub(crate) tallies: Option<Tallies>,
}

/// Exact groups of several partitions, which share groups but no units. No Debug, Display or
/// Serialize.
pub(crate) struct MergedPartitions {
    groups: Option<Interner>,
    units: Vec<i64>,
    /// Of each accumulator.
    totals: Vec<Merging>,
    members: Option<Memberships>,
    /// Surveys of single units by partition, with the numbers of their groups here.
    surveys: Vec<PartitionSurvey>,
    /// Contributions of units, where owners read them.
    tallies: Option<Tallies>,
}

/// An accumulator's totals of all partitions.
enum Merging {
    Sums(Vec<i128>),
    /// The partitions' values, with the numbers of their groups here.
    Values(Vec<ValueList>),
}

impl MergedPartitions {
    /// Of nothing yet.
    pub(crate) fn new(kept: &[Accumulation]) -> Self {
        let empty = |kept: &Accumulation| match kept {
            Accumulation::Values(listing) if listing.sum.is_none() => Merging::Values(Vec::new()),
            Accumulation::Values(_) | Accumulation::Sum { .. } => Merging::Sums(Vec::new()),
        };
        Self {
            groups: None,
            units: Vec::new(),
            totals: kept.iter().map(empty).collect(),
            members: None,
            surveys: Vec::new(),
            tallies: None,
        }
    }

    pub(crate) fn add(&mut self, mut partial: Partial) -> Result<(), DataFusionError> {
        // Also of a partition in which no row counts.
        if let Some(tallies) = partial.tallies.take() {
            match &mut self.tallies {
                Some(merged) => merged.merge(tallies),
                none => *none = Some(tallies),
            }
        }
        // Without rows it may have no columns of keys, and would pass for the one group of a query
        // without keys.
        if partial.units.is_empty() {
            return Ok(());
        }
        let single = [0];
        let (ids, groups) = if partial.keys.is_empty() {
            (&single[..], 1)
        } else {
            let groups = match &mut self.groups {
                Some(groups) => groups,
                none => none.insert(Interner::new(&partial.keys)?),
            };
            groups.intern(&partial.keys)?;
            let known = groups.len();
            (&groups.ids[..], known)
        };
        if ids.len() != partial.units.len() || partial.totals.len() != self.totals.len() {
            return Err(inconsistent(
                "the groups, units and totals of a partition differ in number",
            ));
        }
        if let Some(members) = &partial.members {
            // No unit is in two partitions, so that memberships are put side by side and never
            // joined.
            members.add_to(self.members.get_or_insert_default(), ids)?;
        }
        if groups > u32::MAX as usize {
            return Err(too_many());
        }
        self.units.resize(groups, 0);
        for (&id, units) in ids.iter().zip(&partial.units) {
            // Units of different partitions are different ones: adding counts each once.
            self.units[id] += units;
        }
        for (merging, total) in self.totals.iter_mut().zip(partial.totals) {
            match (merging, total) {
                (Merging::Sums(merged), GroupTotals::Sums(sums)) if sums.len() == ids.len() => {
                    merged.resize(groups, 0);
                    for (&id, sum) in ids.iter().zip(&sums) {
                        merged[id] += sum;
                    }
                }
                (Merging::Values(lists), GroupTotals::Values(mut list)) => {
                    // These numbers may come from another process.
                    if list.groups.iter().any(|&group| group as usize >= ids.len()) {
                        return Err(inconsistent(
                            "a value is in a group that its partition does not have",
                        ));
                    }
                    list.renumber(|group| ids[group as usize] as u32);
                    lists.push(list);
                }
                (Merging::Sums(_), _) | (Merging::Values(_), GroupTotals::Sums(_)) => {
                    return Err(inconsistent("a partition has other totals than its accumulators"));
                }
            }
        }
        if let Some(survey) = partial.survey {
            self.surveys.push(PartitionSurvey { survey, groups: ids.to_vec() });
        }
        Ok(())
    }

    /// Bytes of memory, and of what values take once they are sorted.
    pub(crate) fn size(&self) -> usize {
        let total = |total: &Merging| match total {
            Merging::Sums(sums) => sums.capacity() * size_of::<i128>(),
            Merging::Values(lists) => 2 * lists.iter().map(ValueList::size).sum::<usize>(),
        };
        let members = self.members.as_ref();
        let members = members.map_or(0, |members| {
            members.units() * (size_of::<usize>() + size_of::<u128>())
                + members.pairs() * size_of::<u32>()
        });
        self.groups.as_ref().map_or(0, Interner::size)
            + self.units.capacity() * size_of::<i64>()
            + self.totals.iter().map(total).sum::<usize>()
            + members
    }

    pub(crate) fn finish(self) -> Result<MergedGroups, DataFusionError> {
        let Self { groups, units, totals, members, surveys, tallies } = self;
        let keys = groups.map_or(Ok(Vec::new()), Interner::finish)?;
        let total = |total| match total {
            Merging::Sums(sums) => ExactMeasurement::Sums(sums),
            Merging::Values(lists) => {
                ExactMeasurement::Values(ValueLists::sorted(&lists, units.len()))
            }
        };
        let totals = totals.into_iter().map(total).collect();
        Ok(MergedGroups { keys, units, totals, members, surveys, tallies })
    }
}
