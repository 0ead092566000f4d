//! Least squares where some cells are not shown: a whole is at least the sum of the parts that are.

/// Passes over all conditions at most.
const MAX_PASSES: usize = 5000;

/// How far a condition may be off, in standard deviations of its noise.
const NEAR: f64 = 1e-6;

/// A whole and its parts, by the places of their cells.
pub(super) struct Whole {
    pub(super) whole: usize,
    pub(super) parts: Vec<usize>,
    /// Whether the parts are all that there is; else what is missing is not below zero.
    pub(super) complete: bool,
}

/// Moves values as little as the conditions need, by the sum of squares over variances.
///
/// It is the projection on a convex set, by Hildreth's method (1957): each condition in turn is met
/// by the nearest values, and what it moved before is taken back first as far as it is not needed.
/// With the truth in the set, the sum of squared errors over variances is never larger than before.
pub(super) fn nearest(
    values: &mut [f64],
    variances: &[f64],
    wholes: &[Whole],
    non_negative: &[usize],
) {
    let spread = |own: &Whole| {
        variances[own.whole] + own.parts.iter().map(|&part| variances[part]).sum::<f64>()
    };
    let spreads: Vec<f64> = wholes.iter().map(spread).collect();
    let mut pushed = vec![0.0; wholes.len()];
    let mut raised = vec![0.0; non_negative.len()];
    for _ in 0..MAX_PASSES {
        let mut farthest = 0f64;
        for ((own, spread), pushed) in wholes.iter().zip(&spreads).zip(&mut pushed) {
            let rest = values[own.whole] - own.parts.iter().map(|&part| values[part]).sum::<f64>();
            let mut push = -rest / spread;
            if !own.complete {
                push = push.max(-*pushed);
            }
            if push != 0.0 {
                *pushed += push;
                values[own.whole] += variances[own.whole] * push;
                own.parts.iter().for_each(|&part| values[part] -= variances[part] * push);
                farthest = farthest.max(push.abs() * spread.sqrt());
            }
        }
        for (&cell, raised) in non_negative.iter().zip(&mut raised) {
            let raise = (-values[cell]).max(-*raised);
            *raised += raise;
            values[cell] += raise;
            farthest = farthest.max(raise.abs() / variances[cell].sqrt());
        }
        if farthest <= NEAR {
            break;
        }
    }
}

/// Lowers parts, each by about as much, until they are no more than their whole.
pub(super) fn lowered(values: &mut [i128], own: &Whole, non_negative: bool) {
    let sum: i128 = own.parts.iter().map(|&part| values[part]).sum();
    let mut over = sum - values[own.whole];
    let mut left = own.parts.len() as i128;
    let mut parts = own.parts.clone();
    // The smallest first: what they cannot give is left to the others.
    parts.sort_by_key(|&part| values[part]);
    for part in parts {
        if over <= 0 {
            return;
        }
        let share = (over + left - 1) / left;
        let less = if non_negative { share.min(values[part].max(0)) } else { share };
        values[part] -= less;
        over -= less;
        left -= 1;
    }
}
