//! Opening a ledger of 100,000 charges, which follows all of its chains, beside a plain read of the
//! same rows.
//!
//! `cargo bench -p hushtable-ledger` makes the ledger in the system's folder for temporary files,
//! and prints medians, in turns.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program of its own that may stop at any error"
)]

use std::path::Path;
use std::time::Instant;

use hushtable_ledger::{
    Fingerprint, Location, NamedPopulation, Outcome, PaymentOutcome, Populations, Release, Request,
    Units,
};
use hushtable_privacy::Loss;
use rusqlite::Connection;

const CHARGES: u64 = 100_000;
const AT_ONCE: u64 = 5_000;
const RELEASES: usize = 500;
const RUNS: usize = 9;

fn request(question: u64) -> Request {
    let loss = Loss::pure("0.1".parse().unwrap());
    let mut fingerprint = [0; 32];
    fingerprint[..8].copy_from_slice(&question.to_le_bytes());
    Request {
        analyst: format!("analyst {}", question / AT_ONCE % 7),
        population: "visits".to_owned(),
        query: format!("SELECT {question} {}", "x".repeat(300)),
        fingerprint: Fingerprint::new(fingerprint),
        family: Fingerprint::new([0; 32]),
        loss,
        events: vec![loss.into()],
        limit: Loss::pure("1000000".parse().unwrap()),
    }
}

fn visits() -> Populations {
    let units = Units([("visits".to_owned(), "visits.customer".to_owned())].into());
    let visits = NamedPopulation { units, ..NamedPopulation::default() };
    Populations::new([("visits".to_owned(), visits)].into(), [])
}

fn make(path: &Path) {
    let mut ledger = Location::file(path).open(visits()).unwrap();
    for first in (0..CHARGES).step_by(AT_ONCE as usize) {
        let requests: Vec<Request> = (first..first + AT_ONCE).map(request).collect();
        let paid = ledger.charge_all(&requests).unwrap();
        // Some, as each is synced to disk by itself.
        for paid in paid.iter().take(RELEASES * AT_ONCE as usize / CHARGES as usize) {
            let PaymentOutcome::Charged(payment) = paid else { panic!("free") };
            let Outcome::Charged(charge) = ledger.begin(payment, &[]).unwrap() else {
                panic!("free")
            };
            let release = Release { table: vec![1; 5_000], statement: "x".repeat(5_000) };
            let drawn = ledger.draw(charge.open(), Vec::new(), 10_000).unwrap();
            ledger.record(drawn, &release).unwrap();
        }
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    make(&path);
    let (mut opened, mut charged, mut read, mut ratios) = (vec![], vec![], vec![], vec![]);
    for run in 0..=RUNS as u64 {
        let mut ledger = None;
        let open = seconds(|| ledger = Some(Location::file(&path).open(visits()).unwrap()));
        let mut ledger = ledger.unwrap();
        let charge = seconds(|| {
            let paid = ledger.charge_all(&[request(CHARGES + run)]).unwrap().remove(0);
            let PaymentOutcome::Charged(payment) = paid else { panic!("{paid:?}") };
            drop(ledger.begin(&payment, &[]).unwrap());
        });
        let plain = seconds(|| {
            let conn = Connection::open(&path).unwrap();
            let mut rows = conn.prepare("SELECT * FROM charges").unwrap();
            let columns = rows.column_count();
            let mut rows = rows.query([]).unwrap();
            let mut bytes = 0;
            while let Some(row) = rows.next().unwrap() {
                for column in 0..columns {
                    bytes += row.get_ref(column).unwrap().as_bytes().map_or(8, <[u8]>::len);
                }
            }
            assert!(bytes > 0);
        });
        // The first run warms the file's cache up.
        if run > 0 {
            opened.push(open);
            charged.push(charge);
            read.push(plain);
            ratios.push(open / plain);
        }
    }
    println!(
        "{CHARGES} charges, {RELEASES} releases, medians of {RUNS}: opening {:.3} s, reading the \
         rows {:.3} s, ratio {:.2}; a charge in the open ledger {:.4} s",
        median(opened),
        median(read),
        median(ratios),
        median(charged),
    );
}
