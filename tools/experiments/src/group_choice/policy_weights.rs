//! Policy Gaussian (Gopi, Gulhane, Kulkarni, Shen, Shokouhi & Yekhanin 2020): one unit after the
//! other moves the weights of its groups straight towards a cutoff, by at most one in l2.

use super::unit_group_pairs::shuffle;
use super::{Pairs, Rounds, chances};
use crate::draws::Draws;

/// Standard deviations from the threshold to the cutoff, as in the paper.
const ABOVE: f64 = 4.0;

/// The chances of groups, with units in a random order.
pub(super) fn chances_of(pairs: &Pairs, rounds: &Rounds, draws: &mut Draws) -> Vec<f64> {
    let (sigma, threshold) = rounds.last();
    let cutoff = (threshold + ABOVE * sigma).max(1.0);
    let mut weights = vec![0.0f64; pairs.sizes().len()];
    let mut order: Vec<usize> = (0..pairs.unit_count()).collect();
    shuffle(&mut order, draws);
    for unit in order {
        let unit = pairs.unit(unit);
        let gap = |group: &u32| cutoff - weights.get(*group as usize).copied().unwrap_or(cutoff);
        let length = unit.iter().map(|group| gap(group).powi(2)).sum::<f64>().sqrt();
        let fraction = length.max(1.0).recip();
        for &group in unit {
            if let Some(weight) = weights.get_mut(group as usize) {
                *weight += fraction * (cutoff - *weight);
            }
        }
    }
    chances(&weights, (sigma, threshold))
}
