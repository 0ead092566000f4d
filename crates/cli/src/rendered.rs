//! Results in the forms that the command gives them, for other ways in: texts for people, JSON for
//! programs, HTML for notebooks, charts.
//!
//! Names, keys and queries may hold anything. In texts and in HTML, characters that steer a
//! terminal or are invisible are escaped; in HTML, so is all markup.

use clap::Parser;
use hushtable::query::{IntervalRequest, Refusal, Warning};
use hushtable::visible::visible;
use hushtable::{
    Answer, AnswerTable, AuditReport, BudgetLine, Charges, CheckReport, Engine, ErrorText,
    FitOptions, FitReport, Hint, LossReport, OtherAccount, QuestionQuote, Statement, TuneReport,
};
use hushtable_plot::ImageFormat;

use crate::arguments::{Cli, Command};
use crate::commands::query::account_of;
use crate::commands::{self, assess, calc};
use crate::failure::Failure;
use crate::render::intervals::TableView;
use crate::render::plot::ChartWords;
use crate::render::{
    self, TableStyle, audit, budget, check, html, losses, plot, pretty_json, quoted, tune, warnings,
};
use crate::table_format::TableFormat;

/// Most rows of a table in HTML.
const MOST_ROWS: usize = 100;

/// A report, for people and for programs.
#[derive(Clone, Debug)]
pub struct RenderedReport {
    /// For people, in lines.
    pub text: String,
    /// For programs.
    pub json: String,
}

/// A chart, for programs that draw themselves and as an image.
#[derive(Clone, Debug)]
pub struct RenderedChart {
    /// A specification of Vega-Lite, in JSON.
    pub vega_lite: String,
    /// The image that the command draws.
    pub svg: String,
}

/// A quote; `verbose` for all mechanisms, losses and probabilities. `more` says in a shorter text
/// how these are shown.
///
/// # Errors
/// Only by a fault of this program.
pub fn quote(quoted: &QuestionQuote, verbose: bool, more: &str) -> Result<RenderedReport, Refusal> {
    Ok(RenderedReport {
        text: quoted::text_with(quoted, verbose, more),
        json: quoted::json(quoted)?,
    })
}

/// Budgets with their charges, and accounts that the contract does not name.
///
/// # Errors
/// Only by a fault of this program.
pub fn budgets(lines: &[BudgetLine], others: &[OtherAccount]) -> Result<RenderedReport, Refusal> {
    Ok(RenderedReport { text: budget::text(lines, others), json: budget::json(lines, others)? })
}

/// The values of tables, beside the contract.
///
/// # Errors
/// Only by a fault of this program.
pub fn checked(report: &CheckReport) -> Result<RenderedReport, Refusal> {
    Ok(RenderedReport { text: check::text(report), json: check::json(report)? })
}

/// An audit.
///
/// # Errors
/// Only by a fault of this program.
pub fn audited(report: &AuditReport) -> Result<RenderedReport, Refusal> {
    Ok(RenderedReport { text: audit::text(report), json: audit::json(report)? })
}

/// A query at other settings.
///
/// # Errors
/// Only by a fault of this program.
pub fn tuned(report: &TuneReport) -> Result<RenderedReport, Refusal> {
    Ok(RenderedReport { text: tune::text(report), json: tune::json(report)? })
}

/// The losses of single records.
///
/// # Errors
/// Only by a fault of this program.
pub fn policy(report: &LossReport) -> Result<RenderedReport, Refusal> {
    Ok(RenderedReport { text: losses::text(report), json: losses::json(report)? })
}

/// The smallest policy for a target.
///
/// # Errors
/// Only by a fault of this program.
pub fn fitted(report: &FitReport, options: &FitOptions) -> Result<RenderedReport, Refusal> {
    Ok(RenderedReport { text: losses::fit_text(report, options), json: losses::fit_json(report)? })
}

/// A statement, in JSON.
///
/// # Errors
/// Only by a fault of this program.
pub fn statement(statement: &Statement) -> Result<String, Refusal> {
    Ok(pretty_json(statement)?)
}

/// The charges of an answer and what is left of each budget, in lines.
pub fn account(answer: &Answer, engine: &Engine) -> String {
    account_of(answer, engine)
}

/// The charges of a workload and what is left of each budget, in lines; `reports`: some queries
/// have clipping reports.
pub fn account_of_workload(charges: &Charges, engine: &Engine, reports: bool) -> String {
    commands::release::account_of(charges, engine, reports)
}

/// A warning about a query of a workload.
pub fn warned_of(query: &str, warning: &Warning) -> String {
    warnings::note(warning, Some(query))
}

/// The warnings about an answer's queries, one by one.
pub fn warned(answer: &Answer) -> Vec<String> {
    let parts = answer.statement.parts.iter();
    let all = parts.flat_map(|part| &part.release.explanation.warnings);
    all.map(|warning| warnings::note(warning, None)).collect()
}

/// A table with its intervals and its notes, in lines.
///
/// # Errors
/// Only by a fault of this program.
pub fn table(output: &AnswerTable, wanted: IntervalRequest) -> Result<String, Refusal> {
    let view = TableView::of(output, Some(wanted))?;
    let style = TableStyle::new(TableFormat::Table, false, false)?;
    let text = render::result(&view, style)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// A table with its intervals and its notes, in HTML, to stand in another page.
///
/// # Errors
/// Only by a fault of this program.
pub fn table_html(output: &AnswerTable, wanted: IntervalRequest) -> Result<String, Refusal> {
    Ok(html::fragment(&TableView::of(output, Some(wanted))?, MOST_ROWS)?)
}

/// A text in HTML, to stand in another page.
pub fn text_html(text: &str) -> String {
    html::preformatted(text)
}

/// A table's first column of noisy numbers as a chart.
///
/// # Errors
/// When there is no such column.
pub fn chart(output: &AnswerTable, wanted: IntervalRequest) -> Result<RenderedChart, Refusal> {
    let chart = plot::chart(&TableView::of(output, Some(wanted))?, ChartWords::default())?;
    let svg = chart.draw(ImageFormat::Svg).map_err(Failure::from)?;
    Ok(RenderedChart {
        vega_lite: chart.vega_lite().map_err(Failure::from)?,
        svg: String::from_utf8_lossy(&svg).into_owned(),
    })
}

/// The text of an error, with characters escaped that steer a terminal or are invisible.
pub fn error(error: &dyn Hint) -> ErrorText {
    let ErrorText { what, place, hint, hint_in_code } = error.error_text();
    let lines = |text: &str| text.lines().map(visible).collect::<Vec<_>>().join("\n");
    ErrorText {
        what: lines(&what),
        place: place.as_deref().map(lines),
        hint: hint.as_deref().map(visible),
        hint_in_code: hint_in_code.as_deref().map(visible),
    }
}

/// The report of `calc` or `assess` in JSON, from numbers alone: the words of the command line
/// begin with one of the two. It reads no file. Other words, and draws, have none.
///
/// # Errors
/// When a number is not in its range. There is no hint: those of the command name its options.
pub fn computed(words: &[String]) -> Result<String, Refusal> {
    let unusable = || Refusal::new("these arguments do not go together", "");
    let line = std::iter::once("hushtable").chain(words.iter().map(String::as_str));
    let parsed = Cli::try_parse_from(line).map_err(|_| unusable())?;
    let json = match &parsed.command {
        Command::Calc(arguments) => calc::printed(arguments),
        Command::Assess(arguments) => assess::json_of_numbers(arguments).ok_or_else(unusable)?,
        _ => return Err(unusable()),
    };
    json.map_err(|failure| match failure {
        Failure::Argument { flag, value, range, .. } => {
            let name = flag.replace('-', "_");
            Refusal::new(format!("{name} = {value} is not valid: it must be {range}"), "")
        }
        Failure::Error { what, .. } => Refusal::new(what, ""),
        _ => unusable(),
    })
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Error { what, hint } => Self::new(what, hint.unwrap_or_default()),
            other => Self::new(other.to_string(), ""),
        }
    }
}
