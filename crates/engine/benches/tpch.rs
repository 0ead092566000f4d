//! TPC-H with privacy beside the same queries without, on DataFusion's own SQL.
//!
//! `cargo bench -p hushtable-engine --bench tpch` makes the tables at scale 1
//! (`HUSHTABLE_TPCH_SCALE` asks for another) as Parquet files in the system's folder for temporary
//! files. Each query is asked in turns with and without privacy, as the standard writes it except
//! for the bounds, and medians are printed. "Private" is the whole query, with selection, noise and
//! the ledger's syncs.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program of its own that may stop at any error"
)]

mod common;
#[path = "common/tpch.rs"]
mod data;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use hushtable_engine::{Progress, Session};

use common::{Wait, median, peak_mib};

const RUNS: usize = 5;
const QUERIES: [i32; 15] = [1, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 19, 21, 22];

fn main() {
    let scale = std::env::var("HUSHTABLE_TPCH_SCALE").ok().and_then(|scale| scale.parse().ok());
    let scale = scale.unwrap_or(1.0);
    let folder = std::env::temp_dir().join(format!("hushtable-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    data::write(&folder, scale).wait();
    std::fs::write(folder.join("hushtable.toml"), data::contract()).unwrap();
    std::fs::write(folder.join("groups.toml"), data::contract_with_public_groups()).unwrap();
    let plain = data::plain(&folder).wait();
    println!("TPC-H at scale {scale}, medians of {RUNS}");
    let mut ratios = Vec::new();
    for number in QUERIES {
        let standard = data::standard(number);
        let bounded = data::bounded(number);
        // Lines are of customers and offers of suppliers.
        let contract = if number == 9 { "groups.toml" } else { "hushtable.toml" };
        let (mut with, mut without, mut ratio) = (vec![], vec![], vec![]);
        for run in 0..=RUNS {
            let private = private(&folder.join(contract), &bounded);
            let started = Instant::now();
            let rows = async { plain.sql(&standard).await?.collect().await }.wait();
            rows.unwrap();
            let plain = started.elapsed().as_secs_f64();
            // The first run warms the files' cache up.
            if run > 0 {
                with.push(private);
                without.push(plain);
                ratio.push(private / plain);
            }
        }
        let ratio = median(ratio);
        println!(
            "query {number:2}: private {:.3} s, plain {:.3} s, private/plain {ratio:.2}, \
             peak so far {:.0} MiB",
            median(with),
            median(without),
            peak_mib().unwrap_or(f64::NAN),
        );
        ratios.push(ratio);
    }
    println!("median of private/plain: {:.2}", median(ratios));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Seconds that a query takes with a fresh ledger.
fn private(contract: &Path, sql: &str) -> f64 {
    let session = Arc::new(Session::open(contract).unwrap());
    let _ = std::fs::remove_file(session.ledger_path());
    let started = Instant::now();
    session.query(sql, None, &Progress::default()).wait().unwrap();
    started.elapsed().as_secs_f64()
}
