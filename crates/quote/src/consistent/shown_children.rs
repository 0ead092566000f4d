//! Least squares where some cells are not shown: a cell is at least the sum of its children
//! that are.

/// Passes over all conditions at most.
const MAX_PASSES: usize = 5000;

/// How far a condition may be off, in standard deviations of its noise.
const NEAR: f64 = 1e-6;

/// A cell and its children, of which it is the sum, as indexes of cells.
pub(super) struct CellFamily {
    pub(super) parent: usize,
    pub(super) children: Vec<usize>,
    /// Whether the children are complete; otherwise what is missing is not below zero.
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
    families: &[CellFamily],
    non_negative: &[usize],
) {
    let spread = |family: &CellFamily| {
        variances[family.parent]
            + family.children.iter().map(|&child| variances[child]).sum::<f64>()
    };
    let spreads: Vec<f64> = families.iter().map(spread).collect();
    let mut pushed = vec![0.0; families.len()];
    let mut raised = vec![0.0; non_negative.len()];
    for _ in 0..MAX_PASSES {
        let mut farthest = 0f64;
        for ((family, spread), pushed) in families.iter().zip(&spreads).zip(&mut pushed) {
            let rest = values[family.parent]
                - family.children.iter().map(|&child| values[child]).sum::<f64>();
            let mut push = -rest / spread;
            if !family.complete {
                push = push.max(-*pushed);
            }
            if push != 0.0 {
                *pushed += push;
                values[family.parent] += variances[family.parent] * push;
                family.children.iter().for_each(|&child| values[child] -= variances[child] * push);
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

/// Lowers children, each by about as much, until they are no more than their parent.
pub(super) fn lowered(values: &mut [i128], family: &CellFamily, non_negative: bool) {
    let sum: i128 = family.children.iter().map(|&child| values[child]).sum();
    let mut over = sum - values[family.parent];
    let mut left = family.children.len() as i128;
    let mut children = family.children.clone();
    // The smallest first: the others make up for what these cannot give.
    children.sort_by_key(|&child| values[child]);
    for child in children {
        if over <= 0 {
            return;
        }
        let share = (over + left - 1) / left;
        let less = if non_negative { share.min(values[child].max(0)) } else { share };
        values[child] -= less;
        over -= less;
        left -= 1;
    }
}
