//! Promise and cost of a workload.

use hushtable::query::{ConsistentPrecision, Explanation, GroupsExplained, WorkloadExplanation};
use hushtable::{PartQuoted, Standing, WorkloadQuoted};
use serde::Serialize;

use super::explanation::unit_and_neighbours;
use super::fitting_levels::fitting_levels;
use super::grid::{Grid, Side, visible};
use super::measurements::{mechanism, near, scale};
use super::number::{at_least, number};
use super::policy::policy_of_workload;
use super::pretty_json;
use super::quoted::BudgetReport;
use super::warnings::warned_by;
use crate::failure::Failure;

/// Output of `--explain=json`: the contents of the workload's statement, and how it stands with the
/// budget.
#[derive(Debug, Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    explanation: &'a WorkloadExplanation,
    parts: Vec<PartReport<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    consistent: &'a [ConsistentPrecision],
    budget: BudgetReport<'a>,
}

#[derive(Debug, Serialize)]
struct PartReport<'a> {
    name: &'a str,
    weight: u32,
    standing: Standing,
    explanation: &'a Explanation,
}

/// A quote of a workload as JSON.
pub(crate) fn json(quoted: &WorkloadQuoted) -> Result<String, Failure> {
    let left_after = quoted.account.left.minus(quoted.charge);
    let parts = quoted.parts.iter().map(|part| {
        let PartQuoted { name, weight, explanation, standing } = part;
        PartReport { name, weight: *weight, standing: *standing, explanation }
    });
    pretty_json(&Report {
        explanation: &quoted.explanation,
        parts: parts.collect(),
        consistent: &quoted.consistent,
        budget: BudgetReport::new(
            &quoted.analyst,
            None,
            quoted.charge,
            &quoted.account,
            left_after,
        ),
    })
}

/// A quote of a workload as text.
pub(crate) fn text(quoted: &WorkloadQuoted) -> String {
    let explanation = &quoted.explanation;
    let sections = [
        promise(explanation),
        queries(&quoted.parts),
        measurements(&quoted.parts),
        levels(&quoted.consistent),
        explanation.policy.as_ref().map_or_else(String::new, policy_of_workload),
        warned_by(&quoted.parts),
        cost(quoted),
    ];
    let sections: Vec<String> = sections.into_iter().filter(|s| !s.is_empty()).collect();
    sections.join("\n")
}

/// The precision of tables that fit each other.
fn levels(of: &[ConsistentPrecision]) -> String {
    if of.is_empty() { String::new() } else { fitting_levels(of) }
}

fn promise(explanation: &WorkloadExplanation) -> String {
    let (unit, neighbours) =
        unit_and_neighbours(&explanation.privacy_unit, explanation.neighbouring);
    let mut grid = Grid::pairs();
    grid.push(["population", &visible(&explanation.population)]);
    grid.push(["one unit", &unit]);
    grid.push(["neighbouring tables", &neighbours]);
    if explanation.policy.is_some() {
        grid.push(["how much", "by its size: larger records may lose more, see below"]);
    }
    format!("What is protected\n{}", grid.text(2))
}

/// How it stands with the charge of a part.
pub(super) fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::New => "to be paid",
        Standing::Paid => "paid, no answer yet",
        Standing::OnRecord => "on record",
    }
}

fn queries(parts: &[PartQuoted]) -> String {
    let mut grid = Grid::new([
        ("query", Side::Left),
        ("weight", Side::Right),
        ("privacy loss", Side::Left),
        ("groups", Side::Left),
        ("ledger", Side::Left),
    ]);
    for part in parts {
        grid.push([
            visible(&part.name),
            part.weight.to_string(),
            part.explanation.total.to_string(),
            groups(&part.explanation.groups),
            standing(part.standing).to_owned(),
        ]);
    }
    format!("Queries\n{}", grid.text(2))
}

fn groups(groups: &GroupsExplained) -> String {
    match groups {
        GroupsExplained::Single => "one row".to_owned(),
        GroupsExplained::Public { groups, .. } => format!("{} public", number(*groups as f64)),
        GroupsExplained::Private(private) => {
            let half = number(private.units_for_half as f64);
            format!("{}, half of the time from {half} {}", private.strategy, private.sizes_in)
        }
    }
}

fn measurements(parts: &[PartQuoted]) -> String {
    let mut grid = Grid::new([
        ("query", Side::Left),
        ("what", Side::Left),
        ("noise", Side::Left),
        ("noise scale", Side::Right),
        ("95 % within", Side::Right),
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

fn cost(quoted: &WorkloadQuoted) -> String {
    let (explanation, account) = (&quoted.explanation, &quoted.account);
    let mut grid = Grid::pairs();
    let of_whom =
        if explanation.policy.is_some() { ", for a record at the thresholds" } else { "" };
    grid.push(["the workload's loss", &format!("{}{of_whom}", explanation.total)]);
    for implied in &explanation.total_as_epsilon {
        let (epsilon, delta) = (at_least(implied.epsilon), at_least(implied.delta));
        grid.push(["  that implies", &format!("epsilon = {epsilon}, delta = {delta}")]);
    }
    let free = quoted.parts.iter().filter(|part| part.standing != Standing::New).count();
    if free > 0 || quoted.charge != explanation.total {
        grid.push(["charged", &quoted.charge.to_string()]);
    }
    grid.push(["budget", &account.total.to_string()]);
    grid.push(["spent", &account.spent.to_string()]);
    grid.push(["left before", &account.left.to_string()]);
    let (after, verdict) = match account.left.minus(quoted.charge) {
        Some(left) if free == quoted.parts.len() => {
            (left.to_string(), "All queries are paid for: the release is free.")
        }
        Some(left) => (left.to_string(), "The budget suffices."),
        None => ("-".to_owned(), "The budget does not suffice: the workload would be refused."),
    };
    grid.push(["left after", &after]);
    let (analyst, table) = (visible(&quoted.analyst), visible(&explanation.population));
    format!("Budget of {analyst} on {table}\n{}\n{verdict}\n", grid.text(2))
}
