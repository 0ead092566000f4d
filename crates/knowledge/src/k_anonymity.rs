//! Tables of counts from which small ones are dropped.

use crate::error::KnowledgeError;
use crate::histogram::{Histogram, check_lower_bounds};
use crate::integer_law::IntegerLaw;
use crate::probability::{MOST_RECORDS, Probability, ProbabilityRange};

/// Most values that are computed with.
const MOST_VALUES: usize = 20;

/// Most weights of laws for each pair.
const WEIGHTS: f64 = 2e5;

/// The counts of several values, each released if it is at least k (PK Definition 16), with bounds
/// of the probability that an unknown record has the value. The attacker knows no record.
///
/// In place of PK Theorem 5, each pair of values that the target may have is bounded by the best of
/// (theory section 7):
///
/// - both spread: the bound of [`Histogram`], as dropping counts only hides;
/// - both rare: (0, P\[Bin(m, h) >= k-1\]) for each, added up: unless one of the two counts is near
///   k without the target, the same is published;
/// - one rare and the other spread: by way of *absent*, a value whose count is never published: (0,
///   d) and (epsilon, d') give (epsilon, d' + e^epsilon d).
#[derive(Clone, Debug)]
pub struct KAnonymity {
    values: Vec<ProbabilityRange>,
    absent: Option<ProbabilityRange>,
    /// By value: P\[Bin(m, h) >= k-1\].
    rare: Vec<f64>,
    /// For pairs of lower bounds.
    spread: Vec<(Probability, Probability, Histogram)>,
}

/// A value that the target may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The value at this index.
    Value(usize),
    /// No value: the target is not in the table.
    Absent,
}

/// Why a pair is protected as well as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Enough unknown records have either value.
    Spread,
    /// Both counts are dropped, except for bad luck.
    Rare,
    /// The rare one's count is dropped, and those who are absent hide how many there are.
    ThroughAbsent,
    /// Nothing protects it.
    Unprotected,
}

/// Two values, and how well what is published hides which of them the target has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The first value.
    pub one: Side,
    /// The second value.
    pub other: Side,
    /// The delta, rounded up.
    pub delta: f64,
    /// The bound that gave it.
    pub reason: Reason,
}

impl KAnonymity {
    /// Counts from `k` on are released. Beside the target there are `others`, each with
    /// probabilities of the `values` within bounds, and perhaps of being `absent`.
    ///
    /// # Errors
    /// Unless `others` is from 1 to 1,000,000,000, k from 1 to one more, there are two values (or
    /// one and absent) to 20, and the bounds leave room for probabilities that add up to one.
    pub fn new(
        k: u64,
        others: u64,
        values: &[ProbabilityRange],
        absent: Option<ProbabilityRange>,
    ) -> Result<Self, KnowledgeError> {
        if others == 0 || others > MOST_RECORDS {
            return Err(KnowledgeError::Records(others));
        }
        if k == 0 || k > others + 1 {
            return Err(KnowledgeError::K { k, records: others + 1 });
        }
        let all: Vec<ProbabilityRange> = values.iter().copied().chain(absent).collect();
        if all.len() < 2 || values.is_empty() || values.len() > MOST_VALUES {
            return Err(KnowledgeError::Values(values.len()));
        }
        let lower: Vec<Probability> = all.iter().map(|v| v.low()).collect();
        check_lower_bounds(&lower)?;
        let upper: f64 = all.iter().map(|v| v.high().get()).sum();
        if upper < 1.0 - 1e-12 {
            return Err(KnowledgeError::UpperBounds(upper));
        }
        let least = i64::try_from(k).unwrap_or(i64::MAX) - 1;
        let rare = values
            .iter()
            .map(|v| IntegerLaw::binomial(others, v.high(), 1e-290).at_least(least))
            .collect();
        let mut spread: Vec<(Probability, Probability, Histogram)> = Vec::new();
        for (i, one) in lower.iter().enumerate() {
            for other in &lower[..i] {
                let [a, b] = ordered(*one, *other);
                let new = !spread.iter().any(|(c, d, _)| (*c, *d) == (a, b));
                if a.get() > 0.0 && b.get() > 0.0 && new {
                    spread.push((a, b, Histogram::with_weights(others, a, b, WEIGHTS)?));
                }
            }
        }
        Ok(Self { values: values.to_vec(), absent, rare, spread })
    }

    /// All pairs at `epsilon`, in the order of the values. `epsilon` >= 0; anything else gives
    /// deltas of 1.
    pub fn pairs(&self, epsilon: f64) -> Vec<Pair> {
        let mut sides: Vec<Side> = (0..self.values.len()).map(Side::Value).collect();
        sides.extend(self.absent.map(|_| Side::Absent));
        let mut pairs = Vec::new();
        for (i, one) in sides.iter().enumerate() {
            for other in &sides[i + 1..] {
                pairs.push(self.pair(*one, *other, epsilon));
            }
        }
        pairs
    }

    /// One pair at `epsilon`.
    pub fn pair(&self, one: Side, other: Side, epsilon: f64) -> Pair {
        // Each way to protect a pair only offers a bound. Where none does, nothing is promised.
        let mut best = Pair { one, other, delta: 1.0, reason: Reason::Unprotected };
        if epsilon.is_nan() || epsilon < 0.0 {
            return best;
        }
        let mut offer = |delta: f64, reason: Reason| {
            if delta < best.delta {
                best = Pair { one, other, delta, reason };
            }
        };
        if let Some(spread) = self.spread(one, other) {
            offer(spread.delta(epsilon), Reason::Spread);
        }
        offer(sum_up(self.rare(one), self.rare(other)), Reason::Rare);
        if one != Side::Absent && other != Side::Absent && self.absent.is_some() {
            for (rare, common) in [(one, other), (other, one)] {
                let Some(spread) = self.spread(common, Side::Absent) else { continue };
                // A delta that holds at a smaller epsilon holds at this one.
                for share in 0..=STEPS {
                    let at = epsilon * f64::from(share) / f64::from(STEPS);
                    let factor = at.exp() * (1.0 + f64::EPSILON);
                    let delta = sum_up(spread.delta(at), factor * self.rare(rare));
                    offer(delta, Reason::ThroughAbsent);
                }
            }
        }
        best
    }

    /// The largest delta of all pairs at `epsilon`.
    pub fn delta(&self, epsilon: f64) -> f64 {
        self.pairs(epsilon).iter().map(|pair| pair.delta).fold(0.0, f64::max)
    }

    fn bounds(&self, side: Side) -> Option<ProbabilityRange> {
        match side {
            Side::Value(index) => self.values.get(index).copied(),
            Side::Absent => self.absent,
        }
    }

    fn rare(&self, side: Side) -> f64 {
        match side {
            Side::Value(index) => self.rare.get(index).copied().unwrap_or(1.0),
            // Its count is never released.
            Side::Absent => 0.0,
        }
    }

    fn spread(&self, one: Side, other: Side) -> Option<&Histogram> {
        let [a, b] = ordered(self.bounds(one)?.low(), self.bounds(other)?.low());
        self.spread.iter().find(|(c, d, _)| (*c, *d) == (a, b)).map(|(_, _, spread)| spread)
    }
}

/// Parts of epsilon that are tried on the way through absent.
const STEPS: u32 = 16;

fn ordered(a: Probability, b: Probability) -> [Probability; 2] {
    if a <= b { [a, b] } else { [b, a] }
}

fn sum_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Rounded up, so that the sum of two bounds is a bound.
    if sum > 0.0 { sum.next_up().min(1.0) } else { 0.0 }
}
