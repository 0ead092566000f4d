//! Charts of distributions.

use hushtable_plot::{Axis, Chart, Scale, Series, Style};

use crate::distribution::Distribution;
use crate::figure::{logarithmic, series};

/// Words above agencies' methods, in every chart and table that shows them.
pub(super) const NO_GUARANTEE: &str = "no formal guarantee";

/// An axis of numbers that may be zero.
pub(super) fn linear(label: &str) -> Axis {
    Axis { label: label.to_owned(), scale: Scale::Linear, marks: Vec::new() }
}

/// The cumulative distribution as (value, share) at the shares of a figure: 200 steps, and finer
/// ones at the upper end, where the largest are.
pub(super) fn curve(of: &Distribution) -> Vec<(f64, f64)> {
    let steps = (0..=200).map(|step| f64::from(step) / 200.0);
    let mut shares: Vec<f64> = steps.chain([0.999, 0.9999, 0.99999]).collect();
    shares.sort_unstable_by(f64::total_cmp);
    shares.into_iter().map(|share| (of.quantile(share), share)).collect()
}

/// A cumulative distribution over a logarithmic axis. Values below `least` are drawn there (those
/// of zero have no place); those above `most` are not.
pub(super) fn distribution(
    name: &str,
    style: Style,
    curve: &[(f64, f64)],
    [least, most]: [f64; 2],
) -> Series {
    let shown = curve.iter().filter(|(value, _)| *value <= most);
    series(name, style, shown.map(|(value, share)| (value.max(least), *share)).collect())
}

/// A chart of such distributions.
pub(super) fn distributions(title: String, x: &str, y: &str, series: Vec<Series>) -> Chart {
    Chart { title, x: logarithmic(x), y: linear(y), series }
}

/// A vertical line at a budget.
pub(super) fn upright(at: f64) -> Series {
    series(&format!("a budget of rho = {at}"), Style::Upright, vec![(at, 0.0)])
}
