//! Whether synthetic establishments have the shape of a real table, where it is at hand beside the
//! checkout (`../shared/data`); skipped, and said so, where it is not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use flate2::read::GzDecoder;
use hushtable_experiments::establishments::{Establishment, FULL, generate};
use hushtable_testkit::real;

const LEVELS: [u32; 5] = [2, 3, 4, 5, 6];

/// A cell of the table: county x industry. It counts establishments; what they pay is published for
/// some cells only.
struct Cell {
    county: u32,
    naics: u32,
    establishments: f64,
    /// Employees, annual and first-quarter wages, where published.
    published: Option<[f64; 3]>,
}

/// The file's cells that are not empty, or a note that the test was skipped.
fn cells() -> Option<Vec<Cell>> {
    let file = File::open(real("qcew2016_county_naics6_private.csv.gz")?).unwrap();
    let mut reader = csv::Reader::from_reader(GzDecoder::new(file));
    let mut all = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).unwrap() {
        let establishments: f64 = record[3].parse().unwrap_or(0.0);
        if establishments > 0.0 {
            let number = |at: usize| record[at].parse::<f64>().ok();
            let numbers = [number(4), number(6), number(5)];
            let published = match (&record[2], numbers) {
                ("", [Some(employees), Some(year), Some(quarter)]) => {
                    Some([employees, year, quarter])
                }
                _ => None,
            };
            let (county, naics) = (record[0].parse().unwrap(), record[1].parse().unwrap());
            all.push(Cell { county, naics, establishments, published });
        }
    }
    Some(all)
}

fn near(what: &str, made: f64, real: f64, tolerance: f64) {
    println!("{what}: {made:.4}, real {real:.4}");
    assert!((made / real - 1.0).abs() <= tolerance, "{what}: {made}, real {real}");
}

/// The share of the whole that the largest records have, by their number.
fn top(mut counts: Vec<f64>, most: usize) -> f64 {
    counts.sort_unstable_by(|a, b| b.total_cmp(a));
    counts.iter().take(most).sum::<f64>() / counts.iter().sum::<f64>()
}

fn sums<K: Ord>(terms: impl Iterator<Item = (K, f64)>) -> BTreeMap<K, f64> {
    let mut sums = BTreeMap::new();
    for (key, term) in terms {
        *sums.entry(key).or_insert(0.0) += term;
    }
    sums
}

/// A million synthetic establishments against the table's cells, of which each establishment is
/// taken with the same probability, so that there are a million of them on average. Tolerances:
/// codes and counties 3 %; cells with any establishment 10 %, with a hundred or more 40 %; shares
/// of the largest counties and industries 15 %; of sectors 15 %; their means (of the table: where
/// published) 25 %, of sectors with less than 2 % of all establishments 50 %, as a few are half of
/// such a mean.
#[test]
fn synthetic_establishments_have_the_shape_of_the_table() {
    let Some(cells) = cells() else { return };
    let rows: Vec<Establishment> = generate(FULL, 1);
    let whole: f64 = cells.iter().map(|c| c.establishments).sum();
    let taken = rows.len() as f64 / whole;

    let counties = |all: BTreeSet<u32>| all.len() as f64;
    near(
        "counties",
        counties(rows.iter().map(|r| r.county).collect()),
        counties(cells.iter().map(|c| c.county).collect()),
        0.03,
    );
    for level in LEVELS {
        let code = |naics: u32| naics / 10u32.pow(6 - level);
        let codes = |all: BTreeSet<u32>| all.len() as f64;
        near(
            &format!("codes of {level} digits"),
            codes(rows.iter().map(|r| code(r.naics)).collect()),
            codes(cells.iter().map(|c| code(c.naics)).collect()),
            0.03,
        );
        let made = sums(rows.iter().map(|r| ((r.county, code(r.naics)), 1.0)));
        let real = sums(cells.iter().map(|c| ((c.county, code(c.naics)), c.establishments)));
        let seen: f64 = real.values().map(|n| 1.0 - (1.0 - taken).powf(*n)).sum();
        near(&format!("cells of {level} digits"), made.len() as f64, seen, 0.1);
        let large = |sums: &BTreeMap<(u32, u32), f64>, least: f64| {
            sums.values().filter(|n| **n >= least).count() as f64
        };
        let (made, real) = (large(&made, 100.0), large(&real, 100.0 / taken));
        near(&format!("cells of {level} digits with a hundred or more"), made, real, 0.4);
    }
    let made: Vec<f64> = sums(rows.iter().map(|r| (r.county, 1.0))).into_values().collect();
    let real: Vec<f64> =
        sums(cells.iter().map(|c| (c.county, c.establishments))).into_values().collect();
    for most in [10, 100, 1000] {
        let (made, real) = (top(made.clone(), most), top(real.clone(), most));
        near(&format!("share of the {most} largest counties"), made, real, 0.15);
    }
    let made: Vec<f64> = sums(rows.iter().map(|r| (r.naics, 1.0))).into_values().collect();
    let real: Vec<f64> =
        sums(cells.iter().map(|c| (c.naics, c.establishments))).into_values().collect();
    for most in [10, 100, 300] {
        let (made, real) = (top(made.clone(), most), top(real.clone(), most));
        near(&format!("share of the {most} largest industries"), made, real, 0.15);
    }
    sectors(&rows, &cells);
}

fn sectors(rows: &[Establishment], cells: &[Cell]) {
    let codes: BTreeSet<u32> = cells.iter().map(|c| c.naics / 10_000).collect();
    let whole: f64 = cells.iter().map(|c| c.establishments).sum();
    for code in codes {
        let of_sector: Vec<&Establishment> =
            rows.iter().filter(|r| r.naics / 10_000 == code).collect();
        let of = |value: fn(&Establishment) -> i64| {
            of_sector.iter().map(|r| value(r)).sum::<i64>() as f64
        };
        let (employees, pay, quarter) = (of(|r| r.employees), of(|r| r.pay), of(|r| r.pay_quarter));
        let (mut all, mut counted, mut published) = (0.0, 0.0, [0.0; 3]);
        for cell in cells.iter().filter(|c| c.naics / 10_000 == code) {
            all += cell.establishments;
            if let Some(numbers) = cell.published {
                counted += cell.establishments;
                for (sum, number) in published.iter_mut().zip(numbers) {
                    *sum += number;
                }
            }
        }
        let [real_employees, real_pay, real_quarter] = published;
        let made = of_sector.len() as f64;
        near(&format!("share of {code}"), made / rows.len() as f64, all / whole, 0.15);
        let few = all / whole < 0.02;
        let tolerance = if few { 0.5 } else { 0.25 };
        let real = real_employees / counted;
        near(&format!("employees in {code}"), employees / made, real, tolerance);
        // Thousands of dollars.
        let real = real_pay / real_employees / 1_000.0;
        near(&format!("pay per employee in {code}"), pay / employees, real, tolerance);
        near(
            &format!("first quarter in {code}"),
            quarter / pay,
            real_quarter / real_pay,
            tolerance,
        );
    }
}
