//! Released tables as SQL around private parts reads them: places that are filled when the parts
//! are on record.

use std::sync::{Arc, OnceLock};

use datafusion::arrow::array::{Int64Array, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::stream;

use super::ReleasedCell;
use crate::error::EngineError;
use crate::invariant::Invariant;

/// A released table: its columns, and after these the cells of each.
#[derive(Debug)]
pub(super) struct Slot {
    schema: SchemaRef,
    rows: OnceLock<RecordBatch>,
}

impl Slot {
    /// The place of a table with these columns.
    pub(super) fn new(table: &Schema) -> Self {
        let values = table.fields().iter().enumerate();
        let values =
            values.map(|(at, value)| Field::new(format!("v{at}"), value.data_type().clone(), true));
        let cells = (0..table.fields().len())
            .map(|at| Field::new(format!("cells{at}"), DataType::Int64, true));
        let schema = Arc::new(Schema::new(values.chain(cells).collect::<Vec<_>>()));
        Self { schema, rows: OnceLock::new() }
    }

    /// Puts the rows of a table in, which is that of this index among all.
    pub(super) fn fill(&self, part: usize, table: &RecordBatch) -> Result<(), EngineError> {
        let mut columns = table.columns().to_vec();
        for column in 0..table.num_columns() {
            let cell = |row| ReleasedCell { part, column, row }.number();
            columns.push(Arc::new((0..table.num_rows()).map(cell).collect::<Int64Array>()));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(table.num_rows()));
        let schema = Arc::clone(&self.schema);
        let rows = RecordBatch::try_new_with_options(schema, columns, &options).map_err(|_| {
            EngineError::inconsistent("a released table has other columns than were planned")
        })?;
        self.rows.set(rows).map_err(|_| {
            EngineError::inconsistent("a plan of SQL around private parts is run twice")
        })
    }
}

impl PartitionStream for Slot {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.get().cloned();
        let rows = rows.ok_or_else(|| Invariant::new("a released table is not filled in").into());
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), stream::iter([rows])))
    }
}
