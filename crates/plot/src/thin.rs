//! Fewer points, the same picture.

use std::collections::HashSet;

use crate::Style;
use crate::dot::Dot;

/// Points that are drawn as if all were: of a run of points in one column, a line needs the first,
/// the lowest, the highest and the last, and dots are needed once.
pub(crate) fn thinned(style: Style, points: &[Dot]) -> Vec<Dot> {
    if style == Style::Points {
        let mut seen = HashSet::new();
        return points.iter().copied().filter(|p| seen.insert(*p)).collect();
    }
    let mut retained = Vec::new();
    for run in points.chunk_by(|a, b| a.0 == b.0) {
        let lowest = (0..run.len()).min_by_key(|i| run[*i].1).unwrap_or(0);
        let highest = (0..run.len()).max_by_key(|i| run[*i].1).unwrap_or(0);
        let mut indices = [0, lowest, highest, run.len() - 1];
        indices.sort_unstable();
        retained.extend(indices.map(|i| run[i]));
    }
    retained.dedup();
    retained
}

/// The corners of a line that is level from each point to the next.
pub(crate) fn stepped(points: &[Dot]) -> Vec<Dot> {
    let mut corners: Vec<Dot> = points.first().copied().into_iter().collect();
    for pair in points.windows(2) {
        corners.extend([(pair[1].0, pair[0].1), pair[1]]);
    }
    corners.dedup();
    corners
}

/// The pieces of a dashed line, `dash` long with `gap` between them.
pub(crate) fn dashed(dots: &[Dot], dash: f64, gap: f64) -> Vec<Vec<Dot>> {
    let mut pieces = Vec::new();
    let mut piece: Vec<Dot> = dots.first().copied().into_iter().collect();
    let (mut drawn, mut left) = (true, dash);
    for pair in dots.windows(2) {
        let length = distance(pair[0], pair[1]);
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let at = between(pair[0], pair[1], done / length);
            if drawn {
                piece.push(at);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece.push(at);
            }
            drawn = !drawn;
            left = if drawn { dash } else { gap };
        }
        left -= length - done;
        if drawn {
            piece.push(pair[1]);
        }
    }
    piece.dedup();
    pieces.extend((piece.len() > 1).then_some(piece));
    pieces
}

/// Dots from one to another, every second one, and both ends.
pub(crate) fn along(from: Dot, to: Dot) -> impl Iterator<Item = Dot> {
    let steps = (distance(from, to) / 2.0).ceil().max(1.0) as u32;
    (0..=steps).map(move |step| between(from, to, f64::from(step) / f64::from(steps)))
}

fn distance(from: Dot, to: Dot) -> f64 {
    f64::from(to.0 - from.0).hypot(f64::from(to.1 - from.1))
}

fn between(from: Dot, to: Dot, share: f64) -> Dot {
    let at = |from: i32, to: i32| from + (f64::from(to - from) * share).round() as i32;
    (at(from.0, to.0), at(from.1, to.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_in_one_column_keeps_its_ends_and_its_extremes() {
        let points = [(0, 5), (1, 4), (1, 9), (1, 2), (1, 3), (1, 4), (2, 4), (2, 4)];
        let expected = vec![(0, 5), (1, 4), (1, 9), (1, 2), (1, 4), (2, 4)];
        assert_eq!(thinned(Style::Line, &points), expected);
        assert_eq!(thinned(Style::Line, &expected), expected);
        assert_eq!(thinned(Style::Points, &points).len(), 6);
        assert_eq!(thinned(Style::Line, &[]), []);
    }

    /// All pixels that the segments of a line touch in columns of points.
    #[test]
    fn a_thinned_line_covers_the_same_heights() {
        let points: Vec<Dot> = (0..5000).map(|i| (i / 50, (i * 7919) % 301)).collect();
        let thin = thinned(Style::Line, &points);
        assert!(thin.len() <= 400, "{}", thin.len());
        let extremes = |points: &[Dot], column: i32| {
            let heights = points.iter().filter(|p| p.0 == column).map(|p| p.1);
            (heights.clone().min(), heights.max())
        };
        for column in 0..100 {
            assert_eq!(extremes(&thin, column), extremes(&points, column));
        }
    }

    #[test]
    fn dashes_go_round_corners() {
        let line = [(0, 0), (30, 0), (30, 40)];
        let pieces = dashed(&line, 20.0, 5.0);
        let expected: [&[Dot]; 3] =
            [&[(0, 0), (20, 0)], &[(25, 0), (30, 0), (30, 15)], &[(30, 20), (30, 40)]];
        assert_eq!(pieces, expected);
        assert_eq!(dashed(&[(1, 1)], 20.0, 5.0), Vec::<Vec<Dot>>::new());
        let dots: Vec<Dot> = along((0, 0), (6, 8)).collect();
        assert_eq!(dots, [(0, 0), (1, 2), (2, 3), (4, 5), (5, 6), (6, 8)]);
    }

    #[test]
    fn steps_are_level_until_the_next_point() {
        let corners = stepped(&[(0, 9), (3, 5), (3, 4), (7, 4)]);
        assert_eq!(corners, [(0, 9), (3, 9), (3, 5), (3, 4), (7, 4)]);
    }
}
