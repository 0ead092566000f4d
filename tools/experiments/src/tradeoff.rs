//! Precision of sums against the privacy of large records, over thresholds (PR Figure 2).

use hushtable_noise::Rehearsal;
use hushtable_plot::{Chart, Style};
use hushtable_privacy::Rho;

use crate::distribution::tail;
use crate::figure::{ExperimentError, Figure, columns, digits, logarithmic, series};
use crate::sums::{Setting, Sums};

/// Releases that errors are taken from.
const RELEASES: usize = 20;

/// Shares of all errors, in rising order, with the names of their quantiles.
const QUANTILES: [(f64, &str); 5] = [
    (0.05, "5 and 95 of 100 sums"),
    (0.25, "25 and 75 of 100 sums"),
    (0.5, "median"),
    (0.75, "25 and 75 of 100 sums"),
    (0.95, "5 and 95 of 100 sums"),
];

/// The subjects of a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison<'a> {
    /// The first part of the figures' names.
    pub(crate) name: &'a str,
    /// The quantity that is summed.
    pub(crate) measure: &'a str,
    /// The losses of a record at a threshold: the paper's policy minimum.
    pub(crate) rhos: &'a [&'a str],
    /// Thresholds for errors.
    pub(crate) thresholds: &'a [f64],
    /// Thresholds whose losses are shown, fewer.
    pub(crate) shown: &'a [f64],
}

impl Comparison<'_> {
    /// Both sides of PR Figure 2, for each rho.
    ///
    /// # Errors
    /// When a rho, a threshold or its noise is out of range.
    pub(crate) fn figures(
        &self,
        sums: &Sums,
        noise: &mut Rehearsal,
    ) -> Result<Vec<Figure>, ExperimentError> {
        let mut figures = Vec::new();
        for text in self.rhos {
            let rho: Rho = text.parse()?;
            figures.push(self.errors(sums, text, rho, noise)?);
            figures.push(self.losses(sums, text, rho)?);
        }
        Ok(figures)
    }

    /// Errors by the share of records that lose more than rho (PR Figure 2, left).
    fn errors(
        &self,
        sums: &Sums,
        text: &str,
        rho: Rho,
        noise: &mut Rehearsal,
    ) -> Result<Figure, ExperimentError> {
        let mut rows = Vec::new();
        let mut curves = vec![Vec::new(); QUANTILES.len()];
        let mut clamped_curve = Vec::new();
        for &threshold in self.thresholds {
            let setting = Setting { rho, threshold };
            let above = sums.distribution().share_above(threshold);
            let errors = sums.errors(setting, RELEASES, noise)?;
            let clamped = sums.errors_clamped(setting, RELEASES, noise)?;
            let foreseen = sums.relative_errors_at(0.95, setting);
            let quantiles = QUANTILES.map(|(share, _)| errors.quantile(share));
            for (curve, error) in curves.iter_mut().zip(quantiles) {
                curve.push((above, error));
            }
            clamped_curve.push((above, clamped.quantile(0.5)));
            let mut row = vec![rho.to_f64(), threshold, above];
            row.extend(quantiles);
            row.extend([foreseen.quantile(0.5), clamped.quantile(0.5), clamped.quantile(0.95)]);
            rows.push(row.into_iter().map(digits).collect());
        }
        let mut drawn = Vec::new();
        for ((_, name), points) in QUANTILES.iter().zip(curves) {
            let style = if *name == "median" { Style::Line } else { Style::Dashed };
            drawn.push(series(name, style, points));
        }
        let ends = clamped_curve.iter().map(|(above, _)| *above).filter(|above| *above > 0.0);
        let (low, high) = ends.fold((1.0, 0.0), |(l, h): (f64, f64), x| (l.min(x), h.max(x)));
        drawn.push(series("median, clamped there", Style::Points, clamped_curve));
        for (error, name) in [(0.1, "10 %"), (1.0, "100 %")] {
            drawn.push(series(name, Style::Line, vec![(low, error), (high, error)]));
        }
        let chart = Chart {
            title: format!("Errors of sums of {}, at rho = {text}", self.measure),
            x: logarithmic("share of records that may lose more than rho"),
            y: logarithmic("absolute relative error"),
            series: drawn,
        };
        Ok(Figure {
            name: format!("{}-errors-rho-{}", self.name, text.replace('.', "-")),
            chart,
            columns: columns(&[
                "rho",
                "threshold",
                "share_above_rho",
                "error_5",
                "error_25",
                "error_50",
                "error_75",
                "error_95",
                "query_rel_err_95_median",
                "clamped_error_50",
                "clamped_error_95",
            ]),
            rows,
        })
    }

    /// The shares of records that lose more than an amount (PR Figure 2, right; its complement, as
    /// all that matters is in the tail).
    fn losses(&self, sums: &Sums, text: &str, rho: Rho) -> Result<Figure, ExperimentError> {
        let mut rows = Vec::new();
        let mut drawn = Vec::new();
        for &threshold in self.shown {
            let policy = sums.policy(Setting { rho, threshold })?;
            let (mut split, mut exact) = (Vec::new(), Vec::new());
            for above in tail(sums.records()) {
                let value = sums.distribution().quantile(1.0 - above);
                split.push((policy.split(value), above));
                exact.push((policy.exact(value), above));
                let losses = [policy.split(value), policy.exact(value)];
                let row = [rho.to_f64(), threshold, above, value, losses[0], losses[1]];
                rows.push(row.into_iter().map(digits).collect());
            }
            let name = format!("threshold {}", digits(threshold));
            drawn.push(series(&name, Style::Steps, split));
            drawn.push(series(&name, Style::Dashed, exact));
        }
        let chart = Chart {
            title: format!(
                "Losses by sums of {}, at rho = {text} (steps: by splitting; dashed: exactly)",
                self.measure
            ),
            x: logarithmic("loss in rho"),
            y: logarithmic("share of records that may lose more"),
            series: drawn,
        };
        Ok(Figure {
            name: format!("{}-losses-rho-{}", self.name, text.replace('.', "-")),
            chart,
            columns: columns(&[
                "rho",
                "threshold",
                "share_of_records_above",
                "value",
                "split_policy_loss",
                "exact_policy_loss",
            ]),
            rows,
        })
    }
}
