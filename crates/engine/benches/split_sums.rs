//! Cost of sums that are not clamped beside clamped ones, in the same run.
//!
//! `cargo bench -p hushtable-engine --bench split_sums` makes a table of 10 million establishments
//! (seeded, in the system's folder for temporary files) whose payrolls reach 10^9 and more, and
//! asks for two sums and a count by county and sector: clamped, and with splitting thresholds of
//! several kinds, in turns. It prints the medians of the ratios of time, and of peak memory
//! (Linux).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program of its own that may stop at any error"
)]

mod common;

use std::time::Instant;

use hushtable_engine::Progress;

use common::{Wait, forget_peak, median, peak_mib};

const ROWS: usize = 10_000_000;
const COUNTIES: u64 = 3_000;
const RUNS: usize = 7;

/// Tables of one file, by how their payrolls and jobs are bounded.
const TABLES: [(&str, &str, &str); 4] = [
    ("clamped", "bounds = [0, 1_000_000]", "bounds = [0, 100]"),
    ("split_high", "split = 1_000_000", "split = 100"),
    ("split_low", "split = 50", "split = 1"),
    (
        "split_by_sector",
        "split = { by = \"sector\", default = 50_000, values = { S1 = 1_000_000, S2 = 200 } }",
        "split = { by = \"sector\", default = 50, values = { S1 = 100, S3 = 2 } }",
    ),
];

fn contract() -> String {
    let table = |(name, pay, jobs): (&str, &str, &str)| {
        format!(
            "[tables.{name}]\npath = \"t.parquet\"\nprivacy_unit = \"row\"\n\
             group_selection_by_pieces = true\n[tables.{name}.columns]\n\
             county = {{ type = \"int\" }}\nsector = {{ type = \"string\" }}\n\
             pay = {{ type = \"int\", {pay} }}\njobs = {{ type = \"int\", {jobs} }}\n\
             [tables.{name}.budgets]\nbench = {{ rho = 100000, delta = 0.1 }}\n"
        )
    };
    TABLES.map(table).concat()
}

fn main() {
    let folder = std::env::temp_dir().join(format!("hushtable-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    common::establishments(&folder.join("t.parquet"), ROWS, COUNTIES);
    let sessions = common::sessions(&folder, &contract());
    println!(
        "{ROWS} rows, {COUNTIES} counties by 20 sectors, 2 sums and a count, medians of {RUNS}"
    );
    let ask = |table: &str, options: &str, run: usize| {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1.00{run}, delta = 1e-6, \
             group_selection_strategy = GAUSSIAN_THRESHOLD{options}) county, sector, \
             SUM(pay) AS p, SUM(jobs) AS j, COUNT(*) AS n FROM {table} GROUP BY county, sector"
        );
        forget_peak();
        let started = Instant::now();
        let answer = sessions[table].query(&sql, None, &Progress::default()).wait().unwrap();
        let seconds = started.elapsed().as_secs_f64();
        (seconds, peak_mib().unwrap_or(f64::NAN), answer.table.num_rows())
    };
    let cases = [
        ("clamped, again", "clamped", ""),
        ("thresholds of 10^6, 100", "split_high", ""),
        ("thresholds of 50, 1", "split_low", ""),
        ("thresholds by sector", "split_by_sector", ""),
        ("groups by pieces", "split_high", ", group_selection_by = PIECES"),
        ("by sector, by pieces", "split_by_sector", ", group_selection_by = PIECES"),
    ];
    for (case, (name, table, options)) in cases.into_iter().enumerate() {
        let (mut base, mut split_times, mut times, mut memory) = (vec![], vec![], vec![], vec![]);
        let mut shown = 0;
        for run in 0..=RUNS {
            let unique = case * 1000 + run;
            // In turns, so that whatever else the machine does falls on both.
            let (clamped, clamped_mib, _) = ask("clamped", "", unique * 2);
            let (split, split_mib, rows) = ask(table, options, unique * 2 + 1);
            shown = rows;
            // The first run warms the file's cache up.
            if run > 0 {
                base.push(clamped);
                split_times.push(split);
                times.push(split / clamped);
                memory.push(split_mib / clamped_mib);
            }
        }
        println!(
            "{name:24} {:.3} s, clamped {:.3} s, ratio {:.3}; peak memory, ratio {:.3}; \
             {shown} groups shown",
            median(split_times),
            median(base),
            median(times),
            median(memory),
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
