//! Bounds of columns that are on record from an earlier question.

use hushtable::query::LearntBounds;
use serde::Serialize;

use super::cell::date;
use super::grid::{Alignment, TextGrid, visible};
use super::number::number;
use super::pretty_json;
use crate::failure::Failure;

/// Seconds of a day.
const DAY: u64 = 86_400;

/// The bounds of a table as text.
pub(crate) fn text(all: &[LearntBounds]) -> String {
    let mut grid = TextGrid::new([
        ("column", Alignment::Left),
        ("from", Alignment::Right),
        ("to", Alignment::Right),
        ("learnt", Alignment::Left),
    ]);
    for bounds in all {
        grid.push([
            visible(&bounds.column),
            number(bounds.low.to_f64()),
            number(bounds.high.to_f64()),
            since(bounds),
        ]);
    }
    let mut out = grid.text(0);
    if all.iter().any(|bounds| !bounds.is_sure) {
        out += "not clear: too few units were visible, and noise may have decided; give bounds \
                yourself if you can, or learn them again with a larger budget\n";
    }
    out
}

/// The bounds of a table as JSON.
pub(crate) fn json(all: &[LearntBounds]) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct LearntReport<'a> {
        learnt_bounds: &'a [LearntBounds],
    }
    pretty_json(&LearntReport { learnt_bounds: all })
}

/// The bounds that a query has from records, a line for each.
pub(super) fn lines(all: &[LearntBounds]) -> Vec<String> {
    let line = |bounds: &LearntBounds| {
        format!(
            "- {}.{} from {} to {}: learnt {}",
            visible(&bounds.table),
            visible(&bounds.column),
            number(bounds.low.to_f64()),
            number(bounds.high.to_f64()),
            since(bounds)
        )
    };
    all.iter().map(line).collect()
}

/// When bounds were learnt and at which price, and what is to be known of it.
fn since(bounds: &LearntBounds) -> String {
    let days = i64::try_from(bounds.released_at / DAY).unwrap_or(i64::MAX);
    let earlier = if bounds.of_earlier_data { ", from earlier data" } else { "" };
    let unclear = if bounds.is_sure { "" } else { ", not clear" };
    format!("on {} for {}{earlier}{unclear}", date(days), bounds.paid)
}
