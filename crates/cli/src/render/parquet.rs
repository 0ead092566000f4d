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
/// The key of clipping reports.
const CLIPPING: &str = "hushtable.clipping_reports";

/// A Parquet file with intervals and clipping reports in its metadata.
pub(crate) fn parquet(
    batch: &RecordBatch,
    intervals: &str,
    clipping: Option<String>,
) -> Result<Vec<u8>, Failure> {
    let mut metadata = vec![KeyValue::new(INTERVALS.to_owned(), intervals.to_owned())];
    metadata.extend(clipping.map(|text| KeyValue::new(CLIPPING.to_owned(), text)));
    let properties = WriterProperties::builder().set_key_value_metadata(Some(metadata)).build();
    let write = || -> Result<Vec<u8>, ParquetError> {
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
        writer.write(batch)?;
        writer.into_inner()
    };
    // The error's own text could quote a value.
    write().map_err(|_| cannot_show("column"))
}
