//! Sums and counts of the values in them, from one measurement.
//!
//! A value x from low to high is measured from both ends of its range: x - low and high - x. The
//! two always add up to high - low, so that a unit moves both together by no more than it moves one
//! of them, and their sums over a group give the count, the sum and the mean. A row without a value
//! is a third end: it adds high - low to that one alone.

use hushtable_noise::{EntropyError, Generator};
use hushtable_privacy::{Contribution, Loss, Neighbouring, RowsBeside, normal_quantile};

use crate::additive::{Additive, AdditiveLaw};
use crate::error::MechanismError;
use crate::laplace_sum::{MOST_TERMS, laplace_width, scale_around};

/// Binary places of a noisy count before it is rounded.
const PLACES: u32 = 32;

/// Largest weight of a sum in the common count.
const LARGEST_WEIGHT: f64 = (1u64 << 20) as f64;

/// The range of values that are added up, in lattice units, and how many of them one unit may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueSpan {
    /// Least value.
    pub low: i64,
    /// Greatest value.
    pub high: i64,
    /// Most values of a unit in a group.
    pub rows: u32,
}

impl ValueSpan {
    /// The width of the range.
    fn width(self) -> i128 {
        i128::from(self.high) - i128::from(self.low)
    }
}

/// Bound on one unit's effect on the sums from all ends, as a vector of two or three numbers for
/// each group.
///
/// *Proof.* In a group that it enters, a unit has n rows that count, from 0 to `rows`, c of which
/// have a value. It adds a = sum of (x - low), b = sum of (high - x), and, where rows may have no
/// value, z = (n - c) (high - low). All are at least 0, and a + b + z = n (high - low), so that
/// their sum is at most w = rows (high - low), and a^2 + b^2 + z^2 <= (a + b + z)^2 <= w^2. When a
/// unit with `groups` groups comes or goes, l1 is at most groups w, and the square of l2 at most
/// groups w^2. When it is replaced, the difference of two vectors that are nowhere below zero is no
/// longer in l1 than both together, and its square is no larger than both squares together: 2
/// groups w and 2 groups w^2. These are the sensitivities of one number from 0 to w in each of
/// `groups` groups, of which a unit and its replacement share none. All of them are reached.
///
/// A row of a further population's unit that goes takes up to `gone` of the n rows out of what a
/// unit adds, and up to `come` others come in, in this group or another one. Both changes are at
/// least 0, and add up to `gone` and `come` times (high - low) at most: so does their difference in
/// l1, and in l2 its square to both squares together.
fn contribution(span: ValueSpan, groups: u32, beside: Option<TiedRows>) -> Option<Contribution> {
    let most = span.width().checked_mul(span.rows.into())?;
    let high = i64::try_from(most).ok()?;
    let rows = |TiedRows { most, gone, come }: TiedRows| {
        let change = |rows: u32| span.width().unsigned_abs().checked_mul(rows.into());
        let (gone, come) = (change(gone)?, change(come)?);
        let apart_squared = gone.checked_mul(gone)?.checked_add(come.checked_mul(come)?)?;
        Some(RowsBeside { most, apart: gone.checked_add(come)?, apart_squared })
    };
    let beside = match beside {
        Some(beside) => Some(rows(beside)?),
        None => None,
    };
    Some(Contribution { groups, single_group: false, low: 0, high, beside })
}

/// The rows of one unit of a further population, where rows belong to units of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TiedRows {
    /// Most of them.
    pub most: u32,
    /// How many of the rows that count one of them can take away.
    pub gone: u32,
    /// How many others can come in their place.
    pub come: u32,
}

/// A sum that is measured together with the count of the rows that it is of.
#[derive(Clone, Copy, Debug)]
pub struct TiedSum {
    /// The range of its values.
    pub span: ValueSpan,
    /// The loss of its measurement.
    pub share: Loss,
    /// The index of the count of its values, where counted rows may have none; sums of the same
    /// values have the same one.
    pub values: Option<usize>,
    /// The rows of a further population's unit, where there is one.
    pub beside: Option<TiedRows>,
}

/// The measurement of one sum from all ends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct EndsMeasurement {
    span: ValueSpan,
    noise: Additive,
    values: Option<usize>,
    /// Its share in counts, near the inverse of their variances.
    weight: u32,
}

/// Noise on sums that share one count of rows, each measured from all ends of its range.
///
/// Each sum gives a count of its own: its ends' sum over the width of the range. Their mean, by the
/// inverse of their variances, is the common count n. Where rows may have no value, both ends give
/// the count of values, d, and all three give n; two thirds of what n has moved by the other sums
/// are added to d, as two of the three ends have them. A pair's difference gives the sum about the
/// middle of the range, and the sum itself is that and the middle times the count of values. As all
/// ends have the same noise, these are the least-squares estimates: of all linear ones without
/// bias, none has a smaller variance (proof: `theorems/queries.md#sums-and-their-count`).
#[derive(Clone, Debug, PartialEq)]
pub struct TiedSums {
    ends: Vec<EndsMeasurement>,
    columns: usize,
}

/// Which of the numbers that are measured together a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TiedRole {
    /// The count of rows.
    Count,
    /// The count of values at this index, where rows may have none.
    Values(usize),
    /// The sum at this index.
    Sum(usize),
}

/// Numbers of groups that are measured together, measurement by measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TiedNumbers {
    /// The groups' counts of rows.
    pub counts: Vec<i128>,
    /// Their counts of values, where rows may have none.
    pub values: Vec<Vec<i128>>,
    /// Their sums.
    pub sums: Vec<Vec<i128>>,
}

impl TiedSums {
    /// Noise for sums of units that enter `groups` groups at most.
    ///
    /// # Errors
    /// When a share is too small or a span too wide to draw noise for.
    pub fn new(
        sums: &[TiedSum],
        groups: u32,
        relation: Neighbouring,
    ) -> Result<Self, MechanismError> {
        let ends = |&TiedSum { span, share, values, beside }: &TiedSum| {
            // The sensitivity of one end is that of all: a row adds the width to them together.
            let contribution =
                contribution(span, groups, beside).ok_or(MechanismError::TooLarge)?;
            let noise = match share {
                Loss::Approximate { epsilon, .. } => {
                    Additive::laplace(contribution, relation, epsilon)?
                }
                Loss::Concentrated { rho, .. } => Additive::gaussian(contribution, relation, rho)?,
            };
            Ok(EndsMeasurement { span, noise, values, weight: 1 })
        };
        let mut ends = sums.iter().map(ends).collect::<Result<Vec<_>, MechanismError>>()?;
        let precision =
            |ends: &EndsMeasurement| (ends.span.width() as f64 / ends.noise.scale()).powi(2);
        let largest = ends.iter().map(precision).fold(0.0, f64::max);
        for ends in &mut ends {
            let scaled = (precision(ends) / largest * LARGEST_WEIGHT).round();
            ends.weight = scaled.clamp(1.0, LARGEST_WEIGHT) as u32;
        }
        let columns = ends.iter().filter_map(|ends| ends.values).max().map_or(0, |last| last + 1);
        Ok(Self { ends, columns })
    }

    /// The noise on each end of the sum at `index`.
    pub fn noise(&self, index: usize) -> Option<&Additive> {
        self.ends.get(index).map(|ends| &ends.noise)
    }

    /// The number of sums.
    pub fn sums(&self) -> usize {
        self.ends.len()
    }

    /// The number of counts of values.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The span of the sum at `index`.
    pub fn span(&self, index: usize) -> Option<ValueSpan> {
        self.ends.get(index).map(|ends| ends.span)
    }

    /// Whether the tail of the common count's noise can be computed, so that the count can choose
    /// groups.
    pub fn count_can_decide(&self) -> bool {
        let draws = |ends: &EndsMeasurement| 2 + usize::from(ends.values.is_some());
        self.is_gaussian() || self.ends.iter().map(draws).sum::<usize>() <= MOST_TERMS
    }

    /// Whether the noise is Gaussian.
    pub fn is_gaussian(&self) -> bool {
        self.ends.iter().all(|ends| matches!(ends.noise.law(), AdditiveLaw::RoundedGaussian(_)))
    }

    /// Whether groups can have these exact numbers: with a count of n, n or fewer values, and c
    /// values with a sum from c low to c high.
    pub fn holds(&self, exact: &TiedNumbers) -> bool {
        let groups = exact.counts.len();
        let is_whole = exact.values.len() == self.columns
            && exact.sums.len() == self.ends.len()
            && exact.values.iter().chain(&exact.sums).all(|numbers| numbers.len() == groups);
        is_whole
            && exact.counts.iter().all(|count| *count >= 0)
            && self.ends.iter().zip(&exact.sums).all(|(ends, sums)| {
                let all = ends.of_groups(&exact.counts, &exact.values, sums);
                all.into_iter().flatten().all(|end| end >= 0)
            })
    }

    /// Replaces the numbers of groups by noisy ones.
    ///
    /// # Errors
    /// When the operating system's generator fails; the numbers must then not be used.
    pub fn release(
        &self,
        generator: &mut Generator,
        numbers: &mut TiedNumbers,
    ) -> Result<(), EntropyError> {
        let groups = numbers.counts.len();
        let none = || vec![0i128; groups];
        // Of each column, the count by both ends and that by all three.
        let mut of_columns = vec![(none(), none()); self.columns];
        let mut common = none();
        for (ends, sums) in self.ends.iter().zip(&mut numbers.sums) {
            let mut all = ends.of_groups(&numbers.counts, &numbers.values, sums);
            // Everything after these draws is post-processing.
            for end in &mut all {
                ends.noise.add(generator, end)?;
            }
            let [above, below, third @ ..] = all.as_slice() else { continue };
            let weight = i128::from(ends.weight);
            let fixed = |end: i128| ends.fixed_count(end).saturating_mul(weight);
            let mut of_column = ends.values.and_then(|column| of_columns.get_mut(column));
            for (group, (above, below)) in above.iter().zip(below).enumerate() {
                let both = fixed(above.saturating_add(*below));
                let third = third.first().and_then(|third| third.get(group));
                let all = third.map_or(both, |third| both.saturating_add(fixed(*third)));
                if let Some(count) = common.get_mut(group) {
                    *count = count.saturating_add(all.saturating_mul(ends.share_of_common()));
                }
                if let Some((of_both, of_all)) = of_column.as_deref_mut()
                    && let (Some(of_both), Some(of_all)) =
                        (of_both.get_mut(group), of_all.get_mut(group))
                {
                    *of_both = of_both.saturating_add(both);
                    *of_all = of_all.saturating_add(all);
                }
            }
            for (sum, (above, below)) in sums.iter_mut().zip(above.iter().zip(below)) {
                *sum = above.saturating_sub(*below);
            }
        }
        let whole = self.ends.iter().map(|ends| i128::from(ends.weight) * ends.share_of_common());
        let whole = whole.sum::<i128>().max(1);
        common.iter_mut().for_each(|common| *common = common.div_euclid(whole));
        let mut values = Vec::with_capacity(self.columns);
        for (column, (of_both, of_all)) in of_columns.into_iter().enumerate() {
            let whole = self.weight_of(column).max(1);
            let moved = |((both, all), common): ((i128, i128), &i128)| {
                let other = common.saturating_sub(all.div_euclid(whole)).saturating_mul(2);
                both.div_euclid(whole).saturating_add(other.div_euclid(3))
            };
            let counts = of_both.into_iter().zip(of_all).zip(&common).map(moved);
            values.push(counts.collect::<Vec<i128>>());
        }
        for (ends, sums) in self.ends.iter().zip(&mut numbers.sums) {
            let counts = ends.values.and_then(|column| values.get(column)).unwrap_or(&common);
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum = ends.sum(*sum, *count);
            }
        }
        let rounded = |fixed: i128| fixed.saturating_add(1 << (PLACES - 1)) >> PLACES;
        numbers.counts = common.into_iter().map(rounded).collect();
        let of_column = |counts: Vec<i128>| counts.into_iter().map(rounded).collect();
        numbers.values = values.into_iter().map(of_column).collect();
        Ok(())
    }

    /// The sum of the weights of the sums of a column.
    fn weight_of(&self, column: usize) -> i128 {
        let ends = self.ends.iter().filter(|ends| ends.values == Some(column));
        ends.map(|ends| i128::from(ends.weight)).sum()
    }

    /// The noise of a number as multiples of independent draws, except for rounding: how often each
    /// is in it, and its mechanism. All numbers have the same draws, in the same order.
    pub fn draws(&self, role: TiedRole) -> Vec<(f64, &Additive)> {
        let whole: f64 = self.ends.iter().map(EndsMeasurement::weight_in_common).sum();
        let ends_of_sum = match role {
            TiedRole::Sum(index) => self.ends.get(index),
            TiedRole::Count | TiedRole::Values(_) => None,
        };
        let column = match role {
            TiedRole::Values(column) => Some(column),
            TiedRole::Count | TiedRole::Sum(_) => ends_of_sum.and_then(|ends| ends.values),
        };
        // How often the count is in the number.
        let middle = match role {
            TiedRole::Count | TiedRole::Values(_) => 1.0,
            TiedRole::Sum(_) => {
                ends_of_sum.map_or(0.0, |ends| 0.5 * (ends.span.low as f64 + ends.span.high as f64))
            }
        };
        let weight_of_column = column.map_or(1.0, |column| self.weight_of(column) as f64);
        let mut draws = Vec::with_capacity(3 * self.ends.len());
        for (index, ends) in self.ends.iter().enumerate() {
            let width = ends.span.width() as f64;
            let common = ends.weight_in_common() / (whole * width);
            let (mut both, mut third) = (common, common);
            if column.is_some() {
                let of_column = match ends.values == column {
                    true => f64::from(ends.weight) / (weight_of_column * width),
                    false => 0.0,
                };
                both = (of_column + 2.0 * common) / 3.0;
                third = 2.0 * (common - of_column) / 3.0;
            }
            let half = if role == TiedRole::Sum(index) { 0.5 } else { 0.0 };
            draws.push((middle * both + half, &ends.noise));
            draws.push((middle * both - half, &ends.noise));
            if ends.values.is_some() {
                draws.push((middle * third, &ends.noise));
            }
        }
        draws
    }

    /// The standard deviation of a number's noise in lattice units, except for rounding.
    pub fn deviation(&self, role: TiedRole) -> f64 {
        let variance = |(times, noise): (f64, &Additive)| times * times * noise.variance();
        self.draws(role).into_iter().map(variance).sum::<f64>().sqrt()
    }

    /// A half width w, in lattice units, with P\[|noise| <= w\] >= `level` for that many values at
    /// once. It is the least one, widened for the rounding of draws and of results.
    pub fn half_width(&self, role: TiedRole, level: f64, values: u64) -> u128 {
        // Of each, so that all are within with probability `level`.
        self.width_beyond(role, -(level.ln() / values.max(1) as f64).exp_m1())
    }

    /// A half width w, in lattice units, with P\[|noise| > w\] <= `outside`. It is the least one,
    /// widened for the rounding of draws and of results.
    pub(crate) fn width_beyond(&self, role: TiedRole, outside: f64) -> u128 {
        let draws = self.draws(role);
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

impl EndsMeasurement {
    /// The sums from the low and to the high end and, where rows may have no value, the width of
    /// the range for each that has none, for each group.
    fn of_groups(&self, counts: &[i128], values: &[Vec<i128>], sums: &[i128]) -> Vec<Vec<i128>> {
        let of_values = self.values.map(|column| values.get(column).map_or(&[][..], Vec::as_slice));
        let counted = of_values.unwrap_or(counts);
        let pairs = counted.iter().zip(sums).map(|(&count, &sum)| self.of(count, sum));
        let (above, below) = pairs.unzip();
        let mut ends: Vec<Vec<i128>> = vec![above, below];
        ends.extend(of_values.map(|values| {
            let pairs = counts.iter().zip(values);
            pairs.map(|(n, c)| n.saturating_sub(*c).saturating_mul(self.span.width())).collect()
        }));
        ends
    }

    /// The sums from the low and to the high end.
    fn of(&self, count: i128, sum: i128) -> (i128, i128) {
        let ValueSpan { low, high, .. } = self.span;
        let times = |end: i64| count.saturating_mul(end.into());
        (sum.saturating_sub(times(low)), times(high).saturating_sub(sum))
    }

    /// Its share in the common count, in sixths of its weight: three ends have one and a half times
    /// the variance of two.
    fn share_of_common(&self) -> i128 {
        if self.values.is_some() { 2 } else { 3 }
    }

    fn weight_in_common(&self) -> f64 {
        f64::from(self.weight) * self.share_of_common() as f64
    }

    /// The count that a sum of ends gives, with [`PLACES`] binary places, rounded down.
    fn fixed_count(&self, ends: i128) -> i128 {
        let width = self.span.width().max(1);
        // Rounded down on both sides of zero: noise can make the sum negative, and rounding towards
        // zero would bias small counts.
        let (whole, rest) = (ends.div_euclid(width), ends.rem_euclid(width));
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
