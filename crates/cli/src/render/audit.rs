//! Findings of an audit. They are about the exact data, and every form of them says so.

use hushtable::{AuditReport, PairComparison};
use serde::Serialize;

use super::grid::{TextGrid, visible};
use super::number::{at_least, at_most, number};
use super::pretty_json;
use crate::failure::Failure;

/// Heading of everything that is about the exact data.
pub(crate) const CONFIDENTIAL: &str =
    "CONFIDENTIAL: this is about the exact data, and for its owner alone. Do not publish it.";

/// Limit of every audit that finds nothing.
const LIMIT: &str = "This can find violations; it can never prove that there are none.";

/// The findings as JSON.
#[derive(Debug, Serialize)]
struct AuditFindings<'a> {
    confidential: bool,
    verdict: String,
    #[serde(flatten)]
    report: &'a AuditReport,
}

/// The findings as JSON.
pub(crate) fn json(report: &AuditReport) -> Result<String, Failure> {
    pretty_json(&AuditFindings { confidential: true, verdict: verdict(report), report })
}

/// The findings as text.
pub(crate) fn text(report: &AuditReport) -> String {
    let mut facts = TextGrid::pairs();
    let promised = report.promised;
    facts.push(["neighbouring tables", &report.neighbouring.to_string()]);
    facts.push(["the query's loss", &report.loss.to_string()]);
    let (epsilon, delta) = (at_least(promised.epsilon), at_least(promised.delta));
    let of_whom = if by_size(report) { ", to a record at the thresholds" } else { "" };
    facts.push(["promised", &format!("epsilon = {epsilon}, delta = {delta}{of_whom}")]);
    let confidence = format!("{} %, for all bounds together", percent(report.confidence));
    facts.push(["confidence", &confidence]);
    let table = visible(&report.table);
    let mut out = format!("{CONFIDENTIAL}\n\nAudit of a query on {table}\n{}\n", facts.text(2));
    for (index, compared) in report.comparisons.iter().enumerate() {
        out += &comparison(index + 1, compared, report.requested_runs, by_size(report));
    }
    if report.comparisons.is_empty() {
        out += "Nothing could be compared: too few units count for the query.\n\n";
    }
    format!("{out}{}\n", verdict(report))
}

fn comparison(ordinal: usize, compared: &PairComparison, requested: u64, by_size: bool) -> String {
    let [first, second] = &compared.tables;
    let mut grid = TextGrid::pairs();
    let runs = number(compared.runs as f64);
    let runs = match compared.runs < requested {
        true => {
            format!("{runs} on each table; {} would be too much work", number(requested as f64))
        }
        false => format!("{runs} on each table"),
    };
    match &compared.event {
        None => grid.push(["the two tables", "are alike for this query"]),
        Some(event) => {
            let (low, high) = (at_most(event.at_least), at_least(event.at_most));
            grid.push(["runs", &runs]);
            let promised = at_least(compared.promised);
            let size = if by_size { " or less, by its size" } else { "" };
            let epsilon = at_most(compared.epsilon_at_least);
            let bound = format!("{epsilon}, promised {promised}{size}");
            grid.push(["epsilon is at least", &bound]);
            grid.push(["evidence", &visible(&event.what)]);
            let likely = format!("at least {low} on {}", visible(&event.likely_on));
            grid.push(["probability", &format!("{likely}, at most {high} on the other")]);
        }
    }
    format!("{ordinal}. {} and {}\n{}\n", visible(first), visible(second), grid.text(3))
}

fn verdict(report: &AuditReport) -> String {
    let bound = at_most(report.epsilon_at_least);
    let confidence = percent(report.confidence);
    if by_size(report) && !report.violation {
        return format!(
            "no violation found: no epsilon is above what is promised to a record of the size of \
             the one left out ({confidence} % confidence). {LIMIT}"
        );
    }
    let (epsilon, delta) = (at_least(report.promised.epsilon), at_least(report.promised.delta));
    if report.violation {
        return format!(
            "VIOLATION: epsilon is at least {bound} ({confidence} % confidence) \
             at delta = {delta}, promised {epsilon}. Stop using this query, \
             and report it to the maintainers of Hushtable (the query, not the data). \
             A second audit tells whether it was chance."
        );
    }
    format!(
        "no violation found: epsilon is at least {bound} ({confidence} % confidence) at delta = \
         {delta}, promised {epsilon}. {LIMIT}"
    )
}

/// Whether records of different sizes are promised different things.
fn by_size(report: &AuditReport) -> bool {
    report.comparisons.iter().any(|c| c.promised != report.promised.epsilon)
}

/// A probability in percent, not rounded to a hundred.
fn percent(p: f64) -> String {
    let text = format!("{:.7}", p * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use hushtable::EventInWords;
    use hushtable::privacy::{Loss, Neighbouring};
    use hushtable::query::EpsilonAt;

    use super::*;

    fn report(epsilon_at_least: f64) -> AuditReport {
        let tables =
            |other: &str| ["the whole table".to_owned(), format!("the table without {other}")];
        let event = EventInWords {
            what: "the values of `SUM(\u{1b}x)` in the groups that differ are high".to_owned(),
            likely_on: "the whole table".to_owned(),
            at_least: 0.723_46,
            at_most: 0.271_23,
        };
        let compared = |other: &str, runs, event| PairComparison {
            tables: tables(other),
            runs,
            epsilon_at_least,
            promised: 4.377_81,
            violation: false,
            event,
        };
        AuditReport {
            table: "visits".to_owned(),
            neighbouring: Neighbouring::AddRemove,
            loss: Loss::concentrated("0.5".parse().unwrap()),
            promised: EpsilonAt { delta: 1e-5, epsilon: 4.377_81 },
            epsilon_at_least,
            confidence: 0.999,
            violation: epsilon_at_least > 4.377_81,
            requested_runs: 200_000,
            comparisons: vec![
                compared("the heaviest unit", 200_000, Some(event.clone())),
                compared("unit number 2 by weight", 5_120, Some(event)),
                compared("unit number 3 by weight", 200_000, None),
            ],
        }
    }

    #[test]
    fn texts() {
        let none = AuditReport { comparisons: Vec::new(), ..report(0.0) };
        let all = [text(&report(0.981_27)), text(&report(4.4)), text(&none)];
        insta::assert_snapshot!("audit_texts", all.join("\n----\n"));
        assert!(all.iter().all(|text| text.starts_with("CONFIDENTIAL")));
    }

    #[test]
    fn programs_read_that_it_is_confidential() {
        let text = json(&report(0.981_27)).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["confidential"], true);
        assert_eq!(json["violation"], false);
        insta::assert_snapshot!("audit_json", text);
    }

    #[test]
    fn no_confidence_is_certainty() {
        assert_eq!(percent(0.999), "99.9");
        assert_eq!(percent(0.999_999_999), "99.9999999");
        assert_eq!(percent(0.5), "50");
    }
}
