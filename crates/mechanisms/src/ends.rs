//! Sums and the count of the values in them, from one measurement.
//!
//! A value x from low to high is measured from both ends of its range: x - low and high - x. The
//! two always add up to high - low, so that a unit moves both together by no more than it moves one
//! of them, and their sums over a group give the count, the sum and the mean.

use hushtable_noise::{EntropyError, Generator};
use hushtable_privacy::{Contribution, Loss, Neighbouring, normal_quantile};

use crate::additive::{Additive, AdditiveLaw};
use crate::error::MechanismError;
use crate::laplace_sum::{laplace_width, scale_around};

/// Binary places of a noisy count before it is rounded.
const PLACES: u32 = 32;

/// Largest weight of a sum in the common count.
const LARGEST_WEIGHT: f64 = (1u64 << 20) as f64;

/// The range of values that are added up, in lattice units, and how many of them one unit may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Least value.
    pub low: i64,
    /// Greatest value.
    pub high: i64,
    /// Most values of a unit in a group.
    pub rows: u32,
}

impl Span {
    /// The width of the range.
    fn width(self) -> i128 {
        i128::from(self.high) - i128::from(self.low)
    }
}

/// Bound on one unit's effect on the sums from both ends, as a vector of two numbers for each
/// group.
///
/// *Proof.* In a group that it enters, a unit has c values, from 0 to `rows`, and adds a = sum of
/// (x - low) and b = sum of (high - x). Both are at least 0, and a + b = c (high - low), so that
/// a + b is at most w = rows (high - low), and a^2 + b^2 <= (a + b)^2 <= w^2. When a unit with
/// `groups` groups comes or goes, l1 is at most groups w, and the square of l2 at most groups w^2.
/// When it is replaced, the difference of two vectors that are nowhere below zero is no longer in
/// l1 than both together, and its square is no larger than both squares together: 2 groups w and 2
/// groups w^2. These are the sensitivities of one number from 0 to w in each of `groups` groups, of
/// which a unit and its replacement share none. All of them are reached.
fn contribution(span: Span, groups: u32) -> Option<Contribution> {
    let most = span.width().checked_mul(span.rows.into())?;
    let high = i64::try_from(most).ok()?;
    Some(Contribution { groups, single_group: false, low: 0, high })
}

/// The measurement of one sum from both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ends {
    span: Span,
    noise: Additive,
}

/// Noise on sums that share one count, each measured from both ends of its range.
///
/// Each pair gives a count of its own: both ends' sum over the width of the range. Their mean is
/// the common count n, weighted by the inverse of their variances. A pair's difference gives the
/// sum about the middle of the range, and the sum itself is that and the middle times n. As both
/// ends have the same noise, sum and difference are uncorrelated, so that these are the
/// least-squares estimates: of all linear ones without bias, none has a smaller variance.
#[derive(Clone, Debug, PartialEq)]
pub struct TiedSums {
    ends: Vec<Ends>,
    weights: Vec<u32>,
}

/// One of the numbers that are measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TiedPart {
    /// The count.
    Count,
    /// The sum at this index.
    Sum(usize),
}

impl TiedSums {
    /// Noise for sums with these spans, each at its share, of units that enter `groups` groups at
    /// most.
    ///
    /// # Errors
    /// When a share is too small or a span too wide to draw noise for.
    pub fn new(
        sums: &[(Span, Loss)],
        groups: u32,
        relation: Neighbouring,
    ) -> Result<Self, MechanismError> {
        let ends = |&(span, share): &(Span, Loss)| {
            // The sensitivity of one end is that of both: a row adds the width to the two together.
            let contribution = contribution(span, groups).ok_or(MechanismError::TooLarge)?;
            let noise = match share {
                Loss::Approximate { epsilon, .. } => {
                    Additive::laplace(contribution, relation, epsilon)?
                }
                Loss::Concentrated { rho, .. } => Additive::gaussian(contribution, relation, rho)?,
            };
            Ok(Ends { span, noise })
        };
        let ends = sums.iter().map(ends).collect::<Result<Vec<_>, MechanismError>>()?;
        // Any weights give a count without bias. These are near the inverse variances.
        let precision = |ends: &Ends| (ends.span.width() as f64 / ends.noise.scale()).powi(2);
        let largest = ends.iter().map(precision).fold(0.0, f64::max);
        let weight = |ends: &Ends| {
            let part = (precision(ends) / largest * LARGEST_WEIGHT).round();
            part.clamp(1.0, LARGEST_WEIGHT) as u32
        };
        let weights = ends.iter().map(weight).collect();
        Ok(Self { ends, weights })
    }

    /// The noise on both ends of the sum at `index`.
    pub fn noise(&self, index: usize) -> Option<&Additive> {
        self.ends.get(index).map(|ends| &ends.noise)
    }

    /// The number of sums.
    pub fn sums(&self) -> usize {
        self.ends.len()
    }

    /// The span of the sum at `index`.
    pub fn span(&self, index: usize) -> Option<Span> {
        self.ends.get(index).map(|ends| ends.span)
    }

    /// Whether the noise is Gaussian.
    pub fn is_gaussian(&self) -> bool {
        self.ends.iter().all(|ends| matches!(ends.noise.law(), AdditiveLaw::RoundedGaussian(_)))
    }

    /// Whether a group can have these exact numbers: a unit with a count of c has a sum from c low
    /// to c high.
    pub fn holds(&self, count: i128, sums: impl IntoIterator<Item = i128>) -> bool {
        count >= 0
            && self.ends.iter().zip(sums).all(|(ends, sum)| {
                let (above, below) = ends.of(count, sum);
                above >= 0 && below >= 0
            })
    }

    /// Replaces the counts of groups and their sums, measurement by measurement, by noisy ones.
    ///
    /// # Errors
    /// When the operating system's generator fails; the numbers must then not be used.
    pub fn release(
        &self,
        generator: &mut Generator,
        counts: &mut [i128],
        sums: &mut [Vec<i128>],
    ) -> Result<(), EntropyError> {
        let whole: i128 = self.weights.iter().map(|&w| i128::from(w)).sum::<i128>().max(1);
        let mut common = vec![0i128; counts.len()];
        for ((ends, &weight), sums) in self.ends.iter().zip(&self.weights).zip(sums.iter_mut()) {
            let pairs = counts.iter().zip(sums.iter()).map(|(&n, &sum)| ends.of(n, sum));
            let (mut above, mut below): (Vec<_>, Vec<_>) = pairs.unzip();
            // Everything after these two draws is post-processing.
            ends.noise.add(generator, &mut above)?;
            ends.noise.add(generator, &mut below)?;
            let pairs = above.iter().zip(&below);
            for ((common, sum), (&above, &below)) in common.iter_mut().zip(sums).zip(pairs) {
                let weighted = ends.fixed_count(above, below).saturating_mul(weight.into());
                *common = common.saturating_add(weighted);
                *sum = above.saturating_sub(below);
            }
        }
        common.iter_mut().for_each(|common| *common = common.div_euclid(whole));
        for (ends, sums) in self.ends.iter().zip(sums.iter_mut()) {
            for (sum, &common) in sums.iter_mut().zip(&common) {
                *sum = ends.sum(*sum, common);
            }
        }
        for (count, common) in counts.iter_mut().zip(common) {
            *count = common.saturating_add(1 << (PLACES - 1)) >> PLACES;
        }
        Ok(())
    }

    /// The noise of a part as multiples of independent draws, except for rounding: how often each
    /// is in it, and its mechanism. All parts have the same draws, in the same order.
    pub fn draws(&self, part: TiedPart) -> Vec<(f64, &Additive)> {
        let whole: f64 = self.weights.iter().map(|&w| f64::from(w)).sum();
        let middle = match part {
            TiedPart::Count => 1.0,
            TiedPart::Sum(index) => self
                .ends
                .get(index)
                .map_or(0.0, |ends| 0.5 * (ends.span.low as f64 + ends.span.high as f64)),
        };
        let mut draws = Vec::with_capacity(2 * self.ends.len());
        for (index, (ends, &weight)) in self.ends.iter().zip(&self.weights).enumerate() {
            let common = middle * f64::from(weight) / (whole * ends.span.width() as f64);
            let half = if part == TiedPart::Sum(index) { 0.5 } else { 0.0 };
            draws.extend([(common + half, &ends.noise), (common - half, &ends.noise)]);
        }
        draws
    }

    /// The standard deviation of a part's noise in lattice units, except for rounding.
    pub fn deviation(&self, part: TiedPart) -> f64 {
        let variance = |(times, noise): (f64, &Additive)| times * times * noise.variance();
        self.draws(part).into_iter().map(variance).sum::<f64>().sqrt()
    }

    /// A half width w, in lattice units, with P\[|noise| <= w\] >= `level` for that many values at
    /// once. It is the least one, widened for the rounding of draws and of results.
    pub fn half_width(&self, part: TiedPart, level: f64, values: u64) -> u128 {
        // Of each, so that all are within with probability `level`.
        self.width_beyond(part, -(level.ln() / values.max(1) as f64).exp_m1())
    }

    /// A half width w, in lattice units, with P\[|noise| > w\] <= `outside`. It is the least one,
    /// widened for the rounding of draws and of results.
    pub(crate) fn width_beyond(&self, part: TiedPart, outside: f64) -> u128 {
        let draws = self.draws(part);
        // A discrete Laplace draw is within half a step of what is more peaked than the continuous
        // law, also in sums, and a rounded Gaussian draw of a Gaussian one. The result is rounded,
        // too.
        let rounding = 0.5 + draws.iter().map(|(times, _)| 0.5 * times.abs()).sum::<f64>();
        let scale = |noise: &Additive| match noise.law() {
            AdditiveLaw::DiscreteLaplace(_) => scale_around(noise.scale()),
            AdditiveLaw::RoundedGaussian(_) => noise.scale(),
        };
        let scales: Vec<f64> = draws.iter().map(|(times, n)| times.abs() * scale(n)).collect();
        let width = if self.is_gaussian() {
            let deviation = scales.iter().map(|s| s * s).sum::<f64>().sqrt();
            deviation * normal_quantile(0.5 * outside) * (1.0 + 1e-9)
        } else {
            laplace_width(&scales, outside)
        };
        // Floating point errs here by much less than a billionth.
        ((width + rounding) * (1.0 + 1e-9)).floor() as u128
    }
}

impl Ends {
    /// The sums from the low and to the high end.
    fn of(&self, count: i128, sum: i128) -> (i128, i128) {
        let Span { low, high, .. } = self.span;
        let times = |end: i64| count.saturating_mul(end.into());
        (sum.saturating_sub(times(low)), times(high).saturating_sub(sum))
    }

    /// The count that both ends give, with [`PLACES`] binary places, rounded down.
    fn fixed_count(&self, above: i128, below: i128) -> i128 {
        let (both, width) = (above.saturating_add(below), self.span.width().max(1));
        // Rounded down on both sides of zero: noise can make the sum negative, and rounding towards
        // zero would bias small counts.
        let (whole, rest) = (both.div_euclid(width), both.rem_euclid(width));
        whole.saturating_mul(1 << PLACES).saturating_add((rest << PLACES) / width)
    }

    /// The sum from the difference of both ends and a count with [`PLACES`] binary places, rounded
    /// to the nearest point: half of the difference, and the middle times the count.
    fn sum(&self, difference: i128, count: i128) -> i128 {
        let ends = i128::from(self.span.low) + i128::from(self.span.high);
        let (whole, fraction) = (count >> PLACES, count & ((1 << PLACES) - 1));
        let doubled = difference
            .saturating_add(ends.saturating_mul(whole))
            .saturating_add((ends * fraction) >> PLACES);
        // Halves are rounded up; the binary places that are cut off come to less than a half.
        doubled.div_euclid(2).saturating_add(doubled.rem_euclid(2))
    }
}

#[cfg(test)]
mod tests;
