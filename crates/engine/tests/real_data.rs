//! Real tables, where they are at hand beside the checkout (`../shared/data`); skipped, and said
//! so, where they are not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

use std::collections::HashMap;
use std::path::Path;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use hushtable_engine::{Progress, Session, runtime};
use hushtable_testkit::{TestFolder, real};

fn ask(contract: &str, path: &Path, sql: &str) -> RecordBatch {
    let folder = TestFolder::new(&contract.replace("PATH", path.to_str().unwrap()), &[]);
    let session = std::sync::Arc::new(Session::open(&folder.contract()).unwrap());
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

const LOAN_MEASURES: &str = "COUNT(*) AS n, SUM(Jobs) AS jobs, AVG(Jobs) AS mean_jobs, \
     SUM(Amount) AS amount, AVG(Amount) AS mean_amount";

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

/// The 40 values next to the exact median on either side, and 100 next to the 90th percentile, from
/// a plain sort of the same file: at rates of 1 and 0.56 and more (rho = 0.25 for both) released
/// values are beyond with a probability below 1e-11.
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

type Cell = (Option<String>, Option<i64>);

/// Rows of a tag, a text, a whole number and a count: the cells with that tag.
fn cells(table: &RecordBatch, tag: &str) -> HashMap<Cell, i64> {
    let (tags, texts) = (table.column(0).as_string_view(), table.column(1).as_string_view());
    let codes = table.column(2).as_primitive::<Int64Type>();
    let counts = table.column(3).as_primitive::<Int64Type>();
    let row = |row: usize| {
        let text = texts.is_valid(row).then(|| texts.value(row).to_owned());
        let code = codes.is_valid(row).then(|| codes.value(row));
        ((text, code), counts.value(row))
    };
    (0..table.num_rows()).filter(|&row| tags.value(row) == tag).map(row).collect()
}

/// Squared errors by level: of both keys, of the text, of the code, of all.
fn squares(released: &HashMap<Cell, i64>, exact: &HashMap<Cell, i64>) -> [Vec<f64>; 4] {
    let mut levels = [const { Vec::new() }; 4];
    for (key, value) in released {
        let level = 2 * usize::from(key.0.is_none()) + usize::from(key.1.is_none());
        let exact = exact.get(key).copied().unwrap_or(0);
        levels[level].push((value - exact).pow(2) as f64);
    }
    levels
}

/// Adds the errors of one release to those of others.
fn add(all: &mut [Vec<f64>; 4], level: [Vec<f64>; 4]) {
    all.iter_mut().zip(level).for_each(|(all, level)| all.extend(level));
}

fn means(all: &[Vec<f64>; 4]) -> [f64; 4] {
    all.each_ref().map(|level| level.iter().sum::<f64>() / level.len().max(1) as f64)
}

const CUBE: &str =
    "'own' AS what, County, naics2, COUNT(*) AS n FROM loans GROUP BY CUBE (County, naics2)";

fn with(options: &str, rest: &str) -> String {
    format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {rest}")
}

/// Loans of the larger counties and sectors, whose keys are public: consistent levels are more
/// precise than released ones, as theory says.
#[test]
fn consistent_levels_of_public_counties_and_sectors() {
    let Some(path) = real("ppp2020_georgia_partial.csv.gz") else { return };
    let chosen = LOANS.replace(", public_keys = [23, 54, 72]", "");
    let chosen = chosen.replace("rho = 0.5, delta = 1e-6", "epsilon = 1000000, delta = 1e-3");
    let exact = with("epsilon = 100000, delta = 1e-4", CUBE);
    let exact = cells(&ask(&chosen, &path, &exact), "own");
    let large = || exact.iter().filter(|(_, n)| **n > 4_000);
    let counties = large().filter_map(|(key, _)| key.0.as_ref().filter(|_| key.1.is_none()));
    let counties: Vec<String> = counties.map(|county| format!("{county:?}")).collect();
    let codes = large().filter_map(|(key, _)| key.1.filter(|_| key.0.is_none()));
    let codes: Vec<String> = codes.map(|code| code.to_string()).collect();
    let listed = |list: &[String]| format!(", public_keys = [{}]", list.join(", "));
    let public = chosen
        .replace("County = { type = \"string\"", "County = { type = \"string\"COUNTIES")
        .replace("COUNTIES", &listed(&counties))
        .replace("10000)\"", &format!("10000)\"{}", listed(&codes)));
    let exact =
        cells(&ask(&public, &path, &with("epsilon = 100000, consistent = true", CUBE)), "own");
    let fit = with("epsilon = 0.4, consistent = true", CUBE);
    let mut all = [const { Vec::new() }; 4];
    for _ in 0..20 {
        add(&mut all, squares(&cells(&ask(&public, &path, &fit), "own"), &exact));
    }
    let folder = TestFolder::new(&public.replace("PATH", path.to_str().unwrap()), &[]);
    let session = std::sync::Arc::new(Session::open(&folder.contract()).unwrap());
    let quoted = runtime().unwrap().block_on(session.explain(&fit, None)).unwrap();
    println!("{} counties, {} sectors", counties.len(), codes.len());
    for ((level, errors), many) in quoted.consistent.iter().zip(means(&all)).zip(&all) {
        let (released, adjusted) = (level.released.powi(2), level.adjusted.unwrap().powi(2));
        println!("{}: {errors:.0}, in theory {adjusted:.0} of {released:.0}", level.part);
        assert!(adjusted < released);
        // Of independent errors with the tails of Laplace noise, six standard deviations.
        let off = 6.0 * (5.0 / many.len() as f64).sqrt();
        assert!((errors / adjusted - 1.0).abs() < off, "{errors} {adjusted} {off}");
    }
}

/// Counties and sectors that are chosen privately: what is moved for the sake of groups that are
/// shown makes errors smaller, if not by much.
#[test]
fn consistent_levels_of_chosen_counties_and_sectors() {
    let Some(path) = real("ppp2020_georgia_partial.csv.gz") else { return };
    let chosen = LOANS.replace(", public_keys = [23, 54, 72]", "");
    let chosen = chosen.replace("rho = 0.5, delta = 1e-6", "epsilon = 1000000, delta = 1e-3");
    let exact = with("epsilon = 100000, delta = 1e-4", CUBE);
    let exact = cells(&ask(&chosen, &path, &exact), "own");
    let fit = with("consistent = true", CUBE).replace("'own'", "'fit'");
    let both = format!("* FROM (SELECT * FROM (SELECT {CUBE}) UNION ALL SELECT * FROM ({fit}))");
    let both = with("epsilon = 0.4, delta = 1e-6", &both);
    let (mut released, mut fits) = ([const { Vec::new() }; 4], [const { Vec::new() }; 4]);
    for _ in 0..10 {
        let table = ask(&chosen, &path, &both);
        add(&mut released, squares(&cells(&table, "own"), &exact));
        add(&mut fits, squares(&cells(&table, "fit"), &exact));
    }
    let shown: Vec<usize> = released.iter().map(|level| level.len() / 10).collect();
    println!(
        "{shown:?} groups: {:.1?} released, {:.1?} consistent",
        means(&released),
        means(&fits)
    );
    let total = |all: &[Vec<f64>; 4]| all.iter().flatten().sum::<f64>();
    assert!(total(&fits) <= 1.02 * total(&released));
}

type Near = ((i64, i64), (f64, f64));
type Exact = (i64, i64, i64, i64);
const EXACT_23: Exact = (23, 7_527, 68_830, 660_333_875);
const EXACT_54: Exact = (54, 8_350, 44_945, 456_539_622);
const EXACT_72: Exact = (72, 6_274, 111_475, 445_954_909);
const MEDIANS_23: Near = ((28_285, 29_900), (195_435.0, 245_400.0));
const MEDIANS_54: Near = ((20_800, 20_800), (106_800.0, 131_400.0));
const MEDIANS_72: Near = ((35_400, 36_800), (137_667.0, 171_600.0));
