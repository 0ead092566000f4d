//! Results as an aligned table, for people.

use hushtable::arrow::record_batch::RecordBatch;

use super::cell::{ResultCell, is_number, rows};
use super::grid::{Alignment, TextGrid, visible};
use crate::failure::Failure;

/// An aligned table.
pub(crate) fn table(batch: &RecordBatch) -> Result<String, Failure> {
    let schema = batch.schema();
    let columns = schema.fields().iter().map(|field| {
        let side = if is_number(field.data_type()) { Alignment::Right } else { Alignment::Left };
        (visible(field.name()), side)
    });
    let mut grid = TextGrid::new(columns).underlined();
    for row in rows(batch)? {
        grid.push(row.iter().map(cell_text));
    }
    Ok(grid.text(0))
}

pub(super) fn cell_text(cell: &ResultCell<'_>) -> String {
    match cell {
        ResultCell::Null => "NULL".to_owned(),
        ResultCell::Bool(value) => value.to_string(),
        ResultCell::Int(value) => value.to_string(),
        ResultCell::Decimal(text) | ResultCell::Moment(text) => text.clone(),
        ResultCell::Float(value) => float(*value),
        ResultCell::Text(text) => visible(text),
    }
}

/// With at most four digits after the point: the noise is mostly larger, and the other formats are
/// exact.
fn float(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e15).contains(&value.abs()) {
        format!("{value:.4e}")
    } else {
        let text = format!("{value:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::float;

    #[test]
    fn floats_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (100.0, "100"),
            (0.1 + 0.2, "0.3"),
            (-1_234.567_891, "-1234.5679"),
            (0.000_012_345_6, "1.2346e-5"),
            (1e300, "1.0000e300"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(float(value), text);
        }
    }
}
