//! `hushtable policy` and `hushtable fit`.

use std::path::Path;

use futures::executor::block_on;
use hushtable::{
    Distribution, FitOptions, LossOptions, Losses, MechanismLosses, Owner, OwnerLosses, Progress,
};
use hushtable_plot::{Axis, Chart, Scale, Series, Style};

use super::chart::ChartFile;
use super::{engine, within};
use crate::arguments::{
    ContractArgument, FitArguments, MemoryArgument, PolicyArguments, TextOrJson,
};
use crate::failure::Failure;
use crate::progress::watched;
use crate::render::losses;
use crate::{given_numbers, sql_input, stdio};

pub(crate) fn policy(arguments: &PolicyArguments) -> Result<(), Failure> {
    let (owner, plot) =
        opened(&arguments.contract, &arguments.memory, arguments.output.plot.as_deref())?;
    let sql = sql_input::query(&arguments.sql, owner.contract())?;
    let progress = Progress::default();
    let options =
        LossOptions { by_group: arguments.by_group, by_mechanism: arguments.by_mechanism };
    let report =
        watched("reading", &progress, || block_on(owner.policy(&sql, options, &progress)))?;
    let text = match arguments.output.format {
        TextOrJson::Text => losses::text(&report),
        TextOrJson::Json => losses::json(&report)?,
    };
    let rho = report.rho.to_f64();
    let chart = || match &report.mechanisms {
        Some(mechanisms) => chart_by_mechanism(rho, mechanisms),
        None => chart(rho, &report.losses, report.owners.as_ref()),
    };
    print_and_draw(&text, plot, chart)
}

pub(crate) fn fit(arguments: &FitArguments) -> Result<(), Failure> {
    let options = FitOptions {
        target: given_numbers::share("target", &arguments.target, FitOptions::TARGETS, "5%")?,
        at: given_numbers::share("at", &arguments.at, FitOptions::SHARES, "95%")?,
        probability: given_numbers::share(
            "with-probability",
            &arguments.with_probability,
            FitOptions::PROBABILITIES,
            "95%",
        )?,
        least_records: given_numbers::whole(
            "groups-with-at-least",
            &arguments.groups_with_at_least,
            1..=1_000_000_000,
            "5",
        )?,
    };
    let (owner, plot) =
        opened(&arguments.contract, &arguments.memory, arguments.output.plot.as_deref())?;
    let sql = sql_input::query(&arguments.sql, owner.contract())?;
    let progress = Progress::default();
    let report = watched("reading", &progress, || block_on(owner.fit(&sql, &options, &progress)))?;
    let text = match arguments.output.format {
        TextOrJson::Text => losses::fit_text(&report, &options),
        TextOrJson::Json => losses::fit_json(&report)?,
    };
    print_and_draw(&text, plot, || chart(report.requested_rho.to_f64(), &report.losses, None))
}

/// The owner of a contract, and the file that a chart of findings goes to.
pub(super) fn opened(
    contract: &ContractArgument,
    memory: &MemoryArgument,
    plot: Option<&Path>,
) -> Result<(Owner, Option<ChartFile>), Failure> {
    let engine = within(engine(&contract.path())?, memory)?;
    let protected = engine.protected();
    let plot = plot.map(|path| ChartFile::confidential(path, &protected)).transpose()?;
    Ok((engine.owner(), plot))
}

fn print_and_draw(
    text: &str,
    plot: Option<ChartFile>,
    chart: impl FnOnce() -> Chart,
) -> Result<(), Failure> {
    stdio::print(text.as_bytes())?;
    plot.map_or(Ok(()), |file| file.write(&chart()))
}

/// The distributions as curves, with the query's rho.
fn chart(rho: f64, losses: &Losses, owners: Option<&OwnerLosses>) -> Chart {
    let mut series = vec![
        steps("by whole pieces", &losses.by_pieces),
        steps("by the policy function", &losses.policy),
        steps("realised", &losses.realised),
    ];
    series.extend(owners.map(|o| steps("owners, by the policy function", &o.losses.policy)));
    of_losses("CONFIDENTIAL: what records lose", rho, series)
}

/// The losses by each mechanism's policy function, a curve for each mechanism.
fn chart_by_mechanism(rho: f64, mechanisms: &[MechanismLosses]) -> Chart {
    let curve = |one: &MechanismLosses| steps(&one.mechanism.to_string(), &one.policy);
    let series = mechanisms.iter().map(curve).collect();
    of_losses(
        "CONFIDENTIAL: what records lose by each mechanism, by its policy function",
        rho,
        series,
    )
}

fn steps(name: &str, distribution: &Distribution) -> Series {
    Series { name: name.to_owned(), style: Style::Steps, points: distribution.curve.clone() }
}

fn of_losses(title: &str, rho: f64, mut series: Vec<Series>) -> Chart {
    series.push(Series {
        name: format!("the query's rho, {rho}"),
        style: Style::Upright,
        points: vec![(rho, 0.0)],
    });
    Chart {
        title: title.to_owned(),
        x: Axis {
            label: "privacy loss of a record, in rho".to_owned(),
            scale: Scale::Logarithmic,
            marks: Vec::new(),
        },
        y: Axis {
            label: "share of the records that lose no more".to_owned(),
            scale: Scale::Linear,
            marks: Vec::new(),
        },
        series,
    }
}
