//! Published tables of counts, as files: their cells, and the parts of the population that these do not
//! tell apart.

mod parts;
mod read;

use hushtable_knowledge::Counted;

pub(crate) use parts::{Divided, divide};
pub(crate) use read::read;

/// Tables of counts over the same key columns.
#[derive(Debug)]
pub(crate) struct Tables {
    /// Names of the tables.
    pub(crate) names: Vec<String>,
    pub(crate) columns: Vec<KeyColumn>,
    pub(crate) cells: Vec<TableCell>,
}

/// A key column of any of the tables.
#[derive(Debug)]
pub(crate) struct KeyColumn {
    pub(crate) name: String,
    /// All values that some table has.
    pub(crate) values: Vec<String>,
}

/// One count of a table, published or suppressed.
#[derive(Clone, Debug)]
pub(crate) struct TableCell {
    /// The table, by its place.
    pub(crate) table: usize,
    /// By column.
    pub(crate) keys: Vec<Key>,
    pub(crate) count: Counted,
}

/// What a cell says of a column. Values by their places, in rising order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// Any value: a margin.
    All,
    /// One of these.
    Any(Vec<usize>),
    /// None of these.
    AllBut(Vec<usize>),
}

impl Key {
    fn holds(&self, value: usize) -> bool {
        match self {
            Self::All => true,
            Self::Any(values) => values.contains(&value),
            Self::AllBut(values) => !values.contains(&value),
        }
    }
}

impl Tables {
    /// What is counted in a cell: `region=north, age=!0-17`, or `all`.
    pub(crate) fn describe(&self, keys: &[Key]) -> String {
        let said: Vec<String> = self
            .columns
            .iter()
            .zip(keys)
            .filter_map(|(column, key)| Some(format!("{}={}", column.name, column.said(key)?)))
            .collect();
        if said.is_empty() { "all".to_owned() } else { said.join(", ") }
    }
}

impl KeyColumn {
    /// As tables write it; `None` for all.
    pub(crate) fn said(&self, key: &Key) -> Option<String> {
        let joined = |values: &[usize]| {
            let values: Vec<&str> =
                values.iter().filter_map(|v| self.values.get(*v)).map(String::as_str).collect();
            values.join("|")
        };
        match key {
            Key::All => None,
            Key::Any(values) => Some(joined(values)),
            Key::AllBut(values) => Some(format!("!{}", joined(values))),
        }
    }
}
