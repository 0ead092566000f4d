//! Rows of Arrow batches, handed to a sink as the types that are asked for.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, MutableArrayData, make_array};
use datafusion::arrow::error::ArrowError;

use super::normalise::read_as;
use super::sink::{Sink, misfits};
use super::stored::{ColumnPick, planned_otherwise};
use super::{BATCH_ROWS, SourceError};

/// Hands rows to `sink` in small batches, until it wants no more; false then. `columns` are
/// [plain](super::convert::plain), and `indices` are the source's columns that they are, ascending.
///
/// # Errors
/// Where a column is not of the type that was planned.
pub(super) fn hand_over(
    (columns, rows): (&[ArrayRef], usize),
    indices: &[usize],
    picks: &[ColumnPick],
    sink: &mut dyn Sink,
) -> Result<bool, SourceError> {
    for from in (0..rows).step_by(BATCH_ROWS) {
        let some = BATCH_ROWS.min(rows - from);
        let mut arrays = Vec::with_capacity(picks.len());
        for (column, pick) in picks.iter().enumerate() {
            let array = indices.binary_search(&pick.index).ok().and_then(|at| columns.get(at));
            let stored = array.ok_or_else(planned_otherwise)?.slice(from, some);
            // Memory is counted by whole buffers, and a slice would share those of all rows.
            let stored = if some < rows { compact(&stored) } else { Ok(stored) };
            let stored = stored.map_err(|_| planned_otherwise())?;
            let values = read_as(&stored, pick.stored, pick.to).map_err(|_| planned_otherwise())?;
            misfits((column, pick.stored), &stored, &values, sink);
            arrays.push(values);
        }
        if !sink.batch(arrays, some) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Copies the values into buffers of their own.
fn compact(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if let Some(views) = array.as_binary_view_opt() {
        return Ok(Arc::new(views.gc()));
    }
    let data = array.to_data();
    let mut copy = MutableArrayData::new(vec![&data], false, data.len());
    copy.try_extend(0, 0, data.len())?;
    Ok(make_array(copy.freeze()))
}
