//! The bound of a sum with the least error, given where units are visible.
//!
//! The best bound is near the few largest contributions, which no private histogram shows. But
//! their tail begins where units are visible, and the buckets there tell how it falls. Tails of
//! some 450 shapes are compared with the released numbers: above a size s0 in the visible
//! part, a share exp(-a y - b y^2) of the units is larger than s0 2^y. With b = 0 this is Pareto's
//! tail, with b > 0 that of lognormal and lighter laws. Each shape weighs what the released numbers
//! say for it. The bound is taken with the least expected logarithm of its error relative to that
//! of the best bound, so that shapes with large errors whatever the bound do not decide.

use super::sizes::{BucketWindow, Sizes};

/// The groups and the noise of a sum: its error follows from these, and from what is cut off.
#[derive(Clone, Copy, Debug)]
pub(super) struct ErrorTerms {
    /// The number of groups.
    pub(super) groups: f64,
    /// The standard deviation of the noise of a group at a bound of one.
    pub(super) noise: f64,
    /// Whether contributions are whole numbers.
    pub(super) whole: bool,
}

impl ErrorTerms {
    /// Where nobody knows which sum, or there is none: those of the sum of all rows in ten groups
    /// with Laplace noise at epsilon = 1.
    pub(super) fn of_values(whole: bool) -> Self {
        Self { groups: 10.0, noise: std::f64::consts::SQRT_2, whole }
    }
}

/// The steps of a tail and of bounds in an octave.
const FINE: f64 = 8.0;
/// The number of units in a tail that shows its shape, in scales of the noise.
const ENOUGH: f64 = 42.0;
/// The part of a bucket's units by which a shape that is not quite right may be off.
const MISFIT: f64 = 0.1;
/// Linear falls of the logarithm, by octave.
const A: [f64; 11] = [0.2, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 12.0, 20.0];
/// Quadratic falls of the logarithm, by octave.
const B: [f64; 8] = [0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
/// Numbers of units in the tail, relative to the released one.
const TOTALS: [f64; 9] = [0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6];
/// The weight, relative to the largest, below which a shape is left out.
const NEGLIGIBLE: f64 = 1e-4;

/// A number of units of about one size.
#[derive(Clone, Copy, Debug)]
struct UnitsOfSize {
    size: f64,
    units: f64,
}

/// A piece of a bucket of the tail.
struct TailPiece {
    /// The bucket, counted from where the tail begins.
    bucket: usize,
    /// Its upper end, in octaves above where the tail begins.
    octaves: f64,
    /// The size that stands for it.
    size: f64,
}

/// The bound with the least expected error. `None` without buckets.
pub(super) fn best_bound(sizes: &Sizes, window: BucketWindow, terms: &ErrorTerms) -> Option<f64> {
    let (start, seen) = tail(sizes, window);
    let pieces = pieces(sizes, start, terms.whole);
    let bounds = bounds(sizes, terms.whole);
    let whole = |size: f64| if terms.whole { size.ceil() } else { size };
    let body = sizes.ends.iter().zip(&sizes.units).take(start);
    // Numbers below the tail may be negative: noise that is left as it is adds up to little.
    let body: Vec<UnitsOfSize> = body
        .map(|((low, high), units)| UnitsOfSize { size: whole((low * high).sqrt()), units: *units })
        .collect();
    let mut expected = vec![0.0; bounds.len()];
    for (weight, units) in shapes(sizes, start, seen, &pieces) {
        let tail =
            pieces.iter().zip(units).map(|(piece, units)| UnitsOfSize { size: piece.size, units });
        let cells: Vec<UnitsOfSize> = body.iter().copied().chain(tail).collect();
        let errors = errors(&cells, &bounds, terms);
        let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
        for (sum, error) in expected.iter_mut().zip(&errors) {
            *sum += weight * (error / least).ln();
        }
    }
    let best = bounds.iter().zip(&expected).min_by(|a, b| a.1.total_cmp(b.1));
    best.map(|(bound, _)| *bound)
}

/// The bucket where the tail begins, and the units in it: the window, and smaller sizes until there
/// are enough units to show its shape, as long as they become more.
fn tail(sizes: &Sizes, window: BucketWindow) -> (usize, f64) {
    let units = &sizes.units;
    let sum = |from: usize, to: usize| units.iter().skip(from).take(to - from).sum::<f64>();
    let octave = |bucket: usize| sum(bucket, bucket + 2);
    let mut start = window.start;
    let mut seen = sum(window.start, window.end);
    while seen < ENOUGH * sizes.scale {
        let Some(below) = start.checked_sub(1) else { break };
        let more = units.get(below).copied().unwrap_or(0.0);
        if more <= 0.0 || octave(below) < octave(start) {
            break;
        }
        (start, seen) = (below, seen + more);
    }
    (start, seen.max(1.0))
}

fn pieces(sizes: &Sizes, start: usize, whole: bool) -> Vec<TailPiece> {
    let base = sizes.ends.get(start).map_or(1.0, |(low, _)| *low);
    let mut pieces = Vec::new();
    for (bucket, (low, high)) in sizes.ends.iter().skip(start).enumerate() {
        for (before, end) in steps(*low, *high) {
            let size = (before * end).sqrt();
            let size = if whole { size.ceil() } else { size };
            pieces.push(TailPiece { bucket, octaves: (end / base).log2(), size });
        }
    }
    pieces
}

/// The ends of about an eighth of an octave each.
fn steps(low: f64, high: f64) -> impl Iterator<Item = (f64, f64)> {
    let octaves = (high / low).log2();
    let steps = (octaves * FINE).round().max(1.0);
    let end =
        move |step: f64| if step < steps { low * 2f64.powf(octaves * step / steps) } else { high };
    (0..steps as u32).map(move |step| (end(f64::from(step)), end(f64::from(step) + 1.0)))
}

/// The bounds that are compared, ascending.
fn bounds(sizes: &Sizes, whole: bool) -> Vec<f64> {
    let all = sizes.ends.iter().flat_map(|(low, high)| steps(*low, *high));
    let mut all: Vec<f64> = all.map(|(_, end)| if whole { end.ceil() } else { end }).collect();
    all.dedup();
    all
}

/// The shapes of the tail that the released numbers say something for: the weight of each, and its
/// number of units in each piece.
fn shapes(sizes: &Sizes, start: usize, seen: f64, pieces: &[TailPiece]) -> Vec<(f64, Vec<f64>)> {
    let first = pieces.iter().filter(|piece| piece.bucket == 0);
    // A bucket with one size has no other place for its units.
    let is_single = first.clone().all(|piece| piece.size == piece.size.ceil())
        && first.clone().map(|piece| piece.size).is_sorted_by(|a, b| a == b);
    let width = if is_single { 0.0 } else { first.map(|p| p.octaves).fold(0.0, f64::max) };
    let released: Vec<f64> = sizes.units.iter().skip(start).copied().collect();
    let mut all: Vec<(f64, Vec<f64>)> = Vec::new();
    for (a, b) in A.into_iter().flat_map(|a| B.into_iter().map(move |b| (a, b))) {
        // A tail that hardly falls at first falls later, and none ends within its first bucket, in
        // which nobody sees where.
        if (a < 0.7 && b < 1.0) || width * (a + width * b) > 6.0 {
            continue;
        }
        let mut left = 1.0;
        let shares = pieces.iter().map(|TailPiece { octaves, .. }| {
            let beyond = (-(a * octaves) - b * octaves * octaves).exp();
            let share = left - beyond;
            left = beyond;
            share
        });
        let shares: Vec<f64> = shares.collect();
        let mut by_bucket = vec![0.0; released.len()];
        for (piece, share) in pieces.iter().zip(&shares) {
            if let Some(sum) = by_bucket.get_mut(piece.bucket) {
                *sum += share;
            }
        }
        for total in TOTALS.map(|total| total * seen) {
            let likelihood = released.iter().zip(&by_bucket).map(|(released, share)| {
                let units = total * share;
                let scale = sizes.scale + MISFIT * units;
                -(released - units).abs() / scale - scale.ln()
            });
            let units = shares.iter().map(|share| total * share).collect();
            all.push((likelihood.sum(), units));
        }
    }
    let most = all.iter().map(|(likelihood, _)| *likelihood).fold(f64::NEG_INFINITY, f64::max);
    all.iter_mut().for_each(|(weight, _)| *weight = (*weight - most).exp());
    all.retain(|(weight, _)| *weight > NEGLIGIBLE);
    all
}

/// The expected squares of the errors of all groups together, by bound. Groups of Zipf's sizes
/// share what is cut off.
fn errors(cells: &[UnitsOfSize], bounds: &[f64], terms: &ErrorTerms) -> Vec<f64> {
    let ErrorTerms { groups, noise, .. } = *terms;
    let spread = 1.0 / groups.sqrt();
    let mut beyond = cells.iter().rev().peekable();
    let (mut units, mut sum, mut squares) = (0.0, 0.0, 0.0);
    let mut errors: Vec<f64> = bounds
        .iter()
        .rev()
        .map(|&bound| {
            while let Some(cell) = beyond.next_if(|cell| cell.size > bound) {
                units += cell.units;
                sum += cell.units * cell.size;
                squares += cell.units * cell.size * cell.size;
            }
            let cut = (sum - bound * units).max(0.0);
            let squares = (squares - 2.0 * bound * sum + bound * bound * units).max(0.0);
            cut * cut * spread + squares + groups * (noise * bound).powi(2)
        })
        .collect();
    errors.reverse();
    errors
}

#[cfg(test)]
mod tests;
