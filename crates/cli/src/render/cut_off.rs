//! Losses to limits, as quotes list them.

use hushtable::PartQuote;
use hushtable::query::Explanation;

use super::grid::{Alignment, TextGrid, visible};

const TITLE: &str = "Cut off, and in no interval";

/// The losses of one query as a section of a quote; empty where there are none.
pub(super) fn of_one_query(explanation: &Explanation) -> String {
    let mut grid = TextGrid::new([("", Alignment::Left)]);
    let losses = &explanation.intervals.not_in_them;
    losses.iter().for_each(|loss| grid.push([visible(loss)]));
    if losses.is_empty() { String::new() } else { format!("{TITLE}\n{}", grid.text(2)) }
}

/// The losses of the queries of a workload. Those of clipping reports are in no table.
pub(super) fn of_queries(parts: &[PartQuote]) -> String {
    let mut grid = TextGrid::new([("query", Alignment::Left), ("what", Alignment::Left)]);
    let mut any = false;
    for part in parts.iter().filter(|part| part.report_of.is_empty()) {
        for loss in &part.explanation.intervals.not_in_them {
            any = true;
            grid.push([visible(&part.name), visible(loss)]);
        }
    }
    if any { format!("{TITLE}\n{}", grid.text(2)) } else { String::new() }
}
