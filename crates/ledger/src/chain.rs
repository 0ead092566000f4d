//! Chains of rows: each row holds a hash of itself and of the row before, so that none can be
//! missing, changed or out of order unseen.

use std::borrow::Cow;
use std::fmt;

/// The tables whose rows form a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Chain {
    Charges,
    Attempts,
    Draws,
    Releases,
}

/// All of them.
pub(crate) const CHAINS: [Chain; 4] =
    [Chain::Charges, Chain::Attempts, Chain::Draws, Chain::Releases];

impl Chain {
    /// The name of the table.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Self::Charges => "charges",
            Self::Attempts => "attempts",
            Self::Draws => "draws",
            Self::Releases => "releases",
        }
    }

    /// One row, in errors.
    pub(crate) fn row(self) -> &'static str {
        match self {
            Self::Charges => "charge",
            Self::Attempts => "attempt",
            Self::Draws => "draw",
            Self::Releases => "release",
        }
    }
}

/// A value in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChainValue<'a> {
    Integer(i64),
    /// A text's bytes, which are UTF-8 in rows that are not damaged.
    Text(Cow<'a, [u8]>),
    Blob(Cow<'a, [u8]>),
    /// A value of a kind that no ledger writes.
    Other,
}

impl ChainValue<'_> {
    pub(crate) fn text(text: String) -> ChainValue<'static> {
        ChainValue::Text(Cow::Owned(text.into_bytes()))
    }

    pub(crate) fn blob(bytes: impl Into<Vec<u8>>) -> ChainValue<'static> {
        ChainValue::Blob(Cow::Owned(bytes.into()))
    }
}

#[cfg(feature = "memory")]
impl ChainValue<'_> {
    pub(crate) fn into_owned(self) -> ChainValue<'static> {
        match self {
            ChainValue::Integer(number) => ChainValue::Integer(number),
            ChainValue::Text(text) => ChainValue::Text(Cow::Owned(text.into_owned())),
            ChainValue::Blob(bytes) => ChainValue::Blob(Cow::Owned(bytes.into_owned())),
            ChainValue::Other => ChainValue::Other,
        }
    }
}

/// A row: its number, its values and its link.
pub(crate) struct ChainRow<'a>(pub(crate) &'a [ChainValue<'a>]);

/// The value in a column, counted from 0; nothing where it is of another kind.
impl<'a> ChainRow<'a> {
    pub(crate) fn integer(&self, at: usize) -> Option<i64> {
        match self.0.get(at)? {
            ChainValue::Integer(number) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn text(&self, at: usize) -> Option<&'a str> {
        match self.0.get(at)? {
            ChainValue::Text(bytes) => str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub(crate) fn hash(&self, at: usize) -> Option<[u8; 32]> {
        match self.0.get(at)? {
            ChainValue::Blob(bytes) => bytes.as_ref().try_into().ok(),
            _ => None,
        }
    }
}

/// The hash that a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link(pub(crate) [u8; 32]);

impl Link {
    /// The link of the next row, whose other values are `values`, in the order of its columns.
    pub(crate) fn next<'a>(self, values: impl IntoIterator<Item = &'a ChainValue<'a>>) -> Self {
        let mut hasher = blake3::Hasher::new();
        // The link before comes first, so that a row fits at one place only.
        hasher.update(&self.0);
        // A kind and a length before each value: no two rows have the same bytes.
        let mut add = |kind: u8, bytes: &[u8]| {
            hasher.update(&[kind]);
            hasher.update(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(bytes);
        };
        for value in values {
            match value {
                ChainValue::Other => add(0, &[]),
                ChainValue::Integer(number) => add(1, &number.to_le_bytes()),
                ChainValue::Text(text) => add(3, text),
                ChainValue::Blob(bytes) => add(4, bytes),
            }
        }
        Self(*hasher.finalize().as_bytes())
    }
}

/// How far a chain goes: the ledger keeps it apart from the rows, so that the last ones cannot be
/// missing either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainHead {
    /// The link before the first row: random, and another one in each ledger.
    pub(crate) seed: Link,
    /// How many rows there are; they are numbered from 1.
    pub(crate) rows: i64,
    /// The link of the last row.
    pub(crate) link: Link,
}

impl ChainHead {
    /// Before the first row.
    pub(crate) fn start(self) -> Self {
        Self { rows: 0, link: self.seed, ..self }
    }
}

/// A fault of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainFault {
    /// The ledger does not say how far the chain goes.
    NoHead(Chain),
    /// The row of this number is not there.
    Missing(Chain, i64),
    /// The row of this number is not the one that was written.
    Changed(Chain, i64),
    /// A row beyond the last one that was written.
    Added(Chain, i64),
    /// This program has seen later rows.
    Older(Chain),
    /// The row of this number has a value that no ledger writes.
    Unreadable(Chain, i64),
    /// The row of this number does not fit those of other tables.
    Misplaced(Chain, i64),
}

impl fmt::Display for ChainFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoHead(chain) => write!(f, "it does not say how many {} it has", chain.table()),
            Self::Missing(chain, id) => write!(f, "{} {id} is missing", chain.row()),
            Self::Changed(chain, id) => {
                write!(f, "{} {id} is not the one that was written", chain.row())
            }
            Self::Added(chain, id) => {
                write!(f, "{} {id} was added by another program", chain.row())
            }
            Self::Older(chain) => {
                write!(f, "{} that were there a moment ago are missing", chain.table())
            }
            Self::Unreadable(chain, id) => {
                write!(f, "{} {id} has a value that no ledger writes", chain.row())
            }
            Self::Misplaced(chain, id) => {
                write!(f, "{} {id} does not fit its charge", chain.row())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_and_its_place_changes_the_link() {
        let seed = Link([1; 32]);
        let text = |text: &str| ChainValue::text(text.to_owned());
        let rows = [
            vec![],
            vec![ChainValue::Other],
            vec![text("")],
            vec![ChainValue::blob([])],
            vec![text("ab"), text("c")],
            vec![text("a"), text("bc")],
            vec![text("c"), text("ab")],
            vec![ChainValue::Integer(0)],
            vec![ChainValue::Integer(1), ChainValue::Integer(0)],
        ];
        let mut links: Vec<[u8; 32]> = rows.iter().map(|row| seed.next(row).0).collect();
        links.push(Link([2; 32]).next(&[]).0);
        links.sort_unstable();
        links.dedup();
        assert_eq!(links.len(), rows.len() + 1);
    }
}
