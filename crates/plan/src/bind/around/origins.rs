//! Where the values of a column come from, in SQL around private parts.

/// Where the values of a column come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origins {
    /// The released columns: the index of the part, and the column. Levels that are adjusted to
    /// others are separate tables, after all parts.
    pub from: Vec<(usize, usize)>,
    /// Whether each value is one of theirs as it is, or a constant.
    pub as_they_are: bool,
    /// Whether they also come from something that is not traced, such as several rows.
    pub unknown: bool,
}

impl Origins {
    /// Of a released column.
    pub(super) fn of(part: usize, column: usize) -> Self {
        Self { from: vec![(part, column)], ..Self::constant() }
    }

    pub(super) fn constant() -> Self {
        Self { from: Vec::new(), as_they_are: true, unknown: false }
    }

    pub(super) fn unknown() -> Self {
        Self { from: Vec::new(), as_they_are: false, unknown: true }
    }

    /// Of what is computed from such a value.
    pub(super) fn changed(self) -> Self {
        let as_they_are = self.from.is_empty() && !self.unknown;
        Self { as_they_are, ..self }
    }

    /// Of values of either, or what is computed from both.
    pub(super) fn and(mut self, other: Self) -> Self {
        for column in other.from {
            if !self.from.contains(&column) {
                self.from.push(column);
            }
        }
        self.as_they_are &= other.as_they_are;
        self.unknown |= other.unknown;
        self
    }
}

/// The name of the hidden column with the cells of a column.
pub fn cell_name(column: &str) -> String {
    format!("{}\u{1}", column.to_ascii_lowercase())
}
