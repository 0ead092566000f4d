//! Which groups each privacy unit is in.

/// Groups by unit, as integers. None of it may be released.
///
/// No Debug, Display or Serialize: it is exact data.
#[derive(Clone, Default)]
pub struct Memberships {
    /// End of each unit's part of `groups`.
    ends: Vec<usize>,
    groups: Vec<u32>,
    /// A keyed hash of each unit's name: the order of units by it says nothing of their data.
    order_keys: Vec<u128>,
}

impl Memberships {
    /// Adds a unit whose position among the units follows from its `order_key`. Its groups must all
    /// be different, in an order that does not depend on other units.
    pub fn push(&mut self, order_key: u128, groups: impl IntoIterator<Item = u32>) {
        self.groups.extend(groups);
        self.ends.push(self.groups.len());
        self.order_keys.push(order_key);
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

    /// The key of the unit at a position; zero beyond the last.
    pub(crate) fn order_key(&self, unit: usize) -> u128 {
        self.order_keys.get(unit).copied().unwrap_or(0)
    }

    /// Positions of the units, those in the fewest groups first; those in as many in the order of
    /// their keys.
    pub(crate) fn fewest_first(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.ends.len()).collect();
        order.sort_unstable_by_key(|&unit| (self.of(unit).len(), self.order_keys.get(unit)));
        order
    }
}

#[cfg(test)]
impl Memberships {
    /// Units with their order keys and groups.
    pub(crate) fn of_units(units: &[(u64, Vec<u32>)]) -> Self {
        let mut members = Self::default();
        for (order_key, groups) in units {
            members.push(u128::from(*order_key), groups.iter().copied());
        }
        members
    }
}
