//! Several quantiles of the values in a group, drawn together by a recursive split.

use std::ops::Range;

use hushtable_noise::{BatchError, Generator, ParameterError};
use hushtable_privacy::{Event, Loss, Neighbouring};

use crate::error::MechanismError;
use crate::laplace_sum::laplace_width;
use crate::prior::Prior;
use crate::quantile::{Percentile, Quantile, distance};

/// Random binary digits that are appended to each value, so that equal values differ.
const FINE: u32 = 20;

/// How many pieces of [`FINE`] digits a random word gives.
const PIECES_OF_WORD: usize = 3;

/// All of the values, in ten thousandths.
const WHOLE: u32 = 10_000;

/// Lattice points near several quantiles of a group's values, of which each unit has a limited
/// number. They never cross.
///
/// The middle one is drawn first, as a [`Quantile`] of all values, and splits them: values up to it
/// are the left half, all others the right one. The middle ones of both halves are drawn next, each
/// from its half, with its share among the values there as its percentile, and from the points up
/// to the split, or from it on. And so on: m quantiles take ceil(log2(m + 1)) levels.
///
/// Nodes of a level hold different values, so that a unit's values move all of them together no
/// more than they would move one: a level is one draw of bounded range, and levels compose
/// adaptively. Equal values are told apart by random digits, so that a split halves them, too. Even
/// shares of epsilon are within a hundredth of the best. Proofs and sources:
/// `theorems/quantiles.md#several-quantiles`.
#[derive(Clone, Debug, PartialEq)]
pub struct JointQuantiles {
    /// Over fine points.
    prior: Prior,
    /// By their percentiles.
    nodes: Vec<QuantileNode>,
    /// Index of the node of each requested percentile, in the order of the request.
    node_indices: Vec<usize>,
    levels: Vec<TreeLevel>,
    loss: Loss,
}

/// A quantile, drawn from the values between two others.
#[derive(Clone, Debug, PartialEq)]
struct QuantileNode {
    percentile: Percentile,
    /// The nodes of the splits between which it is drawn.
    lower: Option<usize>,
    upper: Option<usize>,
    /// By its percentile among the values in between.
    quantile: Quantile,
}

/// A level of the tree, whose nodes are drawn at once.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TreeLevel {
    share: Loss,
    event: Event,
}

/// The position of a node in the tree.
struct Position {
    node: usize,
    level: usize,
    lower: Option<usize>,
    upper: Option<usize>,
}

/// The positions of `count` nodes, each split before the nodes on its two sides.
fn positions_of(count: usize) -> Vec<Position> {
    let mut positions = Vec::with_capacity(count);
    let mut open = vec![(0..count, 0, None, None)];
    while let Some((nodes, level, lower, upper)) = open.pop() {
        let Some(node) = middle(&nodes) else { continue };
        positions.push(Position { node, level, lower, upper });
        open.push((nodes.start..node, level + 1, lower, Some(node)));
        open.push((node + 1..nodes.end, level + 1, Some(node), upper));
    }
    positions
}

/// The middle one of nodes.
fn middle(nodes: &Range<usize>) -> Option<usize> {
    (!nodes.is_empty()).then(|| nodes.start + nodes.len() / 2)
}

impl JointQuantiles {
    /// The number of levels in which `count` different quantiles are drawn.
    pub fn levels(count: usize) -> u32 {
        usize::BITS - count.leading_zeros()
    }

    /// The quantiles of values in `range`, of which a unit has at most `rows` in each of at most
    /// `groups` groups; `single` if there is only one group. At a loss that is all groups' and all
    /// quantiles' together. Points beyond the `scale` are the less likely the farther away they
    /// are.
    ///
    /// # Errors
    /// No percentile, an empty range, no loss, or a loss so small that every rate rounds to zero.
    pub fn new(
        percentiles: &[Percentile],
        (range, scale): ((i64, i64), i64),
        rows: u32,
        groups: (u32, bool),
        relation: Neighbouring,
        loss: Loss,
    ) -> Result<Self, MechanismError> {
        let prior = Prior::new(range.0, range.1, scale).ok_or(MechanismError::NoSensitivity)?;
        Self::of(percentiles, prior.fine(FINE), rows, groups, relation, loss)
    }

    /// The quantiles of values that are in the range of a prior as they are, or made finer.
    fn of(
        percentiles: &[Percentile],
        prior: Prior,
        rows: u32,
        groups: (u32, bool),
        relation: Neighbouring,
        loss: Loss,
    ) -> Result<Self, MechanismError> {
        let mut distinct: Vec<Percentile> = percentiles.to_vec();
        distinct.sort_unstable_by_key(|percentile| percentile.ten_thousandths());
        distinct.dedup();
        let tree = positions_of(distinct.len());
        let levels = Self::levels(distinct.len()) as usize;
        let even = vec![1; levels];
        let shares = loss.split(&even);
        let mut nodes: Vec<Option<QuantileNode>> = vec![None; distinct.len()];
        let mut events_by_level: Vec<Vec<Event>> = vec![Vec::new(); levels];
        let share_up_to =
            |node: usize| distinct.get(node).map(|percentile| percentile.ten_thousandths());
        for Position { node, level, lower, upper } in &tree {
            let is_alone = tree.iter().filter(|other| other.level == *level).count() == 1;
            let pair = distinct.get(*node).zip(shares.get(*level));
            let (percentile, share) = pair.ok_or(MechanismError::NoSensitivity)?;
            let split = |node: &usize| share_up_to(*node).ok_or(MechanismError::NoSensitivity);
            let from = lower.as_ref().map_or(Ok(0), split)?;
            let to = upper.as_ref().map_or(Ok(WHOLE), split)?;
            let relative = Percentile::between(percentile.ten_thousandths(), (from, to));
            let quantile = match is_alone {
                true => Quantile::of_all(relative, prior, rows, groups, relation, *share)?,
                false => Quantile::of_segment(relative, prior, rows, groups, relation, *share)?,
            };
            if let Some(events) = events_by_level.get_mut(*level) {
                events.push(quantile.event());
            }
            if let Some(entry) = nodes.get_mut(*node) {
                let (lower, upper) = (*lower, *upper);
                *entry = Some(QuantileNode { percentile: *percentile, lower, upper, quantile });
            }
        }
        let nodes: Option<Vec<QuantileNode>> = nodes.into_iter().collect();
        let nodes = nodes.filter(|nodes| !nodes.is_empty()).ok_or(MechanismError::NoSensitivity)?;
        let levels = events_by_level.iter().zip(shares).map(|(events, share)| {
            let event = together(events).unwrap_or_else(|| share.into());
            TreeLevel { share, event }
        });
        let levels: Vec<TreeLevel> = levels.collect();
        let index_of = |p: &Percentile| nodes.iter().position(|node| node.percentile == *p);
        let node_indices: Option<Vec<usize>> = percentiles.iter().map(index_of).collect();
        let node_indices = node_indices.ok_or(MechanismError::NoSensitivity)?;
        Ok(Self { prior, nodes, node_indices, levels, loss: loss.without_delta() })
    }

    /// Cost of the released points, of all groups and all quantiles.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// The draws of each level, in all groups that a unit changes, as one event each. Losses of
    /// levels add up to [`loss`](Self::loss).
    pub fn events(&self) -> Vec<Event> {
        self.levels.iter().map(|level| level.event).collect()
    }

    /// The most, for each level, that the log-ratios of its points are apart for each value more or
    /// less in a group, by the rates at which they are drawn.
    pub fn ranges(&self) -> Vec<f64> {
        let mut ranges = vec![0.0f64; self.levels.len()];
        for Position { node, level, .. } in positions_of(self.nodes.len()) {
            if let (Some(entry), Some(range)) = (self.nodes.get(node), ranges.get_mut(level)) {
                let share = entry.quantile.percentile().to_f64();
                *range = range.max(entry.quantile.rate() * 2.0 * share.max(1.0 - share));
            }
        }
        ranges
    }

    /// The number of requested quantiles, repeated ones included.
    pub fn quantiles(&self) -> usize {
        self.node_indices.len()
    }

    /// The requested percentile at the index `nth`.
    pub fn percentile(&self, nth: usize) -> Option<Percentile> {
        self.node(nth).map(|node| node.percentile)
    }

    /// ln of how much less likely a point is for each value between it and the quantile, where the
    /// points before are given.
    pub fn rate(&self, nth: usize) -> f64 {
        self.node(nth).map_or(0.0, |node| node.quantile.rate())
    }

    fn node(&self, nth: usize) -> Option<&QuantileNode> {
        self.nodes.get(*self.node_indices.get(nth)?)
    }

    /// Points near the quantiles of `values`, which are in the range and sorted, in the order of
    /// the requested percentiles.
    ///
    /// # Errors
    /// When the operating system's generator fails; an error of parameters is one of this program.
    pub fn release(
        &self,
        generator: &mut Generator,
        values: &[i64],
    ) -> Result<Vec<i64>, BatchError> {
        let fine = finer(generator, values)?;
        let points = self.draw(generator, &fine)?;
        let point = |index: &usize| {
            let fine = points.get(*index).ok_or(ParameterError::LengthsDiffer)?;
            Ok(self.prior.of_fine(*fine))
        };
        self.node_indices.iter().map(point).collect()
    }

    /// Fine points near the quantiles of fine values, by node.
    fn draw(&self, generator: &mut Generator, values: &[i128]) -> Result<Vec<i128>, BatchError> {
        let mut points = vec![self.prior.low(); self.nodes.len()];
        let mut open = vec![(0..self.nodes.len(), values, self.prior)];
        while let Some((nodes, values, prior)) = open.pop() {
            let Some(middle) = middle(&nodes) else { continue };
            let (Some(node), Some(point)) = (self.nodes.get(middle), points.get_mut(middle)) else {
                return Err(ParameterError::LengthsDiffer.into());
            };
            *point = node.quantile.draw(generator, values, prior)?;
            let (low, high) = (prior.low(), prior.high());
            let (left, right) = values.split_at(values.partition_point(|value| value <= point));
            open.push((nodes.start..middle, left, prior.between(low, *point)));
            open.push((middle + 1..nodes.end, right, prior.between(*point, high)));
        }
        Ok(points)
    }

    /// The weight of each node's error in that of a quantile, with the node's rate.
    fn errors(&self, nth: usize) -> Vec<(f64, f64)> {
        let mut weights = vec![0.0; self.nodes.len()];
        let mut open: Vec<(usize, f64)> =
            self.node_indices.get(nth).map(|p| (*p, 1.0)).into_iter().collect();
        while let Some((index, weight)) = open.pop() {
            let (Some(node), Some(sum)) = (self.nodes.get(index), weights.get_mut(index)) else {
                continue;
            };
            *sum += weight;
            let share_up_to =
                |index: Option<usize>| Some(self.nodes.get(index?)?.percentile.ten_thousandths());
            let from = share_up_to(node.lower).unwrap_or(0);
            let to = share_up_to(node.upper).unwrap_or(WHOLE);
            let above = Percentile::between(node.percentile.ten_thousandths(), (from, to)).to_f64();
            open.extend(node.lower.map(|lower| (lower, weight * (1.0 - above))));
            open.extend(node.upper.map(|upper| (upper, weight * above)));
        }
        let all = weights.into_iter().zip(&self.nodes);
        all.filter(|(weight, _)| *weight > 0.0).map(|(w, node)| (w, node.quantile.rate())).collect()
    }

    /// A rank distance that is not exceeded with probability `level` in (0, 1), whatever the values
    /// are, except for those that share one fine point: the sum of all errors in it, each of which
    /// is beyond its share with an equal share of the probability that is left. A split at a value
    /// has one value more up to it.
    pub fn rank_distance(&self, nth: usize, level: f64) -> f64 {
        let errors = self.errors(nth);
        let outside = (1.0 - level) / errors.len().max(1) as f64;
        let each = -(outside * self.prior.least_share()).ln();
        let all: f64 = errors.iter().map(|(weight, rate)| weight * (each / rate + 1.0)).sum();
        // It is no split itself.
        all - 1.0
    }

    /// Such a distance where the gaps between values near the quantiles weigh alike: errors are
    /// then nearly independent Laplace variables.
    pub fn rank_distance_even(&self, nth: usize, level: f64) -> f64 {
        let errors = self.errors(nth);
        let scales: Vec<f64> = errors.iter().map(|(weight, rate)| weight / rate).collect();
        // Half a value to either side is no value in between.
        (laplace_width(&scales, 1.0 - level) - 0.5).max(0.0)
    }

    /// The standard deviation of the error where gaps weigh alike, in values.
    pub fn deviation_even(&self, nth: usize) -> f64 {
        let variance = |(weight, rate): (f64, f64)| 2.0 * (weight / rate).powi(2);
        self.errors(nth).into_iter().map(variance).sum::<f64>().sqrt()
    }

    /// About the ln of the ratio of probabilities of a quantile's point under two tables' values:
    /// that of a draw from all values at the rate of its level, whatever the other points are.
    pub fn log_ratio(&self, nth: usize, point: i64, tables: [&[i64]; 2]) -> f64 {
        let Some(node) = self.node(nth) else { return 0.0 };
        let [first, second] = tables.map(|values| distance(node.percentile, values, point));
        (second - first) * node.quantile.rate()
    }
}

/// The draws of a level as one event: the largest of their ranges; `None` where one of them is
/// another event.
fn together(events: &[Event]) -> Option<Event> {
    let mut largest: Option<Event> = None;
    for event in events {
        let Event::BoundedRange { epsilon, .. } = event else { return None };
        match &largest {
            Some(Event::BoundedRange { epsilon: most, .. }) if most >= epsilon => {}
            _ => largest = Some(*event),
        }
    }
    largest
}

/// Appends random digits to each of the sorted values; the result is sorted, too.
fn finer(generator: &mut Generator, values: &[i64]) -> Result<Vec<i128>, BatchError> {
    let mut words = vec![0u64; values.len().div_ceil(PIECES_OF_WORD)];
    generator.fill_u64(&mut words)?;
    let digits = words.iter().flat_map(|word| {
        (0..PIECES_OF_WORD as u32).map(move |piece| (word >> (piece * FINE)) & ((1 << FINE) - 1))
    });
    let pairs = values.iter().zip(digits);
    let mut fine: Vec<i128> =
        pairs.map(|(value, digits)| (i128::from(*value) << FINE) + i128::from(digits)).collect();
    for equal in fine.chunk_by_mut(|a, b| a >> FINE == b >> FINE) {
        equal.sort_unstable();
    }
    Ok(fine)
}

#[cfg(test)]
mod tests;
