//! Rows that are looked up among others.

use std::collections::HashSet;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::concat;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::row::{RowConverter, SortField};
use hushtable_lang::{ColumnType, Value};

use super::cast::constant;
use super::counted::count;
use super::unexpected;
use crate::source::convert::arrow_type;

/// Rows of some columns. NULL is a value as any other.
pub(super) struct Among {
    converter: RowConverter,
    rows: HashSet<Box<[u8]>>,
}

impl Among {
    /// The rows whose values are given column by column.
    pub(super) fn new(columns: &[Vec<Value>], types: &[ColumnType]) -> Result<Self, ArrowError> {
        let fields = types.iter().map(|column_type| SortField::new(arrow_type(*column_type)));
        let converter = RowConverter::new(fields.collect())?;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len());
        for (values, column_type) in columns.iter().zip(types) {
            let each = values.iter().map(|value| constant(value, *column_type));
            let each = each.collect::<Result<Vec<_>, _>>()?;
            let each: Vec<_> = each.iter().map(AsRef::as_ref).collect();
            if each.is_empty() {
                return Ok(Self { converter, rows: HashSet::new() });
            }
            arrays.push(concat(&each)?);
        }
        let rows = converter.convert_columns(&arrays)?;
        let rows = rows.iter().map(|row| row.as_ref().into()).collect();
        Ok(Self { converter, rows })
    }

    /// Whether each row of the arrays is among them.
    pub(super) fn found(&self, arrays: &[ArrayRef]) -> Result<BooleanArray, ArrowError> {
        let rows = self.converter.convert_columns(arrays)?;
        if rows.num_rows() == 0 && arrays.is_empty() {
            return Err(unexpected());
        }
        let found = rows.iter().map(|row| {
            count(|| row.as_ref().len());
            Some(self.rows.contains(row.as_ref()))
        });
        Ok(found.collect())
    }
}
