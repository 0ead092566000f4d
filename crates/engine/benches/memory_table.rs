//! The identity of a table in memory: seconds for each gigabyte of values that are hashed.
//!
//! `cargo bench -p hushtable-engine --bench memory_table`

#![allow(clippy::unwrap_used, reason = "a program of its own that may stop at any error")]

use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use hushtable_engine::MemoryTable;

const ROWS: i64 = 10_000_000;
const RUNS: usize = 5;

fn main() {
    let integers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let some: ArrayRef =
        Arc::new(Int64Array::from_iter((0..ROWS).map(|n| (n % 10 != 0).then_some(n))));
    let floats: ArrayRef = Arc::new(Float64Array::from_iter_values((0..ROWS).map(|n| n as f64)));
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..ROWS).map(|n| format!("town {}", n % 5000))));
    println!("seconds of hashing, and seconds for each GB, of {ROWS} rows");
    for (name, column) in [
        ("integers", integers),
        ("integers, a tenth of them NULL", some),
        ("floats", floats),
        ("texts of 6 to 9 bytes", texts),
    ] {
        let batch = RecordBatch::try_from_iter_with_nullable([("c", column, true)]).unwrap();
        let bytes = batch.get_array_memory_size() as f64;
        let runs = (0..RUNS).map(|_| {
            let started = Instant::now();
            MemoryTable::new(batch.schema(), [batch.clone()]).unwrap();
            started.elapsed().as_secs_f64()
        });
        let mut runs: Vec<f64> = runs.collect();
        runs.sort_by(f64::total_cmp);
        let seconds = runs[RUNS / 2];
        println!("{seconds:6.3} {:6.2}  {name}", seconds / (bytes / 1e9));
    }
}
