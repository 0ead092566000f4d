//! Cost of medians: beside the same query with a sum, and beside medians without any privacy.
//!
//! `cargo bench -p hushtable-engine --bench medians` makes a table of 10 million establishments
//! (seeded, in the system's folder for temporary files) and asks for medians of pay: of everything,
//! by county and sector, and of firms as units. In turns with each run a clamped sum takes the
//! median's place, and DataFusion alone, on the same file, computes the exact median. It prints the
//! medians of times and ratios, and of peak memory (Linux).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program of its own that may stop at any error"
)]

mod common;

use std::time::Instant;

use datafusion::functions_aggregate::expr_fn::median as exact_median;
use datafusion::prelude::{ParquetReadOptions, SessionContext, col};
use hushtable_engine::Progress;

use common::{Wait, forget_peak, median, peak_mib};

const ROWS: usize = 10_000_000;
const COUNTIES: u64 = 3_000;
const RUNS: usize = 5;

const CONTRACT: &str = "\
[tables.rows]
path = \"t.parquet\"
privacy_unit = \"row\"
[tables.rows.columns]
county = { type = \"int\" }
sector = { type = \"string\" }
pay = { type = \"int\", bounds = [0, 1_000_000] }
[tables.rows.budgets]
bench = { rho = 100000, delta = 0.1 }
[tables.firms]
path = \"t.parquet\"
privacy_unit = \"firm\"
[tables.firms.columns]
firm = { type = \"int\" }
county = { type = \"int\" }
sector = { type = \"string\" }
pay = { type = \"int\", bounds = [0, 1_000_000] }
[tables.firms.budgets]
bench = { rho = 100000, delta = 0.1 }
";

/// Seconds, peak memory and rows.
type RunMeasures = (f64, f64, usize);

fn measured(work: impl FnOnce() -> usize) -> RunMeasures {
    forget_peak();
    let started = Instant::now();
    let rows = work();
    (started.elapsed().as_secs_f64(), peak_mib().unwrap_or(f64::NAN), rows)
}

fn main() {
    let folder = std::env::temp_dir().join(format!("hushtable-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("t.parquet");
    common::establishments(&file, ROWS, COUNTIES);
    let sessions = common::sessions(&folder, CONTRACT);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    println!("{ROWS} rows, {COUNTIES} counties by 20 sectors, medians of {RUNS}");
    let ours = |table: &str, aggregate: &str, by: &str, run: usize| {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1.00{run}, delta = 1e-6, \
             max_groups_contributed = 5, max_rows_per_group = 3, \
             group_selection_strategy = GAUSSIAN_THRESHOLD) {aggregate}(pay) \
             FROM {table}{by}"
        );
        measured(|| {
            sessions[table].query(&sql, None, &Progress::default()).wait().unwrap().table.num_rows()
        })
    };
    let exact = |by: &str| {
        measured(|| {
            runtime.block_on(async {
                let context = SessionContext::new();
                let path = file.to_str().unwrap();
                let table =
                    context.read_parquet(path, ParquetReadOptions::default()).await.unwrap();
                let keys = if by.is_empty() { vec![] } else { vec![col("county"), col("sector")] };
                let answer = table.aggregate(keys, vec![exact_median(col("pay"))]).unwrap();
                let batches = answer.collect().await.unwrap();
                batches.iter().map(|batch| batch.num_rows()).sum()
            })
        })
    };
    let grouped = " GROUP BY county, sector";
    let cases = [("one group", "rows", ""), ("rows", "rows", grouped), ("firms", "firms", grouped)];
    for (case, (name, table, by)) in cases.into_iter().enumerate() {
        let mut columns: [Vec<f64>; 7] = Default::default();
        for run in 0..=RUNS {
            let unique = 2 * (case * 1000 + run);
            // In turns, so that whatever else the machine does falls on all.
            let sum = ours(table, "SUM", by, unique);
            let private = ours(table, "MEDIAN", by, unique + 1);
            let plain = exact(by);
            // The first run warms the file's cache up.
            if run > 0 {
                let all = [private.0, sum.0, plain.0, private.0 / sum.0, private.0 / plain.0];
                let all = all.into_iter().chain([private.1 / sum.1, private.1 / plain.1]);
                columns.iter_mut().zip(all).for_each(|(column, value)| column.push(value));
            }
        }
        let [private, sum, plain, to_sum, to_plain, memory_to_sum, memory_to_plain] =
            columns.map(median);
        println!(
            "{name:10} {private:.3} s; sum {sum:.3} s, ratio {to_sum:.2}, memory \
             {memory_to_sum:.2}; without privacy {plain:.3} s, ratio {to_plain:.2}, memory \
             {memory_to_plain:.2}"
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
