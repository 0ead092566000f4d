//! Results as JSON, for programs: an array with an object for each row, in the order of the
//! columns.
//!
//! Integers and decimals are numbers where a reader that takes them for 64-bit floats, as most do,
//! gets the same decimal back, and text where it would not (beyond 2^53, or more than 15 digits).
//! Floats are numbers in their shortest form, and text if they are infinite. Dates and timestamps
//! are text as in ISO 8601. Characters that steer a terminal or are invisible are written as
//! `\\uXXXX`.

use hushtable::arrow::record_batch::RecordBatch;

use super::cell::{ResultCell, rows};
use crate::failure::Failure;
use hushtable::visible::visible_json;

/// Integers up to here are all 64-bit floats.
const MAX_EXACT: u64 = 1 << 53;

/// Every decimal of this many digits survives being a 64-bit float.
const EXACT_DIGITS: usize = 15;

/// An array of objects, a line each.
pub(crate) fn json(batch: &RecordBatch) -> Result<String, Failure> {
    let schema = batch.schema();
    let names: Vec<String> = schema.fields().iter().map(|field| text(field.name())).collect();
    let mut out = String::from("[");
    for (i, row) in rows(batch)?.iter().enumerate() {
        out.push_str(if i == 0 { "\n  {" } else { ",\n  {" });
        for (j, (name, cell)) in names.iter().zip(row).enumerate() {
            if j > 0 {
                out.push_str(", ");
            }
            out.extend([name.as_str(), ": ", &value(cell)]);
        }
        out.push('}');
    }
    out.push_str(if batch.num_rows() == 0 { "]\n" } else { "\n]\n" });
    Ok(out)
}

pub(super) fn value(cell: &ResultCell<'_>) -> String {
    match cell {
        ResultCell::Null => "null".to_owned(),
        ResultCell::Bool(value) => value.to_string(),
        ResultCell::Int(value) if value.unsigned_abs() <= MAX_EXACT => value.to_string(),
        ResultCell::Int(value) => text(&value.to_string()),
        ResultCell::Decimal(digits) if significant(digits) <= EXACT_DIGITS => digits.clone(),
        ResultCell::Decimal(digits) => text(digits),
        // JSON has no infinities, and null is another group.
        ResultCell::Float(value) if value.is_infinite() => {
            text(if *value > 0.0 { "Infinity" } else { "-Infinity" })
        }
        ResultCell::Float(value) => serde_json::Value::from(*value).to_string(),
        ResultCell::Text(value) => text(value),
        ResultCell::Moment(value) => text(value),
    }
}

/// An object on one line, of values that are JSON already.
pub(super) fn object<'a>(fields: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let fields: Vec<String> =
        fields.into_iter().map(|(name, value)| format!("{}:{value}", text(name))).collect();
    format!("{{{}}}", fields.join(","))
}

fn significant(decimal: &str) -> usize {
    let digits = decimal.trim_start_matches(['-', '0', '.']);
    digits.bytes().filter(u8::is_ascii_digit).count()
}

pub(super) fn text(value: &str) -> String {
    visible_json(&serde_json::Value::from(value).to_string())
}
