//! How far intervals around released quantiles of the same values reach, by one draw for all.

mod scales;

use hushtable_noise::{BatchError, Generator, ParameterError, WeightCell};
use hushtable_privacy::{Event, Loss, Neighbouring};

use self::scales::scales;
use super::{Percentile, Quantile};
use crate::error::MechanismError;
use crate::prior::Prior;

/// Distances to both sides of released points, one for each of some quantiles of a group's values,
/// so that all exact quantiles are within them with a stated probability.
///
/// The candidates for the largest distance are 0, 1, 2, 3, 4, 6, 8, 12 and so on, up to the width
/// of the range; the others follow from it and from the released points, in proportion to
/// `scales`. The *margin* of a candidate is how many values the rank p n of a quantile is inside
/// of its interval, at the nearer end: p n - #{values < point - distance}, or #{values <= point +
/// distance} - p n, except for an end that is at or beyond that of the range; and of all quantiles
/// it is the least. It never falls from a candidate to the next, and is zero or less if an exact
/// quantile is outside. A candidate is drawn with probability proportional to itself and one, times
/// e^(-rate * m), where m is how far the aim is from the margins between that of the candidate
/// before and its own.
///
/// One value more or less changes no margin by more than the largest max(p, 1 - p), and an exchange
/// none by more than 1, as for the rank distances of one quantile: so the loss is the same, however
/// many quantiles there are. Proofs: `theorems/quantiles.md#intervals-around-quantiles`.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileReaches {
    percentiles: Vec<Percentile>,
    /// The quantile that one value moves the most, at the same loss. Its rank distances are in ten
    /// thousandths, as the margins are.
    quantile: Quantile,
    /// The range of values.
    range: (i64, i64),
    /// The candidates.
    largest: Vec<u64>,
    /// The margin that is aimed at.
    aim: i128,
}

/// The distances of all quantiles for each candidate around some released points.
type DistancesOfEach = Vec<Vec<u64>>;

impl QuantileReaches {
    /// Aims are lower, in values.
    const HIGHEST_AIM: f64 = 1e15;
    /// Highest level of cells, so that weights fit.
    const HIGHEST_LEVEL: u32 = 60;

    /// The reaches of intervals that hold all these quantiles of values in `range` with probability
    /// `level` in (0, 1) at least, whatever the values and the points are. A unit has at most
    /// `rows` of them in each of at most `groups` groups; `single` if there is only one group. At a
    /// loss that is all groups' together.
    ///
    /// # Errors
    /// No quantile; an empty range, no loss, or a loss so small that the rate rounds to zero.
    pub fn new(
        (percentiles, level): (&[Percentile], f64),
        range: (i64, i64),
        rows: u32,
        (groups, single): (u32, bool),
        relation: Neighbouring,
        loss: Loss,
    ) -> Result<Self, MechanismError> {
        let farther =
            |p: &Percentile| p.ten_thousandths().max(Percentile::WHOLE - p.ten_thousandths());
        let below = percentiles.iter().map(farther).max().ok_or(MechanismError::NoSensitivity)?;
        let farthest = Percentile { below, of: Percentile::WHOLE };
        let scale = i64::try_from(range.0.unsigned_abs().max(range.1.unsigned_abs()));
        let scale = scale.map_err(|_| MechanismError::NoSensitivity)?;
        let prior = Prior::new(range.0, range.1, scale).ok_or(MechanismError::NoSensitivity)?;
        let groups = (groups, single);
        let quantile = Quantile::of_all(farthest, prior, rows, groups, relation, loss)?;
        let largest = largest_distances(range.0.abs_diff(range.1));
        let odds = most_before(&largest) * level / (1.0 - level);
        // Floating point is off by much less than a billionth.
        let aim = odds.ln().max(0.0) / quantile.rate() * (1.0 + 1e-9);
        if aim.is_nan() || aim > Self::HIGHEST_AIM {
            return Err(MechanismError::TooLarge);
        }
        let aim = (aim * f64::from(Percentile::WHOLE)).ceil() as i128;
        Ok(Self { percentiles: percentiles.to_vec(), quantile, range, largest, aim })
    }

    /// The interval of a point in the range and a distance.
    pub fn interval((low, high): (i64, i64), point: i128, distance: i128) -> (i128, i128) {
        let (low, high) = (i128::from(low), i128::from(high));
        (point.saturating_sub(distance).max(low), point.saturating_add(distance).min(high))
    }

    /// The draws of all groups that a unit changes, as one event.
    pub fn event(&self) -> Event {
        self.quantile.event()
    }

    /// Cost of the reaches of all groups.
    pub fn loss(&self) -> Loss {
        self.quantile.loss()
    }

    /// How many quantiles there are.
    pub fn quantiles(&self) -> usize {
        self.percentiles.len()
    }

    /// ln of how much less likely a candidate is for each value that its margin is off the aim.
    pub fn rate(&self) -> f64 {
        self.quantile.rate()
    }

    /// The number of values that are aimed at, from each quantile to the end of its interval that
    /// is nearer by their number.
    pub fn aim(&self) -> f64 {
        self.aim as f64 / f64::from(Percentile::WHOLE)
    }

    /// Distances for sorted values and the points that were released for their quantiles, all in
    /// the range.
    ///
    /// # Errors
    /// When the operating system's generator fails; an error of parameters is one of this program.
    pub fn release(
        &self,
        generator: &mut Generator,
        values: &[i64],
        points: &[i64],
    ) -> Result<Vec<i64>, BatchError> {
        if points.len() != self.quantiles() {
            return Err(ParameterError::LengthsDiffer.into());
        }
        let candidates = self.candidates(points);
        let losses = self.losses(values, points, &candidates);
        let weights = &self.quantile.weights;
        let rate = weights.rate().to_f64();
        let cell = |(&largest, &loss): (&u64, &u128)| {
            let about = loss as f64 * rate / std::f64::consts::LN_2;
            let mut level = (about as u32).min(Self::HIGHEST_LEVEL);
            while level > 0 && weights.least_loss(level) > loss {
                level -= 1;
            }
            WeightCell { candidates: weight(largest), level }
        };
        let cells: Vec<WeightCell> = self.largest.iter().zip(&losses).map(cell).collect();
        let loss = |cell: usize, _| losses.get(cell).copied().unwrap_or(0);
        let (drawn, _) = weights.sample(generator, &cells, loss)?;
        let distances = candidates.get(drawn).ok_or(ParameterError::LengthsDiffer)?;
        // The width of a range within 2^60 to both sides.
        Ok(distances.iter().map(|&distance| distance as i64).collect())
    }

    /// ln of the ratio of the weights of a quantile's distance around released points under two
    /// tables' values, which differs from that of its probabilities by a number that is the same
    /// for all distances; `None` for no distance of these.
    pub fn log_ratio(
        &self,
        (nth, distance): (usize, i64),
        points: &[i64],
        values: [&[i64]; 2],
    ) -> Option<f64> {
        let distance = u64::try_from(distance).ok()?;
        let candidates = self.candidates(points);
        let is_this = |of: &Vec<u64>| of.get(nth) == Some(&distance);
        let index = candidates.iter().position(is_this)?;
        let of = |values| self.losses(values, points, &candidates).get(index).copied();
        let [first, second] = values.map(of);
        Some((second? as f64 - first? as f64) * self.quantile.weights.rate().to_f64())
    }

    /// The distances of all quantiles for each candidate.
    fn candidates(&self, points: &[i64]) -> DistancesOfEach {
        let scales = scales(&self.percentiles, points, self.range);
        let width = self.range.0.abs_diff(self.range.1);
        // The last one is the width of the range for all.
        let of = |&largest: &u64| {
            let distance = |scale: &f64| match largest < width {
                true => ((largest as f64 * scale).ceil() as u64).min(width),
                false => width,
            };
            scales.iter().map(distance).collect()
        };
        self.largest.iter().map(of).collect()
    }

    /// How far the aim is from the margins of each candidate. It ends with the first whose
    /// intervals are all the whole range, which no other's is larger than.
    fn losses(&self, values: &[i64], points: &[i64], candidates: &DistancesOfEach) -> Vec<u128> {
        let mut losses = Vec::with_capacity(candidates.len());
        let mut before = None;
        for distances in candidates {
            let margin = self.margin(values, points, distances);
            let above = before.map_or(0, |before: i128| before - self.aim);
            let below = margin.map_or(0, |margin| self.aim - margin);
            losses.push(above.max(below).max(0).unsigned_abs());
            if margin.is_none() {
                break;
            }
            before = margin;
        }
        losses
    }

    /// The least margin of distances around points; `None` where all intervals are the range.
    fn margin(&self, values: &[i64], points: &[i64], distances: &[u64]) -> Option<i128> {
        let of = i128::from(Percentile::WHOLE);
        let ends = self.percentiles.iter().zip(points).zip(distances);
        let margins = ends.flat_map(|((percentile, &point), &distance)| {
            let (low, high) = Self::interval(self.range, point.into(), distance.into());
            let target = i128::from(percentile.ten_thousandths()) * values.len() as i128;
            let below = (low > self.range.0.into()).then(|| {
                let below = values.partition_point(|&value| i128::from(value) < low);
                target - of * below as i128
            });
            let above = (high < self.range.1.into()).then(|| {
                let to = values.partition_point(|&value| i128::from(value) <= high);
                of * to as i128 - target
            });
            [below, above]
        });
        margins.flatten().min()
    }
}

/// Powers of two and what is halfway between, from 0 to the width of a range.
fn largest_distances(width: u64) -> Vec<u64> {
    let halfway = |power: u64| power + power / 2;
    let powers = (0..u64::BITS - 1).map(|k| 1u64 << k);
    let all = powers.flat_map(|power| [power, halfway(power)]);
    let mut distances = vec![0];
    distances.extend(all.take_while(|&distance| distance < width));
    distances.push(width);
    // 1 is halfway from itself, and a range may have no width.
    distances.dedup();
    distances
}

/// The weight of a candidate where nothing is known of the values.
fn weight(largest: u64) -> u128 {
    u128::from(largest) + 1
}

/// The largest ratio of the weight of all candidates before one to its own.
fn most_before(largest: &[u64]) -> f64 {
    let (mut before, mut most) = (0u128, 0.0f64);
    for &distance in largest {
        let weight = weight(distance);
        most = most.max(before as f64 / weight as f64);
        before += weight;
    }
    most
}

#[cfg(test)]
mod tests;
