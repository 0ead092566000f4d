//! How wide intervals around several quantiles are in proportion to each other, as released points
//! tell it. It decides nothing but widths.

use super::super::Percentile;

/// From that many quantiles on, the gaps between their points tell how dense the values are.
const BY_GAPS: usize = 4;

/// How much sparser values may be beyond the outermost points than within.
const SPARSER: f64 = 2.0;

/// A quantile: its share in ten thousandths, its released point, and its position among all.
type OrderedQuantiles = [(u32, i64, usize)];

/// The scale of each quantile's distance; the largest is one.
///
/// Values are the sparser the wider the gaps between points are, for the shares of the values
/// within. Few points tell little of that, so that half of their scales' logarithms is that of
/// their distances from the low end of the range, which suits values of any order of magnitude.
pub(super) fn scales(
    percentiles: &[Percentile],
    points: &[i64],
    (low, high): (i64, i64),
) -> Vec<f64> {
    let mut ordered: Vec<(u32, i64, usize)> = percentiles
        .iter()
        .zip(points)
        .enumerate()
        .map(|(nth, (percentile, &point))| (percentile.ten_thousandths(), point, nth))
        .collect();
    ordered.sort_unstable();
    let in_order = match ordered.len() < BY_GAPS {
        true => {
            let gaps = gaps(&ordered, ((0, low), (Percentile::WHOLE, high)));
            let sizes = ordered.iter().map(|(_, point, _)| 1.0 + point.abs_diff(low) as f64);
            gaps.windows(2).zip(sizes).map(|(beside, size)| of_few(beside, size)).collect()
        }
        false => of_many(&ordered),
    };
    let mut scales = vec![1.0; points.len()];
    let largest = in_order.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    for (&(_, _, nth), scale) in ordered.iter().zip(in_order) {
        if let Some(of) = scales.get_mut(nth) {
            *of = scale / largest;
        }
    }
    scales
}

/// The width of a share of the values between two points. One step more, as equal points may be
/// anywhere between two steps.
fn slope((from_share, from): (u32, i64), (to_share, to): (u32, i64)) -> f64 {
    let width = i128::from(to) - i128::from(from);
    (width.max(0) as f64 + 1.0) / f64::from(to_share.saturating_sub(from_share).max(1))
}

/// The slopes between points and from the outermost ones to the ends of the range, which may be far
/// away from all values.
fn gaps(ordered: &OrderedQuantiles, (low, high): ((u32, i64), (u32, i64))) -> Vec<f64> {
    let points: Vec<(u32, i64)> = ordered.iter().map(|&(share, point, _)| (share, point)).collect();
    let inner: Vec<f64> = points.windows(2).map(|pair| slope(pair[0], pair[1])).collect();
    let most = |inner: Option<&f64>| inner.map_or(f64::INFINITY, |inner| SPARSER * inner);
    let first = points.first().map(|&first| slope(low, first).min(most(inner.first())));
    let last = points.last().map(|&last| slope(last, high).min(most(inner.last())));
    first.into_iter().chain(inner).chain(last).collect()
}

/// The scale of one of few points: the geometric mean of the slopes on both sides, and of that and
/// its size.
fn of_few(beside: &[f64], size: f64) -> f64 {
    let slope = beside.iter().product::<f64>().sqrt();
    (slope * size).sqrt()
}

/// The scales of many points: the slopes between their neighbours.
fn of_many(ordered: &OrderedQuantiles) -> Vec<f64> {
    let between = |from: usize, to: usize| match (ordered.get(from), ordered.get(to)) {
        (Some(&(from_share, from, _)), Some(&(to_share, to, _))) => {
            slope((from_share, from), (to_share, to))
        }
        _ => 1.0,
    };
    let outermost = |outer: f64, inner: f64| outer * (outer / inner).clamp(1.0, SPARSER);
    let last = ordered.len().saturating_sub(1);
    let of = |rank: usize| match rank {
        0 => outermost(between(0, 1), between(1, 2)),
        rank if rank == last => {
            outermost(between(last - 1, last), between(last.saturating_sub(2), last - 1))
        }
        rank => between(rank - 1, rank + 1),
    };
    (0..ordered.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tenths: &[u32], points: &[i64], range: (i64, i64)) -> Vec<f64> {
        let percentiles = tenths.iter().map(|&tenth| Percentile::new(tenth.into(), 1).unwrap());
        scales(&percentiles.collect::<Vec<_>>(), points, range)
    }

    fn are(got: &[f64], want: &[f64]) {
        let near = got.iter().zip(want).all(|(got, want)| (got - want).abs() < 3e-3);
        assert!(near && got.len() == want.len(), "{got:?}");
    }

    #[test]
    fn few_points_have_the_scale_of_gaps_and_sizes() {
        are(&of(&[5], &[70], (0, 100)), &[1.0]);
        are(&of(&[2, 8], &[0, 0], (0, 0)), &[1.0, 1.0]);
        // Even values.
        are(&of(&[3, 7], &[2_999, 6_999], (0, 9_999)), &[0.655, 1.0]);
        are(&of(&[7, 3], &[6_999, 2_999], (0, 9_999)), &[1.0, 0.655]);
        // Slopes of 0.1, 0.3 and 0.6, as the end of the range is far away.
        let skewed = [(0.03f64.sqrt() * 300.0).sqrt(), (0.18f64.sqrt() * 1_200.0).sqrt()];
        are(&of(&[3, 6], &[299, 1_199], (0, 100_000)), &[skewed[0] / skewed[1], 1.0]);
    }

    /// Of even values all are alike, in any order; of others, as sparse as values are; beyond the
    /// outermost points up to twice as sparse as within.
    #[test]
    fn more_points_have_the_scale_of_the_gaps_beside_them() {
        are(&of(&[2, 8, 6, 4], &[199, 799, 599, 399], (0, 999)), &[1.0; 4]);
        are(&of(&[2, 4, 6, 8], &[0, 9, 29, 129], (0, 999)), &[0.0495, 0.0743, 0.2995, 1.0]);
        // Ties, and points that cross.
        let tied = of(&[2, 4, 6, 8], &[5, 5, 5, 4], (0, 999));
        assert!(tied.iter().all(|scale| *scale > 0.0 && *scale <= 1.0), "{tied:?}");
    }
}
