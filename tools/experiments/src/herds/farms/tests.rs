//! The made-up farms, and the census tables beside the checkout (`../shared/data`), where they are
//! at hand.

use std::collections::BTreeMap;

use hushtable_testkit::real;

use super::*;
use crate::distribution::Distribution;

const WESTERN_STATES: [&str; 14] = [
    "CALIFORNIA",
    "IDAHO",
    "TEXAS",
    "NEW MEXICO",
    "ARIZONA",
    "COLORADO",
    "WASHINGTON",
    "OREGON",
    "KANSAS",
    "UTAH",
    "NEVADA",
    "FLORIDA",
    "SOUTH DAKOTA",
    "GEORGIA",
];

const TRADITIONAL_STATES: [&str; 14] = [
    "WISCONSIN",
    "PENNSYLVANIA",
    "NEW YORK",
    "OHIO",
    "MINNESOTA",
    "MICHIGAN",
    "IOWA",
    "INDIANA",
    "ILLINOIS",
    "VERMONT",
    "MISSOURI",
    "KENTUCKY",
    "VIRGINIA",
    "MARYLAND",
];

/// State, district and county.
type District = [String; 3];

fn region(district: &District) -> Region {
    let state = district[0].as_str();
    if WESTERN_STATES.contains(&state) {
        WESTERN
    } else if TRADITIONAL_STATES.contains(&state) {
        TRADITIONAL
    } else {
        OTHER
    }
}

/// The class of a herd.
fn class(cows: u64) -> usize {
    CLASSES.iter().filter(|least| cows >= **least).count() - 1
}

/// Each row's place, domain category and value, where it was published.
fn census(name: &str) -> Option<Vec<(District, String, Option<u64>)>> {
    let mut reader = csv::Reader::from_path(real(name)?).unwrap();
    let headings = reader.headers().unwrap().clone();
    let column = |name: &str| headings.iter().position(|heading| heading == name).unwrap();
    let places = ["State", "Ag District", "County"].map(column);
    let (category, value) = (column("Domain Category"), column("Value"));
    let rows = reader.records().map(|record| {
        let record = record.unwrap();
        let number: Option<f64> = record[value].trim().replace(',', "").parse().ok();
        let district = places.map(|column| record[column].to_owned());
        (district, record[category].to_owned(), number.map(|number| number as u64))
    });
    Some(rows.collect())
}

/// Farms by class of each county.
fn operations() -> Option<BTreeMap<District, [usize; 7]>> {
    let mut counties: BTreeMap<District, [usize; 7]> = BTreeMap::new();
    for (district, category, farms) in
        census("nass2022_County_Operations_with_Inventory_Cattle_Milk_2022.csv")?
    {
        let least = category.split(['(', ' ']).find_map(|word| word.parse().ok()).unwrap();
        counties.entry(district).or_default()[class(least)] += farms.unwrap() as usize;
    }
    Some(counties)
}

/// A herd for each farm of the table, added up by county.
fn drawn(counties: &BTreeMap<District, [usize; 7]>, seed: u64) -> BTreeMap<District, u64> {
    let mut draws = Draws::new(seed);
    let mut sums = BTreeMap::new();
    for (district, farms) in counties {
        let region = region(district);
        let herds = farms.iter().enumerate().flat_map(|(class, count)| vec![class; *count]);
        sums.insert(district.clone(), herds.map(|class| region.herd(class, &mut draws)).sum());
    }
    sums
}

/// Herds drawn for the table's own farms, class by class, come near the cows that were published
/// for 1,512 counties: all of them together within a tenth, half of the counties within a third,
/// and the logarithms of counties with a correlation above 0.97.
#[test]
fn herds_add_up_to_the_published_inventories() {
    let Some(counties) = operations() else { return };
    let Some(inventory) = census("nass2022_County_Milk_Cow_Inventory_2022.csv") else { return };
    for seed in 1..4 {
        let sums = drawn(&counties, seed);
        let published =
            inventory.iter().filter_map(|(district, _, cows)| Some((district, (*cows)?)));
        let pairs: Vec<(f64, f64)> = published
            .map(|(district, cows)| (sums[district] as f64, cows as f64))
            .filter(|(_, cows)| *cows > 0.0)
            .collect();
        assert!(pairs.len() > 1500, "{}", pairs.len());
        let total = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
        let ratio = total(|pair| pair.0) / total(|pair| pair.1);
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
        let apart = pairs.iter().map(|(sum, cows)| (sum / cows).ln().abs()).collect();
        let median = Distribution::new(apart).quantile(0.5);
        assert!(median < 0.3, "{median}");
        let logarithms: Vec<(f64, f64)> =
            pairs.iter().map(|(sum, cows)| (sum.ln(), cows.ln())).collect();
        let correlation = correlation(&logarithms);
        assert!(correlation > 0.97, "{correlation}");
    }
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let count = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let moment = |of: &dyn Fn(f64, f64) -> f64| {
        pairs.iter().map(|pair| of(pair.0 - x, pair.1 - y)).sum::<f64>()
    };
    moment(&|dx, dy| dx * dy) / (moment(&|dx, _| dx * dx) * moment(&|_, dy| dy * dy)).sqrt()
}

/// The generator's counties are like the table's: shares of the classes within 0.04; farms of a
/// county, and their cows from the upper quartile on, within a factor of 1.6 at every quantile.
/// (The middle county has 2 to 2.5 times the cows: in the table, small counties have fewer than the
/// shape gives them.) The largest hundredth of the counties has 0.25 to 0.34 of all cows, and in
/// the table 0.33.
#[test]
fn counties_are_as_uneven_as_the_tables() {
    let Some(counties) = operations() else { return };
    let real_sums =
        Distribution::new(drawn(&counties, 9).values().map(|cows| *cows as f64).collect());
    let farms_of = |farms: &[usize; 7]| farms.iter().sum::<usize>() as f64;
    let real_farms = Distribution::new(counties.values().map(farms_of).collect());
    for seed in 1..4 {
        let mut made: BTreeMap<[usize; 3], ([usize; 7], u64)> = BTreeMap::new();
        for farm in farms(seed) {
            let county = made.entry([farm.state, farm.district, farm.county]).or_default();
            county.0[class(farm.cows)] += 1;
            county.1 += farm.cows;
        }
        assert!(made.len().abs_diff(counties.len()) < 50, "{} counties", made.len());
        let shares = |tables: Vec<[usize; 7]>| {
            let all: f64 = tables.iter().map(&farms_of).sum();
            [0, 1, 2, 3, 4, 5, 6]
                .map(|class| tables.iter().map(|table| table[class]).sum::<usize>() as f64 / all)
        };
        let real = shares(counties.values().copied().collect());
        let ours = shares(made.values().map(|county| county.0).collect());
        for (real, ours) in real.iter().zip(&ours) {
            assert!((real - ours).abs() < 0.04, "{real}, {ours}");
        }
        let sums = Distribution::new(made.values().map(|county| county.1 as f64).collect());
        let farms = Distribution::new(made.values().map(|county| farms_of(&county.0)).collect());
        for share in [0.5, 0.75, 0.9, 0.95, 0.99] {
            let ratio = farms.quantile(share) / real_farms.quantile(share);
            assert!((1.0 / 1.6..1.6).contains(&ratio), "farms at {share}: {ratio}");
            let ratio = sums.quantile(share) / real_sums.quantile(share);
            let room = if share < 0.75 { 3.0 } else { 1.6 };
            assert!((1.0 / room..room).contains(&ratio), "cows at {share}: {ratio}");
        }
        let top = |sums: &Distribution| {
            let sorted = sums.sorted();
            let largest = sorted.len() - sorted.len() / 100;
            sorted[largest..].iter().sum::<f64>() / sorted.iter().sum::<f64>()
        };
        let ratio = top(&sums) / top(&real_sums);
        assert!((0.6..1.4).contains(&ratio), "{ratio}");
    }
}

#[test]
fn farms_are_in_their_places() {
    let farms = farms(1);
    assert!((35_000..38_000).contains(&farms.len()), "{}", farms.len());
    for farm in &farms {
        assert!((1..=50).contains(&farm.state) && (1..=8).contains(&farm.district));
        assert!((1..=9).contains(&farm.county) && farm.cows >= 1);
    }
    assert_eq!(farms.iter().map(|farm| farm.state).max(), Some(50));
    // A few farms have much of it all.
    let herds = Distribution::new(farms.iter().map(|farm| farm.cows as f64).collect());
    let cows: f64 = herds.sorted().iter().sum();
    let largest: f64 = herds.sorted().iter().rev().take(farms.len() / 100).sum();
    assert!(largest > 0.25 * cows, "{}", largest / cows);
    assert_eq!(super::farms(1), farms);
    assert_ne!(super::farms(2), farms);
}

#[test]
fn herds_stay_in_their_class() {
    let mut draws = Draws::new(1);
    for region in [TRADITIONAL, WESTERN, OTHER] {
        for of in 0..CLASSES.len() {
            let herds: Vec<u64> = (0..1000).map(|_| region.herd(of, &mut draws)).collect();
            assert!(herds.iter().all(|cows| class(*cows) == of), "{of}");
        }
    }
}
