//! `hushtable policy` and `hushtable fit`.

use std::path::Path;

use futures::executor::block_on;
use hushtable::{FitOptions, LossOptions, Losses, Owner, OwnerLosses, Progress};
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
    let chart = || chart(report.rho.to_f64(), &report.losses, report.owners.as_ref());
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
    let steps = |name: &str, points: &[(f64, f64)]| Series {
        name: name.to_owned(),
        style: Style::Steps,
        points: points.to_vec(),
    };
    let mut series = vec![
        steps("by whole pieces", &losses.by_pieces.curve),
        steps("by the policy function", &losses.policy.curve),
        steps("realised", &losses.realised.curve),
    ];
    series.extend(owners.map(|o| steps("owners, by the policy function", &o.losses.policy.curve)));
    series.push(Series {
        name: format!("the query's rho, {rho}"),
        style: Style::Upright,
        points: vec![(rho, 0.0)],
    });
    Chart {
        title: "CONFIDENTIAL: what records lose".to_owned(),
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
