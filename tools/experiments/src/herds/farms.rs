//! Made-up dairy farms, in the shape of the Census of Agriculture of 2022.
//!
//! The constants were fitted to two tables of the United States Department of Agriculture for 2022:
//! farms with milk cows by county and size of herd, and milk cows by county. Neither is here; a
//! test compares them where they are at hand. States, districts and counties are numbers, and no
//! farm is anybody's.

use std::fmt::Write as _;

use crate::Draws;

/// A farm with milk cows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Farm {
    /// From 1 to 50.
    pub state: usize,
    /// The agricultural district within the state, from 1 up.
    pub district: usize,
    /// The county within the district, from 1 up.
    pub county: usize,
    /// Milk cows, at least 1.
    pub cows: u64,
    /// The rent of an acre of pasture for a year, in cents. Fitted to nothing: the paper has county
    /// averages of its own.
    pub rent: u64,
}

/// A kind of states, with constants fitted to the states named.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    states: usize,
    /// In each state.
    districts: usize,
    /// In each district.
    counties: usize,
    /// In all.
    farms: f64,
    /// Standard deviations of the logarithm of a county's number of farms: of the state's part of
    /// it, the district's and the county's own.
    spread: [f64; 3],
    /// Shares of the size classes from 10 cows up among the farms that have 10, in thousandths.
    shares: [f64; 6],
    /// Standard deviation of a county's lean to larger classes, in natural logarithms a class.
    lean: f64,
    /// How much the lean grows with the logarithm of its number of farms.
    growth: f64,
    /// Mean herd of the largest class.
    large: f64,
}

/// Wisconsin, Pennsylvania, New York, Ohio, Minnesota, Michigan, Iowa, Indiana, Illinois, Vermont,
/// Missouri, Kentucky, Virginia, Maryland.
pub(super) const TRADITIONAL: Region = Region {
    states: 14,
    districts: 8,
    counties: 9,
    farms: 26_370.0,
    spread: [0.73, 0.68, 1.0],
    shares: [60.0, 194.0, 300.0, 192.0, 162.0, 92.0],
    lean: 0.2,
    growth: 0.0,
    large: 1_268.0,
};

/// California, Idaho, Texas, New Mexico, Arizona, Colorado, Washington, Oregon, Kansas, Utah,
/// Nevada, Florida, South Dakota, Georgia.
pub(super) const WESTERN: Region = Region {
    states: 14,
    districts: 6,
    counties: 8,
    farms: 5_747.0,
    spread: [0.48, 0.77, 0.86],
    shares: [85.0, 75.0, 66.0, 94.0, 170.0, 510.0],
    lean: 0.6,
    growth: 0.3,
    large: 2_760.0,
};

/// All others.
pub(super) const OTHER: Region = Region {
    states: 22,
    districts: 5,
    counties: 6,
    farms: 3_907.0,
    spread: [0.58, 0.25, 0.77],
    shares: [158.0, 195.0, 195.0, 227.0, 149.0, 76.0],
    lean: 0.4,
    growth: 0.0,
    large: 1_102.0,
};

/// The size classes of the census: the least herd of each.
pub(super) const CLASSES: [u64; 7] = [1, 10, 20, 50, 100, 200, 500];

/// Of a county's n farms, on average 0.35 + 0.65 n / (n + 60) have 10 cows or more: where there are
/// many farms, few are hobbies.
const FEW: (f64, f64) = (0.35, 60.0);

/// The standard deviation of the logarithm of what a herd of the largest class has above 500.
const LARGE_SPREAD: f64 = 1.25;

impl Region {
    /// A herd of a size class, from 0 to 6. Within a class, sizes thin out as the inverse square;
    /// above 500 the rest is lognormal.
    pub(super) fn herd(&self, class: usize, draws: &mut Draws) -> u64 {
        let least = CLASSES[class] as f64;
        match CLASSES.get(class + 1) {
            Some(next) => {
                let u = draws.uniform();
                ((1.0 / (u / least + (1.0 - u) / *next as f64)) as u64).min(next - 1)
            }
            None => {
                let mean = libm::log(self.large - least) - 0.5 * LARGE_SPREAD * LARGE_SPREAD;
                (least + libm::exp(mean + LARGE_SPREAD * draws.normal())) as u64
            }
        }
    }

    /// How many farms each county has, by state, district and county: shares of all, at least one
    /// each.
    fn counties(&self, draws: &mut Draws) -> Vec<([usize; 3], usize)> {
        let mut weights = Vec::new();
        for state in 0..self.states {
            let of_state = self.spread[0] * draws.normal();
            for district in 0..self.districts {
                let of_district = of_state + self.spread[1] * draws.normal();
                for county in 0..self.counties {
                    let weight = libm::exp(of_district + self.spread[2] * draws.normal());
                    weights.push(([state, district, county], weight));
                }
            }
        }
        let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let farms = |weight: f64| (self.farms * weight / sum).round().max(1.0) as usize;
        weights.into_iter().map(|(district, weight)| (district, farms(weight))).collect()
    }

    /// Weights of the size classes in a county of that many farms.
    fn classes(&self, farms: usize, draws: &mut Draws) -> [f64; 7] {
        let farms = farms as f64;
        let mean = self.farms / (self.states * self.districts * self.counties) as f64;
        let lean = self.lean * draws.normal() + self.growth * libm::log(farms / mean);
        let (least, many) = FEW;
        let ten_or_more = least + (1.0 - least) * farms / (farms + many);
        let mut weights = [1.0 - ten_or_more; 7];
        for (class, share) in self.shares.iter().enumerate() {
            weights[class + 1] = share * libm::exp(lean * class as f64);
        }
        let sum: f64 = weights[1..].iter().sum();
        weights[1..].iter_mut().for_each(|weight| *weight *= ten_or_more / sum);
        weights
    }
}

/// All farms of this seed, some 36,000.
pub fn farms(seed: u64) -> Vec<Farm> {
    let mut draws = Draws::new(seed);
    let mut farms = Vec::new();
    let mut first = 1;
    for region in [TRADITIONAL, WESTERN, OTHER] {
        // A state's usual rent is between 10 and 60 dollars.
        let rents: Vec<f64> =
            (0..region.states).map(|_| 1000.0 + 5000.0 * draws.uniform()).collect();
        for ([state, district, county], count) in region.counties(&mut draws) {
            let classes = region.classes(count, &mut draws);
            for _ in 0..count {
                let class = draws.index(&classes);
                let cows = region.herd(class, &mut draws);
                let rent = rents[state] * libm::exp(0.4 * draws.normal());
                farms.push(Farm {
                    state: first + state,
                    district: district + 1,
                    county: county + 1,
                    cows,
                    rent: rent.round() as u64,
                });
            }
        }
        first += region.states;
    }
    farms
}

/// All farms of this seed as a CSV file.
pub fn csv(seed: u64) -> String {
    let mut text = String::from("state,district,county,cows,rent\n");
    for Farm { state, district, county, cows, rent } in farms(seed) {
        // Writing to text does not fail.
        let _ = writeln!(
            text,
            "S{state:02},{district},{county},{cows},{}.{:02}",
            rent / 100,
            rent % 100
        );
    }
    text
}

#[cfg(test)]
mod tests;
