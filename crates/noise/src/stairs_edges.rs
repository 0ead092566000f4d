//! The edges of stairs: as a table with a proven error, and to any precision.

use hushtable_numbers::Bracket;
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::curve::{Curve, CurveShape};
use crate::shares::Shares;
use crate::stairs::Stairs;

/// Bits after the point of the numbers that a table is computed with.
const POINT: u32 = 63;
const ONE: u64 = 1 << POINT;

/// The list ends with the first cell whose tread is below this, 2^-46. Cells beyond it are drawn
/// about once in 2^45 times; the law there is exact too, as the exact edges go on.
const LEAST: u64 = 1 << (POINT - 46);

/// The list ends here in any case.
const LONGEST: usize = 1 << 14;

/// Bounds of a number in 0 ..= 1, in units of 2^-POINT.
#[derive(Clone, Copy)]
struct EdgeBounds {
    low: u64,
    high: u64,
}

impl EdgeBounds {
    /// The product, rounded outwards. It is at most one again, so it fits.
    fn times(self, other: Self) -> Self {
        let low = u128::from(self.low) * u128::from(other.low);
        let high = u128::from(self.high) * u128::from(other.high);
        let up = (high + u128::from(ONE - 1)) >> POINT;
        Self { low: (low >> POINT) as u64, high: up as u64 }
    }
}

impl Stairs {
    /// The stairs above `curve`; `solid` if the positions are whole numbers.
    pub(crate) fn new(curve: Curve, solid: bool) -> Self {
        let first = curve.first_ratio(POINT);
        let saturated = |bound: &BigUint| bound.to_u64().unwrap_or(ONE);
        let mut ratio = EdgeBounds { low: saturated(&first.low), high: saturated(&first.high) };
        let growth = match curve.shape {
            CurveShape::Exponential => EdgeBounds { low: ONE, high: ONE },
            CurveShape::Gaussian => ratio.times(ratio),
        };
        // The heights f(i), and the sums of those before: below 2^63 times the number of cells.
        let mut height = EdgeBounds { low: ONE, high: ONE };
        let (mut low, mut high) = (0u128, 0u128);
        let mut sums = Vec::new();
        while height.high >= LEAST && sums.len() < LONGEST {
            let next = height.times(ratio);
            ratio = ratio.times(growth);
            let sure = if solid { height } else { next };
            sums.push((low, high));
            sums.push((low + u128::from(sure.low), high + u128::from(sure.high)));
            low += u128::from(height.low);
            high += u128::from(height.high);
            height = next;
        }
        sums.push((low, high));
        // All that is left, f(n) + f(n+1) + .., is between f(n) and f(n) / (1 - f(n+1)/f(n)), as
        // the ratios of neighbours do not grow. A ratio that could be one would leave no upper
        // bound and no table.
        let rest = (u128::from(height.high) << POINT)
            .div_ceil(u128::from(ONE.saturating_sub(ratio.high)).max(1));
        let total_low = low + u128::from(height.low);
        let total_high = if ratio.high < ONE { high + rest } else { u128::MAX };
        // 2^126 over the total. A sum is at most the total, so its product with this is at most
        // 2^126, or next to nothing above it for the upper bounds.
        let share_low = (1u128 << 126) / total_high.max(1);
        let share_high = (1u128 << 126) / total_low.max(1) + 1;
        let mut edges = Vec::with_capacity(sums.len());
        let mut slack = 1u128;
        for (low, high) in sums {
            let edge = (low * share_low) >> 62;
            slack = slack.max(((high * share_high) >> 62) + 1 - edge);
            edges.push(u64::try_from(edge).unwrap_or(u64::MAX));
        }
        let slack = u64::try_from(slack).unwrap_or(u64::MAX);
        Self { curve, solid, shares: Shares { edges, slack } }
    }

    /// The share of all U between `known` and `known + 1` in units of 2^-bits, if it is one.
    ///
    /// The edges are computed anew with 64 bits to spare. It takes about a millisecond.
    pub(crate) fn locate(&self, known: &BigUint, bits: u32) -> Option<u64> {
        let inner = bits.saturating_add(64);
        let (edges, total) = self.exact_edges(inner, bits)?;
        // U times the total, against sums.
        let low = (known * &total.low) >> bits;
        let high = ((known + 1u32) * &total.high) >> bits;
        let above = edges.partition_point(|edge| edge.high <= low);
        let share = above.checked_sub(1)?;
        // Strictly: `high` was rounded down.
        let decided = high < edges.get(above)?.low;
        decided.then_some(share as u64)
    }

    /// The sums that the edges are, as far as the tread is above 2^-bits, and the sum of all
    /// treads; in units of 2^-inner. `None` where that sum has no upper bound, which more bits will
    /// give it.
    pub(crate) fn exact_edges(&self, inner: u32, bits: u32) -> Option<(Vec<Bracket>, Bracket)> {
        let one = Bracket::whole(1, inner);
        let mut ratio = self.curve.first_ratio(inner);
        let growth = (self.curve.shape == CurveShape::Gaussian).then(|| ratio.times(&ratio));
        let least = BigUint::from(1u32) << inner.saturating_sub(bits);
        let mut edges = Vec::new();
        let (mut sum, mut height) = (Bracket::whole(0, inner), one.clone());
        while height.high >= least {
            let next = height.times(&ratio);
            if let Some(growth) = &growth {
                ratio = ratio.times(growth);
            }
            edges.push(sum.clone());
            edges.push(sum.plus(if self.solid { &height } else { &next }));
            sum = sum.plus(&height);
            height = next;
        }
        edges.push(sum.clone());
        // As for the table.
        let rest = height.divided_by(&one.minus(&ratio))?;
        let mut total = sum.plus(&height);
        total.high = sum.high + rest.high;
        Some((edges, total))
    }
}

impl Curve {
    /// f(1) / f(0) = e^-rate.
    fn first_ratio(&self, bits: u32) -> Bracket {
        Bracket::exp_minus(&BigUint::from(self.numerator), &BigUint::from(self.denominator), bits)
    }
}
