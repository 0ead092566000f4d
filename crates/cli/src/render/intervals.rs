//! The intervals beside a result, and what they are about.

use hushtable::arrow::record_batch::RecordBatch;
use hushtable::query::IntervalRequest;
use hushtable::{AnswerTable, ClippingReport, ColumnIntervals, TableIntervals};

use super::cell::rows;
use super::clipping;
use super::grid::visible;
use super::json::{object, value};
use crate::failure::Failure;
use crate::table_format::TableFormat;

/// A result with its intervals.
pub(crate) struct TableView<'a> {
    pub(crate) table: &'a RecordBatch,
    pub(crate) intervals: TableIntervals,
    /// Whether the command, the query or the contract asks for them.
    pub(crate) requested: bool,
    /// Whether it is published with others: its notes say what limits cut off in any case.
    pub(crate) published: bool,
    /// Everything that bounds cut off: no interval holds it.
    pub(crate) not_in_them: &'a [String],
    /// The released shares of it, where they were asked for.
    pub(crate) clipping: &'a [ClippingReport],
    /// The columns of keys that each row is without, as totals are.
    pub(crate) without_keys: Vec<Vec<usize>>,
}

impl<'a> TableView<'a> {
    /// An output with the intervals that the command asks for, or else the query or the contract.
    pub(crate) fn of(
        output: &'a AnswerTable,
        by_command: Option<IntervalRequest>,
    ) -> Result<Self, Failure> {
        let requested = by_command.or(output.interval_request());
        Ok(Self {
            table: &output.table,
            intervals: output.intervals(requested.unwrap_or(IntervalRequest::USUAL))?,
            requested: requested.is_some(),
            published: false,
            not_in_them: &output.cut_off,
            clipping: &output.clipping_reports,
            without_keys: output.without_keys()?,
        })
    }
}

impl TableView<'_> {
    /// Whether the values in that format have intervals as columns: in JSON always.
    pub(super) fn has_columns(&self, format: TableFormat) -> bool {
        self.requested || format == TableFormat::Json
    }

    /// The notes below a table, each after an empty line.
    pub(super) fn below(&self, format: TableFormat) -> String {
        self.all_notes(self.has_columns(format)).iter().map(|note| format!("\n{note}")).collect()
    }

    /// The notes for people beside a result whose format has no room for them.
    pub(crate) fn beside_result(&self, format: TableFormat) -> String {
        if format.has_notes() { String::new() } else { self.notes(self.has_columns(format)) }
    }

    /// The notes for a file beside a result; `intervals`: whether the result shows them.
    pub(crate) fn notes(&self, intervals: bool) -> String {
        self.all_notes(intervals).concat()
    }

    /// Everything that people should know of the numbers: about their intervals where these are
    /// shown, with what limits cut off, and the clipping reports.
    fn all_notes(&self, intervals: bool) -> Vec<String> {
        let of_limits = match intervals {
            true => self.note(),
            false if self.published => self.cut_off("cut off, and in no number"),
            false => String::new(),
        };
        let notes = [of_limits, clipping::note(self.clipping)];
        notes.into_iter().filter(|note| !note.is_empty()).collect()
    }

    /// The table, with the ends of the intervals as columns.
    pub(super) fn beside(&self) -> Result<RecordBatch, Failure> {
        Ok(self.intervals.beside(self.table)?)
    }

    /// The level and the limits of the intervals, in lines for people.
    fn note(&self) -> String {
        let IntervalRequest { level, simultaneous } = self.intervals.wanted;
        let mut out = match simultaneous {
            true => format!(
                "intervals: noise only; with {level} %, all of them hold the values without \
                 noise at once\n"
            ),
            false => format!(
                "intervals: noise only; each holds the value without noise with {level} %\n"
            ),
        };
        out += &self.cut_off("cut off, and not in them");
        for (name, why) in self.without() {
            out += &format!("no interval: {} {why}\n", visible(&name));
        }
        out
    }

    /// Losses to limits, on one line.
    fn cut_off(&self, title: &str) -> String {
        let all: Vec<String> = self.not_in_them.iter().map(|text| visible(text)).collect();
        match all.is_empty() {
            true if self.published => "cut off: nothing\n".to_owned(),
            true => String::new(),
            false => format!("{title}: {}\n", all.join("; ")),
        }
    }

    /// The columns with noise that have no intervals, and why.
    pub(super) fn without(&self) -> Vec<(String, &'static str)> {
        let schema = self.table.schema();
        let columns = schema.fields().iter().zip(&self.intervals.columns);
        let without = columns.filter_map(|(field, intervals)| match intervals {
            ColumnIntervals::Without(why) => Some((field.name().clone(), why.reason())),
            ColumnIntervals::Exact | ColumnIntervals::Ends { .. } => None,
        });
        without.collect()
    }

    /// All of it as one object of JSON, for the metadata of a file.
    pub(super) fn json(&self) -> Result<String, Failure> {
        let IntervalRequest { level, simultaneous } = self.intervals.wanted;
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let list = |all: &mut dyn Iterator<Item = String>| {
            format!("[{}]", all.collect::<Vec<_>>().join(","))
        };
        let schema = self.table.schema();
        let mut columns = Vec::new();
        for (field, intervals) in schema.fields().iter().zip(&self.intervals.columns) {
            let ColumnIntervals::Ends { low, high } = intervals else { continue };
            let ends = [("low", low.clone(), true), ("high", high.clone(), true)];
            let ends = RecordBatch::try_from_iter_with_nullable(ends);
            let ends = rows(&ends.map_err(|_| super::cannot_show("column"))?)?
                .iter()
                .map(|row| row.iter().map(value).collect::<Vec<_>>())
                .collect::<Vec<_>>();
            let end =
                |index: usize| list(&mut ends.iter().filter_map(|row| row.get(index).cloned()));
            columns.push((field.name().as_str(), object([("low", end(0)), ("high", end(1))])));
        }
        let without = self.without();
        let without = without.iter().map(|(name, why)| (name.as_str(), text(why)));
        Ok(object([
            ("level", level.to_string()),
            ("simultaneous", simultaneous.to_string()),
            ("cover", text("noise only")),
            ("not_in_them", list(&mut self.not_in_them.iter().map(|what| text(what)))),
            ("columns", object(columns)),
            ("without", object(without)),
        ]))
    }
}
