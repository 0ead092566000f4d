//! `hushtable summary`.

use std::collections::BTreeMap;
use std::path::Path;

use futures::executor::block_on;
use hushtable::privacy::{Delta, Loss};
use hushtable::query::summary::Summary;
use hushtable::query::{Table, Workload};
use hushtable::{AnswerStep, Engine, Error, Plan, Progress, Purpose, Statement};

use super::release::account_of;
use super::{engine, within};
use crate::arguments::{SummaryArguments, SummaryFormat};
use crate::failure::Failure;
use crate::given_numbers::amount;
use crate::progress::watched;
use crate::render::quoted;
use crate::render::summary::{Answers, SummaryPage};
use crate::{delayed_effects, render, stdio, surroundings};

/// The summary's workload, as errors name it.
const WORKLOAD: &str = "the summary's workload";

pub(crate) fn run(arguments: &SummaryArguments) -> Result<(), Failure> {
    let format = format(arguments)?;
    let engine = within(engine(&arguments.contract.path())?, &arguments.memory)?;
    let table = engine.contract().named_table(&arguments.table)?;
    let loss = loss(arguments, &engine, table)?;
    let summary = Summary::of(table, loss);
    if arguments.workload {
        return stdio::print(summary.workload.as_bytes());
    }
    let no_file = |name: &str| Err(format!("there is no file `{name}`"));
    let workload = Workload::parse(&summary.workload, WORKLOAD, &no_file).map_err(Error::from)?;
    let analyst = engine.analyst(surroundings::analyst(arguments.analyst.as_deref()).as_deref());
    let progress = Progress::default();
    let purpose = if arguments.explain.is_some() { Purpose::Quote } else { Purpose::Answer };
    let plan = block_on(analyst.plan_workload(&workload, purpose, &progress))?;
    if let Some(format) = arguments.explain {
        return stdio::print(quoted::in_format(&plan.quoted()?, format, false)?.as_bytes());
    }
    for (query, warning) in plan.warnings() {
        stdio::note(&render::warnings::note(warning, Some(query)));
    }
    let protected = engine.protected();
    let output = arguments.output.as_deref().map(|p| protected.pending(p)).transpose()?;
    let statement = arguments.statement.as_deref().map(|p| protected.pending(p)).transpose()?;
    let (answers, whole) = answers(plan, &progress, &engine)?;
    let page = SummaryPage::new(&table.name, loss, &summary, &answers)?;
    let text = match format {
        SummaryFormat::Text => page.text(),
        SummaryFormat::Json => page.json(),
        SummaryFormat::Html => page.html(),
    };
    if let Some(statement) = statement {
        delayed_effects::write(statement, render::pretty_json(&whole)?.into_bytes())?;
    }
    match output {
        Some(output) => delayed_effects::write(output, text.into_bytes()),
        None => stdio::print(text.as_bytes()),
    }
}

/// The answers by query, and the statement.
fn answers(
    plan: Plan,
    progress: &Progress,
    engine: &Engine,
) -> Result<(Answers, Statement), Failure> {
    // All tables are in one file, or on the screen.
    let mut releasing = plan.release(|_| "summary".to_owned())?;
    watched("reading", progress, || {
        let mut answers = BTreeMap::new();
        loop {
            match block_on(releasing.next()).ok_or_else(unfinished)?? {
                AnswerStep::Charged(charges) => {
                    stdio::note(&account_of(&charges, engine, false));
                }
                AnswerStep::Answered(output) => {
                    let name = output.name.clone().ok_or_else(unfinished)?;
                    answers.insert(name, *output);
                }
                AnswerStep::Whole(statement) => return Ok((answers, *statement)),
            }
        }
    })
}

fn unfinished() -> Failure {
    Failure::new(
        "the summary's answers are not those of its queries",
        "this is a fault in Hushtable: please report it, without data",
    )
}

fn format(arguments: &SummaryArguments) -> Result<SummaryFormat, Failure> {
    match (arguments.format, arguments.output.as_deref()) {
        (Some(format), _) => Ok(format),
        (None, None) => Ok(SummaryFormat::Text),
        (None, Some(path)) => by_extension(path).ok_or_else(|| {
            Failure::new(
                format!("the name `{}` does not say which format to write", path.display()),
                "end it in .txt, .json or .html, or give --format text",
            )
        }),
    }
}

fn by_extension(path: &Path) -> Option<SummaryFormat> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "txt" => Some(SummaryFormat::Text),
        "json" => Some(SummaryFormat::Json),
        "html" | "htm" => Some(SummaryFormat::Html),
        _ => None,
    }
}

/// The budget that the options name, or else the contract's for one query.
fn loss(arguments: &SummaryArguments, engine: &Engine, table: &Table) -> Result<Loss, Failure> {
    let Some(population) = engine.contract().population(table) else {
        return Err(Failure::new(
            format!("the table `{}` is public", table.name),
            "read it directly: it is about nobody, and needs no noise",
        ));
    };
    let usual = population.defaults.loss();
    let delta = arguments.delta.as_deref().map(|text| amount("delta", text, "1e-6")).transpose()?;
    let delta = delta.or(usual.map(Loss::delta)).unwrap_or(Delta::ZERO);
    let loss = match (&arguments.epsilon, &arguments.rho) {
        (Some(epsilon), _) => Some(Loss::pure(amount("epsilon", epsilon, "1")?)),
        (None, Some(rho)) => Some(Loss::concentrated(amount("rho", rho, "0.5")?)),
        (None, None) => usual,
    };
    loss.map(|loss| loss.with_delta(delta)).ok_or_else(|| {
        Failure::new(
            "the summary has no budget: neither an option nor the contract's defaults give one",
            "give --epsilon 1 or --rho 0.5, and --delta 1e-6 for the choice of values to show",
        )
    })
}
