//! The findings of a check of a ledger.

use std::fmt::Write as _;

use hushtable::ledger::Inspection;

use super::grid::visible;

pub(crate) fn text(inspection: &Inspection) -> String {
    let path = visible(&inspection.path.display().to_string());
    if inspection.problems.is_empty() {
        return format!("the ledger {path} is in order: {}\n", contents(inspection));
    }
    let mut out = format!("the ledger {path} is not in order\n");
    for problem in &inspection.problems {
        let _ = writeln!(out, "  {}", visible(problem));
    }
    out
}

/// How much there is in it.
pub(crate) fn contents(inspection: &Inspection) -> String {
    let of = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    format!("{}, {}", of(inspection.charges, "charge"), of(inspection.releases, "release"))
}
