//! Pairs of a unit and a group.

use std::collections::HashMap;
use std::io::Read;

use hushtable_mechanisms::Memberships;

use crate::draws::Draws;

/// Why pairs cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// No CSV.
    #[error("the file is no CSV: {0}")]
    Csv(#[from] csv::Error),
    /// A unit that is no whole number, or no second column.
    #[error("row {0} is no whole number and a text")]
    Row(usize),
    /// Too many groups.
    #[error("there are more than 2^32 groups")]
    Groups,
}

/// Which groups each unit is in, each pair once; a unit's groups are in a random order.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    ends: Vec<usize>,
    groups: Vec<u32>,
    sizes: Vec<u64>,
}

impl Pairs {
    /// Reads CSV with a header and two columns, a unit's number and a group's name. With
    /// `numbers_per_unit`, numbers in a row are one unit; it is in at most `most_groups` groups,
    /// drawn at random.
    ///
    /// # Errors
    /// When it is no such CSV.
    pub fn read(
        csv: impl Read,
        numbers_per_unit: u64,
        most_groups: usize,
        seed: u64,
    ) -> Result<Self, PairError> {
        let mut reader = csv::Reader::from_reader(csv);
        let mut names: HashMap<String, u32> = HashMap::new();
        let mut all: Vec<(u64, u32)> = Vec::new();
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record)? {
            let wrong = PairError::Row(all.len() + 1);
            let (Some(number), Some(name)) = (record.get(0), record.get(1)) else {
                return Err(wrong);
            };
            let number: u64 = number.parse().map_err(|_| wrong)?;
            let group = match names.get(name) {
                Some(&group) => group,
                None => {
                    let group = u32::try_from(names.len()).map_err(|_| PairError::Groups)?;
                    names.insert(name.to_owned(), group);
                    group
                }
            };
            all.push((number / numbers_per_unit.max(1), group));
        }
        all.sort_unstable();
        all.dedup();
        let mut pairs = Self { sizes: vec![0; names.len()], ..Self::default() };
        let mut draws = Draws::new(seed);
        for unit in all.chunk_by(|left, right| left.0 == right.0) {
            let mut groups: Vec<u32> = unit.iter().map(|&(_, group)| group).collect();
            shuffle(&mut groups, &mut draws);
            groups.truncate(most_groups);
            pairs.push(&groups);
        }
        Ok(pairs)
    }

    /// Adds a unit.
    pub(super) fn push(&mut self, groups: &[u32]) {
        for &group in groups {
            let group = group as usize;
            if self.sizes.len() <= group {
                self.sizes.resize(group + 1, 0);
            }
            if let Some(size) = self.sizes.get_mut(group) {
                *size += 1;
            }
        }
        self.groups.extend_from_slice(groups);
        self.ends.push(self.groups.len());
    }

    /// The number of units of each group.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The groups of each unit.
    pub(super) fn units(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends);
        ranges.map(|(start, &end)| self.groups.get(start..end).unwrap_or_default())
    }

    /// The number of units.
    pub(super) fn unit_count(&self) -> usize {
        self.ends.len()
    }

    /// The groups of the unit at a position.
    pub(super) fn unit(&self, unit: usize) -> &[u32] {
        let start = unit.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(unit).copied().unwrap_or(0);
        self.groups.get(start.unwrap_or(0)..end).unwrap_or_default()
    }

    /// As the engine's mechanisms take them.
    pub(super) fn memberships(&self) -> Memberships {
        let mut members = Memberships::default();
        let mut draws = Draws::new(self.ends.len() as u64);
        for groups in self.units() {
            let order_key = (draws.uniform() * 2f64.powi(53)) as u128;
            members.push(order_key, groups.iter().copied());
        }
        members
    }
}

/// Puts items in a random order.
pub(super) fn shuffle<T>(items: &mut [T], draws: &mut Draws) {
    for last in (1..items.len()).rev() {
        let other = (draws.uniform() * (last + 1) as f64) as usize;
        items.swap(last, other.min(last));
    }
}
