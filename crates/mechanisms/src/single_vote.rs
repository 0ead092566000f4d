//! Selection by single votes: each unit counts in one of its groups, and pi_opt decides.
//!
//! The units vote one after the other, in a fixed order. Each adds one vote to that of its groups
//! that needs it most, by the votes before. Groups that are certain to appear take no votes any
//! more, so that votes go on to rarer groups. Then pi_opt decides about each group by its votes,
//! with all of epsilon and delta: a unit in a hundred groups pays no more than a unit in one.
//!
//! One unit more adds one vote to one group, and changes no other: how much a group needs votes
//! never rises with its votes ([`SingleVote::need`]), and does not depend on other groups. A rule
//! by which full groups attract votes would break this. Proof:
//! `theorems/partition-selection.md#single-votes`.

use hushtable_noise::{EntropyError, Generator};
use hushtable_privacy::{Delta, Epsilon, normal_tail};

use crate::error::MechanismError;
use crate::memberships::Memberships;
use crate::optimal::Optimal;
use crate::steps;

/// A group that appears with this probability has enough votes for most units: others go first.
const ENOUGH: f64 = 0.95;

/// The probability that is enough for careful units, so that large groups, which have many of
/// them, are not hidden.
const ENOUGH_FOR_CAREFUL: f64 = 0.999;

/// One unit in this number is careful.
const CAREFUL: u64 = 8;

/// Numbers of votes at which the chance to reach them is looked at.
const LOOKED_AT: u64 = 32;

/// Selection by single votes.
#[derive(Clone, Debug)]
pub(crate) struct SingleVote {
    optimal: Optimal,
    /// A group needs the votes of most units most until it has this number.
    enough: u64,
    /// A group needs the votes of careful units most until it has this number.
    enough_for_careful: u64,
    most_groups: u64,
}

impl SingleVote {
    /// Selection at `epsilon` and `delta` for each group whose votes differ between neighbours.
    pub(crate) fn new(
        epsilon: Epsilon,
        delta: Delta,
        most_groups: u64,
    ) -> Result<Self, MechanismError> {
        let optimal = Optimal::new(epsilon, delta)?;
        let enough = optimal.likely_from(ENOUGH);
        let enough_for_careful = optimal.likely_from(ENOUGH_FOR_CAREFUL);
        Ok(Self { optimal, enough, enough_for_careful, most_groups })
    }

    /// The most groups of a unit.
    pub(crate) fn most_groups(&self) -> u64 {
        self.most_groups
    }

    /// Lower bound on the probability that a group of `units` appears, if the order of each unit's
    /// groups and whether it is careful are drawn by themselves, and none is in more than the most
    /// groups.
    ///
    /// Until a group has enough votes no other is preferred to it but by that order, so each of its
    /// units votes for it with a probability of at least one over the most groups, whatever the
    /// votes before. So its votes are at least as many as the successes of one such trial for
    /// each unit, or enough. Beyond what is enough for most units, the same holds of the careful
    /// ones alone.
    pub(crate) fn keep_probability(&self, units: u64, least: u64) -> f64 {
        if self.most_groups == 1 {
            return self.keep_probability_alone(units, least);
        }
        let (mut keep, mut before) = (0.0, 0.0);
        let mut look = |votes: u64, of: u64| {
            steps::count();
            let chance = self.optimal.keep_probability(votes);
            let needed = votes.saturating_add(least.saturating_sub(1));
            keep += (chance - before) * reaches(units, of, needed);
            before = chance;
        };
        let looked_at = self.enough.min(LOOKED_AT);
        for step in 0..=looked_at {
            let votes = (u128::from(self.enough) * u128::from(step)).div_ceil(looked_at.into());
            look(u64::try_from(votes).unwrap_or(u64::MAX).max(1), self.most_groups);
        }
        look(self.enough_for_careful, self.most_groups.saturating_mul(CAREFUL));
        keep.clamp(0.0, 1.0)
    }

    /// The probability that a group appears if all its units vote for it.
    pub(crate) fn keep_probability_alone(&self, units: u64, least: u64) -> f64 {
        self.optimal.keep_probability(units.saturating_sub(least.saturating_sub(1)))
    }

    /// The probability that each of the open groups appears.
    pub(crate) fn chances(&self, members: &Memberships, open: &[bool], least: u64) -> Vec<f64> {
        let votes = self.votes(members, open, least).into_iter();
        votes.map(|votes| self.keep_probability_alone(votes, least)).collect()
    }

    /// Which groups appear, of those in `open`, by the votes beyond `least` - 1. Without `members`
    /// every unit is in one group.
    ///
    /// # Errors
    /// When the operating system's generator fails.
    pub(crate) fn select(
        &self,
        members: Option<&Memberships>,
        units: &[u64],
        open: &[bool],
        least: u64,
        generator: &mut Generator,
    ) -> Result<Vec<bool>, EntropyError> {
        let mut votes = match members {
            Some(members) => self.votes(members, open, least),
            None => units.to_vec(),
        };
        for (votes, &open) in votes.iter_mut().zip(open) {
            *votes = if open { votes.saturating_sub(least.saturating_sub(1)) } else { 0 };
        }
        let mut appears = vec![false; open.len()];
        self.optimal.decide_all(&votes, &mut appears, generator)?;
        Ok(appears)
    }

    /// The votes that each group has after all units. Units in few groups vote first, as they have
    /// the least choice.
    fn votes(&self, members: &Memberships, open: &[bool], least: u64) -> Vec<u64> {
        let mut votes = vec![0u64; open.len()];
        // This order follows from each unit by itself, as the proof needs.
        for unit in members.fewest_first() {
            let careful = members.order_key(unit).is_multiple_of(CAREFUL.into());
            let mut best: Option<(u64, usize)> = None;
            for &group in members.of(unit) {
                let group = group as usize;
                let (Some(&group_votes), Some(true)) = (votes.get(group), open.get(group)) else {
                    continue;
                };
                let Some(need) = self.need(group_votes, least, careful) else { continue };
                // Strictly less: ties go to the unit's own order of its groups.
                if best.is_none_or(|(most, _)| need < most) {
                    best = Some((need, group));
                }
            }
            if let Some(votes) = best.and_then(|(_, group)| votes.get_mut(group)) {
                *votes += 1;
            }
        }
        votes
    }

    /// How much a group with `votes` votes needs that of a unit: a smaller number is more, `None`
    /// is not at all. It must never be more for more votes.
    #[inline]
    fn need(&self, votes: u64, least: u64, careful: bool) -> Option<u64> {
        let beyond = votes.saturating_sub(least.saturating_sub(1));
        let enough = if careful { self.enough_for_careful } else { self.enough };
        (beyond < self.optimal.certain_from()).then(|| beyond.max(enough - 1))
    }
}

/// Lower bound on P\[X >= `least`\] for the successes X in `trials` trials of chance 1/`of` each
/// (Zubkov & Serov 2013, Theorem 1): P\[X < k\] is at most Phi(+-sqrt(2 n D)), with D the
/// divergence of k/n from 1/`of`, and plus where k/n is the larger one.
fn reaches(trials: u64, of: u64, least: u64) -> f64 {
    if least == 0 || least > trials {
        return f64::from(u8::from(least == 0));
    }
    let (n, k, chance) = (trials as f64, least as f64, (of as f64).recip());
    // All of the first `least` trials: near that number of trials it is the better bound.
    let first = (k * chance.ln()).exp();
    if least == trials {
        return first;
    }
    let others = (n - k) * ((-k / n).ln_1p() - (-chance).ln_1p());
    let divergence = (k * (k / (n * chance)).ln() + others).max(0.0);
    let root = (2.0 * divergence).sqrt();
    normal_tail(if k > n * chance { root } else { -root }).max(first)
}

#[cfg(test)]
mod tests;
