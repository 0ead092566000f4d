//! Results as Parquet.

use hushtable::arrow::record_batch::RecordBatch;
use hushtable::parquet::arrow::ArrowWriter;
use hushtable::parquet::errors::ParquetError;
use hushtable::parquet::file::metadata::KeyValue;
use hushtable::parquet::file::properties::WriterProperties;

use super::cannot_show;
use crate::failure::Failure;

/// The key of the intervals in a file's metadata.
const INTERVALS: &str = "hushtable.intervals";

/// A Parquet file with intervals in its metadata.
pub(crate) fn parquet(batch: &RecordBatch, intervals: &str) -> Result<Vec<u8>, Failure> {
    let metadata = vec![KeyValue::new(INTERVALS.to_owned(), intervals.to_owned())];
    let properties = WriterProperties::builder().set_key_value_metadata(Some(metadata)).build();
    let write = || -> Result<Vec<u8>, ParquetError> {
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
        writer.write(batch)?;
        writer.into_inner()
    };
    // The error's own text could quote a value.
    write().map_err(|_| cannot_show("column"))
}
