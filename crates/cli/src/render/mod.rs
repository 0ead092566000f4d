//! How results and reports look. Pure: from values to text or bytes.

pub(crate) mod assess;
pub(crate) mod assess_table;
pub(crate) mod assess_words;
pub(crate) mod audit;
pub(crate) mod budget;
pub(crate) mod calc;
pub(crate) mod cell;
pub(crate) mod csv;
pub(crate) mod differencing;
pub(crate) mod explanation;
pub(crate) mod grid;
pub(crate) mod json;
pub(crate) mod local;
pub(crate) mod losses;
mod measurements;
mod mechanisms;
pub(crate) mod model;
pub(crate) mod model_words;
pub(crate) mod number;
pub(crate) mod parquet;
mod policy;
pub(crate) mod quoted;
pub(crate) mod table;
pub(crate) mod workload;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use datafusion::arrow::record_batch::RecordBatch;

use crate::arguments::TableFormat;
use crate::failure::Failure;

/// A result in a format.
pub(crate) fn result(batch: &RecordBatch, format: TableFormat) -> Result<Vec<u8>, Failure> {
    match format {
        TableFormat::Table => table::table(batch).map(String::into_bytes),
        TableFormat::Csv => csv::csv(batch).map(String::into_bytes),
        TableFormat::Json => json::json(batch).map(String::into_bytes),
        TableFormat::Parquet => parquet::parquet(batch),
    }
}

/// A report as JSON.
pub(crate) fn pretty_json(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|_| cannot_show("report"))
}

/// A fault of the program: it made what it cannot write.
fn cannot_show(what: &str) -> Failure {
    Failure::new(
        format!("a {what} of the result cannot be written in this format"),
        "this is a fault in Hushtable, please report the query (not the data); the answer is on \
         record, and another --format gives it for free",
    )
}
