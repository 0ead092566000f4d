//! Cost of privacy: a private query beside the same query without noise, in the same run.
//!
//! `cargo bench -p hushtable-engine` makes a table of 10 million rows, 1 million units and 100,000
//! groups (seeded, in the system's folder for temporary files), asks it several times and prints
//! medians. "Plain" is what the same query takes without privacy in the same run: reading, bounding
//! and exact aggregation by the very plan of the private query, and computing what is shown. The
//! ratio is the whole query, with selection, noise and the ledger's syncs, over that.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program of its own that may stop at any error"
)]

mod common;

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::parquet::arrow::ArrowWriter;
use hushtable_engine::Progress;

use common::{Mix, Wait, median, peak_mib};

const ROWS: usize = 10_000_000;
const UNITS: u64 = 1_000_000;
const GROUPS: u64 = 100_000;
const RUNS: usize = 5;

const CONTRACT: &str = r#"
[tables.t]
path = "t.parquet"
privacy_unit = "unit"
[tables.t.columns]
unit = { type = "int" }
key = { type = "int" }
value = { type = "int", bounds = [0, 100] }
[tables.t.budgets]
bench = { epsilon = 1000, delta = 0.1 }

[tables.rows]
path = "t.parquet"
privacy_unit = "row"
[tables.rows.columns]
key = { type = "int" }
value = { type = "int", bounds = [0, 100] }
[tables.rows.budgets]
bench = { epsilon = 1000, delta = 0.1 }
"#;

fn make(path: &std::path::Path) {
    let fields = ["unit", "key", "value"].map(|name| Field::new(name, DataType::Int64, false));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), schema.clone(), None).unwrap();
    let mut mix = Mix(1);
    for _ in 0..ROWS / 100_000 {
        let column = |limit: u64, mix: &mut Mix| -> ArrayRef {
            Arc::new((0..100_000).map(|_| (mix.next() % limit) as i64).collect::<Int64Array>())
        };
        let columns =
            vec![column(UNITS, &mut mix), column(GROUPS, &mut mix), column(120, &mut mix)];
        writer.write(&RecordBatch::try_new(schema.clone(), columns).unwrap()).unwrap();
    }
    writer.close().unwrap();
}

fn main() {
    let folder = std::env::temp_dir().join(format!("hushtable-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    make(&folder.join("t.parquet"));
    let sessions = common::sessions(&folder, CONTRACT);
    println!("{ROWS} rows, {UNITS} units, {GROUPS} groups, 3 aggregates, medians of {RUNS}");
    let seconds = |d: Duration| d.as_secs_f64();
    for (name, from, options, counted) in [
        ("rows as units", "rows", "", "COUNT(*)"),
        ("1 group per unit", "t", "max_groups_contributed = 1, ", "COUNT(DISTINCT unit)"),
        ("5 groups per unit", "t", "max_groups_contributed = 5, ", "COUNT(DISTINCT unit)"),
        ("20 groups per unit", "t", "max_groups_contributed = 20, ", "COUNT(DISTINCT unit)"),
    ] {
        let (mut whole, mut plain, mut noise, mut ledger) = (vec![], vec![], vec![], vec![]);
        let mut shown = 0;
        for run in 0..=RUNS {
            let sql = format!(
                "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}epsilon = 1.00{run}, \
                 delta = 1e-6, max_rows_per_group = 5) key, {counted} AS n, SUM(value) AS s, \
                 COUNT(value) AS v FROM {from} GROUP BY key"
            );
            let started = Instant::now();
            let asked = sessions[from].timed(&sql, None, &Progress::default()).wait();
            let (answer, timings) = asked.unwrap();
            let elapsed = started.elapsed();
            shown = answer.table.num_rows();
            // The first run warms the file's cache up.
            if run > 0 {
                whole.push(seconds(elapsed));
                plain.push(seconds(timings.exact + timings.showing));
                noise.push(seconds(timings.noise));
                ledger.push(seconds(timings.ledger));
            }
        }
        let ratio = median(whole.iter().zip(&plain).map(|(w, p)| w / p).collect());
        let nanos = median(noise) * 1e9 / (GROUPS as f64 * 3.0);
        println!(
            "{name:20} whole {:.2} s, plain {:.2} s, whole/plain {ratio:.3}, selection and noise \
             {nanos:.0} ns per group and aggregate, ledger {:.3} s, {shown} groups shown, \
             peak so far {:.0} MiB",
            median(whole),
            median(plain),
            median(ledger),
            peak_mib().unwrap_or(f64::NAN),
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
