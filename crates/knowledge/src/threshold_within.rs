//! The worst case of counts that are released above a threshold.

use crate::error::KnowledgeError;
use crate::integer_law::IntegerLaw;
use crate::probability::ProbabilityRange;
use crate::threshold::{Attackers, SuppressionBounds, checked_threshold, passive};
use crate::vertices::Vertices;

/// A count that is released above a threshold, of which each record's probability is known within
/// bounds only: the worst that is possible within them.
///
/// Delta at a fixed epsilon is not monotone in the probabilities, but the vertex argument of
/// [`CountWithin`](crate::CountWithin) holds for suppressed counts as well. The mean over what a
/// passive attacker knows is affine in each known record's probability, so that these too are at
/// their bounds.
#[derive(Clone, Debug)]
pub struct CountAboveWithin {
    vertices: Vertices,
    /// The laws of the known records at all of their vertices.
    known: Vec<IntegerLaw>,
    knowns: u64,
    above: i64,
}

impl CountAboveWithin {
    /// Most known records.
    pub const MOST_KNOWN: u64 = 500;

    /// Counts above `above` are released. Beside the target, `others` are not known and `known`
    /// are, all with probabilities `between`. Where all vertices are too much work, a few of the
    /// unknown records are taken to be planted by the attacker, which can only make delta larger.
    ///
    /// # Errors
    /// Unless `others` is from 1 to 10,000,000, `known` at most [`Self::MOST_KNOWN`] and `above`
    /// below the number of records.
    pub fn new(
        above: u64,
        others: u64,
        known: u64,
        between: ProbabilityRange,
    ) -> Result<Self, KnowledgeError> {
        let vertices = Vertices::new(others, between)?.for_visits();
        let above = checked_threshold(above, others, known)?;
        if known > Self::MOST_KNOWN {
            return Err(KnowledgeError::Known { given: known, most: Self::MOST_KNOWN });
        }
        let mut laws = Vec::new();
        if known == 0 {
            laws.push(IntegerLaw::point(0));
        } else {
            Vertices::new(known, between)?.each(|_, law| laws.push(law.clone()));
        }
        Ok(Self { vertices, known: laws, knowns: known, above })
    }

    /// delta at `epsilon`, rounded up. `epsilon` >= 0; anything else gives 1.
    pub fn delta(&self, epsilon: f64) -> Attackers {
        let mut worst = Attackers { passive: 0.0, active: 0.0 };
        if epsilon.is_nan() || epsilon < 0.0 {
            return Attackers { passive: 1.0, active: 1.0 };
        }
        let knowns = i64::try_from(self.knowns).unwrap_or(0);
        self.vertices.each(|missing, law| {
            // Whatever the missing records are, they lower the threshold by at most their number.
            let missing = i64::try_from(missing).unwrap_or(0);
            let at =
                SuppressionBounds::new(law, epsilon, self.above - knowns - missing, self.above);
            let active = at.largest();
            worst.active = worst.active.max(active);
            if active <= worst.passive {
                return;
            }
            let bounds: Vec<[f64; 2]> = (0..=knowns)
                .map(|b| {
                    (0..=missing)
                        .map(|r| at.at(self.above - b - r))
                        .fold([0.0; 2], |most, bound| {
                            [f64::max(most[0], bound[0]), f64::max(most[1], bound[1])]
                        })
                })
                .collect();
            let bound_at = |b: i64| {
                usize::try_from(b).ok().and_then(|b| bounds.get(b)).copied().unwrap_or([1.0; 2])
            };
            for known in &self.known {
                worst.passive = worst.passive.max(passive(known, bound_at).min(active));
            }
        });
        worst
    }

    /// How many unknown records were taken to be planted, at most. With zero, delta is that of the
    /// worst case; with more, it is above.
    pub fn forgone(&self) -> u64 {
        self.vertices.slack()
    }
}
