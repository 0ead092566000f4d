//! Results as a page in HTML with one table.

use hushtable::arrow::record_batch::RecordBatch;

use super::cell::{ResultCell, is_number, rows};
use super::grid::visible;
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
    use super::escaped;

    #[test]
    fn texts_are_no_markup() {
        let text = escaped("<script>alert('a & \"b\"')</script>");
        assert_eq!(text, "&lt;script&gt;alert(&#39;a &amp; &quot;b&quot;&#39;)&lt;/script&gt;");
    }
}
