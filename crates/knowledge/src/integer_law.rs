//! Laws of counts, with bounds of their errors.

use crate::double::{Double, NeumaierSum};
use crate::error::KnowledgeError;
use crate::probability::{Probability, Profile};

/// Half a unit in the last place of one.
pub(crate) const UNIT: f64 = f64::EPSILON / 2.0;

/// Most multiplications for one result.
const MOST_WORK: f64 = 3e10;

/// Most multiplications for which a lower floor is tried.
const LITTLE_WORK: f64 = 1.5e9;

/// Probabilities below which nothing is kept, the deepest first. Above the last of them every delta
/// of 1e-30 is made up of what is kept; below, it is a bound.
const FLOORS: [f64; 3] = [1e-290, 1e-150, 1e-70];

/// A log-concave law on the integers.
///
/// P\[first + i\] is `weights[i]` within a relative error of `error`, and besides what is left out,
/// which is at most `lost` together. Beyond its weights it falls by e^-tail with every step; with
/// an infinite tail there is nothing.
#[derive(Clone, Debug)]
pub(crate) struct IntegerLaw {
    pub(crate) first: i64,
    pub(crate) weights: Vec<f64>,
    pub(crate) error: f64,
    pub(crate) lost: f64,
    pub(crate) tail: f64,
}

impl IntegerLaw {
    /// Always `value`.
    pub(crate) fn point(value: i64) -> Self {
        Self { first: value, weights: vec![1.0], error: 0.0, lost: 0.0, tail: f64::INFINITY }
    }

    /// The law of the number of successes in `count` trials. Probabilities less than `floor` times
    /// the largest are left out.
    ///
    /// From the mode on, in both directions, by the ratio of neighbours, in twice the precision;
    /// all are then divided by their sum.
    pub(crate) fn binomial(count: u64, p: Probability, floor: f64) -> Self {
        let p = p.get();
        if p <= 0.0 || count == 0 {
            return Self::point(0);
        }
        if p >= 1.0 {
            return Self::point(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let n = count as f64;
        let mode = ((n + 1.0) * p).floor().min(n);
        let q = Double::complement(p);
        // (n-k)p / ((k+1)q) is P[k+1]/P[k].
        let odds = |k: f64| (Double::product(n - k, p), q.times(Double::product(k + 1.0, 1.0)));
        let mut above = Vec::new();
        let mut lost = 0.0;
        let (mut weight, mut k) = (Double::ONE, mode);
        while k < n {
            let (up, down) = odds(k);
            let next = weight.times(up).over(down);
            if next.high < floor {
                lost += remainder(weight.high, next.high);
                break;
            }
            above.push(next.high);
            (weight, k) = (next, k + 1.0);
        }
        let mut weights = Vec::new();
        (weight, k) = (Double::ONE, mode);
        while k > 0.0 {
            let (up, down) = odds(k - 1.0);
            let next = weight.times(down).over(up);
            if next.high < floor {
                lost += remainder(weight.high, next.high);
                break;
            }
            weights.push(next.high);
            (weight, k) = (next, k - 1.0);
        }
        weights.reverse();
        weights.push(1.0);
        weights.extend(above);
        let mut sum = NeumaierSum::default();
        weights.iter().for_each(|w| sum.add(*w));
        let sum = sum.value();
        weights.iter_mut().for_each(|w| *w /= sum);
        // One rounding to a double each, the sum, the quotient; 2^-100 of the rest in 2^30 steps.
        // Terms left out of the sum make the weights too large by as much.
        Self { first: k as i64, weights, error: 6.0 * UNIT, lost, tail: f64::INFINITY }
    }

    /// The number of those of `profile` that are counted: a Poisson binomial law.
    ///
    /// # Errors
    /// If it takes too many multiplications.
    pub(crate) fn of(profile: &Profile) -> Result<Self, KnowledgeError> {
        let groups = profile.groups();
        let floor = floor_for(profile.variance(), groups.len())?;
        let mut laws: Vec<Self> =
            groups.iter().map(|(count, p)| Self::binomial(*count, *p, floor)).collect();
        // In rounds, each law with its neighbour in size, so that all rounds take about the same
        // time.
        while laws.len() > 1 {
            laws.sort_by_key(|law| law.weights.len());
            laws = laws
                .chunks(2)
                .map(|pair| match pair {
                    [one, other] => one.plus(other, floor),
                    _ => pair.first().cloned().unwrap_or_else(|| Self::point(0)),
                })
                .collect();
        }
        Ok(laws.pop().unwrap_or_else(|| Self::point(0)))
    }

    /// The law of the sum of two independent numbers, neither with a tail. Products below `floor`
    /// are left out, so that none is below the normal doubles.
    pub(crate) fn plus(&self, other: &Self, floor: f64) -> Self {
        let (short, long) =
            if self.weights.len() <= other.weights.len() { (self, other) } else { (other, self) };
        let (few, many) = (short.weights.len() as f64, long.weights.len() as f64);
        let mut weights = vec![0.0; short.weights.len() + long.weights.len() - 1];
        // Sums of about sqrt(few) sums of as many products: no sum is of many terms.
        let block = if few <= 16.0 { 16 } else { few.sqrt().ceil() as usize };
        let mut of_block = vec![0.0; long.weights.len() + block - 1];
        let peak = mode(&long.weights);
        for (at, rows) in short.weights.chunks(block).enumerate() {
            let sums = &mut of_block[..long.weights.len() + rows.len() - 1];
            for (i, weight) in rows.iter().enumerate() {
                let least = floor / weight;
                // Weights rise to the mode and fall from there.
                let start = long.weights[..peak].partition_point(|w| *w < least);
                let end = peak + long.weights[peak..].partition_point(|w| *w >= least);
                if start < end {
                    let terms = &long.weights[start..end];
                    for (sum, term) in sums[i + start..i + end].iter_mut().zip(terms) {
                        *sum += weight * term;
                    }
                }
            }
            for (weight, sum) in weights[at * block..].iter_mut().zip(sums) {
                *weight += *sum;
                *sum = 0.0;
            }
        }
        let start = weights.iter().position(|w| *w > 0.0).unwrap_or(0);
        let end = weights.iter().rposition(|w| *w > 0.0).unwrap_or(0);
        weights.truncate(end + 1);
        weights.drain(..start);
        Self {
            first: short.first + long.first + i64::try_from(start).unwrap_or(0),
            weights,
            // Roundings of the terms in a sum, of the sums, and of one product each.
            error: (short.error + long.error + (block as f64 + few / block as f64 + 3.0) * UNIT)
                * (1.0 + 1e-6),
            lost: short.lost + long.lost + 2.0 * few * many * floor,
            tail: f64::INFINITY,
        }
    }

    /// The law of the sum with independent two-sided geometric noise, P\[x\] ~ e^(-loss |x|): two
    /// passes, as the noise forgets at a constant rate.
    pub(crate) fn plus_geometric(&self, loss: f64) -> Self {
        let keep = (-loss).exp();
        let share = (0.5 * loss).tanh();
        let mut after = 0.0;
        let mut from_above: Vec<f64> = self
            .weights
            .iter()
            .rev()
            .map(|w| {
                let sum = after;
                after = (after + w) * keep;
                sum
            })
            .collect();
        from_above.reverse();
        let mut before = 0.0;
        let weights: Vec<f64> = self
            .weights
            .iter()
            .zip(from_above)
            .map(|(w, above)| {
                before = before * keep + w;
                (before + above) * share
            })
            .collect();
        // Each step is three roundings, one of them in e^-loss.
        let error = (self.error + (4.0 * weights.len() as f64 + 8.0) * UNIT) * (1.0 + 1e-6);
        Self { first: self.first, weights, error, lost: self.lost, tail: loss }
    }

    /// P\[X >= `least`\], rounded up.
    pub(crate) fn at_least(&self, least: i64) -> f64 {
        let skip = usize::try_from(least - self.first).unwrap_or(0);
        let mut sum = NeumaierSum::default();
        self.weights.iter().skip(skip).rev().for_each(|w| sum.add(*w));
        (sum.value() * (1.0 + self.error + 4.0 * UNIT) + self.lost).min(1.0)
    }

    /// The value that has the last weight.
    pub(crate) fn last(&self) -> i64 {
        self.first + i64::try_from(self.weights.len()).unwrap_or(i64::MAX) - 1
    }
}

/// The sum beyond a weight, given it and the next: at most a geometric series, as ratios fall.
fn remainder(weight: f64, next: f64) -> f64 {
    let ratio = next / weight;
    // A law has its largest weight at the start and falls by 1e70 and more, so ratios are far below
    // one; where rounding says otherwise, everything may be lost.
    if ratio < 1.0 { next / (1.0 - ratio) * (1.0 + 1e-9) } else { 1.0 }
}

fn mode(weights: &[f64]) -> usize {
    let mut best = 0;
    for (i, weight) in weights.iter().enumerate() {
        if *weight > weights[best] {
            best = i;
        }
    }
    best
}

/// The deepest floor at which the sum of `laws` laws with this variance together is little work.
///
/// # Errors
/// If it is too much work at any.
pub(crate) fn floor_for(variance: f64, laws: usize) -> Result<f64, KnowledgeError> {
    let rounds = (laws as f64).log2().ceil();
    let mut work = 0.0;
    for floor in FLOORS {
        // A round multiplies what lies within an ellipse of sqrt(2 ln 1/floor) deviations.
        work = rounds * std::f64::consts::PI * -floor.ln() * (variance + 1.0);
        if work <= LITTLE_WORK {
            return Ok(floor);
        }
    }
    if work <= MOST_WORK { Ok(FLOORS[FLOORS.len() - 1]) } else { Err(KnowledgeError::Work(work)) }
}

/// Refuses convolutions that take too much work.
pub(crate) fn check_work(
    one: &IntegerLaw,
    other: &IntegerLaw,
    times: f64,
) -> Result<(), KnowledgeError> {
    let work = one.weights.len() as f64 * other.weights.len() as f64 * times;
    if work <= MOST_WORK { Ok(()) } else { Err(KnowledgeError::Work(work)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    #[test]
    fn binomial_laws_are_exact() {
        // By the multiplicative formula, whose factors are exact for these.
        let law = IntegerLaw::binomial(50, p(0.5), 1e-290);
        assert_eq!((law.first, law.weights.len()), (0, 51));
        let mut want = 0.5f64.powi(50);
        for (k, weight) in law.weights.iter().enumerate() {
            assert!((weight / want - 1.0).abs() < 2e-15, "{k}");
            want = want * (50 - k) as f64 / (k + 1) as f64;
        }
        let deep = IntegerLaw::binomial(1_000_000, p(0.3), 1e-290);
        assert!(deep.lost < 1e-285 && deep.weights.iter().sum::<f64>() - 1.0 < 1e-12);
        let mean: f64 = (0..).zip(&deep.weights).map(|(k, w)| f64::from(k) * w).sum();
        assert!((mean + deep.first as f64 - 300_000.0).abs() < 1e-6);
        for (end, at) in [(0.0, 0), (1.0, 7)] {
            let law = IntegerLaw::binomial(7, p(end), 1e-290);
            assert_eq!((law.first, law.weights.as_slice()), (at, &[1.0][..]));
        }
    }

    #[test]
    fn sums_of_binomials_are_binomials() {
        for (a, b, q) in [(3, 5, 0.2), (400, 700, 0.01), (20_000, 30_000, 0.5)] {
            let whole = IntegerLaw::binomial(a + b, p(q), 1e-290);
            let sum = IntegerLaw::binomial(a, p(q), 1e-290)
                .plus(&IntegerLaw::binomial(b, p(q), 1e-290), 1e-290);
            let error = sum.error + whole.error;
            for (k, want) in (whole.first..).zip(&whole.weights).filter(|(_, w)| **w > 1e-270) {
                let have = sum.weights[usize::try_from(k - sum.first).unwrap()];
                assert!((have / want - 1.0).abs() < error, "{a} {b} {have} {want}");
            }
        }
    }

    #[test]
    fn geometric_noise_is_a_convolution() {
        let law = IntegerLaw::binomial(6, p(0.3), 1e-290);
        let loss = 0.7f64;
        let noisy = law.plus_geometric(loss);
        for (k, have) in (0..).zip(&noisy.weights) {
            let share = (1.0 - (-loss).exp()) / (1.0 + (-loss).exp());
            let want: f64 = (0..)
                .zip(&law.weights)
                .map(|(j, w)| w * share * (-loss * f64::from(i32::abs(k - j))).exp())
                .sum();
            assert!((have / want - 1.0).abs() < 1e-14);
        }
    }
}
