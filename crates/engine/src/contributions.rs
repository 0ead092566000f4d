//! Rows as they are bounded, and the way in which their values are kept.

use datafusion::arrow::array::{ArrayRef, Int64Array};
use hushtable_noise::{EntropyError, Generator};
use serde::{Deserialize, Serialize};

/// Largest size of a row's value in lattice units, so that sums of 2^63 rows fit an `i128`.
/// Larger values count as this, which every bound clamps further.
pub(crate) const LARGEST: i64 = 1 << 62;

/// The key of the hash that says which of a unit's groups are kept; secret, and fresh for every
/// query.
#[derive(Clone, Copy)]
pub(crate) struct SamplingKey(pub(crate) [u8; 16]);

impl SamplingKey {
    /// A fresh key.
    pub(crate) fn draw(generator: &mut Generator) -> Result<Self, EntropyError> {
        let mut key = [0; 16];
        generator.fill_bytes(&mut key)?;
        Ok(Self(key))
    }

    /// The key of the hash that says which of a unit's rows are joined. It is another one, so that
    /// nothing follows from it for groups.
    pub(crate) fn of_joined_rows(self) -> [u8; 16] {
        let derived = blake3::derive_key("hushtable 1 rows joined", &self.0);
        let mut key = [0; 16];
        key.iter_mut().zip(derived).for_each(|(target, byte)| *target = byte);
        key
    }
}

/// One batch of rows, ready to be bounded.
pub(crate) struct ContributionBatch {
    /// Group keys; none where there is a single group.
    pub(crate) keys: Vec<ArrayRef>,
    /// Unit of each row; `None` where every row is a unit.
    pub(crate) unit: Option<ArrayRef>,
    /// The contribution of each row to each accumulator, in lattice units; NULL for nothing.
    pub(crate) values: Vec<Int64Array>,
    /// How many rows there are.
    pub(crate) rows: usize,
}

/// The way in which an accumulator keeps the values that units add to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Accumulation {
    /// Their sum for each unit and group.
    Sum {
        /// The least and greatest sum of a unit in a group.
        bounds: (i64, i64),
        /// The range of the noise: the bounds, or where sums are not clamped, the threshold.
        size: (i64, i64),
    },
    /// The values one by one.
    Values(Listing),
}

/// How values are kept one by one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Listing {
    /// The range that they are clamped to.
    pub(crate) range: (i64, i64),
    /// Most values of a unit in a group.
    pub(crate) rows: u32,
    /// Where they are added up in the end: the least and greatest sum of a unit in a group.
    pub(crate) sum: Option<(i64, i64)>,
    /// Where their mean is clamped: the least and greatest mean of a unit's values in a group.
    pub(crate) mean: Option<(i64, i64)>,
    /// Whether equal values of a unit in a group are one.
    pub(crate) distinct: bool,
}

impl Listing {
    /// Clamps a value to the range.
    pub(crate) fn clamped(&self, value: i64) -> i64 {
        value.clamp(self.range.0, self.range.1)
    }
}
