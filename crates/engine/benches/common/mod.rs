//! Helpers that the benchmarks share.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::parquet::arrow::ArrowWriter;
use hushtable_engine::{Session, runtime};
use tokio::runtime::Runtime;

/// A future whose end can be waited for.
pub(crate) trait Wait: Future + Sized {
    fn wait(self) -> Self::Output {
        static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| runtime().unwrap());
        RUNTIME.block_on(self)
    }
}

impl<F: Future> Wait for F {}

/// Splitmix64: well enough mixed for made-up rows.
pub(crate) struct Mix(pub(crate) u64);

impl Mix {
    /// 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// A session for each table of `contract`, by name; all read `folder/t.parquet`. Each has its
/// contract and its ledger: no two tables of one contract may read one file, and a ledger is for
/// one set of populations.
#[allow(dead_code, reason = "not every benchmark has several tables")]
pub(crate) fn sessions(folder: &Path, contract: &str) -> HashMap<String, Arc<Session>> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for line in contract.lines() {
        let name = line.strip_prefix("[tables.").and_then(|rest| rest.strip_suffix(']'));
        if let Some(name) = name.filter(|name| !name.contains('.')) {
            texts.push((name.to_owned(), String::new()));
        }
        if let Some((_, text)) = texts.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    let open = |(name, text): (String, String)| {
        let of_table = folder.join(&name);
        std::fs::create_dir(&of_table).unwrap();
        std::fs::hard_link(folder.join("t.parquet"), of_table.join("t.parquet")).unwrap();
        let path = of_table.join("hushtable.toml");
        std::fs::write(&path, text).unwrap();
        (name, Arc::new(Session::open(&path).unwrap()))
    };
    texts.into_iter().map(open).collect()
}

/// The upper median.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Forgets the peak of the past, so that the next is that of what follows (Linux).
#[allow(dead_code, reason = "not every benchmark needs it")]
pub(crate) fn forget_peak() {
    // Where the system does not let it, peaks are those of the whole process.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Peak resident memory of this process so far, in MiB (Linux).
pub(crate) fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

/// A Parquet file of that many establishments in that many counties and 20 sectors, of firms that
/// have ten each.
#[allow(dead_code, reason = "not every benchmark needs it")]
pub(crate) fn establishments(path: &std::path::Path, rows: usize, counties: u64) {
    let schema = Arc::new(Schema::new(vec![
        Field::new("county", DataType::Int64, false),
        Field::new("sector", DataType::Utf8, false),
        Field::new("pay", DataType::Int64, false),
        Field::new("jobs", DataType::Int64, false),
        Field::new("firm", DataType::Int64, false),
    ]));
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), schema.clone(), None).unwrap();
    let mut mix = Mix(7);
    for _ in 0..rows / 100_000 {
        let mut in_counties = Vec::new();
        let mut sectors = Vec::new();
        let mut pays = Vec::new();
        let mut jobs = Vec::new();
        let mut firms = Vec::new();
        for _ in 0..100_000 {
            in_counties.push((mix.next() % counties) as i64);
            sectors.push(format!("S{}", mix.next() % 20));
            // A Pareto law of index 1.1 from 10,000 up: the largest of ten million is above 10^10.
            let uniform = (mix.next() >> 11) as f64 / (1u64 << 53) as f64;
            let size = (1.0 - uniform).powf(-1.0 / 1.1);
            pays.push((10_000.0 * size) as i64);
            jobs.push(size as i64);
            firms.push((mix.next() % (rows as u64 / 10)) as i64);
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(in_counties)),
            Arc::new(StringArray::from(sectors)),
            Arc::new(Int64Array::from(pays)),
            Arc::new(Int64Array::from(jobs)),
            Arc::new(Int64Array::from(firms)),
        ];
        writer.write(&RecordBatch::try_new(schema.clone(), columns).unwrap()).unwrap();
    }
    writer.close().unwrap();
}
