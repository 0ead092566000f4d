//! How results and reports look. Pure: from values to text or bytes.

pub(crate) mod assess;
pub(crate) mod assess_table;
pub(crate) mod assess_words;
pub(crate) mod audit;
pub(crate) mod budget;
pub(crate) mod calc;
pub(crate) mod cell;
pub(crate) mod check;
pub(crate) mod clipping;
pub(crate) mod csv;
mod cut_off;
pub(crate) mod differencing;
pub(crate) mod explanation;
mod fitting_levels;
pub(crate) mod grid;
pub(crate) mod html;
pub(crate) mod intervals;
pub(crate) mod json;
pub(crate) mod learnt;
pub(crate) mod ledger;
pub(crate) mod local;
pub(crate) mod losses;
pub(crate) mod markdown;
mod measurements;
mod mechanisms;
pub(crate) mod microdata;
pub(crate) mod model;
pub(crate) mod model_words;
pub(crate) mod number;
pub(crate) mod page;
pub(crate) mod parquet;
mod parts;
pub(crate) mod plain_quote;
pub(crate) mod plot;
mod policy;
pub(crate) mod quoted;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod tables;
pub(crate) mod tune;
pub(crate) mod warnings;
pub(crate) mod workload;
pub(crate) mod xlsx;

#[cfg(test)]
mod samples;

use self::csv::CsvStyle;
use self::intervals::TableView;
use crate::failure::Failure;
use crate::table_format::TableFormat;
use hushtable::visible::visible_json;

/// How a result is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableStyle {
    pub(crate) format: TableFormat,
    /// For CSV alone.
    pub(crate) csv: CsvStyle,
}

impl TableStyle {
    /// The style that a command's options ask for; `terminal`: CSV is shown on one.
    pub(crate) fn new(
        format: TableFormat,
        csv_safe: bool,
        terminal: bool,
    ) -> Result<Self, Failure> {
        if csv_safe && format != TableFormat::Csv {
            return Err(Failure::new(
                "--csv-safe is for CSV, but the result is not CSV",
                "give --format csv, or leave --csv-safe out: other formats have no formulas",
            ));
        }
        Ok(Self { format, csv: CsvStyle { no_formulas: csv_safe, visible: terminal } })
    }
}

/// A result in a style. JSON always has intervals beside its values, and Parquet in its metadata.
pub(crate) fn result(view: &TableView<'_>, style: TableStyle) -> Result<Vec<u8>, Failure> {
    let batch = if view.has_columns(style.format) { &view.beside()? } else { view.table };
    let notes = view.below(style.format);
    Ok(match style.format {
        TableFormat::Table => {
            let mut text = table::table(batch)?;
            text += &notes;
            text.into_bytes()
        }
        TableFormat::Csv => csv::csv(batch, style.csv)?.into_bytes(),
        TableFormat::Json => json::json(batch)?.into_bytes(),
        TableFormat::Markdown => {
            let mut text = markdown::markdown(batch)?;
            text += &notes;
            text.into_bytes()
        }
        TableFormat::Html => html::html(batch, &notes)?.into_bytes(),
        TableFormat::Parquet => {
            parquet::parquet(batch, &view.json()?, clipping::json(view.clipping)?)?
        }
        TableFormat::Xlsx => xlsx::xlsx(batch, &notes)?,
    })
}

/// A report as JSON.
pub(crate) fn pretty_json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|_| cannot_show("report"))?;
    Ok(visible_json(&text) + "\n")
}

/// A fault of the program: it made what it cannot write.
fn cannot_show(what: &str) -> Failure {
    Failure::new(
        format!("a {what} of the result cannot be written in this format"),
        "ask again with another --format, for free: the answer is on record; this is a fault in \
         Hushtable: please report the query, without data",
    )
}

#[cfg(test)]
mod tests;
