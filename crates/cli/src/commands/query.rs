//! `hushtable query`.

use std::path::{Path, PathBuf};

use futures::executor::block_on;
use hushtable::query::{Explanation, WarningCode};
use hushtable::{Answer, Engine, Progress, Purpose, resolved, same};

use hushtable_plot::ImageFormat;

use super::chart::ChartFile;
use super::note_file::NoteFile;
use super::{charges, engine, within};
use crate::arguments::QueryArguments;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::progress::watched;
use crate::render::TableStyle;
use crate::render::cell::timestamp;
use crate::render::grid::visible;
use crate::render::intervals::TableView;
use crate::render::number::number;
use crate::render::plain_quote::answered_before;
use crate::render::plot::ChartWords;
use crate::table_format::TableFormat;
use crate::{delayed_effects, render, sql_input, stdio};

pub(crate) fn run(arguments: &QueryArguments) -> Result<(), Failure> {
    // Whatever can be wrong with the command is found before the budget is touched.
    let on_terminal = arguments.output.is_none() && stdio::stdout_is_terminal();
    let style = TableStyle::new(format(arguments)?, arguments.csv_safe, on_terminal)?;
    let requested = arguments.intervals.requested()?;
    let engine = within(engine(&arguments.contract.path())?, &arguments.memory)?;
    let sql = sql_input::query(&arguments.question.sql, engine.contract())?;
    let protected = engine.protected();
    let output = arguments.output.as_deref().map(|p| protected.pending(p)).transpose()?;
    let noted = arguments.output.as_deref().filter(|_| style.format.has_note_file());
    let notes = noted.map(|p| NoteFile::beside(p, &protected)).transpose()?.flatten();
    let statement = arguments.statement.as_deref().map(|p| protected.pending(p)).transpose()?;
    let plot = arguments
        .plot
        .as_deref()
        .map(|p| Ok::<_, Failure>(ChartFile::of(ImageFormat::of(p)?, protected.pending(p)?)));
    let plot = plot.transpose()?;
    let plot_notes = arguments.plot.as_deref();
    let plot_notes = plot_notes.map(|p| NoteFile::beside(p, &protected)).transpose()?.flatten();
    let files = [
        ("--output", arguments.output.clone()),
        ("the notes of --output", noted.map(NoteFile::path)),
        ("--statement", arguments.statement.clone()),
        ("--plot", arguments.plot.clone()),
        ("the notes of --plot", arguments.plot.as_deref().map(NoteFile::path)),
    ];
    let files: Vec<_> = files.into_iter().filter_map(|(name, path)| Some((name, path?))).collect();
    for (index, (one, path)) in files.iter().enumerate() {
        let alike = |(_, other): &&(&str, PathBuf)| same(&resolved(path), &resolved(other));
        if let Some((other, _)) = files.iter().take(index).find(alike) {
            return Err(Failure::new(
                format!("{other} and {one} both name `{}`", path.display()),
                "give them different names",
            ));
        }
    }

    let analyst = engine.analyst(arguments.question.analyst().as_deref());
    let progress = Progress::default();
    Interruption::of(&progress).for_good();
    let plan = block_on(analyst.plan(&sql, Purpose::Answer, &progress))?;
    if style.format == TableFormat::Xlsx {
        render::xlsx::check(&plan.quoted()?)?;
    }
    for (_, warning) in plan.warnings() {
        stdio::note(&render::warnings::note(warning, None));
    }
    let answer = watched("reading", &progress, || block_on(plan.answer()))?;
    // From here on the charge stands, so it is reported whatever happens to the files.
    stdio::note(&account_of(&answer, &engine));
    let view = TableView::of(&answer.output, requested)?;
    let result = render::result(&view, style)?;
    stdio::note(&view.beside_result(style.format));
    if let Some(statement) = statement {
        let json = render::pretty_json(&answer.statement)?;
        delayed_effects::write(statement, json.into_bytes())?;
    }
    if let Some(notes) = notes {
        notes.write(&view.beside_result(style.format))?;
    }
    match output {
        Some(output) => delayed_effects::write(output, result)?,
        None => stdio::print(&result)?,
    }
    let Some(plot) = plot else { return Ok(()) };
    let words =
        ChartWords { title: arguments.plot_title.as_deref(), unit: arguments.plot_unit.as_deref() };
    // The charge stands, and the answer is shown: no chart is a failure from here on.
    let chart = render::plot::chart(&view, words).unwrap_or_else(|failure| {
        stdio::note(&failure.to_string());
        render::plot::empty(words)
    });
    if chart.is_empty() {
        stdio::note("the chart has axes alone: the answer has nothing to show on it\n");
    }
    if let Some(notes) = plot_notes {
        notes.write(&view.notes(true))?;
    }
    plot.write(&chart)
}

fn format(arguments: &QueryArguments) -> Result<TableFormat, Failure> {
    match (arguments.format, &arguments.output) {
        (Some(format), None) if stdio::stdout_is_terminal() && format.binary().is_some() => {
            let name = format.binary().unwrap_or_default();
            Err(Failure::new(
                format!("{name} cannot be written to a terminal"),
                "give --output result.parquet or result.xlsx, or pipe it into another program",
            ))
        }
        (Some(format), _) => Ok(format),
        (None, None) if stdio::stdout_is_terminal() => Ok(TableFormat::Table),
        (None, None) => Ok(TableFormat::Csv),
        (None, Some(path)) => by_extension(path).ok_or_else(|| {
            Failure::new(
                format!("the name `{}` does not say which format to write", path.display()),
                "end it in .csv, .json, .md, .html, .parquet or .xlsx, or give --format csv",
            )
        }),
    }
}

pub(super) fn by_extension(path: &Path) -> Option<TableFormat> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "csv" => Some(TableFormat::Csv),
        "json" => Some(TableFormat::Json),
        "md" => Some(TableFormat::Markdown),
        "html" | "htm" => Some(TableFormat::Html),
        "parquet" | "pq" => Some(TableFormat::Parquet),
        "xlsx" => Some(TableFormat::Xlsx),
        _ => None,
    }
}

/// The charges, and the rest of each budget.
pub(crate) fn account_of(answer: &Answer, engine: &Engine) -> String {
    let mut out = charges::created(&answer.charges, engine);
    for part in &answer.statement.parts {
        // A report has those of its part.
        if !part.limits_from.is_empty() && part.report_of.is_empty() {
            out += &chosen_limits(&part.release.explanation);
            let warnings = part.release.explanation.warnings.iter();
            let uncertain = warnings.filter(|warning| warning.code == WarningCode::UncertainLimit);
            uncertain.for_each(|warning| out += &render::warnings::note(warning, None));
        }
    }
    if answer.statement.levels_misfit {
        out += &render::warnings::levels_misfit();
    }
    let why_free = match released_at(answer) {
        _ if answer.charges.resumed > 0 => "paid before".to_owned(),
        Some(at) => format!("on record since {at} UTC"),
        None => "on record".to_owned(),
    };
    for account in &answer.charges.accounts {
        out += &charges::of_account(&answer.charges, account, "", &format!("{why_free}: "));
    }
    if let Some(before) = &answer.charges.answered_before {
        out += &(answered_before(before) + "\n");
    }
    out
}

/// The limits with which a query was answered, where AUTO had some of them chosen.
fn chosen_limits(explanation: &Explanation) -> String {
    let groups = match explanation.max_groups_contributed {
        1 => "1 group of a unit".to_owned(),
        groups => format!("{groups} groups of a unit"),
    };
    let mut limits = vec![groups];
    for measurement in &explanation.measurements {
        if measurement.name.starts_with("count") {
            // How many rows of a unit count in a group.
            if measurement.bounds.1 > 1.0 {
                let most = number(measurement.bounds.1);
                limits.push(format!("{} up to {most}", visible(&measurement.name)));
            }
            continue;
        }
        let (of, (low, high)) = match &measurement.per_row {
            Some(row) => ("rows of the ", row.bounds),
            None => ("", measurement.bounds),
        };
        limits.push(format!(
            "{of}{} from {} to {}",
            visible(&measurement.name),
            number(low),
            number(high)
        ));
    }
    format!("limits of this answer, those of AUTO chosen privately: {}\n", limits.join("; "))
}

fn released_at(answer: &Answer) -> Option<String> {
    let seconds = i64::try_from(answer.statement.last_release()?.released_at).ok()?;
    Some(timestamp(seconds.checked_mul(1_000_000)?).replacen('T', " ", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_name_formats() {
        for (name, format) in [
            ("a.csv", Some(TableFormat::Csv)),
            ("a.b/c.JSON", Some(TableFormat::Json)),
            ("a.parquet", Some(TableFormat::Parquet)),
            ("a.md", Some(TableFormat::Markdown)),
            ("a.HTML", Some(TableFormat::Html)),
            ("a.xlsx", Some(TableFormat::Xlsx)),
            ("a.txt", None),
            ("csv", None),
        ] {
            assert_eq!(by_extension(Path::new(name)), format, "{name}");
        }
    }
}
