//! Expressions over tables of constants, for models that no data are in.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use datafusion::arrow::compute::{concat, take};
use hushtable_lang::bind_expression;
use hushtable_lang::{ColumnType, Value};

use crate::error::EngineError;
use crate::eval::{Program, as_text, constant};

/// A column of a table that is made up.
#[derive(Clone, Debug)]
pub struct GeneratedColumn {
    /// Its name in expressions.
    pub name: String,
    /// The type of its values.
    pub column_type: ColumnType,
    array: ArrayRef,
}

/// A column's values by numbers, in the order in which they come first.
#[derive(Clone, Debug)]
pub struct NumberedColumn {
    /// For each row the number of its value.
    pub numbers: Vec<u32>,
    /// The values, each once.
    pub distinct: GeneratedColumn,
    /// How they read. NULL is a value, too.
    pub texts: Vec<String>,
}

impl GeneratedColumn {
    /// A column of these values, which are of that type.
    ///
    /// # Errors
    /// Only for values of another type.
    pub fn new(name: &str, column_type: ColumnType, values: &[Value]) -> Result<Self, EngineError> {
        let arrays: Vec<ArrayRef> =
            values.iter().map(|v| constant(v, column_type)).collect::<Result<_, _>>()?;
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        Ok(Self { name: name.to_owned(), column_type, array: concat(&arrays)? })
    }

    /// The values of `columns`, all of `rows` rows, by an SQL expression.
    ///
    /// # Errors
    /// If it is no expression over the columns.
    pub fn evaluate(
        name: &str,
        expression: &str,
        columns: &[Self],
        rows: usize,
    ) -> Result<Self, EngineError> {
        let types: Vec<(String, ColumnType)> =
            columns.iter().map(|column| (column.name.clone(), column.column_type)).collect();
        let bound = bind_expression(expression, &types)?;
        let arrays: Vec<ArrayRef> = columns.iter().map(|c| Arc::clone(&c.array)).collect();
        let array = Program::new(&bound)?.evaluate(&arrays, rows)?;
        Ok(Self { name: name.to_owned(), column_type: bound.column_type, array })
    }

    /// The rows at these places.
    ///
    /// # Errors
    /// If there is no such row.
    pub fn take(&self, indices: &[u32]) -> Result<Self, EngineError> {
        let indices = UInt32Array::from(indices.to_vec());
        let array = take(&self.array, &indices, None)?;
        Ok(Self { array, ..self.clone() })
    }

    /// The values by numbers.
    ///
    /// # Errors
    /// Only for a column that is none.
    pub fn numbered(&self) -> Result<NumberedColumn, EngineError> {
        let texts = as_text(&self.array, self.column_type)?;
        let texts = texts
            .as_string_view_opt()
            .ok_or(EngineError::inconsistent("values that were made text are not text"))?;
        let mut indices: HashMap<Option<&str>, u32> = HashMap::new();
        let (mut numbers, mut first, mut known) = (Vec::new(), Vec::new(), Vec::new());
        for (row, text) in texts.iter().enumerate() {
            let next = u32::try_from(known.len()).map_err(|_| {
                EngineError::inconsistent(
                    "the number of different values of a column is beyond 32 bits",
                )
            })?;
            let number = *indices.entry(text).or_insert_with(|| {
                first.push(u32::try_from(row).unwrap_or(u32::MAX));
                known.push(text.unwrap_or("NULL").to_owned());
                next
            });
            numbers.push(number);
        }
        Ok(NumberedColumn { numbers, distinct: self.take(&first)?, texts: known })
    }

    /// For a column of conditions, whether each holds; NULL does not.
    pub fn holds(&self) -> Option<Vec<bool>> {
        let conditions = self.array.as_boolean_opt()?;
        Some(conditions.iter().map(|holds| holds == Some(true)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_evaluated_and_numbered() {
        let values = [Value::Int(3), Value::Int(1)];
        let n = GeneratedColumn::new("n", ColumnType::Int, &values).unwrap();
        let n = n.take(&[0, 1, 1, 0]).unwrap();
        let words = ["x", "y"].map(|w| Value::String(w.to_owned()));
        let w = GeneratedColumn::new("w", ColumnType::String, &words).unwrap();
        let w = w.take(&[0, 0, 1, 1]).unwrap();
        let both = [n, w];
        let sum =
            GeneratedColumn::evaluate("s", "CASE WHEN w = 'x' THEN n * 2 END", &both, 4).unwrap();
        let sum = sum.numbered().unwrap();
        assert_eq!(sum.numbers, [0, 1, 2, 2]);
        assert_eq!(sum.texts, ["6", "2", "NULL"]);
        let again = sum.distinct.take(&[2, 1]).unwrap();
        let known = GeneratedColumn::evaluate("k", "s IS NOT NULL", &[again], 2).unwrap();
        assert_eq!(known.holds(), Some(vec![false, true]));
        assert_eq!(both[0].holds(), None);
        let constant = GeneratedColumn::evaluate("c", "1.50", &[], 3).unwrap().numbered().unwrap();
        assert_eq!((constant.numbers, constant.texts), (vec![0; 3], vec!["1.5".to_owned()]));
        let refused = GeneratedColumn::evaluate("c", "m + 1", &both, 4).unwrap_err().to_string();
        assert_eq!(refused, "there is no column `m`\n  hint: the columns are n, w");
    }
}
