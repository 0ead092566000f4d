//! The tables that parts of a statement release: their names, and how many columns they may have.

/// Most columns of a SELECT that shows released values.
pub(super) const MAX_OUTPUTS: usize = 1_000;

/// The name of a part's released table.
pub(super) fn part_name(index: usize) -> String {
    format!("part_{}", index + 1)
}

/// The name of a part's table when it fits the other levels of its SELECT, which is the statement's
/// n-th that asks for that.
pub(super) fn consistent_name(part: &str, select: usize) -> String {
    match select {
        ..=1 => format!("{part}_consistent"),
        select => format!("{part}_consistent_{select}"),
    }
}

/// The name of the part that a released table is of.
pub(super) fn part_of(table: &str) -> &str {
    table.split_once("_consistent").map_or(table, |(part, _)| part)
}
