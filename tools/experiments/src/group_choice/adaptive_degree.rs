//! MAD and MAD2R of Chen, Cohen-Addad, Epasto & Zadimoghaddam (ICML 2025), *Scalable private
//! partition selection via adaptive weighting*: weighted Gaussian selection whose units take weight
//! back from groups that have more than enough.
//!
//! A unit in d groups, at most [`MOST_DEGREE`], first gives 1/d to each. The excess of a group
//! above a cutoff goes back to its units, in proportion to their gifts, and each gives the
//! [`MOST_DEGREE`]th part of all that it gets back to each of its groups. At last it adds the rest
//! from 1/d to 1/sqrt(d). Units in more groups give 1/sqrt(d), as in weighted Gaussian selection.
//!
//! Two rounds: groups that the first shows take no more weight, and a group whose noisy weight is
//! surely above the second threshold gets less of each unit, which gives more to its other groups.
//!
//! Both have the noise of weights whose l2 norm is one, as the paper has it. The constants are the
//! paper's.

use super::{Pairs, Rounds, chances};
use crate::draws::Draws;

/// The shares of both rounds of the squared mu.
pub(super) const SHARES: [f64; 2] = [0.1, 0.9];

/// The most groups of a unit that takes weight back.
const MOST_DEGREE: usize = 50;
/// Standard deviations from the threshold to the cutoff.
const ABOVE: f64 = 2.0;
/// Standard deviations from a noisy weight of the first round to what a group has for sure.
const SURE: f64 = 1.0;
/// The least and greatest multiple of its usual weight that a unit gives in the second round.
const FACTORS: (f64, f64) = (0.5, 2.0);

/// The chances of groups with adaptive degrees.
pub(super) fn one_round(pairs: &Pairs, rounds: &Rounds) -> Vec<f64> {
    let open = vec![1.0; pairs.sizes().len()];
    chances(&weights(pairs, &open, cutoff(rounds.last())), rounds.last())
}

/// The chances of groups with adaptive degrees over two rounds, given one run of the first.
pub(super) fn two_rounds(pairs: &Pairs, rounds: &Rounds, draws: &mut Draws) -> Vec<f64> {
    let [first, second] = rounds.0[..] else { return Vec::new() };
    let open = vec![1.0; pairs.sizes().len()];
    let noisy: Vec<f64> = weights(pairs, &open, cutoff(first))
        .into_iter()
        .map(|weight| if weight > 0.0 { weight + first.0 * draws.normal() } else { 0.0 })
        .collect();
    let factor = |&weight: &f64| match weight {
        weight if weight >= first.1 => 0.0,
        weight => {
            let sure = weight - SURE * first.0;
            if sure > second.1 { (second.1 / sure).max(FACTORS.0) } else { 1.0 }
        }
    };
    let factors: Vec<f64> = noisy.iter().map(factor).collect();
    let later = chances(&weights(pairs, &factors, cutoff(second)), second);
    later
        .iter()
        .zip(&factors)
        .map(|(&chance, &factor)| if factor > 0.0 { chance } else { 1.0 })
        .collect()
}

fn cutoff((sigma, threshold): (f64, f64)) -> f64 {
    threshold + ABOVE * sigma
}

/// The weights of groups, of which each unit gives these multiples of its usual weight: none where
/// it is zero, at least as much where it is one, which means that what others do not take is
/// shared.
fn weights(pairs: &Pairs, factors: &[f64], cutoff: f64) -> Vec<f64> {
    let mut first = vec![0.0f64; factors.len()];
    let mut last = vec![0.0f64; factors.len()];
    let mut gifts: Vec<(usize, f64)> = Vec::new();
    for unit in pairs.units() {
        gifts_of(unit, factors, &mut gifts);
        let root = (gifts.len() as f64).sqrt();
        let adapts = gifts.len() <= MOST_DEGREE;
        for &(group, gift) in &gifts {
            let at_first = if adapts { gift / root } else { 0.0 };
            add(&mut first, group, at_first);
            add(&mut last, group, gift - at_first);
        }
    }
    let back: Vec<f64> = first.iter().map(|&w| ((w - cutoff) / w).max(0.0)).collect();
    for unit in pairs.units() {
        gifts_of(unit, factors, &mut gifts);
        if gifts.len() > MOST_DEGREE {
            continue;
        }
        let root = (gifts.len() as f64).sqrt();
        let excess_of = |group: usize| back.get(group).copied().unwrap_or(0.0);
        let returned: f64 = gifts.iter().map(|&(group, gift)| gift / root * excess_of(group)).sum();
        for &(group, _) in &gifts {
            add(&mut last, group, returned / MOST_DEGREE as f64);
        }
    }
    first.iter().zip(last).map(|(&first, last)| first.min(cutoff) + last).collect()
}

/// The weight that a unit gives to each of its open groups: an l2 norm of one at most.
fn gifts_of(unit: &[u32], factors: &[f64], gifts: &mut Vec<(usize, f64)>) {
    gifts.clear();
    let open = unit.iter().map(|&group| group as usize);
    let open = open.filter_map(|group| Some((group, factors.get(group).copied()?)));
    gifts.extend(open.filter(|(_, factor)| *factor > 0.0));
    let usual = (gifts.len() as f64).sqrt().recip();
    let taken: f64 = gifts.iter().filter(|gift| gift.1 < 1.0).map(|gift| gift.1 * gift.1).sum();
    let others = gifts.iter().filter(|gift| gift.1 >= 1.0).count().max(1) as f64;
    let more = ((gifts.len() as f64 - taken) / others).sqrt().min(FACTORS.1);
    for (_, gift) in gifts.iter_mut() {
        *gift = usual * if *gift < 1.0 { *gift } else { more };
    }
}

fn add(sums: &mut [f64], group: usize, weight: f64) {
    if let Some(sum) = sums.get_mut(group) {
        *sum += weight;
    }
}
