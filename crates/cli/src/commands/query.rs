//! `hushtable query`.

use std::path::{Path, PathBuf};

use hushtable::query::Explanation;
use hushtable::{AccountCharge, Answer, Engine, Progress, resolved, same, wait};

use hushtable_plot::ImageFormat;

use super::chart::ChartFile;
use super::{engine, within};
use crate::arguments::QueryArguments;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::progress::watched;
use crate::render::TableStyle;
use crate::render::cell::timestamp;
use crate::render::grid::visible;
use crate::render::intervals::TableView;
use crate::render::number::number;
use crate::render::quoted::answered_before;
use crate::table_format::TableFormat;
use crate::{kept_effects, render, sql_input, stdio};

pub(crate) fn run(arguments: &QueryArguments) -> Result<(), Failure> {
    // Whatever can be wrong with the command is found before the budget is touched.
    let on_terminal = arguments.output.is_none() && stdio::stdout_is_terminal();
    let style = TableStyle::new(format(arguments)?, arguments.csv_safe, on_terminal)?;
    let requested = arguments.intervals.requested()?;
    let engine = within(engine(&arguments.contract.path())?, &arguments.memory)?;
    let sql = sql_input::query(&arguments.question.sql, engine.contract())?;
    let protected = engine.protected();
    let output = arguments.output.as_deref().map(|p| protected.pending(p)).transpose()?;
    let statement = arguments.statement.as_deref().map(|p| protected.pending(p)).transpose()?;
    let plot = arguments
        .plot
        .as_deref()
        .map(|p| Ok::<_, Failure>(ChartFile::of(ImageFormat::of(p)?, protected.pending(p)?)));
    let plot = plot.transpose()?;
    let files = [
        ("--output", &arguments.output),
        ("--statement", &arguments.statement),
        ("--plot", &arguments.plot),
    ];
    let files: Vec<_> =
        files.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?))).collect();
    for (index, (one, path)) in files.iter().enumerate() {
        let alike = |(_, other): &&(&str, &PathBuf)| same(&resolved(path), &resolved(other));
        if let Some((other, _)) = files.iter().take(index).find(alike) {
            return Err(Failure::new(
                format!("{other} and {one} both name `{}`", path.display()),
                "give them different names",
            ));
        }
    }

    let analyst = engine.analyst(arguments.question.analyst().as_deref());
    for warning in wait(analyst.warnings(&sql))? {
        stdio::note(&render::warnings::note(&warning, None));
    }
    let progress = Progress::default();
    Interruption::of(&progress).for_good();
    let work = || wait(analyst.query_watched(&sql, &progress));
    let answer = watched("reading", &progress, work)?;
    // From here on the charge stands, so it is reported whatever happens to the files.
    stdio::note(&account_of(&answer, &engine));
    let view = TableView::of(&answer, requested)?;
    let result = render::result(&view, style)?;
    stdio::note(&view.notes(style.format));
    if let Some(statement) = statement {
        let json = match &answer.parts {
            Some(parts) => render::pretty_json(parts)?,
            None => render::pretty_json(&answer.statement)?,
        };
        kept_effects::write(statement, json.into_bytes())?;
    }
    match output {
        Some(output) => kept_effects::write(output, result)?,
        None => stdio::print(&result)?,
    }
    match plot {
        Some(plot) => plot.write(&render::plot::chart(&view)?),
        None => Ok(()),
    }
}

fn format(arguments: &QueryArguments) -> Result<TableFormat, Failure> {
    match (arguments.format, &arguments.output) {
        (Some(TableFormat::Parquet), None) if stdio::stdout_is_terminal() => Err(Failure::new(
            "Parquet cannot be written to a terminal",
            "give --output result.parquet, or pipe it into another program",
        )),
        (Some(format), _) => Ok(format),
        (None, None) if stdio::stdout_is_terminal() => Ok(TableFormat::Table),
        (None, None) => Ok(TableFormat::Csv),
        (None, Some(path)) => by_extension(path).ok_or_else(|| {
            Failure::new(
                format!("the name `{}` does not say which format to write", path.display()),
                "end it in .csv, .json, .md, .html or .parquet, or give --format csv",
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
        _ => None,
    }
}

/// The charge, and the rest of the budget.
pub(super) fn account_of(answer: &Answer, engine: &Engine) -> String {
    let mut out = String::new();
    if answer.ledger_created {
        out = format!(
            "created the ledger {}; it records spent budget, so back it up\n",
            engine.ledger_path().display()
        );
    }
    for part in answer.parts.iter().flat_map(|whole| &whole.parts) {
        if !part.limits_from.is_empty() {
            out += &chosen_limits(&part.statement.explanation);
        }
    }
    let analyst = visible(&answer.analyst);
    let table = format!(" on {}", visible(&answer.population));
    let left = answer.account.left;
    out += &match answer.charged {
        Some(charged) => {
            // Where sums are not clamped, larger records may lose more.
            let parts = answer.parts.iter().flat_map(|whole| &whole.parts);
            let mut all = parts.map(|part| &part.statement).chain([&answer.statement]);
            let policy = all.any(|statement| statement.explanation.policy.is_some());
            let of_whom = if policy { ", for a record at the thresholds," } else { "" };
            let before = answer.answered_before.as_deref();
            let before = before.map_or_else(String::new, |at| answered_before(at) + "\n");
            format!("charged {charged}{of_whom} to {analyst}{table}; left: {left}\n{before}")
        }
        None if answer.taken_up => {
            format!("paid before: no charge to {analyst}{table}; left: {left}\n")
        }
        None => {
            let since = released_at(answer).map_or(String::new(), |at| format!(" since {at} UTC"));
            format!("on record{since}: no charge to {analyst}{table}; left: {left}\n")
        }
    };
    for AccountCharge { population, charged, account } in &answer.others {
        let (population, left) = (visible(population), account.left);
        out += &match charged {
            Some(charged) => {
                format!("charged {charged} to {analyst} on {population}; left: {left}\n")
            }
            None => format!("on record: no charge to {analyst} on {population}; left: {left}\n"),
        };
    }
    out
}

/// The limits with which a query was answered, where some were chosen privately.
fn chosen_limits(explanation: &Explanation) -> String {
    let mut limits = vec![format!("{} groups of a unit", explanation.max_groups_contributed)];
    for measurement in
        explanation.measurements.iter().filter(|measurement| measurement.name.starts_with("sum"))
    {
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
    format!("limits, chosen privately: {}\n", limits.join("; "))
}

fn released_at(answer: &Answer) -> Option<String> {
    let seconds = i64::try_from(answer.statement.released_at).ok()?;
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
            ("a.txt", None),
            ("csv", None),
        ] {
            assert_eq!(by_extension(Path::new(name)), format, "{name}");
        }
    }
}
