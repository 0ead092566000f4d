//! Counts without noise, or with.

use crate::count_noise::CountNoise;
use crate::divergence::{both, larger};
use crate::error::KnowledgeError;
use crate::integer_law::{IntegerLaw, check_work};
use crate::least_epsilon;
use crate::probability::{ProbabilityRange, Profile};
use crate::vertices::{Vertices, WorstCase};

/// A count of records, some of them unknown to an attacker; perhaps with noise on top.
///
/// The target's record moves the count by one: compared are S and S + 1, where S is the sum of the
/// unknown others (theory section 7). Known records shift the count by what is known, so that it
/// makes no difference how many they are, nor whether the attacker planted them (PK Proposition 6).
#[derive(Clone, Debug)]
pub struct Count {
    law: IntegerLaw,
    noise: Option<(CountNoise, IntegerLaw)>,
}

impl Count {
    /// A count in which, beside the target, the records of `unknown` are not known.
    ///
    /// # Errors
    /// If there are too many different probabilities for the number of records.
    pub fn new(unknown: &Profile, noise: Option<CountNoise>) -> Result<Self, KnowledgeError> {
        let law = IntegerLaw::of(unknown)?;
        let noise = match noise {
            Some(noise) => {
                let below = noise.below(FLOOR);
                check_work(&law, &below, 1.0)?;
                let sum = law.plus(&below, FLOOR);
                let sum = noise.on_top(&sum).unwrap_or(sum);
                Some((noise, sum))
            }
            None => None,
        };
        Ok(Self { law, noise })
    }

    /// delta at `epsilon` of what is published, rounded up: exact except for rounding. With noise,
    /// that of the attacker's uncertainty and the noise together.
    ///
    /// Above 1e-30 it is above the true one by less than 1e-6 of it. `epsilon` >= 0; anything else
    /// gives 1.
    pub fn delta(&self, epsilon: f64) -> f64 {
        match &self.noise {
            // Each of the three bounds holds by itself, so the least does.
            Some((noise, sum)) if epsilon >= 0.0 => larger(both(sum, epsilon))
                .min(noise.delta(epsilon))
                .min(self.delta_without_noise(epsilon)),
            _ => self.delta_without_noise(epsilon),
        }
    }

    /// delta at `epsilon` of the attacker's uncertainty alone.
    pub fn delta_without_noise(&self, epsilon: f64) -> f64 {
        if epsilon >= 0.0 { larger(both(&self.law, epsilon)) } else { 1.0 }
    }
}

/// Below which nothing is kept of sums with noise.
const FLOOR: f64 = 1e-290;

/// A count of which an attacker knows each unknown record's probability within bounds only: the
/// worst that is possible within them.
///
/// The hockey-stick divergence is jointly convex, and the pair of laws is affine in each record's
/// probability, so the largest delta is at a vertex: some records at the lower bound and the others
/// at the upper (theory section 7, in place of PK Theorem 3, which is not sound as printed). All
/// vertices are searched.
#[derive(Clone, Debug)]
pub struct CountWithin {
    vertices: Vertices,
    noise: Option<CountNoise>,
}

impl CountWithin {
    /// A count in which, beside the target, `others` are not known, whose probabilities are
    /// `between`. Up to [`CountWithin::EXACT`] of them are computed exactly, and more with up to a
    /// thousandth of them taken to be known as well, which can only make delta larger.
    ///
    /// # Errors
    /// Unless `others` is from 1 to 10,000,000; if it is too much work.
    pub fn new(
        others: u64,
        between: ProbabilityRange,
        noise: Option<CountNoise>,
    ) -> Result<Self, KnowledgeError> {
        let vertices = Vertices::new(others, between)?;
        let within = Self { vertices, noise };
        check_work(&within.start(), &within.vertices.widest(), 8.0)?;
        Ok(within)
    }

    /// Most records for which the worst case is exact.
    pub const EXACT: u64 = Vertices::EXACT;

    /// delta at `epsilon`. `epsilon` >= 0; anything else gives 1.
    pub fn worst(&self, epsilon: f64) -> WorstCase {
        if epsilon.is_nan() || epsilon < 0.0 {
            return WorstCase { delta: 1.0, records_at_lower: 0, forgone: 0 };
        }
        let worst = self.vertices.largest(&self.start(), 0.0, |law| self.delta(law, epsilon));
        // Without any delta, every vertex is the worst.
        let none = WorstCase { delta: 0.0, records_at_lower: 0, forgone: 0 };
        worst.map_or(none, |(worst, _)| worst)
    }

    /// The least epsilon, rounded up, at which the worst case is at most `delta`; `None` if it is
    /// not at [`MOST_EPSILON`](crate::MOST_EPSILON).
    ///
    /// The worst vertex changes with epsilon: that of the worst at one epsilon gives the next. The
    /// first are those with all records at one bound, as near epsilon = 0 all vertices are much
    /// alike.
    pub fn epsilon(&self, delta: f64) -> Option<f64> {
        let mut epsilon = 0.0f64;
        let start = self.start();
        let target = delta.max(0.0);
        for law in self.vertices.ends(&start) {
            epsilon = epsilon.max(least_epsilon(target, |epsilon| self.delta(&law, epsilon))?);
        }
        while let Some((_, law)) =
            self.vertices.largest(&start, target, |law| self.delta(law, epsilon))
        {
            let next = least_epsilon(target, |epsilon| self.delta(&law, epsilon))?;
            // Rounding must not make the search stall.
            epsilon = next.max(epsilon * (1.0 + 1e-12) + 1e-15);
        }
        Some(epsilon)
    }

    fn delta(&self, law: &IntegerLaw, epsilon: f64) -> f64 {
        let noisy = self.noise.and_then(|noise| noise.on_top(law));
        let alone = self.noise.map_or(1.0, |noise| noise.delta(epsilon));
        larger(both(noisy.as_ref().unwrap_or(law), epsilon)).min(alone)
    }

    /// The worst case without the noise.
    pub fn worst_without_noise(&self, epsilon: f64) -> WorstCase {
        Self { vertices: self.vertices, noise: None }.worst(epsilon)
    }

    /// The least epsilon without the noise.
    pub fn epsilon_without_noise(&self, delta: f64) -> Option<f64> {
        Self { vertices: self.vertices, noise: None }.epsilon(delta)
    }

    /// Whether the worst case is exact: up to [`CountWithin::EXACT`] records.
    pub fn exact(&self) -> bool {
        self.vertices.slack() == 0
    }

    fn start(&self) -> IntegerLaw {
        self.noise.map_or_else(|| IntegerLaw::point(0), |noise| noise.below(self.vertices.floor()))
    }
}
