//! The queries of PR Table 5, answered together.

use hushtable_noise::{Dyadic, Law, Rehearsal, RoundedGaussian};
use hushtable_plot::{Axis, Chart, Scale, Style};
use hushtable_privacy::{PolicyTerm, RecordPolicy, Rho};

use super::{Farm, groupings};
use crate::distribution::{Distribution, tail};
use crate::figure::{ExperimentError, Figure, columns, digits, logarithmic, series};
use crate::sums::{Setting, Sums};

/// The loss of a farm at the threshold by all four queries.
const RHO: &str = "1";

/// Splitting thresholds, in cows.
const THRESHOLDS: [f64; 3] = [200.0, 1000.0, 5000.0];

/// The threshold that is drawn.
const DRAWN: f64 = 1000.0;

/// Quarters that the sums of cows have of the rho; the averages of rents have the others.
const ALLOCATIONS: [u64; 3] = [1, 2, 3];

/// The allocation that is drawn: every query the same.
const EQUAL: u64 = 2;

/// Rents are clamped here: 100 dollars, in cents.
const MOST_RENT: u64 = 10_000;

/// Releases that errors are taken from.
const RELEASES: usize = 20;

/// How the four queries are answered.
#[derive(Clone, Copy, Debug)]
struct Workload {
    threshold: f64,
    /// Of each sum of cows.
    sum: Rho,
    /// Of each sum of rents, and of each count for their average.
    rent: Rho,
}

impl Workload {
    fn new(threshold: f64, quarters: u64) -> Result<Self, ExperimentError> {
        let quarter = RHO.parse::<Rho>()?.share(4);
        // Two queries share this number of quarters.
        let of = |quarters: u64, shares: u64| {
            quarter.checked_mul(quarters).unwrap_or(Rho::ZERO).share(shares)
        };
        Ok(Self { threshold, sum: of(quarters, 2), rent: of(4 - quarters, 4) })
    }

    /// The loss of a farm by all queries, as a function of its cows.
    fn policy(&self) -> Result<RecordPolicy, ExperimentError> {
        let constant = self.rent.checked_mul(4).unwrap_or(Rho::ZERO);
        let term = PolicyTerm::new(self.sum, self.threshold)?;
        Ok(RecordPolicy::new(constant, vec![term; 2]))
    }

    /// The realised loss of a farm: rents move their sums by less than the bound.
    fn realised(&self, farm: &Farm) -> f64 {
        let rent = farm.rent.min(MOST_RENT) as f64 / MOST_RENT as f64;
        let cows = farm.cows as f64 / self.threshold;
        2.0 * (self.sum.to_f64() * cows * cows + self.rent.to_f64() * (1.0 + rent * rent))
    }
}

/// Relative errors of averages of rents over one grouping: a noisy sum over a noisy count, and none
/// where the count is not above zero.
fn average_errors(
    farms: &[Farm],
    grouping: &[usize],
    rho: Rho,
    noise: &mut Rehearsal,
) -> Result<Distribution, ExperimentError> {
    let groups = grouping.iter().max().map_or(0, |most| most + 1);
    // Of each group: farms, their rents, and their rents as they are clamped.
    let mut exact = vec![[0i128; 3]; groups];
    for (farm, &group) in farms.iter().zip(grouping) {
        exact[group][0] += 1;
        exact[group][1] += i128::from(farm.rent);
        exact[group][2] += i128::from(farm.rent.min(MOST_RENT));
    }
    let deviation = |sensitivity: u64| sensitivity as f64 / (2.0 * rho.to_f64()).sqrt();
    let of_rents = RoundedGaussian::new(Dyadic::at_least(deviation(MOST_RENT))?);
    let of_counts = RoundedGaussian::new(Dyadic::at_least(deviation(1))?);
    let (mut rent_noise, mut count_noise) = (vec![0; groups], vec![0; groups]);
    let mut errors = Vec::new();
    for _ in 0..RELEASES {
        of_rents.rehearse(noise, &mut rent_noise)?;
        of_counts.rehearse(noise, &mut count_noise)?;
        let noisy = rent_noise.iter().zip(&count_noise);
        for ([count, rents, clamped], (of_rents, of_counts)) in exact.iter().zip(noisy) {
            if *count == 0 {
                continue;
            }
            let released = count + of_counts;
            let truth = *rents as f64 / *count as f64;
            let average = (clamped + of_rents) as f64 / released as f64;
            errors.push(if released > 0 { (average - truth).abs() / truth } else { f64::INFINITY });
        }
    }
    Ok(Distribution::new(errors))
}

/// Distribution of the four queries, and what farms lose by them.
pub(super) fn figures(
    farms: &[Farm],
    noise: &mut Rehearsal,
) -> Result<Vec<Figure>, ExperimentError> {
    Ok(vec![errors(farms, noise)?, losses(farms)?])
}

fn errors(farms: &[Farm], noise: &mut Rehearsal) -> Result<Figure, ExperimentError> {
    let groupings = groupings(farms);
    let mut rows = Vec::new();
    let mut curves = Vec::new();
    for quarters in ALLOCATIONS {
        for threshold in THRESHOLDS {
            let workload = Workload::new(threshold, quarters)?;
            for (geography_column, geography) in groupings.iter().zip(["state", "state x district"])
            {
                let cows = farms.iter().map(|farm| farm.cows).collect();
                let sums = Sums::new(1.0, cows, vec![geography_column.clone()]);
                let setting = Setting { rho: workload.sum, threshold };
                let sum = sums.errors(setting, RELEASES, noise)?;
                let average = average_errors(farms, geography_column, workload.rent, noise)?;
                for (query, errors) in [("SUM(cows)", sum), ("AVG(rent)", average)] {
                    let mut row = vec![geography.to_owned(), query.to_owned()];
                    row.push(digits(quarters as f64 / 4.0));
                    row.push(digits(threshold));
                    row.extend([0.05, 0.25, 0.5, 0.75, 0.95].map(|q| digits(errors.quantile(q))));
                    rows.push(row);
                    if (quarters, threshold) == (EQUAL, DRAWN) {
                        let shares = (1..100).map(|percent| f64::from(percent) / 100.0);
                        let points = shares.map(|share| (errors.quantile(share), share)).collect();
                        let style = if geography == "state" { Style::Line } else { Style::Dashed };
                        curves.push(series(&format!("{query} by {geography}"), style, points));
                    }
                }
            }
        }
    }
    Ok(Figure {
        name: "herds-queries-errors".to_owned(),
        chart: Chart {
            title: format!("Four queries at rho = {RHO}, shared equally; threshold {DRAWN} cows"),
            x: logarithmic("absolute relative error"),
            y: Axis {
                label: "share of answers within".to_owned(),
                scale: Scale::Linear,
                marks: Vec::new(),
            },
            series: curves,
        },
        columns: columns(&[
            "geography",
            "query",
            "share_of_sums",
            "threshold",
            "error_5",
            "error_25",
            "error_50",
            "error_75",
            "error_95",
        ]),
        rows,
    })
}

fn losses(farms: &[Farm]) -> Result<Figure, ExperimentError> {
    let mut rows = Vec::new();
    let mut curves = Vec::new();
    for threshold in THRESHOLDS {
        let workload = Workload::new(threshold, EQUAL)?;
        let policy = workload.policy()?;
        let of = |loss: &dyn Fn(&Farm) -> f64| Distribution::new(farms.iter().map(loss).collect());
        let split = of(&|farm| policy.split(&[farm.cows as f64; 2]));
        let exact = of(&|farm| policy.exact(&[farm.cows as f64; 2]));
        let realised = of(&|farm| workload.realised(farm));
        for above in tail(farms.len()) {
            let losses = [&split, &exact, &realised].map(|losses| losses.quantile(1.0 - above));
            let mut row = vec![digits(threshold), digits(above)];
            row.extend(losses.map(digits));
            rows.push(row);
        }
        if threshold == DRAWN {
            for (name, style, losses) in [
                ("policy by splitting", Style::Steps, split),
                ("exact policy", Style::Dashed, exact),
                ("realised", Style::Line, realised),
            ] {
                let points = tail(farms.len()).map(|above| (losses.quantile(1.0 - above), above));
                curves.push(series(name, style, points.collect()));
            }
        }
    }
    Ok(Figure {
        name: "herds-queries-losses".to_owned(),
        chart: Chart {
            title: format!("What farms lose by all four queries; threshold {DRAWN} cows"),
            x: logarithmic("loss in rho"),
            y: logarithmic("share of farms that lose more"),
            series: curves,
        },
        columns: columns(&[
            "threshold",
            "share_of_farms_above",
            "split_policy_loss",
            "exact_policy_loss",
            "realised_loss",
        ]),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the threshold, a farm loses all of the rho, however it is shared; and a farm with the
    /// highest rent loses in fact what the policy says.
    #[test]
    fn queries_share_the_rho() {
        for quarters in ALLOCATIONS {
            let workload = Workload::new(500.0, quarters).unwrap();
            let policy = workload.policy().unwrap();
            for (cows, loss) in [(500, 1.0), (1000, 1.0 + 3.0 * quarters as f64 / 4.0)] {
                let farm = Farm { state: 1, district: 1, county: 1, cows, rent: 2 * MOST_RENT };
                assert!((policy.exact(&[cows as f64; 2]) - loss).abs() < 1e-9);
                assert!((workload.realised(&farm) - loss).abs() < 1e-9);
            }
        }
    }

    /// With hardly any noise, averages are exact except for the clamping: 10, and 100 in place of
    /// 110.
    #[test]
    fn averages_are_clamped_rents_over_farms() {
        let farm = |state, rent| Farm { state, district: 1, county: 1, cows: 1, rent };
        let farms = [farm(1, 500), farm(1, 1500), farm(2, 11_000), farm(4, 1000)];
        let grouping = &groupings(&farms)[0];
        let rho = "1000000".parse().unwrap();
        let errors = average_errors(&farms, grouping, rho, &mut Rehearsal::new(1)).unwrap();
        // Noise of 7 cents is left, on averages of 1000 and more; a state without farms has no
        // answer.
        assert_eq!(errors.sorted().len(), 3 * RELEASES);
        assert!(errors.quantile(0.5) < 0.02 && errors.quantile(0.6) < 0.04);
        assert!((errors.quantile(0.9) - 1.0 / 11.0).abs() < 0.005);
    }
}
