//! Quotes of statements of several private parts: an overview, and a page for each.

use std::fmt::Write;

use hushtable::query::Explanation;
use hushtable::{PartQuote, QuestionQuote};

use super::explanation::of_one_query;
use super::fitting_levels::fitting_levels;
use super::grid::{Alignment, TextGrid, visible};
use super::page;
use super::plain_quote::standing;

/// The parts of a quote as text: a page for each, or all of its tables.
pub(super) fn text(quoted: &QuestionQuote, verbose: bool) -> String {
    let mut out = overview(&quoted.parts);
    for part in &quoted.parts {
        // Writing to a String cannot fail.
        let _ = write!(out, "\nPart {}: {}\n", part.name, visible(&part.sql));
        if let Some(other) = &part.same_as {
            let _ = writeln!(out, "It shows the release of {other} in another way: free.");
        }
        if !part.reads.is_empty() {
            let _ = writeln!(out, "It reads {}.", part.reads.join(", "));
        }
        out += &chosen(part);
        let rendered = match verbose {
            true => of_one_query(&part.explanation, &part.mechanisms, &part.limits),
            false if !part.report_of.is_empty() => {
                page::of_report(&part.explanation, &part.report_of)
            }
            false if part.is_histogram => page::of_histogram(&part.explanation),
            false => page::of_one_query(&part.explanation),
        };
        let _ = write!(out, "\n{rendered}");
    }
    if let Some(around) = &quoted.around {
        let _ = write!(
            out,
            "\nSQL around the parts\n  {}\nIt runs on the released tables: free.\n",
            visible(around)
        );
    }
    if !quoted.consistent.is_empty() {
        let _ = write!(out, "\n{}", fitting_levels(&quoted.consistent));
    }
    out
}

/// The limits of a part that are chosen when it is asked.
fn chosen(part: &PartQuote) -> String {
    if part.automatic.is_empty() && !part.limits_from.is_empty() {
        return format!(
            "The limits that are chosen for {} are its limits, too; below they are examples.\n",
            part.report_of.join(", ")
        );
    }
    if part.automatic.is_empty() {
        return String::new();
    }
    let from = part.limits_from.join(", ");
    let mut out = format!("These limits are chosen privately, from {from}:\n");
    for limit in &part.automatic {
        let _ = writeln!(
            out,
            "- {}; below it is {}, as an example",
            visible(&limit.limit),
            limit.example
        );
    }
    out
}

fn overview(parts: &[PartQuote]) -> String {
    let mut grid = TextGrid::new([
        ("part", Alignment::Left),
        ("protects", Alignment::Left),
        ("weight", Alignment::Right),
        ("privacy loss", Alignment::Left),
        ("ledger", Alignment::Left),
    ]);
    for part in parts {
        grid.push([
            part.name.clone(),
            protected(&part.explanation),
            share(part, parts),
            match &part.same_as {
                Some(other) => format!("that of {other}"),
                None => part.explanation.total.to_string(),
            },
            match &part.same_as {
                Some(other) => format!("with {other}"),
                None => standing(part.standing).to_owned(),
            },
        ]);
    }
    format!("Private parts\n{}", grid.text(2))
}

/// The populations that a part protects.
fn protected(explanation: &Explanation) -> String {
    let population = visible(&explanation.population);
    match &explanation.beside {
        Some(beside) => format!("{population} and {}", visible(&beside.population)),
        None => population,
    }
}

/// The share of a part in the statement's budget.
fn share(part: &PartQuote, parts: &[PartQuote]) -> String {
    let has_limits_from_it = |other: &PartQuote| other.limits_from.contains(&part.name);
    match part.weight {
        _ if !part.report_of.is_empty() => format!("a tenth of {}", part.report_of.join(", ")),
        _ if part.same_as.is_some() => String::new(),
        _ if parts.iter().any(has_limits_from_it) => "for limits, of a tenth".to_owned(),
        Some(weight) => weight.to_string(),
        None => "its own budget".to_owned(),
    }
}
