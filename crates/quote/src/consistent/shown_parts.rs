//! Least squares where some cells are not shown: a whole is at least the sum of the parts that are.

/// Passes over all conditions at most.
const MAX_PASSES: usize = 5000;

/// How far a condition may be off, in standard deviations of its noise.
const NEAR: f64 = 1e-6;

/// A whole and its parts, as indexes of their cells.
pub(super) struct WholeAndParts {
    pub(super) whole: usize,
    pub(super) parts: Vec<usize>,
    /// Whether the parts are complete; otherwise what is missing is not below zero.
    pub(super) complete: bool,
}

/// Moves values as little as the conditions need, by the sum of squares over variances.
///
/// This is the projection on a convex set, by Hildreth's method (1957): each condition in turn is
/// met by the nearest values, after as much of its earlier push is taken back as is no longer
/// needed. If the truth is in the set, the sum of squared errors over variances never grows.
pub(super) fn nearest(
    values: &mut [f64],
    variances: &[f64],
    wholes: &[WholeAndParts],
    non_negative: &[usize],
) {
    let spread = |whole: &WholeAndParts| {
        variances[whole.whole] + whole.parts.iter().map(|&part| variances[part]).sum::<f64>()
    };
    let spreads: Vec<f64> = wholes.iter().map(spread).collect();
    let mut pushed = vec![0.0; wholes.len()];
    let mut raised = vec![0.0; non_negative.len()];
    for _ in 0..MAX_PASSES {
        let mut farthest = 0f64;
        for ((whole, spread), pushed) in wholes.iter().zip(&spreads).zip(&mut pushed) {
            let rest =
                values[whole.whole] - whole.parts.iter().map(|&part| values[part]).sum::<f64>();
            let mut push = -rest / spread;
            if !whole.complete {
                push = push.max(-*pushed);
            }
            if push != 0.0 {
                *pushed += push;
                values[whole.whole] += variances[whole.whole] * push;
                whole.parts.iter().for_each(|&part| values[part] -= variances[part] * push);
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
pub(super) fn lowered(values: &mut [i128], whole: &WholeAndParts, non_negative: bool) {
    let sum: i128 = whole.parts.iter().map(|&part| values[part]).sum();
    let mut over = sum - values[whole.whole];
    let mut left = whole.parts.len() as i128;
    let mut parts = whole.parts.clone();
    // The smallest first: the others make up for what these cannot give.
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
