//! Probabilities, bounds of them, and what an attacker does not know.

use std::fmt;

use crate::error::KnowledgeError;

/// Most records that are computed with.
pub(crate) const MOST_RECORDS: u64 = 1_000_000_000;

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Certainty that something does not happen.
    pub const ZERO: Self = Self(0.0);

    /// `value` as a probability.
    ///
    /// # Errors
    /// Unless it is from 0 to 1.
    pub fn new(value: f64) -> Result<Self, KnowledgeError> {
        // Adding zero makes -0 to 0.
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value + 0.0))
        } else {
            Err(KnowledgeError::Probability(value))
        }
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// p(1-p), the variance of a record with this probability.
    pub(crate) fn variance(self) -> f64 {
        self.0 * (1.0 - self.0)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Bounds of a probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbabilityRange {
    low: Probability,
    high: Probability,
}

impl ProbabilityRange {
    /// From `low` to `high`, both included.
    ///
    /// # Errors
    /// Unless `low` is at most `high`.
    pub fn new(low: Probability, high: Probability) -> Result<Self, KnowledgeError> {
        if low <= high {
            Ok(Self { low, high })
        } else {
            Err(KnowledgeError::Interval { low: low.0, high: high.0 })
        }
    }

    /// The lower bound.
    pub fn low(self) -> Probability {
        self.low
    }

    /// The upper bound.
    pub fn high(self) -> Probability {
        self.high
    }

    /// The largest variance of a record within.
    pub(crate) fn most_variance(self) -> f64 {
        if self.low.0 <= 0.5 && self.high.0 >= 0.5 {
            0.25
        } else {
            self.low.variance().max(self.high.variance())
        }
    }
}

/// Independent records: how many have which probability of being counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// By probability, each once.
    groups: Vec<(u64, Probability)>,
    records: u64,
}

impl Profile {
    /// No records at all: of those that an attacker knows, not of those that are unknown.
    pub fn none() -> Self {
        Self { groups: Vec::new(), records: 0 }
    }

    /// `count` records of each probability. Equal probabilities are put together.
    ///
    /// # Errors
    /// Unless each count is at least 1, and all together at most 1,000,000,000.
    pub fn new(
        groups: impl IntoIterator<Item = (u64, Probability)>,
    ) -> Result<Self, KnowledgeError> {
        let mut groups: Vec<(u64, Probability)> = groups.into_iter().collect();
        groups.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
        let mut merged: Vec<(u64, Probability)> = Vec::new();
        let mut records = 0u64;
        for (count, p) in groups {
            records = records.saturating_add(count);
            if count == 0 || records > MOST_RECORDS {
                return Err(KnowledgeError::Records(if count == 0 { 0 } else { records }));
            }
            match merged.last_mut() {
                Some(last) if last.1 == p => last.0 += count,
                _ => merged.push((count, p)),
            }
        }
        if records == 0 {
            return Err(KnowledgeError::Records(0));
        }
        Ok(Self { groups: merged, records })
    }

    /// All records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// How many have which probability, by probability.
    pub fn groups(&self) -> &[(u64, Probability)] {
        &self.groups
    }

    pub(crate) fn variance(&self) -> f64 {
        self.groups.iter().map(|(count, p)| *count as f64 * p.variance()).sum()
    }
}
