//! Counts that are released above a threshold.

use crate::divergence::{above, larger};
use crate::double::NeumaierSum;
use crate::error::KnowledgeError;
use crate::integer_law::{IntegerLaw, UNIT};
use crate::probability::Profile;

/// A count that is released if it is above a threshold (PK Definition 15), and otherwise only that
/// it is not.
///
/// The laws are exact, with one outcome for whatever is suppressed (theory section 7, in place of
/// the closed bound of PK Theorem 4). An attacker knows b of the known records to be counted, which
/// leaves a threshold that is lower by b.
#[derive(Clone, Debug)]
pub struct CountAbove {
    law: IntegerLaw,
    known: IntegerLaw,
    knowns: u64,
    above: i64,
}

/// The risks of a release with a threshold, to those who know some records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attackers {
    /// To those who happen to know them: the mean over what they may know (PK Definition 13).
    pub passive: f64,
    /// To those who chose what they are, and planted them: the largest over it (PK Definition 12).
    pub active: f64,
}

impl CountAbove {
    /// Counts above `above` are released. Beside the target, the records of `unknown` are not
    /// known, and those of `known` are.
    ///
    /// # Errors
    /// Unless `above` is below the number of records; if there are too many different probabilities
    /// for the number of records.
    pub fn new(above: u64, unknown: &Profile, known: &Profile) -> Result<Self, KnowledgeError> {
        let above = checked_threshold(above, unknown.records(), known.records())?;
        let (law, known_law) = (IntegerLaw::of(unknown)?, IntegerLaw::of(known)?);
        Ok(Self { law, known: known_law, knowns: known.records(), above })
    }

    /// delta at `epsilon`, rounded up: exact except for rounding. `epsilon` >= 0; anything else
    /// gives 1.
    pub fn delta(&self, epsilon: f64) -> Attackers {
        if epsilon.is_nan() || epsilon < 0.0 {
            return Attackers { passive: 1.0, active: 1.0 };
        }
        let lowest = self.above - i64::try_from(self.knowns).unwrap_or(i64::MAX);
        let at = SuppressionBounds::new(&self.law, epsilon, lowest, self.above);
        let active = at.largest();
        // A mean is no more than the largest, whatever rounding says.
        let mean = passive(&self.known, |b| at.at(self.above - b)).min(active);
        Attackers { passive: mean, active }
    }
}

/// # Errors
/// Unless it is below the number of records.
pub(crate) fn checked_threshold(
    above: u64,
    others: u64,
    known: u64,
) -> Result<i64, KnowledgeError> {
    let records = others.saturating_add(known).saturating_add(1);
    let refused = KnowledgeError::Threshold { threshold: above, records };
    if above >= records {
        return Err(refused);
    }
    i64::try_from(above).map_err(|_| refused)
}

/// The mean of divergences over how many known records are counted, in the worse direction.
pub(crate) fn passive(known: &IntegerLaw, at: impl Fn(i64) -> [f64; 2]) -> f64 {
    let mut sums = [NeumaierSum::default(); 2];
    for (b, weight) in (known.first..).zip(&known.weights) {
        for (sum, bound) in sums.iter_mut().zip(at(b)) {
            sum.add(weight * bound);
        }
    }
    let worst = sums[0].value().max(sums[1].value());
    (worst * (1.0 + known.error + 8.0 * UNIT) + known.lost).min(1.0)
}

/// The divergences at all thresholds of a range.
pub(crate) struct SuppressionBounds {
    first: i64,
    bounds: Vec<[f64; 2]>,
}

impl SuppressionBounds {
    pub(crate) fn new(law: &IntegerLaw, epsilon: f64, lowest: i64, highest: i64) -> Self {
        // Below the law nothing is suppressed, and above it everything: there is no change there.
        let (bottom, top) = (law.first - 1, law.last() + 2);
        let first = lowest.clamp(bottom, top);
        let thresholds: Vec<i64> = (first..=highest.clamp(bottom, top)).collect();
        Self { first, bounds: above(law, epsilon, &thresholds) }
    }

    pub(crate) fn at(&self, threshold: i64) -> [f64; 2] {
        let last = self.bounds.len().saturating_sub(1);
        let index = usize::try_from(threshold - self.first).unwrap_or(0).min(last);
        self.bounds.get(index).copied().unwrap_or([1.0, 1.0])
    }

    pub(crate) fn largest(&self) -> f64 {
        self.bounds.iter().map(|bound| larger(*bound)).fold(0.0, f64::max)
    }
}
