//! Quantiles of the values in a group, by an exponential mechanism.

mod reaches;

use std::fmt;
use std::num::NonZeroU32;

use hushtable_noise::{
    BatchError, ExponentialWeights, Generator, ParameterError, Ratio, WeightCell,
};
use hushtable_numbers::lowest_terms;
use hushtable_privacy::{Contribution, Epsilon, Event, Loss, Neighbouring, range_of_rho};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::MechanismError;
use crate::prior::Prior;

pub use self::reaches::QuantileReaches;

/// Which quantile: a share strictly between 0 and 1, with at most four decimal places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentile {
    /// The share is `below / of`, in lowest terms.
    below: u32,
    of: u32,
}

impl Percentile {
    /// The middle.
    pub const MEDIAN: Self = Self { below: 1, of: 2 };
    /// Most decimal places.
    pub const MAX_SCALE: u8 = 4;
    /// All of the values, in ten thousandths.
    const WHOLE: u32 = 10_000;

    /// `digits * 10^-scale`; `None` unless that is above 0, below 1 and has at most four decimal
    /// places.
    pub fn new(digits: i128, scale: u8) -> Option<Self> {
        let of = 10u32.pow(u32::from(Some(scale).filter(|&s| s <= Self::MAX_SCALE)?));
        let below = u32::try_from(digits).ok().filter(|&d| d > 0 && d < of)?;
        Some(Self::ratio(below, of))
    }

    /// The share `below / of`, strictly between 0 and 1.
    fn ratio(below: u32, of: u32) -> Self {
        // No share has a denominator of zero.
        let (below, of) = lowest_terms(below, of.max(1));
        Self { below, of }
    }

    /// The share in ten thousandths, of which every percentile has a whole number.
    pub(crate) fn ten_thousandths(self) -> u32 {
        // For percentiles from [`new`](Self::new), `of` divides 10^4.
        self.below * (Self::WHOLE / self.of.max(1))
    }

    /// The share among the values between two others, all in ten thousandths.
    pub(crate) fn between(share: u32, (lower, upper): (u32, u32)) -> Self {
        Self::ratio(share.saturating_sub(lower), upper.saturating_sub(lower))
    }

    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        f64::from(self.below) / f64::from(self.of)
    }
}

impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_f64())
    }
}

impl Serialize for Percentile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

impl<'de> Deserialize<'de> for Percentile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let share: Option<f64> = String::deserialize(deserializer)?.parse().ok();
        let digits = share.map(|share| (share * 1e4).round());
        let percentile = digits.and_then(|digits| Self::new(digits as i128, Self::MAX_SCALE));
        percentile.ok_or_else(|| serde::de::Error::custom("not a percentile"))
    }
}

/// A lattice point near a quantile of a group's values, of which each unit has a limited number.
///
/// With p the percentile and n values, the *rank distance* of a point x is how far p n is outside
/// of the numbers from #{values < x} to #{values <= x}: zero at the quantile, and one more for each
/// value in between. A point is released with probability proportional to its weight in a prior
/// that is public, times e^(-rate * rank distance).
///
/// One value more or less changes no rank distance by more than max(p, 1 - p), and an exchange none
/// by more than 1, so that the log-ratios have a range of at most rate times twice that. Proofs and
/// sources: `theorems/quantiles.md#one-quantile`.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantile {
    percentile: Percentile,
    prior: Prior,
    /// For rank distances in units of 1/q, where the percentile is m/q.
    weights: ExponentialWeights,
    loss: Loss,
    event: Event,
}

impl Quantile {
    /// How far apart changes of rank distances may be that one unit makes in units of 1/q, as a
    /// contribution to groups: to one that it enters or leaves, `alone`; where another takes its
    /// place, `swapped`, as what is exchanged shifts ranks by one either way.
    fn contribution(percentile: Percentile, rows: u32, groups: u32, single: bool) -> Contribution {
        let Percentile { below, of } = percentile;
        let rows = i64::from(rows);
        let alone = rows * 2 * i64::from(below.max(of - below));
        let swapped = rows * 2 * i64::from(of);
        // high - low is `swapped`, and high the larger of the two.
        let (low, high) = (alone - swapped, alone);
        Contribution { groups, single_group: single, low, high, beside: None }
    }

    /// The quantile of values in `range`, of which a unit has at most `rows` in each of at most
    /// `groups` groups; `single` if there is only one group. At a loss that is all groups'
    /// together. Points beyond the `scale` are the less likely the farther away they are.
    ///
    /// # Errors
    /// An empty range, no loss, or a loss so small that the rate rounds to zero.
    pub fn new(
        percentile: Percentile,
        (range, scale): ((i64, i64), i64),
        rows: u32,
        (groups, single): (u32, bool),
        relation: Neighbouring,
        loss: Loss,
    ) -> Result<Self, MechanismError> {
        let prior = Prior::new(range.0, range.1, scale).ok_or(MechanismError::NoSensitivity)?;
        Self::of_all(percentile, prior, rows, (groups, single), relation, loss)
    }

    /// Makes the quantile of [`new`](Self::new) from a prior.
    pub(crate) fn of_all(
        percentile: Percentile,
        prior: Prior,
        rows: u32,
        (groups, single): (u32, bool),
        relation: Neighbouring,
        loss: Loss,
    ) -> Result<Self, MechanismError> {
        let contribution = Self::contribution(percentile, rows, groups, single);
        Self::of(percentile, prior, contribution, relation, loss)
    }

    /// The quantile of a segment of the values, where others are drawn from other segments together
    /// with it: as [`new`](Self::new), except for a value that is exchanged, which may leave one
    /// segment and enter another, and then counts twice.
    pub(crate) fn of_segment(
        percentile: Percentile,
        prior: Prior,
        rows: u32,
        (groups, single): (u32, bool),
        relation: Neighbouring,
        loss: Loss,
    ) -> Result<Self, MechanismError> {
        let contribution = Self::contribution(percentile, rows, groups, single);
        let contribution = Contribution { low: -contribution.high, ..contribution };
        Self::of(percentile, prior, contribution, relation, loss)
    }

    /// The quantile of values whose ranks a unit changes by at most `contribution`.
    fn of(
        percentile: Percentile,
        prior: Prior,
        contribution: Contribution,
        relation: Neighbouring,
        loss: Loss,
    ) -> Result<Self, MechanismError> {
        let Contribution { groups, single_group: single, .. } = contribution;
        let one = Contribution { groups: 1, single_group: true, ..contribution };
        let (alone, swapped) = (one.l1(Neighbouring::AddRemove), one.l1(Neighbouring::Replace));
        // The draws that a unit changes, and by how much each, in units of 1/q of the rate. A group
        // that is left and one that is entered instead are together one draw.
        let (draws, apart) = match relation {
            Neighbouring::AddRemove => (groups, alone),
            Neighbouring::Replace if single => (1, swapped),
            Neighbouring::Replace => (groups, 2 * alone),
        };
        let count = NonZeroU32::new(draws).filter(|_| apart > 0);
        let count = count.ok_or(MechanismError::NoSensitivity)?;
        let one = 1u128 << 64;
        // In units of 2^-64, rounded down.
        let (rate, loss) = match loss {
            Loss::Approximate { epsilon, .. } => {
                let all = apart * u128::from(draws);
                let all = all.checked_mul(u128::from(Epsilon::units_per_one()));
                let all = all.ok_or(MechanismError::TooLarge)?;
                ((u128::from(epsilon.units()) << 64) / all, Loss::pure(epsilon))
            }
            Loss::Concentrated { rho, .. } => {
                let share = rho.to_f64() / f64::from(draws);
                let rate = match relation {
                    Neighbouring::Replace if !single => (range_of_rho(share) / swapped as f64)
                        .min(range_of_rho(0.5 * share) / alone as f64),
                    _ => range_of_rho(share) / apart as f64,
                };
                // Five roundings of half an ulp each are less than this.
                let rate = rate * (1.0 - 8.0 * f64::EPSILON);
                ((rate * one as f64).floor() as u128, Loss::concentrated(rho))
            }
        };
        if rate == 0 {
            return Err(MechanismError::NoBudget(loss.parameter()));
        }
        let weights = ExponentialWeights::new(Ratio::new(rate, one)?);
        // One left and one entered lose less rho than one of their common range, unless a shared
        // one may have that range.
        let together = relation == Neighbouring::Replace && !single && swapped < 2 * alone;
        let event = match loss {
            Loss::Approximate { epsilon, .. } => Event::BoundedRange { epsilon, draws: count },
            Loss::Concentrated { .. } if together => loss.into(),
            Loss::Concentrated { .. } => {
                let range = apart as f64 * weights.rate().to_f64() * (1.0 + 2.0 * f64::EPSILON);
                match Epsilon::from_f64_up(f64::from(draws) * range) {
                    Ok(epsilon) => Event::BoundedRange { epsilon, draws: count },
                    Err(_) => loss.into(),
                }
            }
        };
        Ok(Self { percentile, prior, weights, loss, event })
    }

    /// The draws of all groups that a unit changes, as one event.
    pub fn event(&self) -> Event {
        self.event
    }

    /// Cost of the released points of all groups.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// The percentile.
    pub fn percentile(&self) -> Percentile {
        self.percentile
    }

    /// ln of how much less likely a point is for each value between it and the quantile.
    pub fn rate(&self) -> f64 {
        self.weights.rate().to_f64() * f64::from(self.percentile.of)
    }

    /// A rank distance that is not exceeded with probability `level` in (0, 1), whatever the values
    /// are.
    ///
    /// The points at the quantile have a weight of at least the prior's least one, and those
    /// farther away than t together at most e^(-rate t) times all of it.
    pub fn rank_distance(&self, level: f64) -> f64 {
        let share = self.prior.least_share();
        -((1.0 - level) * share).ln() / self.rate()
    }

    /// Such a distance where the gaps between values near the quantile weigh alike: the law of the
    /// number of values in between is then a two-sided geometric one, P\[more than t\] = 2
    /// r^(t+1) / (1 + r) for r = e^-rate.
    pub fn rank_distance_even(&self, level: f64) -> f64 {
        let r = (-self.rate()).exp();
        (-((1.0 - level) * (1.0 + r) / 2.0).ln() / self.rate() - 1.0).max(0.0)
    }

    /// The standard deviation of the number of values in between where gaps weigh alike.
    pub fn deviation_even(&self) -> f64 {
        2f64.sqrt() / self.rate()
    }

    /// A point near the quantile of `values`, which are in the range and sorted.
    ///
    /// # Errors
    /// When the operating system's generator fails; an error of parameters is one of this program.
    pub fn release(&self, generator: &mut Generator, values: &[i64]) -> Result<i64, BatchError> {
        let point = self.draw(generator, values, self.prior)?;
        Ok(self.prior.of_fine(point))
    }

    /// A point near the quantile of sorted values, by a prior whose range they are in.
    pub(crate) fn draw<V: Copy + Into<i128>>(
        &self,
        generator: &mut Generator,
        values: &[V],
        prior: Prior,
    ) -> Result<i128, BatchError> {
        let (starts, cells) = self.cells(values, prior);
        let point = |cell: usize, offset: u128| {
            starts.get(cell).map_or(prior.low(), |&start| prior.nth(start, offset))
        };
        let loss = |cell: usize, offset: u128| self.distance(values, point(cell, offset));
        let (cell, offset) = self.weights.sample(generator, &cells, loss)?;
        let start = starts.get(cell).ok_or(ParameterError::LengthsDiffer)?;
        Ok(prior.nth(*start, offset))
    }

    /// ln of the ratio of a point's weights under two tables' values, which differs from that of
    /// its probabilities by a number that is the same for all points.
    pub fn log_ratio(&self, point: i64, [first, second]: [&[i64]; 2]) -> f64 {
        let distance = |values: &[i64]| self.distance(values, point.into()) as f64;
        (distance(second) - distance(first)) * self.weights.rate().to_f64()
    }

    /// The rank distance of a point, in units of 1/q.
    fn distance<V: Copy + Into<i128>>(&self, values: &[V], point: i128) -> u128 {
        let of = u128::from(self.percentile.of);
        let (before, to) = ranks(values, point);
        let target = self.target(values.len());
        (before * of).saturating_sub(target).max(target.saturating_sub(to * of))
    }

    /// The rank that is aimed at among `count` values, in units of 1/q.
    fn target(&self, count: usize) -> u128 {
        u128::from(self.percentile.below) * count as u128
    }

    /// Cells of points around the quantile by their rank distances, with the first point of each.
    ///
    /// Points to the right of the quantile have a distance of d or more from the value on that has
    /// p n + d values up to it, those to the left before the value that has p n - d before it.
    fn cells<V: Copy + Into<i128>>(
        &self,
        values: &[V],
        prior: Prior,
    ) -> (Vec<i128>, Vec<WeightCell>) {
        let (low, high) = (prior.low(), prior.high());
        let of = u128::from(self.percentile.of);
        let target = self.target(values.len());
        let value = |index: u128| {
            let entry = usize::try_from(index).ok().and_then(|p| values.get(p));
            entry.map(|&entry| entry.into())
        };
        // The last point before those to the right at that distance, and the first after those to
        // the left.
        let right = |distance: u128| {
            let values_to = (target + distance).div_ceil(of);
            values_to.checked_sub(1).and_then(value).unwrap_or(high)
        };
        let left = |distance: u128| {
            target.checked_sub(distance).and_then(|before| value(before / of)).unwrap_or(low)
        };
        let (mut starts, mut cells) = (Vec::new(), Vec::new());
        let mut drawn_weight = 0.0;
        let mut cell = |from: i128, to: i128, level: u32| {
            if from > to {
                return 0.0;
            }
            let candidates = prior.weight(from, to);
            starts.push(from);
            cells.push(WeightCell { candidates, level });
            candidates as f64 * (-f64::from(level)).exp2()
        };
        let (mut from, mut to) =
            (left(self.weights.least_loss(1)), right(self.weights.least_loss(1)));
        drawn_weight += cell(from, to, 0);
        let mut level = 1;
        loop {
            let beyond = prior.weight(low, from - 1) + prior.weight(to + 1, high);
            // Points that are farther are seldom taken, and can be in one cell: before level 90, as
            // a prior's least weight is above 2^-80 of the whole, and before level 110 where points
            // are divided into 2^20. One level before it was not, so that what was drawn then was
            // less than 32 * 2^-level of the whole: cells' weights, shifted by the last level, come
            // to 35 times the whole at most, which is far below 2^126.
            let last = beyond as f64 * (-f64::from(level)).exp2() <= drawn_weight / 16.0;
            let next = self.weights.least_loss(level + 1);
            let (next_from, next_to) = if last { (low, high) } else { (left(next), right(next)) };
            drawn_weight += cell(next_from, from - 1, level) + cell(to + 1, next_to, level);
            (from, to) = (next_from, next_to);
            if last || (from == low && to == high) {
                return (starts, cells);
            }
            level += 1;
        }
    }
}

/// The numbers of sorted values before a point, and up to it.
fn ranks<V: Copy + Into<i128>>(values: &[V], point: i128) -> (u128, u128) {
    let before = values.partition_point(|&v| v.into() < point);
    let rest = values.get(before..).unwrap_or_default();
    let to = before + rest.partition_point(|&v| v.into() == point);
    (before as u128, to as u128)
}

/// The rank distance of a point from a quantile of the values, in values.
pub(crate) fn distance(percentile: Percentile, values: &[i64], point: i64) -> f64 {
    let target = percentile.to_f64() * values.len() as f64;
    let (before, to) = ranks(values, point.into());
    (before as f64 - target).max(target - to as f64).max(0.0)
}

#[cfg(test)]
pub(crate) mod tests;
