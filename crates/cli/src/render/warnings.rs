//! Warnings about queries.

use hushtable::PartQuote;
use hushtable::query::Warning;

use super::grid::visible;

/// A warning for the standard error stream, with the name of its query where there are several.
pub(crate) fn note(warning: &Warning, query: Option<&str>) -> String {
    let query = query.map_or_else(String::new, |query| format!("{}: ", visible(query)));
    text(&format!("{query}{}", visible(&warning.what)), &visible(&warning.hint))
}

fn text(what: &str, hint: &str) -> String {
    format!("warning: {what}\n  hint: {hint}\n")
}

/// The note on levels that do not fit each other.
pub(crate) fn levels_misfit() -> String {
    text(
        "the levels differ by more than noise, and stay as they were released",
        "limits cut more off at some levels than at others; raise `max_groups_contributed` or \
         `max_rows_per_group`, which is another question",
    )
}

/// The warnings of a query as a section of a quote; empty where there are none.
pub(super) fn warned(warnings: &[Warning]) -> String {
    section(warnings.iter().map(|warning| note(warning, None)))
}

/// The warnings of the queries of a workload.
pub(super) fn warned_by(parts: &[PartQuote]) -> String {
    section(parts.iter().flat_map(|part| {
        part.explanation.warnings.iter().map(|warning| note(warning, Some(&part.name)))
    }))
}

fn section(notes: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = notes
        .flat_map(|note| note.lines().map(|line| format!("  {line}\n")).collect::<Vec<_>>())
        .collect();
    if lines.is_empty() { String::new() } else { format!("Warnings\n{}", lines.concat()) }
}
