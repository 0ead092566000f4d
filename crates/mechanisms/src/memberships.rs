//! Which groups each privacy unit is in.

/// Groups by unit, as integers. Nothing of it may be shown.
///
/// No Debug, Display or Serialize: it is exact data.
#[derive(Clone, Default)]
pub struct Memberships {
    /// End of each unit's part of `groups`.
    ends: Vec<usize>,
    groups: Vec<u32>,
    /// A place of each unit in an order that says nothing of its data: a keyed hash of its name.
    places: Vec<u128>,
}

impl Memberships {
    /// Adds a unit with its `place` in the order of units. The groups must all be different, and
    /// their order says nothing of other units, either.
    pub fn push(&mut self, place: u128, groups: impl IntoIterator<Item = u32>) {
        self.groups.extend(groups);
        self.ends.push(self.groups.len());
        self.places.push(place);
    }

    /// Number of units.
    pub fn units(&self) -> usize {
        self.ends.len()
    }

    /// Number of pairs of a unit and a group.
    pub fn pairs(&self) -> usize {
        self.groups.len()
    }

    /// The groups of the unit at a position; none beyond the last.
    pub fn of(&self, unit: usize) -> &[u32] {
        let start = unit.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(unit).copied().unwrap_or(0);
        self.groups.get(start.unwrap_or(0)..end).unwrap_or_default()
    }

    /// Positions of the units, those in the fewest groups first; those in as many in the order of
    /// their places.
    pub(crate) fn fewest_first(&self) -> Vec<usize> {
        let mut order = self.in_order();
        order.sort_by_key(|&unit| self.of(unit).len());
        order
    }

    /// Positions of the units in the order of their places.
    pub(crate) fn in_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.ends.len()).collect();
        order.sort_unstable_by_key(|&unit| self.places.get(unit));
        order
    }
}

#[cfg(test)]
impl Memberships {
    /// Units with their places and groups.
    pub(crate) fn of_units(units: &[(u64, Vec<u32>)]) -> Self {
        let mut members = Self::default();
        for (place, groups) in units {
            members.push(u128::from(*place), groups.iter().copied());
        }
        members
    }
}
