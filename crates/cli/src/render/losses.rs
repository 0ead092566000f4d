//! Losses of records, as text. They are about the exact data, and every form of them says so.

use std::fmt::Write;

use hushtable::{
    Distribution, FitOptions, FitReport, GroupLosses, LossReport, Losses, MechanismLosses,
    OwnerLosses,
};
use serde::Serialize;

use super::audit::CONFIDENTIAL;
use super::grid::{Alignment, TextGrid, visible};
use super::mechanisms::on_data;
use super::number::{at_least, number};
use super::pretty_json;
use crate::failure::Failure;

/// Most groups that are listed in text; JSON has all.
const MOST_GROUPS: usize = 20;

#[derive(Serialize)]
struct LossFindings<T> {
    confidential: bool,
    #[serde(flatten)]
    report: T,
}

/// The losses as JSON.
pub(crate) fn json(report: &LossReport) -> Result<String, Failure> {
    pretty_json(&LossFindings { confidential: true, report })
}

/// A fit as JSON.
pub(crate) fn fit_json(report: &FitReport) -> Result<String, Failure> {
    pretty_json(&LossFindings { confidential: true, report })
}

/// The losses as text.
pub(crate) fn text(report: &LossReport) -> String {
    let mut facts = TextGrid::pairs();
    facts.push(["the query's rho", &report.rho.to_string()]);
    facts.push(["records that it reads", &number(report.records as f64)]);
    let table = visible(&report.table);
    let mut out = format!(
        "{CONFIDENTIAL}\n\nWhat records of {table} lose by the query\n{}\n{}",
        facts.text(2),
        losses(&report.losses)
    );
    if let Some(OwnerLosses { column, owners, losses: by_owner }) = &report.owners {
        let (count, column) = (number(*owners as f64), visible(column));
        let _ = write!(
            out,
            "\nWhat the {count} owners ({column}) lose by all of their records\n\n{}",
            losses(by_owner)
        );
    }
    if let Some(groups) = &report.groups {
        let _ = write!(out, "\n{}", by_group(groups));
    }
    if let Some(mechanisms) = &report.mechanisms {
        let _ = write!(out, "\n{}", by_mechanism(mechanisms));
    }
    if let Some(compared) = report.compared.as_ref().filter(|compared| !compared.is_empty()) {
        let _ = write!(out, "\n{}", on_data(compared));
    }
    out
}

/// A fit as text.
pub(crate) fn fit_text(report: &FitReport, options: &FitOptions) -> String {
    let mut grid = TextGrid::new([
        ("measurement", Alignment::Left),
        ("noise, times that asked", Alignment::Right),
        ("rho with the contract's thresholds", Alignment::Right),
        ("or split with the rho asked", Alignment::Right),
    ]);
    for fitted in &report.measurements {
        grid.push([
            visible(&fitted.measurement),
            number(fitted.noise_times),
            fitted.rho.to_string(),
            fitted.split.map_or_else(|| "-".to_owned(), number),
        ]);
    }
    let selection = report.rho_of_selection.map_or_else(String::new, |rho| {
        format!("  {rho} of it for choosing groups, as asked; all groups are taken to appear.\n")
    });
    let percent = |share: f64| number(share * 100.0);
    let table = visible(&report.table);
    format!(
        "{CONFIDENTIAL}\n\nThe smallest loss with which {} % of {} groups of {table} \
         are within {} % of their exact values, with a probability of {} %\n\n\
         {}\n  In all: rho = {}, for a record at the thresholds of the contract.\n{selection}\n\
         What records then lose (the query was asked with rho = {})\n\n{}",
        percent(options.at),
        number(report.groups as f64),
        percent(options.target),
        percent(options.probability),
        grid.text(2),
        report.rho,
        report.requested_rho,
        losses(&report.losses)
    )
}

fn losses(losses: &Losses) -> String {
    let Losses { by_pieces, policy, realised } = losses;
    let columns = [by_pieces, policy, realised];
    let mut grid = TextGrid::new([
        ("", Alignment::Left),
        ("by whole pieces", Alignment::Right),
        ("by the policy", Alignment::Right),
        ("realised", Alignment::Right),
    ]);
    let line = |name: String, cell: &dyn Fn(&Distribution) -> String| {
        let mut row = vec![name];
        row.extend(columns.iter().map(|column| cell(column)));
        row
    };
    grid.push(line("lose more than rho".to_owned(), &above));
    for (index, quantile) in policy.quantiles.iter().enumerate() {
        let at = |distribution: &Distribution| {
            distribution.quantiles.get(index).map_or(f64::NAN, |q| q.loss)
        };
        let name = format!("{} % lose no more than", number(quantile.share * 100.0));
        grid.push(line(name, &|distribution| at_least(at(distribution))));
    }
    grid.push(line("the largest loss".to_owned(), &|distribution| at_least(distribution.largest)));
    grid.text(2)
}

/// The share above the query's rho, and how many these are.
fn above(distribution: &Distribution) -> String {
    let share = at_least(distribution.share_above_rho * 100.0);
    format!("{} ({share} %)", number(distribution.above_rho as f64))
}

/// Every mechanism's losses by its policy function, in a column of its own.
fn by_mechanism(mechanisms: &[MechanismLosses]) -> String {
    let names = mechanisms.iter().map(|one| (one.mechanism.to_string(), Alignment::Right));
    let mut grid = TextGrid::new([(String::new(), Alignment::Left)].into_iter().chain(names));
    let mut line = |name: String, cell: &dyn Fn(&Distribution) -> String| {
        grid.push([name].into_iter().chain(mechanisms.iter().map(|one| cell(&one.policy))));
    };
    line("lose more than rho".to_owned(), &above);
    let quantiles = mechanisms.first().map_or(&[][..], |one| &one.policy.quantiles);
    for (index, quantile) in quantiles.iter().enumerate() {
        let at = |distribution: &Distribution| {
            distribution.quantiles.get(index).map_or(f64::NAN, |q| q.loss)
        };
        let name = format!("{} % lose no more than", number(quantile.share * 100.0));
        line(name, &|distribution| at_least(at(distribution)));
    }
    line("the largest loss".to_owned(), &|distribution| at_least(distribution.largest));
    format!(
        "By mechanism, by the policy, made so that a record at the thresholds loses the same\n{}",
        grid.text(2)
    )
}

fn by_group(groups: &[GroupLosses]) -> String {
    let mut grid = TextGrid::new([
        ("group", Alignment::Left),
        ("records", Alignment::Right),
        ("more than rho", Alignment::Right),
        ("half lose no more than", Alignment::Right),
        ("the largest loss", Alignment::Right),
    ]);
    for group in groups.iter().take(MOST_GROUPS) {
        let keys = group.keys.iter().map(|key| key.as_deref().map_or("NULL".to_owned(), visible));
        let distribution = &group.losses.policy;
        let half =
            distribution.quantiles.iter().find(|q| q.share == 0.5).map_or(f64::NAN, |q| q.loss);
        grid.push([
            keys.collect::<Vec<_>>().join(", "),
            number(group.records as f64),
            above(distribution),
            at_least(half),
            at_least(distribution.largest),
        ]);
    }
    let more = groups.len().saturating_sub(MOST_GROUPS);
    let more = match more {
        0 => String::new(),
        more => format!("  and {} more groups; the JSON has all of them\n", number(more as f64)),
    };
    format!("By group, by the policy\n{}{more}", grid.text(2))
}
