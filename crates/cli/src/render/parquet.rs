//! Results as Parquet.

use hushtable::arrow::record_batch::RecordBatch;
use hushtable::parquet::arrow::ArrowWriter;
use hushtable::parquet::errors::ParquetError;

use super::cannot_show;
use crate::failure::Failure;

/// A Parquet file.
pub(crate) fn parquet(batch: &RecordBatch) -> Result<Vec<u8>, Failure> {
    let write = || -> Result<Vec<u8>, ParquetError> {
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None)?;
        writer.write(batch)?;
        writer.into_inner()
    };
    // The error's own text could quote a value.
    write().map_err(|_| cannot_show("column"))
}
