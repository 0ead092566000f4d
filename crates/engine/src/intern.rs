//! Values of group keys and units as numbers, and their keyed hashes.

use std::hash::Hasher;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::row::{Row, RowConverter, SortField};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::EmitTo;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use siphasher::sip128::{Hash128, Hasher128, SipHasher24};

use crate::invariant::Invariant;

/// Different values of some columns, numbered from 0 in some order.
pub(crate) struct Interner {
    values: Box<dyn GroupValues>,
    /// The number of each row's value, of the last columns.
    pub(crate) ids: Vec<usize>,
}

impl Interner {
    pub(crate) fn new(columns: &[ArrayRef]) -> Result<Self, DataFusionError> {
        let field =
            |(i, c): (usize, &ArrayRef)| Field::new(i.to_string(), c.data_type().clone(), true);
        let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
        let values = new_group_values(Arc::new(schema), &GroupOrdering::None)?;
        Ok(Self { values, ids: Vec::new() })
    }

    /// The number of each row's value.
    pub(crate) fn intern(&mut self, columns: &[ArrayRef]) -> Result<&[usize], DataFusionError> {
        // Some implementations append.
        self.ids.clear();
        self.values.intern(columns, &mut self.ids)?;
        Ok(&self.ids)
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Bytes of memory.
    pub(crate) fn size(&self) -> usize {
        self.values.size() + self.ids.capacity() * size_of::<usize>()
    }

    /// The values, in the order of their numbers.
    pub(crate) fn finish(mut self) -> Result<Vec<ArrayRef>, DataFusionError> {
        self.values.emit(EmitTo::All)
    }
}

/// Keyed hashes of the numbered values.
pub(crate) struct Hashes {
    converter: RowConverter,
    key: [u8; 16],
    hashes: Vec<Hash128>,
}

impl Hashes {
    pub(crate) fn new(columns: &[ArrayRef], key: [u8; 16]) -> Result<Self, DataFusionError> {
        let fields = columns.iter().map(|c| SortField::new(c.data_type().clone())).collect();
        Ok(Self { converter: RowConverter::new(fields)?, key, hashes: Vec::new() })
    }

    /// The hash of a value, by its number.
    pub(crate) fn of(&self, id: usize) -> u64 {
        self.hashes[id].h1
    }

    /// All 128 bits of it, which no two values share.
    pub(crate) fn rank(&self, id: usize) -> u128 {
        self.hashes[id].as_u128()
    }

    /// Bytes of memory.
    pub(crate) fn size(&self) -> usize {
        self.converter.size() + self.hashes.capacity() * size_of::<Hash128>()
    }

    /// The only group has no keys to be hashed.
    pub(crate) fn of_single_group(&mut self) {
        self.hashes.resize(1, Hash128 { h1: 0, h2: 0 });
    }

    /// Hashes the values that are new in this batch: those numbered from the last one up, of
    /// `known` in all. Their numbers need not be in the order of the rows: values whose hashes
    /// collide inside the interner get theirs later.
    pub(crate) fn extend(
        &mut self,
        columns: &[ArrayRef],
        ids: &[usize],
        known: usize,
    ) -> Result<(), DataFusionError> {
        let old = self.hashes.len();
        if known == old {
            return Ok(());
        }
        let mut first_rows = vec![u64::MAX; known.saturating_sub(old)];
        for (row, &id) in ids.iter().enumerate() {
            if let Some(first) = id.checked_sub(old).and_then(|new| first_rows.get_mut(new)) {
                *first = (*first).min(row as u64);
            }
        }
        if first_rows.contains(&u64::MAX) {
            return Err(inconsistent("a new group or unit is in no row of its batch"));
        }
        let rows = UInt64Array::from(first_rows);
        let new = columns.iter().map(|c| take(c, &rows, None)).collect::<Result<Vec<_>, _>>()?;
        self.hashes.extend(keyed(&mut self.converter, &new, &self.key)?);
        Ok(())
    }

    /// The hash of each row's value, whether numbered or not.
    pub(crate) fn of_rows(&mut self, columns: &[ArrayRef]) -> Result<Vec<u128>, DataFusionError> {
        let hashes = keyed(&mut self.converter, columns, &self.key)?;
        Ok(hashes.iter().map(Hash128::as_u128).collect())
    }
}

/// The hash of an integer, as [`Hashes`] have it for a column of integers.
pub(crate) fn hash_of_integer(key: &[u8; 16], value: i64) -> Hash128 {
    // As rows are written: one for a value that is not NULL, then its bytes, so that they are in
    // the order of integers.
    let mut row = [1; 9];
    row[1..].copy_from_slice(&(value ^ i64::MIN).to_be_bytes());
    let mut hasher = SipHasher24::new_with_key(key);
    hasher.write(&row);
    hasher.finish128()
}

fn keyed(
    converter: &mut RowConverter,
    columns: &[ArrayRef],
    key: &[u8; 16],
) -> Result<Vec<Hash128>, DataFusionError> {
    let hash = |row: Row<'_>| {
        let mut hasher = SipHasher24::new_with_key(key);
        hasher.write(row.data());
        hasher.finish128()
    };
    Ok(converter.convert_columns(columns)?.iter().map(hash).collect())
}

/// A fault of this program: nothing that values could bring about.
#[track_caller]
pub(crate) fn inconsistent(broken: &'static str) -> DataFusionError {
    Invariant::new(broken).into()
}

/// The error of more groups than can be numbered.
pub(crate) fn too_many() -> DataFusionError {
    DataFusionError::ResourcesExhausted("too many groups".to_owned())
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::Int64Array;

    use super::*;

    /// Whether a unit's value is hashed as a number or as a row must not change what is kept.
    #[test]
    fn integers_have_the_hashes_of_their_rows() {
        let values = [0, 1, -1, 255, -256, 1 << 40, i64::MAX, i64::MIN];
        let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
        let columns = [column];
        let key = [9; 16];
        let rows = Hashes::new(&columns, key).unwrap().of_rows(&columns).unwrap();
        let numbers = values.map(|value| hash_of_integer(&key, value).as_u128());
        assert_eq!(rows, numbers);
    }
}
