//! Histograms of sizes, as they were released.

use datafusion::arrow::array::RecordBatch;
use hushtable_lang::Value;
use hushtable_plan::ReleasedSizes;

use crate::error::EngineError;
use crate::value::value_at;

/// The sizes of a released histogram with their numbers of units.
pub(crate) fn released_sizes(table: &RecordBatch) -> Result<ReleasedSizes, EngineError> {
    let column = |index| {
        table
            .columns()
            .get(index)
            .ok_or(EngineError::inconsistent("a released histogram has fewer than two columns"))
    };
    let (sizes, units) = (column(0)?, column(1)?);
    let row = |row| match (value_at(sizes, row), value_at(units, row)) {
        (Some(Value::Int(size)), Some(Value::Int(units))) => Ok((size, units as f64)),
        _ => Err(EngineError::inconsistent(
            "a released histogram has a size or a number of units that is not whole",
        )),
    };
    (0..table.num_rows()).map(row).collect()
}
