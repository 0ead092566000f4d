//! Levels of one SELECT that are to fit each other.

/// The levels of one SELECT that are to fit each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consistent {
    /// Each of its levels, once.
    pub levels: Vec<ConsistentLevel>,
    /// Whether no number that counts or adds up what is not below zero is to be below zero.
    pub non_negative: bool,
}

/// A level among those that are to fit each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsistentLevel {
    /// The name of its part.
    pub part: String,
    /// The name of its table in the SQL around when it fits.
    pub table: String,
    /// Its keys in the part's order, by their indices among those of all levels.
    pub keys: Vec<usize>,
}

impl Consistent {
    /// The number of keys of all levels together.
    pub fn keys(&self) -> usize {
        self.levels.iter().flat_map(|level| &level.keys).max().map_or(0, |last| last + 1)
    }
}
