//! The constants of the generator: an economy in a page.
//!
//! They are this repository's own: fitted by hand to tables that statistical agencies publish
//! (shares and means by sector, how establishments spread over counties and industries), rounded,
//! and none of them the number of a cell.

/// A sector: its share of establishments, what they look like, and how its codes branch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sector {
    /// The first two digits of its NAICS codes.
    pub(crate) code: u32,
    /// Its share of all establishments, in ten thousandths.
    pub(crate) share: f64,
    /// Mean number of employees of an establishment.
    pub(crate) employees: f64,
    /// Mean annual pay of an employee, in thousands of dollars.
    pub(crate) pay: f64,
    /// The share of a year's pay that is paid in the first quarter.
    pub(crate) first_quarter: f64,
    /// How many codes of 3, 4, 5 and 6 digits it has.
    pub(crate) codes: [u32; 4],
}

const fn sector(
    code: u32,
    share: f64,
    employees: f64,
    pay: f64,
    first_quarter: f64,
    codes: [u32; 4],
) -> Sector {
    Sector { code, share, employees, pay, first_quarter, codes }
}

/// All sectors, by code.
pub(crate) const SECTORS: [Sector; 24] = [
    sector(11, 118.0, 14.0, 36.0, 0.20, [5, 19, 41, 63]),
    sector(21, 38.0, 20.0, 110.0, 0.30, [3, 5, 10, 29]),
    sector(22, 19.0, 21.0, 103.0, 0.29, [1, 3, 6, 14]),
    sector(23, 836.0, 8.9, 62.0, 0.22, [3, 10, 28, 50]),
    sector(31, 66.0, 26.0, 45.0, 0.24, [6, 22, 47, 73]),
    sector(32, 108.0, 28.0, 67.0, 0.27, [7, 21, 55, 97]),
    sector(33, 201.0, 31.0, 78.0, 0.25, [8, 43, 78, 194]),
    sector(42, 555.0, 11.0, 75.0, 0.25, [3, 19, 71, 71]),
    sector(44, 874.0, 14.0, 33.0, 0.24, [8, 16, 38, 44]),
    sector(45, 307.0, 18.0, 29.0, 0.23, [4, 11, 20, 25]),
    sector(48, 221.0, 16.0, 54.0, 0.25, [8, 25, 35, 50]),
    sector(49, 39.0, 46.0, 47.0, 0.24, [3, 4, 7, 7]),
    sector(51, 151.0, 23.0, 112.0, 0.26, [6, 12, 27, 32]),
    sector(52, 518.0, 12.5, 109.0, 0.32, [5, 11, 31, 41]),
    sector(53, 417.0, 5.6, 58.0, 0.25, [3, 8, 19, 24]),
    sector(54, 1160.0, 8.4, 94.0, 0.24, [1, 9, 34, 47]),
    sector(55, 62.0, 47.0, 120.0, 0.30, [1, 1, 1, 3]),
    sector(56, 532.0, 17.6, 39.0, 0.23, [2, 11, 29, 44]),
    sector(61, 118.0, 29.0, 48.0, 0.24, [1, 7, 12, 17]),
    sector(62, 1655.0, 11.0, 48.0, 0.23, [4, 18, 30, 39]),
    sector(71, 150.0, 15.5, 39.0, 0.20, [3, 9, 23, 25]),
    sector(72, 770.0, 20.0, 20.0, 0.23, [2, 6, 10, 15]),
    sector(81, 917.0, 5.2, 37.0, 0.24, [4, 14, 30, 49]),
    sector(99, 167.0, 1.3, 47.0, 0.21, [1, 1, 1, 1]),
];

/// Standard deviations of the logarithms of the shares of a code's children, for those of 3, 4, 5
/// and 6 digits.
pub(crate) const BRANCHES: [f64; 4] = [1.3, 1.0, 0.9, 0.9];

/// A county at the normal quantile z has a size of e^(slope z + bend z^2).
pub(crate) const COUNTY_SLOPE: f64 = 1.45;
/// See [`COUNTY_SLOPE`].
pub(crate) const COUNTY_BEND: f64 = 0.09;

/// Standard deviation of the logarithm of how much a county specialises in a sector.
pub(crate) const SECTOR_SPREAD: f64 = 0.5;
/// Standard deviation for an industry of six digits, within its sector.
pub(crate) const INDUSTRY_SPREAD: f64 = 0.7;

/// Standard deviation of the logarithm of an industry's mean number of employees, within its
/// sector.
pub(crate) const INDUSTRY_SIZE: f64 = 0.7;
/// Standard deviation for an establishment's number of employees, within its industry.
pub(crate) const ESTABLISHMENT_SIZE: f64 = 1.65;
/// Standard deviation of the logarithm of an establishment's pay per employee, within its sector.
pub(crate) const PAY_SPREAD: f64 = 0.6;
/// Standard deviation for the first quarter's share of its pay.
pub(crate) const QUARTER_SPREAD: f64 = 0.2;

/// The chance that an establishment belongs to a firm of several, with fewer than [`LARGE`]
/// employees.
pub(crate) const SMALL_IN_CHAIN: f64 = 0.15;
/// The share with as many or more.
pub(crate) const LARGE_IN_CHAIN: f64 = 0.5;
/// See [`SMALL_IN_CHAIN`].
pub(crate) const LARGE: i64 = 20;
/// Of these, the share whose firm is of one place: its establishments are near each other.
pub(crate) const LOCAL: f64 = 0.5;
/// Tail index of the number of establishments of local firms; of the others.
pub(crate) const CHAIN_INDEX: [f64; 2] = [2.0, 1.1];
/// No firm has more establishments.
pub(crate) const LONGEST_CHAIN: usize = 3_000;
