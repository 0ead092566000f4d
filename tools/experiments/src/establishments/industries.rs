//! Made-up industries under made-up codes that branch as NAICS does.

use super::laws::{factor, log_normal};
use super::profile::{BRANCHES, INDUSTRY_SIZE, SECTORS, Sector};
use crate::Draws;

/// An industry of six digits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Industry {
    /// Its code.
    pub(super) code: u32,
    /// Its share of all establishments.
    pub(super) share: f64,
    /// Mean number of employees of an establishment.
    pub(super) employees: f64,
    /// The place of its sector in [`SECTORS`].
    pub(super) sector: usize,
}

/// All industries, by code. Shares add up to one, and each sector has its share and its mean number
/// of employees.
pub(super) fn industries(draws: &mut Draws) -> Vec<Industry> {
    let whole: f64 = SECTORS.iter().map(|s| s.share).sum();
    let mut all = Vec::new();
    for (index, sector) in SECTORS.iter().enumerate() {
        let leaves = branch(draws, sector);
        let sizes: Vec<f64> = leaves.iter().map(|_| factor(draws, INDUSTRY_SIZE)).collect();
        let mean: f64 = leaves.iter().zip(&sizes).map(|((_, share), size)| share * size).sum();
        all.extend(leaves.iter().zip(&sizes).map(|((code, share), size)| Industry {
            code: *code,
            share: share * sector.share / whole,
            employees: sector.employees * size / mean,
            sector: index,
        }));
    }
    all
}

/// The codes of six digits of a sector with their shares of it, by code.
fn branch(draws: &mut Draws, sector: &Sector) -> Vec<(u32, f64)> {
    let mut codes = vec![(sector.code, 1.0)];
    for (count, spread) in sector.codes.iter().zip(BRANCHES) {
        let parents = codes.len();
        let mut next = Vec::new();
        for (index, (code, share)) in codes.iter().enumerate() {
            // As evenly as can be: never more than 9, for there are as many digits.
            let children =
                *count as usize / parents + usize::from(index < *count as usize % parents);
            let weights: Vec<f64> = (0..children).map(|_| log_normal(draws, spread)).collect();
            let sum: f64 = weights.iter().sum();
            // An only child has the digit 0, as in NAICS.
            let first = u32::from(children > 1);
            let digits = first..;
            let child = |(digit, weight): (u32, &f64)| (code * 10 + digit, share * weight / sum);
            next.extend(digits.zip(&weights).map(child));
        }
        codes = next;
    }
    codes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_branch_as_the_profile_says() {
        let all = industries(&mut Draws::new(1));
        assert!((all.iter().map(|i| i.share).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(all.is_sorted_by(|a, b| a.code < b.code));
        for (index, sector) in SECTORS.iter().enumerate() {
            let of_sector: Vec<&Industry> = all.iter().filter(|i| i.sector == index).collect();
            for (digits, count) in (3..=6).zip(sector.codes) {
                let codes: BTreeSet<u32> =
                    of_sector.iter().map(|i| i.code / 10u32.pow(6 - digits)).collect();
                assert_eq!(codes.len(), count as usize, "{} at {digits}", sector.code);
                assert!(of_sector.iter().all(|i| i.code / 10_000 == sector.code));
            }
            let share: f64 = of_sector.iter().map(|i| i.share).sum();
            let mean = of_sector.iter().map(|i| i.share * i.employees).sum::<f64>() / share;
            assert!((mean / sector.employees - 1.0).abs() < 1e-9);
        }
    }
}
