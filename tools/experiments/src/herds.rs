//! Herds: milk cows of farms by state and district (PR Table 5, Figure 2 b).
//!
//! The paper's records are counties, with all cattle; here they are made-up farms with milk cows
//! ([`farms`]), as a farm is whom a census protects. The queries are the paper's: sums of cows with
//! per-record privacy, and averages of pasture rents with noise that hides any farm, for every
//! state and every district of a state. All states and districts are known beforehand.

mod farms;
mod table5;

use hushtable_noise::Rehearsal;

pub use farms::{Farm, csv, farms};

use crate::sums::Sums;
use crate::tradeoff::Comparison;
use crate::{ExperimentError, Figure};

/// PR Figure 2 b, and the queries of Table 5 at one setting.
///
/// # Errors
/// None in fact.
pub fn figures(seed: u64) -> Result<Vec<Figure>, ExperimentError> {
    let mut noise = Rehearsal::new(seed);
    let farms = farms(seed);
    // Four thresholds a decade, from 32 to 100,000 cows.
    let thresholds: Vec<f64> = (6..=20).map(|step| 10f64.powf(f64::from(step) / 4.0)).collect();
    let comparison = Comparison {
        name: "herds",
        measure: "cows",
        rhos: &["0.1", "1", "10"],
        thresholds: &thresholds,
        shown: &[200.0, 1000.0, 5000.0],
    };
    let cows = farms.iter().map(|farm| farm.cows).collect();
    let sums = Sums::new(1.0, cows, groupings(&farms));
    let mut figures = comparison.figures(&sums, &mut noise)?;
    figures.extend(table5::figures(&farms, &mut noise)?);
    Ok(figures)
}

/// The state of each farm, and the district of a state.
fn groupings(farms: &[Farm]) -> Vec<Vec<usize>> {
    let most = farms.iter().map(|farm| farm.district).max().unwrap_or(0);
    let state = |farm: &Farm| farm.state - 1;
    let district = |farm: &Farm| (farm.state - 1) * most + farm.district - 1;
    vec![farms.iter().map(state).collect(), farms.iter().map(district).collect()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::Setting;

    fn numbers(row: &[String]) -> Vec<f64> {
        row.iter().filter_map(|text| text.parse().ok()).collect()
    }

    #[test]
    fn figures_are_complete_and_losses_in_order() {
        let figures = figures(1).unwrap();
        assert_eq!(figures.len(), 8);
        for figure in &figures {
            assert!(figure.rows.iter().all(|row| row.len() == figure.columns.len()));
        }
        let losses = figures.last().unwrap();
        assert_eq!(losses.name, "herds-queries-losses");
        for row in &losses.rows {
            let [.., split, exact, realised] = numbers(row)[..] else { panic!("{row:?}") };
            assert!(realised <= exact && exact <= split, "{row:?}");
            // The averages cost every farm half of the rho, and splitting never costs less than
            // all.
            assert!(split >= 1.0 && exact >= 0.5, "{row:?}");
        }
    }

    /// The paper's words on PR Figure 2 b hold: far below the best clamping, at a cost to few
    /// records. The margins are those of three seeds.
    #[test]
    fn a_few_large_farms_pay_for_precision() {
        for seed in 1..4 {
            let farms = farms(seed);
            let cows = farms.iter().map(|farm| farm.cows).collect();
            let sums = Sums::new(1.0, cows, groupings(&farms));
            let mut noise = Rehearsal::new(seed);
            let rho = "1".parse().unwrap();
            let setting = Setting { rho, threshold: 1800.0 };
            let median = sums.errors(setting, 10, &mut noise).unwrap().quantile(0.5);
            let above = sums.distribution().share_above(setting.threshold);
            assert!((0.06..0.14).contains(&median), "{median}");
            assert!((0.02..0.04).contains(&above), "{above}");
            for threshold in [100.0, 1000.0, 2000.0, 10_000.0] {
                let bound = Setting { rho, threshold };
                let clamped = sums.errors_clamped(bound, 10, &mut noise).unwrap().quantile(0.5);
                assert!(clamped > 2.0 * median, "{threshold}: {clamped}");
            }
        }
    }
}
