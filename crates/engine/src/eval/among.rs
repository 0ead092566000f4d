//! Rows that are looked up among others.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray, UInt32Array, new_null_array};
use datafusion::arrow::compute::{concat, take};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::row::{RowConverter, SortField};
use hushtable_lang::{ColumnType, Value};

use super::cast::constant;
use super::counted::count;
use super::unexpected;
use crate::source::convert::arrow_type;

/// Rows of some columns, with their numbers. NULL is a value as any other.
pub(super) struct Among {
    converter: RowConverter,
    rows: HashMap<Box<[u8]>, u32>,
}

/// Values by keys.
pub(super) struct ValuesByKeys {
    keys: Among,
    values: ArrayRef,
}

impl Among {
    /// The rows whose values are given column by column.
    pub(super) fn new(columns: &[Vec<Value>], types: &[ColumnType]) -> Result<Self, ArrowError> {
        let fields = types.iter().map(|column_type| SortField::new(arrow_type(*column_type)));
        let converter = RowConverter::new(fields.collect())?;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len());
        for (values, column_type) in columns.iter().zip(types) {
            if values.is_empty() {
                return Ok(Self { converter, rows: HashMap::new() });
            }
            arrays.push(column(values, *column_type)?);
        }
        let rows = converter.convert_columns(&arrays)?;
        let mut numbers = HashMap::with_capacity(rows.num_rows());
        for (row, number) in rows.iter().zip(0..) {
            // The first of equal rows counts.
            numbers.entry(row.as_ref().into()).or_insert(number);
        }
        Ok(Self { converter, rows: numbers })
    }

    /// Whether each row of the arrays is among them.
    pub(super) fn found(&self, arrays: &[ArrayRef]) -> Result<BooleanArray, ArrowError> {
        Ok(self.numbers(arrays)?.into_iter().map(|number| Some(number.is_some())).collect())
    }

    /// The number of each row of the arrays among them.
    fn numbers(&self, arrays: &[ArrayRef]) -> Result<Vec<Option<u32>>, ArrowError> {
        let rows = self.converter.convert_columns(arrays)?;
        if rows.num_rows() == 0 && arrays.is_empty() {
            return Err(unexpected());
        }
        let numbers = rows.iter().map(|row| {
            count(|| row.as_ref().len());
            self.rows.get(row.as_ref()).copied()
        });
        Ok(numbers.collect())
    }
}

impl ValuesByKeys {
    /// The values of a type, by keys that are given column by column.
    pub(super) fn new(
        (keys, types): (&[Vec<Value>], &[ColumnType]),
        (values, column_type): (&[Value], ColumnType),
    ) -> Result<Self, ArrowError> {
        let values = match values {
            [] => new_null_array(&arrow_type(column_type), 0),
            values => column(values, column_type)?,
        };
        Ok(Self { keys: Among::new(keys, types)?, values })
    }

    /// The value of each row of the arrays; NULL where its keys are not among them.
    pub(super) fn looked_up(&self, arrays: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
        take(&self.values, &UInt32Array::from(self.keys.numbers(arrays)?), None)
    }
}

/// A column of values.
fn column(values: &[Value], column_type: ColumnType) -> Result<ArrayRef, ArrowError> {
    let each = values.iter().map(|value| constant(value, column_type));
    let each = each.collect::<Result<Vec<_>, _>>()?;
    let array = concat(&each.iter().map(AsRef::as_ref).collect::<Vec<_>>())?;
    // Each text has a buffer of its own, which all that is taken from the array would name.
    Ok(match array.as_string_view_opt() {
        Some(texts) => Arc::new(texts.gc()),
        None => array,
    })
}
