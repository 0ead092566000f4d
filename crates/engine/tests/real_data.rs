//! Real tables, where they are at hand beside the checkout (`../shared/data`); skipped, and said so,
//! where they are not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

use std::path::{Path, PathBuf};

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use hushtable_engine::{Progress, Session, runtime};

/// The file, or a note that the test was skipped.
fn real(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if path.is_file() {
        return path.canonicalize().ok();
    }
    eprintln!("skipped: {name} is not here");
    println!("skipped: {name} is not here");
    None
}

fn ask(contract: &str, path: &Path, sql: &str) -> RecordBatch {
    let folder = tempfile::tempdir().unwrap();
    let contract = contract.replace("PATH", path.to_str().unwrap());
    std::fs::write(folder.path().join("hushtable.toml"), contract).unwrap();
    let session = Session::open(&folder.path().join("hushtable.toml")).unwrap();
    let progress = Progress::default();
    runtime().unwrap().block_on(session.query(sql, None, &progress)).unwrap().table
}

const DOMAINS: &str = r#"
[tables.posts]
path = "PATH"
privacy_unit = "post_id"
[tables.posts.columns]
post_id = { type = "int" }
domain = { type = "string" }
[tables.posts.budgets]
me = { epsilon = 1, delta = 1e-5 }
"#;

/// Expected numbers of keys are sums of keep probabilities over the file's counts, computed apart;
/// their standard deviations are below 20. Six of them: a false alarm once in 5e8.
#[test]
fn domains_of_posts() {
    let Some(path) = real("reddit_posts_domains.parquet") else { return };
    for (strategy, expected) in [("OPTIMAL", 7336), ("LAPLACE_THRESHOLD", 7113)] {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-5, \
             max_groups_contributed = 1, group_selection_strategy = {strategy}) domain \
             FROM posts GROUP BY domain"
        );
        let keys = i64::try_from(ask(DOMAINS, &path, &sql).num_rows()).unwrap();
        assert!((keys - expected).abs() < 120, "{strategy}: {keys} keys, expected {expected}");
    }
}

const LOANS: &str = r#"
[tables.loans]
path = "PATH"
privacy_unit = "row"
[tables.loans.columns]
NAICS = { type = "int" }
County = { type = "string" }
Jobs = { type = "int", bounds = [0, 500] }
Amount = { type = "int", bounds = [0, 1_000_000] }
naics2 = { type = "int", expression = "DIV(NAICS, 10000)", public_keys = [23, 54, 72] }
[tables.loans.budgets]
me = { rho = 0.5, delta = 1e-6 }
"#;

const LOAN_MEASURES: &str = "COUNT(*) AS n, SUM(Jobs) AS jobs, AVG(Jobs) AS mean_jobs, SUM(Amount) AS amount, \
     AVG(Amount) AS mean_amount";

/// Exact values from a plain GROUP BY of the same file in another engine, with Amount cut off at a
/// million; the bounds are six sigmas of each (rho = 0.5 over five measurements) and more.
#[test]
fn loans_by_sector_and_county() {
    let Some(path) = real("ppp2020_georgia_partial.csv.gz") else { return };
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5) naics2, {LOAN_MEASURES} FROM loans \
         GROUP BY naics2"
    );
    let table = ask(LOANS, &path, &sql);
    let int =
        |column: usize, row: usize| table.column(column).as_primitive::<Int64Type>().value(row);
    let float =
        |column: usize, row: usize| table.column(column).as_primitive::<Float64Type>().value(row);
    for (row, (sector, loans, jobs, amount)) in
        [EXACT_23, EXACT_54, EXACT_72].into_iter().enumerate()
    {
        assert_eq!(int(0, row), sector);
        assert!((int(1, row) - loans).abs() < 30, "{sector}: {}", int(1, row));
        assert!((int(2, row) - jobs).abs() < 10_000, "{sector}: {}", int(2, row));
        assert!((int(4, row) - amount).abs() < 20_000_000, "{sector}: {}", int(4, row));
        let mean = amount as f64 / loans as f64;
        assert!((float(5, row) / mean - 1.0).abs() < 0.1, "{sector}: {}", float(5, row));
    }
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5, delta = 1e-6, \
         group_selection_strategy = GAUSSIAN_THRESHOLD) County, {LOAN_MEASURES} FROM loans \
         GROUP BY County"
    );
    let counties = ask(LOANS, &path, &sql);
    // All but those with a handful of loans appear, sorted by name.
    assert!((130..=160).contains(&counties.num_rows()), "{}", counties.num_rows());
    let names: Vec<Option<&str>> = counties.column(0).as_string_view().iter().collect();
    assert!(names.is_sorted());
}

/// The 40 values next to the exact median on either side, and 100 next to the 90th percentile, from a plain
/// sort of the same file: at rates of 1 and 0.56 and more (rho = 0.25 for both) released values are beyond with a
/// probability below 1e-11.
#[test]
fn median_loans_by_sector() {
    let Some(path) = real("ppp2020_georgia_partial.csv.gz") else { return };
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.25) naics2, MEDIAN(Amount) AS m, \
               PERCENTILE_CONT(Amount, 0.9) AS h FROM loans GROUP BY naics2";
    let table = ask(LOANS, &path, sql);
    let medians = table.column(1).as_primitive::<Int64Type>();
    let high = table.column(2).as_primitive::<Float64Type>();
    for (row, (near_median, near_high)) in
        [MEDIANS_23, MEDIANS_54, MEDIANS_72].into_iter().enumerate()
    {
        let (low, top) = near_median;
        assert!((low..=top).contains(&medians.value(row)), "{}", medians.value(row));
        let (low, top) = near_high;
        assert!((low..=top).contains(&high.value(row)), "{}", high.value(row));
    }
}

type Near = ((i64, i64), (f64, f64));
type Exact = (i64, i64, i64, i64);
const EXACT_23: Exact = (23, 7_527, 68_830, 660_333_875);
const EXACT_54: Exact = (54, 8_350, 44_945, 456_539_622);
const EXACT_72: Exact = (72, 6_274, 111_475, 445_954_909);
const MEDIANS_23: Near = ((28_285, 29_900), (195_435.0, 245_400.0));
const MEDIANS_54: Near = ((20_800, 20_800), (106_800.0, 131_400.0));
const MEDIANS_72: Near = ((35_400, 36_800), (137_667.0, 171_600.0));
