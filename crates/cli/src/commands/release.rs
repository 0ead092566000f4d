//! `hushtable release`.

use std::fs;
use std::path::{Path, PathBuf};

use futures::executor::block_on;
use hushtable::output::{PendingFile, ProtectedFiles};
use hushtable::query::{IntervalRequest, Workload};
use hushtable::{AnswerStep, Charges, Engine, Plan, Progress, Purpose};

use super::note_file::{NoteFile, take_away};
use super::{charges, within};
use crate::arguments::ReleaseArguments;
use crate::failure::Failure;
use crate::progress::{is_visible, watched};
use crate::render::TableStyle;
use crate::render::grid::visible;
use crate::render::intervals::TableView;
use crate::render::quoted;
use crate::table_format::TableFormat;
use crate::{delayed_effects, pace, render, stdio, surroundings};

const STATEMENT: &str = "statement.json";

pub(crate) fn run(arguments: &ReleaseArguments) -> Result<(), Failure> {
    let (engine, workload) =
        Engine::with_workload(&arguments.workload, arguments.contract.as_deref(), pace::tell)?;
    let engine = within(engine, &arguments.memory)?;
    // The environment's analyst counts only if neither the workload nor an option names one.
    let named = match &workload.analyst {
        Some(_) => arguments.analyst.clone(),
        None => surroundings::analyst(arguments.analyst.as_deref()),
    };
    let analyst = engine.analyst(named.as_deref());
    let progress = Progress::default();
    let purpose = if arguments.explain.is_some() { Purpose::Quote } else { Purpose::Answer };
    let plan = block_on(analyst.plan_workload(&workload, purpose, &progress))?;
    let Some(folder) = arguments.out.as_deref().filter(|_| arguments.explain.is_none()) else {
        let format = arguments.explain.unwrap_or_default();
        return stdio::print(quoted::in_format(&plan.quoted()?, format, false)?.as_bytes());
    };
    let style = TableStyle::new(arguments.format, arguments.csv_safe, false)?;
    let requested = arguments.intervals.requested()?;
    if style.format == TableFormat::Xlsx {
        render::xlsx::check(&plan.quoted()?)?;
    }
    for (query, warning) in plan.warnings() {
        stdio::note(&render::warnings::note(warning, Some(query)));
    }
    let protected = engine.protected().and(&arguments.workload);
    let created = make(folder)?;
    let result = Files::in_folder(folder, &workload, style, &protected)
        .and_then(|files| release(plan, &progress, files, requested, &engine));
    if created && result.is_err() {
        let folder = folder.to_owned();
        delayed_effects::perform(move || {
            // Where it is empty: nothing was released then.
            let _ = fs::remove_dir(folder);
            Ok(())
        })?;
    }
    result
}

fn release(
    plan: Plan,
    progress: &Progress,
    files: Files,
    requested: Option<IntervalRequest>,
    engine: &Engine,
) -> Result<(), Failure> {
    let Files { folder, style, tables, statement } = files;
    let count = tables.len();
    let reports = progress.parts() > count;
    let mut releasing = plan.release(move |query| named(query, style))?;
    let whole = watched("reading", progress, || -> Result<_, Failure> {
        let (mut tables, mut number) = (tables.into_iter(), 0);
        loop {
            let output = match block_on(releasing.next()).ok_or_else(not_planned)?? {
                AnswerStep::Charged(charges) => {
                    stdio::note(&account_of(&charges, engine, reports));
                    continue;
                }
                AnswerStep::Answered(output) => output,
                AnswerStep::Whole(statement) => return Ok(statement),
            };
            // The old statement goes first: a folder that is being written must not look complete.
            if number == 0 {
                let old = folder.join(STATEMENT);
                delayed_effects::perform(move || take_away(&old))?;
            }
            number += 1;
            let TableFile { name, file, notes } = tables.next().ok_or_else(not_planned)?;
            let view = TableView { published: true, ..TableView::of(&output, requested)? };
            // First, so that no table stands without its notes.
            if let Some(notes) = notes {
                notes.write(&view.beside_result(style.format))?;
            }
            delayed_effects::write(file, render::result(&view, style)?)?;
            if !is_visible() {
                stdio::note(&finished(number, count, &folder.join(&name), output.on_record));
            }
        }
    })?;
    delayed_effects::write(statement, render::pretty_json(&whole)?.into_bytes())?;
    if whole.levels_misfit {
        stdio::note(&render::warnings::levels_misfit());
    }
    let tables = if count == 1 { "1 table" } else { &format!("{count} tables") };
    let folder = visible(&folder.display().to_string());
    stdio::note(&format!("{tables} and {STATEMENT} are in {folder}\n"));
    Ok(())
}

/// The files of a workload, which can all be written, and are not there yet or still as they were.
struct Files {
    folder: PathBuf,
    style: TableStyle,
    /// In the order of the queries.
    tables: Vec<TableFile>,
    statement: PendingFile,
}

/// The file of a table, with its name and the notes beside it.
struct TableFile {
    name: String,
    file: PendingFile,
    notes: Option<NoteFile>,
}

impl Files {
    fn in_folder(
        folder: &Path,
        workload: &Workload,
        style: TableStyle,
        protected: &ProtectedFiles,
    ) -> Result<Self, Failure> {
        let tables = workload.queries.iter().map(|query| {
            let name = named(&query.name, style);
            let path = folder.join(&name);
            let file = protected.pending(&path)?;
            let notes = match style.format.has_note_file() {
                true => NoteFile::beside(&path, protected)?,
                false => None,
            };
            Ok(TableFile { name, file, notes })
        });
        Ok(Self {
            tables: tables.collect::<Result<_, Failure>>()?,
            statement: protected.pending(&folder.join(STATEMENT))?,
            folder: folder.to_owned(),
            style,
        })
    }
}

/// The name of the file of a query's answer.
fn named(query: &str, style: TableStyle) -> String {
    format!("{query}.{}", extension(style.format))
}

fn extension(format: TableFormat) -> &'static str {
    match format {
        TableFormat::Table => "txt",
        TableFormat::Csv => "csv",
        TableFormat::Json => "json",
        TableFormat::Markdown => "md",
        TableFormat::Html => "html",
        TableFormat::Parquet => "parquet",
        TableFormat::Xlsx => "xlsx",
    }
}

/// Creates the folder; false if it exists.
fn make(folder: &Path) -> Result<bool, Failure> {
    match fs::create_dir(folder) {
        Ok(()) => Ok(true),
        Err(_) if folder.is_dir() => Ok(false),
        Err(error) => Err(Failure::new(
            format!("cannot create the folder `{}`: {error}", folder.display()),
            "check that its parent folder exists and is writable; nothing was charged",
        )),
    }
}

fn not_planned() -> Failure {
    Failure::new(
        "the workload has more answers than queries",
        "this is a fault in Hushtable: please report it, without data",
    )
}

fn finished(number: usize, count: usize, file: &Path, on_record: bool) -> String {
    let file = visible(&file.display().to_string());
    let again = if on_record { " (on record)" } else { "" };
    format!("{number} of {count}: {file}{again}\n")
}

/// The charges, and the rest of the budget; `reports`: some queries have clipping reports.
pub(crate) fn account_of(charges: &Charges, engine: &Engine, reports: bool) -> String {
    let of = |count: usize| match count {
        1 => "1 query".to_owned(),
        count if reports => format!("{count} queries and clipping reports"),
        count => format!("{count} queries"),
    };
    let mut out = charges::created(charges, engine);
    // Of several accounts, each pays for some of the queries.
    let queries = match charges.accounts.as_slice() {
        [_] => format!(" for {}", of(charges.new)),
        _ => String::new(),
    };
    for account in &charges.accounts {
        out += &charges::of_account(charges, account, &queries, "");
    }
    if charges.resumed > 0 {
        out += &format!("taken up: {} paid for before\n", of(charges.resumed));
    }
    if charges.on_record > 0 {
        out += &format!("on record: {}\n", of(charges.on_record));
    }
    out
}
