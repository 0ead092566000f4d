//! Results as a page in HTML with one table.

use hushtable::ColumnIntervals;
use hushtable::arrow::record_batch::RecordBatch;

use super::cell::{ResultCell, is_number, rows};
use super::grid::visible;
use super::intervals::TableView;
use super::table::cell_text;
use crate::failure::Failure;

const HEAD: &str = "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n\
    <title>Result</title>\n<style>\n\
    table { border-collapse: collapse; font-family: sans-serif; }\n\
    th, td { padding: 0.2em 0.8em; border-bottom: 1px solid #ccc; text-align: left; }\n\
    .number { text-align: right; font-variant-numeric: tabular-nums; }\n\
    .null { color: #888; }\npre { white-space: pre-wrap; }\n</style>\n</head>\n<body>\n<table>\n";

const FOOT: &str = "</body>\n</html>\n";

/// A whole page, from which the table can be taken, with notes below it. It loads nothing and runs
/// nothing.
pub(crate) fn html(batch: &RecordBatch, notes: &str) -> Result<String, Failure> {
    let schema = batch.schema();
    let mut out = format!("{HEAD}<thead>\n<tr>");
    for field in schema.fields() {
        let class = if is_number(field.data_type()) { " class=\"number\"" } else { "" };
        out += &format!("<th{class}>{}</th>", escaped(&visible(field.name())));
    }
    out += "</tr>\n</thead>\n<tbody>\n";
    for row in rows(batch)? {
        out += "<tr>";
        for (cell, field) in row.iter().zip(schema.fields()) {
            let class = match cell {
                ResultCell::Null => " class=\"null\"",
                _ if is_number(field.data_type()) => " class=\"number\"",
                _ => "",
            };
            out += &format!("<td{class}>{}</td>", escaped(&cell_text(cell)));
        }
        out += "</tr>\n";
    }
    out += "</tbody>\n</table>\n";
    if !notes.is_empty() {
        out += &format!("<pre>{}</pre>\n", escaped(notes));
    }
    Ok(out + FOOT)
}

/// A table to stand in another page, with intervals beside the values that have noise, and notes
/// below it. `most` rows are in it.
pub(crate) fn fragment(view: &TableView<'_>, most: usize) -> Result<String, Failure> {
    let schema = view.table.schema();
    let mut out = "<table>\n<thead>\n<tr>".to_owned();
    for field in schema.fields() {
        out += &format!("<th>{}</th>", escaped(&visible(field.name())));
    }
    out += "</tr>\n</thead>\n<tbody>\n";
    let beside = view.beside()?;
    let count = beside.num_rows();
    for row in rows(&beside.slice(0, count.min(most)))? {
        out += "<tr>";
        // The ends of an interval follow its value.
        let mut cells = row.iter().map(cell_text);
        for intervals in &view.intervals.columns {
            let value = escaped(&cells.next().unwrap_or_default());
            let ends = match intervals {
                ColumnIntervals::Ends { .. } => cells.next().zip(cells.next()),
                ColumnIntervals::Exact | ColumnIntervals::Without(_) => None,
            };
            out += &match ends {
                Some((low, high)) => format!(
                    "<td style=\"text-align:right\">{value} <small>({} to {})</small></td>",
                    escaped(&low),
                    escaped(&high)
                ),
                None => format!("<td>{value}</td>"),
            };
        }
        out += "</tr>\n";
    }
    out += "</tbody>\n</table>\n";
    if count > most {
        out += &format!("<p>the first {most} of {count} rows</p>\n");
    }
    Ok(out + &preformatted(&view.notes(true)))
}

/// A text to stand in another page as it is; nothing where it is empty.
pub(crate) fn preformatted(text: &str) -> String {
    match text.is_empty() {
        true => String::new(),
        false => format!("<pre style=\"white-space:pre-wrap\">{}</pre>\n", escaped(text)),
    }
}

/// Text that is no markup.
pub(super) fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hushtable::TableIntervals;
    use hushtable::arrow::array::{ArrayRef, Int64Array, StringArray};
    use hushtable::query::IntervalRequest;

    use super::*;

    #[test]
    fn texts_are_no_markup() {
        let text = escaped("<script>alert('a & \"b\"')</script>");
        assert_eq!(text, "&lt;script&gt;alert(&#39;a &amp; &quot;b&quot;&#39;)&lt;/script&gt;");
    }

    /// Intervals are beside their values, and everything that limits cut off is below them.
    #[test]
    fn a_table_within_a_page() {
        let numbers =
            |values: [i64; 2]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
        let keys: ArrayRef = Arc::new(StringArray::from(vec!["<b>", "b\u{202e}"]));
        let columns = [("key", keys), ("n", numbers([50, 40])), ("free", numbers([1, 2]))];
        let table = RecordBatch::try_from_iter(columns).unwrap();
        let ends = ColumnIntervals::Ends { low: numbers([45, 35]), high: numbers([55, 45]) };
        let columns = vec![ColumnIntervals::Exact, ends, ColumnIntervals::Exact];
        let cut_off = ["rows of a unit beyond 3 <groups>".to_owned()];
        let page = |most| {
            let view = TableView {
                table: &table,
                intervals: TableIntervals {
                    wanted: IntervalRequest::USUAL,
                    columns: columns.clone(),
                },
                requested: true,
                published: false,
                not_in_them: &cut_off,
                clipping: &[],
                without_keys: Vec::new(),
            };
            fragment(&view, most).unwrap()
        };
        insta::assert_snapshot!(page(2));
        assert!(page(1).contains("the first 1 of 2 rows"), "{}", page(1));
    }
}
