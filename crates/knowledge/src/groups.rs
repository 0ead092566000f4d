//! Tables of counts by group, whose sizes are known to the publisher, and not to the attacker.
//!
//! Some numbers come from the data, and others are assumed. The law of a group's count, as the
//! attacker sees it, does not depend on its realised size: to compute with the realised size as if
//! no other record could have counted would let a group of 3 pass under a threshold of 10 by luck,
//! as "nothing can ever be published". But a realised size bounds from below how many records are
//! uncertain, and a threshold does so, too:
//!
//! So the worst case of a count with max(n - K - 1, T - K) unknown records bounds the group's
//! delta: n records count, the attacker knows at most K of them, and T is the threshold. The data
//! enter by n only; nothing about the attacker is inferred from realised sizes. Assumptions and
//! proof: `theorems/partial-knowledge.md#groups-whose-sizes-are-known`.

use std::collections::HashMap;

use hushtable_numbers::search::{grow, least_whole, narrow};

use crate::count::CountWithin;
use crate::error::KnowledgeError;
use crate::probability::{Probability, ProbabilityRange};

/// Most unknown records that a guarantee is computed for; with more, it is no worse. A worst case
/// of this many takes some seconds.
const MOST: u64 = 1_000_000;

/// Up to this many unknown records, each number has its own delta; above, three digits of it.
const EACH: u64 = 1000;

/// How many of the records that count in a group an attacker knows, at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knows {
    /// All but at least this share of them, rounded down to whole records.
    AllButShare(Probability),
    /// All but this many, or none where there are not as many.
    AllBut(u64),
    /// Up to this number.
    AtMost(u64),
}

impl Knows {
    /// The number of known records out of `records`.
    pub fn of(self, records: u64) -> u64 {
        match self {
            Self::AllButShare(share) => {
                let unknown = (records as f64 * share.get()).floor() as u64;
                records.saturating_sub(unknown)
            }
            Self::AllBut(unknown) => records.saturating_sub(unknown),
            Self::AtMost(known) => known.min(records),
        }
    }
}

/// The risk of each group of a published table of counts.
#[derive(Clone, Debug)]
pub struct GroupCounts {
    knows: Knows,
    between: ProbabilityRange,
    epsilon: f64,
    delta: f64,
    /// The least number of unknown records that meets the target.
    enough: Option<(u64, f64)>,
    seen: HashMap<u64, f64>,
}

/// The promise about one group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupRisk {
    /// The most of its records that the attacker knows.
    pub known: u64,
    /// The least number of unknown records where anything of the group can be published.
    pub unknown: u64,
    /// delta at the target's epsilon, an upper bound.
    pub delta: f64,
    /// Whether that is at most the target's delta.
    pub passes: bool,
    /// The least threshold with which the group passes: 0 if its size is enough, and otherwise one
    /// that suppresses it. `None` if none does.
    pub threshold: Option<u64>,
}

impl GroupCounts {
    /// Groups in which an attacker knows that many records, and of all others within bounds
    /// `between` how probable it is that they count. The target: at `epsilon`, at most `delta`.
    ///
    /// # Errors
    /// Unless `epsilon` >= 0 is finite, and `delta` is from 0 to 1.
    pub fn new(
        knows: Knows,
        between: ProbabilityRange,
        epsilon: f64,
        delta: f64,
    ) -> Result<Self, KnowledgeError> {
        if !epsilon.is_finite() || epsilon < 0.0 {
            let range = "from 0";
            return Err(KnowledgeError::Amount { what: "epsilon", given: epsilon, range });
        }
        if !(0.0..=1.0).contains(&delta) {
            let range = "from 0 to 1";
            return Err(KnowledgeError::Amount { what: "delta", given: delta, range });
        }
        let mut groups =
            Self { knows, between, epsilon, delta, enough: None, seen: HashMap::new() };
        groups.enough = groups.search();
        Ok(groups)
    }

    /// A group in which `records` records count, published if that is above `above`, or in any
    /// case.
    pub fn group(&mut self, records: u64, above: Option<u64>) -> GroupRisk {
        let known = self.knows.of(records);
        let uncertain = (records - known).saturating_sub(1);
        let unknown = uncertain.max(above.unwrap_or(0).saturating_sub(known));
        let threshold =
            self.enough.map(|(enough, _)| if uncertain >= enough { 0 } else { enough + known });
        let delta = self.at(unknown);
        GroupRisk { known, unknown, delta, passes: delta <= self.delta, threshold }
    }

    /// The least number of unknown records with which the target is met; `None` if that takes more
    /// than 1,000,000. From 1,000 on, rounded up to three digits.
    pub fn enough(&self) -> Option<u64> {
        self.enough.map(|(enough, _)| enough)
    }

    /// The least threshold with which all groups pass, of whatever size, in this table or in any
    /// other; `None` if none does.
    ///
    /// A group of n with n - K - 1 below what is enough needs that and K, and K rises with n: the
    /// largest such n decides.
    pub fn threshold_for_any(&self) -> Option<u64> {
        let enough = self.enough()?;
        let short = |n: u64| (n - self.knows.of(n)).saturating_sub(1) < enough;
        match self.knows {
            Knows::AtMost(known) => Some(enough + known),
            // In groups that are large enough, the most possible are known, and only the rest is
            // left.
            Knows::AllBut(unknown) => (unknown > enough).then_some(enough),
            Knows::AllButShare(_) => {
                let large = least_whole(0, 1, 1 << 52, |n| !short(n))?;
                Some(enough + self.knows.of(large - 1))
            }
        }
    }

    /// delta with that many unknown records, or with a few less; no more than with fewer.
    fn at(&mut self, unknown: u64) -> f64 {
        let rounded = rounded_down(unknown.min(MOST));
        let computed = match self.seen.get(&rounded) {
            Some(delta) => *delta,
            None => {
                let delta = self.worst(rounded);
                self.seen.insert(rounded, delta);
                delta
            }
        };
        match self.enough {
            Some((enough, delta)) if unknown >= enough => computed.min(delta),
            _ => computed,
        }
    }

    fn worst(&self, unknown: u64) -> f64 {
        if unknown == 0 {
            return 1.0;
        }
        // A delta that takes too much work is 1: nothing is promised.
        CountWithin::new(unknown, self.between, None).map_or(1.0, |c| c.worst(self.epsilon).delta)
    }

    /// By doubling and halving, among the numbers that have a delta of their own.
    fn search(&mut self) -> Option<(u64, f64)> {
        if self.delta >= 1.0 {
            return Some((0, 1.0));
        }
        // At a bound of 0 or 1, all records may be certain.
        if self.between.low().get() <= 0.0 || self.between.high().get() >= 1.0 {
            return None;
        }
        // The delta of the last number that was enough, which is the least of those tried.
        let mut delta = 1.0;
        let mut is_enough = |unknown: u64| {
            let computed = self.worst(rounded_down(unknown));
            let is_enough = computed <= self.delta;
            if is_enough {
                delta = computed;
            }
            is_enough
        };
        let (before, reached) = grow(1, 2, MOST, &mut is_enough)?;
        let between = |low: u64, high: u64| {
            Some(rounded_down(low + (high - low) / 2)).filter(|middle| *middle > low)
        };
        let ends = (rounded_down(before.unwrap_or(0)), rounded_down(reached));
        let (_, enough) = narrow(ends, between, is_enough);
        Some((enough, delta))
    }
}

/// To three digits, from [`EACH`] on, so that tables of many large groups take little work.
fn rounded_down(unknown: u64) -> u64 {
    let mut unit = 1;
    while unknown / unit >= EACH {
        unit *= 10;
    }
    unknown / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(share: f64) -> Knows {
        Knows::AllButShare(Probability::new(share).unwrap())
    }

    fn between(low: f64, high: f64) -> ProbabilityRange {
        ProbabilityRange::new(Probability::new(low).unwrap(), Probability::new(high).unwrap())
            .unwrap()
    }

    #[test]
    fn what_is_known_is_rounded_up() {
        for (knows, records, known) in [
            (share(0.5), 0, 0),
            (share(0.5), 1, 1),
            (share(0.5), 3, 2),
            (share(1.0), 7, 0),
            (share(0.0), 7, 7),
            (Knows::AllBut(5), 3, 0),
            (Knows::AllBut(5), 8, 3),
            (Knows::AtMost(5), 3, 3),
            (Knows::AtMost(5), 8, 5),
        ] {
            assert_eq!(knows.of(records), known, "{knows:?} {records}");
        }
        assert_eq!([999, 1000, 1009, 12_345].map(rounded_down), [999, 1000, 1000, 12_300]);
    }

    #[test]
    fn no_group_passes_because_it_happens_to_be_small() {
        let mut groups = GroupCounts::new(share(0.5), between(0.2, 0.8), 0.5, 1e-3).unwrap();
        let enough = groups.enough().unwrap();
        assert!(enough > 20, "{enough}");
        // Under a threshold of 10 a group of 3 has no chance to be shown if no other record could
        // count: but others could.
        let small = groups.group(3, Some(10));
        assert_eq!((small.known, small.unknown, small.passes), (2, 8, false));
        assert!(groups.group(0, None).delta >= 1.0);
    }

    #[test]
    fn the_threshold_is_the_least() {
        for knows in [share(0.3), share(1.0), Knows::AllBut(200), Knows::AtMost(7)] {
            let mut groups = GroupCounts::new(knows, between(0.2, 0.8), 1.0, 1e-3).unwrap();
            let mut most = groups.group(0, None).threshold.unwrap();
            for records in 0..400 {
                let alone = groups.group(records, None);
                let least = alone.threshold.unwrap();
                assert_eq!(alone.passes, least == 0);
                assert!(groups.group(records, Some(least)).passes, "{knows:?} {records}");
                if least > 0 {
                    assert!(!groups.group(records, Some(least - 1)).passes, "{knows:?} {records}");
                    assert!(records <= least, "{records} would be published");
                }
                most = most.max(least);
            }
            assert_eq!(groups.threshold_for_any(), Some(most), "{knows:?}");
        }
        let few = GroupCounts::new(Knows::AllBut(5), between(0.2, 0.8), 1.0, 1e-3).unwrap();
        assert_eq!(few.threshold_for_any(), None);
        for hopeless in [between(0.0, 0.5), between(0.5, 1.0)] {
            let mut groups = GroupCounts::new(share(1.0), hopeless, 0.5, 1e-3).unwrap();
            assert_eq!((groups.enough(), groups.group(9, None).threshold), (None, None));
        }
    }

    #[test]
    fn more_unknown_records_are_never_worse() {
        let mut groups = GroupCounts::new(share(1.0), between(0.3, 0.6), 0.2, 1e-6).unwrap();
        let mut last = 1.0;
        for unknown in (0..300).chain((300..30_000).step_by(997)) {
            let delta = groups.at(unknown);
            assert!(delta <= last * (1.0 + 1e-12), "{unknown}: {delta} after {last}");
            last = delta;
        }
    }
}
