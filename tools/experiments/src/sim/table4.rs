//! The records of SIM (PR Table 4).

use std::fmt::Write as _;

use crate::Draws;

/// Categories, from 1 up.
const CATEGORIES: usize = 1000;

/// Records in the experiment, 100 for each of 1000 categories.
pub const RECORDS: usize = 100_000;

/// A record of SIM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// CatIX: from 1 to 1000.
    pub category: usize,
    /// HT1: Pareto(1, 1.2), in hundredths.
    pub ht1: u64,
    /// HT2: Pareto(1, 1.5), in hundredths.
    pub ht2: u64,
}

/// The first `count` records of this seed: fewer of the same seed are the first of them.
pub fn records(seed: u64, count: usize) -> Vec<Record> {
    let mut draws = Draws::new(seed);
    // Exponential shares over their sum: uniform on all probabilities that there could be.
    let mut upper = Vec::with_capacity(CATEGORIES);
    let mut sum = 0.0;
    for _ in 0..CATEGORIES {
        sum += draws.exponential();
        upper.push(sum);
    }
    let record = |_| {
        let point = draws.uniform() * sum;
        let category = upper.partition_point(|up| *up < point).min(CATEGORIES - 1) + 1;
        let [ht1, ht2] = [1.2, 1.5].map(|index| (100.0 * draws.pareto(1.0, index)).round() as u64);
        Record { category, ht1, ht2 }
    };
    (0..count).map(record).collect()
}

/// The experiment's records as a CSV file.
pub fn csv(seed: u64) -> String {
    let mut text = String::from("category,ht1,ht2\n");
    for Record { category, ht1, ht2 } in records(seed, RECORDS) {
        let decimal = |hundredths: u64| format!("{}.{:02}", hundredths / 100, hundredths % 100);
        // Writing to text does not fail.
        let _ = writeln!(text, "{category},{},{}", decimal(ht1), decimal(ht2));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_the_laws_of_table_4() {
        let records = records(3, 200_000);
        let mut counts = vec![0u32; CATEGORIES];
        for record in &records {
            counts[record.category - 1] += 1;
            assert!(record.ht1 >= 100 && record.ht2 >= 100);
        }
        // Exponential shares: half of the categories are below ln 2 of the mean. The share of 1000
        // categories has a standard deviation of 0.016, and four of them are a false alarm in
        // 16,000 seeds.
        let few = counts.iter().filter(|count| f64::from(**count) < 200.0 * 2f64.ln()).count();
        assert!((435..565).contains(&few), "{few}");
        // P[X > 10] = 10^-index: 12,619 and 6,325 of 200,000, with standard deviations of 109 and
        // 78.
        for (expected, over) in [
            (12_619, records.iter().filter(|r| r.ht1 > 1000).count()),
            (6_325, records.iter().filter(|r| r.ht2 > 1000).count()),
        ] {
            assert!(over.abs_diff(expected) < 500, "{over}, {expected}");
        }
    }

    #[test]
    fn fewer_records_are_the_first_of_more() {
        assert_eq!(records(4, 100), records(4, 1000)[..100]);
        assert_ne!(records(4, 100), records(5, 100));
        let csv = csv(4);
        assert_eq!(csv.lines().count(), RECORDS + 1);
    }
}
