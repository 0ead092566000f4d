//! Values of groups that are kept one by one, where a quantile of them is asked for.

/// Values and their groups, as they come.
#[derive(Default)]
pub(crate) struct ValueList {
    pub(crate) groups: Vec<u32>,
    pub(crate) values: Vec<i64>,
}

impl ValueList {
    pub(crate) fn push(&mut self, group: u32, value: i64) {
        self.groups.push(group);
        self.values.push(value);
    }

    /// Bytes of memory.
    pub(crate) fn size(&self) -> usize {
        self.groups.capacity() * size_of::<u32>() + self.values.capacity() * size_of::<i64>()
    }

    /// Gives groups other numbers.
    pub(crate) fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        self.groups.iter_mut().for_each(|group| *group = number(*group));
    }
}

/// The values of each group, sorted. Exact: no Debug, Display or Serialize.
#[derive(Clone, Default)]
pub(crate) struct ValueLists {
    /// End of each group's slice of `values`.
    ends: Vec<usize>,
    values: Vec<i64>,
}

impl ValueLists {
    /// Of lists whose groups are numbered below `groups`.
    pub(crate) fn sorted(lists: &[ValueList], groups: usize) -> Self {
        let mut ends = vec![0usize; groups + 1];
        for &group in lists.iter().flat_map(|list| &list.groups) {
            ends[group as usize + 1] += 1;
        }
        for group in 0..groups {
            ends[group + 1] += ends[group];
        }
        // Until it is full, the end of a group's slice is where its next value goes.
        let mut values = vec![0; ends[groups]];
        for list in lists {
            for (&group, &value) in list.groups.iter().zip(&list.values) {
                let end = &mut ends[group as usize];
                values[*end] = value;
                *end += 1;
            }
        }
        ends.pop();
        let mut sorted = Self { ends, values };
        sorted.sort();
        sorted
    }

    /// Sorts the slice of each group, on all processors.
    fn sort(&mut self) {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = self.values.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            let (mut rest, mut ends) = (&mut self.values[..], &self.ends[..]);
            let mut start = 0;
            while !ends.is_empty() {
                // As many groups as hold a thread's share of the values.
                let count = ends.partition_point(|&end| end < start + share) + 1;
                let (list_ends, others) = ends.split_at(count.min(ends.len()));
                let end = list_ends.last().copied().unwrap_or(start);
                let (slice, after) = std::mem::take(&mut rest).split_at_mut(end - start);
                let mut sort = move || {
                    let mut from = start;
                    for &to in list_ends {
                        slice[from - start..to - start].sort_unstable();
                        from = to;
                    }
                };
                if others.is_empty() {
                    sort();
                } else {
                    scope.spawn(sort);
                }
                (rest, ends, start) = (after, others, end);
            }
        });
    }

    /// The values of a group; none if it has none, or is not known here.
    pub(crate) fn of(&self, group: usize) -> &[i64] {
        let end = self.ends.get(group).copied().unwrap_or(0);
        let start = group.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        self.values.get(start.unwrap_or(0)..end).unwrap_or_default()
    }

    /// How many groups there are.
    pub(crate) fn groups(&self) -> usize {
        self.ends.len()
    }

    /// How many different values a group has.
    pub(crate) fn distinct_of(&self, group: usize) -> i128 {
        // They are sorted.
        self.of(group).chunk_by(|a, b| a == b).count() as i128
    }

    /// Groups in another order, each with the values of the group that is named.
    pub(crate) fn rearranged(&self, groups: impl Iterator<Item = Option<usize>>) -> Self {
        let mut new = Self::default();
        for group in groups {
            new.values.extend_from_slice(group.map_or(&[], |group| self.of(group)));
            new.ends.push(new.values.len());
        }
        new
    }

    /// Takes one of a group's values away.
    pub(crate) fn remove(&mut self, group: usize, value: i64) {
        let Some(end) = self.ends.get(group) else { return };
        if let Ok(index) = self.of(group).binary_search(&value) {
            self.values.remove(end - self.of(group).len() + index);
            self.ends.iter_mut().skip(group).for_each(|end| *end -= 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is in which list, groups have their values in order; also after changes.
        #[test]
        fn values_are_sorted_by_group(
            lists in prop::collection::vec(prop::collection::vec((0u32..7, -9i64..9), 0..60), 0..4),
            gone in 0usize..300,
        ) {
            let made: Vec<ValueList> = lists
                .iter()
                .map(|pairs| {
                    let mut list = ValueList::default();
                    pairs.iter().for_each(|&(group, value)| list.push(group + 10, value));
                    list.renumber(|group| group - 10);
                    list
                })
                .collect();
            let mut values = ValueLists::sorted(&made, 8);
            let mut plain: Vec<Vec<i64>> = vec![Vec::new(); 8];
            for &(group, value) in lists.iter().flatten() {
                plain[group as usize].push(value);
            }
            plain.iter_mut().for_each(|list| list.sort());
            for (group, list) in plain.iter().enumerate() {
                prop_assert_eq!(values.of(group), list.as_slice());
            }
            prop_assert!(values.of(8).is_empty() && values.of(1000).is_empty());
            let all: Vec<(u32, i64)> = lists.concat();
            if let Some(&(group, value)) = all.get(gone) {
                let group = group as usize;
                values.remove(group, value);
                let index = plain[group].iter().position(|list| *list == value).unwrap();
                plain[group].remove(index);
            }
            values.remove(0, 1000);
            values.remove(1000, 0);
            let other = values.rearranged([Some(3), None, Some(99), Some(0), Some(6)].into_iter());
            for (group, from) in [(0, 3), (3, 0), (4, 6)] {
                prop_assert_eq!(other.of(group), plain[from].as_slice());
            }
            prop_assert!(other.of(1).is_empty() && other.of(2).is_empty());
        }
    }
}
