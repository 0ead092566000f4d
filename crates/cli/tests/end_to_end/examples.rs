//! The examples of per-record privacy, as a newcomer runs them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hushtable_experiments::{establishments, herds, sim};
use tempfile::TempDir;

use crate::support::{Run, command_in};

/// A copy of an example, with its data and an empty ledger.
fn example(name: &str, data: &str, csv: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    for entry in fs::read_dir(shipped).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".toml") || name.ends_with(".sql") {
            fs::copy(entry.path(), folder.path().join(name)).unwrap();
        }
    }
    fs::write(folder.path().join(data), csv).unwrap();
    folder
}

fn ask(folder: &TempDir, command: &str, query: &str) -> String {
    let sql = fs::read_to_string(folder.path().join(query)).unwrap();
    Run::of(command_in(folder.path(), &[command, &sql]).output().unwrap()).success()
}

/// The rows of an answer as text.
fn rows(csv: &str) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

/// Noise of sigma = 65 / sqrt(2): 280 is six of them.
#[test]
fn the_largest_sums_of_sim_are_found() {
    let folder = example("sim", "records.csv", &sim::csv(1));
    insta::assert_snapshot!("explain_sim", ask(&folder, "explain", "query.sql"));
    let mut sums = vec![0u64; 1001];
    for record in sim::records(1, sim::RECORDS) {
        sums[record.category] += record.ht1;
    }
    let answer = rows(&ask(&folder, "query", "query.sql"));
    assert_eq!(answer.len(), 10);
    for row in &answer {
        let exact = sums[row[0].parse::<usize>().unwrap()] as f64 / 100.0;
        let released: f64 = row[1].parse().unwrap();
        assert!((released - exact).abs() < 280.0, "{row:?}: {exact}");
    }
}

/// The sums of cows have a rho of 0.25: noise of sigma = 1000 / sqrt(0.5), and 8500 is six of them.
#[test]
fn herds_by_state_and_district() {
    let folder = example("herds", "farms.csv", &herds::csv(1));
    insta::assert_snapshot!("explain_herds", ask(&folder, "explain", "query.sql"));
    let mut states: BTreeMap<String, u64> = BTreeMap::new();
    let mut districts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for farm in herds::farms(1) {
        let state = format!("S{:02}", farm.state);
        *states.entry(state.clone()).or_default() += farm.cows;
        *districts.entry((state, farm.district.to_string())).or_default() += farm.cows;
    }
    let answer = rows(&ask(&folder, "query", "query.sql"));
    assert_eq!(answer.len(), 50);
    for row in &answer {
        let released: f64 = row[1].parse().unwrap();
        assert!((released - states[&row[0]] as f64).abs() < 8500.0, "{row:?}");
    }
    let answer = rows(&ask(&folder, "query", "districts.sql"));
    assert_eq!(answer.len(), 20);
    for row in &answer {
        let exact = districts.get(&(row[0].clone(), row[1].clone())).copied().unwrap_or(0);
        let released: f64 = row[2].parse().unwrap();
        assert!((released - exact as f64).abs() < 8500.0, "{row:?}");
    }
}

/// Three measurements share a rho of 0.2: noise of sigma = T / sqrt(2 rho / 3), which seven of
/// leave 1e-12 of all draws outside.
#[test]
fn establishments_by_sector() {
    let firms = establishments::generate(establishments::EXAMPLE, 1);
    let folder = example("establishments", "establishments.csv", &establishments::csv(&firms));
    insta::assert_snapshot!("explain_establishments", ask(&folder, "explain", "query.sql"));
    let mut sectors: BTreeMap<String, [i64; 3]> = BTreeMap::new();
    for one in &firms {
        let sums = sectors.entry((one.naics / 10_000).to_string()).or_default();
        for (sum, value) in sums.iter_mut().zip([1, one.employees, one.pay]) {
            *sum += value;
        }
    }
    let answer = rows(&ask(&folder, "query", "query.sql"));
    assert_eq!(answer.len(), 24);
    for row in &answer {
        let exact = sectors.get(&row[0]).copied().unwrap_or_default();
        for ((sum, released), threshold) in exact.iter().zip(&row[1..]).zip([1.0, 5.0, 500.0]) {
            let released: i64 = released.parse().unwrap();
            let most = 7.0 * threshold / (2.0 * 0.2 / 3.0f64).sqrt() + 1.0;
            assert!((released - sum).abs() as f64 <= most, "{row:?}: {exact:?}");
        }
    }
    // Some pay far more than the threshold, and nothing of it is cut off.
    assert!(firms.iter().any(|one| one.pay > 100 * 500));
    // Medians of sectors with many establishments: at a rate of 0.56 no more than 80 are in between
    // except for a probability of 1e-15 or so.
    let answer = rows(&ask(&folder, "query", "medians.sql"));
    assert_eq!(answer.len(), 24);
    for row in &answer {
        let in_sector = firms.iter().filter(|one| (one.naics / 10_000).to_string() == row[0]);
        let mut pays: Vec<i64> = in_sector.map(|one| one.pay).collect();
        pays.sort_unstable();
        let released: i64 = row[3].parse().unwrap();
        let below = pays.partition_point(|pay| *pay < released);
        let to = pays.partition_point(|pay| *pay <= released);
        let middle = pays.len() / 2;
        assert!(pays.len() < 500 || below <= middle + 80 && to + 80 >= middle, "{row:?}");
    }
    let counties = rows(&ask(&folder, "query", "counties.sql"));
    assert!((5..=40).contains(&counties.len()), "{counties:?}");
    let release = ["release", "workload.toml", "--out", "tables"];
    let run = Run::of(command_in(folder.path(), &release).output().unwrap());
    assert!(run.stderr.contains(", for a record at the thresholds, to ana"), "{run:?}");
    let sectors = fs::read_to_string(folder.path().join("tables/by_sector.csv")).unwrap();
    assert_eq!(rows(&sectors).len(), 24);
    let policy = fs::read_to_string(folder.path().join("tables/statement.json")).unwrap();
    let policy: serde_json::Value = serde_json::from_str(&policy).unwrap();
    // Pay is summed three times, at the same threshold.
    assert_eq!(policy["together"]["policy"]["terms"].as_array().unwrap().len(), 2, "{policy:#}");
}
