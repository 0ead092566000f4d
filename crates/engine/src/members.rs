//! Which groups each unit is in.

use datafusion::error::DataFusionError;
use hushtable_mechanisms::Memberships;

use crate::flat::flat;
use crate::intern::{inconsistent, too_many};

/// The groups of each unit.
#[derive(Default)]
pub(crate) struct PartialMembers {
    /// End of each unit's part of `groups`.
    pub(crate) ends: Vec<u64>,
    pub(crate) groups: Vec<u32>,
    /// Keyed hash of each unit, by its bits.
    pub(crate) ranks: Vec<i128>,
}

flat!(PartialMembers { ends, groups, ranks });

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
        if self.groups.iter().any(|&group| group as usize >= ids.len()) {
            return Err(inconsistent("a unit is in a group that its partition does not have"));
        }
        for member in self.iter() {
            let (rank, groups) = member?;
            all.push(rank, groups.iter().map(|&group| ids[group as usize] as u32));
        }
        Ok(())
    }

    /// Bytes of memory.
    pub(crate) fn size(&self) -> usize {
        self.ends.capacity() * size_of::<u64>()
            + self.groups.capacity() * size_of::<u32>()
            + self.ranks.capacity() * size_of::<i128>()
    }

    /// The keyed hash of each unit, and its groups.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<(u128, &[u32]), DataFusionError>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        self.ranks.iter().zip(starts.zip(&self.ends)).map(|(&rank, (start, &end))| {
            // Groups from a batch may be numbered in any way.
            let groups = self
                .groups
                .get(start as usize..end as usize)
                .ok_or_else(|| inconsistent("the groups of a unit are not among those recorded"))?;
            Ok((rank as u128, groups))
        })
    }
}
