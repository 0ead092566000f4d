//! Statistics by which an attacker who knows both tables judges an output.

use std::sync::Arc;

use hushtable_mechanisms::{
    AdditiveLaw, JointQuantiles, PerRecord, Quantile, Strategy, SumMechanism, TiedRole, ValueSpan,
};
use hushtable_quote::{Joint, Noise, QuantileReach, Quote, TiedMeasurement};

use super::pair::{Differing, RunOutput};

/// The log of a likelihood ratio that stands for certainty: more than noise could give.
const CERTAIN: f64 = 1e3;

/// A number computed from an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statistic {
    /// How many groups appear that only that table has, or has shown so far.
    OnlyIn(usize),
    /// How many of the groups that differ appear.
    Appearing,
    /// The log-likelihood ratio of everything that is shown, for the first table against the
    /// second.
    Everything,
    /// The log-likelihood ratio of the noisy values of one measurement.
    Values(usize),
    /// The largest difference of a noisy value of a measurement from the exact one; of a quantile,
    /// the largest value.
    Largest(usize),
    /// The smallest such difference.
    Smallest(usize),
}

/// The noise that a measurement is meant to have.
#[derive(Clone, Debug)]
enum NominalNoise {
    /// Laplace of scale b.
    Laplace(f64),
    /// Gaussian of standard deviation sigma.
    Gaussian(f64),
    /// Noise of another mechanism for sums that are not clamped.
    PerRecord(Box<PerRecord>),
    /// A draw near a quantile.
    Quantile(Box<Quantile>),
    /// A draw near a quantile together with others, as if the others were not known.
    Joint { draws: Arc<JointQuantiles>, nth: usize },
    /// How far the interval around a quantile reaches.
    Reach(QuantileReach),
    /// The noise of a sum that is measured from all ends of its span, with the indexes of the count
    /// of rows and, where they may have no value, of that of values. The ends follow from what is
    /// released.
    Ends { count: usize, values: Option<usize>, span: ValueSpan, noise: Box<NominalNoise> },
}

impl NominalNoise {
    /// ln of the densities' ratio at `y` for additive noise around two numbers, the first against
    /// the second.
    fn of_shift(&self, y: i128, [first, second]: [i128; 2]) -> Option<f64> {
        let far = |s: i128| y.saturating_sub(s) as f64;
        match self {
            Self::Laplace(scale) => Some((far(second).abs() - far(first).abs()) / scale),
            Self::Gaussian(sigma) => {
                let (far, near) = (far(second) / sigma, far(first) / sigma);
                Some(0.5 * (far - near) * (far + near))
            }
            _ => None,
        }
    }

    /// ln of the densities' ratio of what is released, of each measurement, for a measurement of a
    /// group, in the first table against the second; except for a number that is the same for all.
    fn log_ratio(
        &self,
        released: impl Fn(usize) -> Option<i128>,
        m: usize,
        group: &Differing,
    ) -> Option<f64> {
        let &[first, second] = group.sums.get(m)?;
        let y = released(m)?;
        Some(match self {
            Self::Laplace(_) | Self::Gaussian(_) => self.of_shift(y, [first, second])?,
            Self::Ends { count, values, span, noise } => {
                // The first, the second and the released number.
                let numbers = |m: usize| {
                    let &[first, second] = group.sums.get(m)?;
                    Some([first, second, released(m)?])
                };
                let ratio = |[first, second, y]: [i128; 3]| noise.of_shift(y, [first, second]);
                let less = |left: [i128; 3], times: i128, right: [i128; 3]| {
                    let pair = |(l, r): (i128, i128)| l.saturating_sub(r.saturating_mul(times));
                    [0, 1, 2].map(|at| pair((left[at], right[at])))
                };
                let (rows, sums) = (numbers(*count)?, [first, second, y]);
                let (low, high) = (i128::from(span.low), i128::from(span.high));
                let of_values = match values {
                    Some(values) => numbers(*values)?,
                    None => rows,
                };
                let third = match values {
                    Some(_) => {
                        ratio(less(rows, 1, of_values).map(|n| n.saturating_mul(high - low)))?
                    }
                    None => 0.0,
                };
                let end = |end: i128| ratio(less(sums, end, of_values));
                end(low)? + end(high)? + third
            }
            Self::PerRecord(record) => record.log_ratio(y, [first, second]),
            Self::Quantile(_) | Self::Joint { .. } | Self::Reach(_) => {
                let values = group.values.get(m)?.as_ref()?.each_ref().map(Vec::as_slice);
                // Released points are points of the lattice.
                let point = i64::try_from(y).ok()?;
                match self {
                    Self::Quantile(quantile) => quantile.log_ratio(point, values),
                    Self::Joint { draws, nth } => draws.log_ratio(*nth, point, values),
                    Self::Reach(QuantileReach { draws, nth, quantiles, .. }) => {
                        let around = |&m: &usize| i64::try_from(released(m)?).ok();
                        let points: Vec<i64> =
                            quantiles.iter().map(around).collect::<Option<_>>()?;
                        draws.log_ratio((*nth, point), &points, values)?
                    }
                    _ => return None,
                }
            }
        })
    }
}

/// The statistics of a pair of tables.
pub(crate) struct Statistics {
    all: Vec<Statistic>,
    /// For each measurement, its noise by class, and whether that is the selection's.
    noises: Vec<(Vec<NominalNoise>, bool)>,
    /// For each measurement, whether others imply it: a count that is measured with sums.
    implied: Vec<bool>,
    /// Whether groups are chosen by a noisy number, which then implies that its group appears.
    chosen_by_number: bool,
    differing: Vec<Differing>,
    /// ln of the ratio of the chances with which each group appears, and of those with which not:
    /// as they were seen.
    appears: Vec<(f64, f64)>,
    /// The table that alone has each group, or that alone has shown it.
    only_in: Vec<Option<usize>>,
}

impl Statistics {
    /// For the groups in which two tables differ.
    pub(crate) fn new(quote: &Quote, differing: Vec<Differing>) -> Self {
        let of_selection = || {
            let selection = quote.selection();
            let scale = selection.and_then(|s| s.noise_scale()).unwrap_or(1.0);
            match selection.map(|s| s.strategy()) {
                Some(Strategy::GaussianThreshold) => NominalNoise::Gaussian(scale),
                _ => NominalNoise::Laplace(scale),
            }
        };
        let sum_noise = |mechanism: &SumMechanism| match mechanism {
            SumMechanism::Additive(additive) => match additive.law() {
                AdditiveLaw::DiscreteLaplace(_) => NominalNoise::Laplace(additive.scale()),
                AdditiveLaw::RoundedGaussian(_) => NominalNoise::Gaussian(additive.scale()),
            },
            SumMechanism::PerRecord(record) => NominalNoise::PerRecord(record.clone()),
        };
        let tied = |tied: &TiedMeasurement| {
            let of = |scale: f64, gaussian: f64| match tied.noise.is_gaussian() {
                true => NominalNoise::Gaussian(gaussian),
                false => NominalNoise::Laplace(scale),
            };
            let deviation = tied.noise.deviation(tied.role);
            let near = of(deviation / 2f64.sqrt(), deviation);
            let TiedRole::Sum(index) = tied.role else { return near };
            match (tied.noise.span(index), tied.noise.noise(index)) {
                (Some(span), Some(noise)) => {
                    let noise = Box::new(of(noise.scale(), noise.scale()));
                    let (count, values) = (tied.count, tied.values);
                    NominalNoise::Ends { count, values, span, noise }
                }
                _ => near,
            }
        };
        let is_count = |noise: &Noise| match noise {
            Noise::Tied(TiedMeasurement { role, .. }) => !matches!(role, TiedRole::Sum(_)),
            _ => false,
        };
        let implied = quote.noise().iter().map(is_count).collect();
        let noises: Vec<(Vec<NominalNoise>, bool)> = quote
            .noise()
            .iter()
            .map(|noise| match noise {
                Noise::OfSelection => (vec![of_selection()], true),
                Noise::Single(measuring) => (vec![sum_noise(measuring)], false),
                Noise::ByClass(by_class) => (by_class.all().map(sum_noise).collect(), false),
                Noise::Quantile(quantile) => {
                    (vec![NominalNoise::Quantile(quantile.clone())], false)
                }
                Noise::Joint(Joint { nth, draws, .. }) => {
                    (vec![NominalNoise::Joint { draws: Arc::clone(draws), nth: *nth }], false)
                }
                Noise::Reach(reach) => (vec![NominalNoise::Reach(reach.clone())], false),
                Noise::Tied(tie) => (vec![tied(tie)], false),
            })
            .collect();
        let mut all = vec![
            Statistic::OnlyIn(0),
            Statistic::OnlyIn(1),
            Statistic::Appearing,
            Statistic::Everything,
        ];
        for m in 0..noises.len() {
            all.extend([Statistic::Values(m), Statistic::Largest(m), Statistic::Smallest(m)]);
        }
        let appears = vec![(0.0, 0.0); differing.len()];
        let only_in = differing.iter().map(only_in).collect();
        let chosen_by_number = noises.iter().any(|(_, of_selection)| *of_selection)
            || quote.deciding_count().is_some();
        Self { all, noises, implied, chosen_by_number, differing, appears, only_in }
    }

    /// All statistics, in the order of [`of`](Self::of).
    pub(crate) fn all(&self) -> &[Statistic] {
        &self.all
    }

    /// How many groups differ.
    pub(crate) fn groups(&self) -> usize {
        self.differing.len()
    }

    /// Notes how often each group appeared in the runs on each table.
    pub(crate) fn learn(&mut self, counts: [&[u64]; 2], runs: u64) {
        let share = |counts: &[u64], group: usize| {
            (counts.get(group).copied().unwrap_or(0) as f64 + 0.5) / (runs as f64 + 1.0)
        };
        for (group, appears) in self.appears.iter_mut().enumerate() {
            let (first, second) = (share(counts[0], group), share(counts[1], group));
            *appears = ((first / second).ln(), ((1.0 - first) / (1.0 - second)).ln());
        }
        for (group, only_in) in self.only_in.iter_mut().enumerate() {
            *only_in =
                only_in.or_else(|| match counts.map(|s| s.get(group).is_some_and(|&n| n > 0)) {
                    [true, false] => Some(0),
                    [false, true] => Some(1),
                    _ => None,
                });
        }
    }

    /// Every statistic of an output.
    pub(crate) fn of(&self, output: &RunOutput) -> Vec<f64> {
        self.all.iter().map(|&statistic| self.one(statistic, output)).collect()
    }

    /// One statistic of an output.
    pub(crate) fn one(&self, statistic: Statistic, output: &RunOutput) -> f64 {
        let appearing = || output.groups.iter().filter_map(|&group| self.differing.get(group));
        let values = |m: usize| output.sums.get(m).into_iter().flatten().copied().zip(appearing());
        match statistic {
            Statistic::OnlyIn(side) => {
                let alone = |group: &&usize| self.only_in.get(**group) == Some(&Some(side));
                output.groups.iter().filter(alone).count() as f64
            }
            Statistic::Appearing => output.groups.len() as f64,
            Statistic::Everything => self.everything(output),
            Statistic::Values(m) => self.values(m, output),
            Statistic::Largest(m) | Statistic::Smallest(m) => {
                let errors = values(m).filter_map(|(y, d)| {
                    let side = usize::from(!d.exists[0]);
                    // Values of quantiles are compared as they are.
                    let exact = *d.sums.get(m)?.get(side)?;
                    Some(y.saturating_sub(exact) as f64)
                });
                match statistic {
                    Statistic::Largest(_) => errors.fold(f64::NEG_INFINITY, f64::max),
                    _ => errors.fold(f64::INFINITY, f64::min),
                }
            }
        }
    }

    fn values(&self, m: usize, output: &RunOutput) -> f64 {
        let Some((noises, _)) = self.noises.get(m) else { return 0.0 };
        let ratio = |(row, &group): (usize, &usize)| {
            let released = |m: usize| output.sums.get(m)?.get(row).copied();
            let differing = self.differing.get(group)?;
            Some(match only_in(differing) {
                Some(0) => CERTAIN,
                Some(_) => -CERTAIN,
                None => {
                    let noise = noises.get(differing.classes.get(m).copied().unwrap_or(0))?;
                    noise.log_ratio(released, m, differing)?
                }
            })
        };
        output.groups.iter().enumerate().filter_map(ratio).sum()
    }

    fn everything(&self, output: &RunOutput) -> f64 {
        let mut score: f64 = self.appears.iter().map(|(_, hidden)| hidden).sum();
        for &group in &output.groups {
            let (appears, hidden) = self.appears.get(group).copied().unwrap_or_default();
            score += if self.chosen_by_number { -hidden } else { appears - hidden };
        }
        let informative = (0..self.noises.len()).filter(|&m| self.implied.get(m) != Some(&true));
        score + informative.map(|m| self.values(m, output)).sum::<f64>()
    }
}

/// The table that alone has the group.
fn only_in(differing: &Differing) -> Option<usize> {
    match differing.exists {
        [true, false] => Some(0),
        [false, true] => Some(1),
        _ => None,
    }
}
