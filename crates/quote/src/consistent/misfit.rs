//! Whether complete levels fit each other but for noise.
//!
//! Each level bounds contributions by itself. Where limits cut more off at one level than at
//! another, the exact levels do not fit, and least squares would spread the difference over cells
//! that have nothing to do with it. Where they fit, two levels' sums of the same cells differ by
//! noise alone: by a sum D of independent centred draws with variance s^2.
//!
//! D is beyond 30 max(s, 1) with probability below 10^-15. *Proof.* A discrete Laplace draw of
//! variance v has the moment generating function 1 / (1 - v (cosh t - 1)) at t; a discrete Gaussian
//! one of parameter v, at most e^(v t^2 / 2), which is no more. As -ln(1 - x) is convex and 0 at 0,
//! that of D is at most 1 / (1 - s^2 (cosh t - 1)). With t = 1.25 / max(s, 1), s^2 (cosh t - 1) is
//! at most cosh 1.25 - 1 < 0.8885, so that each tail is at most e^(-37.5) / 0.1115 < 4.7 * 10^-16.

use super::{KeySet, LevelCells, keys_of};

/// How many standard deviations, or steps where these are smaller, noise alone explains.
const MOST_DEVIATIONS: f64 = 30.0;

/// Whether the released levels fit each other but for noise; always where a level is not complete.
/// Levels that do not fit are not to be adjusted. `sizes` counts the values of each key. Returns
/// `None` if cells do not fit their level, which is a fault of the caller.
pub fn fit(sizes: &[usize], levels: &[LevelCells]) -> Option<bool> {
    if levels.iter().any(|level| !level.complete) {
        return Some(true);
    }
    for (index, level) in levels.iter().enumerate() {
        let Some(other) = compared(levels, index) else { continue };
        let common = keys_of(level) & keys_of(other);
        let (ours, our_cells) = margin(sizes, level, common)?;
        let (theirs, their_cells) = margin(sizes, other, common)?;
        let variance = our_cells * level.variance + their_cells * other.variance;
        let most = MOST_DEVIATIONS * variance.sqrt().max(1.0);
        let differ = |(&our, &their): (&i128, &i128)| (our.abs_diff(their) as f64) > most;
        if ours.iter().zip(&theirs).any(differ) {
            return Some(false);
        }
    }
    Some(true)
}

/// The level that one is compared with: the smallest that has all of its keys and more, or else the
/// first that has keys which none has together with others.
fn compared(levels: &[LevelCells], index: usize) -> Option<&LevelCells> {
    let finer = levels.iter().filter(|other| is_within(&levels[index], other));
    let smallest = finer.min_by_key(|other| other.values.len());
    let is_finest = |level: &LevelCells| !levels.iter().any(|other| is_within(level, other));
    let first = levels.iter().position(is_finest).filter(|&first| first != index);
    smallest.or_else(|| levels.get(first?))
}

/// Whether the other level has all keys of this one, and more.
fn is_within(level: &LevelCells, other: &LevelCells) -> bool {
    let (keys, others) = (keys_of(level), keys_of(other));
    keys != others && keys & others == keys
}

/// The sums of a level's cells over all keys but these, and how many cells each is the sum of.
fn margin(sizes: &[usize], level: &LevelCells, keys: KeySet) -> Option<(Vec<i128>, f64)> {
    let mut positions = vec![0; level.values.len()];
    let mut sums = 1;
    for (key, &size) in sizes.iter().enumerate().filter(|(key, _)| keys & 1 << key != 0) {
        let codes = level.keys.iter().position(|&other| other == key)?;
        let codes = level.codes.get(codes)?;
        positions.iter_mut().zip(codes).for_each(|(at, code)| *at = *at * size + code);
        sums *= size;
    }
    let mut margin = vec![0_i128; sums];
    for (&at, value) in positions.iter().zip(&level.values) {
        let sum = margin.get_mut(at)?;
        *sum = sum.checked_add(*value)?;
    }
    Some((margin, level.values.len() as f64 / sums as f64))
}
