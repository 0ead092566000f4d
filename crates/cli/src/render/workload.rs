//! Promise of a workload.

use hushtable::query::{ConsistentPrecision, GroupsExplanation, JointExplanation};
use hushtable::{PartQuote, QuestionQuote};

use super::cut_off;
use super::explanation::unit_and_neighbours;
use super::fitting_levels::fitting_levels;
use super::grid::{Alignment, TextGrid, visible};
use super::measurements::{mechanism, near, scale};
use super::number::number;
use super::plain_quote::standing;
use super::policy::policy_of_workload;
use super::warnings::warned_by;

/// The queries of a workload's quote as text.
pub(super) fn text(quoted: &QuestionQuote, explanation: &JointExplanation) -> String {
    let sections = [
        promise(explanation),
        queries(&quoted.parts),
        measurements(&quoted.parts),
        cut_off::of_queries(&quoted.parts),
        levels(&quoted.consistent),
        explanation.policy.as_ref().map_or_else(String::new, policy_of_workload),
        warned_by(&quoted.parts),
    ];
    let sections: Vec<String> = sections.into_iter().filter(|s| !s.is_empty()).collect();
    sections.join("\n")
}

/// The precision of tables that fit each other.
fn levels(of: &[ConsistentPrecision]) -> String {
    if of.is_empty() { String::new() } else { fitting_levels(of) }
}

fn promise(explanation: &JointExplanation) -> String {
    let (unit, neighbours) =
        unit_and_neighbours(&explanation.privacy_unit, explanation.neighbouring);
    let mut grid = TextGrid::pairs();
    grid.push(["population", &visible(&explanation.population)]);
    grid.push(["one unit", &unit]);
    grid.push(["neighbouring tables", &neighbours]);
    if explanation.policy.is_some() {
        grid.push(["how much", "by its size: larger records may lose more, see below"]);
    }
    format!("What is protected\n{}", grid.text(2))
}

fn queries(parts: &[PartQuote]) -> String {
    let mut grid = TextGrid::new([
        ("query", Alignment::Left),
        ("weight", Alignment::Right),
        ("privacy loss", Alignment::Left),
        ("groups", Alignment::Left),
        ("ledger", Alignment::Left),
    ]);
    for part in parts {
        grid.push([
            visible(&part.name),
            part.weight.map_or_else(String::new, |weight| weight.to_string()),
            part.explanation.total.to_string(),
            groups(&part.explanation.groups),
            standing(part.standing).to_owned(),
        ]);
    }
    format!("Queries\n{}", grid.text(2))
}

fn groups(groups: &GroupsExplanation) -> String {
    match groups {
        GroupsExplanation::Single => "one row".to_owned(),
        GroupsExplanation::Public { groups, .. } => format!("{} public", number(*groups as f64)),
        GroupsExplanation::Private(private) => {
            let half = number(private.units_for_half as f64);
            format!("{}, half of the time from {half} {}", private.strategy, private.sizes_in)
        }
    }
}

fn measurements(parts: &[PartQuote]) -> String {
    let mut grid = TextGrid::new([
        ("query", Alignment::Left),
        ("what", Alignment::Left),
        ("noise", Alignment::Left),
        ("noise scale", Alignment::Right),
        ("95 % within", Alignment::Right),
    ]);
    let mut any = false;
    for part in parts {
        for m in &part.explanation.measurements {
            any = true;
            grid.push([visible(&part.name), visible(&m.name), mechanism(m), scale(m), near(m)]);
        }
    }
    if any { format!("What is measured in each group\n{}", grid.text(2)) } else { String::new() }
}
