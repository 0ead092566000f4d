//! Results as CSV (RFC 4180 with bare line feeds), for programs.
//!
//! Written here rather than with the `csv` crate, which cannot tell NULL from empty text: NULL is
//! nothing between commas, and empty text is `""`.

use datafusion::arrow::record_batch::RecordBatch;

use super::cell::{Cell, rows};
use crate::failure::Failure;

/// A header line and a line for each row.
pub(crate) fn csv(batch: &RecordBatch) -> Result<String, Failure> {
    let mut out = String::new();
    let schema = batch.schema();
    line(&mut out, schema.fields().iter().map(|field| quoted(field.name())));
    for row in rows(batch)? {
        line(&mut out, row.iter().map(field));
    }
    Ok(out)
}

fn line(out: &mut String, fields: impl Iterator<Item = String>) {
    for (i, field) in fields.enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&field);
    }
    out.push('\n');
}

fn field(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Bool(value) => value.to_string(),
        Cell::Int(value) => value.to_string(),
        Cell::Decimal(text) | Cell::Moment(text) => text.clone(),
        // The shortest text that reads back as the same float.
        Cell::Float(value) => {
            if *value == 0.0 || (1e-5..1e16).contains(&value.abs()) {
                value.to_string()
            } else {
                format!("{value:e}")
            }
        }
        Cell::Text(text) => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
