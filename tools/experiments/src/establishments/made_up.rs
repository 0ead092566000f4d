//! Synthetic establishments: made up, in the shape of a real economy.

use std::fmt::Write as _;

use hushtable_privacy::normal_quantile;

use super::industries::{Industry, industries};
use super::laws::{factor, log_normal, shuffle};
use super::profile::{
    CHAIN_INDEX, COUNTY_BEND, COUNTY_SLOPE, ESTABLISHMENT_SIZE, INDUSTRY_SPREAD, LARGE,
    LARGE_IN_CHAIN, LOCAL, LONGEST_CHAIN, PAY_SPREAD, QUARTER_SPREAD, SECTOR_SPREAD, SECTORS,
    SMALL_IN_CHAIN,
};
use crate::Draws;

/// A synthetic establishment: one place of business of a firm. Nothing of it is real, and county
/// and industry codes are numbers without a counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Establishment {
    /// From 1 to the number of counties.
    pub county: u32,
    /// Six digits that branch as NAICS codes do; the first two are those of a sector.
    pub naics: u32,
    /// The firm, from 0 on without gaps.
    pub owner: u32,
    /// In March.
    pub employees: i64,
    /// Thousands of dollars paid in a year, at least 1.
    pub pay: i64,
    /// Thousands of dollars paid in the first quarter, at most `pay`.
    pub pay_quarter: i64,
}

/// How large the synthetic economy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Establishments.
    pub rows: usize,
    /// Counties among which they are.
    pub counties: u32,
}

/// A million establishments in as many counties as the United States and Puerto Rico have.
pub const FULL: Size = Size { rows: 1_000_000, counties: 3_222 };

/// The example's.
pub const EXAMPLE: Size = Size { rows: 20_000, counties: 40 };

/// Synthetic establishments, sorted by county and industry: the same from the same seed, on every
/// machine.
pub fn generate(size: Size, seed: u64) -> Vec<Establishment> {
    let mut draws = Draws::new(seed);
    let industries = industries(&mut draws);
    let mut rows = Vec::with_capacity(size.rows);
    for (county, industry) in places(&mut draws, size, &industries) {
        rows.push(establishment(&mut draws, county, &industries[industry]));
    }
    number_of_establishments(&mut draws, &mut rows);
    rows
}

/// Where each establishment is, as county and place among the industries, in order: independent
/// draws with probabilities that are products of the county's size, the industry's share, and how
/// much the county specialises in the sector and in the industry.
fn places(draws: &mut Draws, size: Size, industries: &[Industry]) -> Vec<(u32, usize)> {
    let mut edges = Vec::with_capacity(size.counties as usize * industries.len());
    let mut sum = 0.0;
    for county in 1..=size.counties {
        let tail = (f64::from(county) - 0.5) / f64::from(size.counties);
        let z = normal_quantile(tail);
        let people = libm::exp(COUNTY_SLOPE * z + COUNTY_BEND * z * z);
        let sectors: Vec<f64> = SECTORS.iter().map(|_| factor(draws, SECTOR_SPREAD)).collect();
        for industry in industries {
            let special = sectors[industry.sector] * factor(draws, INDUSTRY_SPREAD);
            sum += people * industry.share * special;
            edges.push(sum);
        }
    }
    let mut points: Vec<f64> = (0..size.rows).map(|_| sum * draws.uniform()).collect();
    points.sort_unstable_by(f64::total_cmp);
    let mut cell = 0;
    let cell_at = |point: f64| {
        while cell + 1 < edges.len() && edges[cell] < point {
            cell += 1;
        }
        ((cell / industries.len()) as u32 + 1, cell % industries.len())
    };
    points.into_iter().map(cell_at).collect()
}

/// An establishment whose firm is still open.
fn establishment(draws: &mut Draws, county: u32, industry: &Industry) -> Establishment {
    let sector = &SECTORS[industry.sector];
    // Over the year, and so not a whole number.
    let employees = industry.employees * factor(draws, ESTABLISHMENT_SIZE);
    let pay = employees * sector.pay * factor(draws, PAY_SPREAD);
    let quarter = pay * sector.first_quarter * log_normal(draws, QUARTER_SPREAD);
    let pay = pay.round().max(1.0) as i64;
    Establishment {
        county,
        naics: industry.code,
        owner: 0,
        employees: employees.round() as i64,
        pay,
        pay_quarter: (quarter.round() as i64).min(pay),
    }
}

/// Gives every establishment its firm. Most firms have one. The others stay within a sector; those
/// of one place have establishments that are neighbours in the order of counties and industries.
fn number_of_establishments(draws: &mut Draws, rows: &mut [Establishment]) {
    let mut next = 0;
    let mut chains: Vec<[Vec<usize>; 2]> = SECTORS.iter().map(|_| Default::default()).collect();
    for (index, row) in rows.iter_mut().enumerate() {
        let chance = if row.employees < LARGE { SMALL_IN_CHAIN } else { LARGE_IN_CHAIN };
        let sector = SECTORS.iter().position(|s| s.code == row.naics / 10_000);
        match sector {
            Some(sector) if draws.uniform() <= chance => {
                let wide = usize::from(draws.uniform() > LOCAL);
                chains[sector][wide].push(index);
            }
            _ => {
                row.owner = next;
                next += 1;
            }
        }
    }
    for [local, mut wide] in chains {
        shuffle(draws, &mut wide);
        for (members, index) in [local, wide].iter().zip(CHAIN_INDEX) {
            let mut left = members.as_slice();
            while !left.is_empty() {
                let length = (draws.pareto(2.0, index) as usize).clamp(2, LONGEST_CHAIN);
                let (firm, others) = left.split_at(length.min(left.len()));
                for index in firm {
                    rows[*index].owner = next;
                }
                next += 1;
                left = others;
            }
        }
    }
}

/// Establishments as CSV with a heading.
pub fn csv(rows: &[Establishment]) -> String {
    let mut out = String::from("county,naics,owner,employees,pay,pay_quarter\n");
    for row in rows {
        let Establishment { county, naics, owner, employees, pay, pay_quarter } = row;
        let _ = writeln!(out, "{county},{naics},{owner},{employees},{pay},{pay_quarter}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firms_are_mostly_alone_and_some_are_large() {
        let rows = generate(Size { rows: 100_000, counties: 300 }, 1);
        let firms = rows.iter().map(|r| r.owner).max().unwrap() as usize + 1;
        let mut sizes = vec![0; firms];
        for row in &rows {
            sizes[row.owner as usize] += 1;
        }
        assert!(sizes.iter().all(|size| (1..=LONGEST_CHAIN).contains(size)), "no gaps");
        let alone = sizes.iter().filter(|size| **size == 1).count() as f64 / 1e5;
        assert!((0.75..0.85).contains(&alone), "{alone}");
        assert!(sizes.iter().any(|size| *size > 100));
    }

    #[test]
    fn the_same_seed_gives_the_same_rows() {
        let size = Size { rows: 1_000, counties: 10 };
        let (first, again) = (generate(size, 1), generate(size, 1));
        assert_eq!(first, again);
        assert_ne!(first, generate(size, 2));
        let csv = csv(&first);
        assert_eq!(csv.lines().count(), 1_001);
        assert!(csv.starts_with("county,naics,owner,employees,pay,pay_quarter\n"));
        // Of a known seed, so that another machine's rounding would be seen.
        let sum = |value: fn(&Establishment) -> i64| first.iter().map(value).sum::<i64>();
        let sums = (sum(|r| r.employees), sum(|r| r.pay), sum(|r| i64::from(r.owner)));
        assert_eq!(sums, (20_392, 834_124, 491_008));
    }
}
