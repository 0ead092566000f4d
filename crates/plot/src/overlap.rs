//! Lines that lie on each other.

use crate::dot::{Dot, UNIT};

/// How near lines are that hide each other, in dots.
const NEAR: f64 = UNIT as f64;
/// How many columns of the page they share then at least.
const LONG: usize = 30;

/// How many later lines each line lies under, over a stretch of the page that is seen.
pub(crate) fn hidden_by(lines: &[&[Dot]]) -> Vec<u32> {
    let heights: Vec<Vec<(i32, f64)>> = lines.iter().map(|line| by_column(line)).collect();
    let under = |below: &[(i32, f64)], above: &[(i32, f64)]| {
        let at = |column: i32| above.binary_search_by_key(&column, |point| point.0).ok();
        let near = |(column, height): &&(i32, f64)| {
            at(*column).is_some_and(|index| (above[index].1 - height).abs() < NEAR)
        };
        below.iter().filter(near).count() >= LONG
    };
    let above = |(index, line): (usize, &Vec<(i32, f64)>)| {
        let later = heights.iter().skip(index + 1);
        u32::try_from(later.filter(|other| under(line, other)).count()).unwrap_or(0).min(4)
    };
    heights.iter().enumerate().map(above).collect()
}

/// The height of a line in each column of the page, where it has one.
fn by_column(line: &[Dot]) -> Vec<(i32, f64)> {
    let unit = UNIT as i32;
    let mut heights = Vec::new();
    for pair in line.windows(2) {
        let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
        for column in (x + unit - 1).div_euclid(unit)..=to_x.div_euclid(unit) {
            if to_x == x || heights.last().is_some_and(|(last, _)| *last >= column) {
                continue;
            }
            let share = f64::from(column * unit - x) / f64::from(to_x - x);
            heights.push((column, f64::from(y) + share * f64::from(to_y - y)));
        }
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_share_a_stretch_lie_under_each_other() {
        let unit = UNIT as i32;
        let level = |y: i32, to: i32| vec![(0, y * unit), (to * unit, y * unit)];
        let near = vec![(0, 10 * unit + 2), (60 * unit, 10 * unit + 2)];
        let (one, far) = (level(10, 100), level(40, 100));
        let crossing = vec![(0, 0), (100 * unit, 400 * unit)];
        assert_eq!(hidden_by(&[&one, &near, &far, &crossing, &[]]), [1, 0, 0, 0, 0]);
        assert_eq!(hidden_by(&[&one, &one, &one]), [2, 1, 0]);
        // Few columns are seen beside each other.
        assert_eq!(hidden_by(&[&one, &level(10, 5)]), [0, 0]);
    }
}
