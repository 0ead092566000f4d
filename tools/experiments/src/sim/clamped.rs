//! Sums that are clamped, and have Gaussian noise that hides any record (PR Figure 1).

use hushtable_numbers::search::valley;
use hushtable_plot::{Chart, Style};

use crate::figure::{Figure, columns, digits, logarithmic, series};

/// Records in a sum, as in PR Figure 1.
const RECORDS: f64 = 1000.0;

/// The rhos that are compared.
const RHOS: [f64; 3] = [0.1, 1.0, 10.0];

/// A sum of independent Pareto values of scale 1, each clamped to `bound`, with Gaussian noise of
/// variance bound^2 / (2 rho), as an estimate of the sum's expected value.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClampedSum {
    /// The tail index of the values, above 1.
    pub(super) index: f64,
    /// The loss of every record.
    pub(super) rho: f64,
    /// Where values are clamped, at least 1.
    pub(super) bound: f64,
}

impl ClampedSum {
    /// The expected value of the sum without clamping.
    pub(super) fn expected(&self) -> f64 {
        RECORDS * self.index / (self.index - 1.0)
    }

    /// The bias by clamping: E\[(X - b)+\] = b^(1-a) / (a-1) a record.
    fn bias(&self) -> f64 {
        RECORDS * self.bound.powf(1.0 - self.index) / (self.index - 1.0)
    }

    /// The variance of the clamped sum, without noise.
    fn spread(&self) -> f64 {
        let mean = (self.expected() - self.bias()) / RECORDS;
        // E[min(X, b)^2] = 1 + the integral of 2x x^-a from 1 to b; at a = 2 a logarithm.
        let power = 2.0 - self.index;
        let tail =
            if power == 0.0 { self.bound.ln() } else { (self.bound.powf(power) - 1.0) / power };
        RECORDS * (1.0 + 2.0 * tail - mean * mean)
    }

    /// The variance of the noise.
    fn noise(&self) -> f64 {
        self.bound * self.bound / (2.0 * self.rho)
    }

    /// The mean squared error: bias^2 and the two variances.
    pub(super) fn squared_error(&self) -> f64 {
        let bias = self.bias();
        bias * bias + self.spread() + self.noise()
    }

    /// The bound with the least squared error, by golden section of its logarithm: the error falls
    /// and then rises.
    pub(super) fn best(index: f64, rho: f64) -> Self {
        let at = |exponent: f64| Self { index, rho, bound: exponent.exp() };
        at(valley(0.0, 40.0, |exponent| at(exponent).squared_error()))
    }
}

/// PR Figure 1 for one tail index.
pub(super) fn figure(variable: &str, index: f64) -> Figure {
    let row = |what: &str, sum: ClampedSum| {
        let (squared, expected) = (sum.squared_error(), sum.expected());
        let numbers = [
            sum.rho,
            sum.bound,
            squared / expected,
            squared.sqrt() / expected,
            sum.bias() / expected,
            sum.noise().sqrt() / expected,
        ];
        let mut row = vec![what.to_owned()];
        row.extend(numbers.map(digits));
        row
    };
    let squared = |sum: &ClampedSum| (sum.bound, sum.squared_error() / sum.expected());
    let root = |sum: &ClampedSum| (sum.bound, sum.squared_error().sqrt() / sum.expected());
    let mut rows = Vec::new();
    let mut curves = Vec::new();
    for rho in RHOS {
        // Bounds of 1 to 10^6, eight a decade.
        let bounds = (0..=48).map(|step| 10f64.powf(f64::from(step) / 8.0));
        let sums: Vec<ClampedSum> = bounds.map(|bound| ClampedSum { index, rho, bound }).collect();
        let best = ClampedSum::best(index, rho);
        rows.extend(sums.iter().map(|sum| row("curve", *sum)));
        rows.push(row("best", best));
        let name = format!("rho = {rho}");
        curves.push(series(&name, Style::Line, sums.iter().map(squared).collect()));
        curves.push(series(&name, Style::Dashed, sums.iter().map(root).collect()));
        curves.push(series(&name, Style::Points, vec![squared(&best), root(&best)]));
    }
    let as_large = "an error as large as the sum";
    curves.push(series(as_large, Style::Level, vec![(1.0, 1.0)]));
    let title = format!(
        "Clamped sums of {RECORDS} Pareto({index}) values: MSE (dashed: \
         its root) over the expected sum"
    );
    Figure {
        name: format!("sim-clamped-{variable}"),
        chart: Chart {
            title,
            x: logarithmic("clamping bound; dots: the best"),
            y: logarithmic("error over expected sum"),
            series: curves,
        },
        columns: columns(&[
            "what",
            "rho",
            "bound",
            "mse_over_expected",
            "rmse_over_expected",
            "bias_over_expected",
            "noise_sd_over_expected",
        ]),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Draws;

    /// Mean and variance of clamped Paretos against a million draws. Values up to 50 have a
    /// variance of at most 150 (a = 1.2); six standard errors of the mean are then 0.07, and the
    /// fourth moment of such values keeps the variance within 3 %.
    #[test]
    fn bias_and_spread_are_those_of_draws() {
        for index in [1.2, 1.5, 2.0] {
            let sum = ClampedSum { index, rho: 1.0, bound: 50.0 };
            let mut draws = Draws::new(2);
            let values: Vec<f64> =
                (0..1_000_000).map(|_| draws.pareto(1.0, index).min(50.0)).collect();
            let mean = values.iter().sum::<f64>() / 1e6;
            let spread = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1e6;
            let expected = (sum.expected() - sum.bias()) / RECORDS;
            assert!((mean - expected).abs() < 0.07, "{index}: {mean}, {expected}");
            assert!((spread / (sum.spread() / RECORDS) - 1.0).abs() < 0.03, "{index}: {spread}");
        }
    }

    /// PR 6.2: the best bound rises with rho and with heavier tails, and the paper's ratio, MSE
    /// over the expected value, is far above one even there.
    #[test]
    fn the_best_bounds_move_as_the_paper_says() {
        let mut last = [0.0; 2];
        for rho in RHOS {
            let best = [1.2, 1.5].map(|index| ClampedSum::best(index, rho));
            assert!(best[0].bound > best[1].bound);
            for (best, last) in best.iter().zip(&mut last) {
                assert!(best.bound > *last);
                *last = best.bound;
                assert!(best.squared_error() > 10.0 * best.expected(), "{best:?}");
                for factor in [0.9, 1.1] {
                    let other = ClampedSum { bound: best.bound * factor, ..*best };
                    assert!(other.squared_error() > best.squared_error());
                }
            }
        }
    }
}
