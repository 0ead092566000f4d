//! How often each row of some columns is there.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, Field, Schema};

use crate::error::EngineError;
use crate::intern::Interner;

/// Numbers of equal rows, by the numbers that an interner gives these.
#[derive(Default)]
pub(crate) struct RowCounts {
    rows: Option<Interner>,
    counts: Vec<u64>,
}

impl RowCounts {
    /// Adds as many `rows` as the columns have; without columns all rows are one.
    pub(crate) fn add(&mut self, columns: &[ArrayRef], rows: usize) -> Result<(), EngineError> {
        if columns.is_empty() {
            self.counts.resize(1, 0);
            self.counts[0] += rows as u64;
            return Ok(());
        }
        let different = match &mut self.rows {
            Some(different) => different,
            none => none.insert(Interner::new(columns)?),
        };
        let ids = different.intern(columns)?;
        let most = ids.iter().max().map_or(0, |most| most + 1);
        if self.counts.len() < most {
            self.counts.resize(most, 0);
        }
        for &id in ids {
            self.counts[id] += 1;
        }
        Ok(())
    }

    /// The number of different rows.
    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    /// The different rows, and how often each is there.
    pub(crate) fn finish<'a>(
        mut self,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(RecordBatch, Vec<u64>), EngineError> {
        let wanted = names.clone().count();
        if wanted == 0 {
            self.counts.resize(1, 0);
        }
        let columns = match self.rows {
            Some(rows) => rows.finish()?,
            None => Vec::new(),
        };
        let types = columns.iter().map(|c| c.data_type().clone());
        let types = types.chain(std::iter::repeat(DataType::Null));
        let fields: Vec<Field> =
            names.zip(types).map(|(name, data_type)| Field::new(name, data_type, true)).collect();
        let schema = Arc::new(Schema::new(fields));
        if columns.len() < wanted {
            return Ok((RecordBatch::new_empty(schema), self.counts));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.counts.len()));
        Ok((RecordBatch::try_new_with_options(schema, columns, &options)?, self.counts))
    }
}
