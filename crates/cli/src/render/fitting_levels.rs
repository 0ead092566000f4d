//! The precision of levels that fit each other.

use hushtable::query::ConsistentPrecision;

use super::grid::{Alignment, TextGrid, visible};
use super::number::number;

/// The standard deviations of levels before and after they are adjusted to each other.
pub(super) fn fitting_levels(levels: &[ConsistentPrecision]) -> String {
    let mut grid = TextGrid::new([
        ("part", Alignment::Left),
        ("measurement", Alignment::Left),
        ("noise", Alignment::Right),
        ("adjusted", Alignment::Right),
    ]);
    for level in levels {
        let adjusted = level.adjusted.map_or_else(|| "depends on the numbers".to_owned(), number);
        let measurement = visible(&level.measurement);
        grid.push([level.part.clone(), measurement, number(level.released), adjusted]);
    }
    format!("Levels that fit each other, by the standard deviation\n{}", grid.text(2))
}
