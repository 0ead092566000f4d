//! The summary of a table: as text, JSON and a page.

mod page;

use std::collections::{BTreeMap, BTreeSet};

use hushtable::AnswerTable;
use hushtable::privacy::Loss;
use hushtable::query::IntervalRequest;
use hushtable::query::summary::{Bin, COUNT, CountsOf, Missing, QUANTILES, ROWS, Summary};

use super::cannot_show;
use super::cell::{ResultCell, rows};
use super::grid::{Alignment, TextGrid, visible};
use super::intervals::TableView;
use super::json::{object, text, value};
use super::table::cell_text;
use crate::failure::Failure;

/// The answers of a summary, by query.
pub(crate) type Answers = BTreeMap<String, AnswerTable>;

/// Characters of a month, as in 2026-11.
const MONTH: usize = 7;
/// Values of a column that the text shows.
const SHOWN: usize = 25;
const NO_INTERVALS: &str = "no intervals of quantiles: a query of its own draws them, with OPTIONS \
                            (quantile_intervals = 95)";
/// The longest bar, in characters.
const BAR: f64 = 20.0;

/// A summary with its numbers.
pub(crate) struct SummaryPage {
    table: String,
    loss: Loss,
    rows: Figure,
    columns: Vec<ColumnFigures>,
    /// Everything that limits cut off, and what has no intervals, with the columns concerned.
    notes: Vec<String>,
}

/// The numbers about a column.
struct ColumnFigures {
    name: String,
    column_type: String,
    missing: Option<Figure>,
    quantiles: Vec<(u8, Figure)>,
    counts: Vec<CountFigure>,
    left_out: Option<&'static str>,
}

/// The number of rows with a value.
struct CountFigure {
    /// The value, or the range of values.
    label: String,
    /// Fields of JSON with the same content.
    fields: Vec<(&'static str, String)>,
    count: Figure,
}

/// A released number, with its interval where it has one.
#[derive(Clone)]
struct Figure {
    value: WrittenCell,
    interval: Option<(WrittenCell, WrittenCell)>,
    /// For bars.
    number: f64,
}

#[derive(Clone)]
struct WrittenCell {
    text: String,
    json: String,
}

impl WrittenCell {
    fn of(cell: &ResultCell<'_>) -> Self {
        Self { text: cell_text(cell), json: value(cell) }
    }
}

impl SummaryPage {
    /// Takes the numbers of all answers.
    pub(crate) fn new(
        table: &str,
        loss: Loss,
        summary: &Summary,
        answers: &Answers,
    ) -> Result<Self, Failure> {
        let mut notes: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut read: BTreeMap<&str, Vec<Vec<(String, Figure)>>> = BTreeMap::new();
        for (name, answer) in answers {
            let view = TableView::of(answer, Some(IntervalRequest::USUAL))?;
            let about = summary.about(name);
            for text in &answer.cut_off {
                notes.entry(format!("cut off: {}", losses(text))).or_default().extend(about);
            }
            if !view.without().is_empty() {
                notes.entry(NO_INTERVALS.to_owned()).or_default().extend(about);
            }
            read.insert(name, figures(&view)?);
        }
        let one_row = |query: &str| read.get(query).and_then(|rows| rows.first());
        let named = |query: &str, heading: &str| {
            let row = one_row(query).ok_or_else(|| cannot_show("number"))?;
            let figure = row.iter().find(|(name, _)| name == heading);
            figure.map(|(_, figure)| figure.clone()).ok_or_else(|| cannot_show("number"))
        };
        let mut columns = Vec::new();
        for column in &summary.columns {
            let mut counts = Vec::new();
            let mut missing = match &column.missing {
                Missing::WithRows(heading) => Some(named(ROWS, heading)?),
                Missing::NotNull | Missing::WithCounts => None,
            };
            if let Some(of) = &column.counts {
                let answer = answers.get(&of.query).ok_or_else(|| cannot_show("query"))?;
                for (row, figures) in rows(&answer.table)?.iter().zip(&read[of.query.as_str()]) {
                    let key = row.first().ok_or_else(|| cannot_show("row"))?;
                    let count = figures.iter().find(|(name, _)| name == COUNT);
                    let count = count.ok_or_else(|| cannot_show("row"))?.1.clone();
                    if *key == ResultCell::Null && column.missing == Missing::WithCounts {
                        missing = Some(count);
                    } else {
                        counts.push(CountFigure::of(key, count, &of.of)?);
                    }
                }
            }
            let quantiles = column.quantiles.iter().flat_map(|query| {
                QUANTILES.map(|percent| Ok((percent, named(query, &format!("q{percent:02}"))?)))
            });
            columns.push(ColumnFigures {
                name: column.name.clone(),
                column_type: column.column_type.to_string(),
                missing,
                quantiles: quantiles.collect::<Result<_, Failure>>()?,
                counts,
                left_out: column.left_out,
            });
        }
        let notes = notes.into_iter().map(|(note, about)| match about.is_empty() {
            true => note,
            false => {
                let about: Vec<String> = about.into_iter().map(visible).collect();
                format!("{note} ({})", about.join(", "))
            }
        });
        let (table, notes) = (table.to_owned(), notes.collect());
        Ok(Self { table, loss, rows: named(ROWS, ROWS)?, columns, notes })
    }

    /// The summary for people.
    pub(crate) fn text(&self) -> String {
        let mut out = format!("{}: {}\n\n", visible(&self.table), self.loss);
        let mut lines = aligned();
        lines.push(self.rows.line("rows", 0.0));
        out += &lines.text(0);
        for column in &self.columns {
            out += &format!("\n{}, {}\n", visible(&column.name), column.column_type);
            let mut lines = aligned();
            if let Some(missing) = &column.missing {
                lines.push(missing.line("missing", 0.0));
            }
            for (percent, figure) in &column.quantiles {
                lines.push(figure.line(&format!("{percent} % quantile"), 0.0));
            }
            let largest = column.largest();
            for count in column.counts.iter().take(SHOWN) {
                lines.push(count.count.line(&count.label, largest));
            }
            out += &lines.text(2);
            if column.counts.len() > SHOWN {
                out += &format!("  and {} more values\n", column.counts.len() - SHOWN);
            }
            out += &column.remark().map(|text| format!("  {text}\n")).unwrap_or_default();
        }
        out + "\n" + &self.below()
    }

    /// Lines below the numbers, for people.
    fn below(&self) -> String {
        let IntervalRequest { level, .. } = IntervalRequest::USUAL;
        let mut out =
            format!("intervals: noise only; each holds the value without noise with {level} %\n");
        self.notes.iter().for_each(|note| out += &format!("{note}\n"));
        out
    }

    /// The summary for programs.
    pub(crate) fn json(&self) -> String {
        let list = |all: Vec<String>| format!("[{}]", all.join(", "));
        let columns = self.columns.iter().map(|column| {
            let mut fields =
                vec![("name", text(&column.name)), ("type", text(&column.column_type))];
            if let Some(missing) = &column.missing {
                fields.push(("missing", missing.json(&[], ROWS)));
            }
            let quantiles = column
                .quantiles
                .iter()
                .map(|(percent, figure)| figure.json(&[("percent", percent.to_string())], "value"));
            if !column.quantiles.is_empty() {
                fields.push(("quantiles", list(quantiles.collect())));
            }
            let counts = column.counts.iter().map(|count| count.count.json(&count.fields, ROWS));
            if column.left_out.is_none() {
                fields.push(("counts", list(counts.collect())));
            }
            if let Some(why) = column.left_out {
                fields.push(("left_out", text(why)));
            }
            format!("    {}", object(fields))
        });
        let columns: Vec<String> = columns.collect();
        let notes = list(self.notes.iter().map(|note| text(note)).collect());
        format!(
            "{{\n  \"table\": {},\n  \"loss\": {},\n  \"level\": {},\n  \"rows\": {},\n  \
             \"columns\": [\n{}\n  ],\n  \"notes\": {notes}\n}}\n",
            text(&self.table),
            text(&self.loss.to_string()),
            IntervalRequest::USUAL.level,
            self.rows.json(&[], ROWS),
            columns.join(",\n"),
        )
    }
}

impl ColumnFigures {
    /// Why there is less of it than of others.
    fn remark(&self) -> Option<String> {
        match self.left_out {
            Some(why) => Some(format!("left out: {why}")),
            None if self.counts.is_empty() => {
                Some("no value is shown: none has enough units".to_owned())
            }
            None => None,
        }
    }

    fn largest(&self) -> f64 {
        self.counts.iter().map(|count| count.count.number).fold(0.0, f64::max)
    }
}

impl CountFigure {
    fn of(key: &ResultCell<'_>, count: Figure, of: &CountsOf) -> Result<Self, Failure> {
        let (label, fields) = match (of, key) {
            (CountsOf::Bins(bins), ResultCell::Int(index)) => {
                let bin = usize::try_from(*index).ok().and_then(|index| bins.get(index));
                let bin = bin.ok_or_else(|| cannot_show("range"))?;
                let end = |end: &Option<String>| end.clone().unwrap_or_else(|| "null".to_owned());
                (range(bin), vec![("from", end(&bin.from)), ("to", end(&bin.to))])
            }
            (CountsOf::Months, ResultCell::Moment(day)) => {
                let month = day.get(..MONTH).unwrap_or(day);
                (month.to_owned(), vec![("value", text(month))])
            }
            _ => (cell_text(key), vec![("value", value(key))]),
        };
        Ok(Self { label, fields, count })
    }
}

/// A loss to limits, without the measurements that it names in brackets at its end: a summary names
/// columns.
fn losses(text: &str) -> String {
    let mut open = 0;
    let begins = text.char_indices().rev().find(|(_, character)| {
        open += match character {
            ')' => 1,
            '(' => -1,
            _ => 0,
        };
        open == 0
    });
    let loss = match begins {
        Some((at, '(')) if text.ends_with(')') => text.get(..at).unwrap_or(text),
        _ => text,
    };
    visible(loss.trim_end())
}

fn range(bin: &Bin) -> String {
    match (&bin.from, &bin.to) {
        _ if bin.single.is_some() => bin.single.clone().unwrap_or_default(),
        (Some(from), Some(to)) => format!("{from} to below {to}"),
        (None, Some(to)) => format!("below {to}"),
        (Some(from), None) => format!("{from} and more"),
        (None, None) => "all".to_owned(),
    }
}

impl Figure {
    /// The interval for people; empty where there is none.
    fn between(&self) -> String {
        match &self.interval {
            Some((low, high)) => format!("{} to {}", low.text, high.text),
            None => String::new(),
        }
    }

    /// A line of the text: what, the number, its interval and a bar.
    fn line(&self, label: &str, largest: f64) -> [String; 4] {
        let bar = if largest > 0.0 { (self.number / largest * BAR).round() } else { 0.0 };
        [label.to_owned(), self.value.text.clone(), self.between(), "█".repeat(bar as usize)]
    }

    /// An object with what it is about, its value and its interval.
    fn json(&self, about: &[(&'static str, String)], name: &'static str) -> String {
        let mut fields = about.to_vec();
        fields.push((name, self.value.json.clone()));
        if let Some((low, high)) = &self.interval {
            fields.extend([("low", low.json.clone()), ("high", high.json.clone())]);
        }
        object(fields)
    }
}

fn aligned() -> TextGrid {
    TextGrid::new([
        ("", Alignment::Left),
        ("", Alignment::Right),
        ("", Alignment::Left),
        ("", Alignment::Left),
    ])
}

/// The numbers of all rows, by heading.
fn figures(view: &TableView<'_>) -> Result<Vec<Vec<(String, Figure)>>, Failure> {
    let beside = view.beside()?;
    let schema = view.table.schema();
    let columns = beside.schema();
    let position = |name: &str| columns.fields().iter().position(|field| field.name() == name);
    let all = rows(&beside)?.into_iter().map(|row| {
        let figure = |name: &str| {
            let cell = position(name).and_then(|index| row.get(index))?;
            let end = |end: &str| {
                let index = position(&format!("{name}_{end}"))?;
                row.get(index).map(WrittenCell::of)
            };
            let number = value(cell).parse().unwrap_or(0.0);
            let interval = end("low").zip(end("high"));
            Some(Figure { value: WrittenCell::of(cell), interval, number })
        };
        let row = schema.fields().iter().map(|field| {
            let figure = figure(field.name()).ok_or_else(|| cannot_show("column"))?;
            Ok((field.name().clone(), figure))
        });
        row.collect()
    });
    all.collect()
}
