//! The groups of several partitions, put together.

use datafusion::arrow::array::ArrayRef;
use datafusion::error::DataFusionError;
use hushtable_mechanisms::Memberships;

use crate::bound::{Partial, too_many};
use crate::intern::Interner;
use crate::survey::Surveyed;
use crate::values::{List, Values};

/// Exact groups of all partitions.
pub(crate) struct All {
    pub(crate) keys: Vec<ArrayRef>,
    pub(crate) units: Vec<i64>,
    pub(crate) sums: Vec<Vec<i128>>,
    pub(crate) values: Vec<Values>,
    pub(crate) members: Option<Memberships>,
}

/// Exact groups of several partitions, which share groups but no units.
pub(crate) struct Merged {
    groups: Option<Interner>,
    units: Vec<i64>,
    sums: Vec<Vec<i128>>,
    /// The partitions' values, for each listing, with the numbers of their groups here.
    lists: Vec<Vec<List>>,
    members: Option<Memberships>,
    /// What the partitions tell of single units, with the numbers of their groups here.
    pub(crate) surveys: Vec<Surveyed>,
}

impl Merged {
    pub(crate) fn new(measures: usize, listings: usize) -> Self {
        Self {
            groups: None,
            units: Vec::new(),
            sums: vec![Vec::new(); measures],
            lists: (0..listings).map(|_| Vec::new()).collect(),
            members: None,
            surveys: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, partial: Partial) -> Result<(), DataFusionError> {
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
        if let Some(members) = &partial.members {
            members.add_to(self.members.get_or_insert_default(), ids)?;
        }
        if groups > u32::MAX as usize {
            return Err(too_many());
        }
        for (own, mut list) in self.lists.iter_mut().zip(partial.lists) {
            list.renumber(|group| ids[group as usize] as u32);
            own.push(list);
        }
        if let Some(survey) = partial.survey {
            self.surveys.push(Surveyed { survey, groups: ids.to_vec() });
        }
        self.units.resize(groups, 0);
        for (&id, units) in ids.iter().zip(&partial.units) {
            self.units[id] += units;
        }
        for (own, sums) in self.sums.iter_mut().zip(&partial.sums) {
            own.resize(groups, 0);
            for (&id, sum) in ids.iter().zip(sums) {
                own[id] += sum;
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<All, DataFusionError> {
        let Self { units, sums, members, .. } = self;
        let keys = self.groups.map_or(Ok(Vec::new()), Interner::finish)?;
        let values = self.lists.into_iter().map(|lists| Values::sorted(&lists, units.len()));
        Ok(All { values: values.collect(), keys, units, sums, members })
    }
}
