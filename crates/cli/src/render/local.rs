//! Estimates from randomised reports.

use hushtable::mechanisms::Estimate;
use serde_json::json;

use super::grid::{Alignment, TextGrid, visible};
use super::number::number;
use crate::failure::Failure;

/// One value with its estimate.
pub(crate) struct EstimatedValue {
    pub(crate) value: String,
    /// How many reports have it.
    pub(crate) reports: u64,
    pub(crate) estimate: Estimate,
    /// Half of the interval's width.
    pub(crate) half_width: f64,
}

/// For people.
pub(crate) fn text(
    reports: u64,
    estimated: &[EstimatedValue],
    epsilon: &str,
    level: &str,
) -> String {
    let percent = level.parse::<f64>().map_or_else(|_| level.to_owned(), |l| number(100.0 * l));
    let interval = format!("{percent} % within");
    let mut grid = TextGrid::new([
        ("value", Alignment::Left),
        ("reports", Alignment::Right),
        ("estimated rows", Alignment::Right),
        (interval.as_str(), Alignment::Right),
    ])
    .underlined();
    for row in estimated {
        grid.push([
            visible(&row.value),
            number(row.reports as f64),
            number(row.estimate.count.round()),
            format!("± {}", number(row.half_width.ceil())),
        ]);
    }
    format!(
        "{} reports, epsilon = {epsilon} each\n\n{}\n\
         Estimates are right on average; of few reports they may be negative.\n",
        number(reports as f64),
        grid.text(0)
    )
}

/// For programs, on one line.
pub(crate) fn json(
    reports: u64,
    estimated: &[EstimatedValue],
    level: f64,
) -> Result<String, Failure> {
    let rows: Vec<_> = estimated
        .iter()
        .map(|row| {
            json!({
                "value": row.value,
                "reports": row.reports,
                "estimate": row.estimate.count,
                "standard_error": row.estimate.standard_error,
                "low": row.estimate.count - row.half_width,
                "high": row.estimate.count + row.half_width,
            })
        })
        .collect();
    let report = json!({ "reports": reports, "level": level, "estimates": rows });
    serde_json::to_string(&report)
        .map(|text| text + "\n")
        .map_err(|e| Failure::new(format!("cannot write the report: {e}"), "give --format text"))
}
