//! The cells of the workload: county x NAICS at every number of digits (PR Table 6).

use std::ops::Range;

use super::made_up::Establishment;

/// The digits of NAICS codes, coarse to fine. Every establishment is in one cell of each.
pub(super) const LEVELS: [u32; 5] = [2, 3, 4, 5, 6];

/// The measures of every cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// ESTAB: establishments.
    Establishments,
    /// EMP: employees.
    Employees,
    /// PAYANN: annual pay, in thousands of dollars.
    Pay,
    /// PAYQTR1: first-quarter pay, in thousands of dollars.
    PayQuarter,
}

/// All that is measured.
pub(super) const MEASURES: [Measure; 4] =
    [Measure::Establishments, Measure::Employees, Measure::Pay, Measure::PayQuarter];

/// The measures that are sums of sizes.
pub(super) const SIZES: [Measure; 3] = [Measure::Employees, Measure::Pay, Measure::PayQuarter];

impl Measure {
    /// Its name in PR Table 6.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Establishments => "ESTAB",
            Self::Employees => "EMP",
            Self::Pay => "PAYANN",
            Self::PayQuarter => "PAYQTR1",
        }
    }

    /// The contribution of an establishment.
    pub(super) fn of(self, row: &Establishment) -> i64 {
        match self {
            Self::Establishments => 1,
            Self::Employees => row.employees,
            Self::Pay => row.pay,
            Self::PayQuarter => row.pay_quarter,
        }
    }
}

/// The sizes of an establishment, in the order of [`SIZES`].
pub(super) fn sizes(row: &Establishment) -> [i64; 3] {
    SIZES.map(|measure| measure.of(row))
}

/// The first `digits` digits of a code of six.
pub(super) fn code_at(naics: u32, digits: u32) -> u32 {
    naics / 10u32.pow(6 - digits)
}

/// A cell with at least one establishment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// Digits of its code.
    pub(super) level: u32,
    /// Its establishments' places.
    pub(super) rows: Range<usize>,
}

impl Cell {
    /// The sum of what its establishments add.
    pub(super) fn total(
        &self,
        rows: &[Establishment],
        value: impl Fn(&Establishment) -> i64,
    ) -> i64 {
        rows[self.rows.clone()].iter().map(value).sum()
    }
}

/// The cells of one level, in order. Rows are sorted by county and code.
pub(super) fn cells(rows: &[Establishment], level: u32) -> Vec<Cell> {
    let mut start = 0;
    let same = |a: &Establishment, b: &Establishment| {
        a.county == b.county && code_at(a.naics, level) == code_at(b.naics, level)
    };
    let cell = |run: &[Establishment]| {
        let rows = start..start + run.len();
        start = rows.end;
        Cell { level, rows }
    };
    rows.chunk_by(same).map(cell).collect()
}

/// The queries that are judged: cells of at least that many establishments, of every level, coarse
/// to fine.
pub(super) fn judged(rows: &[Establishment], least: usize) -> Vec<Cell> {
    let at = |level: u32| cells(rows, level).into_iter().filter(|cell| cell.rows.len() >= least);
    LEVELS.into_iter().flat_map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{Size, generate};
    use super::*;

    #[test]
    fn every_row_is_in_one_cell_of_each_level() {
        let rows = generate(Size { rows: 5_000, counties: 20 }, 1);
        assert!(rows.is_sorted_by_key(|r| (r.county, r.naics)));
        let mut before = 0;
        for level in LEVELS {
            let cells = cells(&rows, level);
            assert!(cells.len() > before, "finer levels have more cells");
            before = cells.len();
            assert_eq!(cells.iter().map(|c| c.rows.len()).sum::<usize>(), rows.len());
            assert!(cells.windows(2).all(|pair| pair[0].rows.end == pair[1].rows.start));
            for measure in MEASURES {
                let whole: i64 = rows.iter().map(|row| measure.of(row)).sum();
                let added_up: i64 = cells.iter().map(|c| c.total(&rows, |r| measure.of(r))).sum();
                assert_eq!(whole, added_up);
            }
        }
    }
}
